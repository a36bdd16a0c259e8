#include <algorithm>
#include <map>
#include <set>

#include "properties/reference_checkers/questions.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"

/// G9: "an acquire without contention takes one command, a release one; the driver sends no other."
namespace leasehold::properties {
namespace {

/// Of a handle that was got with one attempt, of which it is known what it did: nothing may be left
/// behind.
bool release_costs_more(const Questions& q, const Event& granted) {
  const Event* released = q.of(granted, Kind::released);
  if (released == nullptr || released->outcome == "unknown") return false;
  if (q.gives_away(granted.owner)) return false;
  const Event* lost = q.of(granted, Kind::lost);
  if (lost != nullptr && lost->outcome == "max_holding") return false;
  const auto deletes = q.deletes_of(granted.owner);
  if (deletes.empty()) return true;
  // The first of two found waiting calls, and the second passes the lock on to one.
  const Event* first = q.reply_to(*deletes.front());
  const bool two = deletes.size() > 1 && deletes[0]->verb == "delete" &&
                   deletes[1]->verb == "pass-on" && done(first) && first->matched == 0;
  const std::size_t most = two ? 2 : 1;
  // An old primary, which does not know of the grant, has not answered.
  const Event* answer = deletes.size() < most ? nullptr : q.reply_to(*deletes[most - 1]);
  const bool answered = done(answer) && answer->order >= granted.token;
  const auto attempts = q.attempts(granted);
  const Event* told = attempts.size() == 1 ? q.reply_to(*attempts.front()) : nullptr;
  const bool known = told != nullptr && told->outcome != "unknown";
  return known && deletes.size() > most && answered;
}

/// Whether the lock was free all the time that it was asked for, and nothing disturbed that.
bool uncontended(const Questions& q, const Event& ask, const Event& granted) {
  const Event* put = q.put_of(granted);
  if (put == nullptr) return false;
  const Event* before = q.change_before(*put);
  const bool was_free =
      before == nullptr || (before->kind == Kind::gone && before->at_ns < ask.at_ns);
  return was_free && !meets(together({q.of_servers(granted.process), q.disturbances(),
                                      q.link_faults(granted.process)}),
                            at(&ask), at(&granted));
}

bool acquire_costs_more(const Questions& q, const Event& granted) {
  const Event* ask = q.of(granted, Kind::ask);
  if (ask == nullptr || !uncontended(q, *ask, granted)) return false;
  const auto attempts = q.attempts(granted);
  for (const Event* one : attempts) {
    if (!done(q.reply_to(*one))) return false;
  }
  const double from = at(ask), to = at(&granted);
  const Event* look = q.first([&](const Event& e) {
    return e.kind == Kind::send && e.verb == "look" && e.process == granted.process &&
           at(&e) >= from && at(&e) < to;
  });
  const Event* other = q.first([&](const Event& e) {  // that it may have looked for
    if (e.kind != Kind::ask || e.process != granted.process || e.session == granted.session) {
      return false;
    }
    const double over = std::min(at(q.of(e, Kind::ended)), at(q.of(e, Kind::released))) + q.late();
    return at(&e) < to && from < over;
  });
  return attempts.size() != 1 || (look != nullptr && other == nullptr);
}

/// A call that was only ever refused has nothing to delete.
int needless_deletes(const Questions& q) {
  std::set<std::string> owners, spared;
  for (const Event* granted : q.all(Kind::granted)) spared.insert(granted->owner);
  for (const Event* e : q.all(Kind::send)) {
    if (e->verb == "hand-over") spared.insert(e->owner);
    if (e->verb != "acquire") continue;
    owners.insert(e->owner);
    const Event* reply = q.reply_to(*e);
    const bool another = done(reply) && !reply->seen_lock_id.empty() &&
                         model::owner_of(reply->seen_lock_id) != e->owner;
    const bool exists = reply != nullptr && reply->outcome == "duplicate_key";
    if (!another && !exists) spared.insert(e->owner);
  }
  int found = 0;
  for (const auto& owner : owners) {
    const auto sent = q.deletes_of(owner);
    const bool deletes = std::any_of(sent.begin(), sent.end(),
                                     [](const Event* one) { return one->verb == "delete"; });
    found += !spared.contains(owner) && deletes ? 1 : 0;
  }
  return found;
}

/// A call for a permit looks at first, once more if it lost a slot that it saw free, and then
/// twice a second at most.
std::int64_t most_looks_of_calls(const Questions& q, const std::string& process) {
  std::int64_t looks = 0;
  for (const Event* call : q.all(Kind::permit)) {
    if (call->process != process) continue;
    const Event* end = q.first([&](const Event& e) {
      return e.kind == Kind::permit_end && e.process == process && e.call == call->call;
    });
    const double waited = std::min(at(end), q.finish()) - at(call);
    looks += 2 + static_cast<std::int64_t>(waited / (450 * kMs));
  }
  return looks;
}

/// What went over the wire, and the core did not ask for.
int unasked_for(const Questions& q) {
  const std::map<std::string, std::set<std::string>> asked_by{
      {"findAndModify", {"acquire", "hand-over", "pass-on"}},
      {"update", {"extend"}},
      {"delete", {"delete"}},
      {"find", {"look"}}};
  int found = 0;
  for (const Event* start : q.all(Kind::start)) {
    for (const auto& [name, kinds] : asked_by) {
      std::int64_t went = 0;
      for (const Event* e : q.all(Kind::wire)) {
        if (e->process == start->process && e->verb == name) went += e->count;
      }
      std::set<std::int64_t> asked;
      for (const Event* e : q.all(Kind::send)) {
        if (e->process == start->process && kinds.contains(e->verb)) asked.insert(e->command);
      }
      const auto looks = name == "find" ? most_looks_of_calls(q, start->process) : 0;
      found += went > static_cast<std::int64_t>(asked.size()) + looks ? 1 : 0;
    }
  }
  return found;
}

}  // namespace

int slow_cost(const Questions& q) {
  int found = needless_deletes(q) + unasked_for(q);
  for (const Event* granted : q.all(Kind::granted)) {
    found += release_costs_more(q, *granted) ? 1 : 0;
    found += acquire_costs_more(q, *granted) ? 1 : 0;
  }
  return found;
}

}  // namespace leasehold::properties
