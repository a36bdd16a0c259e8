#include "scenarios/lab/report/pages.hpp"

namespace leasehold::lab::pages {

std::string filled(std::string_view page,
                   const std::map<std::string_view, std::string_view>& parts) {
  std::string out;
  for (auto open = page.find("{{"); open != page.npos; open = page.find("{{")) {
    const auto close = page.find("}}", open);
    out += page.substr(0, open);
    out += parts.at(page.substr(open + 2, close - open - 2));
    page.remove_prefix(close + 2);
  }
  return out.append(page);
}

}  // namespace leasehold::lab::pages
