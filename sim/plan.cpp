#include "sim/plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iomanip>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

#include "sim/lock_registry.hpp"

namespace leasehold::sim {
namespace {

constexpr std::int64_t kMaxCallers = 64;
constexpr std::int64_t kMaxLocks = 1'000;
constexpr std::int64_t kMostLongHoldLeases = 1'000;
constexpr std::int64_t kAny = -1;
constexpr std::int64_t kDay_ms = 24 * 3'600'000;
constexpr std::int64_t kWeek_ms = 7 * kDay_ms;
constexpr std::int64_t kMostDrift_ppm = 900'000;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::array kWaitingNames{"uniform",      "fixed",    "full-jitter",
                                   "decorrelated", "adaptive", "push"};
constexpr std::array kActions{"acquire", "write", "release", "cancel"};

[[noreturn]] void refuse(const std::string& key, std::int64_t value, const std::string& rule) {
  throw std::runtime_error(key + " is " + std::to_string(value) + ": " + rule);
}

void require_range(const std::string& key, std::int64_t value, std::int64_t low,
                   std::int64_t high) {
  if (value >= low && value <= high) return;
  refuse(key, value,
         high == kMost ? "it must be at least " + std::to_string(low)
                       : "it must be " + std::to_string(low) + " to " + std::to_string(high));
}

template <typename Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

/// A line's fields, key=value each. Every one has to be used, and be a whole number.
class Fields {
 public:
  explicit Fields(std::istream& line) {
    for (std::string word; line >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) throw std::runtime_error("'" + word + "' is not key=value");
      const auto key = word.substr(0, equals);
      if (!values_.emplace(key, word.substr(equals + 1)).second) {
        throw std::runtime_error("'" + key + "' stands twice");
      }
    }
  }
  template <typename T>
  void take(const std::string& key, T& value, std::int64_t low, std::int64_t high) {
    const auto found = values_.find(key);
    if (found == values_.end()) return;
    const auto wide = number(key, found->second);
    require_range(key, wide, low, high);
    value = static_cast<T>(wide);
    values_.erase(found);
  }
  void take(const std::string& key, Waiting& value) {
    const auto found = values_.find(key);
    if (found == values_.end()) return;
    const auto name = std::find(kWaitingNames.begin(), kWaitingNames.end(), found->second);
    if (name == kWaitingNames.end()) {
      throw std::runtime_error(key + " is '" + found->second + "': it must be one of " +
                               listed(kWaitingNames));
    }
    value = static_cast<Waiting>(name - kWaitingNames.begin());
    values_.erase(found);
  }
  void done() const {
    if (!values_.empty()) throw std::runtime_error("unknown key '" + values_.begin()->first + "'");
  }
  template <typename T = std::int64_t>
  static T number(const std::string& key, const std::string& text) {
    T value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw std::runtime_error(key + " is '" + text + "': it must be a whole number");
    }
    return value;
  }

 private:
  std::map<std::string, std::string> values_;
};

ProcessPlan read_process(std::istream& line) {
  ProcessPlan p;
  Fields fields(line);
  fields.take("expiry", p.expiry_ms, 0, kDay_ms);
  fields.take("wait-min", p.wait_min_ms, 1, kDay_ms);
  fields.take("wait-max", p.wait_max_ms, 1, kDay_ms);
  fields.take("waiting", p.waiting);
  fields.take("callers", p.callers, 1, kMaxCallers);
  fields.take("hand-overs", p.hand_overs, 0, std::numeric_limits<int>::max());
  fields.take("hold", p.hold_ms, 0, kDay_ms);
  fields.take("long", p.long_hold_percent, 0, 100);
  fields.take("long-leases", p.long_hold_leases, 1, kMostLongHoldLeases);
  fields.take("single", p.single_attempt_percent, 0, 100);
  fields.take("cancel", p.cancel_percent, 0, 100);
  fields.take("patience", p.patience_ms, 0, kDay_ms);
  fields.take("drift", p.drift_ppm, -kMostDrift_ppm, kMostDrift_ppm);
  fields.take("max-holding", p.max_holding_ms, 0, kWeek_ms);
  fields.take("scripted", p.scripted, 0, 1);
  fields.done();
  if (p.wait_min_ms > p.wait_max_ms) {
    refuse("wait-min", p.wait_min_ms,
           "it must be at most wait-max, which is " + std::to_string(p.wait_max_ms));
  }
  if (const auto error = check(options_of(p, Plan().lock, 0))) {
    throw std::runtime_error(error->message);
  }
  return p;
}

FaultPlan read_fault(std::istream& line) {
  FaultPlan f;
  std::string name;
  line >> name;
  const auto kind = fault_named(name);
  if (!kind) {
    std::vector<std::string> known;
    for (const auto each : fault_kinds(Harm::assumption)) known.emplace_back(to_string(each));
    throw std::runtime_error("unknown fault '" + name + "': it must be one of " + listed(known));
  }
  f.kind = *kind;
  Fields fields(line);
  fields.take("at", f.at_ms, 0, kWeek_ms);
  fields.take("for", f.for_ms, 0, kWeek_ms);
  fields.take("pick", f.pick, 0, kMost);
  fields.take("amount", f.amount, -kWeek_ms, kWeek_ms);
  fields.take("process", f.process, kAny, kMost);
  fields.take("member", f.member, kAny, kMost);
  fields.done();
  return f;
}

StepPlan read_step(std::istream& line) {
  StepPlan s;
  std::string name;
  line >> name;
  const auto found = std::find(kActions.begin(), kActions.end(), name);
  if (found == kActions.end()) {
    throw std::runtime_error("unknown step '" + name + "': it must be one of " + listed(kActions));
  }
  s.action = static_cast<StepPlan::Action>(found - kActions.begin());
  Fields fields(line);
  fields.take("at", s.at_ms, 0, kWeek_ms);
  fields.take("process", s.process, 0, kMost);
  fields.take("caller", s.caller, 0, kMost);
  fields.take("lock", s.lock, 0, kMost);
  fields.take("patience", s.patience_ms, 0, kDay_ms);
  fields.take("fault", s.is_the_fault, 0, 1);
  fields.done();
  return s;
}

void require_place(const char* key, std::int64_t value, std::int64_t places) {
  if (value < places) return;
  refuse(key, value, "the plan has only " + std::to_string(places) + ", counted from 0");
}

std::int64_t processes_of(const Plan& plan) {
  return static_cast<std::int64_t>(plan.processes.size());
}

/// Steps know their process, caller and lock by their places, faults their process.
void require_places(const StepPlan& step, const Plan& plan) {
  require_place("process", step.process, processes_of(plan));
  const auto& process = plan.processes[static_cast<std::size_t>(step.process)];
  require_place("caller", step.caller, process.callers);
  require_place("lock", step.lock, plan.locks);
}

void require_places(const FaultPlan& fault, const Plan& plan) {
  require_place("process", fault.process, processes_of(plan));
}

template <typename T>
T read_number(const std::string& key, const std::string& text, std::int64_t low,
              std::int64_t high) {
  const auto value = Fields::number(key, text);
  require_range(key, value, low, high);
  return static_cast<T>(value);
}

void read_line(Plan& plan, const std::string& text) {
  std::istringstream line(text);
  std::string key, value;
  line >> key;
  if (key == "process") {
    plan.processes.push_back(read_process(line));
  } else if (key == "fault") {
    plan.faults.push_back(read_fault(line));
  } else if (key == "step") {
    plan.steps.push_back(read_step(line));
  } else {
    line >> value;
    if (key == "lock") {
      plan.lock = lock_under_test(value).name;
    } else if (key == "seed") {
      plan.seed = Fields::number<std::uint64_t>(key, value);
    } else if (key == "locks") {
      plan.locks = read_number<int>(key, value, 1, kMaxLocks);
    } else if (key == "clock-margin") {
      plan.clock_margin_ms = read_number<std::int64_t>(key, value, 0, kDay_ms);
    } else if (key == "ttl-period") {
      plan.ttl_period_ms = read_number<std::int64_t>(key, value, 1, kDay_ms);
    } else if (key == "election-timeout") {
      plan.election_timeout_ms = read_number<int>(key, value, 1, kDay_ms);
    } else if (key == "faulty") {
      plan.faulty_ms = read_number<std::int64_t>(key, value, 0, kWeek_ms);
    } else {
      throw std::runtime_error("unknown word '" + key + "'");
    }
    if (line >> value) throw std::runtime_error("'" + value + "' is too much");
  }
}

}  // namespace

const char* to_string(StepPlan::Action action) {
  return kActions[static_cast<std::size_t>(action)];
}

const char* to_string(Waiting waiting) { return kWaitingNames[static_cast<std::size_t>(waiting)]; }

bool is_scripted(const Plan& plan) {
  return std::all_of(plan.processes.begin(), plan.processes.end(),
                     [](const ProcessPlan& p) { return p.scripted; });
}

std::string to_scn(const Plan& plan) {
  std::ostringstream out;
  out << "# A run of the lock: workload and faults. Times in ms, drift in ppm.\n"
      << "lock " << plan.lock << "\nseed " << plan.seed << "\nlocks " << plan.locks
      << "\nclock-margin " << plan.clock_margin_ms << "\nfaulty " << plan.faulty_ms << '\n';
  if (plan.ttl_period_ms != Plan().ttl_period_ms)
    out << "ttl-period " << plan.ttl_period_ms << '\n';
  if (plan.election_timeout_ms != Plan().election_timeout_ms)
    out << "election-timeout " << plan.election_timeout_ms << '\n';
  for (const auto& p : plan.processes) {
    out << "process expiry=" << p.expiry_ms << " wait-min=" << p.wait_min_ms
        << " wait-max=" << p.wait_max_ms << " hold=" << p.hold_ms << " long=" << p.long_hold_percent
        << " single=" << p.single_attempt_percent << " cancel=" << p.cancel_percent
        << " patience=" << p.patience_ms;
    if (p.waiting != Waiting::uniform) out << " waiting=" << to_string(p.waiting);
    if (p.callers != 1) out << " callers=" << p.callers;
    if (p.hand_overs != ProcessPlan().hand_overs) out << " hand-overs=" << p.hand_overs;
    if (p.drift_ppm != 0) out << " drift=" << p.drift_ppm;
    if (p.long_hold_leases != 1) out << " long-leases=" << p.long_hold_leases;
    if (p.max_holding_ms != 0) out << " max-holding=" << p.max_holding_ms;
    if (p.scripted) out << " scripted=1";
    out << '\n';
  }
  for (const auto& f : plan.faults) {
    out << "fault " << to_string(f.kind) << " at=" << f.at_ms;
    if (f.for_ms != 0) out << " for=" << f.for_ms;
    if (f.pick != 0) out << " pick=" << f.pick;
    if (f.amount != 0) out << " amount=" << f.amount;
    if (f.process >= 0) out << " process=" << f.process;
    if (f.member >= 0) out << " member=" << f.member;
    out << '\n';
  }
  for (const auto& s : plan.steps) {
    out << "step " << to_string(s.action) << " at=" << s.at_ms << " process=" << s.process;
    if (s.caller != 0) out << " caller=" << s.caller;
    if (s.lock != 0) out << " lock=" << s.lock;
    if (s.patience_ms != 0) out << " patience=" << s.patience_ms;
    if (s.is_the_fault) out << " fault=1";
    out << '\n';
  }
  return out.str();
}

std::string hash_of(const std::vector<Plan>& plans) {
  constexpr std::uint64_t kOffset = 0xcbf29ce484222325, kPrime = 0x100000001b3;  // FNV-1a
  std::uint64_t hash = kOffset;
  for (const Plan& plan : plans) {
    for (const char c : to_scn(plan)) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  }
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << hash;
  return text.str();
}

std::string unsound(const Plan& plan) {
  try {
    for (const auto& step : plan.steps) require_places(step, plan);
    for (const auto& fault : plan.faults) require_places(fault, plan);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

Plan plan_from_scn(const std::string& text) {
  Plan plan;
  std::istringstream lines(text);
  std::vector<int> line_of_step, line_of_fault;
  int number = 0;
  const auto at_line = [](int of, const auto& read) {
    try {
      read();
    } catch (const std::exception& error) {
      throw std::runtime_error("line " + std::to_string(of) + ": " + error.what());
    }
  };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line == "----") break;  // what is expected follows
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    at_line(number, [&] { read_line(plan, line); });
    line_of_step.resize(plan.steps.size(), number);
    line_of_fault.resize(plan.faults.size(), number);
  }
  at_line(number, [&] {
    if (plan.processes.empty()) throw std::runtime_error("the plan ends without a process");
  });
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    at_line(line_of_step[i], [&] { require_places(plan.steps[i], plan); });
  }
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    at_line(line_of_fault[i], [&] { require_places(plan.faults[i], plan); });
  }
  return plan;
}

}  // namespace leasehold::sim
