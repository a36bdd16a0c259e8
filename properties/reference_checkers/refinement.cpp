#include <algorithm>
#include <set>

#include "properties/reference_checkers/questions.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"

/// "Every step is one that the abstract lock can take": is there a time for each version of each
/// document, so that every event fits? No sets of states: times are looked for, and where an event
/// leaves a choice, each is tried. Times are places in the history.
namespace leasehold::properties {
namespace {

/// When each version was written, as far as events say: version v is at [v].
struct Times {
  std::vector<int> after, until;
  int known(int place) const {  ///< the newest that was certainly written before this place
    int v = static_cast<int>(until.size()) - 1;
    while (v > 0 && until[static_cast<std::size_t>(v)] >= place) --v;
    return v;
  }
};

/// The lock of one name.
class Search {
 public:
  Search(const Questions& q, const model::History& h, std::string name)
      : q_(q), h_(h), name_(std::move(name)), places_(int(h.size())) {
    line_ = q.all([&](const Event& e) {
      return e.name == name_ && (e.kind == Kind::put || e.kind == Kind::gone);
    });
    std::stable_sort(line_.begin(), line_.end(),
                     [](const Event* a, const Event* b) { return a->order < b->order; });
  }

  [[nodiscard]] bool finds() const {
    return from(0, {std::vector<int>(line_.size() + 2, -1),
                    std::vector<int>(line_.size() + 1, places_)});
  }

 private:
  int place(const Event* e) const { return e == nullptr ? places_ : int(e - h_.data()); }
  int versions() const { return int(line_.size()); }
  const Event& version(int v) const { return *line_[static_cast<std::size_t>(v - 1)]; }
  std::string holder(int v) const {
    return v == 0 || version(v).kind == Kind::gone ? "" : model::owner_of(version(v).lock_id);
  }
  int with(const std::string& lock_id) const {
    int v = 1;
    while (v <= versions() && (version(v).kind == Kind::gone || version(v).lock_id != lock_id)) ++v;
    return v <= versions() ? v : 0;
  }

  // What an event says of the versions. Each goes on with what comes after it.

  bool from(int i, const Times& t) const {
    if (i == places_) return possible(1, 0, t, {});
    const Event& e = h_[static_cast<std::size_t>(i)];
    if (e.kind == Kind::reply) return reply(i, e, t);
    if (e.name != name_) return from(i + 1, t);
    switch (e.kind) {
      case Kind::put:
      case Kind::gone: {
        const auto found = std::find(line_.begin(), line_.end(), &e);
        return written(i, int(found - line_.begin()) + 1, t);
      }
      case Kind::granted:
      case Kind::extended: return written(i, with(e.lock_id), t);
      case Kind::lost: return lost(i, e, t);
      case Kind::released: return released(i, e, t);
      default: return from(i + 1, t);
    }
  }
  bool written(int i, int v, Times t) const {
    if (v == 0) return false;
    for (int w = 1; w <= v; ++w) {
      int& until = t.until[static_cast<std::size_t>(w)];
      until = std::min(until, i);
    }
    return from(i + 1, t);
  }
  /// Between the two places this version stood there.
  bool stood(int sent, int i, int v, Times t) const {
    if (t.known(sent) > v) return false;
    int& next = t.after[static_cast<std::size_t>(v) + 1];
    next = std::max(next, sent);
    return v == 0 ? from(i + 1, t) : written(i, v, t);
  }
  template <typename Wanted>
  bool some_stood(int sent, int i, const Times& t, const Wanted& wanted) const {
    for (int v = 0; v <= versions(); ++v) {
      if (wanted(holder(v)) && stood(sent, i, v, t)) return true;
    }
    return false;
  }
  bool reply(int i, const Event& e, const Times& t) const {
    const Event* send = q_.first([&](const Event& s) {
      return s.kind == Kind::send && s.process == e.process && s.command == e.command;
    });
    const bool tells = send != nullptr && send->name == name_ && done(&e) && send->verb != "extend";
    if (!tells) return from(i + 1, t);
    const bool leaves = model::leaves_lock(*send);
    if (e.matched > 0) return leaves ? removed(i, e, *send, t) : written(i, with(send->lock_id), t);
    const int sent = place(send), known = t.known(sent);
    if (known > 0 && e.order < version(known).order && is_disturbed(version(known), e)) {
      return from(i + 1, t);  // of an old primary
    }
    const auto nobody = [](const std::string& holder) { return holder.empty(); };
    const bool passes_on = send->verb == "pass-on";
    const std::string& shown = e.seen_lock_id.str();
    if (!shown.empty()) {
      const int v = with(shown);
      if (v != 0 && stood(sent, i, v, t)) return true;
      if (passes_on) return some_stood(sent, i, t, nobody);
      Event seen;
      seen.lock_id = shown;
      return v == 0 && q_.sender(seen) == nullptr && from(i + 1, t);
    }
    if (!passes_on && send->verb != "hand-over") return from(i + 1, t);
    const std::set<std::string> its{send->owner, send->giver.str(), send->also_owner.str()};
    return some_stood(sent, i, t, [&](const std::string& holder) {
      return holder.empty() || !its.contains(holder);
    });
  }
  bool is_disturbed(const Event& known, const Event& answer) const {
    const double since = at(&known) - q_.lag();
    return q_.disturbed(since, at(&answer)) || q_.stalled(since, at(&answer));
  }
  bool removed(int i, const Event& e, const Event& send, const Times& t) const {
    for (int v = 1; v <= versions(); ++v) {
      if (q_.claimed_by(version(v)) == &e) return written(i, v, t);
    }
    for (int v = t.known(place(&send)) + 1; v <= versions(); ++v) {
      const auto before = holder(v - 1);
      const bool own = !before.empty() && (before == send.owner || before == send.also_owner.str());
      if (own && holder(v) != before && written(i, v, t)) return true;
    }
    return send.verb == "pass-on" && some_stood(place(&send), i, t, [](const std::string& holder) {
             return holder.empty();
           });
  }
  bool lost(int i, const Event& e, const Times& t) const {
    const Event* grant = q_.of(e, Kind::granted);
    const Event* sent = nullptr;
    for (const Event* one : q_.all(Kind::send)) {
      if (one->verb == "extend" && same_session(*one, e) && place(one) < i) sent = one;
    }
    if (e.outcome != "not_owner" || grant == nullptr || sent == nullptr) return from(i + 1, t);
    return some_stood(place(sent), i, t,
                      [&](const std::string& holder) { return holder != grant->owner; });
  }
  bool released(int i, const Event& e, const Times& t) const {
    const Event* grant = q_.of(e, Kind::granted);
    if (grant == nullptr || e.outcome == "unknown") return from(i + 1, t);
    Events commands = q_.deletes_of(grant->owner);
    const Events given = q_.hand_overs_of(grant->owner);
    commands.insert(commands.end(), given.begin(), given.end());
    for (const Event* one : commands) {
      const Event* answer = q_.reply_to(*one);
      if (!done(answer) || (answer->matched > 0) != (e.outcome == "released")) continue;
      if (answer->matched > 0) return from(i + 1, t);
      return some_stood(place(one), i, t,
                        [&](const std::string& holder) { return holder != grant->owner; });
    }
    return false;
  }

  // A time for version v and all that follow, the last before it at `now`.

  bool possible(int v, int now, const Times& t, const std::set<const Event*>& spent) const {
    if (v > versions()) return true;
    const auto goes_on = [&](int earliest, const Event* removal) {
      const int when =
          std::max({earliest, now, t.after[static_cast<std::size_t>(v)] + 1});
      if (when > t.until[static_cast<std::size_t>(v)] || when >= places_) return false;
      auto more = spent;
      if (removal != nullptr) more.insert(removal);
      return possible(v + 1, when, t, more);
    };
    if (goes_on(by_itself(v), nullptr)) return true;
    for (const Event* removal : removals(v)) {
      const bool claimed = q_.claimed_by(version(v)) != nullptr;
      if (spent.contains(removal)) continue;
      const int asked = version(v).kind == Kind::put ? place(q_.sender(version(v))) : 0;
      if (goes_on(std::max(place(removal), asked) + 1, claimed ? nullptr : removal)) return true;
    }
    return false;
  }

  int lease_over(const Event& put) const {
    const Event* send = q_.sender(put);
    const Event* ask = send == nullptr ? nullptr : q_.of(*send, Kind::ask);
    if (ask == nullptr) return 0;
    const double over = at(send) + whole_lease(*ask);
    return place(q_.first([&](const Event& e) { return at(&e) >= over; }));
  }
  /// From when on this version needs no removal; never: the end of the history.
  int by_itself(int v) const {
    const Event& change = version(v);
    const auto before = holder(v - 1);
    if (change.kind == Kind::gone) return goes_by_itself(v, before);
    const Event* send = q_.sender(change);
    if (send == nullptr) return 0;
    const Event* answer = q_.reply_to(*send);
    const bool not_executed =
        answer != nullptr && (answer->outcome == "failed_before" ||
                              answer->outcome == "duplicate_key" ||
                              (answer->outcome == "done" && answer->matched == 0));
    if (with(change.lock_id) != v || not_executed) return places_;
    const int sent = place(send) + 1;
    const auto owner = model::owner_of(change.lock_id);
    if (before == owner) return sent;
    if (send->verb == "extend") return places_;
    const bool hands_over = send->verb == "hand-over";
    if (hands_over && (before.empty() || before != send->giver.str())) return places_;
    if (hands_over || before.empty()) return sent;
    const Event& found = version(v - 1);
    const bool dated = found.expires_at_ms != 0 && change.acquired_at_ms != 0;
    const bool expired = !dated || found.expires_at_ms <= change.acquired_at_ms;
    const bool observed = send->observed_lock_id.str() == found.lock_id;
    return expired || observed ? std::max(sent, lease_over(found)) : places_;
  }
  int goes_by_itself(int v, const std::string& before) const {
    if (before.empty()) return 0;
    if (q_.claimed_by(version(v)) != nullptr) return places_;
    const bool clocks = q_.first([](const Event& e) {
      return e.kind == Kind::fault && e.fault.str().starts_with("clock");
    }) != nullptr;
    return clocks ? 0 : lease_over(version(v - 1));
  }
  /// Those that can have been the cause of this version.
  Events removals(int v) const {
    const Event& change = version(v);
    const Event* send = q_.sender(change);
    const bool put = change.kind == Kind::put;
    if (put && (send == nullptr || send->verb != "acquire" || with(change.lock_id) != v)) return {};
    if (put && !stands_in_queue(change)) return {};
    const auto before = holder(v - 1);
    const Event* claim = q_.claimed_by(change);
    Events found;
    Events sent;
    for (const auto& giver : before.empty() ? offered(change, claim) : std::set{before}) {
      const Events its = q_.deletes_of(giver);
      sent.insert(sent.end(), its.begin(), its.end());
    }
    for (const Event* one : sent) {
      if (put && one->verb != "pass-on") continue;
      const Event* answer = q_.reply_to(*one);
      const bool repeated = done(answer) && answer->matched > 0 && answer->order > change.order &&
                            !claims_any(*answer);
      if (claim != nullptr ? answer == claim : unanswered(answer) || repeated) found.push_back(one);
    }
    return found;
  }
  bool claims_any(const Event& answer) const {
    return q_.first([&](const Event& e) {
      return (e.kind == Kind::put || e.kind == Kind::gone) && q_.claimed_by(e) == &answer;
    }) != nullptr;
  }
  /// The entries that stand there just before this time, in their order.
  std::vector<std::string> queue_before(std::int64_t order) const {
    Events joins = q_.all([&](const Event& e) {
      return e.kind == Kind::place && e.name == name_ && e.order < order;
    });
    std::stable_sort(joins.begin(), joins.end(),
                     [](const Event* a, const Event* b) { return a->order < b->order; });
    std::vector<std::string> queue;
    for (const Event* one : joins) {
      std::erase(queue, model::owner_of(one->lock_id));
      const auto last = static_cast<std::int64_t>(queue.size());
      if (one->count == 0) continue;
      queue.insert(queue.begin() + std::min(one->count - 1, last), model::owner_of(one->lock_id));
    }
    return queue;
  }
  bool stands_in_queue(const Event& change) const {
    const bool shown = q_.first([&](const Event& e) {
      return e.kind == Kind::place && e.name == name_;
    }) != nullptr;
    const auto queue = queue_before(change.order);
    return !shown || std::count(queue.begin(), queue.end(), model::owner_of(change.lock_id)) > 0;
  }
  /// The owners that may have been offered the free lock before this write: that stood first since.
  std::set<std::string> offered(const Event& change, const Event* claim) const {
    if (claim != nullptr) return {claim->owner};
    const Event* freed = q_.change_before(change);
    std::set<std::string> first;
    if (freed == nullptr) return first;
    for (const Event* e : q_.all(Kind::place)) {
      const auto then = std::max(e->order, freed->order) + 1;
      const auto queue = queue_before(std::min(then, change.order));
      if (!queue.empty()) first.insert(queue.front());
    }
    return first;
  }

  const Questions& q_;
  const model::History& h_;
  std::string name_;
  Events line_;
  int places_;
};

/// What needs no times.
bool client_errs(const Questions& q, const Event& e) {
  const auto earlier = [&](const auto& wanted) {
    return q.first([&](const Event& s) { return s.kind == Kind::send && &s < &e && wanted(s); }) !=
           nullptr;
  };
  const auto left = [&](const std::string& owner) {
    return earlier([&](const Event& s) {
      if (s.verb == "hand-over") return s.giver.str() == owner;
      return model::leaves_lock(s) && (s.owner == owner || s.also_owner.str() == owner);
    });
  };
  if (e.kind == Kind::send && !e.name.empty() && !model::leaves_lock(e)) {
    return left(e.owner) || earlier([&](const Event& s) { return s.lock_id == e.lock_id; });
  }
  if (e.kind == Kind::extended || (e.kind == Kind::granted && e.verb != "pass-on")) {
    const Event* send = q.sender(e);
    const Event* answer = send == nullptr ? nullptr : q.reply_to(*send);
    if (!done(answer) || answer->matched == 0) return true;
  }
  if (e.kind != Kind::granted) return false;
  const Event* put = q.put_of(e);
  return left(e.owner) || (put != nullptr && put->order != e.token);
}

}  // namespace

bool slow_refinement(const model::History& h) {
  const Questions q(h);
  std::set<std::string> names;
  for (const Event& e : h) {
    if (client_errs(q, e)) return false;
    if (!e.name.empty()) names.insert(e.name);
  }
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return Search(q, h, name).finds(); });
}

}  // namespace leasehold::properties
