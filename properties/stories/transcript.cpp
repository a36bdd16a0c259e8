#include "properties/stories/scenario.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace leasehold::properties {
namespace {

using model::Event;
using model::Kind;

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
      if (!words.empty()) lines.push_back(mark + stamp(e) + words);
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

  std::string stamp(const Event& e) const {
    const auto ms = std::to_string((e.at_ns - began_ns_) / kNsPerMs);
    return std::string(ms.size() < 7 ? 7 - ms.size() : 0, ' ') + ms + "  ";
  }

  std::string token(std::int64_t value) const {
    const auto rank = ranks_.find(value);
    return rank == ranks_.end() ? std::to_string(value) : "T" + std::to_string(rank->second);
  }

  std::string of(const Event& e) {
    if (e.kind == Kind::ask) take_seat(e);
    const auto caller = short_name(e.process) + call(e.process, e.session);
    if (e.kind == Kind::released || e.kind == Kind::ended) seats_[e.process].erase(e.session);
    switch (e.kind) {
      case Kind::ask:
        names_[{e.process, e.session}] = e.name;
        return caller + " asks for " + e.name + timeout(e);
      case Kind::send: return hand_over(e, caller);
      case Kind::granted:
        holders_[e.owner] = caller;
        return caller + " holds " + name(e) + ", token " + token(e.token);
      case Kind::lost: return caller + " loses " + name(e) + ": " + e.outcome;
      case Kind::release: return caller + " releases " + name(e);
      case Kind::released: return caller + "'s release of " + name(e) + ": " + e.outcome;
      case Kind::ended: return caller + " does not get " + name(e) + ": " + e.outcome;
      case Kind::write:
        return caller + "'s write with token " + token(e.token) + " is " + e.outcome;
      case Kind::crash: return caller + " is killed";
      case Kind::pause: return caller + (e.suspended ? "'s machine" : "") + " is stopped";
      case Kind::resume: return caller + (e.suspended ? "'s machine" : "") + " goes on";
      case Kind::fault: return fault(e);
      case Kind::heal: return "all faults are over";
      case Kind::gone: return deleted_.contains(e.order) ? "" : e.name + "'s document disappears";
      default: return "";
    }
  }

  /// Calls of one process at the same time are distinguished: A, A', A''.
  void take_seat(const Event& ask) {
    auto& seats = seats_[ask.process];
    std::set<int> taken;
    for (const auto& [session, seat] : seats) taken.insert(seat);
    int seat = 0;
    while (taken.contains(seat)) ++seat;
    seats[ask.session] = seat;
  }

  std::string call(const std::string& process, std::int64_t session) {
    const auto& seats = seats_[process];
    const auto found = seats.find(session);
    return found == seats.end() ? "" : std::string(static_cast<std::size_t>(found->second), '\'');
  }

  std::string hand_over(const Event& send, const std::string& to) {
    if (send.verb != "hand-over") return "";
    return holders_[send.giver] + " hands " + send.name + " over to " + to;
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

std::string short_name(const std::string& process) {
  if (process.size() < 2 || process[0] != 'p' || process[1] < '0' || process[1] > '9') {
    return process;
  }
  const auto digits = process.find_first_not_of("0123456789", 1);
  const auto number = std::stoi(process.substr(1, digits - 1));
  if (number >= 26) return process;
  std::string life = digits == std::string::npos ? "" : process.substr(digits);
  if (life == ".1") life.clear();
  return static_cast<char>('A' + number) + life;
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
