#include "scenarios/lab/exports.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "model/digest.hpp"

namespace leasehold::lab {
namespace {

using model::Digest;
using model::Event;
using model::Index;
using model::Kind;
using model::kNever;
using model::kNone;
using model::SessionDigest;
using nlohmann::ordered_json;

/// One acquire call and what became of it, with the lane of its process that it is drawn in.
struct Call {
  const std::string* process;
  std::int64_t session;
  const SessionDigest* digest;
  std::int64_t from_ns, granted_ns;  ///< granted: kNever if it never was
  std::int64_t to_ns;                ///< of the holding, or of the wait
  std::int64_t answered_ns;          ///< when the last answer to it had come
  int lane = 0;
};

std::int64_t time_of(const Digest& d, Index event, std::int64_t otherwise) {
  return event == kNone ? otherwise : d.at(event).at_ns;
}

std::int64_t end_of(const Digest& d, const std::string& process, const SessionDigest& s) {
  const auto last = d.history->back().at_ns;
  const auto dead = time_of(d, d.processes.at(process).crash, last);
  const auto over = std::min(s.over_ns, dead);
  const auto done = s.granted == kNone ? s.ended : s.released;
  return std::min(time_of(d, done, last), s.granted == kNone ? dead : over);
}

std::int64_t answered(const Digest& d, const SessionDigest& s) {
  return time_of(d, s.granted == kNone ? s.ended : s.released, d.history->back().at_ns);
}

/// By their start, each in the first lane of its process that is free then.
std::vector<Call> calls_of(const Digest& d) {
  std::vector<Call> calls;
  for (const SessionDigest& s : d.sessions) {
    if (s.ask == kNone) continue;
    const Event& ask = d.at(s.ask);
    calls.push_back({&ask.process, ask.session, &s, ask.at_ns, time_of(d, s.granted, kNever),
                     std::max(end_of(d, ask.process, s), ask.at_ns), answered(d, s)});
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Call& a, const Call& b) { return a.from_ns < b.from_ns; });
  std::map<std::string, std::vector<std::int64_t>> busy_until;
  for (Call& call : calls) {
    auto& lanes = busy_until[*call.process];
    const auto is_free = [&](std::int64_t until) { return until <= call.from_ns; };
    const auto lane = std::find_if(lanes.begin(), lanes.end(), is_free);
    call.lane = static_cast<int>(lane - lanes.begin());
    if (lane == lanes.end()) lanes.emplace_back();
    lanes[static_cast<std::size_t>(call.lane)] = call.answered_ns;
  }
  return calls;
}

/// Numbers for names, in the order in which they are first asked for.
class Numbers {
 public:
  int of(const std::string& name) {
    return numbers_.emplace(name, static_cast<int>(numbers_.size())).first->second;
  }
  [[nodiscard]] const std::map<std::string, int>& all() const { return numbers_; }

 private:
  std::map<std::string, int> numbers_;
};

/// Writes a JSON array, an element a line.
class Lines {
 public:
  explicit Lines(std::ostream& out) : out_(out) {}
  void add(const ordered_json& json) {
    out_ << (first_ ? "\n" : ",\n") << json.dump();
    first_ = false;
  }

 private:
  std::ostream& out_;
  bool first_ = true;
};

constexpr int kFaultsPid = 0;
constexpr double kNsInUs = 1'000;

class PerfettoTrace {
 public:
  PerfettoTrace(std::ostream& out, const Digest& d) : lines_(out), d_(d) { pids_.of("faults"); }

  void write() {
    for (const Call& call : calls_of(d_)) add_call(call);
    for (const Event& e : *d_.history) add_event(e);
    for (const auto& [name, pid] : pids_.all()) {
      lines_.add({{"ph", "M"}, {"name", "process_name"}, {"pid", pid}, {"args", {{"name", name}}}});
    }
  }

 private:
  void slice(int pid, int tid, const std::string& name, std::int64_t from, std::int64_t to,
             const ordered_json& args) {
    lines_.add({{"ph", "X"},
                {"name", name},
                {"pid", pid},
                {"tid", tid},
                {"ts", static_cast<double>(from - begin_ns_) / kNsInUs},
                {"dur", static_cast<double>(to - from) / kNsInUs},
                {"args", args}});
  }
  void instant(int pid, int tid, const std::string& name, const Event& e,
               const ordered_json& args) {
    lines_.add({{"ph", "i"},
                {"name", name},
                {"pid", pid},
                {"tid", tid},
                {"s", "t"},
                {"ts", static_cast<double>(e.at_ns - begin_ns_) / kNsInUs},
                {"args", args}});
  }

  void add_call(const Call& call) {
    const int pid = pids_.of(*call.process), tid = call.lane + 1;
    lanes_[{*call.process, call.session}] = tid;
    const Event& ask = d_.at(call.digest->ask);
    const bool granted = call.granted_ns != kNever;
    const auto waited_to = std::min(call.granted_ns, call.to_ns);
    slice(pid, tid, "waits for " + ask.name, call.from_ns, waited_to,
          granted ? ordered_json::object() : ordered_json{{"ended", how_it_ended(*call.digest)}});
    if (!granted) return;
    const Event& grant = d_.at(call.digest->granted);
    slice(pid, tid, "holds " + ask.name, call.granted_ns, std::max(call.to_ns, call.granted_ns),
          {{"token", std::to_string(grant.token)}, {"lock_id", grant.lock_id}});
  }

  std::string how_it_ended(const SessionDigest& s) const {
    return s.ended == kNone ? "never" : d_.at(s.ended).outcome;
  }

  void add_event(const Event& e) {
    switch (e.kind) {
      case Kind::write:
        return instant(pids_.of(e.process), lanes_[{e.process, e.session}], "write", e,
                       {{"token", std::to_string(e.token)}, {"outcome", e.outcome}});
      case Kind::lost:
        return instant(pids_.of(e.process), lanes_[{e.process, e.session}], "lost: " + e.outcome, e,
                       ordered_json::object());
      case Kind::crash: return instant(pids_.of(e.process), 0, "crash", e, ordered_json::object());
      case Kind::pause: pauses_[e.process] = e.at_ns; return;
      case Kind::resume:
        return slice(pids_.of(e.process), 0, "stopped", pauses_[e.process], e.at_ns,
                     {{"suspended", e.suspended}});
      case Kind::fault: return add_fault(e);
      default: return;
    }
  }

  void add_fault(const Event& e) {
    const std::string name = e.fault.str() + (e.victim.empty() ? "" : " of " + e.victim.str());
    const int lane = faults_.of(name) + 1;
    if (e.begins) {
      began_[name] = e.at_ns;
    } else if (e.ends) {
      slice(kFaultsPid, lane, name, began_[name], e.at_ns, ordered_json::object());
    } else {
      instant(kFaultsPid, lane, name, e, {{"amount", e.amount}});
    }
  }

  Lines lines_;
  const Digest& d_;
  const std::int64_t begin_ns_ = d_.history->front().at_ns;
  Numbers pids_, faults_;
  std::map<std::pair<std::string, std::int64_t>, int> lanes_;
  std::map<std::string, std::int64_t> pauses_, began_;
};

void write_perfetto(std::ostream& out, const model::History& history) {
  out << R"({"displayTimeUnit":"ms","traceEvents":[)";
  PerfettoTrace(out, model::digest(history)).write();
  out << "\n]}\n";
}

/// An operation of Jepsen is called by a number that does one thing at a time.
struct EdnLine {
  std::int64_t at_ns;
  std::string process, type, f, value;
};

class EdnHistory {
 public:
  explicit EdnHistory(const Digest& d) : d_(d) {}

  void write(std::ostream& out) {
    for (const Call& call : calls_of(d_)) add_call(call);
    for (const Index i : d_.writes) add_write(d_.at(i));
    for (const Event& e : *d_.history) {
      if (e.kind == Kind::fault) {
        add(e.at_ns, ":nemesis", "info", e.fault.str(),
            e.begins ? ":begins"
            : e.ends ? ":ends"
                     : "nil");
      }
    }
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const EdnLine& a, const EdnLine& b) { return a.at_ns < b.at_ns; });
    std::size_t index = 0;
    for (const auto& line : lines_) {
      fmt::print(out, "{{:index {}, :time {}, :process {}, :type :{}, :f :{}, :value {}}}\n",
                 index++, line.at_ns - d_.history->front().at_ns, line.process, line.type, line.f,
                 line.value);
    }
  }

 private:
  void add(std::int64_t at_ns, std::string process, std::string type, std::string f,
           std::string value) {
    lines_.push_back({at_ns, std::move(process), std::move(type), std::move(f), std::move(value)});
  }

  /// The number under which a lane calls now: another one after each :info.
  std::string number_of(const std::string& lane) {
    return std::to_string(numbers_.of(fmt::format("{}/{}", lane, retired_[lane])));
  }

  void add_call(const Call& call) {
    const SessionDigest& s = *call.digest;
    const auto lane = fmt::format("{} calls {}", *call.process, call.lane);
    const auto number = number_of(lane);
    const std::string name = ordered_json(d_.at(s.ask).name).dump();
    add(call.from_ns, number, "invoke", "acquire", name);
    if (s.granted == kNone) {
      const bool refused = s.ended != kNone;
      if (!refused) ++retired_[lane];
      return add(call.answered_ns, number, refused ? "fail" : "info", "acquire", name);
    }
    const Event& grant = d_.at(s.granted);
    add(grant.at_ns, number, "ok", "acquire", fmt::format("[{} {}]", name, grant.token));
    if (s.release == kNone) return;
    add(d_.at(s.release).at_ns, number, "invoke", "release", name);
    const bool answered = s.released != kNone;
    const bool known = answered && d_.at(s.released).outcome != "unknown";
    if (!known) ++retired_[lane];
    const auto type = !known ? "info" : d_.at(s.released).outcome == "released" ? "ok" : "fail";
    add(call.answered_ns, number, type, "release", name);
  }

  /// By a number of its own, as it may be under way while its session ends.
  void add_write(const Event& e) {
    const auto lane = fmt::format("{} writes in {}", e.process, e.session);
    const auto number = number_of(lane);
    const auto value = fmt::format("[{} {}]", ordered_json(e.name).dump(), e.token);
    add(e.sent_ns, number, "invoke", "write", value);
    const auto type = e.outcome == "accepted" ? "ok" : e.outcome == "refused" ? "fail" : "info";
    if (type == std::string_view("info")) ++retired_[lane];
    add(e.at_ns, number, type, "write", value);
  }

  const Digest& d_;
  Numbers numbers_;
  std::map<std::string, int> retired_;
  std::vector<EdnLine> lines_;
};

void write_jepsen(std::ostream& out, const model::History& history) {
  const auto d = model::digest(history);
  EdnHistory(d).write(out);
}

void write_porcupine(std::ostream& out, const model::History& history) {
  const auto d = model::digest(history);
  const auto begin = history.front().at_ns;
  out << R"({"operations":[)";
  Lines lines(out);
  Numbers clients;
  for (const Call& call : calls_of(d)) {
    const auto held = call.digest->answers.held();
    if (!held || call.digest->granted == kNone) continue;
    const int client = clients.of(fmt::format("{}/{}", *call.process, call.lane));
    const auto add = [&](const char* operation, std::int64_t from, std::int64_t to) {
      lines.add({{"client_id", client},
                 {"lock", d.at(call.digest->ask).name},
                 {"operation", operation},
                 {"call_ns", from - begin},
                 {"return_ns", to - begin}});
    };
    add("acquire", call.from_ns, held->from);
    add("release", held->to, std::max(call.to_ns, held->to));
  }
  out << "\n]}\n";
}

}  // namespace

const std::vector<ExportFormat>& export_formats() {
  static const std::vector<ExportFormat> all{
      {"perfetto", "for ui.perfetto.dev and chrome://tracing", write_perfetto},
      {"jepsen", "EDN, as a history of Jepsen", write_jepsen},
      {"porcupine", "JSON: the operations of a lock, for a linearizability checker",
       write_porcupine}};
  return all;
}

}  // namespace leasehold::lab
