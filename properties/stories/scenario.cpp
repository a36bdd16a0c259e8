#include "properties/stories/scenario.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "properties/campaigns/campaign.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::properties {
namespace {

namespace fs = std::filesystem;
using model::Event;
using model::Kind;

constexpr const char* kRule = "----\n";
constexpr const char* kLocksWord = "# locks: ";
constexpr const char* kReproducesWord = "# reproduces: ";
constexpr std::size_t kLockColumn = 18;

/// A variant promises what the lock promises from which it was made, the production lock.
bool is_promised(const std::string& lock, model::Check guarantee) {
  const bool is_variant = sim::promise_of(lock, model::Check::G1).empty();
  return !sim::promise_of(is_variant ? "leasehold" : lock, guarantee).empty();
}

/// The words of the comment line that begins so.
std::vector<std::string> words_after(const char* beginning, const std::string& head) {
  const auto at = head.find(beginning);
  if (at == std::string::npos) return {};
  std::istringstream words(
      head.substr(at, head.find('\n', at) - at).substr(std::strlen(beginning)));
  return {std::istream_iterator<std::string>(words), {}};
}

std::string padded(const std::string& word) {
  return word + std::string(std::max(kLockColumn, word.size() + 1) - word.size(), ' ');
}

Simulated run_with(const Scenario& scenario, const std::string& lock) {
  auto plan = scenario.plan;
  plan.lock = lock;
  return simulate(plan);
}

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kReadable = 1'000;  ///< tokens above are shown by their rank

bool hits_process(const Event& fault) {
  return !fault.victim.empty() && !fault.victim.starts_with("member-");
}

class Transcriber {
 public:
  explicit Transcriber(const model::History& history)
      : history_(history), began_ns_(began_ns(history)) {
    for (const Event& e : history) {
      if (e.token > kReadable) ranks_.emplace(e.token, 0);
      if (e.kind == Kind::send) senders_.emplace(e.owner, short_name(e.process));
      // Documents that a release or a clean-up deleted; the truth names no owner.
      if (e.kind == Kind::reply && e.verb == "delete" && e.matched > 0) deleted_.insert(e.order);
    }
    int rank = 0;
    for (auto& [token, number] : ranks_) number = ++rank;
  }

  /// The whole story, and of what is beside it only these events, which have a mark; or, if only
  /// their part is asked for, that with all that is beside it.
  std::vector<std::string> tell(const std::vector<model::Index>& events, bool only_part) {
    Part part;
    for (const auto i : events) {
      if (i < history_.size()) part.add(history_[i]);
    }
    std::vector<std::string> lines;
    for (model::Index i = 0; i < history_.size(); ++i) {
      const Event& e = history_[i];
      auto words = of(e);  // it keeps who holds what
      const bool decides = std::ranges::count(events, i) > 0;
      if (only_part && !decides && !part.has(e)) continue;
      if (words.empty() && (only_part || decides)) words = beside(e);
      const char* mark = events.empty() ? "" : decides ? " >" : "  ";
      if (words.empty()) continue;
      const auto ms = std::to_string((e.at_ns - began_ns_) / kNsPerMs);
      const std::string before(ms.size() < 7 ? 7 - ms.size() : 0, ' ');
      lines.push_back(mark + before + ms + "  " + words);
    }
    return lines;
  }

 private:
  /// What belongs to some events.
  struct Part {
    std::set<std::string> locks, processes;
    std::int64_t from_ns = model::kNever, to_ns = 0;

    void add(const Event& e) {
      if (!e.name.empty()) locks.insert(e.name);
      if (!e.process.empty()) processes.insert(e.process);
      from_ns = std::min(from_ns, e.at_ns);
      to_ns = std::max(to_ns, e.at_ns);
    }
    [[nodiscard]] bool has(const Event& e) const {
      if (e.at_ns < from_ns || e.at_ns > to_ns) return false;
      if (e.kind == Kind::fault) return !hits_process(e) || processes.contains(e.victim);
      const bool of_a_process = e.name.empty() && processes.contains(e.process);
      return locks.contains(e.name) || of_a_process;
    }
  };

  /// The parts that a story's transcript leaves out.
  std::string beside(const Event& e) {
    const auto caller = short_name(e.process) + call(e.process, e.session);
    switch (e.kind) {
      case Kind::put: return e.name + "'s document is written, its owner is " + owner(e);
      case Kind::gone: return e.name + "'s document is taken away";
      case Kind::held:
        return caller + " answers that it " + (e.outcome == "yes" ? "holds " : "has lost ") +
               name(e);
      case Kind::notified: return caller + " is notified that it lost " + name(e);
      case Kind::stored: return "the resource takes " + caller + "'s write";
      case Kind::send: return caller + "'s " + e.verb + " is sent";
      case Kind::reply: return caller + "'s " + e.verb + " is answered: " + e.outcome;
      case Kind::protocol: return caller + ": " + e.message;
      default: return "";
    }
  }

  std::string owner(const Event& put) const {
    const auto owner = put.owner.empty() ? model::owner_of(put.lock_id) : put.owner;
    const auto sender = senders_.find(owner);
    return sender == senders_.end() ? owner : sender->second;
  }

  std::string token(std::int64_t value) const {
    const auto rank = ranks_.find(value);
    return rank == ranks_.end() ? std::to_string(value) : "T" + std::to_string(rank->second);
  }

  std::string of(const Event& e) {
    if (e.kind == Kind::ask) {
      // Calls of one process at the same time are distinguished: A, A', A''.
      std::set<int> taken;
      for (const auto& [session, seat] : seats_[e.process]) taken.insert(seat);
      int free = 0;
      while (taken.contains(free)) ++free;
      seats_[e.process][e.session] = free;
    }
    const auto caller = short_name(e.process) + call(e.process, e.session);
    if (e.kind == Kind::released || e.kind == Kind::ended) seats_[e.process].erase(e.session);
    switch (e.kind) {
      case Kind::ask:
        names_[{e.process, e.session}] = e.name;
        return caller + (e.shared ? " asks to read " : " asks for ") + e.name + timeout(e);
      case Kind::send:
        if (e.verb != "hand-over") return "";
        return holders_[e.giver] + " hands " + e.name + " over to " + caller;
      case Kind::granted:
        holders_[e.owner] = caller;
        return caller + (e.shared ? " reads " : " holds ") + name(e) + ", token " + token(e.token);
      case Kind::lost: return caller + " loses " + name(e) + ": " + e.outcome;
      case Kind::release: return caller + " releases " + name(e);
      case Kind::released: return caller + "'s release of " + name(e) + ": " + e.outcome;
      case Kind::ended: return caller + " does not get " + name(e) + ": " + e.outcome;
      case Kind::write:
        return caller + (e.shared ? "'s read" : "'s write") + " with token " + token(e.token) +
               " is " + e.outcome;
      case Kind::crash: return caller + " is killed";
      case Kind::pause: return caller + (e.suspended ? "'s machine" : "") + " is stopped";
      case Kind::resume: return caller + (e.suspended ? "'s machine" : "") + " goes on";
      case Kind::fault: return fault(e);
      case Kind::heal: return "all faults are over";
      case Kind::gone: return deleted_.contains(e.order) ? "" : e.name + "'s document disappears";
      default: return "";
    }
  }

  std::string call(const std::string& process, std::int64_t session) {
    const auto& seats = seats_[process];
    const auto found = seats.find(session);
    return found == seats.end() ? "" : std::string(static_cast<std::size_t>(found->second), '\'');
  }

  std::string name(const Event& e) const {
    const auto found = names_.find({e.process, e.session});
    return found == names_.end() ? e.name : found->second;
  }

  static std::string timeout(const Event& e) {
    if (e.single_attempt) return ", once";
    if (e.give_up_ns == 0) return "";
    const auto ms = (e.give_up_ns - e.at_ns + kNsPerMs / 2) / kNsPerMs;
    return ", for at most " + std::to_string(ms) + " ms";
  }

  static std::string fault(const Event& e) {
    std::string words = e.fault;
    const auto& victim = e.victim;
    if (!victim.empty()) words += " of " + (hits_process(e) ? short_name(victim) : victim);
    if (e.amount != 0) words += " (" + std::to_string(e.amount) + ")";
    return words + (e.begins ? " begins" : e.ends ? " ends" : "");
  }

  const model::History& history_;
  const std::int64_t began_ns_;
  std::map<std::int64_t, int> ranks_;
  std::set<std::int64_t> deleted_;
  std::map<std::pair<std::string, std::int64_t>, std::string> names_;
  std::map<std::string, std::map<std::int64_t, int>> seats_;  ///< of calls not over, by process
  std::map<std::string, std::string> holders_;                ///< by owner
  std::map<std::string, std::string> senders_;                ///< processes by owner
};

}  // namespace

Scenario read_scenario(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("scenario '" + file.string() + "': it cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Scenario s{.file = file, .name = file.stem(), .group = file.parent_path().filename()};
  const auto rule = text.find(std::string("\n") + kRule);
  s.head = rule == std::string::npos ? text : text.substr(0, rule + 1);
  s.expected = rule == std::string::npos ? "" : text.substr(rule + 1 + std::string(kRule).size());
  std::istringstream lines(s.head);
  for (std::string line; std::getline(lines, line) && line.starts_with("#");) {
    if (line.starts_with(kLocksWord) || line.starts_with(kReproducesWord)) continue;
    s.about += (line.size() > 2 ? line.substr(2) : "") + "\n";
  }
  s.locks = words_after(kLocksWord, s.head);
  if (s.locks.empty()) s.locks = matrix_locks();
  try {
    s.plan = sim::plan_from_scn(s.head);
    for (const auto& word : words_after(kReproducesWord, s.head)) {
      const auto guarantee = model::check_named(word);
      if (!guarantee || !is_promised(s.plan.lock, *guarantee)) {
        throw std::runtime_error("reproduces is '" + word + "': it must be a guarantee that " +
                                 s.plan.lock + " promises, as G2");
      }
      s.reproduces.insert(*guarantee);
    }
  } catch (const std::exception& error) {
    throw std::runtime_error("scenario '" + file.string() + "': " + error.what());
  }
  return s;
}

std::vector<Scenario> read_scenarios(const fs::path& folder) {
  std::vector<Scenario> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    // Plans for other locks show nothing of ours.
    const bool of_others = entry.path().parent_path().filename() == "others";
    if (entry.path().extension() != ".scn" || of_others) continue;
    auto scenario = read_scenario(entry.path());
    if (sim::is_scripted(scenario.plan)) all.push_back(std::move(scenario));
  }
  std::ranges::sort(all, {}, [](const Scenario& s) { return std::tie(s.group, s.name); });
  return all;
}

sim::Plan without_fault(sim::Plan plan) {
  plan.faults.clear();
  std::erase_if(plan.steps, [](const sim::StepPlan& s) { return s.is_the_fault; });
  for (auto& p : plan.processes) p.drift_ppm = 0;
  return plan;
}

model::CheckSet broken_promises(const std::string& lock, const Judgement& judgement) {
  model::CheckSet broken;
  for (const auto check : violated(judgement.findings)) {
    if (is_promised(lock, check)) broken.insert(check);
  }
  return broken;
}

std::string verdict_line(const std::string& lock, const Judgement& judgement) {
  const auto broken = broken_promises(lock, judgement);
  if (!broken.empty()) return "violated " + to_string(broken);
  const auto& form = judgement.findings.front();
  if (form.verdict != model::Verdict::holds) return "unknown: " + form.why;
  const bool tested = std::ranges::any_of(judgement.findings, [&](const model::Finding& f) {
    return is_promised(lock, f.check) && f.verdict == model::Verdict::holds;
  });
  return tested ? "holds" : "unknown: nothing that it promises was put to the test";
}

std::string render_expectation(const Scenario& scenario) {
  std::string out;
  std::map<std::string, Simulated> runs;
  for (const auto& lock : scenario.locks) {
    const auto& one = runs[lock] = run_with(scenario, lock);
    out += padded(lock) + verdict_line(lock, one.judgement) + '\n';
  }
  std::vector<std::string> featured_locks{scenario.plan.lock};
  if (featured_locks.front() != "leasehold") featured_locks.emplace_back("leasehold");
  for (const auto& lock : featured_locks) {
    if (!runs.contains(lock)) runs[lock] = run_with(scenario, lock);
    const auto& one = runs[lock];
    out += "\nwith " + lock + "\n";
    for (const auto& line : transcript(one.run.history)) out += line + '\n';
    const auto broken = broken_promises(lock, one.judgement);
    for (const auto& f : one.judgement.findings) {
      if (!broken.contains(f.check)) continue;
      out += std::string(to_string(f.check)) + " violated: " + with_short_names(f.why) + '\n';
    }
  }
  return out;
}

std::string expected_verdict(const Scenario& scenario, const std::string& lock) {
  std::istringstream lines(scenario.expected);
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.starts_with(padded(lock))) return line.substr(padded(lock).size());
  }
  return "";
}

std::string short_name(const std::string& process) {
  static const std::regex of_a_plan(R"(p(\d{1,9})(\D.*)?)");
  std::smatch parts;
  if (!std::regex_match(process, parts, of_a_plan) || std::stoi(parts[1]) >= 26) return process;
  const auto life = parts[2].str();
  return static_cast<char>('A' + std::stoi(parts[1])) + (life == ".1" ? "" : life);
}

std::string with_short_names(const std::string& text) {
  static const std::regex process(R"(\bp[0-9]+(\.[0-9]+)?\b)");
  std::string out;
  auto rest = text.cbegin();
  for (std::sregex_iterator found(text.begin(), text.end(), process), end; found != end; ++found) {
    out.append(rest, (*found)[0].first);
    out += short_name(found->str());
    rest = (*found)[0].second;
  }
  return out.append(rest, text.cend());
}

std::int64_t began_ns(const model::History& history) {
  const auto first = std::ranges::find(history, Kind::start, &Event::kind);
  return first == history.end() ? 0 : first->at_ns;
}

std::vector<std::string> transcript_of(const model::History& history,
                                       const std::vector<model::Index>& events) {
  return Transcriber(history).tell(events, true);
}

std::vector<std::string> transcript(const model::History& history,
                                    const std::vector<model::Index>& events) {
  return Transcriber(history).tell(events, false);
}

}  // namespace leasehold::properties
