#include "properties/stories/incident.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
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
using model::kNone;
using model::SessionDigest;
using model::Span;
using model::Tenure;
using FaultKind = sim::FaultPlan::Kind;

constexpr std::int64_t kLateness_ms = 400;  ///< as of a live run
constexpr std::int64_t kFaultEcho_ms = 3'000;
constexpr std::int64_t kBefore_ms = 1'000;  ///< what the history's clock shows at the first stamp

constexpr std::size_t kDateWidth = 10;  // of 2026-11-24
constexpr std::int64_t kSeconds = 100'000'000;  // so many since 1970 was in 1973

std::int64_t whole_number(const std::string& field, const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  throw std::runtime_error(field + " is '" + text + "': it must be a whole number of 0 or more");
}

/// The fields of a line, which is TIME PROCESS LOCK WORD [FIELD=VALUE]..., or JSON, in which other
/// members are the user's own.
std::map<std::string, std::string> fields_of(const std::string& text) {
  constexpr std::array kNames{"at", "process", "lock",     "call",
                              "is", "token",   "lease_ms", "timeout_ms"};
  std::map<std::string, std::string> fields;
  if (text.front() == '{') {
    const auto json = Json::parse(text);
    for (const auto& [name, value] : json.items()) {
      fields[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    return fields;
  }
  std::istringstream words(text);
  if (!(words >> fields["at"] >> fields["process"] >> fields["lock"] >> fields["is"])) {
    throw std::runtime_error("'" + text + "': it must be TIME PROCESS LOCK WORD, or JSON");
  }
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      throw std::runtime_error("'" + word + "': it must be FIELD=VALUE");
    }
    const auto field = word.substr(0, equals);
    if (std::ranges::count(kNames, field) == 0) {
      throw std::runtime_error(
          fmt::format("'{}' is unknown; there may be {}", field, fmt::join(kNames, ", ")));
    }
    fields[field] = word.substr(equals + 1);
  }
  return fields;
}

LogLine line_from(const std::string& text) {
  auto fields = fields_of(text);
  for (const char* field : {"at", "process", "is"}) {
    if (!fields.contains(field)) throw std::runtime_error(std::string(field) + " is missing");
  }
  LogLine line{.at_ms = date_ms(fields["at"]),
               .process = fields["process"],
               .lock = fields["lock"],
               .call = fields["call"],
               .is = fields["is"]};
  if (std::ranges::count(kLogWords, line.is) == 0) {
    throw std::runtime_error(
        fmt::format("is is '{}': it must be one of {}", line.is, fmt::join(kLogWords, ", ")));
  }
  const auto number = [&](const char* field) {
    return fields.contains(field) ? whole_number(field, fields[field]) : 0;
  };
  line.token = number("token");
  line.lease_ms = number("lease_ms");
  if (fields.contains("timeout_ms")) line.timeout_ms = number("timeout_ms");
  if (line.process.empty() || (line.is != "died" && line.lock.empty())) {
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
    if (entry.value("op", "") == "n" && entry["o"].value("msg", "") == "new primary") {
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
    if (line.is == "died") {
      add(Kind::crash, line, latest(line));
      known_.erase(line.process);
      std::erase_if(calls_, [&](const auto& one) { return one.first[0] == line.process; });
      return;
    }
    Call& call = calls_[{line.process, line.lock, line.call}];
    const auto is = [&](auto... words) { return ((line.is == words) || ...); };
    const bool ends = is("refused", "timed_out", "failed");
    if (call.waiting == 0 && (ends || is("granted"))) ask(call, line, call.last_ms);
    if (is("asked")) ask(call, line, line.at_ms);
    if (is("granted")) {
      call.holding = std::exchange(call.waiting, 0);
      add(Kind::granted, line, latest(line)).token = line.token;
    }
    if (ends) {
      add(Kind::ended, line, latest(line), call.waiting).outcome = line.is;
      call.last = std::exchange(call.waiting, 0);
    }
    if (is("held", "not_held")) {
      Event& e = add(Kind::held, line, latest(line));
      e.outcome = is("held") ? "yes" : "no";
      e.count = 1;
      e.first_answered_ns = ns(latest(line));
      (is("held") ? e.last_asked_ns : e.first_asked_ns) = ns(earliest(line));
    }
    if (is("lost")) add(Kind::notified, line, latest(line)).sent_ns = ns(earliest(line));
    if (is("releasing")) release(call, line, line.at_ms);
    if (is("released", "not_owner", "unknown")) {
      if (call.releasing != call.session()) release(call, line, call.last_ms);
      add(Kind::released, line, latest(line)).outcome = line.is;
      if (call.holding != 0) call.last = std::exchange(call.holding, 0);
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
      e.session = session != 0 ? session : calls_[{line.process, line.lock, line.call}].session();
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

constexpr std::int64_t kSettled_ms = 100;  ///< before the first step
constexpr std::int64_t kGranted_ms = 500;  ///< allowance of a time-out for a later grant here
constexpr std::int64_t kAround_leases = 3;  ///< of a violation that a story tells
constexpr std::int64_t kLate_ms = 20;

class Storyteller {
 public:
  Storyteller(const Incident& incident, const std::vector<model::Finding>& findings,
              const IncidentOptions& options)
      : error_ns_(options.clock_error_ms * kMs),
        d_(model::worker_digest(incident.history, incident.promises)) {
    choose(findings);
  }

  sim::Plan tell(const std::string& lock) {
    sim::Plan plan{.seed = 1, .lock = lock};
    for (const auto& call : told_) add(plan, *call);
    plan.locks = std::max<int>(1, static_cast<int>(names_.size()));
    for (const auto& all : d_.tenures) {
      for (const Tenure& t : all) add_stop(plan, t);
    }
    for (const auto& [process, place] : places_) {
      const auto crash = d_.process_of[process]->crash;
      if (crash == kNone) continue;
      const auto at_ms = std::max<std::int64_t>(logged_ms(d_.at(crash), true), 0);
      plan.faults.push_back({.kind = FaultKind::crash, .at_ms = at_ms, .process = place});
    }
    add_late_releases(plan);
    for (const auto& one : plan.steps) plan.faulty_ms = std::max(plan.faulty_ms, one.at_ms + 1'000);
    std::ranges::stable_sort(plan.steps, {}, &sim::StepPlan::at_ms);
    std::ranges::stable_sort(plan.faults, {}, &sim::FaultPlan::at_ms);
    plan.clock_margin_ms = margin_ms();
    return plan;
  }

 private:
  /// From the request until the lock was given back, the call ended or its process died.
  [[nodiscard]] Span span_of(const SessionDigest& call) const {
    Span span{call.asked.at_ns, d_.finished_ns};
    for (const auto end : {call.released, call.ended, d_.process_of[call.process]->crash}) {
      if (end != kNone) span.to = std::min(span.to, d_.at(end).at_ns);
    }
    return span;
  }

  /// Chooses the calls around the first violation.
  void choose(const std::vector<model::Finding>& findings) {
    const auto violated = [](const auto& f) {
      return f.verdict == model::Verdict::violated && !f.events.empty();
    };
    // The violation of a release comes before its consequences.
    auto found = std::ranges::find_if(findings, [&](const auto& f) {
      return violated(f) && f.check == model::Check::G6;
    });
    if (found == findings.end()) found = std::ranges::find_if(findings, violated);
    for (const auto& all : model::worker_calls(d_)) {
      told_.insert(told_.end(), all.begin(), all.end());
    }
    if (found != findings.end()) {
      Span around{d_.finished_ns, 0};
      for (const auto i : found->events) {
        around.from = std::min(around.from, d_.at(i).at_ns);
        around.to = std::max(around.to, d_.at(i).at_ns);
      }
      harm_ns_ = d_.at(found->events.back()).at_ns - error_ns_;
      const auto name = d_.fact(found->events.back()).name;
      std::erase_if(told_, [&](const SessionDigest* call) {
        const auto lease_ns = kAround_leases * call->asked->expiry_ms * kMs;
        const Span wide{around.from - lease_ns, around.to + lease_ns};
        return call->asked.name != name || !span_of(*call).meets(wide);
      });
    }
    std::ranges::stable_sort(told_, {}, [](const auto* call) { return call->asked.at_ns; });
    if (!told_.empty()) zero_ns_ = told_.front()->asked.at_ns - kSettled_ms * kMs;
  }

  [[nodiscard]] std::int64_t at_ms(std::int64_t ns) const { return (ns - zero_ns_) / kMs; }

  /// The stamp before it was moved apart.
  [[nodiscard]] std::int64_t logged_ms(const Event& e, bool moved_later) const {
    return at_ms(e.at_ns + (moved_later ? -2 : 0) * error_ns_);
  }

  void add(sim::Plan& plan, const SessionDigest& call) {
    const auto [its, added] = places_.try_emplace(call.process, std::ssize(plan.processes));
    if (added) {
      plan.processes.push_back({.expiry_ms = call.asked->expiry_ms + 2 * error_ns_ / kMs,
                                .wait_min_ms = 10,
                                .wait_max_ms = 40,
                                .scripted = true});
    }
    const auto place = its->second;
    const auto span = span_of(call);
    auto& callers = busy_[place];
    auto free = std::ranges::find_if(callers, [&](auto until) { return until <= span.from; });
    if (free == callers.end()) free = callers.insert(callers.end(), 0);
    *free = span.to;
    auto& process = plan.processes[static_cast<std::size_t>(place)];
    process.callers = std::max(process.callers, static_cast<int>(callers.size()));
    const auto name = names_.try_emplace(call.asked.name, names_.size()).first->second;
    sim::StepPlan step{.action = sim::StepPlan::Action::acquire,
                       .at_ms = at_ms(call.asked.at_ns),
                       .process = place,
                       .caller = free - callers.begin(),
                       .lock = static_cast<std::int64_t>(name)};
    step.acquire_timeout_ms = timeout_ms(call);
    plan.steps.push_back(step);
    if (call.release == kNone) return;
    step.action = sim::StepPlan::Action::release;
    step.at_ms = at_ms(d_.at(call.release).at_ns);
    step.acquire_timeout_ms = 0;
    plan.steps.push_back(step);
  }

  [[nodiscard]] std::int64_t timeout_ms(const SessionDigest& call) const {
    const bool granted = call.granted != kNone;
    const auto end = granted ? call.granted : call.ended;
    if (end == kNone) return kGranted_ms;
    if (!granted && d_.at(end).outcome == "refused") return 0;  // one attempt
    const auto took = logged_ms(d_.at(end), true) - at_ms(call.asked.at_ns);
    return std::max<std::int64_t>(took, 0) + (granted ? kGranted_ms : 0);
  }

  /// A holder that had to extend its lock, and did not for a whole lease, was stopped or cut off
  /// until it did something again.
  void add_stop(sim::Plan& plan, const Tenure& t) {
    const auto holder = model::writer_of(d_, t.last_put);
    if (!holder || std::ranges::count(told_, holder->session) == 0) return;
    const auto& s = *holder->session;
    if (d_.process_of[s.process]->crash != kNone) return;
    const auto from = logged_ms(d_.at(t.last_put), true);
    const auto given_up = at_ms(s.release != kNone ? d_.at(s.release).at_ns : d_.finished_ns);
    const auto ended = t.next == kNone ? given_up : logged_ms(d_.at(t.next), true);
    if (std::min(given_up, ended) - from <= s.asked->expiry_ms) return;
    const bool goes_on = std::ranges::any_of(d_.facts.all, [&](const model::Fact& e) {
      const bool later = e.kind != model::Kind::ask && e.kind != model::Kind::release;
      const auto at = logged_ms(*e.event, later);
      return e.process == s.process && e.kind != model::Kind::granted && at > from + kLate_ms &&
             at < given_up - kLate_ms;
    });
    plan.faults.push_back({.kind = goes_on ? FaultKind::cut_link : FaultKind::pause,
                           .at_ms = from + kLate_ms,
                           .for_ms = std::max<std::int64_t>(given_up - from - 2 * kLate_ms, 1),
                           .process = places_.at(s.process)});
  }

  /// An unanswered release may have been on its way until the harm was done.
  void add_late_releases(sim::Plan& plan) const {
    for (const SessionDigest* call : told_) {
      const SessionDigest& s = *call;
      if (s.released == kNone || d_.at(s.released).outcome != "unknown") continue;
      const auto released = at_ms(d_.at(s.release).at_ns);
      const auto late = harm_ns_ == 0 ? 0 : at_ms(harm_ns_) - released;
      if (late <= 0) continue;
      plan.faults.push_back({.kind = FaultKind::late_requests,
                             .at_ms = std::max<std::int64_t>(released - kLate_ms, 0),
                             .for_ms = 2 * kLate_ms,
                             .amount = late,
                             .process = places_.at(s.process)});
    }
  }

  /// By how much a document outlasts its lease.
  [[nodiscard]] std::int64_t margin_ms() const {
    std::int64_t least = model::kNever;
    for (const auto& all : d_.tenures) {
      for (const Tenure& t : all) {
        const auto holder = model::writer_of(d_, t.last_put);
        const Event& e = d_.at(t.last_put);
        if (!holder || e.expires_at_ms == 0 || e.wall_ms == 0) continue;
        if (std::ranges::count(told_, holder->session) == 0) continue;
        least = std::min(least, e.expires_at_ms - e.wall_ms - holder->ask()->expiry_ms);
      }
    }
    constexpr std::int64_t kUsual = 1'000, kMost = 60'000;
    return least == model::kNever ? kUsual : std::clamp<std::int64_t>(least, 0, kMost);
  }

  const std::int64_t error_ns_;
  const model::Digest d_;
  std::vector<const SessionDigest*> told_;
  std::int64_t zero_ns_ = 0;
  std::int64_t harm_ns_ = 0;  ///< of the first violation
  std::map<model::Id, std::int64_t> places_;
  std::map<model::Id, std::size_t> names_;
  std::map<std::int64_t, std::vector<std::int64_t>> busy_;  ///< by place: until when each caller is
};

}  // namespace

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
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(since_1970_ms / 1'000), since_1970_ms % 1'000);
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
  const bool has_tokens = std::ranges::any_of(log, &LogLine::token);
  if (promises.tokens == model::Promises::Tokens::rising && !has_tokens) {
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

sim::Plan incident_plan(const Incident& incident, const std::vector<model::Finding>& findings,
                        const IncidentOptions& options, const std::string& lock) {
  return Storyteller(incident, findings, options).tell(lock);
}

}  // namespace leasehold::properties
