#include "properties/reference_checkers/histories/generated_histories.hpp"

#include <algorithm>
#include <string_view>


namespace leasehold::properties {

using model::Event;
using model::HistoryBuilder;
using model::Kind;

namespace {

/// By its name, so that each guarantee has histories of its own.
Draws draws_for(model::Check check, std::uint32_t seed) {
  const std::string_view name = to_string(check);
  std::vector<std::uint32_t> numbers(name.begin(), name.end());
  numbers.push_back(seed);
  std::seed_seq all(numbers.begin(), numbers.end());
  return Draws(all);
}

/// The one worker of a process is taken for a while.
void congest(model::History& h, Draws& draw) {
  if (!draw.one_in(4)) return;
  const int from_ms = draw.from(5, 6'000), to_ms = from_ms + draw.from(1, 3'000);
  const std::string process = draw.any_of({"a", "b"});
  for (Event& e : h) {
    if (e.kind == Kind::start && e.process == process) e.workers = draw.from(1, 2);
  }
  Event e;
  e.process = process;
  e.command = 1'000;
  e.verb = "look";
  for (const bool begins : {true, false}) {
    e.kind = begins ? Kind::send : Kind::reply;
    e.at_ns = (begins ? from_ms : to_ms) * model::kMs;
    if (!begins) e.outcome = draw.any_of({"done", "unknown"});
    h.push_back(e);
  }
  model::sort_by_time(h);
}

/// What users called, and what came back. Functions of users may keep the thread that calls
/// back.
void call_all(model::History& h, Draws& draw) {
  std::int64_t calls = 0;
  model::History users;
  const auto call = [&](const Event& begin, const char* verb, std::int64_t give_up_ns,
                        const Event* end, const std::string& outcome) -> Event* {
    Event e;
    e.at_ns = begin.at_ns;
    e.kind = Kind::call;
    e.process = begin.process;
    e.session = begin.kind == Kind::ask ? 0 : begin.session;
    e.call = ++calls;
    e.name = begin.name;
    e.verb = verb;
    e.give_up_ns = give_up_ns;
    e.single_attempt = begin.single_attempt;
    users.push_back(e);
    if (end == nullptr) return nullptr;
    e = model::as_kind(Kind::returned, e);
    e.at_ns = end->at_ns + draw.from(0, 3) * model::kMs;
    if (draw.one_in(8)) {
      e.from_ns = end->at_ns;
      e.at_ns += draw.from(1, 600) * model::kMs;
    }
    e.session = end->kind == Kind::ended ? 0 : end->session;
    e.outcome = outcome;
    users.push_back(e);
    return &users.back();
  };
  const auto of = [&h](const Event& session, std::initializer_list<Kind> kinds) -> const Event* {
    for (const Event& e : h) {
      const bool meant = std::find(kinds.begin(), kinds.end(), e.kind) != kinds.end();
      if (meant && e.process == session.process && e.session == session.session) return &e;
    }
    return nullptr;
  };
  for (Event& e : h) {
    if (e.kind == Kind::ask) {
      const Event* end = of(e, {Kind::granted, Kind::ended});
      const bool granted = end != nullptr && end->kind == Kind::granted;
      const auto give_up = e.single_attempt ? e.at_ns + 300 * model::kMs : e.give_up_ns;
      Event* told = call(e, draw.one_in(2) ? "try_acquire" : "acquire_async", give_up, end,
                         end == nullptr ? "" : granted ? "granted" : end->outcome);
      if (told != nullptr && granted) told->token = end->token;
    }
    if (e.kind == Kind::release) {
      const Event* end = of(e, {Kind::released});
      call(e, draw.one_in(2) ? "release" : "release_async", e.at_ns + 300 * model::kMs, end,
           end == nullptr ? "" : end->outcome);
    }
    const Event* granted = of(e, {Kind::granted});
    if (granted == nullptr) continue;
    if (e.kind == Kind::granted && draw.one_in(2)) {
      const bool yes = draw.one_in(2);
      Event* told = call(e, "ensure", e.at_ns + 300 * model::kMs, &e, yes ? "yes" : "no");
      const auto more = draw.from(0, 900) * model::kMs;
      told->deadline_ns = e.deadline_ns + (yes ? -more : more);
    }
    if (e.kind == Kind::held && e.outcome == "yes" && draw.one_in(2)) {
      e.deadline_ns = granted->deadline_ns;
    }
  }
  h.insert(h.end(), users.begin(), users.end());
  model::sort_by_time(h);
}

}  // namespace

HistoryGenerator::HistoryGenerator(model::Check check, std::uint32_t seed)
    : check_(check), draw_(draws_for(check, seed)) {}

/// Its lease is over, and its user hears of it, more or less in time.
void HistoryGenerator::loses(HistoryBuilder& s, int at, const char* process, int session) {
  s.lose(at, process, session);
  if (!draw_.one_in(8)) {
    s.notified(at + draw_.from(0, draw_.one_in(6) ? 900 : late_), process, session);
  }
  if (draw_.one_in(2)) s.no(at + 1, at + draw_.from(2, 60), process, session);
}

/// It extends, and dies, releases, hands over, or leaves its document behind.
void HistoryGenerator::holder(HistoryBuilder& s) {
  s.start(1, "a").start(2, "b").start(3, "c").ask(10, "a", 1);
  if (draw_.one_in(8)) s.look(10, 12, "a");
  if (draw_.one_in(8)) s.refused(10, 13, "a", 1);
  s.win(14, 20, "a", 1, 100);
  over_ = draw_.from(100, 600);
  order_ = 110;
  const bool extends = draw_.one_in(3);
  if (extends) s.extend(60, 80, "a", 1, 105);
  if (!draw_.one_in(3)) s.write(24, 28, "a", 1, "accepted", 101);
  switch (draw_.from(0, 5)) {
    case 0:
      s.yes(21, over_ - 1, "a", 1).release(over_, over_ + 10, "a", 1, order_++);
      gone_ = over_;
      if (draw_.one_in(4)) s.clean_up(over_ + 20, over_ + 30, "a", 1, 0);
      return;
    case 1:
      s.yes(21, over_ - 1, "a", 1).ask(30, "a", 2);
      s.hand_over(over_, over_ + 10, "a", 1, 2, order_++).yes(over_ + 11, over_ + 49, "a", 2);
      if (draw_.one_in(2)) return loses(s, over_ + 1'000, "a", 2);
      s.release(over_ + 50, over_ + 60, "a", 2, order_++);
      gone_ = over_ + 50;
      return;
    case 2:
      s.yes(21, extends ? 1'060 : 1'014, "a", 1);
      loses(s, extends ? 1'060 : 1'014, "a", 1);
      s.release(1'110, 1'120, "a", 1, 0);
      break;
    default: s.yes(21, over_ - 1, "a", 1).crash(over_, "a");
  }
  if (draw_.one_in(3)) return;
  gone_ = over_ + draw_.any_of({draw_.from(600, 2'000), draw_.from(2'000, 6'000)});
  s.gone(gone_, order_++);
}

void HistoryGenerator::waiters(HistoryBuilder& s) {
  for (const char* process : {"b", "c"}) {
    const int asked = draw_.any_of({draw_.from(40, 90), draw_.from(90, 2'500)});
    const int timeout =
        draw_.any_of({-1, 0, asked + draw_.from(200, 2'000), asked + draw_.from(200, 7'000)});
    s.ask(asked, process, 1, timeout, draw_.one_in(3));
    if (draw_.one_in(2)) s.refused(asked, asked + 10, process, 1);
    waiters_.push_back({process, 1, asked, timeout});
  }
}

/// One call gets it, sooner or later; one leaves, more or less in time.
void HistoryGenerator::next_holder(HistoryBuilder& s) {
  for (const Waiter& w : waiters_) {
    const int earliest = std::max({w.asked, over_, gone_});
    if (!draw_.one_in(3) && order_ < 200) {
      const int won = earliest + draw_.any_of({draw_.from(20, 700), draw_.from(700, 2'500),
                                               draw_.from(2'500, 7'000)});
      order_ = 200;
      if (draw_.one_in(5)) {  // and is never answered
        s.win_too_late(won, won + 10, w.process, w.session, order_++);
        s.ended(won + draw_.from(10, 200), w.process, w.session, "timed_out");
        if (draw_.one_in(2)) s.ask(won + draw_.from(300, 4'000), w.process, 2, -1);
        continue;
      }
      s.win(won, won + 10, w.process, w.session, order_++);
      s.yes(won + 11, won + 29, w.process, w.session);
      if (!draw_.one_in(3)) s.write(won + 14, won + 18, w.process, w.session, "accepted", order_++);
      if (draw_.one_in(2)) {
        s.release(won + 30, won + 40, w.process, w.session, order_++);
      } else if (draw_.one_in(3)) {
        s.crash(won + 40, w.process);
      } else {
        loses(s, won + 1'000, w.process, w.session);
      }
      continue;
    }
    const int said = w.timeout > 0 ? w.timeout : w.asked + 300;
    if (draw_.one_in(10)) continue;
    const int late = draw_.one_in(3) ? draw_.from(0, 900) : draw_.from(0, late_);
    s.ended(said + late, w.process, w.session, draw_.one_in(10) ? "unauthorized" : "timed_out");
  }
}

void HistoryGenerator::world(HistoryBuilder& s) {
  if (draw_.one_in(5)) {
    s.fault(draw_.from(5, 6'000), draw_.any_of({"step-up", "clock-jump", "ttl-off", "cut-link"}),
            "", draw_.any_of({"", "b"}));
  }
  if (draw_.one_in(2)) {
    const int from_ms = draw_.from(5, 6'000);
    s.slow(from_ms, from_ms + draw_.from(100, 2'000), draw_.any_of({"a", "b"}));
  }
  if (draw_.one_in(5)) {
    const int from_ms = draw_.from(5, 6'000);
    s.dawdles(from_ms, from_ms + draw_.from(20, 1'000), draw_.any_of({"a", "b"}));
  }
  if (draw_.one_in(3)) {
    const int from_ms = draw_.from(5, 6'000), to_ms = from_ms + draw_.from(50, 3'000);
    s.stall(from_ms, to_ms, draw_.any_of({model::kMachine, "member 0"}));
    const int later_ms = draw_.from(0, 60);
    if (draw_.one_in(3)) s.stall(from_ms + later_ms, to_ms + later_ms, "member 1");
  }
  if (draw_.one_in(4)) {
    const int from_ms = draw_.from(5, 6'000);
    s.no_majority(from_ms, from_ms + draw_.from(20, 3'000));
  }
  if (draw_.one_in(8)) {
    const int paused = draw_.from(100, 3'000);
    const char* caller = draw_.any_of({"a", "b"});
    s.pause(paused, caller).resume(paused + draw_.from(10, 2'000), caller);
  }
}

/// Clocks that drift, and a holding that is limited.
void HistoryGenerator::clocks(History& h) {
  const bool limited = draw_.one_in(8), drifts = draw_.one_in(4);
  const int drift = draw_.any_of({5'000, 100'000});
  for (Event& e : h) {
    if (e.kind == Kind::ask && limited) e.max_holding_ms = draw_.from(300, 1'200);
    if (e.kind == Kind::ask && drifts) e.max_drift_ppm = drift;
    if (e.kind == Kind::start && drifts) {
      e.clock_drift_ppm = draw_.any_of({0, -drift, drift * 4 / 5});
    }
  }
}

/// The truth is read late, where it may be.
void HistoryGenerator::read_late(History& h) {
  if (late_ == 0 || !draw_.one_in(3)) return;
  const auto lag = draw_.from(1, 900) * model::kMs;
  for (Event& e : h) {
    const bool truth = e.kind == Kind::put || e.kind == Kind::gone || e.kind == Kind::place;
    if (truth) e.at_ns += lag;
  }
}

void HistoryGenerator::lasting_fault(History& h) {
  for (const bool begins : {true, false}) {
    Event fault;
    fault.kind = Kind::fault;
    fault.at_ns = (begins ? draw_.from(5, 3'000) : draw_.from(3'000, 6'000)) * model::kMs;
    fault.fault = "partition";
    (begins ? fault.begins : fault.ends) = true;
    h.push_back(fault);
  }
}

void HistoryGenerator::begin_history() {
  over_ = gone_ = 0;
  waiters_.clear();
  late_ = draw_.one_in(2) ? 0 : 400;
}

void HistoryGenerator::befall(History& h) {
  clocks(h);
  // Two of one kind each have an end of their own.
  const int lasting = draw_.one_in(4) ? draw_.from(1, 2) : 0;
  for (int i = 0; i < lasting; ++i) lasting_fault(h);
  read_late(h);
  model::sort_by_time(h);
}

model::History HistoryGenerator::history() {
  begin_history();
  HistoryBuilder s;
  if (late_ == 0) s.exact();
  holder(s);
  waiters(s);
  next_holder(s);
  world(s);
  auto h = s.end(draw_.from(9'000, 13'000));
  befall(h);
  if (check_ == model::Check::calls) call_all(h, draw_);
  spoiler_.spoil(h, check_);
  spoiler_.lose_some(h);
  congest(h, draw_);  // last, so that the rest is as without it
  return h;
}

}  // namespace leasehold::properties
