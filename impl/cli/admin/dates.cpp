#include "cli/admin/dates.hpp"

#include <algorithm>
#include <ctime>

namespace leasehold::cli {

std::string span(std::int64_t ms) {
  if (ms <= -100) return "-" + span(-ms);
  ms = std::max<std::int64_t>(ms, 0);
  const auto s = ms / 1'000;
  if (s < 10) return std::to_string(s) + "." + std::to_string(ms % 1'000 / 100) + " s";
  if (s < 120) return std::to_string(s) + " s";
  if (s < 7'200) return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
  return std::to_string(s / 3'600) + " h " + std::to_string(s % 3'600 / 60) + " min";
}

std::string date(std::int64_t since_1970_ms) {
  const auto seconds = static_cast<std::time_t>(since_1970_ms / 1'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts);
  return text;
}

}  // namespace leasehold::cli
