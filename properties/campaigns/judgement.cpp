#include "properties/campaigns/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "model/verdict/checkers.hpp"
#include "model/workers/worker_judge.hpp"

namespace leasehold::properties {

namespace fs = std::filesystem;
using model::Finding;
using model::Check;
using model::Kind;
using model::Verdict;

void add(Totals& to, const Totals& from) {
  for (const auto& [key, count] : from) to[key] += count;
}

std::int64_t count_of(const Totals& totals, const std::string& what) {
  const auto found = totals.find(what);
  return found == totals.end() ? 0 : found->second;
}

namespace {

constexpr const char* kPromises = "promises.json";

/// Adds them up, except for values that are the largest of all runs.
void add_counts(Totals& to, const Totals& from) {
  for (const auto& [key, count] : from) {
    to[key] = key.starts_with("largest") ? std::max(to[key], count) : to[key] + count;
  }
}

/// A run that tested nothing weighs nothing, and one that a stall leaves open weighs little.
int weight(const Finding& f) {
  if (f.never_tested()) return 0;
  if (f.verdict == Verdict::violated) return 4;
  return f.verdict == Verdict::holds ? 2 : f.only_stalled() ? 1 : 3;
}

void merge(Finding& a, const Finding& b) {
  const bool outweighed = weight(b) > weight(a);
  // The checks of a run that a stall leaves open do not help another to its floor.
  if (outweighed && a.only_stalled()) a.checked = 0;
  if (outweighed || !b.only_stalled() || a.only_stalled()) a.checked += b.checked;
  a.violations += b.violations;
  add_counts(a.counts, b.counts);
  for (std::size_t i = 0; i < a.excused.size(); ++i) a.excused[i] += b.excused[i];
  if (!outweighed) return;
  a.verdict = b.verdict;
  a.why = b.why;
  a.open = b.open;
  a.events = b.events;
}

/// Only for a live run, because that reads the oplog again at its end.
void add_majority(std::vector<Finding>& findings, const model::History& history) {
  Finding f{.check = Check::majority};
  bool read = false, unread = false;
  for (model::Index i = 0; i < history.size(); ++i) {
    const auto& e = history[i];
    if (e.kind != Kind::reread) continue;
    read = true;
    f.checked += e.count;
    if (e.outcome == "unread") {
      unread = true;
      f.leave_open(model::Open::unread, e.message.empty() ? kNotRead : e.message);
    }
    if (e.outcome != "vanished") continue;
    ++f.checked;
    f.events.push_back(i);
    if (f.violations++ > 0) continue;
    f.verdict = Verdict::violated;
    f.why = "an oplog entry that a majority had is lost, of time " + std::to_string(e.order);
  }
  if (!read) return;
  if (unread) {
    for (Finding& other : findings) other.leave_open(model::Open::unread, kNotRead);
  }
  findings.push_back(std::move(f));
}

/// Rare events that other changes easily make disappear: an extension of several locks, a document
/// of an owner that was deleted before.
void add_beacons(const model::History& history, Totals& totals) {
  std::map<std::string, std::int64_t> extending;  // by process: its last command that extends
  std::set<std::string> deleted;
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> leases;  // by process and session
  std::map<std::string, std::int64_t> lease_of;                         // by owner
  for (const auto& e : history) {
    if (e.kind == Kind::ask) leases[{e.process, e.session}] = e.expiry_ms;
    const bool hands_over = e.kind == Kind::send && e.verb == "hand-over";
    if (hands_over || (e.kind == Kind::send && e.verb == "acquire")) {
      lease_of[e.owner] = leases[{e.process, e.session}];
    }
    if (hands_over && lease_of[e.giver] != lease_of[e.owner]) ++totals["hand_overs_between_leases"];
    if (e.kind == Kind::send && e.verb == "extend") {
      auto& last = extending[e.process];
      if (last == e.command) ++totals["extended_together"];
      last = e.command;
    }
    if (e.kind == Kind::reply && e.verb == "delete" && e.outcome == "done") {
      deleted.insert(e.owner);
    }
    if (e.kind != Kind::put || !deleted.contains(model::owner_of(e.lock_id))) continue;
    ++totals["resurrected"];
  }
}

}  // namespace

void merge(std::vector<Finding>& all, const std::vector<Finding>& one) {
  for (const Finding& b : one) {
    const auto found = std::ranges::find(all, b.check, &Finding::check);
    if (found == all.end()) {
      all.push_back(b);
    } else {
      merge(*found, b);
    }
  }
}

std::string excuses_of(const Finding& finding) {
  std::string out;
  for (std::size_t i = 0; i < model::kExcuses.size(); ++i) {
    if (finding.excused[i] == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", model::kExcuses[i], finding.excused[i]);
  }
  return out;
}

double excused_percent(const Finding& finding) {
  const auto all = std::max<std::int64_t>(finding.checked + finding.all_excused(), 1);
  return 100.0 * static_cast<double>(finding.all_excused()) / static_cast<double>(all);
}

void Stalls::add(const Stalls& other) {
  if (other.longest_ns > longest_ns) longest_ns = other.longest_ns, victim = other.victim;
  machine_ns += other.machine_ns;
  run_ns += other.run_ns;
}

double Stalls::machine_percent() const {
  return 100.0 * static_cast<double>(machine_ns) /
         static_cast<double>(std::max<std::int64_t>(run_ns, 1));
}

Stalls stalls_in(const model::History& history) {
  Stalls stalls;
  std::vector<model::Span> of_machine;
  for (const auto& e : history) {
    if (e.kind != Kind::stall || !e.process.empty()) continue;
    stalls.add({e.at_ns - e.from_ns, e.victim});
    if (e.victim == model::kMachine) of_machine.push_back({e.from_ns, e.at_ns});
  }
  const model::MergedSpans merged(std::move(of_machine));
  for (const auto& span : merged.all()) stalls.machine_ns += span.to - span.from;
  if (!history.empty()) stalls.run_ns = history.back().at_ns - history.front().at_ns;
  return stalls;
}

std::string to_string(const Stalls& stalls) {
  if (stalls.longest_ns == 0) return "";
  return fmt::format("{} ms ({}); the machine stood still for {:.1f} % of the time",
                     stalls.longest_ns / model::kMs, stalls.victim, stalls.machine_percent());
}

Judgement judge(const model::History& history) {
  const auto digest = model::digest(history);
  model::Acceptance accepted;
  Judgement judgement{model::judge(digest, accepted), std::move(accepted.taken)};
  const bool whole = judgement.findings.front().verdict == Verdict::holds;
  std::ranges::move(accepted.steps, std::back_inserter(judgement.findings));
  for (Finding& f : judgement.findings) {
    const bool of_steps = kind_of(f.check) == model::CheckKind::model;
    if (of_steps && !whole) f.leave_open(model::Open::other, "the history is not well-formed");
  }
  add_majority(judgement.findings, history);
  return judgement;
}

Judgement judge(const model::History& history, const std::optional<model::Promises>& promises) {
  return promises ? Judgement{model::judge_worker(history, *promises), {}} : judge(history);
}

model::CheckSet violated(const std::vector<Finding>& findings) {
  model::CheckSet all;
  for (const Finding& f : findings) {
    if (f.verdict == Verdict::violated) all.insert(f.check);
  }
  return all;
}

std::optional<Check> first_violated(const std::vector<Finding>& findings) {
  const auto all = violated(findings);
  return all.empty() ? std::nullopt : std::optional(*all.begin());
}

Totals totals_of(const model::History& history, const std::vector<Finding>& findings) {
  Totals totals{{"acquisitions", 0}, {"extensions", 0},   {"releases", 0},  {"fenced_writes", 0},
                {"takeovers", 0},    {"stale_writes", 0}, {"hand_overs", 0}};
  std::map<std::string, std::int64_t> newest;  // by process: the newest write that it knows of
  std::set<std::string> candidates;
  for (const auto& e : history) {
    if (e.kind == Kind::reply && e.outcome == "done") {
      auto& heard = newest[e.process];
      const bool of_a_holder = e.verb == "delete" || e.verb == "extend" || e.verb == "hand-over";
      if (of_a_holder && e.matched == 0 && e.order < heard) ++totals["denied_by_old_primaries"];
      heard = std::max(heard, e.order);
    }
    if (e.kind == Kind::reply && e.outcome == "duplicate_key") ++totals["duplicate_keys"];
    if (e.kind == Kind::start && e.leads) candidates.insert(e.process);
    if (e.kind == Kind::granted) ++totals["acquisitions"];
    if (e.kind == Kind::granted && candidates.contains(e.process)) ++totals["terms"];
    if (e.kind == Kind::extended) ++totals["extensions"];
    if (e.kind == Kind::released && e.outcome == "released") ++totals["releases"];
    if (e.kind == Kind::write && e.outcome == "accepted") ++totals["fenced_writes"];
    if (e.kind == Kind::lost) ++totals["losses"];
    if (e.kind == Kind::congestion && e.begins) ++totals["congestions"];
    if (e.kind == Kind::lost && e.outcome == "max_holding") ++totals["held_too_long"];
    if (e.kind == Kind::held) totals["held_asked"] += e.count;
    if (e.kind == Kind::notified) ++totals["lost_fired"];
    if (e.kind == Kind::reply && e.verb == "stream") {
      ++totals[e.outcome == "done" ? "stream_steps" : "streams_broken"];
    }
    if (e.kind == Kind::reply && e.outcome == "unknown") ++totals["unknown_outcomes"];
    if (e.kind == Kind::no_majority) {
      totals["ms_without_majority"] += (e.at_ns - e.from_ns) / model::kMs;
    }
  }
  for (const auto& f : findings) {
    for (const char* key : {"takeovers", "hand_overs", "passed_on"}) {
      if (f.check == Check::G1 && f.counts.contains(key)) totals[key] += f.counts.at(key);
    }
    for (const char* key :
         {"stale_writes", "stale_writes_refused", "bounded_takeovers", "late_wins", "queue_turns",
          "queue_waits", "losses_by_server", "queue_news", "queue_offers", "queue_left",
          "given_back", "permit_calls", "permit_waits", "healed_permits", "all_calls",
          "healed_all_calls", "lost_while_others_waited", "streams_read_on",
          "places_kept_by_extensions", "places_kept_by_grants"}) {
      if (f.counts.contains(key)) totals[key] += f.counts.at(key);
    }
    if (f.never_tested()) continue;
    ++totals["verdicts"];
    totals["verdicts_unknown"] += f.verdict == Verdict::unknown ? 1 : 0;
  }
  add_beacons(history, totals);
  return totals;
}

Sums::Sums(const sim::RunResult& run, const Judgement& judgement)
    : totals(totals_of(run.history, judgement.findings)),
      took_effect(run.took_effect),
      findings(judgement.findings),
      arrows(judgement.arrows) {}

void Sums::add(const Sums& other) {
  properties::add(totals, other.totals);
  properties::add(took_effect, other.took_effect);
  merge(findings, other.findings);
  model::add(arrows, other.arrows);
}

void keep_run(const std::string& folder, const sim::Plan& plan, const model::History& history,
              const std::vector<model::Finding>& findings, const std::vector<std::string>& logs,
              const std::optional<model::Promises>& promises) {
  fs::create_directories(folder);
  std::ofstream(folder + "/plan.scn") << to_scn(plan);
  std::ofstream history_file(folder + "/history.jsonl");
  model::write(history_file, history);
  std::ofstream verdict(folder + "/verdict.txt");
  for (const auto& f : findings) {
    verdict << to_string(f.check) << ' ' << to_string(f.verdict) << ' ' << f.why << '\n';
  }
  if (promises) std::ofstream(fs::path(folder) / kPromises) << to_json(*promises) << '\n';
  for (const auto& log : logs) {
    fs::copy_file(log, fs::path(folder) / fs::path(log).filename(),
                  fs::copy_options::overwrite_existing);
  }
}

std::optional<model::Promises> kept_promises(const std::string& history) {
  const fs::path given(history);
  std::ifstream in((fs::is_directory(given) ? given : given.parent_path()) / kPromises);
  if (!in) return std::nullopt;
  return model::promises_from_json({std::istreambuf_iterator<char>(in), {}});
}

}  // namespace leasehold::properties
