#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "model/workers/worker_judge.hpp"

/// For tests of the checkers of third-party locks.
namespace leasehold::model {

/// The promises of a lock that makes all of them.
inline Promises everything() {
  Promises p;
  p.tokens = Promises::Tokens::rising;
  p.tells_loss = true;
  p.polls_within_ms = 100;
  return p;
}

/// What workers said, in ms. Leases last 1,000 ms, no process is late.
class Told {
 public:
  explicit Told(std::initializer_list<const char*> processes = {"a", "b", "c"}) {
    Event run = at(0, Kind::run, "");
    run.ttl_period_ms = 1'000;
    run.truth_lag_ns = 1;
    add(run);
    for (const char* process : processes) add(at(0, Kind::start, process));
  }
  Told& ask(int when, const char* process, int session, int timeout = 10'000) {
    Event e = at(when, Kind::ask, process, session);
    e.single_attempt = timeout == 0;
    e.give_up_ns = timeout == 0 ? 0 : (when + timeout) * kMs;
    e.expiry_ms = 1'000;
    e.clock_margin_ms = apart_ms_;
    return add(e);
  }
  /// By how much faults put the members' clocks apart, as the calls from here on say.
  Told& apart(int clocks_ms) {
    apart_ms_ = clocks_ms;
    return *this;
  }
  Told& granted(int when, const char* process, int session, int token, int relies_until = 0) {
    Event e = at(when, Kind::granted, process, session);
    e.token = token;
    e.deadline_ns = relies_until * kMs;
    return add(e);
  }
  Told& got(int asked, int granted_at, const char* process, int session, int token) {
    return ask(asked, process, session).granted(granted_at, process, session, token);
  }
  Told& ended(int when, const char* process, int session, const char* outcome) {
    Event e = at(when, Kind::ended, process, session);
    e.outcome = outcome;
    return add(e);
  }
  Told& yes(int first, int last, const char* process, int session) {
    Event e = at(last, Kind::held, process, session);
    e.outcome = "yes";
    e.count = 2;
    e.first_answered_ns = first * kMs;
    e.last_asked_ns = last * kMs;
    return add(e);
  }
  Told& no(int asked, const char* process, int session) {
    Event e = at(asked, Kind::held, process, session);
    e.outcome = "no";
    e.count = 1;
    e.first_asked_ns = asked * kMs;
    e.first_answered_ns = asked * kMs;
    return add(e);
  }
  /// Reported at `said` at the earliest.
  Told& lost(int said, int heard, const char* process, int session) {
    Event e = at(heard, Kind::notified, process, session);
    e.sent_ns = said * kMs;
    return add(e);
  }
  Told& released(int asked, int answered, const char* process, int session,
                 const char* outcome = "released") {
    add(at(asked, Kind::release, process, session));
    Event e = at(answered, Kind::released, process, session);
    e.outcome = outcome;
    return add(e);
  }
  Told& wrote(int sent, int answered, const char* process, int session, int number, int token,
              const char* outcome) {
    Event e = at(answered, Kind::write, process, session);
    e.sent_ns = sent * kMs;
    e.write_number = number;
    e.token = token;
    e.outcome = outcome;
    return add(e);
  }
  Told& stored(int when, const char* process, int number, int order) {
    Event e = at(when, Kind::stored, process);
    e.write_number = number;
    e.order = order;
    return add(e);
  }
  /// A document's write, made from `from` to `when`, on a date in ms: `when`, or `date`.
  Told& put(int from, int when, const char* owner, int expires = 0, int date = 0) {
    Event e = document(from, when, Kind::put, owner, date);
    e.expires_at_ms = expires;
    return add(e);
  }
  Told& gone(int from, int when, const char* owner = "", int date = 0) {
    return add(document(from, when, Kind::gone, owner, date));
  }
  Told& unread(int when) {
    Event e = at(when, Kind::reread, "");
    e.outcome = "unread";
    return add(e);
  }
  Told& of(Kind kind, int when, const char* process) { return add(at(when, kind, process)); }
  Told& stall(int from, int to) {
    Event e = at(to, Kind::stall, "");
    e.victim = kMachine;
    e.from_ns = from * kMs;
    return add(e);
  }
  Told& fault(int when, const char* what) {
    Event e = at(when, Kind::fault, "");
    e.fault = what;
    return add(e);
  }
  /// One that lasts, of the links of this process.
  Told& cut(int from, int to, const char* process) {
    for (const int when : {from, to}) {
      Event e = at(when, Kind::fault, "");
      e.fault = "cut-link";
      e.victim = process;
      e.begins = when == from;
      e.ends = when == to;
      add(e);
    }
    return *this;
  }
  [[nodiscard]] History end(int when) const {
    History all = events_;
    Event heal = all.front(), finish = all.front();
    heal.kind = Kind::heal;
    finish.kind = Kind::finish;
    heal.at_ns = finish.at_ns = when * kMs;
    all.push_back(as_kind(Kind::heal, heal));
    all.push_back(as_kind(Kind::finish, finish));
    sort_by_time(all);
    return all;
  }

 private:
  static Event at(int when, Kind kind, const std::string& process, int session = 0) {
    Event e;
    e.at_ns = when * kMs;
    e.kind = kind;
    e.process = process;
    e.session = session;
    if (session != 0 || kind == Kind::stored) e.name = "x";
    return e;
  }
  Event document(int from, int when, Kind kind, const char* owner, int date) {
    Event e = at(when, kind, "");
    e.name = "x";
    e.owner = owner;
    e.from_ns = from * kMs;
    e.wall_ms = date == 0 ? when : date;
    e.order = ++order_;
    return e;
  }
  Told& add(Event e) {
    events_.push_back(std::move(e));
    return *this;
  }

  History events_;
  std::int64_t order_ = 0;
  std::int64_t apart_ms_ = 0;
};

}  // namespace leasehold::model
