#include "properties/reference_checkers/questions.hpp"

#include <algorithm>

namespace leasehold::properties {
namespace {

bool is_change(const Event& e) { return e.kind == Kind::put || e.kind == Kind::gone; }

}  // namespace

const Event* Questions::reply_to(const Event& send) const {
  return first(Kind::reply, [&](const Event& e) {
    return e.command == send.command && e.process == send.process;
  });
}

const Event* Questions::sender(const Event& put) const {
  return first(Kind::send, [&](const Event& e) { return e.lock_id == put.lock_id; });
}

const Event* Questions::put_of(const Event& granted) const {
  return first(Kind::put, [&](const Event& e) { return e.lock_id == granted.lock_id; });
}

const Event* Questions::change_after(const Event& change, bool only_puts) const {
  const Event* next = nullptr;
  for (const Event& e : h_) {
    if (!is_change(e) || e.name != change.name || e.order <= change.order) continue;
    if (only_puts && e.kind != Kind::put) continue;
    if (next == nullptr || e.order < next->order) next = &e;
  }
  return next;
}

const Event* Questions::change_before(const Event& change) const {
  return change_by(change.name, change.order - 1);
}

const Event* Questions::change_by(const std::string& name, std::int64_t order) const {
  const Event* newest = nullptr;
  for (const Event& e : h_) {
    if (!is_change(e) || e.name != name || e.order > order) continue;
    if (newest == nullptr || e.order > newest->order) newest = &e;
  }
  return newest;
}

Events Questions::deletes_of(const std::string& owner) const {
  Events found = all(Kind::send);
  std::erase_if(found, [&](const Event* e) {
    return !model::leaves_lock(*e) || (e->owner != owner && e->also_owner.str() != owner);
  });
  return found;
}

Events Questions::hand_overs_of(const std::string& owner) const {
  Events found = all(Kind::send);
  std::erase_if(found, [&](const Event* e) {
    return e->verb != "hand-over" || e->giver.str() != owner;
  });
  return found;
}

const Event* Questions::claimed_by(const Event& change) const {
  return first(Kind::reply, [&](const Event& e) {
    return e.order == change.order && e.matched > 0 && model::leaves_lock(e) && done(&e) &&
           sent_for(e) == change.name;
  });
}

/// The lock that the command of this reply was sent for.
std::string Questions::sent_for(const Event& reply) const {
  const Event* send = first(Kind::send, [&](const Event& e) {
    return e.command == reply.command && e.process == reply.process;
  });
  return send == nullptr ? "" : send->name;
}

/// By a release of `owner` that its queue's first has to thank for it, or may have: unanswered.
bool Questions::passed_on(const std::string& owner, const Event& put) const {
  if (const Event* by = claimed_by(put)) return by->owner == owner || by->also_owner == owner;
  const Event* send = sender(put);
  const Event* attempt = send == nullptr ? nullptr : reply_to(*send);
  if (send == nullptr || (attempt != nullptr && attempt->matched > 0)) return false;
  const auto sent = deletes_of(owner);
  return std::any_of(sent.begin(), sent.end(), [&](const Event* one) {
    return one->verb == "pass-on" && one->at_ns <= put.at_ns && unanswered(reply_to(*one));
  });
}

bool Questions::gave_up(const std::string& owner, const Event* next) const {
  if (next == nullptr) return false;
  if (next->kind == Kind::put) {
    if (model::owner_of(next->lock_id) == owner) return false;  // it goes on
    if (passed_on(owner, *next)) return true;
    const Event* send = sender(*next);
    return send != nullptr && send->verb == "hand-over" && send->giver == owner;
  }
  for (const Event* one : deletes_of(owner)) {
    const Event* reply = reply_to(*one);
    const bool did = unanswered(reply) || (reply->matched > 0 && reply->order == next->order);
    if (one->at_ns <= next->at_ns && did) return true;
  }
  return false;
}

double Questions::executed_by(const Event& put) const {
  const Event* send = sender(put);
  const Event* reply = send == nullptr ? nullptr : reply_to(*send);
  const Event* by = claimed_by(put);
  if (by != nullptr) return std::min(at(&put), at(by));
  // One that was refused has not written this: a release has, after it.
  if (done(reply) && model::asks_for_lock(*send) && reply->matched == 0) return at(&put);
  return done(reply) ? std::min(at(&put), at(reply)) : at(&put);
}

double Questions::executed_from(const Event& put) const {
  const Event* send = sender(put);
  const double from = send == nullptr ? at(&put) : at(send);
  const Event* by = claimed_by(put);
  if (by == nullptr) return from;
  const Event* release = first(Kind::send, [&](const Event& e) {
    return e.command == by->command && e.process == by->process;
  });
  return std::max(from, at(release));
}

/// In each stretch between two of their sendings and replies. One that hangs unexplained does not
/// count; once as many as there are workers were not heard in a row, one is enough.
Delays Questions::congestions(const std::string& process) const {
  return once("busy " + process, [&] {
    const Event* start =
        first(Kind::start, [&](const Event& e) { return e.process == process; });
    const auto workers = start == nullptr ? 0 : static_cast<std::size_t>(start->workers);
    if (workers == 0) return Delays();
    struct Command {
      double from, to;
      bool heard;
    };
    std::vector<Command> commands;
    std::int64_t last = -1;
    for (const Event* e : all(Kind::send)) {
      if (e->process != process || e->verb == "stream" || e->verb == "index") continue;
      if (std::exchange(last, e->command) == e->command) continue;
      const Event* reply = reply_to(*e);
      const double last_word = std::min(at(&h_.back()), alive_until(process));
      const double to = reply == nullptr ? last_word : at(reply);
      if (!unanswered(reply) || explained(process, to)) {
        commands.push_back({at(e), to, !unanswered(reply)});
      }
    }
    std::vector<double> moments;
    for (const Command& one : commands) moments.insert(moments.end(), {one.from, one.to});
    std::sort(moments.begin(), moments.end());
    std::stable_sort(commands.begin(), commands.end(),
                     [](const Command& a, const Command& b) { return a.to < b.to; });
    Delays found;
    for (std::size_t i = 1; i < moments.size(); ++i) {
      std::size_t under_way = 0, unheard = 0;
      for (const Command& one : commands) {
        const bool over = one.to <= moments[i - 1];
        under_way += !over && one.from <= moments[i - 1] ? 1 : 0;
        if (over) unheard = one.heard ? 0 : unheard + 1;
      }
      const bool taken = under_way >= (unheard < workers ? workers : 1);
      if (taken) found.push_back({moments[i - 1], moments[i]});
    }
    return found;
  });
}

std::vector<Stay> Questions::stays() const {
  std::vector<Stay> found;
  for (const Event& put : h_) {
    if (put.kind != Kind::put) continue;
    Stay s{&put, sender(put), nullptr, change_after(put), model::owner_of(put.lock_id)};
    if (s.send != nullptr) s.ask = of(*s.send, Kind::ask);
    const bool stays_on = s.next != nullptr && s.next->kind == Kind::put &&
                          model::owner_of(s.next->lock_id) == s.owner;
    if (s.ask != nullptr && !stays_on) found.push_back(s);
  }
  return found;
}

}  // namespace leasehold::properties
