#include "scenarios/lab/certify/facts.hpp"

#include <time.h>

#include <array>
#include <regex>
#include <sstream>
#include <thread>

#include "core/document/lock_queue.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {
namespace {

using core::Outcome;
using fmt::format;
using std::chrono::milliseconds;
using sim::live::date_ms;
using sim::live::integer;
using Step = core::StreamCommand::Step;

/// A token as the timestamp that it is made of, as servers write it in readConcern.
std::string text_of(FencingToken token) {
  const auto packed = static_cast<std::uint64_t>(token.value());
  return format(R"({{"t": {}, "i": {}}})",
                (packed >> 32) + static_cast<std::uint64_t>(FencingToken::kEpochSeconds),
                packed & 0xFFFF'FFFFu);
}

std::int64_t code_of(const Json& reply) { return integer(reply.value("code", Json(0))); }

core::HandOverCommand hand_over(const core::AcquireCommand& from, const core::AcquireCommand& to) {
  return {1, from.name, from.owner, to.owner, to.lock_id, kTrialLease, {}};
}

/// Gives `use` each member that answers, and its `hello`; a member may be down.
void ask_members(Asker& asker, const std::function<void(const MongoClient::Member& member,
                                                        const Json& hello)>& use) {
  for (const auto& member : asker.members()) {
    try {
      use(member, asker.hello(member.id));
    } catch (const sim::live::NoReply&) {
      continue;
    }
  }
}

void expect_duplicate(const Json& reply, const std::string& index) {
  const Json errors = reply.value("writeErrors", Json::array());
  const auto code = errors.empty() ? 0 : code_of(errors[0]);
  require(code == 11000, "a second document of one key is answered with code {}", code);
  const auto named = mongo::duplicate_index(*mongo::from_json(reply).get());
  require(named == index, "the duplicate key of {} is reported as of {}", index, named);
}

/// An update that counts, with more fields.
std::string count(const std::string& more = "") {
  return R"({"findAndModify": "@", "query": {"_id": "#"}, "update": [{"$set": {"n": {"$add": [
      {"$ifNull": ["$n", 0]}, 1]}}}], "upsert": true, "new": true, %)" + more + '}';
}

/// All at once, some times; one of them has to win each time, and the rest has to see that.
void race(TrialSite& site, std::chrono::seconds lease_before) {
  for (int round = 0; round < 4; ++round) {
    auto dead = site.attempt(site.name("raced"));
    dead.lease = lease_before;
    if (lease_before.count() != 0) site[0].sure(dead);
    std::array<core::AcquireCommand, TrialSite::kConnections> sent;
    std::array<core::Reply, TrialSite::kConnections> replies;
    for (auto& one : sent) one = site.attempt(dead.name);
    site.at_once([&](std::size_t i, Asker& asker) { replies[i] = asker.send(sent[i]); });
    const Json left = site[0].stored(dead.name);
    require(!left.is_null(), "the lock has no document after it was won");
    const auto holder = left.value("lockId", "");
    int winners = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (replies[i].outcome == Outcome::duplicate_key) continue;
      if (replies[i].outcome != Outcome::done) {
        throw NotTried("no certain answer: " + replies[i].message);
      }
      require(replies[i].documents.size() == 1 && replies[i].documents.front().lock_id == holder,
              "a reply shows another holder than the document");
      winners += holder == sent[i].lock_id ? 1 : 0;
    }
    require(winners == 1, "{} of {} attempts at once won one lock", winners, sent.size());
  }
}

/// A confirmed write of a lock.
struct Grant {
  std::string lock_id;
  FencingToken at;
  std::int64_t stored = 0;  ///< the lower bound in the document
};

/// Grants of one lock, while the other connections write other documents as fast as they can: else
/// the time of the last write would be that of the grant.
std::vector<Grant> grants_in_traffic(TrialSite& site, const std::string& name) {
  const auto owner = site.owner();
  std::vector<Grant> grants;
  std::atomic<bool> over = false;
  site.at_once([&](std::size_t i, Asker& asker) {
    const auto noise = site.attempt(site.name("noise"));
    while (i != 0 && !over) asker.sure(site.attempt(noise.name, noise.owner));
    if (i != 0) return;
    const std::shared_ptr<void> at_the_end(nullptr, [&](void*) { over = true; });
    for (int n = 0; n < 8; ++n) {
      const auto lock = site.attempt(name, owner);
      const auto reply = asker.sure(lock);
      require(!reply.documents.empty(), "the reply has no document");
      const auto bound = reply.documents.front().fencing_token;
      grants.push_back({lock.lock_id, reply.operation_time, bound});
    }
  });
  return grants;
}

/// The lockId of a document as it was at this time.
std::string lock_id_at(Asker& asker, const std::string& name, FencingToken at) {
  constexpr int kSnapshotTooOld = 239, kSnapshotUnavailable = 246;
  const Json reply = asker.run(
      R"({"find": "@", "filter": {"_id": "#"}, "readConcern": {"level": "snapshot",
          "atClusterTime": {"$timestamp": )" + text_of(at) + "}}}", name);
  if (integer(reply["ok"]) == 0) {
    const auto code = code_of(reply);
    throw NotTried("no reads of an earlier time: " + reply.value("errmsg", "refused"),
                   code == kSnapshotTooOld || code == kSnapshotUnavailable);
  }
  const Json found = Asker::first_in(reply);
  return found.is_null() ? "" : found.value("lockId", "");
}

/// When a command was under way, by our clock, and what $$NOW it saw.
struct Reading {
  milliseconds sent, received, now;
};
Reading read_now(TrialSite& site, const core::AcquireCommand& of) {
  const auto sent = our_clock();
  const auto document = site[0].document(of);
  return {sent, our_clock(), milliseconds(document.acquired_at.since_1970_ms)};
}

/// A provider's change stream, on a connection of its own.
class News {
 public:
  explicit News(TrialSite& site) : asker_(site[0]) {
    if (site.routers() > 0) throw NotTried("through a mongos no lock uses a change stream", true);
    const auto opened = asker_.sure(core::StreamCommand{Step::open, 0, site.provider()});
    cursor_ = opened.cursor;
    heard = opened.named;
    require(cursor_ != 0, "the stream ended when it was opened");
  }
  News(const News&) = delete;
  News& operator=(const News&) = delete;
  /// Closed in silence: the end of this connection ends it, too.
  ~News() {
    try {
      asker_.send(core::StreamCommand{Step::close, cursor_, 0});
    } catch (const std::exception&) {
    }
  }

  /// One wait for news, 400 ms long at most.
  void wait() {
    const auto reply = asker_.sure(core::StreamCommand{Step::next, cursor_, 0});
    require(reply.cursor == cursor_, "the stream ended");
    heard.insert(heard.end(), reply.named.begin(), reply.named.end());
  }
  /// Makes grants as releases of another process do, every other one to an owner of this provider,
  /// which are returned. Waits for the news of them, and once more: more would be wrong.
  std::vector<Grant> of_grants(TrialSite& site) {
    constexpr std::chrono::seconds kLongest{20};
    std::vector<Grant> ours;
    for (int i = 0; i < 8; ++i) {
      const auto giver = site.attempt(site.name("given"), site.other_owner());
      const auto receiver =
          site.attempt(giver.name, i % 2 == 0 ? site.other_owner() : site.owner());
      site[1].sure(giver);
      const auto reply = site[1].sure(hand_over(giver, receiver));
      site[2].sure(site.attempt(giver.name));  // refused, and no news
      if (i % 2 == 1) ours.push_back({receiver.lock_id, reply.operation_time});
    }
    const auto until = our_clock() + kLongest;
    while (heard.size() < ours.size() && our_clock() < until) wait();
    wait();
    return ours;
  }

  std::vector<core::NamedOwner> heard;

 private:
  Asker& asker_;
  std::int64_t cursor_ = 0;
};

/// How a fact of that name is tried: it throws Fails or NotTried.
struct Trial {
  std::string name;
  void (*of)(TrialSite& site);
  bool needed = true;  ///< a guarantee rests on it; else only news or the removal of documents
};

// clang-format off: a fact, and below it how it is tried.
const std::vector<Trial> kTrials{
// What replies say.
{"hello-tells-what-a-member-is", [](TrialSite& site) {
  const Json hello = site[0].hello();
  const auto refusal = mongo::refusal_of_hello(*mongo::from_json(hello).get());
  require(!refusal, "{}", refusal.value_or(""));
  require(hello.value("isWritablePrimary", false), "the member that takes writes is no primary");
  require(date_ms(hello.value("localTime", Json())) > 0, "there is no localTime");
  if (site.routers() > 0) return;
  const auto identity = site[0].admin(
      R"({"find": "system.version", "filter": {"_id": "shardIdentity"}, "singleBatch": true})");
  require(!mongo::is_of_a_shard(*mongo::from_json(identity).get()), "{}", mongo::kIsAShard);
  ask_members(site[0], [&](const auto& member, const Json& said) {
    require(said["me"] == hello["me"] || !said.value("isWritablePrimary", false),
            "{} is a primary as well", member.host);
  });
}},
{"duplicate-key-is-11000", [](TrialSite& site) {
  const auto name = site.name("twice");
  const std::string insert = R"({"insert": "@", "documents": [{"_id": "#", "n": 1}], %})";
  site[0].must(insert, name);
  expect_duplicate(site[1].run(insert, name), "{_id}");
  expect_duplicate(site[1].run(R"({"update": "@", "updates": [{"q": {"_id": "#", "n": {"$lt": 0}},
      "u": {"$set": {"n": 2}}, "upsert": true}], %})", name), "{_id}");
  require(site[0].stored(name)["n"] == 1, "a refused upsert changed the document");
}},
{"duplicate-key-names-its-index", [](TrialSite& site) {
  constexpr int kCannotCreateIndex = 67;
  const std::string create = R"({"createIndexes": "@", "indexes": [
      {"key": {"only": 1}, "name": "only_1", "unique": true, "sparse": true}]})";
  if (site.routers() > 0 && code_of(site[0].run(create)) == kCannotCreateIndex) {
    throw NotTried("a sharded collection has no other unique index", true);
  }
  site[0].must(create);
  const std::string insert = R"({"insert": "@", "documents": [{"only": "#"}], %})";
  const auto name = site.name("only");
  site[0].must(insert, name);
  expect_duplicate(site[1].run(insert, name), "{only}");
}},
{"unconfirmed-is-reported", [](TrialSite& site) {
  // The largest w: a set has at most 50 members.
  const Json reply = site[0].run(R"({"findAndModify": "@", "query": {"_id": "#"},
      "update": [{"$set": {"lockId": "#"}}], "upsert": true, "new": true,
      "writeConcern": {"w": 50, "wtimeout": 500}})", site.name("unconfirmed"));
  if (integer(reply["ok"]) == 0) throw NotTried(reply.value("errmsg", "refused"));
  const auto bytes = mongo::from_json(reply);
  const auto read = mongo::read_reply({1, {}, core::AcquireCommand{}}, *bytes.get());
  require(read.outcome == Outcome::unknown,
          "a write that more members are to confirm than there are is reported as confirmed");
}},
{"confirmed-is-of-a-majority", [](TrialSite& site) {
  for (int i = 0; i < 3; ++i) {
    const auto lock = site.attempt(site.name("confirmed"));
    const auto written = site[0].sure(lock).operation_time;
    if (site.routers() == 0) {
      const FencingToken had(
          mongo::packed_timestamp(site[0].hello()["lastWrite"]["majorityOpTime"]["ts"]));
      require(had >= written, "the write at {} is confirmed, and a majority has what was written "
              "until {}", text_of(written), text_of(had));
    }
    const Json found = site[1].must(R"({"find": "@", "filter": {"_id": "#"},
        "readConcern": {"level": "majority"}})", lock.name);
    require(!Asker::first_in(found).is_null(),
            "a read of what a majority has does not show a confirmed write");
  }
}},
{"no-match-is-not-older", [](TrialSite& site) {
  const auto lock = site.attempt(site.name("late"));
  const auto won = site[0].sure(lock).operation_time;
  const auto none = site[1].sure(core::DeleteCommand{lock.name, site.owner(), {}});
  require(none.matched == 0, "another owner's delete found a lock");
  require(!none.is_before(won), "a reply that nothing matched is of {}, before the confirmed write "
          "at {}", text_of(none.operation_time), text_of(won));
}},
{"linearizable-read-is-current", [](TrialSite& site) {
  const auto lock = site.taken("inspected");
  const auto shown = site[1].document(core::InspectCommand{lock.name});
  require(shown.lock_id == lock.lock_id, "a confirmed write does not show");
  require(shown.read_at.since_1970_ms > 0, "$$NOW of a find is no date");
  site[0].sure(core::DeleteCommand{lock.name, lock.owner, {}});
  require(site[1].sure(core::InspectCommand{lock.name}).documents.empty(),
          "a deleted document shows");
}, false},
{"read-is-of-the-primary", [](TrialSite& site) {
  const auto lock = site.taken("read");
  require(site[1].document(core::ReadHoldersCommand{{lock.name}}).lock_id == lock.lock_id,
          "a confirmed write does not show");
}},
{"secondary-refuses-writes", [](TrialSite& site) {
  int refused = 0;
  ask_members(site[0], [&](const auto& member, const Json& said) {
    if (!said.value("secondary", false)) return;
    const auto lock = site.attempt(site.name("secondary"));
    require(site[0].send(lock, member.id).outcome == Outcome::not_executed,
            "{} is a secondary, and does not refuse a write", member.host);
    require(site[0].stored(lock.name).is_null(), "{} executed what it refused", member.host);
    ++refused;
  });
  if (refused == 0) throw NotTried("no secondary answers", true);
}},
{"unknown-words-are-refused", [](TrialSite& site) {
  constexpr int kCommandNotFound = 59;
  const auto name = site.name("unknown");
  for (const std::string stage : {R"({"$leaseholdUnknownStage": {}})",
                                  R"({"$set": {"n": {"$leaseholdUnknownOperator": 1}}})"}) {
    const Json reply = site[0].run(R"({"findAndModify": "@", "query": {"_id": "#"},
        "upsert": true, "update": [)" + stage + "]}", name);
    require(integer(reply["ok"]) == 0 && reply.contains("code"),
            "a pipeline with an unknown word was executed");
    require(site[0].stored(name).is_null(), "a pipeline with an unknown word wrote");
  }
  const Json reply = site[0].run(R"({"leaseholdUnknownCommand": 1})");
  require(code_of(reply) == kCommandNotFound, "an unknown command gets {}", reply.dump());
}},
{"repeated-write-is-marked", [](TrialSite& site) {
  // The driver gives consecutive commands of one connection the same session.
  const auto name = site.name("repeated");
  const auto numbered = count(format(R"(, "txnNumber": {{"$numberLong": "{}"}})",
                                     site.owner().low));  // rises in each session
  site[0].must(numbered, name);
  const Json again = site[0].must(numbered, name);
  require(site[0].stored(name)["n"] == 1, "a repeated write was executed twice");
  require(again.contains("retriedStmtId"), "the reply to a repeated write does not say so");
}},
// Attempts of several processes at one lock.
{"one-winner-of-a-missing-lock", [](TrialSite& site) { race(site, std::chrono::seconds(0)); }},
// The lease is over also by another mongos' clock.
{"one-winner-of-an-expired-lock", [](TrialSite& site) { race(site, -kTrialLease); }},
{"reply-shows-its-own-write", [](TrialSite& site) {
  const auto name = site.name("counted");
  site[0].must(count(), name);  // the rest are updates
  constexpr std::size_t kEach = 6;
  std::array<std::int64_t, TrialSite::kConnections * kEach> shown;
  site.at_once([&](std::size_t i, Asker& asker) {
    for (std::size_t n = i * kEach; n < (i + 1) * kEach; ++n) {
      shown[n] = integer(asker.must(count(), name)["value"]["n"]);
    }
  });
  std::ranges::sort(shown);
  std::int64_t next = 2;
  for (const auto n : shown) {
    require(n == next, "of updates at the same time, one reply shows {}, and {} was next", n, next);
    ++next;
  }
}},
{"refused-attempt-changes-nothing", [](TrialSite& site) {
  const auto holder = site.taken("held");
  const Json before = site[0].stored(holder.name);
  for (std::size_t i = 0; i < TrialSite::kConnections; ++i) {
    const auto seen = site[i].document(site.attempt(holder.name)).lock_id;
    require(seen == holder.lock_id, "an attempt at a held lock shows '{}'", seen);
  }
  const Json after = site[0].stored(holder.name);
  require(after == before, "refused attempts changed the document to {}", after.dump());
}},
{"attempt-knows-its-earlier-win", [](TrialSite& site) {
  const auto first = site.attempt(site.name("again"));
  auto second = site.attempt(first.name, first.owner);
  second.lease = kTrialLease / 2;
  const auto before = site[0].document(first);
  const auto expires = [&] { return date_ms(site[0].stored(first.name)["expiresAt"]); };
  const auto stored = expires();
  const auto after = site[1].document(second);
  require(after.lock_id == second.lock_id, "the same owner's next attempt was refused");
  require(after.acquired_at == before.acquired_at, "acquiredAt changed");
  require(expires() >= stored, "a shorter lease lowered expiresAt");
}},
{"corrupt-document-is-held", [](TrialSite& site) {
  // The TTL monitor removes what has a date that is past.
  for (const std::string odd :
       {R"("lockId": "theirs", "expiresAt": 7)", R"("lockId": "theirs", "expiresAt": "text")",
        R"("lockId": "theirs", "expiresAt": null)",
        R"("lockId": 7, "expiresAt": {"$date": {"$numberLong": "4102444800000"}})"}) {
    const auto name = site.name("corrupt");
    site[0].must(R"({"insert": "@", %, "documents": [{"_id": "#", )" + odd + "}]}", name);
    require(!site[1].document(site.attempt(name)).corruption.empty(),
            "a lock was won with {}", odd);
  }
}},
{"hand-over-needs-its-owner", [](TrialSite& site) {
  const auto giver = site.taken("handed"), receiver = site.attempt(giver.name);
  const auto gives = hand_over(giver, receiver);
  auto wrong = gives, elsewhere = gives;
  wrong.from = wrong.owner = site.owner();
  elsewhere.name = site.name("never");
  require(site[1].sure(wrong).documents.empty(), "a hand-over by another owner wrote");
  require(site[0].document(gives).lock_id == receiver.lock_id, "the receiver lacks the lock");
  require(site[1].sure(elsewhere).documents.empty(), "a hand-over made a lock that nobody had");
}},
// Extensions, deletes and the queue.
{"extensions-are-counted", [](TrialSite& site) {
  core::ExtendCommand batch;
  core::ReadHoldersCommand look;
  for (int i = 0; i < 4; ++i) {
    const auto lock = site.attempt(site.name("extended"));
    const auto next = site.attempt(lock.name, lock.owner).lock_id;
    batch.statements.push_back({0, lock.name, lock.owner, site[0].document(lock).acquired_at, next,
                                kTrialLease, {}, {}});
    look.names.push_back(lock.name);
  }
  site[0].sure(core::DeleteCommand{look.names[1], batch.statements[1].owner, {}});
  batch.statements[2].acquired_at.since_1970_ms -= 1;  // of another grant of the same owner
  const auto reply = site[1].sure(batch);
  require(reply.matched == 2 && reply.failed.empty(),
          "of four extensions two had their lock, and the reply counts {}", reply.matched);
  std::size_t shown = 0;
  for (const auto& document : site[1].sure(look).documents) {
    for (const std::size_t i : {0u, 3u}) {
      shown += document.lock_id == batch.statements[i].lock_id ? 1 : 0;
    }
  }
  require(shown == 2, "the documents show {} of two extensions", shown);
}},
{"batch-goes-on-past-an-error", [](TrialSite& site) {
  const auto lock = site.taken("good");
  auto bad = lock;
  bad.name += "-not";
  site[0].sure(bad);
  const Json reply = site[1].run(R"({"update": "@", "updates": [
      {"q": {"_id": "#-not"}, "u": [{"$set": {"lockId": {"$add": ["$lockId", 1]}}}]},
      {"q": {"_id": "#"}, "u": {"$set": {"n": 1}}}],
      "ordered": false, %})", lock.name);
  const Json errors = reply.value("writeErrors", Json::array());
  require(errors.size() == 1 && integer(errors[0]["index"]) == 0,
          "the error of the first of two statements is reported as {}", errors.dump());
  require(integer(reply["n"]) == 1 && site[0].stored(lock.name).contains("n"),
          "the second statement was not executed");
}},
{"delete-is-by-owner", [](TrialSite& site) {
  const auto lock = site.taken("deleted");
  const auto deleted_by = [&](core::Owner owner) {
    return site[1].sure(core::DeleteCommand{lock.name, owner, {}}).matched;
  };
  require(deleted_by(site.owner()) == 0 && !site[0].stored(lock.name).is_null(),
          "another owner's delete removed the lock");
  require(deleted_by(lock.owner) == 1 && site[0].stored(lock.name).is_null(),
          "the owner's delete did not remove the lock");
  require(deleted_by(lock.owner) == 0, "a second delete counts a document");
}},
{"queue-is-served-in-order", [](TrialSite& site) {
  // The first release in a second of the server's clock only offers the lock: then the document is
  // free, and the TTL monitor may be quicker than a look at it. So the next one is served too.
  const auto holder = site.taken("queue");
  auto first = site.attempt(holder.name), second = site.attempt(holder.name);
  first.queues_for = second.queues_for = kTrialLease;
  site[1].sure(first);
  const auto owners = core::owners_in(site[1].document(second).queue);
  require(owners == std::vector<core::Owner>{first.owner, second.owner},
          "the queue has {} of two that wait, or another order", owners.size());
  const auto before = site[0].document(core::PassOnCommand{holder.name, holder.owner, {}});
  require(before.lock_id == holder.lock_id, "a release shows another holder");
  first.lock_id = site.attempt(holder.name, first.owner).lock_id;
  const auto next = site[1].document(first);
  require(core::names_owner(next.lock_id, first.owner), "the first in the queue was not served");
  const auto rest = core::owners_in(next.queue);
  require(rest.empty() || rest == std::vector<core::Owner>{second.owner}, "the queue did not move");
}, false},
// A set's two clocks: its cluster time, by which fencing tokens rise, and $$NOW.
{"operation-time-is-the-writes", [](TrialSite& site) {
  const auto name = site.name("token");
  std::string before;
  for (const Grant& grant : grants_in_traffic(site, name)) {
    require(lock_id_at(site[0], name, grant.at) == grant.lock_id,
            "at the operationTime of a write, {}, it does not show", text_of(grant.at));
    require(lock_id_at(site[0], name, FencingToken(grant.at.value() - 1)) == before,
            "a write shows before its operationTime, {}", text_of(grant.at));
    before = grant.lock_id;
  }
}},
{"token-rises-over-a-deletion", [](TrialSite& site) {
  const auto name = site.name("risen");
  FencingToken last;
  for (std::size_t i = 0; i < 6; ++i) {
    Asker& asker = site[i % TrialSite::kConnections];
    const auto lock = site.attempt(name);
    const auto at = asker.sure(lock).operation_time;
    require(at > last, "a later holder's time, {}, is not after {}", text_of(at), text_of(last));
    last = at;
    (i % 2 == 0 ? asker : site[0]).sure(core::DeleteCommand{name, lock.owner, {}});
  }
}},
{"cluster-time-is-below-the-write", [](TrialSite& site) {
  for (const Grant& grant : grants_in_traffic(site, site.name("bound"))) {
    require(grant.stored < grant.at.value(),
            "$$CLUSTER_TIME in an update is not before the write, at {}", text_of(grant.at));
  }
}},
{"now-is-the-primarys", [](TrialSite& site) {
  constexpr std::int64_t kTick_ms = 250;  // servers may read a clock that is updated now and then
  for (int i = 0; i < 4; ++i) {
    const auto before = date_ms(site[0].hello()["localTime"]);
    const auto now = site[0].document(site.attempt(site.name("now"))).acquired_at.since_1970_ms;
    const auto after = date_ms(site[0].hello()["localTime"]);
    require(now >= before - kTick_ms && now <= after + kTick_ms, "$$NOW is {} ms later than the "
            "primary's clock before, and {} ms earlier than after", now - before, after - now);
  }
}},
{"now-runs-as-our-clock", [](TrialSite& site) {
  constexpr milliseconds kApart{300}, kTick{50};
  const auto first = read_now(site, site.attempt(site.name("first")));
  std::this_thread::sleep_for(kApart);
  const auto second = read_now(site, site.attempt(site.name("second")));
  const auto least = second.sent - first.received - kTick;
  const auto most = second.received - first.sent + kTick;
  const auto passed = second.now - first.now;
  require(passed >= least && passed <= most, "$$NOW went on by {} ms in at least {} and at most {} "
          "ms", passed.count(), least.count(), most.count());
}},
{"now-is-one-in-a-write", [](TrialSite& site) {
  constexpr milliseconds kLong{40};
  for (int size = 50'000; size <= 3'200'000; size *= 4) {
    const auto began = our_clock();
    const Json left = site[0].must(format(R"({{"findAndModify": "@", "query": {{"_id": "#"}},
        "update": [{{"$set": {{"first": "$$NOW"}}}}, {{"$set": {{"sum": {{"$reduce": {{"input":
        {{"$range": [0, {}]}}, "initialValue": 0, "in": {{"$add": ["$$value", "$$this"]}}}}}}}}}},
        {{"$set": {{"last": "$$NOW"}}}}], "upsert": true, "new": true}})", size),
                                   site.name("once"))["value"];
    require(date_ms(left["first"]) > 0 && left["first"] == left["last"],
            "one update has $$NOW {} and {}", left["first"].dump(), left["last"].dump());
    if (our_clock() - began >= kLong) return;
  }
  throw NotTried("this server is too quick: no update took 40 ms", true);
}},
{"lock-expires-by-the-primary", [](TrialSite& site) {
  constexpr milliseconds kLease{400}, kTick{50}, kPause{20}, kLongest{10'000};
  auto dead = site.attempt(site.name("lease"));
  dead.lease = kLease;
  const auto granted = read_now(site, dead);
  for (auto waited = milliseconds(0); waited < kLongest; waited += kPause) {
    const auto lock = site.attempt(dead.name);
    const auto sent = our_clock();
    const bool free = site[0].document(lock).lock_id == lock.lock_id;
    const auto most = our_clock() - granted.sent, least = sent - granted.received;
    require(!free || most + kTick >= kLease,
            "a lock for 400 ms was given away after {} ms", most.count());
    require(free || least <= kLease + kTick,
            "a lock for 400 ms is still held {} ms after it was taken", least.count());
    if (free) return;
    std::this_thread::sleep_for(kPause);
  }
  throw NotTried("the attempts took too long");
}},
// Change streams, which bring those who queue the news of their grant.
{"each-grant-is-reported-once", [](TrialSite& site) {
  News news(site);
  const auto given = news.of_grants(site);
  require(news.heard.size() == given.size(),
          "of {} grants {} were reported", given.size(), news.heard.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    require(news.heard[i].document.lock_id == given[i].lock_id,
            "another write than the grant is reported, or in another order");
  }
}, false},
{"news-has-the-time-of-the-write", [](TrialSite& site) {
  News news(site);
  std::size_t found = 0;
  for (const auto& one : news.of_grants(site)) {
    for (const auto& event : news.heard) {
      if (event.document.lock_id != one.lock_id) continue;
      ++found;
      require(event.at == one.at,
              "a write at {} is reported as of {}", text_of(one.at), text_of(event.at));
    }
  }
  require(found > 0, "no grant was reported");
}},
{"stream-waits-for-news", [](TrialSite& site) {
  constexpr milliseconds kAtLeast{200};
  News news(site);
  const auto began = our_clock();
  news.wait();
  const auto waited = our_clock() - began;
  require(waited >= kAtLeast, "a wait of 400 ms for news took {} ms", waited.count());
}, false},
// The removal of dead holders' documents.
{"index-is-made-as-asked", [](TrialSite& site) {
  constexpr int kOptionsConflict = 85, kKeySpecsConflict = 86;
  site[0].sure(core::EnsureIndexCommand{});
  const Json listed = site[1].must(R"({"listIndexes": "@"})");
  const auto wrong = mongo::judge_indexes(*mongo::from_json(listed).get());
  require(wrong.empty(), "{}", wrong);
  site[1].sure(core::EnsureIndexCommand{});  // another process does the same
  const auto code = code_of(site[1].run(R"({"createIndexes": "@", "indexes": [
      {"key": {"expiresAt": 1}, "name": "other", "expireAfterSeconds": 60}]})"));
  require(code == kOptionsConflict || code == kKeySpecsConflict,
          "a second index on expiresAt with other options is answered with code {}", code);
}, false},
{"expired-document-is-removed", [](TrialSite& site) {
  constexpr milliseconds kLongest{3'000}, kMore{20'000}, kPause{50};
  site[0].sure(core::EnsureIndexCommand{});
  auto dead = site.attempt(site.name("dead"));
  dead.lease = milliseconds(1);
  const auto alive = site.taken("alive");
  site[0].sure(dead);
  const Json monitor = site[0].admin(
      R"({"getParameter": 1, "ttlMonitorEnabled": 1, "ttlMonitorSleepSecs": 1})");
  if (integer(monitor["ok"]) == 0) {
    throw NotTried("how often the TTL monitor passes is not known here", true);
  }
  require(monitor.value("ttlMonitorEnabled", true), "ttlMonitorEnabled is false");
  const milliseconds period{integer(monitor["ttlMonitorSleepSecs"]) * 1'000};
  if (period > kLongest) {
    throw NotTried(format("{} s are between two passes of the TTL monitor: leasehold doctor alone "
                          "finds documents that stay", period.count() / 1'000), true);
  }
  const auto until = our_clock() + period + kMore;
  while (!site[0].stored(dead.name).is_null()) {
    require(our_clock() < until, "an expired document stays");
    std::this_thread::sleep_for(kPause);
  }
  require(!site[0].stored(alive.name).is_null(), "a document was removed that had not expired");
}, false},
};
// clang-format on

/// How long a reply may take: a set that needs longer is in trouble.
constexpr milliseconds kReplyTimeout{10'000};

/// 0: the driver's choice, which is the primary of a set.
std::uint32_t router_of(MongoClient& client, std::size_t number) {
  bool is_cluster = false;
  client.run_once("admin", {{"hello", 1}},
                  [&](const bson_t& hello) { is_cluster = mongo::is_mongos(hello); });
  if (!is_cluster) return 0;
  const auto all = client.members();
  return all[number % all.size()].id;
}

}  // namespace

Servers connect_to(const std::string& uri, std::size_t number) {
  const auto client = std::make_shared<MongoClient>(uri, kReplyTimeout);
  return {[client, number, router = std::optional<std::uint32_t>()](
              const std::string& database, const mongo::Bson& command,
              std::uint32_t member) mutable {
            if (!router) router = router_of(*client, number);
            mongo::Bson reply;
            client->send(
                database, *command.get(), member == 0 ? *router : member,
                [&reply](const bson_t& bytes) { reply = mongo::Bson(bson_copy(&bytes)); });
            return reply;
          },
          [client] { return client->members(); }};
}

milliseconds our_clock() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return milliseconds(now.tv_sec * 1'000 + now.tv_nsec / 1'000'000);
}

const std::vector<Fact>& facts() {
  static const auto all = [] {
    constexpr std::string_view kHead = "\n|---|---|---|\n";
    static const std::regex row(R"(\| ([^|]+) \| ([^|]+) \| ([^|]+) \|)");
    std::istringstream page{std::string(pages::SERVERS_md)};
    page.ignore(static_cast<std::streamsize>(pages::SERVERS_md.find(kHead) + kHead.size()));
    std::vector<Fact> of_page;
    std::size_t tried = 0;
    for (std::string line; std::getline(page, line);) {
      std::smatch cells;
      if (!std::regex_match(line, cells, row)) break;
      const auto trial = std::ranges::find(kTrials, cells[1].str(), &Trial::name);
      const bool has_one = trial != kTrials.end();
      tried += has_one ? 1 : 0;
      of_page.push_back({cells[1], cells[2], cells[3], !has_one || trial->needed,
                         has_one ? trial->of : nullptr});
    }
    if (tried != kTrials.size()) throw std::logic_error("SERVERS.md lacks a fact that is tried");
    return of_page;
  }();
  return all;
}

Finding try_fact(const Fact& fact, TrialSite& site) {
  if (fact.trial == nullptr) {
    return {&fact, Finding::Is::not_tried, "needs a fault of servers: verify has them"};
  }
  try {
    fact.trial(site);
    return {&fact, Finding::Is::holds, fact.says};
  } catch (const Fails& seen) {
    return {&fact, Finding::Is::fails, seen.what(), true};
  } catch (const NotTried& why) {
    return {&fact, Finding::Is::not_tried, why.what(), fact.needed && !why.of_this_set};
  }
}

}  // namespace leasehold::lab
