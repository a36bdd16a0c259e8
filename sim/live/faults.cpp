#include "sim/live/faults.hpp"

#include <algorithm>
#include <utility>

#include "sim/recorder.hpp"

namespace leasehold::sim::live {
namespace {

using std::chrono::milliseconds;
using K = FaultPlan::Kind;

constexpr std::int64_t kMs = 1'000'000;
constexpr milliseconds kHealLimit{60'000};
constexpr milliseconds kCatchUp{2'000};
constexpr std::int64_t kTryAgain = 200 * kMs;
constexpr milliseconds kElectionLimit{2'000};
constexpr milliseconds kClockError{150};  ///< of asking a member on a busy machine
constexpr std::int64_t kErrorsLast_ms = 2'000;

milliseconds real_time() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

void Faults::note(const FaultPlan& fault, const std::string& hit, const char* outcome,
                  std::int64_t amount) {
  world_.emit(fault_event(world_.now_ns(), fault.kind, hit, outcome, amount));
}

void Faults::for_a_while(const FaultPlan& fault, const std::string& hit, std::int64_t for_ms,
                         const std::function<void()>& begin, std::function<void()> end) {
  note(fault, hit, "begins", fault.amount);
  const auto until = world_.now_ns() + for_ms * kMs;
  begin();
  lasting_.push_back({until, fault.kind, [this, fault, hit, end = std::move(end)] {
                        end();
                        note(fault, hit, "ends", 0);
                      }});
}

void Faults::turn() {
  const auto now = world_.now_ns();
  for (std::size_t i = 0; i < lasting_.size();) {
    if (lasting_[i].end_ns > now) {
      ++i;
      continue;
    }
    Lasting one = std::move(lasting_[i]);
    lasting_.erase(lasting_.begin() + static_cast<std::ptrdiff_t>(i));
    try {
      one.end();
    } catch (const std::exception& error) {
      one.end_ns = now + kTryAgain;  // a member that has no time for us now
      one.complaint = error.what();
      lasting_.push_back(std::move(one));
    }
  }
}

/// Throws what stands in the way of the first that did not end.
void Faults::end_lasting(const std::function<bool(FaultPlan::Kind)>& wanted) {
  until_true("ending the faults", [&] {
    for (auto& l : lasting_) {
      if (wanted(l.kind)) l.end_ns = 0;
    }
    turn();
    const auto left = std::find_if(lasting_.begin(), lasting_.end(),
                                   [&](const Lasting& l) { return wanted(l.kind); });
    if (left == lasting_.end()) return true;
    throw std::runtime_error(std::string(to_string(left->kind)) + ": " + left->complaint);
  });
}

/// What changed the index ends last: to build one asks all members, and one whose clock moved back
/// may leave its connections alone for half a minute.
void Faults::heal() {
  const auto is_of_index = [](K kind) { return kind == K::drop_index || kind == K::change_index; };
  end_lasting([&](K kind) { return !is_of_index(kind); });
  for (int i = 0; i < world_.servers.size(); ++i) world_.servers.mongod(i).clock().set({});
  until_true("starting the TTL monitors", [this] { return set_ttl(true), true; });
  wait_for_writes("majority", kHealLimit);
  if (!world_.servers.confirms(world_.servers.size(), kCatchUp)) renew_secondaries();
  end_lasting(is_of_index);
  until_true("restoring the index", [this] { return restore_index(), true; });
}

void Faults::wait_for_writes(const Json& w, milliseconds limit) {
  until_true(
      "a write after the faults", [&] { return world_.servers.confirms(w, milliseconds(500)); },
      limit);
}

/// A new process does not know that its clock moved back.
void Faults::renew_secondaries() {
  const int primary = world_.servers.primary();
  for (int i = 0; i < world_.servers.size(); ++i) {
    if (i == primary) continue;
    world_.servers.mongod(i).kill();
    world_.servers.mongod(i).restart();
    wait_for_writes("majority", kHealLimit);
  }
  wait_for_writes(world_.servers.size(), kHealLimit);
}

void Faults::inject(const FaultPlan& fault, const std::string& process) {
  if (takes_members(fault.kind)) return take_members(fault);
  switch (fault.kind) {
    case K::step_up:
    case K::step_down: return elect(fault);
    case K::drop_index:
    case K::change_index: return disturb_index(fault);
    case K::drop_collection: return drop_collection(fault);
    case K::delete_document: return delete_document(fault);
    case K::split_members:
    case K::two_primaries: return split(fault);
    case K::clock_jump:
    case K::clock_drift: return move_clock(fault);
    case K::ttl_off: return stop_ttl(fault);
    case K::slow_majority: return slow_majority(fault);
    case K::errors: return fail_commands(fault);
    case K::waiting_inside: return hold_inside(fault);
    default: return disturb_link(fault, process);
  }
}

int Faults::member_of(const FaultPlan& fault) {
  return member_hit(fault, world_.servers.primary_now(), world_.servers.size());
}

/// Who may follow this primary: the one that the plan names, or any that answers; -1: none.
int Faults::successor(const FaultPlan& fault, int primary) {
  const auto size = world_.servers.size();
  if (fault.member >= 0 && fault.kind != K::two_primaries) return member_of(fault);
  for (int i = 0; i < size; ++i) {
    const auto next = static_cast<int>((std::max(primary, 0) + 1 + fault.pick + i) % size);
    if (next != primary && world_.servers.mongod(next).answers()) return next;
  }
  return -1;
}

void Faults::elect(const FaultPlan& fault) {
  const int primary = world_.servers.primary_now();
  if (fault.kind == K::step_down) {
    note(fault, primary < 0 ? "" : member_name(primary), "", 0);
    if (world_.servers.step_down()) world_.count_effect(fault.kind);
    return;
  }
  const int next = successor(fault, primary);
  if (next < 0) return;
  note(fault, member_name(next), "", 0);
  if (world_.servers.try_step_up(next, kElectionLimit)) world_.count_effect(fault.kind);
}

/// One fault at a time, so that as many stay as it says.
void Faults::take_members(const FaultPlan& fault) {
  const bool kills = fault.kind != K::stop_member, loses = fault.kind == K::lost_data;
  if (members_away_ > 0) return;
  // Before the next one loses its data, the last has all of them again.
  const auto confirmed = [&] { return world_.servers.confirms(world_.servers.size(), kCatchUp); };
  if (loses && lost_data_ && !confirmed()) return;
  lost_data_ |= loses;
  const auto hit = members_hit(fault, world_.servers.primary_now(), world_.servers.size());
  for (const int index : hit) {
    if (kills) world_.servers.mongod(index).begin_kill();  // all at once
  }
  for (const int index : hit) {
    Mongod& member = world_.servers.mongod(index);
    for_a_while(
        fault, member_name(index), fault.for_ms,
        [&] {
          kills ? member.kill() : member.stop();
          if (loses) member.wipe();
          ++members_away_;
        },
        [this, &member, hit, kills] {
          for (const int other : hit) {
            if (kills) world_.servers.mongod(other).begin_restart();  // all at once, too
          }
          kills ? member.restart() : member.resume();
          --members_away_;
        });
  }
  world_.count_effect(fault.kind);
}

std::string Faults::database() const {
  return world_.lock_namespace.substr(0, world_.lock_namespace.find('.'));
}

std::string Faults::collection() const {
  return world_.lock_namespace.substr(world_.lock_namespace.find('.') + 1);
}

/// Does not wait for one: who waits here ends no other fault in the meantime.
MongoClient& Faults::primary() {
  const int primary = world_.servers.primary_now();
  if (primary < 0) throw std::runtime_error("no member is primary");
  return world_.servers.member(primary);
}

/// As an administrator: on the primary, for a majority.
Json Faults::administer(Json command) {
  command["writeConcern"] = {{"w", "majority"}, {"wtimeout", kCatchUp.count()}};
  return primary().must(database(), command);
}

/// As `listIndexes` tells it; null: there is none.
Json Faults::ttl_index() {
  const auto reply = primary().run(database(), {{"listIndexes", collection()}});
  if (integer(reply["ok"]) != 1) return {};
  for (const Json& index : reply["cursor"]["firstBatch"]) {
    if (index.contains("expireAfterSeconds")) return index;
  }
  return {};
}

/// One at a time, so that it ends as it was.
void Faults::disturb_index(const FaultPlan& fault) {
  if (index_disturbed_) return;
  const Json found = ttl_index();
  if (found.is_null()) return;
  if (index_.is_null()) index_ = found;
  const bool drops = fault.kind == K::drop_index;
  for_a_while(
      fault, "", fault.for_ms,
      [&] {
        drops ? void(administer({{"dropIndexes", collection()}, {"index", index_["name"]}}))
              : expire_after(integer(index_["expireAfterSeconds"]) + fault.amount);
        index_disturbed_ = true;
        world_.count_effect(fault.kind);
      },
      [this] {
        restore_index();
        index_disturbed_ = false;
      });
}

void Faults::expire_after(std::int64_t seconds) {
  const Json index{{"name", index_["name"]}, {"expireAfterSeconds", seconds}};
  administer({{"collMod", collection()}, {"index", index}});
}

/// As it was when it was first disturbed. What an earlier primary did may have been rolled
/// back since, the end of an earlier fault included; so this looks first, and again once all is
/// healed.
void Faults::restore_index() {
  if (index_.is_null()) return;
  const Json found = ttl_index();
  const auto seconds = integer(index_["expireAfterSeconds"]);
  if (found.is_null()) {
    const Json made{
        {"key", index_["key"]}, {"name", index_["name"]}, {"expireAfterSeconds", seconds}};
    administer({{"createIndexes", collection()}, {"indexes", {made}}});
  } else if (integer(found["expireAfterSeconds"]) != seconds) {
    expire_after(seconds);
  }
}

void Faults::drop_collection(const FaultPlan& fault) {
  note(fault, "", "", 0);
  administer({{"drop", collection()}});
  world_.count_effect(fault.kind);
}

void Faults::delete_document(const FaultPlan& fault) {
  const auto reply = primary().must(database(), {{"find", collection()}, {"sort", {{"_id", 1}}}});
  const Json& found = reply["cursor"]["firstBatch"];
  if (found.empty()) return;
  const Json& id = found[static_cast<std::size_t>(fault.pick) % found.size()]["_id"];
  note(fault, id.is_string() ? id.get<std::string>() : id.dump(), "", 0);
  const Json one{{"q", {{"_id", id}}}, {"limit", 1}};
  if (integer(administer({{"delete", collection()}, {"deletes", {one}}})["n"]) == 1) {
    world_.count_effect(fault.kind);
  }
}

void Faults::split(const FaultPlan& fault) {
  const bool elects = fault.kind == K::two_primaries;
  const int member = elects ? world_.servers.primary_now() : member_of(fault);
  if (member < 0) return;
  const auto links = links_of_member(member);
  const auto before = touched(links);
  for_a_while(
      fault, member_name(member), fault.for_ms,
      [&] {
        set(links, {.hold_requests = true, .hold_replies = true});
        if (!elects) return;
        const int next = successor(fault, member);
        if (next < 0 || !world_.servers.try_step_up(next, milliseconds(500))) return;
        if (world_.servers.is_primary(member)) world_.count_effect(fault.kind);  // both say it
      },
      [this, links, kind = fault.kind, before, elects] {
        if (!elects && touched(links) > before) world_.count_effect(kind);
        lift(links, true);
      });
}

bool Faults::shows(int member, milliseconds ahead) {
  const auto hello = world_.servers.member(member).run("admin", {{"hello", 1}});
  return std::chrono::abs(date(hello.at("localTime")) - real_time() - ahead) < kClockError;
}

void Faults::move_clock(const FaultPlan& fault) {
  const int index = member_of(fault);
  Mongod& member = world_.servers.mongod(index);
  if (!member.answers()) return;
  const auto amount = clock_amount(fault, world_.plan.clock_margin_ms);
  if (fault.kind == K::clock_jump) {
    const milliseconds to(amount);
    note(fault, member_name(index), "", amount);
    const bool moves = std::chrono::abs(member.clock().ahead() - to) > milliseconds(1);
    member.clock().set(to);
    if (moves && shows(index, to)) world_.count_effect(fault.kind);
    return;
  }
  for_a_while(
      fault, member_name(index), fault.for_ms,
      [&] {
        member.clock().set({});
        member.clock().drift(amount);
      },
      [this, &member, index, kind = fault.kind] {
        const auto ahead = std::chrono::duration_cast<milliseconds>(member.clock().ahead());
        if (ahead.count() != 0 && member.answers() && shows(index, ahead))
          world_.count_effect(kind);
        member.clock().set({});
      });
}

void Faults::set_ttl(bool on) {
  for (int i = 0; i < world_.servers.size(); ++i) {
    if (!world_.servers.mongod(i).answers()) continue;
    world_.servers.member(i).must("admin", {{"setParameter", 1}, {"ttlMonitorEnabled", on}});
  }
}

/// Of all members together, as far as they answer.
std::int64_t Faults::ttl_passes() {
  std::int64_t passes = 0;
  for (int i = 0; i < world_.servers.size(); ++i) {
    if (!world_.servers.mongod(i).answers()) continue;
    const auto status = world_.servers.member(i).run("admin", {{"serverStatus", 1}});
    passes += integer(status.at("metrics").at("ttl").at("passes"));
  }
  return passes;
}

void Faults::stop_ttl(const FaultPlan& fault) {
  const auto before = std::make_shared<std::int64_t>(0);
  for_a_while(
      fault, "", fault.for_ms,
      [&] {
        set_ttl(false);
        *before = ttl_passes();
      },
      [this, before, kind = fault.kind] {
        // One may have been under way. A member that was away counts from zero again.
        if (ttl_passes() <= *before + 1) world_.count_effect(kind);
        set_ttl(true);
      });
}

void Faults::slow_majority(const FaultPlan& fault) {
  const auto links = sync_links();
  const auto before = touched(links);
  for_a_while(
      fault, "", fault.for_ms, [&] { set(links, {.delay_replies = milliseconds(fault.amount)}); },
      [this, links, kind = fault.kind, before] {
        if (touched(links) > before) world_.count_effect(kind);
        lift(links, false);
      });
}

void Faults::fail_commands(const FaultPlan& fault) {
  const int primary = world_.servers.primary_now();
  if (primary < 0) return;
  const int code = error_code(fault);
  Json data{{"failCommands", Json::array({"findAndModify", "update", "delete"})},
            {"namespace", world_.lock_namespace}};
  if (fault.pick % 2 == 0) {
    data["errorCode"] = code;
  } else {
    data["writeConcernError"] = {{"code", code}, {"errmsg", "injected"}};
  }
  for_a_while(
      fault, member_name(primary), kErrorsLast_ms,
      [&] {
        world_.servers.fail_point(primary, "failCommand", {{"times", fault.amount}}, data);
      },
      [this, primary, kind = fault.kind] {
        if (!world_.servers.mongod(primary).answers()) return;  // its fail points are gone with it
        if (world_.servers.fail_point(primary, "failCommand", "off") > 0) world_.count_effect(kind);
      });
}

/// Updates wait inside the primary, with the time of their start, for `amount` ms.
void Faults::hold_inside(const FaultPlan& fault) {
  constexpr const char* kFailPoint = "hangBeforeFindAndModifyPerformsUpdate";
  const int primary = world_.servers.primary_now();
  if (primary < 0) return;
  for_a_while(
      fault, member_name(primary), fault.amount,
      [&] { world_.servers.fail_point(primary, kFailPoint, "alwaysOn"); },
      [this, primary, kind = fault.kind] {
        if (!world_.servers.mongod(primary).answers()) return;
        if (world_.servers.fail_point(primary, kFailPoint, "off") > 0) world_.count_effect(kind);
      });
}

void Faults::disturb_link(const FaultPlan& fault, const std::string& process) {
  // Nobody runs. A link of no name is a member's that asks at its start which address is its own;
  // without an answer it belongs to no set until another member reports the configuration.
  if (process.empty()) return;
  auto links = links_of_process(process);
  if (fault.kind == K::cut_link || fault.kind == K::refuse_link) {
    const int primary = world_.servers.primary_now();
    if (primary >= 0) links = {{process, primary}};
  }
  const milliseconds amount(fault.amount);
  LinkRule rule;
  switch (fault.kind) {
    case K::cut_link: rule = {.hold_requests = true, .hold_replies = true}; break;
    case K::refuse_link: rule = {.refuse = true}; break;
    case K::slow_link: rule = {.delay_requests = amount, .delay_replies = amount}; break;
    case K::lost_replies: rule = {.hold_replies = true}; break;
    default: rule = {.delay_requests = amount}; break;
  }
  const bool loses = rule.hold_replies;
  const auto before = touched(links);
  for_a_while(
      fault, process, fault.for_ms, [&] { set(links, rule); },
      [this, links, loses, kind = fault.kind, before] {
        if (touched(links) > before) world_.count_effect(kind);
        lift(links, loses);
      });
}

std::vector<Faults::Link> Faults::links_of_member(int member) const {
  std::vector<Link> links;
  for (int other = 0; other < world_.servers.size(); ++other) {
    if (other == member) continue;
    for (const char* what : {"/beat", "/sync"}) {
      links.push_back({member_name(member) + what, other});
      links.push_back({member_name(other) + what, member});
    }
  }
  return links;
}

std::vector<Faults::Link> Faults::sync_links() const {
  std::vector<Link> links;
  for (int from = 0; from < world_.servers.size(); ++from) {
    for (int to = 0; to < world_.servers.size(); ++to) {
      if (from != to) links.push_back({member_name(from) + "/sync", to});
    }
  }
  return links;
}

std::vector<Faults::Link> Faults::links_of_process(const std::string& process) const {
  std::vector<Link> links;
  for (int to = 0; to < world_.servers.size(); ++to) links.push_back({process, to});
  return links;
}

void Faults::set(const std::vector<Link>& links, const LinkRule& rule) {
  for (const auto& [peer, member] : links) world_.servers.proxy().set(peer, member, rule);
}

void Faults::lift(const std::vector<Link>& links, bool reset) {
  for (const auto& [peer, member] : links) {
    if (reset) world_.servers.proxy().reset(peer, member);
    world_.servers.proxy().set(peer, member, {});
  }
}

std::int64_t Faults::touched(const std::vector<Link>& links) const {
  std::int64_t sum = 0;
  for (const auto& [peer, member] : links) sum += world_.servers.proxy().touched(peer, member);
  return sum;
}

}  // namespace leasehold::sim::live
