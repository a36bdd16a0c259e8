#include "sim/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iomanip>
#include <map>
#include <sstream>
#include <stdexcept>

#include "sim/plan/lock_registry.hpp"
#include "sim/plan/plan_fields.hpp"
#include "sim/plan/random.hpp"

namespace leasehold::sim {
namespace {

using fields::Limits;
using fields::Written;

constexpr std::array kWaitingNames{"uniform",  "fixed", "full-jitter", "decorrelated",
                                   "adaptive", "queue"};
constexpr std::array kActions{"acquire", "write", "release", "cancel"};

[[noreturn]] void refuse(const std::string& key, std::int64_t value, const std::string& rule) {
  throw std::runtime_error(key + " is " + std::to_string(value) + ": " + rule);
}

void require_range(const std::string& key, std::int64_t value, std::int64_t low,
                   std::int64_t high) {
  if (value >= low && value <= high) return;
  refuse(key, value,
         high == fields::kMost
             ? "it must be at least " + std::to_string(low)
             : "it must be " + std::to_string(low) + " to " + std::to_string(high));
}

/// The value of that name, of those up to `last`. `what` is what has it, for the refusal.
template <typename Named>
Named named(const std::string& what, const std::string& name, std::int64_t last) {
  std::string all;
  for (std::int64_t i = 0; i <= last; ++i) {
    const auto value = static_cast<Named>(i);
    if (name == to_string(value)) return value;
    all += (all.empty() ? "" : ", ") + std::string(to_string(value));
  }
  throw std::runtime_error(what + " '" + name + "': it must be one of " + all);
}

/// A line's fields, key=value each. Each must be used, and must be a whole number.
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
    if constexpr (std::is_enum_v<T>) {
      value = named<T>(key + " is", found->second, high);
    } else {
      const auto wide = number(key, found->second);
      require_range(key, wide, low, high);
      value = static_cast<T>(wide);
    }
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

/// A visitor that reads each field that the line has.
template <typename Part>
auto reading(Fields& words, Part& part) {
  return [&](const char* key, auto member, Limits limits, Written) {
    words.take(key, part.*member, limits.low, limits.high);
  };
}

/// A visitor that writes them, each as "before key between value".
template <typename Part>
auto writing(std::ostream& out, const Part& part, const char* before = " ",
             const char* between = "=") {
  return [&out, &part, before, between](const char* key, auto member, Limits, Written when) {
    if (when == Written::unless_usual && part.*member == Part().*member) return;
    out << before << key << between;
    if constexpr (std::is_enum_v<std::decay_t<decltype(part.*member)>>) {
      out << to_string(part.*member);
    } else {
      out << static_cast<std::int64_t>(part.*member);
    }
  };
}

ProcessPlan read_process(std::istream& line) {
  ProcessPlan p;
  Fields words(line);
  fields::of_process(reading(words, p));
  words.done();
  if (p.wait_min_ms > p.wait_max_ms) {
    refuse("wait-min", p.wait_min_ms,
           "it must be at most wait-max, which is " + std::to_string(p.wait_max_ms));
  }
  for (const int caller : {0, 1}) {
    if (const auto error = check(options_of(p, Plan().lock, 0, caller))) {
      throw std::runtime_error(error->message);
    }
  }
  return p;
}

/// A part that begins with its kind's name; `visit` has its other fields.
template <typename Part, typename Kind, typename Visit>
Part read_named(std::istream& line, const char* what, Kind Part::*kind, std::int64_t last,
                const Visit& visit) {
  Part part;
  std::string name;
  line >> name;
  part.*kind = named<Kind>(what, name, last);
  Fields words(line);
  visit(reading(words, part));
  words.done();
  return part;
}

void require_place(const char* key, std::int64_t value, std::int64_t places) {
  if (value < places) return;
  refuse(key, value, "the plan has only " + std::to_string(places) + ", counted from 0");
}

std::int64_t processes_of(const Plan& plan) {
  return static_cast<std::int64_t>(plan.processes.size());
}

/// Steps know their process, caller and lock by their places, faults their process.
void require_fit(const StepPlan& step, const Plan& plan) {
  require_place("process", step.process, processes_of(plan));
  const auto& process = plan.processes[static_cast<std::size_t>(step.process)];
  require_place("caller", step.caller, process.callers);
  require_place("lock", step.lock, plan.locks);
}

void require_fit(const ProcessPlan& process, const Plan& plan) {
  const bool reads = process.reads_percent > 0;
  if ((process.permits > 0) + (process.together > 0) + process.leads + reads > 1) {
    throw std::runtime_error(
        "permits is " + std::to_string(process.permits) + ", together " +
        std::to_string(process.together) + ", leads " + std::to_string(process.leads) + ", reads " +
        std::to_string(process.reads_percent) + ": one of them at most may be other than 0");
  }
  if (process.old_release && (reads || process.permits > 0)) {
    throw std::runtime_error("reads is " + std::to_string(process.reads_percent) + ", permits " +
                             std::to_string(process.permits) +
                             ", and an old release shares no lock: both must be 0");
  }
  if (process.other_margin_ms > 0 && process.other_margin_ms < plan.clock_margin_ms) {
    refuse("other-margin", process.other_margin_ms,
           "it must be at least clock-margin, which is " + std::to_string(plan.clock_margin_ms) +
               ", for clocks go wrong by half of that");
  }
  if (!lock_under_test(plan.lock).is_published()) return;
  const auto refuse_of_published = [&](const char* key, int value, const char* what) {
    if (value == 0) return;
    throw std::runtime_error(key + (" is " + std::to_string(value)) + ", and '" + plan.lock +
                             "' has no " + what + ": it must be 0");
  };
  refuse_of_published("permits", process.permits, "semaphores");
  refuse_of_published("reads", process.reads_percent, "readers");
}

void require_fit(const FaultPlan& fault, const Plan& plan) {
  require_place("process", fault.process, processes_of(plan));
  if (fault.on != FaultPlan::Command::none) return;
  const FaultPlan usual;
  const auto without_on = [](const char* key, std::int64_t value) {
    throw std::runtime_error(key + (" is " + std::to_string(value)) +
                             ": a fault without on waits for no command");
  };
  if (fault.nth != usual.nth) without_on("nth", fault.nth);
  if (fault.at_reply) without_on("at-reply", 1);
}

/// Visits processes, then steps, then faults: which of these, its place there, and the part.
template <typename Visit>
void each_part(const Plan& plan, const Visit& visit) {
  std::size_t kind = 0;
  const auto visit_all = [&](const auto& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) visit(kind, i, parts[i]);
    ++kind;
  };
  visit_all(plan.processes);
  visit_all(plan.steps);
  visit_all(plan.faults);
}

/// False: the plan has no such number.
bool read_number(Plan& plan, const std::string& key, const std::string& text) {
  bool known = false;
  fields::of_plan([&](const char* name, auto member, Limits limits, Written) {
    if (key != name) return;
    known = true;
    const auto value = Fields::number(key, text);
    require_range(key, value, limits.low, limits.high);
    plan.*member = static_cast<std::decay_t<decltype(plan.*member)>>(value);
  });
  return known;
}

void read_line(Plan& plan, const std::string& text) {
  std::istringstream line(text);
  std::string key, value;
  line >> key;
  if (key == "process") {
    plan.processes.push_back(read_process(line));
  } else if (key == "fault") {
    plan.faults.push_back(read_named(line, "unknown fault", &FaultPlan::kind, kFaultKinds - 1,
                                     [](const auto& visit) { fields::of_fault(visit); }));
  } else if (key == "step") {
    plan.steps.push_back(read_named(line, "unknown step", &StepPlan::action, kActions.size() - 1,
                                    [](const auto& visit) { fields::of_step(visit); }));
  } else {
    line >> value;
    if (key == "lock") {
      plan.lock = lock_under_test(value).name;
    } else if (key == "seed") {
      plan.seed = Fields::number<std::uint64_t>(key, value);
    } else if (!read_number(plan, key, value)) {
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
  return std::ranges::all_of(plan.processes, [](const ProcessPlan& p) { return p.scripted; });
}

std::string to_scn(const Plan& plan) {
  std::ostringstream out;
  out << "# A run of the lock: workload and faults. Times in ms, drift in ppm.\n"
      << "lock " << plan.lock << "\nseed " << plan.seed;
  fields::of_plan(writing(out, plan, "\n", " "));
  out << '\n';
  for (const auto& p : plan.processes) {
    out << "process";
    fields::of_process(writing(out, p));
    out << '\n';
  }
  for (const auto& f : plan.faults) {
    out << "fault " << to_string(f.kind);
    fields::of_fault(writing(out, f));
    out << '\n';
  }
  for (const auto& s : plan.steps) {
    out << "step " << to_string(s.action);
    fields::of_step(writing(out, s));
    out << '\n';
  }
  return out.str();
}

std::string hash_of(const std::vector<Plan>& plans) {
  std::uint64_t hash = kFirstHash;
  for (const Plan& plan : plans) hash = hash_of(to_scn(plan), hash);
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << hash;
  return text.str();
}

std::string unsound(const Plan& plan) {
  try {
    each_part(plan, [&](auto, auto, const auto& part) { require_fit(part, plan); });
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

Plan plan_from_scn(const std::string& text) {
  Plan plan;
  std::istringstream lines(text);
  std::array<std::vector<int>, 3> line_of;
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
    line_of[0].resize(plan.processes.size(), number);
    line_of[1].resize(plan.steps.size(), number);
    line_of[2].resize(plan.faults.size(), number);
  }
  at_line(number, [&] {
    if (plan.processes.empty()) throw std::runtime_error("the plan ends without a process");
  });
  each_part(plan, [&](auto kind, auto i, const auto& part) {
    at_line(line_of[kind][i], [&] { require_fit(part, plan); });
  });
  return plan;
}

}  // namespace leasehold::sim
