#include "sim/plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <stdexcept>

namespace leasehold::sim {
namespace {

constexpr int kMaxCallers = 64;
constexpr int kMostLongHoldLeases = 1'000;
constexpr std::array kWaitingNames{"uniform",      "fixed",    "full-jitter",
                                   "decorrelated", "adaptive", "push"};
constexpr std::array kActions{"acquire", "write", "release", "cancel"};

[[noreturn]] void refuse(const std::string& key, std::int64_t value, const std::string& rule) {
  throw std::runtime_error(key + " is " + std::to_string(value) + ": " + rule);
}

/// A line's fields, key=value each. Every one has to be used, and be a whole number.
class Fields {
 public:
  explicit Fields(std::istream& line) {
    for (std::string word; line >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) throw std::runtime_error("'" + word + "' is not key=value");
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  template <typename T>
  void take(const std::string& key, T& value) {
    const auto found = values_.find(key);
    if (found == values_.end()) return;
    const auto wide = number(key, found->second);
    value = static_cast<T>(wide);
    if (static_cast<std::int64_t>(value) != wide) {
      throw std::runtime_error(key + " is '" + found->second + "': it is too large");
    }
    values_.erase(found);
  }
  void take(const std::string& key, Waiting& value) {
    const auto found = values_.find(key);
    if (found == values_.end()) return;
    const auto name = std::find(kWaitingNames.begin(), kWaitingNames.end(), found->second);
    if (name == kWaitingNames.end()) {
      throw std::runtime_error(key + " is '" + found->second + "': there is no such strategy");
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
  fields.take("expiry", p.expiry_ms);
  fields.take("wait-min", p.wait_min_ms);
  fields.take("wait-max", p.wait_max_ms);
  fields.take("waiting", p.waiting);
  fields.take("callers", p.callers);
  fields.take("hand-overs", p.hand_overs);
  fields.take("hold", p.hold_ms);
  fields.take("long", p.long_hold_percent);
  fields.take("long-leases", p.long_hold_leases);
  fields.take("single", p.single_attempt_percent);
  fields.take("cancel", p.cancel_percent);
  fields.take("patience", p.patience_ms);
  fields.take("drift", p.drift_ppm);
  fields.take("max-holding", p.max_holding_ms);
  fields.take("scripted", p.scripted);
  fields.done();
  if (p.callers < 1 || p.callers > kMaxCallers) {
    refuse("callers", p.callers, "it must be 1 to " + std::to_string(kMaxCallers));
  }
  if (p.long_hold_leases < 1 || p.long_hold_leases > kMostLongHoldLeases) {
    refuse("long-leases", p.long_hold_leases,
           "it must be 1 to " + std::to_string(kMostLongHoldLeases));
  }
  if (p.max_holding_ms < 0) refuse("max-holding", p.max_holding_ms, "it must not be negative");
  return p;
}

FaultPlan read_fault(std::istream& line) {
  FaultPlan f;
  std::string name;
  line >> name;
  const auto kind = fault_named(name);
  if (!kind) throw std::runtime_error("unknown fault '" + name + "'");
  f.kind = *kind;
  Fields fields(line);
  fields.take("at", f.at_ms);
  fields.take("for", f.for_ms);
  fields.take("pick", f.pick);
  fields.take("amount", f.amount);
  fields.take("process", f.process);
  fields.take("member", f.member);
  fields.done();
  constexpr std::int64_t kAny = -1;
  for (const auto& [key, value] : {std::pair{"process", f.process}, {"member", f.member}}) {
    if (value < kAny) refuse(key, value, "it must be -1, any, or a place in the plan");
  }
  return f;
}

StepPlan read_step(std::istream& line) {
  StepPlan s;
  std::string name;
  line >> name;
  const auto found = std::find(kActions.begin(), kActions.end(), name);
  if (found == kActions.end()) throw std::runtime_error("unknown step '" + name + "'");
  s.action = static_cast<StepPlan::Action>(found - kActions.begin());
  Fields fields(line);
  fields.take("at", s.at_ms);
  fields.take("process", s.process);
  fields.take("caller", s.caller);
  fields.take("lock", s.lock);
  fields.take("patience", s.patience_ms);
  fields.take("fault", s.is_the_fault);
  fields.done();
  return s;
}

/// Steps know their process and caller by their places.
void require_place(const StepPlan& step, const Plan& plan) {
  const auto require = [](const char* key, std::int64_t value, std::size_t places) {
    if (value >= 0 && static_cast<std::size_t>(value) < places) return;
    refuse(key, value, "the plan has only " + std::to_string(places));
  };
  require("process", step.process, plan.processes.size());
  const auto& process = plan.processes[static_cast<std::size_t>(step.process)];
  require("caller", step.caller, static_cast<std::size_t>(process.callers));
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
      if (value.empty()) throw std::runtime_error("lock needs a name");
      plan.lock = value;
    } else if (key == "seed") {
      plan.seed = Fields::number<std::uint64_t>(key, value);
    } else if (key == "locks") {
      plan.locks = Fields::number<int>(key, value);
    } else if (key == "clock-margin") {
      plan.clock_margin_ms = Fields::number(key, value);
    } else if (key == "ttl-period") {
      plan.ttl_period_ms = Fields::number(key, value);
    } else if (key == "election-timeout") {
      plan.election_timeout_ms = Fields::number<int>(key, value);
      if (plan.election_timeout_ms < 1)
        refuse(key, plan.election_timeout_ms, "it must be at least 1");
    } else if (key == "faulty") {
      plan.faulty_ms = Fields::number(key, value);
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

Plan plan_from_scn(const std::string& text) {
  Plan plan;
  std::istringstream lines(text);
  std::vector<int> line_of_step;
  int number = 0;
  const auto at_line = [](int of, const std::exception& error) {
    return std::runtime_error("line " + std::to_string(of) + ": " + error.what());
  };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line == "----") break;  // what is expected follows
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      read_line(plan, line);
    } catch (const std::exception& error) {
      throw at_line(number, error);
    }
    line_of_step.resize(plan.steps.size(), number);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    try {
      require_place(plan.steps[i], plan);
    } catch (const std::exception& error) {
      throw at_line(line_of_step[i], error);
    }
  }
  return plan;
}

}  // namespace leasehold::sim
