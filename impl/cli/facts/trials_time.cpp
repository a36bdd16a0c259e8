#include <thread>

#include "cli/facts/facts.hpp"

/// Facts on a set's two clocks: its cluster time, by which fencing tokens rise, and $$NOW.
namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

/// A confirmed write of a lock.
struct Grant {
  std::string lock_id;
  FencingToken at;
  std::int64_t stored = 0;  ///< the lower bound in the document
};

/// Grants of one lock, while the other connections write other documents as fast as they can: else
/// the time of the last write would be that of the grant.
std::vector<Grant> grants_in_traffic(TrialSite& site, const std::string& name) {
  constexpr int kGrants = 8;
  const auto owner = site.owner();
  std::vector<Grant> grants;
  std::atomic<bool> over = false;
  struct End {
    std::atomic<bool>& over;
    ~End() { over = true; }
  };
  site.at_once([&](std::size_t i, Asker& asker) {
    if (i == 0) {
      const End end{over};
      for (int n = 0; n < kGrants; ++n) {
        const auto lock = site.attempt(name, owner);
        const auto reply = asker.sure(lock);
        grants.push_back({lock.lock_id, reply.operation_time, asker.document(reply).fencing_token});
      }
      return;
    }
    const auto other = site.owner();
    const auto noise = site.name("noise");
    while (!over) asker.sure(site.attempt(noise, other));
  });
  return grants;
}

/// The lockId of a document as it was at this time.
std::string lock_id_at(Asker& asker, const std::string& name, FencingToken at) {
  constexpr int kSnapshotTooOld = 239, kSnapshotUnavailable = 246;
  const Json find{{"find", asker.collection()},
                  {"filter", {{"_id", name}}},
                  {"readConcern", {{"level", "snapshot"}, {"atClusterTime", timestamp_of(at)}}}};
  const Json reply = asker.run(find);
  const auto code = mongo::integer(reply.value("code", Json(0)));
  if (mongo::integer(reply["ok"]) == 0) {
    const auto why = "no reads of an earlier time: " + reply.value("errmsg", "refused");
    throw NotTried(why, code == kSnapshotTooOld || code == kSnapshotUnavailable);
  }
  const Json& found = reply["cursor"]["firstBatch"];
  return found.empty() ? "" : found[0].value("lockId", "");
}

std::string operation_time_is_the_writes(TrialSite& site) {
  const auto name = site.name("token");
  std::string before;
  const auto grants = grants_in_traffic(site, name);
  for (const Grant& grant : grants) {
    require(lock_id_at(site[0], name, grant.at) == grant.lock_id,
            "at the operationTime of a write, " + text_of(grant.at) + ", it does not show");
    require(lock_id_at(site[0], name, FencingToken(grant.at.value() - 1)) == before,
            "a write shows before its operationTime, " + text_of(grant.at));
    before = grant.lock_id;
  }
  return std::to_string(grants.size()) +
         " writes among others: a read of each one's operationTime shows it, one of just before "
         "does not";
}

std::string cluster_time_is_below_the_write(TrialSite& site) {
  const auto grants = grants_in_traffic(site, site.name("bound"));
  for (const Grant& grant : grants) {
    require(grant.stored < grant.at.value(),
            "$$CLUSTER_TIME in an update is not before the write, at " + text_of(grant.at));
  }
  return std::to_string(grants.size()) + " writes among others: the bound is below each one's time";
}

std::string token_rises_over_a_deletion(TrialSite& site) {
  constexpr std::size_t kHolders = 6;
  const auto name = site.name("risen");
  FencingToken last;
  for (std::size_t i = 0; i < kHolders; ++i) {
    Asker& asker = site[i % TrialSite::kConnections];
    const auto lock = site.attempt(name);
    const auto at = asker.sure(lock).operation_time;
    require(at > last, "a later holder's time, " + text_of(at) + ", is not after " + text_of(last));
    last = at;
    (i % 2 == 0 ? asker : site[0]).sure(core::DeleteCommand{name, lock.owner, {}});
  }
  return std::to_string(kHolders) + " holders by turns, each deleted: the tokens rise";
}

std::string now_is_the_primarys(TrialSite& site) {
  constexpr int kTimes = 4;
  constexpr std::int64_t kTick_ms = 250;  // servers may read a clock that is updated now and then
  for (int i = 0; i < kTimes; ++i) {
    const auto before = mongo::date_ms(site[0].hello()["localTime"]);
    const auto now =
        site[0].document(site[0].sure(site.attempt(site.name("now")))).acquired_at.since_1970_ms;
    const auto after = mongo::date_ms(site[0].hello()["localTime"]);
    require(now >= before - kTick_ms && now <= after + kTick_ms,
            "$$NOW is " + std::to_string(now - before) +
                " ms later than the primary's clock before, " + "and " +
                std::to_string(after - now) + " ms earlier than after");
  }
  return std::to_string(kTimes) + " writes: $$NOW is between two looks at the primary's clock";
}

/// When a command was under way, by our clock, and what $$NOW it saw.
struct Reading {
  milliseconds sent, received, now;
};
Reading read_now(TrialSite& site, const core::AcquireCommand& of) {
  Reading reading{};
  reading.sent = our_clock();
  const auto document = site[0].document(site[0].sure(of));
  reading.received = our_clock();
  reading.now = milliseconds(document.acquired_at.since_1970_ms);
  return reading;
}

std::string now_runs_as_our_clock(TrialSite& site) {
  constexpr milliseconds kApart{300}, kTick{50};
  const auto first = read_now(site, site.attempt(site.name("first")));
  std::this_thread::sleep_for(kApart);
  const auto second = read_now(site, site.attempt(site.name("second")));
  const auto least = second.sent - first.received - kTick;
  const auto most = second.received - first.sent + kTick;
  const auto passed = second.now - first.now;
  const auto ms = [](milliseconds span) { return std::to_string(span.count()) + " ms"; };
  require(passed >= least && passed <= most, "$$NOW went on by " + ms(passed) + " while between " +
                                                 ms(least) + " and " + ms(most) + " passed here");
  return "$$NOW went on by " + ms(passed) + " in at least " + ms(least) + " and at most " +
         ms(most);
}

std::string now_is_one_in_a_write(TrialSite& site) {
  constexpr milliseconds kLong{40};
  for (int size = 50'000; size <= 3'200'000; size *= 4) {
    const Json sum{{"$reduce",
                    {{"input", {{"$range", Json::array({0, size})}}},
                     {"initialValue", 0},
                     {"in", {{"$add", Json::array({"$$value", "$$this"})}}}}}};
    const auto began = our_clock();
    const Json reply = site[0].must({{"findAndModify", site[0].collection()},
                                     {"query", {{"_id", site.name("once")}}},
                                     {"update", Json::array({{{"$set", {{"first", "$$NOW"}}}},
                                                             {{"$set", {{"sum", sum}}}},
                                                             {{"$set", {{"last", "$$NOW"}}}}})},
                                     {"upsert", true},
                                     {"new", true}});
    const Json& left = reply["value"];
    require(mongo::date_ms(left["first"]) > 0 && left["first"] == left["last"],
            "one update has $$NOW " + left["first"].dump() + " and " + left["last"].dump());
    if (our_clock() - began >= kLong) return "the same before and after 40 ms of work in an update";
  }
  throw NotTried("this server is too quick: no update took 40 ms", true);
}

std::string lock_expires_by_the_primary(TrialSite& site) {
  constexpr milliseconds kLease{400}, kTick{50}, kPause{20}, kLongest{10'000};
  auto dead = site.attempt(site.name("lease"));
  dead.lease = kLease;
  const auto granted = read_now(site, dead);
  for (auto waited = milliseconds(0); waited < kLongest; waited += kPause) {
    const auto lock = site.attempt(dead.name);
    const auto sent = our_clock();
    const auto seen = site[0].document(site[0].sure(lock));
    if (seen.lock_id == lock.lock_id) {
      const auto most = our_clock() - granted.sent;
      require(most + kTick >= kLease,
              "a lock for 400 ms was given away after " + std::to_string(most.count()) + " ms");
      return "a lock for 400 ms was given to the next within " + std::to_string(most.count()) +
             " ms";
    }
    require(sent - granted.received <= kLease + kTick,
            "a lock for 400 ms is still held " + std::to_string((sent - granted.received).count()) +
                " ms after it was taken");
    std::this_thread::sleep_for(kPause);
  }
  throw NotTried("the attempts took too long");
}

}  // namespace

std::vector<Fact> facts_of_time() {
  return {
      {"operation-time-is-the-writes",
       "operationTime in the reply to an update that changed its document is that write's place",
       "two holders may have one fencing token, or a later holder a lower one", true,
       operation_time_is_the_writes},
      {"token-rises-over-a-deletion",
       "the operationTime of later writes is greater, also after the document was deleted",
       "a resource refuses the rightful holder, or accepts an earlier one", true,
       token_rises_over_a_deletion},
      {"cluster-time-is-below-the-write", "$$CLUSTER_TIME in an update is before that write",
       "acquire calls end with an error, because the document's token is above their own", true,
       cluster_time_is_below_the_write},
      {"now-is-the-primarys",
       "$$NOW in an update is the time of the primary's clock, or of that of the mongos",
       "a held lock may be given away, or a dead holder's kept", true, now_is_the_primarys},
      {"now-runs-as-our-clock", "$$NOW goes on as fast as the clock of this machine",
       "a held lock may be given away, or a dead holder's kept", true, now_runs_as_our_clock},
      {"now-is-one-in-a-write", "all of one update sees the same $$NOW",
       "the dates of a document may contradict each other", true, now_is_one_in_a_write},
      {"lock-expires-by-the-primary",
       "an update finds expiresAt past when it is, by $$NOW, and not before",
       "a held lock may be given away, or a dead holder's kept", true, lock_expires_by_the_primary},
  };
}

}  // namespace leasehold::cli
