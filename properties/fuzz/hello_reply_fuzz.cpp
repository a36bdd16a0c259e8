#include <string>

#include "properties/fuzz/fuzz.hpp"
#include "sim/live/proxy/hello_rewriter.hpp"

/// The fault proxy reads bytes of a member. The first byte says where they are split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace leasehold;
  if (size == 0) return 0;
  static const sim::live::ProxyOf proxies{{"db1:27017", "127.0.0.1:7001"},
                                          {"db2:27017", "127.0.0.1:7002"}};
  const auto said = fuzz::text_of(bytes + 1, size - 1);
  const auto split = bytes[0] < said.size() ? bytes[0] : said.size();
  sim::live::HelloRewriter whole(proxies, "127.0.0.1:7001"), halves(proxies, "127.0.0.1:7001");
  const auto once = whole.pass(said);
  auto twice = halves.pass(said.substr(0, split));
  twice += halves.pass(said.substr(split));
  fuzz::must(once == twice, "it is the same wherever it is split");
  fuzz::must(said.find("WireVersion") != std::string_view::npos || said.starts_with(once),
             "what is no hello passes byte for byte");
  return 0;
}
