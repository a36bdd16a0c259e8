#include "properties/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "properties/transcript.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/live_world.hpp"
#include "scenarios/lab/report.hpp"
#include "scenarios/lab/run_page.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;
using properties::Scenario;

struct Options {
  std::string folder, world = "virtual", lock, report_file;
  bool all = false, without_fault = false, rewrite = false;
  std::vector<std::string> names;
};

/// The stories that were named, by name or as a file.
std::vector<Scenario> chosen(const Options& options) {
  const auto all = properties::read_scenarios(options.folder);
  if (options.all) return all;
  std::vector<Scenario> found;
  for (const auto& name : options.names) {
    const auto is = [&](const Scenario& s) { return s.name == name; };
    const auto at = std::find_if(all.begin(), all.end(), is);
    if (at != all.end()) {
      found.push_back(*at);
    } else if (fs::is_regular_file(name)) {
      found.push_back(properties::read_scenario(name));
    } else {
      throw UsageError("scenario is '" + name + "': it must be one that `scenario list` shows, " +
                       "or a file");
    }
  }
  if (found.empty()) throw UsageError("scenario run: name some, or say --all");
  return found;
}

/// Where its histories come from.
class World {
 public:
  explicit World(const std::string& name) : live_(name == "live") {
    if (!live_ && name != "virtual") {
      throw UsageError("--world is '" + name + "': it must be virtual or live");
    }
  }

  model::History run(const sim::Plan& plan) {
    return live_ ? servers_.run(plan) : sim::virt::run(plan).history;
  }
  [[nodiscard]] bool live() const { return live_; }

 private:
  const bool live_;
  LiveWorld servers_;
};

/// What is to come out for a lock, without a fault nothing bad.
bool is_as_expected(const Scenario& s, const Options& options, const std::string& lock,
                    const properties::Judged& judged) {
  const bool broken = !properties::broken_promises(lock, judged).empty();
  if (options.without_fault) return !broken;
  return broken == properties::expects_violation(s, lock);
}

/// The locks that a run is about: the one asked for, else in the virtual world all, live the
/// story's own and leasehold.
std::vector<std::string> locks_for(const Scenario& s, const Options& options, bool live) {
  if (!options.lock.empty()) return {options.lock};
  if (!live) return s.locks;
  if (s.plan.lock == "leasehold") return {"leasehold"};
  return {s.plan.lock, "leasehold"};
}

/// Runs one story with its locks. Whether each came out as it is to.
bool run_one(const Scenario& s, const Options& options, World& world) {
  bool good = true;
  for (const auto& lock : locks_for(s, options, world.live())) {
    auto plan = options.without_fault ? properties::without_fault(s.plan) : s.plan;
    plan.lock = lock;
    const auto began = std::chrono::steady_clock::now();
    const auto history = world.run(plan);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const auto judged = properties::judge(history);
    const bool expected = is_as_expected(s, options, lock, judged);
    good = good && expected;
    fmt::print("{:<44} {:<17} {:<26} {:>5.1f} s{}\n", s.name, lock,
               properties::verdict_line(lock, judged), took.count(),
               expected ? "" : "  NOT AS EXPECTED");
    if (!options.all && options.names.size() == 1) {
      for (const auto& line : properties::transcript(history)) fmt::print("{}\n", line);
      fmt::print("{}\n", story(judged.findings, history));
    }
    if (!options.report_file.empty()) write_report(options.report_file, history);
  }
  return good;
}

/// The golden part, held against a fresh run of it.
bool matches(const Scenario& s) {
  const auto now = properties::told(s);
  if (now == s.expected) return true;
  fmt::print("{}: another story than its file tells; --rewrite makes the file anew\n", s.name);
  return false;
}

void rewrite(const Scenario& s) {
  std::ofstream out(s.file);
  out << s.head << "----\n" << properties::told(s);
  if (!out.flush()) throw std::runtime_error("cannot write scenario " + s.name);
}

int list(const Options& options) {
  std::string group;
  for (const auto& s : properties::read_scenarios(options.folder)) {
    if (s.group != group) fmt::print("{}{}\n", group.empty() ? "" : "\n", group = s.group);
    fmt::print("  {:<44} {}\n", s.name, s.about.substr(0, s.about.find('\n')));
  }
  return kHolds;
}

int show(const Options& options) {
  for (const auto& s : chosen(options)) fmt::print("{}----\n{}", s.head, s.expected);
  return kHolds;
}

int run(const Options& options) {
  World world(options.world);
  bool good = true;
  const auto stories = chosen(options);
  for (const auto& s : stories) {
    if (options.rewrite) {
      rewrite(s);
      continue;
    }
    good = run_one(s, options, world) && good;
    const bool golden = !world.live() && !options.without_fault && options.lock.empty();
    if (golden && !s.expected.empty()) good = matches(s) && good;
  }
  if (!options.rewrite) {
    fmt::print("{} stories: {}\n", stories.size(), good ? "as expected" : "not as expected");
  }
  return good ? kHolds : kViolated;
}

}  // namespace

int scenario(const std::vector<std::string>& words) {
  Options o;
  std::string what;
  o.folder = scenario_folder();
  po::options_description options("Failure stories: what goes wrong, with which lock. Options");
  options.add_options()("what", po::value(&what), "list, show or run")(
      "names", po::value(&o.names), "of stories, or files")("all", po::bool_switch(&o.all),
                                                            "every story")(
      "world", po::value(&o.world)->default_value(o.world), "virtual, or live: a real replica set")(
      "lock", po::value(&o.lock), "run it with this lock")(
      "without-fault", po::bool_switch(&o.without_fault), "as if nothing had gone wrong")(
      "rewrite", po::bool_switch(&o.rewrite), "make the files' expectations anew")(
      "folder", po::value(&o.folder)->default_value(o.folder), "where the stories are")(
      "report", po::value(&o.report_file)->value_name("FILE"), "write the run as a page");
  po::positional_options_description positional;
  positional.add("what", 1).add("names", -1);
  parse("scenario list|show|run [NAME...] [OPTIONS]", options, words, positional);
  if (!fs::is_directory(o.folder)) {
    throw UsageError("--folder is '" + o.folder + "': it must be a folder with stories");
  }
  const auto& locks = sim::virt::locks();
  if (!o.lock.empty() && std::find(locks.begin(), locks.end(), o.lock) == locks.end()) {
    throw UsageError("--lock is '" + o.lock + "': no such lock");
  }
  require_writable("report", o.report_file);
  if (what == "list") return list(o);
  if (what == "show") return show(o);
  if (what == "run") return run(o);
  throw UsageError("scenario '" + what + "': it must be list, show or run");
}

}  // namespace leasehold::lab
