#include <chrono>
#include <optional>
#include <thread>

#include "cli/facts/facts.hpp"
#include "mongo/replies.hpp"

/// Facts on the removal of dead holders' documents, and those that need a fault to be seen.
namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

std::string index_is_made_as_asked(TrialSite& site) {
  site[0].sure(core::EnsureIndexCommand{});
  const Json listed = site[1].must({{"listIndexes", site[1].collection()}});
  const auto wrong = mongo::judge_indexes(*mongo::from_json(listed).get());
  require(wrong.empty(), wrong);
  site[1].sure(core::EnsureIndexCommand{});  // another process does the same
  const Json other{{"key", {{"expiresAt", 1}}}, {"name", "other"}, {"expireAfterSeconds", 60}};
  const Json reply =
      site[1].run({{"createIndexes", site[1].collection()}, {"indexes", Json::array({other})}});
  constexpr int kOptionsConflict = 85, kKeySpecsConflict = 86;
  const auto code = mongo::integer(reply.value("code", Json(0)));
  require(code == kOptionsConflict || code == kKeySpecsConflict,
          "a second index on expiresAt with other options is answered with code " +
              std::to_string(code));
  return "made, listed as it was asked for, and refused with other options";
}

/// How long a pass of the TTL monitor may be away; none: the role may not ask.
std::optional<milliseconds> ttl_period(TrialSite& site) {
  const Json reply = mongo::to_json(
      *site[0]
           .connection()
           .ask("admin",
                mongo::from_json(
                    {{"getParameter", 1}, {"ttlMonitorEnabled", 1}, {"ttlMonitorSleepSecs", 1}}),
                0)
           .get());
  if (mongo::integer(reply["ok"]) == 0) return std::nullopt;
  require(reply.value("ttlMonitorEnabled", true), "the TTL monitor is disabled: ttlMonitorEnabled");
  return std::chrono::seconds(mongo::integer(reply["ttlMonitorSleepSecs"]));
}

std::string expired_document_is_removed(TrialSite& site) {
  constexpr milliseconds kLongest{3'000}, kMore{20'000}, kPause{50};
  site[0].sure(core::EnsureIndexCommand{});
  auto dead = site.attempt(site.name("dead"));
  dead.lease = milliseconds(1);
  const auto alive = site.attempt(site.name("alive"));
  site[0].sure(alive);
  site[0].sure(dead);
  const auto period = ttl_period(site);
  if (!period || *period > kLongest) {
    const auto why = period
                         ? std::to_string(period->count() / 1'000) +
                               " s are between two passes of the TTL monitor: doctor alone finds "
                               "documents that stay"
                         : "how often the TTL monitor passes is not known here";
    throw NotTried(why, true);
  }
  const auto until = our_clock() + *period + kMore;
  while (!site[0].stored(dead.name).is_null()) {
    require(our_clock() < until, "an expired document stays");
    std::this_thread::sleep_for(kPause);
  }
  require(!site[0].stored(alive.name).is_null(), "a document was removed that had not expired");
  return "an expired document was removed, one that is not expired was not";
}

}  // namespace

std::vector<Fact> facts_of_removal() {
  return {
      {"index-is-made-as-asked",
       "the TTL index is made as it was asked for, and refused with other options",
       "documents of dead holders stay, or go too early", false, index_is_made_as_asked},
      {"expired-document-is-removed",
       "the TTL monitor removes documents whose expiresAt is past, and no other",
       "documents of dead holders stay, or held locks are given away", false,
       expired_document_is_removed},
  };
}

std::vector<Fact> facts_of_faults() {
  return {
      {"election-keeps-what-is-confirmed",
       "a new primary has every write that a majority confirmed",
       "two processes may hold one lock after an election", true, nullptr},
      {"old-primary-confirms-nothing", "a primary that was cut off confirms no write",
       "two processes may hold one lock during an election", true, nullptr},
      {"time-rises-over-an-election", "operationTime rises from one primary to the next",
       "a later holder may have a lower fencing token", true, nullptr},
      {"crash-keeps-what-is-confirmed",
       "a majority that is killed and restarted has what it confirmed",
       "two processes may hold one lock after a power failure", true, nullptr},
  };
}

}  // namespace leasehold::cli
