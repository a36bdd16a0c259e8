#include "model/history.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <utility>

namespace leasehold::model {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kKinds{
    std::pair{Kind::run, "run"},           std::pair{Kind::start, "start"},
    std::pair{Kind::crash, "crash"},       std::pair{Kind::pause, "pause"},
    std::pair{Kind::resume, "resume"},     std::pair{Kind::stall, "stall"},
    std::pair{Kind::fault, "fault"},       std::pair{Kind::heal, "heal"},
    std::pair{Kind::finish, "finish"},     std::pair{Kind::ask, "ask"},
    std::pair{Kind::send, "send"},         std::pair{Kind::reply, "reply"},
    std::pair{Kind::granted, "granted"},   std::pair{Kind::extended, "extended"},
    std::pair{Kind::lost, "lost"},         std::pair{Kind::held, "held"},
    std::pair{Kind::notified, "notified"}, std::pair{Kind::release, "release"},
    std::pair{Kind::released, "released"}, std::pair{Kind::ended, "ended"},
    std::pair{Kind::write, "write"},       std::pair{Kind::wire, "wire"},
    std::pair{Kind::put, "put"},           std::pair{Kind::gone, "gone"},
    std::pair{Kind::stored, "stored"},     std::pair{Kind::exit, "exit"},
    std::pair{Kind::reread, "reread"},
};

Kind kind_from(const std::string& name) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const auto& entry) { return name == entry.second; });
  if (found == kKinds.end()) throw std::runtime_error("unknown kind '" + name + "'");
  return found->first;
}

// Every field but the kind, once: what reads and what writes go through the same list.
template <typename EventType, typename Number, typename Big, typename Text>
void each_field(EventType& e, Number number, Big big, Text text) {
  text("process", e.process);
  number("session", e.session);
  number("command", e.command);
  text("name", e.name);
  text("owner", e.owner);
  text("other_owner", e.other_owner);
  text("lock_id", e.lock_id);
  big("token", e.token);
  big("order", e.order);
  number("sent_ns", e.sent_ns);
  number("until_ns", e.until_ns);
  text("outcome", e.outcome);
  number("matched", e.matched);
  number("expiry_ms", e.expiry_ms);
  number("margin_ms", e.margin_ms);
  number("poll_ms", e.poll_ms);
  number("timeout_ms", e.timeout_ms);
  number("drift_ppm", e.drift_ppm);
  text("detail", e.detail);
}

std::int64_t parse_big(const Json& value) {
  const auto text = value.get<std::string>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::runtime_error("'" + text + "' is not a number");
  }
  return number;
}

/// A whole number: the library would take a fraction, and one too large for it with any result.
std::int64_t parse_number(const char* key, const Json& value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost)) {
    throw std::runtime_error(std::string(key) + " is " + value.dump() +
                             ": it must be a whole number of 64 bits");
  }
  return value.get<std::int64_t>();
}

}  // namespace

const char* to_string(Kind kind) {
  for (const auto& [value, name] : kKinds) {
    if (value == kind) return name;
  }
  return "?";
}

std::string to_json(const Event& event) {
  Json line;
  line["at_ns"] = event.at_ns;
  line["kind"] = to_string(event.kind);
  const auto number = [&](const char* key, std::int64_t value) {
    if (value != 0) line[key] = value;
  };
  const auto big = [&](const char* key, std::int64_t value) {
    if (value != 0) line[key] = std::to_string(value);
  };
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) line[key] = value;
  };
  each_field(event, number, big, text);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Event event_from_json(const std::string& line) {
  Event event;
  try {
    const auto json = Json::parse(line);
    event.at_ns = parse_number("at_ns", json.at("at_ns"));
    event.kind = kind_from(json.at("kind").get<std::string>());
    const auto number = [&](const char* key, std::int64_t& value) {
      if (json.contains(key)) value = parse_number(key, json.at(key));
    };
    const auto text = [&](const char* key, std::string& value) {
      if (json.contains(key)) json.at(key).get_to(value);
    };
    const auto big = [&](const char* key, std::int64_t& value) {
      if (json.contains(key)) value = parse_big(json.at(key));
    };
    each_field(event, number, big, text);
  } catch (const std::exception& error) {
    throw std::runtime_error(error.what());
  }
  return event;
}

void write(std::ostream& out, const History& history) {
  for (const auto& event : history) out << to_json(event) << '\n';
}

History read(std::istream& in) {
  History history;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    try {
      history.push_back(event_from_json(line));
    } catch (const std::exception& error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return history;
}

void sort_by_time(History& history) {
  std::stable_sort(history.begin(), history.end(),
                   [](const Event& a, const Event& b) { return a.at_ns < b.at_ns; });
}

bool asks_for_lock(const Event& event) {
  return event.detail == "acquire" || event.detail == "hand-over";
}

std::string describe_exit(const Event& event) {
  const auto& who = event.process.empty() ? event.name : event.process;
  if (event.outcome == "did not end") return who + " was stopped and did not end";
  const bool has_status = event.outcome == "exited";
  return who + ' ' + event.outcome +
         (has_status ? " with status " + std::to_string(event.matched) : "") +
         " although the harness had not stopped it";
}

std::string harness_failure(const History& history) {
  const auto exit = std::find_if(history.begin(), history.end(),
                                 [](const Event& e) { return e.kind == Kind::exit; });
  if (exit == history.end()) return "";
  return describe_exit(*exit) + (exit->detail.empty() ? "" : ":\n" + exit->detail);
}

std::string owner_of(const std::string& lock_id) { return lock_id.substr(0, lock_id.find('.')); }

}  // namespace leasehold::model
