#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "model/history/digest.hpp"
#include "model/history/history.hpp"

namespace leasehold::model {
namespace {

constexpr std::array<std::string_view, kVerbs> kVerbNames{
    "", "acquire", "extend", "hand-over", "pass-on", "look", "delete", "stream", "index"};
constexpr std::array<std::string_view, static_cast<std::size_t>(Outcome::other) + 1> kOutcomeNames{
    "",        "done",     "unknown",   "failed_before", "duplicate_key", "yes",       "no",
    "accepted", "refused", "released", "not_owner",     "deadline",      "max_holding", "timed_out",
    "granted"};

/// The last value is for what has no name.
template <typename Enum, std::size_t count>
Enum named(const std::array<std::string_view, count>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end() - 1, name);
  return static_cast<Enum>(found - names.begin());
}

struct Hash {
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
  std::size_t operator()(const Numbered& one) const {
    constexpr std::size_t kSpread = 0x9e37'79b9'7f4a'7c15;
    return (static_cast<std::size_t>(one.number) * kSpread) ^ one.process;
  }
};

/// Gives texts or numbers ids, by their first appearance.
template <typename Key>
class Ids {
 public:
  Id of(const Key& key) {
    const auto [known, is_new] = ids_.try_emplace(key, static_cast<Id>(all.size()));
    if (is_new) all.push_back(key);
    return known->second;
  }

  /// Puts all in their order. Returns their places in it, by id.
  std::vector<Id> sort() {
    std::vector<Id> order(all.size()), places(all.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [this](Id a, Id b) { return all[a] < all[b]; });
    const auto unsorted = std::exchange(all, {});
    for (const Id id : order) {
      places[id] = static_cast<Id>(all.size());
      all.push_back(unsorted[id]);
    }
    return places;
  }

  std::vector<Key> all;

 private:
  std::unordered_map<Key, Id, Hash> ids_;
};

using Texts = Ids<std::string_view>;

/// What the lockId of several readers begins with: the owner that nobody is.
constexpr std::string_view kReadersOwner = "00000000000000000000000000000000.";

/// Cuts off what precedes this mark, and the mark.
std::string_view cut(std::string_view& rest, char mark) {
  const auto part = rest.substr(0, rest.find(mark));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

std::int64_t to_number(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

class Numbering {
 public:
  Numbering() {
    for (Texts* texts : {&processes_, &names_, &owners_, &lock_ids_}) texts->of("");
  }

  Facts number(const History& history) {
    out_.all.reserve(history.size());
    for (const Event& e : history) out_.all.push_back(fact(e));
    sort();
    out_.processes = std::move(processes_.all);
    out_.names = std::move(names_.all);
    out_.lock_ids = std::move(lock_ids_.all);
    out_.owners = owners_.all.size();
    out_.sessions = std::move(sessions_.all);
    out_.commands = std::move(commands_.all);
    out_.writes = writes_.all.size();
    return std::move(out_);
  }

 private:
  Fact fact(const Event& e) {
    Fact f{.event = &e, .at_ns = e.at_ns, .kind = e.kind};
    f.verb = named<Verb>(kVerbNames, e.verb);
    f.outcome = named<Outcome>(kOutcomeNames, e.outcome);
    f.process = processes_.of(e.process);
    f.name = names_.of(e.name);
    const bool of_none = is_users_call(e.kind) && e.session == 0;
    if (!of_none && about(e.kind).fields.contains(Field::session)) {
      f.session = sessions_.of({f.process, e.session});
    }
    f.lock_id = lock_id(e.kind == Kind::reply ? e.seen_lock_id : e.lock_id);
    f.observed = lock_id(e.observed_lock_id);
    const bool stands = e.kind == Kind::put || e.kind == Kind::gone || e.kind == Kind::place;
    const bool is_ours = stands && f.lock_id != kNoText;
    f.owner = is_ours ? out_.owner_of_lock_id[f.lock_id] : owners_.of(e.owner);
    f.other_owner = owners_.of(f.verb == Verb::hand_over ? e.giver : e.also_owner);
    if (e.kind == Kind::send || e.kind == Kind::reply) {
      f.command = commands_.of({f.process, e.command});
    } else if (e.kind == Kind::write || e.kind == Kind::stored) {
      f.command = writes_.of({f.process, e.write_number});
    }
    return f;
  }

  Id lock_id(std::string_view text) {
    const Id id = lock_ids_.of(text);
    if (id == out_.owner_of_lock_id.size()) {
      out_.owner_of_lock_id.push_back(owners_.of(text.substr(0, text.find('.'))));
      out_.readers.emplace_back();
      if (text.starts_with(kReadersOwner)) out_.readers[id] = readers_in(text);
    }
    return id;
  }

  /// `<32 zeros>.<longest lease>.0.shared|<until>.<since>.<lockId>|...`
  std::vector<ReaderEntry> readers_in(std::string_view text) {
    std::vector<ReaderEntry> readers;
    while (cut(text, '|'), !text.empty()) {
      auto entry = text.substr(0, text.find('|'));
      const auto until = to_number(cut(entry, '.'));
      const auto since = cut(entry, '.');
      const auto digits = std::min<std::size_t>(13, since.size());  // of the date; a slot follows
      const Id id = lock_id(entry);
      readers.push_back({out_.owner_of_lock_id[id], id, until, to_number(since.substr(0, digits)),
                         to_number(since.substr(digits))});
    }
    return readers;
  }

  /// Processes, names and sessions get their numbers by their order.
  void sort() {
    const auto processes = processes_.sort(), names = names_.sort();
    for (auto* all : {&sessions_.all, &commands_.all}) {
      for (Numbered& one : *all) one.process = processes[one.process];
    }
    const auto sessions = sessions_.sort();
    for (Fact& f : out_.all) {
      f.process = processes[f.process];
      f.name = names[f.name];
      if (f.session < sessions.size()) f.session = sessions[f.session];
    }
  }

  Facts out_;
  Texts processes_, names_, owners_, lock_ids_;
  Ids<Numbered> sessions_, commands_, writes_;
};

}  // namespace

Facts facts(const History& history) { return Numbering().number(history); }

}  // namespace leasehold::model
