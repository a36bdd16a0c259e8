#include "properties/stories/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "properties/campaigns/verify.hpp"
#include "scenarios/lab/lab.hpp"
#include "sim/live/run/live_world.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;
using properties::Scenario;

struct Options {
  std::string folder, world = "virtual", lock;
  Outputs outputs;
  bool all = false, without_fault = false, rewrite = false;
  int tries = 1;
  std::vector<std::string> names;
  SiteOptions site;
  std::optional<sim::live::ForeignLock> foreign;
  sim::live::TheirSet set;

  [[nodiscard]] sim::Plan plan_of(const Scenario& s) const {
    return without_fault ? properties::without_fault(s.plan) : s.plan;
  }
};

std::vector<Scenario> stories_in(const std::string& folder) {
  return reading("", [&] { return properties::read_scenarios(folder); });
}

/// The chosen stories, by name or as a file.
std::vector<Scenario> chosen(const Options& options) {
  const auto all = stories_in(options.folder);
  if (options.all) return all;
  std::vector<Scenario> found;
  for (const auto& name : options.names) {
    const auto at = std::ranges::find(all, name, &Scenario::name);
    if (at != all.end()) {
      found.push_back(*at);
    } else if (fs::is_regular_file(name)) {
      found.push_back(reading("", [&] { return properties::read_scenario(name); }));
    } else {
      refuse("scenario", name, "it must be one that `scenario list` shows, or a file");
    }
  }
  if (found.empty()) throw UsageError("scenario run: name stories, or use --all");
  return found;
}

std::unique_ptr<sim::World> world_of(const Options& o) {
  const auto& name = o.world;
  if (name == "live") {
    return std::make_unique<sim::live::LiveWorld>(
        sim::live::LiveWorld::Setting{o.foreign, o.set, interrupted});
  }
  if (name == "virtual") return std::make_unique<sim::simulated::SimulatedWorld>();
  refuse("--world", name, kWorlds);
}

constexpr const char* kNothingSeen = "unknown: ";

/// The expected result for a lock; without a fault, no violation. An unknown result is expected
/// only where the story says so.
bool is_as_expected(const Scenario& s, const Options& options, const std::string& lock,
                    const properties::Judgement& judgement) {
  if (options.foreign) return model::overall_tested(judgement.findings) == model::Verdict::holds;
  const auto expected = properties::expected_verdict(s, lock);
  const bool unknown = properties::verdict_line(lock, judgement).starts_with(kNothingSeen);
  if (unknown) return expected.starts_with(kNothingSeen);
  const bool broken = !properties::broken_promises(lock, judgement).empty();
  if (options.without_fault) return !broken;
  if (lock == s.plan.lock && !s.reproduces.empty()) {
    return properties::not_reproduced(s, judgement).empty();
  }
  return broken == expected.starts_with("violated");
}

/// The verdict of the user's lock. Only what it promises is checked.
std::string verdict_of_worker(const properties::Judgement& judgement) {
  for (const auto& f : judgement.findings) {
    const bool unknown = f.verdict == model::Verdict::unknown && !f.never_tested();
    if (f.check == model::Check::protocol && unknown) return kNothingSeen + f.why;
  }
  const auto broken = properties::violated(judgement.findings);
  if (!broken.empty()) return "violated " + to_string(broken);
  return to_string(model::overall_tested(judgement.findings));
}

/// The locks of a run: the one asked for; else in the virtual world all, and live the story's own
/// and leasehold.
std::vector<std::string> locks_for(const Scenario& s, const Options& options, bool live) {
  if (options.foreign) return {options.foreign->promises.name};
  if (!options.lock.empty()) return {options.lock};
  if (!live) return s.locks;
  if (s.plan.lock == "leasehold") return {"leasehold"};
  return {s.plan.lock, "leasehold"};
}

/// What is wrong if a fault had no effect that has one in the virtual world, because such a live
/// run shows nothing of the story.
std::string idle_faults(const sim::Plan& plan, const Options& options,
                        const sim::FaultCounts& took_effect) {
  const auto virtually = sim::simulated::SimulatedWorld().run(plan).took_effect;
  std::vector<std::string> idle;
  for (const auto& kind :
       properties::kinds_that_hit(plan, options.set, options.foreign.has_value())) {
    if (virtually.contains(kind) && !took_effect.contains(kind)) idle.push_back(kind);
  }
  return idle.empty() ? "" : fmt::format("{} took no effect", fmt::join(idle, ", "));
}

std::string sentence_of(const Scenario& s) { return s.about.substr(0, s.about.find('\n')); }

/// The command that repeats it; empty for a worker's lock, which has options of its own.
std::string repeat_command(const Options& options, const Scenario& s, const std::string& lock) {
  if (options.foreign) return "";
  const bool listed = s.file.string().starts_with(scenario_folder());
  return fmt::format("leasehold-lab scenario run {} --lock {}{}{}",
                     listed ? s.name : s.file.string(), lock,
                     options.world == "live" ? " --world live" : "",
                     options.without_fault ? " --without-fault" : "");
}

/// One story with one lock, run as often as was needed.
struct StoryRun {
  std::string story, lock, verdict, reproduction;
  bool expected = false;
  int tries = 0;
  double seconds = 0;
};

/// The file of one story with one lock: "story.html" itself if there is no other.
std::string report_file_of(const Options& options, const Scenario& s, const std::string& lock,
                           bool only) {
  const fs::path file(options.outputs.page);
  if (options.outputs.page.empty() || only) return options.outputs.page;
  const bool many = options.all || options.names.size() > 1;
  const auto name = file.stem().string() + (many ? "-" + s.name : "") + "-" + lock;
  return file.parent_path() / (name + file.extension().string());
}

void show_run(const Options& options, const properties::Judgement& judgement,
              const model::History& history) {
  if (options.all || options.names.size() != 1) return;
  std::vector<model::Index> decided;
  std::string why;
  for (const auto& f : judgement.findings) {
    if (f.verdict != model::Verdict::violated) continue;
    decided.insert(decided.end(), f.events.begin(), f.events.end());
    why += fmt::format("{} violated: {}\n", to_string(f.check), f.why);
  }
  for (const auto& line : properties::transcript(history, decided)) fmt::print("{}\n", line);
  fmt::print("{}\n", properties::with_short_names(why));
}

/// Repeats until the expected result; the last try is shown.
StoryRun run_story(const Scenario& s, const Options& options, const std::string& lock, bool only,
                   sim::World& world) {
  auto plan = options.plan_of(s);
  if (!options.foreign) plan.lock = lock;
  const auto promises = options.foreign ? std::optional(options.foreign->promises) : std::nullopt;
  const auto began = std::chrono::steady_clock::now();
  StoryRun one{.story = s.name, .lock = lock};
  model::History history;
  properties::Judgement judgement;
  while (one.tries < options.tries && !one.expected && !interrupted()) {
    ++one.tries;
    auto run = world.run(plan);
    history = std::move(run.history);
    judgement = properties::judge(history, promises);
    one.verdict =
        promises ? verdict_of_worker(judgement) : properties::verdict_line(lock, judgement);
    if (lock == s.plan.lock && !s.reproduces.empty() && !options.without_fault) {
      const auto kept = properties::not_reproduced(s, judgement);
      one.reproduction = kept.empty() ? "reproduces " + to_string(s.reproduces)
                                      : "does not reproduce " + to_string(kept);
    }
    const auto idle = world.is_live() ? idle_faults(plan, options, run.took_effect) : "";
    one.expected = idle.empty() && is_as_expected(s, options, lock, judgement);
    if (!idle.empty() && !one.verdict.starts_with("violated")) one.verdict = kNothingSeen + idle;
    // A busy machine may upset a story's times, but nothing more.
    if (lock == "leasehold" && one.verdict.starts_with("violated")) break;
  }
  if (interrupted()) return one;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  one.seconds = took.count();
  const auto tries = one.tries == 1 ? "" : fmt::format("  try {} of {}", one.tries, options.tries);
  const auto shown = one.reproduction.empty() ? "" : "  " + one.reproduction;
  fmt::print("{:<44} {:<17} {:<26} {:>5.1f} s{}{}{}\n", s.name, lock, one.verdict, one.seconds,
             tries, shown, one.expected ? "" : "  NOT AS EXPECTED");
  show_run(options, judgement, history);
  const auto page = report_file_of(options, s, lock, only);
  if (!page.empty()) {
    write_file(page, run_page(history, {.repeat = repeat_command(options, s, lock),
                                        .promises = promises,
                                        .run = fmt::format("{} ({})", sentence_of(s), lock)}));
    fmt::print("page: {}\n", page);
  }
  return one;
}

/// A test case for each story and lock; a golden part that differs is another.
void add(Conclusion& c, const StoryRun& one) {
  c.facts["stories"].push_back({{"story", one.story},
                                {"lock", one.lock},
                                {"verdict", one.verdict},
                                {"reproduction", one.reproduction},
                                {"as_expected", one.expected},
                                {"tries", one.tries},
                                {"seconds", one.seconds}});
  const auto verdict = one.expected ? model::Verdict::holds : model::Verdict::violated;
  c.add({one.story + ": with " + one.lock, verdict, "not as expected: " + one.verdict},
        one.seconds);
}

int list(const Options& options) {
  std::string group;
  for (const auto& s : stories_in(options.folder)) {
    if (s.group != group) fmt::print("{}{}\n", group.empty() ? "" : "\n", group = s.group);
    fmt::print("  {:<44} {}\n", s.name, sentence_of(s));
  }
  return kHolds;
}

int show(const Options& options) {
  for (const auto& s : chosen(options)) fmt::print("{}----\n{}", s.head, s.expected);
  return kHolds;
}

/// Writes each as a file to begin with; leaves existing files alone.
int begin(const Options& options) {
  if (options.names.empty()) throw UsageError("scenario new: name the file, as my-story.scn");
  for (const auto& name : options.names) {
    if (fs::path(name).extension() != ".scn") {
      throw UsageError("scenario new: '" + name + "': the name must end in .scn");
    }
    if (fs::exists(name)) throw UsageError("scenario new: '" + name + "': it must not exist yet");
    require_writable("new", name);
  }
  for (const auto& name : options.names) {
    std::ofstream out(name);
    out << pages::new_story_scn_in;
    if (!out.flush()) throw std::runtime_error("cannot write scenario " + name);
    fmt::print("{0}\nrun it: leasehold-lab scenario run {0}\n", name);
  }
  return kHolds;
}

/// In CI a changed story would pass unseen.
int rewrite_all(const std::vector<Scenario>& stories) {
  const char* ci = std::getenv("CI");
  if (ci != nullptr && *ci != '\0') {
    refuse("--rewrite: CI", ci, "a changed story must be seen by its author");
  }
  for (const auto& s : stories) {
    // The run may end this process, so the file stays as it is until the result is whole.
    const auto expectation = properties::render_expectation(s);
    const fs::path new_file = s.file.string() + ".new";
    std::ofstream out(new_file);
    out << s.head << "----\n" << expectation;
    out.close();
    if (!out) throw std::runtime_error("cannot write scenario " + s.name);
    fs::rename(new_file, s.file);
  }
  return kHolds;
}

int run(Options& options) {
  const auto stories = chosen(options);
  if (options.rewrite) return rewrite_all(stories);
  const auto plans = [&](const sim::live::TheirSet&) {
    std::vector<WantedPlan> all;
    for (const auto& s : stories) all.push_back({options.plan_of(s), "scenario '" + s.name + "'"});
    return all;
  };
  options.set = options.site.prepare({plans, {}, sim::live::LiveWorld::databases()},
                                     options.foreign);
  const auto world = world_of(options);
  Conclusion c{.command = "scenario",
               .verdict = model::Verdict::holds,
               .facts = {{"stories", nlohmann::ordered_json::array()}},
               .cases = std::vector<JunitCase>()};
  bool seen = true;
  for (const auto& s : stories) {
    const auto locks = locks_for(s, options, world->is_live());
    for (const auto& lock : locks) {
      if (interrupted()) break;
      const bool only = locks.size() == 1 && !options.all && options.names.size() == 1;
      const auto one = run_story(s, options, lock, only, *world);
      if (interrupted()) break;
      seen = seen && !one.verdict.starts_with(kNothingSeen);
      add(c, one);
    }
    // The golden part is compared with a fresh run of it.
    const bool golden = !world->is_live() && !options.without_fault && options.lock.empty() &&
                        !interrupted() && !s.expected.empty();
    if (golden && properties::render_expectation(s) != s.expected) {
      fmt::print("{}: the result differs from its file; --rewrite updates the file\n", s.name);
      add(c, {.story = s.name,
              .lock = "all of its locks",
              .verdict = "the result differs from its file",
              .tries = 1});
    }
  }
  const bool good = c.verdict == model::Verdict::holds;
  if (good && (!seen || interrupted())) c.verdict = model::Verdict::unknown;
  fmt::print("{} stories: {}{}\n", stories.size(), good ? "as expected" : "not as expected",
             interrupted() ? ", as far as they ran: it was interrupted" : "");
  for (const auto& what : world->leave()) fmt::print("left behind: {}\n", what);
  return write(c, {.json = options.outputs.json, .junit = options.outputs.junit});
}

}  // namespace

int scenario(const std::vector<std::string>& words) {
  Options o;
  std::string what;
  o.folder = scenario_folder();
  po::options_description options("Failure stories: which fault makes which lock fail. Options");
  options.add_options()("what", po::value(&what), "list, show, run or new")(
      "names", po::value(&o.names), "names of stories, or files; of new ones files")(
      "all", po::bool_switch(&o.all), "every story")(
      "world", po::value(&o.world)->default_value(o.world), "virtual, or live: a real replica set")(
      "lock", po::value(&o.lock), "run the stories with this lock only")(
      "without-fault", po::bool_switch(&o.without_fault), "leave out the story's faults")(
      "rewrite", po::bool_switch(&o.rewrite), "rewrite the expected results in the files")(
      "folder", po::value(&o.folder)->value_name("FOLDER"),
      "where the stories are; default: those that come with this program")(
      "tries", in_range("tries", o.tries, 1, 10)->default_value(o.tries),
      "live: how many tries a story has to give the expected result; the report shows them");
  o.outputs.add_to(options, "write the run as a page; for several locks or stories one page "
                              "each, named after FILE");
  po::positional_options_description positional;
  positional.add("what", 1).add("names", -1);
  o.site.add_to(options);
  o.foreign = o.site.lock(
      parse("scenario list|show|run|new [NAME...] [OPTIONS]", options, words, positional));
  if (o.foreign) {
    if (!o.lock.empty()) refuse("--lock", o.lock, "--worker is its own lock");
    o.world = "live";
  }
  if (o.site.elsewhere()) o.world = "live";
  if (!fs::is_directory(o.folder)) refuse("--folder", o.folder, "it must be a folder with stories");
  if (!o.lock.empty()) require_lock(o.lock, o.world == "live");
  if (what == "list") return list(o);
  if (what == "show") return show(o);
  if (what == "run") return run(o);
  if (what == "new") return begin(o);
  throw UsageError("scenario '" + what + "': it must be list, show, run or new");
}

}  // namespace leasehold::lab
