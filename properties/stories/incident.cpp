#include "properties/stories/incident.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "model/history/from_outside.hpp"
#include "model/workers/worker_judge.hpp"
#include "sim/live/oplog/oplog.hpp"

namespace leasehold::properties {
namespace {

using model::Event;
using model::Check;
using model::Kind;
using sim::live::Json;

using model::kMs;
constexpr std::int64_t kLateness_ms = 400;  ///< as of a live run
constexpr std::int64_t kFaultEcho_ms = 3'000;
constexpr std::int64_t kBefore_ms = 1'000;  ///< what the history's clock shows at the first stamp

bool is_election(const Json& entry) {
  return entry.value("op", "") == "n" && entry["o"].value("msg", "") == "new primary";
}

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

using Text = const std::string&;
struct Field {
  const char* name;
  void (*put)(LogLine& line, Text name, Text value);
};
constexpr std::array kFields{
    Field{"at", [](LogLine& line, Text, Text value) { line.at_ms = date_ms(value); }},
    Field{"process", [](LogLine& line, Text, Text value) { line.process = value; }},
    Field{"lock", [](LogLine& line, Text, Text value) { line.lock = value; }},
    Field{"call", [](LogLine& line, Text, Text value) { line.call = value; }},
    Field{"is", [](LogLine& line, Text, Text value) { line.is = word_in(value); }},
    Field{"token", [](LogLine& l, Text name, Text value) { l.token = whole_number(name, value); }},
    Field{"lease_ms",
          [](LogLine& line, Text name, Text value) { line.lease_ms = whole_number(name, value); }},
    Field{"timeout_ms", [](LogLine& line, Text name, Text value) {
            line.timeout_ms = whole_number(name, value);
          }}};

void take(LogLine& line, Text field, Text value) {
  std::string all;
  for (const auto& [name, put] : kFields) {
    if (field == name) return put(line, field, value);
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  throw std::runtime_error("'" + field + "' is unknown; there may be " + all);
}

/// Other members of the JSON are the user's own.
LogLine from_json(const std::string& text) {
  LogLine line;
  const auto json = Json::parse(text);
  for (const char* field : {"at", "process", "is"}) {
    if (!json.contains(field)) throw std::runtime_error(std::string(field) + " is missing");
  }
  for (const auto& [field, put] : kFields) {
    if (!json.contains(field)) continue;
    const auto& value = json[field];
    put(line, field, value.is_string() ? value.get<std::string>() : value.dump());
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

class IncidentReader {
 public:
  IncidentReader(const IncidentOptions& options, std::int64_t first_ms)
      : options_(options),
        error_ms_(options.clock_error_ms),
        began_ms_(first_ms - error_ms_ - kBefore_ms),
        documents_(*options.promises.document, options.own_documents) {
    Event run = event(Kind::run, began_ms_);
    run.lock = options.promises.name;
    run.live = true;
    run.ttl_period_ms = 60'000;
    run.lateness_ns = (kLateness_ms + 4 * error_ms_) * kMs;
    run.truth_lag_ns = 2 * error_ms_ * kMs;
    run.fault_echo_ms = kFaultEcho_ms;
    history_.push_back(std::move(run));
  }

  void read(const Json& entry) {
    const auto wall_ms = sim::live::date_ms(entry.at("wall"));
    last_ms_ = std::max(last_ms_, wall_ms);
    if (is_election(entry)) {
      history_.push_back(event(Kind::fault, wall_ms));
      history_.back().fault = "step-up";
      return;
    }
    const auto add_all = [&](model::History events) {
      for (auto& one : events) add(std::move(one), wall_ms);
    };
    if (entry.at("op") == "c" && entry["o"].contains("drop")) {
      add_all(documents_.drop(entry));
    } else if (entry["op"] == "c" && entry["o"].contains("applyOps")) {
      for (const Json& inner : entry["o"]["applyOps"]) add_all(documents_.read(inner, entry));
    } else if (entry["op"] == "i" || entry["op"] == "u" || entry["op"] == "d") {
      add_all(documents_.read(entry, entry));
    }
  }

  void read(const LogLine& line) {
    last_ms_ = std::max(last_ms_, line.at_ms);
    if (known_.insert(line.process).second) add(Kind::start, line, earliest(line));
    if (line.is == LogLine::Is::died) {
      add(Kind::crash, line, latest(line));
      known_.erase(line.process);
      std::erase_if(calls_, [&](const auto& one) { return one.first[0] == line.process; });
      return;
    }
    Call& call = calls_[{line.process, line.lock, line.call}];
    using enum LogLine::Is;
    switch (line.is) {
      case asked: ask(call, line, line.at_ms); break;
      case granted:
        if (call.waiting == 0) ask(call, line, call.last_ms);
        call.holding = std::exchange(call.waiting, 0);
        add(Kind::granted, line, latest(line)).token = line.token;
        break;
      case refused:
      case timed_out:
      case failed:
        if (call.waiting == 0) ask(call, line, call.last_ms);
        add(Kind::ended, line, latest(line), call.waiting).outcome = to_string(line.is);
        call.last = std::exchange(call.waiting, 0);
        break;
      case held:
      case not_held: answered(line); break;
      case lost: add(Kind::notified, line, latest(line)).sent_ns = ns(earliest(line)); break;
      case releasing: release(call, line, line.at_ms); break;
      case released:
      case not_owner:
      case unknown:
        if (call.releasing != call.session()) release(call, line, call.last_ms);
        add(Kind::released, line, latest(line)).outcome = to_string(line.is);
        if (call.holding != 0) call.last = std::exchange(call.holding, 0);
        break;
      case died: break;
    }
    call.last_ms = line.at_ms;
  }

  model::History finish() {
    for (const Kind kind : {Kind::heal, Kind::finish}) {
      history_.push_back(event(kind, last_ms_ + error_ms_));
    }
    for (Event& e : history_) model::make_valid_utf8(e);
    model::sort_by_time(history_);
    return std::move(history_);
  }
  [[nodiscard]] std::int64_t began_ms() const { return began_ms_; }

 private:
  /// The latest calls of one process for a lock, as sessions; 0: none. While one of its threads
  /// holds the lock, another may ask for it: a grant and its refusal are the waiting one's, the
  /// rest is the holding one's.
  struct Call {
    std::int64_t waiting = 0, holding = 0, last = 0, releasing = -1;
    std::int64_t last_ms = 0;  ///< the time of the last line; 0: none

    [[nodiscard]] std::int64_t session() const {
      return holding != 0 ? holding : waiting != 0 ? waiting : last;
    }
  };

  [[nodiscard]] std::int64_t ns(std::int64_t at_ms) const { return (at_ms - began_ms_) * kMs; }
  [[nodiscard]] std::int64_t earliest(const LogLine& line) const { return line.at_ms - error_ms_; }
  [[nodiscard]] std::int64_t latest(const LogLine& line) const { return line.at_ms + error_ms_; }

  [[nodiscard]] Event event(Kind kind, std::int64_t at_ms) const {
    return {.at_ns = std::max<std::int64_t>(ns(at_ms), 1), .kind = kind};
  }

  /// Adds an event of the line's call, or of this session of it.
  Event& add(Kind kind, const LogLine& line, std::int64_t at_ms, std::int64_t session = 0) {
    Event e = event(kind, at_ms);
    e.process = line.process;
    if (about(kind).fields.contains(model::Field::session)) {
      e.session =
          session != 0 ? session : calls_[{line.process, line.lock, line.call}].session();
      e.name = line.lock;
    }
    history_.push_back(std::move(e));
    return history_.back();
  }

  /// The primary's date may be wrong, and so may be the document's, which is of another primary.
  void add(Event e, std::int64_t wall_ms) {
    e.at_ns = ns(wall_ms + error_ms_);
    e.from_ns = ns(wall_ms - error_ms_);
    if (e.expires_at_ms != 0) e.expires_at_ms -= 2 * error_ms_;
    history_.push_back(std::move(e));
  }

  /// The call was asked for then or later; without such a line, at any time since the line before.
  void ask(Call& call, const LogLine& line, std::int64_t at_ms) {
    call.waiting = ++sessions_[line.process];
    Event& e = add(Kind::ask, line, at_ms == 0 ? began_ms_ : at_ms - error_ms_, call.waiting);
    const auto lease_ms = line.lease_ms != 0 ? line.lease_ms : options_.lease_ms;
    e.expiry_ms = std::max<std::int64_t>(lease_ms - 2 * error_ms_, 1);
    e.single_attempt = line.timeout_ms.value_or(0) == 0;
    if (!e.single_attempt) e.give_up_ns = ns(at_ms + error_ms_ + *line.timeout_ms);
  }

  void release(Call& call, const LogLine& line, std::int64_t at_ms) {
    call.releasing = call.session();
    add(Kind::release, line, at_ms == 0 ? began_ms_ : at_ms - error_ms_);
  }

  void answered(const LogLine& line) {
    Event& e = add(Kind::held, line, latest(line));
    const bool yes = line.is == LogLine::Is::held;
    e.outcome = yes ? "yes" : "no";
    e.count = 1;
    e.first_answered_ns = ns(latest(line));
    (yes ? e.last_asked_ns : e.first_asked_ns) = ns(earliest(line));
  }

  const IncidentOptions& options_;
  const std::int64_t error_ms_;
  const std::int64_t began_ms_;
  std::int64_t last_ms_ = 0;
  sim::live::DocumentTruth documents_;
  std::set<std::string> known_;
  std::map<std::string, std::int64_t> sessions_;
  std::map<std::array<std::string, 3>, Call> calls_;  ///< by process, lock and call
  model::History history_;
};

bool has_tokens(const std::vector<LogLine>& log) {
  return std::ranges::any_of(log, [](const LogLine& line) { return line.token != 0; });
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

model::Promises own_incident_promises(const std::string& collection) {
  return {.name = "leasehold",
          .language = "C++",
          .tokens = model::Promises::Tokens::rising,
          .tells_loss = true,
          .document = model::DocumentMapping{collection, "_id", "lockId", "expiresAt"}};
}

Incident read_incident(const std::vector<Json>& entries, std::vector<LogLine> log,
                       const IncidentOptions& options) {
  std::ranges::stable_sort(log, {}, &LogLine::at_ms);
  auto first_ms = log.empty() ? std::int64_t{0} : log.front().at_ms;
  if (!entries.empty()) {
    const auto wall_ms = sim::live::date_ms(entries.front().at("wall"));
    first_ms = log.empty() ? wall_ms : std::min(first_ms, wall_ms);
  }
  IncidentReader reader(options, first_ms);
  for (const Json& entry : entries) reader.read(entry);
  for (const LogLine& line : log) reader.read(line);

  Incident incident{reader.finish(), reader.began_ms(), options.promises, {}};
  auto& promises = incident.promises;
  const auto leave_out = [&](const std::string& what) { incident.left_out.push_back(what); };
  leave_out("G3 not checked");
  if (promises.tokens == model::Promises::Tokens::rising && !has_tokens(log)) {
    promises.tokens = model::Promises::Tokens::none;
    leave_out("G4 not checked (no log has tokens)");
  }
  // Logs do not say whether a process ran when it was to be notified, nor which other callers asked
  // for a lock.
  promises.tells_loss = false;
  promises.waits = model::Promises::Waits::none;
  promises.passes_on_leases = std::nullopt;
  for (const std::string other : {"G5", "G7", "G8", "G9"}) leave_out(other + " not checked");
  return incident;
}

std::vector<model::Finding> judge_incident(const Incident& incident) {
  auto findings = model::judge_worker(incident.history, incident.promises);
  std::erase_if(findings, [](const model::Finding& f) {
    return f.check == Check::G3 || kind_of(f.check) == model::CheckKind::run;
  });
  return findings;
}

}  // namespace leasehold::properties
