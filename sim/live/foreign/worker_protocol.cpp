#include "sim/live/foreign/worker_protocol.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace leasehold::sim::live {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kWords{"ready",    "granted", "refused",  "timed_out", "failed", "held",
                            "not_held", "lost",    "released", "not_owner", "unknown"};

std::string line_of(const Json& json) { return json.dump() + '\n'; }

/// The part of a line that a report can show.
std::string shown(const std::string& line) {
  constexpr std::size_t kMost = 200;
  return line.size() <= kMost ? line : line.substr(0, kMost) + "...";
}

[[noreturn]] void refuse(const std::string& why, const std::string& line) {
  throw std::runtime_error(why + ": " + shown(line));
}

/// A whole number, or one in decimal digits, because some languages have no numbers beyond 2^53.
std::optional<std::int64_t> number(const Json& json, const char* field, const std::string& line) {
  if (!json.contains(field)) return std::nullopt;
  const Json& value = json[field];
  const auto digits = value.is_string() ? value.get<std::string>() : value.dump();
  std::int64_t parsed = 0;
  const auto* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, parsed);
  if (error == std::errc() && stop == end) return parsed;
  refuse("'" + std::string(field) + "' is no whole number below 2^63", line);
}

std::string said(const Answer& answer) {
  return "\"" + std::string(to_string(answer.is)) + "\" of " + std::to_string(answer.id);
}

}  // namespace

std::string start_line(const std::string& process, const std::string& uri,
                       const std::string& database, std::int64_t lease_ms) {
  return line_of({{"do", "start"},
                  {"process", process},
                  {"uri", uri},
                  {"database", database},
                  {"lease_ms", lease_ms}});
}

std::string acquire_line(std::int64_t id, const std::string& name, std::int64_t timeout_ms,
                         bool shared) {
  Json line{{"do", "acquire"}, {"id", id}, {"name", name}, {"timeout_ms", timeout_ms}};
  if (shared) line["shared"] = true;
  return line_of(line);
}

std::string ask_line(std::int64_t id) { return line_of({{"do", "ask"}, {"id", id}}); }
std::string release_line(std::int64_t id) { return line_of({{"do", "release"}, {"id", id}}); }
std::string stop_line() { return line_of({{"do", "stop"}}); }

const char* to_string(Answer::Is is) { return kWords.at(static_cast<std::size_t>(is)); }

Answer answer_from(const std::string& line) {
  const auto json = Json::parse(line, nullptr, false);
  if (!json.is_object()) refuse("it said what is no JSON object", line);
  if (!json.contains("is") || !json["is"].is_string()) refuse("it said a line without 'is'", line);
  const auto word = std::ranges::find(kWords, json["is"].get<std::string>());
  if (word == kWords.end()) refuse("it said a word that the protocol has not", line);
  Answer answer;
  answer.is = static_cast<Answer::Is>(word - kWords.begin());
  const auto id = number(json, "id", line);
  if (!id && answer.is != Answer::Is::ready) refuse("it said a line without 'id'", line);
  answer.id = id.value_or(0);
  answer.at_ns = number(json, "at_ns", line);
  answer.token = number(json, "token", line);
  answer.remaining_ms = number(json, "remaining_ms", line);
  if (answer.token && *answer.token < 1) refuse("'token' is not above 0", line);
  if (json.contains("why") && json["why"].is_string()) answer.why = json["why"];
  return answer;
}

void Dialogue::asked(Question question, std::int64_t id, std::int64_t at_ns) {
  Call& call = calls_[id];
  if (question == Question::ask) {
    call.asks = true;
    call.ask_ns = at_ns;
    return;
  }
  call.phase = question == Question::acquire ? Phase::acquiring : Phase::releasing;
  call.asked_ns = at_ns;
}

void Dialogue::heard(const Answer& answer, std::int64_t received_ns) {
  using Is = Answer::Is;
  const auto stamped = [&](std::int64_t question_ns) {
    if (!answer.at_ns || (*answer.at_ns >= question_ns && *answer.at_ns <= received_ns)) return;
    throw std::runtime_error("the at_ns of " + said(answer) + " is " +
                             std::to_string(*answer.at_ns) + ", not between the question (" +
                             std::to_string(question_ns) + ") and its arrival (" +
                             std::to_string(received_ns) + "): is it CLOCK_BOOTTIME in ns?");
  };
  const auto unasked = [&] {
    throw std::runtime_error("it said " + said(answer) + ", which is no answer to an order");
  };
  if (answer.is == Is::ready) {
    if (ready_) unasked();
    ready_ = true;
    return stamped(asked_ns_);
  }
  const auto found = calls_.find(answer.id);
  if (found == calls_.end()) return unasked();
  Call& call = found->second;
  switch (answer.is) {
    case Is::granted:
    case Is::refused:
    case Is::timed_out:
    case Is::failed:
      if (call.phase != Phase::acquiring) return unasked();
      stamped(call.asked_ns);
      call.phase = answer.is == Is::granted ? Phase::held : Phase::ended;
      return;
    case Is::held:
    case Is::not_held:
      if (!call.asks) return unasked();
      call.asks = false;
      return stamped(call.ask_ns);
    case Is::lost: {
      // It may be on its way when the release is asked for.
      const bool granted = call.phase != Phase::acquiring && call.phase != Phase::ended;
      if (!granted || call.lost) return unasked();
      call.lost = true;
      return stamped(0);
    }
    default:
      if (call.phase != Phase::releasing) return unasked();
      stamped(call.asked_ns);
      call.phase = Phase::released;
  }
}

}  // namespace leasehold::sim::live
