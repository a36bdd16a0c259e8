#include "model/history/facts.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/containers/texts.hpp"

namespace leasehold::model {

/// Gives each number of each process an id, by its first appearance.
class Numbers {
 public:
  Id of(Id process, std::int64_t number) {
    if (process >= ids_.size()) ids_.resize(process + 1);
    const auto [known, is_new] = ids_[process].try_emplace(number, static_cast<Id>(all_.size()));
    if (is_new) all_.push_back({process, number});
    return known->second;
  }
  [[nodiscard]] const std::vector<Numbered>& all() const { return all_; }

 private:
  std::vector<std::unordered_map<std::int64_t, Id>> ids_;  ///< by process
  std::vector<Numbered> all_;
};

namespace {

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
  if (outcome == "granted") return Outcome::granted;
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

}  // namespace

/// One history.
class Numbering::Run {
 public:
  explicit Run(std::size_t events) { out_.all.reserve(events); }
  void add(const Event& e) { out_.all.push_back(fact(e)); }
  Facts finish() {
    sort();
    out_.texts = memory_;
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
    const bool of_none = is_users_call(e.kind) && e.session == 0;
    if (!of_none && about(e.kind).fields.contains(field(&Event::session))) {
      f.session = sessions_.of(f.process, e.session);
    }
    switch (e.kind) {
      case Kind::ask:
      case Kind::permit:
      case Kind::all:
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
      case Kind::fault: f.lock_id = lock_id(e.lock_id); break;
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
            ask.holdings_in_a_row,
            ask.max_drift_ppm,
            f.process,
            f.name,
            ask.single_attempt,
            ask.healed};
  }

  /// The likely owner is that of the lockId; for a reply, that of its command.
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

  /// What a command was sent with, to guess the texts of later events: comparing is faster than
  /// searching.
  struct Sent {
    Id owner = kNoText, lock_id = kNoText, name = kNoText;
  };

  /// The lockId of a reply: its own if it won, else the one in the document.
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
  std::shared_ptr<TextMemory> memory_ = std::make_shared<TextMemory>();
  Texts processes_{*memory_}, names_{*memory_}, owners_{*memory_}, lock_ids_{*memory_};
  Numbers sessions_, commands_, writes_;
};

Numbering::Numbering(std::size_t events) : run_(std::make_unique<Run>(events)) {}
Numbering::~Numbering() = default;
void Numbering::add(const Event& event) { run_->add(event); }
Facts Numbering::finish() { return run_->finish(); }

Facts facts(const History& history) {
  Numbering numbering(history.size());
  for (const Event& e : history) numbering.add(e);
  return numbering.finish();
}

}  // namespace leasehold::model
