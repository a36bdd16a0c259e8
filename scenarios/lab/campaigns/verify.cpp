#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "properties/campaigns/verify.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {
namespace {

using properties::VerifyOptions;
using properties::VerifyReport;

/// Shows the present state of the run until its end. It says once that the seconds were not enough.
class ProgressLine {
 public:
  void operator()(const VerifyReport& report, sim::live::Progress now) {
    if (!report.went_on_for.empty() && !std::exchange(told_, true)) {
      line_.end();
      const auto& asked = report.options;
      fmt::print(stderr,
                 "after {:.0f} s too little was seen ({}): goes on, for up to {} {} in all\n",
                 report.went_on_after_s, to_string(report.went_on_for),
                 properties::kMostTimesAsked * (asked.plan ? asked.times : asked.seconds),
                 asked.plan ? "runs" : "s");
    }
    const auto case_s = std::exchange(now.elapsed_s, before_s_ + now.elapsed_s);
    if (case_s < last_s_) before_s_ += last_s_;
    last_s_ = case_s;
    if (const auto since = report.minimising_s) {
      return minimising_.show(minimising_line(*since), *since);
    }
    now.acquisitions += properties::count_of(report.totals, "acquisitions");
    std::int64_t violations = 0;
    for (const auto& f : report.findings) violations += f.violations;
    line_.show(to_line(now, report.options.seconds, violations, line_width(STDERR_FILENO)),
               now.elapsed_s);
  }

 private:
  StatusLine line_, minimising_;
  bool told_ = false;
  double before_s_ = 0;
  double last_s_ = 0;
};

std::string lock_of(const VerifyOptions& options) {
  return options.foreign ? options.foreign->promises.name : options.lock;
}

nlohmann::ordered_json facts_of(const VerifyReport& report) {
  nlohmann::ordered_json json;
  json["seed"] = std::to_string(report.options.seed);
  json["lock"] = lock_of(report.options);
  const auto& script = report.options.set.script;
  if (script) json["store"] = script->about().name;
  json["seconds"] = report.options.seconds;
  json["elapsed_s"] = report.elapsed_s;
  if (!report.went_on_for.empty()) {
    json["went_on_after_s"] = report.went_on_after_s;
    json["went_on_for"] = to_string(report.went_on_for);
  }
  json["cases"] = report.cases;
  json["failed"] = report.failed;
  json["processes"] = report.processes;
  json["locks"] = report.locks;
  if (report.violated_after_s) json["violated_after_s"] = *report.violated_after_s;
  for (const auto& [key, count] : report.totals) json[key] = count;
  json["faults"] = nlohmann::ordered_json::object();
  for (const auto& [kind, count] : report.took_effect) json["faults"][kind] = count;
  json["kept"] = report.kept;
  json["plans_hash"] = report.plans_hash;
  if (!report.repeat.empty()) json["repeat_hash"] = report.repeat_hash;
  if (report.proxied.to_members > 0) {
    json["proxied_bytes"] = {{"to_members", report.proxied.to_members},
                             {"from_members", report.proxied.from_members}};
  }
  const bool has_proxies = report.proxied.to_members > 0 || !report.past_proxies.empty();
  if (has_proxies) json["past_proxies"] = report.past_proxies;
  if (report.stalls.longest_ns > 0) json["longest_stall"] = to_string(report.stalls);
  if (!report.left_behind.empty()) json["left_behind"] = report.left_behind;
  if (!report.growth) return json;
  json["measured_processes"] = report.growth->measured;
  for (std::size_t m = 0; m < properties::kMeasures.size(); ++m) {
    const auto& [mean, growing, error] = report.growth->trends[m];
    json[properties::kMeasures[m]] = {{"mean", mean}, {"growth", growing}, {"error", error}};
  }
  for (const auto& w : report.growth->course) {
    auto& sample = json["course"].emplace_back();
    sample["at_s"] = w.at_s;
    for (std::size_t m = 0; m < w.values.size(); ++m) {
      sample[properties::kMeasures[m]] = w.values[m];
    }
  }
  return json;
}

Conclusion conclusion_of(const std::string& command, const VerifyReport& report) {
  std::int64_t faults = 0;
  for (const auto& [kind, count] : report.took_effect) faults += count;
  const auto& script = report.options.set.script;
  const auto tested = lock_of(report.options) + (script ? " on " + script->about().name : "");
  Conclusion c{.command = command,
               .seconds = report.elapsed_s,
               .findings = report.findings,
               .verdict = report.verdict,
               .harness_failure = report.harness_failure,
               .advice = report.advice,
               .repeat = report.repeat,
               .facts = facts_of(report),
               .run = fmt::format("{}: {} cases in {:.0f} s, up to {} processes on {} locks, {} "
                                  "faults, seed {}",
                                  tested, report.cases, report.elapsed_s,
                                  report.processes, report.locks, faults, report.options.seed)};
  c.is_of(report.promises(), report.arrows);
  return c;
}

void print(const properties::Growth& growth) {
  constexpr std::array kWords{"KiB of resident memory", "KiB of it anonymous", "descriptors"};
  fmt::print("{} processes ran from start to end; from a quarter of the time on, a process had\n",
             growth.measured);
  for (std::size_t m = 0; m < kWords.size(); ++m) {
    const auto& [mean, growing, error] = growth.trends[m];
    fmt::print("  {} {:.1f}, growing by {:+.2f}, standard error {:.2f}\n", kWords[m], mean,
               growing, error);
  }
}

void print(const VerifyReport& report, const Conclusion& conclusion) {
  fmt::print("seed {}, {} cases in {:.0f} s, up to {} processes on {} locks\n", report.options.seed,
             report.cases, report.elapsed_s, report.processes, report.locks);
  for (const auto& [key, count] : report.totals) fmt::print("{:>9} {}\n", count, key);
  for (const auto& [kind, count] : report.took_effect) fmt::print("{:>9} fault {}\n", count, kind);
  if (report.options.plan && !report.options.drawn) {
    fmt::print("{} of {} runs failed\n", report.failed, report.cases);
  }
  fmt::print("plans {}\n", report.plans_hash);
  if (report.proxied.to_members > 0) {
    fmt::print("through the proxies: {} bytes to the members, {} back\n",
               report.proxied.to_members, report.proxied.from_members);
  }
  if (!report.past_proxies.empty()) {
    fmt::print("past the proxies, where no fault of a link reaches them: {}\n",
               fmt::join(report.past_proxies, ", "));
  }
  if (report.stalls.longest_ns > 0) fmt::print("longest stall: {}\n", to_string(report.stalls));
  fmt::print("\n{}", findings_text(conclusion));
  for (const auto& folder : report.kept) {
    const auto history = read_history(folder);
    const auto findings = properties::judge(history, report.promises()).findings;
    fmt::print("{}kept: {}\n", story(findings, history, conclusion.promises.has_value()), folder);
  }
  if (report.violated_after_s) {
    fmt::print("first violated after {:.0f} s\n", *report.violated_after_s);
  }
  if (!report.repeat.empty()) {
    fmt::print("to repeat: {}\nits plan has the hash {}\n", report.repeat, report.repeat_hash);
  }
  for (const auto& what : report.left_behind) fmt::print("left behind: {}\n", what);
  if (!report.reduced.empty()) fmt::print("{}\n", report.reduced);
  if (report.growth) print(*report.growth);
}

int conclude_run(const char* command, const VerifyReport& report, const Outputs& outputs) {
  const auto conclusion = conclusion_of(command, report);
  print(report, conclusion);
  return conclude(conclusion, outputs, report.shown);
}

std::set<std::string> fault_groups_in(const std::string& text) {
  const auto& all = sim::fault_groups();
  if (text == "all") return {all.begin(), all.end()};
  std::set<std::string> groups;
  std::istringstream words(text == "none" ? "" : text);
  for (std::string word; std::getline(words, word, ',');) {
    if (std::ranges::find(all, word) == all.end()) {
      refuse("--faults", text,
             fmt::format("'{}' is none of all, none, {}", word, fmt::join(all, ", ")));
    }
    groups.insert(word);
  }
  return groups;
}

constexpr int kWeek_s = 7 * 24 * 3600;

/// What both commands are asked for.
struct LiveCommand {
  VerifyOptions v;
  std::string faults = "all";
  Outputs outputs;
  SiteOptions site;
};

po::options_description verify_options(LiveCommand& a) {
  auto& v = a.v;
  const auto groups = fmt::format("all, none, or some of {}, joined by commas",
                                  fmt::join(sim::fault_groups(), ", "));
  po::options_description options(
      "Generates plans, runs each on a real replica set with faults, and checks its history. "
      "Options");
  options.add_options()("seconds",
                        in_range("seconds", v.seconds, 4, kWeek_s)->default_value(v.seconds),
                        "how long at least; up to five times as long if too little was seen")(
      "processes", in_range("processes", v.processes, 1, 256),
      "simulated processes in each plan; default: generated")(
      "locks", in_range("locks", v.locks, 1, 1'000),
      "names that they compete for; default: generated")(
      "lock", po::value(&v.lock)->default_value(v.lock),
      "leasehold, a published lock, or canary: a lock with a planted error; of --plan too")(
      "waiting", po::value(&v.waiting)->value_name("LIST"),
      "the waiting strategies to draw from, like queue or queue,uniform; else all")(
      "seed", po::value(&v.seed), "repeat a run; default: a new one, which is printed")(
      "case", in_range("case", v.only_case, 0, 1'000'000), "run only this case of the seed")(
      "plan", po::value(&v.plan_file)->value_name("FILE"),
      "run this .scn instead of generated plans")(
      "faults", po::value(&a.faults)->default_value(a.faults), groups.c_str())(
      "times", in_range("times", v.times, 1, 1'000)->default_value(v.times),
      "how often the plan is run at least; what it then saw too seldom makes it five times that")(
      "until-violated", po::bool_switch(&v.until_violated),
      "end with the first case in which a guarantee is violated, and do not minimise its plan")(
      "floors", in_range("floors", v.floor_percent, 1, 100)->default_value(v.floor_percent),
      "percent of the usual floors, which more seconds raise")(
      "runs", to_folder("runs", v.keep_folder)->default_value(v.keep_folder),
      "where failing runs are kept")(
      "summary", to_file("summary", a.outputs.summary),
      "append the verdict as Markdown, as to GITHUB_STEP_SUMMARY");
  a.outputs.add_to(options, "write the first case that failed, else the last, as a page");
  a.site.add_to(options);
  return options;
}

/// The plans of the run, on the user's own set or another store.
WantedRuns wanted(const LiveCommand& a,
                  const std::function<sim::Plan(const VerifyOptions&)>& plan = nullptr) {
  const auto& v = a.v;
  return {[&v, plan](const sim::live::TheirSet& set) {
            auto there = v;
            there.set = set;
            if (plan) return std::vector<WantedPlan>{{plan(there)}};
            std::vector<WantedPlan> plans;
            const auto chosen = v.plan ? "--plan is '" + v.plan_file + "'" : "";
            for (auto& one : properties::cases_of(there)) {
              plans.push_back({std::move(one.plan), chosen});
            }
            return plans;
          },
          v.plan ? std::set<std::string>() : v.faults,
          "leasehold_verify_" + std::to_string(v.seed),
          a.faults == "all" ? "" : "--faults is '" + a.faults + "'"};
}

po::options_description soak_options(LiveCommand& a, int& minutes) {
  po::options_description options(
      "One long run on a real replica set with every kind of fault: checks the guarantees, "
      "and whether the processes grow. Options");
  options.add_options()("minutes", in_range("minutes", minutes, 1, kWeek_s / 60)->default_value(60),
                        "how long")(
      "processes", in_range("processes", a.v.processes, 2, 256)->default_value(64),
      "half of them are never killed, and are measured")(
      "locks", in_range("locks", a.v.locks, 1, 1'000)->default_value(16),
      "names that they compete for")(
      "seed", po::value(&a.v.seed), "of the plan; default: a new one, which is printed")(
      "history", to_file("history", a.outputs.history), "write what happened, for `check`")(
      "runs", to_folder("runs", a.v.keep_folder)->default_value(a.v.keep_folder),
      "where a run that broke a guarantee is kept");
  a.outputs.add_to(options, "write the run as a page");
  a.site.add_to(options);
  return options;
}

}  // namespace

int soak(const std::vector<std::string>& words) {
  LiveCommand asked;
  auto& v = asked.v;
  int minutes = 0;
  v.seed = std::random_device()();
  v.foreign = asked.site.lock(parse("soak [OPTIONS]", soak_options(asked, minutes), words));
  v.seconds = 60 * minutes;
  v.faults = fault_groups_in(asked.faults);
  v.set = asked.site.prepare(wanted(asked, properties::soak_plan), v.foreign);
  catch_interruptions();
  fmt::print(stderr, "seed {}\n", v.seed);
  const auto report = properties::soak(v, ProgressLine(), interrupted);
  return conclude_run("soak", report, asked.outputs);
}

int verify(const std::vector<std::string>& words) {
  LiveCommand asked;
  auto& v = asked.v;
  v.seed = std::random_device()();
  const auto given = parse("verify [OPTIONS]", verify_options(asked), words);
  const bool chosen = !given["lock"].defaulted();
  require_lock(v.lock, true);
  if (!v.waiting.empty()) v.waitings = parse_waitings(v.waiting);
  v.faults = fault_groups_in(asked.faults);
  if (given.contains("plan")) {
    v.plan = read_live_plan(v.plan_file);
    if (chosen) v.plan->lock = v.lock;
    v.lock = v.plan->lock;
  }
  v.foreign = asked.site.lock(given);
  v.promises_file = asked.site.promises_file;
  if (v.foreign && chosen) refuse("--lock", v.lock, "with --worker its own lock is checked");
  v.set = asked.site.prepare(wanted(asked), v.foreign);
  catch_interruptions();

  const auto cases = properties::cases_of(v);
  fmt::print(stderr, "seed {}, {} plans {}\n", v.seed, cases.size(), properties::hash_of(cases));
  const auto report = properties::verify(v, ProgressLine(), interrupted);
  return conclude_run("verify", report, asked.outputs);
}

}  // namespace leasehold::lab
