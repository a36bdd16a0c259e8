#include "properties/stories/incident_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "sim/live/system/mongo_client.hpp"

namespace leasehold::properties {
namespace {

using Json = nlohmann::ordered_json;

/// In the order of the enumerators.
constexpr std::array kWords{"asked",     "granted",  "refused",   "timed_out", "failed",
                            "held",      "not_held", "lost",      "releasing", "released",
                            "not_owner", "unknown",  "died"};

constexpr std::size_t kDateWidth = 10;  // of 2026-11-24
constexpr std::int64_t kSeconds = 100'000'000;  // so many since 1970 was in 1973

LogLine::Is word_in(const std::string& text) {
  const auto found = std::find(kWords.begin(), kWords.end(), text);
  if (found != kWords.end()) return static_cast<LogLine::Is>(found - kWords.begin());
  std::string all;
  for (const char* word : kWords) all += (all.empty() ? "" : ", ") + std::string(word);
  throw std::runtime_error("is is '" + text + "': it must be one of " + all);
}

std::int64_t whole_number(const std::string& field, const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  throw std::runtime_error(field + " is '" + text + "': it must be a whole number of 0 or more");
}

void take(LogLine& line, const std::string& field, const std::string& value) {
  if (field == "at") {
    line.at_ms = date_ms(value);
  } else if (field == "process") {
    line.process = value;
  } else if (field == "lock") {
    line.lock = value;
  } else if (field == "call") {
    line.call = value;
  } else if (field == "is") {
    line.is = word_in(value);
  } else if (field == "token") {
    line.token = whole_number(field, value);
  } else if (field == "lease_ms") {
    line.lease_ms = whole_number(field, value);
  } else if (field == "timeout_ms") {
    line.timeout_ms = whole_number(field, value);
  } else {
    throw std::runtime_error("'" + field + "' is unknown; there may be at, process, lock, call, " +
                             "is, token, lease_ms, timeout_ms");
  }
}

/// Other members of the JSON are the user's own.
LogLine from_json(const std::string& text) {
  LogLine line;
  const auto json = Json::parse(text);
  for (const char* field : {"at", "process", "is"}) {
    if (!json.contains(field)) throw std::runtime_error(std::string(field) + " is missing");
  }
  for (const char* field :
       {"at", "process", "lock", "call", "is", "token", "lease_ms", "timeout_ms"}) {
    if (!json.contains(field)) continue;
    const auto& value = json[field];
    take(line, field, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return line;
}

/// TIME PROCESS LOCK WORD [FIELD=VALUE]...
LogLine from_words(const std::string& text) {
  LogLine line;
  std::istringstream words(text);
  std::string at, is;
  if (!(words >> at >> line.process >> line.lock >> is)) {
    throw std::runtime_error("'" + text + "': it must be TIME PROCESS LOCK WORD, or JSON");
  }
  take(line, "at", at);
  take(line, "is", is);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      throw std::runtime_error("'" + word + "': it must be FIELD=VALUE");
    }
    take(line, word.substr(0, equals), word.substr(equals + 1));
  }
  return line;
}

LogLine line_from(const std::string& text) {
  auto line = text.front() == '{' ? from_json(text) : from_words(text);
  const bool of_a_lock = line.is != LogLine::Is::died;
  if (line.process.empty() || (of_a_lock && line.lock.empty())) {
    throw std::runtime_error(line.process.empty() ? "process is '': it must be a name"
                                                  : "lock is '': it must be a name");
  }
  return line;
}

}  // namespace

const char* to_string(LogLine::Is is) { return kWords.at(static_cast<std::size_t>(is)); }

std::vector<LogLine> read_log(std::istream& in) {
  std::vector<LogLine> lines;
  std::string text;
  for (std::size_t number = 1; std::getline(in, text); ++number) {
    text.erase(text.find_last_not_of(" \t\r") + 1);
    text.erase(0, text.find_first_not_of(" \t"));
    if (text.empty() || text.front() == '#') continue;
    try {
      lines.push_back(line_from(text));
    } catch (const std::exception& error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return lines;
}

std::string to_text(const LogLine& line) {
  auto text = fmt::format("{} {} {} {}", date_text(line.at_ms), line.process,
                          line.lock.empty() ? "-" : line.lock, to_string(line.is));
  if (!line.call.empty()) text += " call=" + line.call;
  if (line.token != 0) text += fmt::format(" token={}", line.token);
  if (line.lease_ms != 0) text += fmt::format(" lease_ms={}", line.lease_ms);
  if (line.timeout_ms) text += fmt::format(" timeout_ms={}", *line.timeout_ms);
  return text;
}

std::int64_t date_ms(const std::string& text) {
  static const std::regex date(
      R"((\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):?(\d\d)))");
  static const std::regex since_1970(R"((\d{1,19})(?:\.(\d+))?)");
  std::smatch part;
  const auto fraction_ms = [&part] { return std::stoll((part[2].str() + "000").substr(0, 3)); };
  if (std::regex_match(text, part, date)) {
    auto of_day = part[1].str();
    of_day[kDateWidth] = 'T';
    const auto ms = sim::live::date_ms({{"$date", of_day + "Z"}}) + fraction_ms();
    if (!part[3].matched) return ms;
    const auto east_ms = (std::stoll(part[4]) * 60 + std::stoll(part[5])) * 60'000;
    return part[3] == "+" ? ms - east_ms : ms + east_ms;
  }
  if (!std::regex_match(text, part, since_1970)) {
    throw std::runtime_error("'" + text +
                             "' is no time: it must be like 2026-11-24T20:00:00.123Z, or s, ms, us "
                             "or ns since 1970");
  }
  // Between 1973 and 5138 the size of a number shows its unit.
  const auto count = whole_number("at", part[1]);
  if (count < kSeconds * 1'000 && (count >= kSeconds || part[2].matched)) {
    return count * 1'000 + fraction_ms();
  }
  if (count < kSeconds * 1'000'000) return count;
  return count < kSeconds * 1'000'000'000 ? count / 1'000 : count / 1'000'000;
}

std::string date_text(std::int64_t since_1970_ms) {
  const std::time_t seconds = since_1970_ms / 1'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     since_1970_ms % 1'000);
}

}  // namespace leasehold::properties
