#include "cli/dates.hpp"

#include <ctime>

namespace leasehold::cli {

std::int64_t date_ms(const mongo::Json& value) {
  if (!value.is_object() || !value.contains("$date")) return 0;
  const mongo::Json& at = value["$date"];
  if (at.is_object()) return mongo::integer(at);
  // Relaxed extended JSON writes the usual ones as text: 2026-11-22T01:02:03.456Z.
  std::tm parts{};
  const auto text = at.get<std::string>();
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::int64_t ms = 0;
  if (rest != nullptr && *rest == '.') ms = std::stoll(std::string(rest + 1, 3));
  return timegm(&parts) * 1'000 + ms;
}

std::string span(std::int64_t ms) {
  if (ms < 0) return "-" + span(-ms);
  const auto s = ms / 1'000;
  if (s < 10) return std::to_string(s) + "." + std::to_string(ms % 1'000 / 100) + " s";
  if (s < 120) return std::to_string(s) + " s";
  if (s < 7'200) return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
  return std::to_string(s / 3'600) + " h " + std::to_string(s % 3'600 / 60) + " min";
}

std::string date(std::int64_t since_1970_ms) {
  const std::time_t seconds = since_1970_ms / 1'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts);
  return text;
}

}  // namespace leasehold::cli
