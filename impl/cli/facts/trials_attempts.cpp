#include <array>
#include <set>

#include "cli/facts/facts.hpp"
#include "core/document/lock_id.hpp"

/// Facts on the attempts of several processes at one lock.
namespace leasehold::cli {
namespace {

constexpr int kRounds = 4;
using core::Outcome;

/// What one of several attempts at the same time brought.
struct Rival {
  core::AcquireCommand sent;
  core::Reply reply;
  [[nodiscard]] bool won() const {
    return reply.outcome == Outcome::done && !reply.documents.empty() &&
           reply.documents.front().lock_id == sent.lock_id;
  }
};

/// All at once; one of them has to win, and the rest has to see that.
void race(TrialSite& site, const std::string& name) {
  std::array<Rival, TrialSite::kConnections> rivals;
  for (Rival& one : rivals) one.sent = site.attempt(name);
  site.at_once([&](std::size_t i, Asker& asker) { rivals[i].reply = asker.send(rivals[i].sent); });
  const Json left = site[0].stored(name);
  require(!left.is_null(), "the lock has no document after it was won");
  const auto holder = left.value("lockId", "");
  int winners = 0;
  for (const Rival& one : rivals) {
    if (one.reply.outcome == Outcome::duplicate_key) continue;
    const bool is_certain = one.reply.outcome == Outcome::done;
    if (!is_certain) throw NotTried("no certain answer: " + one.reply.message);
    winners += one.won() ? 1 : 0;
    require(one.reply.documents.size() == 1 && one.reply.documents.front().lock_id == holder,
            "a reply shows another holder than the document");
  }
  require(winners == 1, std::to_string(winners) + " of " + std::to_string(rivals.size()) +
                            " attempts at the same time won one lock");
}

std::string races() {
  return std::to_string(kRounds) + " times " + std::to_string(TrialSite::kConnections) +
         " attempts at once: one won each time";
}

std::string one_winner_of_a_missing_lock(TrialSite& site) {
  for (int i = 0; i < kRounds; ++i) race(site, site.name("missing"));
  return races();
}

std::string one_winner_of_an_expired_lock(TrialSite& site) {
  for (int i = 0; i < kRounds; ++i) {
    auto dead = site.attempt(site.name("expired"));
    dead.lease = -kTrialLease;  // also by another mongos' clock
    site[0].sure(dead);
    race(site, dead.name);
  }
  return races();
}

std::string reply_shows_its_own_write(TrialSite& site) {
  constexpr int kEach = 6;
  const auto name = site.name("counted");
  const Json add{
      {"$set", {{"n", {{"$add", Json::array({{{"$ifNull", Json::array({"$n", 0})}}, 1})}}}}}};
  const Json command{{"findAndModify", site[0].collection()},
                     {"query", {{"_id", name}}},
                     {"update", Json::array({add})},
                     {"upsert", true},
                     {"new", true},
                     {"writeConcern", {{"w", "majority"}}}};
  site[0].must(command);  // the rest are updates
  std::array<std::vector<std::int64_t>, TrialSite::kConnections> shown;
  site.at_once([&](std::size_t i, Asker& asker) {
    for (int n = 0; n < kEach; ++n) {
      shown[i].push_back(mongo::integer(asker.must(command)["value"]["n"]));
    }
  });
  std::multiset<std::int64_t> all;
  for (const auto& of_one : shown) all.insert(of_one.begin(), of_one.end());
  std::int64_t next = 2;
  for (const auto n : all) {
    require(n == next, "of updates at the same time, one reply shows " + std::to_string(n) +
                           " where " + std::to_string(next) + " was next");
    ++next;
  }
  return std::to_string(all.size()) + " updates at the same time: each shows a state of its own";
}

std::string refused_attempt_changes_nothing(TrialSite& site) {
  const auto holder = site.attempt(site.name("held"));
  site[0].sure(holder);
  const Json before = site[0].stored(holder.name);
  for (std::size_t i = 0; i < TrialSite::kConnections; ++i) {
    const auto seen = site[i].document(site[i].sure(site.attempt(holder.name)));
    require(seen.lock_id == holder.lock_id,
            "an attempt at a held lock shows '" + seen.lock_id + "'");
  }
  const Json after = site[0].stored(holder.name);
  require(after == before, "refused attempts changed the document to " + after.dump());
  return std::to_string(TrialSite::kConnections) + " refused attempts left the document as it was";
}

std::string attempt_knows_its_earlier_win(TrialSite& site) {
  const auto first = site.attempt(site.name("again"));
  auto second = site.attempt(first.name, first.owner);
  second.lease = kTrialLease / 2;
  const auto before = site[0].document(site[0].sure(first));
  const Json stored = site[0].stored(first.name);
  const auto after = site[1].document(site[1].sure(second));
  require(after.lock_id == second.lock_id, "the same owner's next attempt was refused");
  require(after.acquired_at == before.acquired_at, "acquiredAt changed");
  require(mongo::date_ms(site[0].stored(first.name)["expiresAt"]) >=
              mongo::date_ms(stored["expiresAt"]),
          "a shorter lease lowered expiresAt");
  return "a second attempt of the owner won, and kept both dates";
}

std::string corrupt_document_is_held(TrialSite& site) {
  const std::vector<std::pair<const char*, Json>> odd{
      {"expiresAt", 7}, {"expiresAt", "text"}, {"expiresAt", nullptr}, {"lockId", 7}};
  for (const auto& [field, value] : odd) {
    Json document{{"_id", site.name("corrupt")},
                  {"lockId", "theirs"},
                  {"expiresAt", {{"$date", {{"$numberLong", "1"}}}}}};
    document[field] = value;
    // The TTL monitor removes what has a date that is past.
    const bool has_date = document["expiresAt"].is_object();
    if (has_date) document["expiresAt"]["$date"]["$numberLong"] = "4102444800000";  // 2100
    site[0].must({{"insert", site[0].collection()},
                  {"documents", Json::array({document})},
                  {"writeConcern", {{"w", "majority"}}}});
    const auto seen = site[1].document(site[1].sure(site.attempt(document["_id"])));
    require(!seen.corruption.empty(),
            std::string("a lock was won whose ") + field + " was " + value.dump());
  }
  return std::to_string(odd.size()) + " documents with fields of other types: all count as held";
}

std::string hand_over_needs_its_owner(TrialSite& site) {
  const auto giver = site.attempt(site.name("handed"));
  const auto receiver = site.attempt(giver.name);
  site[0].sure(giver);
  const core::HandOverCommand gives{
      1, giver.name, giver.owner, receiver.owner, receiver.lock_id, kTrialLease, {}};
  auto wrong = gives;
  wrong.from = site.owner();
  wrong.owner = site.owner();
  require(site[1].sure(wrong).documents.empty(), "a hand-over of an owner that has no lock wrote");
  const auto after = site[0].document(site[0].sure(gives));
  require(after.lock_id == receiver.lock_id, "the receiver does not have the lock");
  auto elsewhere = gives;
  elsewhere.name = site.name("never");
  require(site[1].sure(elsewhere).documents.empty(), "a hand-over made a lock that nobody had");
  return "the receiver has it; two hand-overs by others wrote nothing";
}

}  // namespace

std::vector<Fact> facts_of_attempts() {
  return {
      {"one-winner-of-a-missing-lock",
       "of several upserts of one name at the same time, one inserts and the others see that",
       "two processes may get one lock at the same time", true, one_winner_of_a_missing_lock},
      {"one-winner-of-an-expired-lock",
       "of several conditional updates of one document at the same time, one has its way",
       "two processes may take over one lock at the same time", true,
       one_winner_of_an_expired_lock},
      {"reply-shows-its-own-write",
       "findAndModify returns the document that this very command left, not a later one",
       "an attempt may be taken for won that was not, or the reverse", true,
       reply_shows_its_own_write},
      {"refused-attempt-changes-nothing",
       "an update that leaves the document as it is writes nothing",
       "an attempt may take a lock that is held", true, refused_attempt_changes_nothing},
      {"attempt-knows-its-earlier-win",
       "an update sees the owner in the document, and $max of dates keeps the later one",
       "a lock that was won without an answer stays taken, or its lease ends early", true,
       attempt_knows_its_earlier_win},
      {"corrupt-document-is-held", "an update can tell the types of fields that it compares",
       "a damaged document, or one of other software, may be overwritten", true,
       corrupt_document_is_held},
      {"hand-over-needs-its-owner",
       "findAndModify without upsert changes a document that its query finds, or nothing",
       "a hand-over may take another's lock", true, hand_over_needs_its_owner},
  };
}

}  // namespace leasehold::cli
