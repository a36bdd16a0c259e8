#include "properties/stories/incident.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "model/history/from_outside.hpp"
#include "model/workers/worker_judge.hpp"
#include "sim/live/oplog/document_truth.hpp"

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
      Event fault = event(Kind::fault, wall_ms);
      fault.fault = "step-up";
      history_.push_back(std::move(fault));
      return;
    }
    if (entry.at("op") == "c" && entry["o"].contains("drop")) {
      for (auto& one : documents_.drop(entry)) add(std::move(one), wall_ms);
    } else if (entry["op"] == "c" && entry["o"].contains("applyOps")) {
      for (const Json& inner : entry["o"]["applyOps"]) {
        for (auto& one : documents_.read(inner, entry)) add(std::move(one), wall_ms);
      }
    } else if (entry["op"] == "i" || entry["op"] == "u" || entry["op"] == "d") {
      for (auto& one : documents_.read(entry, entry)) add(std::move(one), wall_ms);
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
    Event e;
    e.kind = kind;
    e.at_ns = std::max<std::int64_t>(ns(at_ms), 1);
    return e;
  }

  /// Adds an event of the line's call, or of this session of it.
  Event& add(Kind kind, const LogLine& line, std::int64_t at_ms, std::int64_t session = 0) {
    Event e = event(kind, at_ms);
    e.process = line.process;
    if (about(kind).fields.contains(field(&model::Event::session))) {
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
  return std::any_of(log.begin(), log.end(), [](const LogLine& line) { return line.token != 0; });
}

}  // namespace

model::Promises own_incident_promises(const std::string& collection) {
  model::Promises p;
  p.name = "leasehold";
  p.language = "C++";
  p.tokens = model::Promises::Tokens::rising;
  p.tells_loss = true;
  p.document = model::DocumentMapping{collection, "_id", "lockId", "expiresAt"};
  return p;
}

Incident read_incident(const std::vector<Json>& entries, std::vector<LogLine> log,
                       const IncidentOptions& options) {
  std::stable_sort(log.begin(), log.end(), [](const LogLine& a, const LogLine& b) {
    return a.at_ms < b.at_ms;
  });
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
