#include "cli/facts/facts.hpp"
#include "core/document/lock_id.hpp"
#include "core/document/lock_queue.hpp"

/// Facts on extensions, deletes and the queue.
namespace leasehold::cli {
namespace {

core::ExtendStatement extension(TrialSite& site, const core::AcquireCommand& of,
                                core::ServerInstant acquired_at) {
  auto next = site.attempt(of.name, of.owner);
  core::ExtendStatement statement{};
  statement.name = of.name;
  statement.owner = of.owner;
  statement.acquired_at = acquired_at;
  statement.lock_id = next.lock_id;
  statement.lease = kTrialLease;
  return statement;
}

std::string extensions_are_counted(TrialSite& site) {
  core::ExtendCommand batch;
  core::ReadHoldersCommand look;
  for (int i = 0; i < 4; ++i) {
    const auto lock = site.attempt(site.name("extended"));
    const auto granted = site[0].document(site[0].sure(lock));
    batch.statements.push_back(extension(site, lock, granted.acquired_at));
    look.names.push_back(lock.name);
  }
  site[0].sure(core::DeleteCommand{look.names[1], batch.statements[1].owner, {}});
  batch.statements[2].acquired_at.since_1970_ms -= 1;  // of another grant of the same owner
  const auto reply = site[1].sure(batch);
  require(reply.matched == 2 && reply.failed.empty(),
          "of four extensions two had their lock, and the reply counts " +
              std::to_string(reply.matched));
  std::size_t shown = 0;
  for (const auto& document : site[1].sure(look).documents) {
    for (const std::size_t i : {0u, 3u}) {
      shown += document.lock_id == batch.statements[i].lock_id ? 1 : 0;
    }
  }
  require(shown == 2, "the documents show " + std::to_string(shown) + " of two extensions");
  return "of four extensions the two that had their lock were made and counted";
}

std::string batch_goes_on_past_an_error(TrialSite& site) {
  const auto bad = site.attempt(site.name("bad")), good = site.attempt(site.name("good"));
  site[0].sure(bad);
  site[0].sure(good);
  const Json add{{"$set", {{"lockId", {{"$add", Json::array({"$lockId", 1})}}}}}};
  const Json put{{"$set", {{"n", 1}}}};
  const Json reply = site[1].run(
      {{"update", site[1].collection()},
       {"updates", Json::array({{{"q", {{"_id", bad.name}}}, {"u", Json::array({add})}},
                                {{"q", {{"_id", good.name}}}, {"u", Json::array({put})}}})},
       {"ordered", false},
       {"writeConcern", {{"w", "majority"}}}});
  const Json errors = reply.value("writeErrors", Json::array());
  require(errors.size() == 1 && mongo::integer(errors[0]["index"]) == 0,
          "the error of the first of two statements is reported as " + errors.dump());
  require(mongo::integer(reply["n"]) == 1 && site[0].stored(good.name).contains("n"),
          "the second statement was not executed");
  return "a statement failed and is named; the next one was executed and counted";
}

std::string delete_is_by_owner(TrialSite& site) {
  const auto lock = site.attempt(site.name("deleted"));
  site[0].sure(lock);
  const auto deleted_by = [&](core::Owner owner) {
    return site[1].sure(core::DeleteCommand{lock.name, owner, {}}).matched;
  };
  require(deleted_by(site.owner()) == 0 && !site[0].stored(lock.name).is_null(),
          "another owner's delete removed the lock");
  require(deleted_by(lock.owner) == 1 && site[0].stored(lock.name).is_null(),
          "the owner's delete did not remove the lock");
  require(deleted_by(lock.owner) == 0, "a second delete counts a document");
  return "the owner's delete removed the lock, and others nothing";
}

/// The first release in a second of the server's clock only offers the lock: then the document is
/// free, and the TTL monitor may be quicker than a look at it. So the next one is served too.
std::string queue_is_served_in_order(TrialSite& site) {
  const auto holder = site.attempt(site.name("queue"));
  auto first = site.attempt(holder.name), second = site.attempt(holder.name);
  first.queues_for = second.queues_for = kTrialLease;
  site[0].sure(holder);
  site[1].sure(first);
  const auto owners = core::owners_in(site[1].document(site[1].sure(second)).queue);
  require(owners == std::vector<core::Owner>{first.owner, second.owner},
          "the queue has " + std::to_string(owners.size()) + " of two that wait, or another order");
  core::PassOnCommand gives{holder.name, holder.owner, {}};
  const auto before = site[0].document(site[0].sure(gives));
  require(before.lock_id == holder.lock_id, "a release shows another holder");
  first.lock_id = site.attempt(holder.name, first.owner).lock_id;
  const auto next = site[1].document(site[1].sure(first));
  require(core::names_owner(next.lock_id, first.owner), "the first in the queue was not served");
  const auto rest = core::owners_in(next.queue);
  require(rest.empty() || rest == std::vector<core::Owner>{second.owner}, "the queue did not move");
  return "two that wait stand in order; a release served the first";
}

}  // namespace

std::vector<Fact> facts_of_writes() {
  return {
      {"extensions-are-counted",
       "an update of several statements counts those whose query found a document, dates compared "
       "exactly",
       "a lost lock may be taken for extended, or an extended one for lost", true,
       extensions_are_counted},
      {"batch-goes-on-past-an-error",
       "an unordered update names the statement that failed and executes the others",
       "one damaged document may cost other locks their extension", true,
       batch_goes_on_past_an_error},
      {"delete-is-by-owner",
       "a delete finds a document by the beginning of its lockId, and counts it",
       "a release may free another's lock, or report a lock freed that is not", true,
       delete_is_by_owner},
      {"queue-is-served-in-order",
       "updates can append to, and take from, the list of those who wait in the document",
       "queue_waiting keeps no order", false, queue_is_served_in_order},
  };
}

}  // namespace leasehold::cli
