#include "model/facts.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>

namespace leasehold::model {
namespace {

template <typename Word>
std::uint64_t load(const char* at) {
  Word value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// What tells texts apart: of one of at most 16 characters these themselves, in two words, else a
/// hash of them.
struct TextKey {
  explicit TextKey(std::string_view text) : size(static_cast<std::uint32_t>(text.size())) {
    const char* at = text.data();
    const char* end = at + text.size();
    constexpr std::size_t kWord = 8, kHalf = 4;
    if (text.size() >= kWord) {
      low = load<std::uint64_t>(at);
      high = load<std::uint64_t>(end - kWord);
      for (at += kWord; at + kWord < end; at += kWord) low = mixed(low ^ load<std::uint64_t>(at));
    } else if (text.size() >= kHalf) {
      low = load<std::uint32_t>(at);
      high = load<std::uint32_t>(end - kHalf);
    } else {
      low = load<std::uint8_t>(at) | load<std::uint8_t>(at + text.size() / 2) << 8;
      high = load<std::uint8_t>(end - 1);
    }
  }
  TextKey() = default;
  bool operator==(const TextKey&) const = default;
  [[nodiscard]] bool is_whole() const { return size <= 16; }
  [[nodiscard]] std::uint64_t hash() const { return mixed(mixed(low ^ size) ^ high); }

 private:
  static std::uint64_t mixed(std::uint64_t value) {
    constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;
    value *= kMix;
    return value ^ value >> 32;
  }

  std::uint64_t low = 0, high = 0;
  std::uint32_t size = 0;
};

/// Gives strings numbers, by their first appearance. They stay where they are.
class Texts {
 public:
  Id of(std::string_view text) {
    if (text.empty()) return kNoText;
    if (all_.size() * 2 > slots_.size()) grow();
    const TextKey key(text);
    Slot& slot = find(key, text);
    if (slot.id == kNoText) {
      slot = {key, static_cast<Id>(all_.size())};
      all_.push_back(text);
    }
    return slot.id;
  }
  /// The same, if it is likely this one.
  Id of(std::string_view text, Id likely) { return all_[likely] == text ? likely : of(text); }

  [[nodiscard]] const std::vector<std::string_view>& all() const { return all_; }

 private:
  struct Slot {
    TextKey key;
    Id id = kNoText;
  };
  static constexpr std::size_t kFewest = 64;

  Slot& find(const TextKey& key, std::string_view text) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = key.hash() & mask;; i = (i + 1) & mask) {
      Slot& slot = slots_[i];
      if (slot.id == kNoText) return slot;
      if (slot.key == key && (key.is_whole() || all_[slot.id] == text)) return slot;
    }
  }
  void grow() {
    auto old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 4));
    for (const Slot& slot : old) {
      if (slot.id != kNoText) find(slot.key, all_[slot.id]) = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kFewest);  ///< a power of two, half of it taken
  std::vector<std::string_view> all_{""};
};

/// Gives each number of each process an id, by its first appearance. Most count from one.
class Numbers {
 public:
  Id of(Id process, std::int64_t number) {
    if (process >= by_process_.size()) by_process_.resize(process + 1);
    Process& p = by_process_[process];
    const auto place = static_cast<std::uint64_t>(number);
    if (place < p.dense.size() && p.dense[place] != kNew) return p.dense[place];
    return number_of(p, process, number);
  }
  [[nodiscard]] const std::vector<Numbered>& all() const { return all_; }

 private:
  static constexpr Id kNew = std::numeric_limits<Id>::max();
  struct Process {
    std::vector<Id> dense;  ///< by number
    std::unordered_map<std::int64_t, Id> sparse;
    std::size_t known = 0;
  };

  Id number_of(Process& p, Id process, std::int64_t number) {
    const auto place = static_cast<std::uint64_t>(number);
    const auto id = static_cast<Id>(all_.size());
    const auto old = p.sparse.find(number);
    if (old != p.sparse.end()) return old->second;
    all_.push_back({process, number});
    const std::size_t room = 2 * ++p.known + kSlack;
    if (place >= room) return p.sparse[number] = id;
    if (place >= p.dense.size()) p.dense.resize(room, kNew);
    return p.dense[place] = id;
  }

  static constexpr std::size_t kSlack = 64;
  std::vector<Process> by_process_;
  std::vector<Numbered> all_;
};

Verb verb_of(std::string_view verb) {
  if (verb.empty()) return Verb::none;
  if (verb == "acquire") return Verb::acquire;
  if (verb == "extend") return Verb::extend;
  if (verb == "delete") return Verb::remove;
  if (verb == "pass-on") return Verb::pass_on;
  if (verb == "hand-over") return Verb::hand_over;
  if (verb == "look") return Verb::look;
  if (verb == "stream") return Verb::stream;
  return verb == "index" ? Verb::index : Verb::other;
}

Outcome outcome_of(std::string_view outcome) {
  if (outcome.empty()) return Outcome::none;
  if (outcome == "done") return Outcome::done;
  if (outcome == "yes") return Outcome::yes;
  if (outcome == "no") return Outcome::no;
  if (outcome == "accepted") return Outcome::accepted;
  if (outcome == "released") return Outcome::released;
  if (outcome == "timed_out") return Outcome::timed_out;
  if (outcome == "unknown") return Outcome::unknown;
  if (outcome == "refused") return Outcome::refused;
  if (outcome == "failed_before") return Outcome::failed_before;
  if (outcome == "duplicate_key") return Outcome::duplicate_key;
  if (outcome == "not_owner") return Outcome::not_owner;
  if (outcome == "deadline") return Outcome::deadline;
  return outcome == "max_holding" ? Outcome::max_holding : Outcome::other;
}

/// By old place: the place in sorted order.
template <typename Less>
std::vector<Id> places(std::size_t count, const Less& less) {
  std::vector<Id> order(count), rank(count);
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(order.begin(), order.end(), less)) {
    std::sort(order.begin(), order.end(), less);
  }
  for (Id i = 0; i < count; ++i) rank[order[i]] = i;
  return rank;
}

template <typename T>
void permute(std::vector<T>& all, const std::vector<Id>& rank) {
  std::vector<T> sorted(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) sorted[rank[i]] = std::move(all[i]);
  all = std::move(sorted);
}

class Interner {
 public:
  Facts run(const History& history) {
    out_.all.reserve(history.size());
    for (const Event& e : history) out_.all.push_back(fact(e));
    sort();
    return std::move(out_);
  }

 private:
  Fact fact(const Event& e) {
    Fact f;
    f.at_ns = e.at_ns;
    f.kind = e.kind;
    f.stray = has_stray_field(e);
    f.process = processes_.of(e.process);
    f.name = names_.of(e.name);
    f.verb = verb_of(e.verb);
    f.outcome = outcome_of(e.outcome);
    if (about(e.kind).fields.contains(Field::session)) {
      f.session = sessions_.of(f.process, e.session);
    }
    switch (e.kind) {
      case Kind::ask:
        f.place_beside = static_cast<Id>(out_.asks.size());
        out_.asks.push_back(asked(f, e));
        break;
      case Kind::send:
        f.lock_id = lock_id(e.lock_id);
        f.command = command(f.process, e.command);
        set_owners(f, e);
        f.observed = lock_id(e.observed_lock_id.str());
        sent_[f.command] = {f.owner, f.lock_id, f.name};
        if (f.lock_id != kNoText) written(f.session) = f.lock_id;
        break;
      case Kind::reply:
        f.command = command(f.process, e.command);
        f.lock_id = seen_lock_id(e, sent_[f.command]);
        set_owners(f, e);
        f.matched = e.matched;
        f.order = e.order;
        break;
      case Kind::granted:
        f.lock_id = lock_id(e.lock_id, written(f.session));
        f.owner = owners_.of(e.owner, out_.owner_of_lock_id[f.lock_id]);
        f.token = e.token;
        f.deadline_ns = e.deadline_ns;
        f.sent_ns = e.sent_ns;
        break;
      case Kind::extended:
        f.lock_id = lock_id(e.lock_id, written(f.session));
        f.deadline_ns = e.deadline_ns;
        f.sent_ns = e.sent_ns;
        break;
      case Kind::held:
        f.place_beside = static_cast<Id>(out_.answered.size());
        out_.answered.push_back(e.count);
        f.first_asked_ns = e.first_asked_ns;
        f.first_answered_ns = e.first_answered_ns;
        f.last_asked_ns = e.last_asked_ns;
        break;
      case Kind::put:
        f.place_beside = static_cast<Id>(out_.documents.size());
        out_.documents.push_back({e.acquired_at_ms, e.expires_at_ms, e.stored_token});
        [[fallthrough]];
      case Kind::gone:
        f.lock_id = lock_id(e.lock_id);
        f.owner = out_.owner_of_lock_id[f.lock_id];
        f.order = e.order;
        standing(f.name) = f.lock_id;
        break;
      case Kind::place:
        f.lock_id = lock_id(e.lock_id);
        f.owner = out_.owner_of_lock_id[f.lock_id];
        f.order = e.order;
        f.matched = e.matched;
        f.place = e.count;
        break;
      case Kind::write:
      case Kind::stored:
        f.command = writes_.of(f.process, e.write_number);
        f.owner = owners_.of(e.owner);
        f.token = e.token;
        f.order = e.order;
        f.sent_ns = e.sent_ns;
        break;
      default: break;
    }
    return f;
  }

  static Asked asked(const Fact& f, const Event& ask) {
    return {ask.at_ns,
            ask.give_up_ns,
            ask.expiry_ms,
            ask.clock_margin_ms,
            ask.longest_pause_ms,
            ask.operation_timeout_ms,
            ask.max_holding_ms,
            ask.max_drift_ppm,
            f.process,
            f.name,
            ask.single_attempt,
            ask.healed};
  }

  /// The owner is likely that of the lockId; of a reply that of what it answers.
  void set_owners(Fact& f, const Event& e) {
    const Id likely = f.kind == Kind::reply ? sent_[f.command].owner
                                            : out_.owner_of_lock_id[f.lock_id];
    f.owner = owners_.of(e.owner, likely);
    if (e.giver.empty() && e.also_owner.empty()) return;
    f.other_owner = owners_.of(f.verb == Verb::hand_over ? e.giver.str() : e.also_owner.str());
  }

  Id command(Id process, std::int64_t number) {
    const Id id = commands_.of(process, number);
    if (id >= sent_.size()) sent_.resize(id + 1);
    return id;
  }
  /// The lockId that this session wrote last.
  Id& written(Id session) { return at(written_, session); }
  /// The lockId that was seen last in this lock's document.
  Id& standing(Id name) { return at(standing_, name); }
  static Id& at(std::vector<Id>& all, Id place) {
    if (place >= all.size()) all.resize(place + 1);
    return all[place];
  }

  Id lock_id(const std::string& text, Id likely = kNoText) {
    const Id id = lock_ids_.of(text, likely);
    if (id < out_.owner_of_lock_id.size()) return id;
    const std::string_view all = text;
    out_.owner_of_lock_id.push_back(owners_.of(all.substr(0, all.find('.'))));
    return id;
  }

  /// Processes, names and sessions get their numbers by their order.
  void sort() {
    out_.processes = processes_.all();
    out_.names = names_.all();
    const auto by_text = [](const auto& all) {
      return places(all.size(), [&](Id a, Id b) { return all[a] < all[b]; });
    };
    const auto process = by_text(out_.processes);
    const auto name = by_text(out_.names);
    permute(out_.processes, process);
    permute(out_.names, name);
    out_.sessions = sessions_.all();
    out_.commands = commands_.all();
    for (Numbered& one : out_.sessions) one.process = process[one.process];
    for (Numbered& one : out_.commands) one.process = process[one.process];
    const auto session = places(out_.sessions.size(), [this](Id a, Id b) {
      const Numbered &x = out_.sessions[a], &y = out_.sessions[b];
      return x.process != y.process ? x.process < y.process : x.number < y.number;
    });
    permute(out_.sessions, session);
    for (Fact& f : out_.all) {
      f.process = process[f.process];
      f.name = name[f.name];
      if (f.session < session.size()) f.session = session[f.session];
    }
    for (Asked& ask : out_.asks) {
      ask.process = process[ask.process];
      ask.name = name[ask.name];
    }
    out_.lock_ids = lock_ids_.all();
    out_.owners = owners_.all().size();
    out_.writes = writes_.all().size();
  }

  /// What a command was sent with, to guess by what comes later: a text is compared sooner than
  /// found.
  struct Sent {
    Id owner = kNoText, lock_id = kNoText, name = kNoText;
  };

  /// Of one that won its own, of others the one that stands there.
  Id seen_lock_id(const Event& reply, const Sent& sent) {
    const std::string& text = reply.seen_lock_id.str();
    if (reply.matched > 0) return lock_id(text, sent.lock_id);
    Id& likely = standing(sent.name);
    const Id id = lock_id(text, likely);
    if (id != kNoText) likely = id;
    return id;
  }

  Facts out_;
  std::vector<Sent> sent_;   ///< by command
  std::vector<Id> written_;   ///< by session
  std::vector<Id> standing_;  ///< by name
  Texts processes_, names_, owners_, lock_ids_;
  Numbers sessions_, commands_, writes_;
};

}  // namespace

Facts facts(const History& history) { return Interner().run(history); }

}  // namespace leasehold::model
