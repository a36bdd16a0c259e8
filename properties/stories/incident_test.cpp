#include "properties/stories/incident.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <leasehold/fencing_token.hpp>
#include <map>
#include <set>
#include <sstream>

#include "properties/campaigns/campaign.hpp"
#include "properties/stories/scenario.hpp"

namespace leasehold::properties {
namespace {

using model::Event;
using model::Check;
using model::Kind;
using sim::live::Json;

constexpr std::int64_t kBegan_ms = 1'795'550'400'000;
constexpr std::int64_t kExpiry_ms = 1'000, kMargin_ms = 500;

std::int64_t date_of(const Event& e) { return kBegan_ms + e.at_ns / model::kMs; }

/// What the servers keep of a run: who is in the documents, and until when.
std::vector<Json> oplog_of(const model::History& history) {
  std::vector<Json> entries;
  for (const Event& e : history) {
    if (e.kind != Kind::put && e.kind != Kind::gone) continue;
    const auto seconds = FencingToken::kEpochSeconds + (e.order >> 32);
    Json entry{{"ts", {{"$timestamp", {{"t", seconds}, {"i", e.order & 0xffff'ffff}}}}},
               {"wall", {{"$date", date_text(date_of(e))}}},
               {"ns", "test.distributed.locks"}};
    if (e.kind == Kind::gone) {
      entry.update({{"op", "d"}, {"o", {{"_id", e.name}}}});
    } else {
      const auto expires = date_text(date_of(e) + kExpiry_ms + kMargin_ms);
      entry.update({{"op", "u"},
                    {"o2", {{"_id", e.name}}},
                    {"o",
                     {{"_id", e.name},
                      {"lockId", e.lock_id},
                      {"expiresAt", {{"$date", expires}}}}}});
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Json& a, const Json& b) {
    return sim::live::packed_timestamp(a["ts"]) < sim::live::packed_timestamp(b["ts"]);
  });
  return entries;
}

/// What an application writes down of its locks.
std::vector<LogLine> log_of(const model::History& history) {
  std::vector<LogLine> lines;
  for (const Event& e : history) {
    LogLine line{.at_ms = date_of(e), .process = e.process, .lock = e.name, .token = e.token};
    switch (e.kind) {
      case Kind::ask: line.lease_ms = e.expiry_ms; break;
      case Kind::granted: line.is = "granted"; break;
      case Kind::notified: line.is = "lost"; break;
      case Kind::release: line.is = "releasing"; break;
      case Kind::crash: line.is = "died"; break;
      case Kind::released:
      case Kind::ended:
        line.is = std::ranges::count(kLogWords, e.outcome) > 0 ? e.outcome : "failed";
        break;
      default: continue;
    }
    lines.push_back(line);
  }
  return lines;
}

IncidentOptions exact() {
  return {.clock_error_ms = 1, .promises = own_incident_promises("distributed.locks")};
}

std::string why(const std::vector<model::Finding>& findings, Check check) {
  for (const auto& f : findings) {
    if (f.check == check && f.verdict == model::Verdict::violated) return f.why;
  }
  return "";
}

sim::Plan story(const char* name, const char* lock) {
  auto plan = read_scenario(std::string(LEASEHOLD_SCENARIOS) + "/" + name).plan;
  plan.lock = lock;
  return plan;
}

Incident incident_of(const sim::Plan& plan) {
  const auto run = simulate(plan).run;
  return read_incident(oplog_of(run.history), log_of(run.history), exact());
}

std::vector<LogLine> lines_of(const std::string& text) {
  std::istringstream in(text);
  return read_log(in);
}
/// Without an oplog.
Incident incident_of_log(const std::string& text, std::int64_t clock_error_ms = 1) {
  auto options = exact();
  options.clock_error_ms = clock_error_ms;
  return read_incident({}, lines_of(text), options);
}

/// The lock's delete does not name its owner, and only its oplog and a log are kept.
TEST(Incidents, AReleaseThatFreedAnothersLockIsFoundAndPlayedAgain) {
  for (const char* file : {"release/late-release-frees-the-next-holder.scn",
                           "release/delayed-release-deletes-the-next-hold.scn"}) {
    const auto plan = story(file, "canary");
    ASSERT_TRUE(breaks(simulate(plan).judgement, Check::G6)) << file;
    const auto incident = incident_of(plan);
    const auto findings = judge_incident(incident);
    EXPECT_NE(why(findings, Check::G6).find("not by its holder"), std::string::npos)
        << file << ": " << why(findings, Check::G6);
    const auto again = incident_plan(incident, findings, exact(), "canary");
    EXPECT_TRUE(breaks(simulate(again).judgement, Check::G6)) << file << "\n"
                                                                  << to_scn(again);
    EXPECT_EQ(sim::plan_from_scn(to_scn(again)), again);
  }
}

TEST(Incidents, TheProductionLockInTheSameStoriesIsBlamedForNothing) {
  for (const char* file : {"release/late-release-frees-the-next-holder.scn",
                           "release/delayed-release-deletes-the-next-hold.scn",
                           "time-and-the-holder/holder-stopped-past-its-lease.scn"}) {
    const auto incident = incident_of(story(file, "leasehold"));
    const auto findings = judge_incident(incident);
    for (const auto& f : findings) EXPECT_EQ(why(findings, f.check), "") << file;
    const auto again = incident_plan(incident, findings, exact(), "leasehold");
    EXPECT_EQ(simulate(again).verdict(), model::Verdict::holds);
  }
}

/// As applications write in Latin-1.
TEST(Incidents, BytesOfALogThatAreNoUtf8AreReplacedInTheHistory) {
  const auto incident = incident_of_log("2026-11-24T20:00:00Z gr\xfc" "n x granted\n");
  const auto granted = std::ranges::find_if(
      incident.history, [](const Event& e) { return e.kind == Kind::granted; });
  ASSERT_NE(granted, incident.history.end());
  EXPECT_EQ(granted->process, "gr\uFFFDn");
}

TEST(Incidents, GuaranteesWithoutLogEntriesAreNotCheckedAndWithoutChecksAllIsUnknown) {
  const auto incident = incident_of_log(
      "2026-11-24T20:00:00Z a x granted\n2026-11-24T20:00:01Z a x released\n");
  EXPECT_EQ(incident.left_out,
            (std::vector<std::string>{"G3 not checked", "G4 not checked (no log has tokens)",
                                      "G5 not checked", "G7 not checked", "G8 not checked",
                                      "G9 not checked"}));
  const auto nothing = incident_of_log("2026-11-24T20:00:00Z p1 other asked timeout_ms=5\n");
  EXPECT_EQ(model::overall_tested(judge_incident(nothing)), model::Verdict::unknown);
}

/// Two logs are enough for G2, if they differ by more than the clocks may.
TEST(Incidents, TwoThatSayThatTheyHoldItAreFoundUnlessTheClocksMayBeSoFarApart) {
  const char* log =
      "2026-11-24T20:00:00.000Z a x asked lease_ms=1000\n"
      "2026-11-24T20:00:00.010Z a x granted\n"
      "# a comment\n"
      "{\"at\":\"2026-11-24T20:00:01.000Z\",\"process\":\"a\",\"lock\":\"x\",\"is\":\"held\"}\n"
      "2026-11-24T20:00:00.500Z b x asked lease_ms=1000\n"
      "2026-11-24T20:00:00.510Z b x granted\n"
      "2026-11-24T20:00:01.010Z b x held\n";
  EXPECT_NE(why(judge_incident(incident_of_log(log, 10)), Check::G2), "");
  EXPECT_EQ(why(judge_incident(incident_of_log(log, 300)), Check::G2), "");
}

std::string refused(const std::string& text) {
  try {
    (void)lines_of(text);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(IncidentLogs, ALineThatIsWrongIsNamed) {
  EXPECT_EQ(refused("\nyesterday a x held"),
            "line 2: 'yesterday' is no time: it must be like 2026-11-24T20:00:00.123Z, or s, ms, "
            "us or ns since 1970");
  EXPECT_NE(refused("1 a x took").find("is is 'took': it must be one of asked, granted"),
            std::string::npos);
  EXPECT_NE(refused("1 a x granted token=-1").find("token is '-1'"), std::string::npos);
  EXPECT_NE(refused("1 a x granted soon").find("FIELD=VALUE"), std::string::npos);
  EXPECT_NE(refused("{\"at\":1,\"is\":\"held\"}").find("process is missing"), std::string::npos);
  EXPECT_NE(refused("{\"at\":1,\"process\":\"a\",\"is\":\"held\"}").find("lock is ''"),
            std::string::npos);
  EXPECT_EQ(refused("{\"at\":1,\"process\":\"a\",\"is\":\"died\",\"own\":[1]}"), "");
}

TEST(IncidentLogs, ThePagesExamplesAreReadAndItsTableHasEveryWord) {
  std::ifstream in(std::string(LEASEHOLD_SCENARIOS) + "/INCIDENTS.md");
  std::string page, examples;
  for (std::string line; std::getline(in, line); page += line + "\n") {
    const auto text = line.substr(std::min<std::size_t>(4, line.size()));
    const bool is_example = line.starts_with("    ") && (text[0] == '{' || std::isdigit(text[0]));
    if (is_example) examples += text + "\n";
  }
  EXPECT_EQ(lines_of(examples).size(), 5u);
  for (const std::string word : kLogWords) {
    EXPECT_NE(page.find("`" + word + "`"), std::string::npos) << word;
  }
}

TEST(IncidentLogs, TimesAreReadInEachFormThatLogsHave) {
  for (const char* time :
       {"2026-11-24T20:00:00.123Z", "2026-11-24T20:00:00.123456789Z", "2026-11-24T20:00:00,123Z",
        "2026-11-24T21:30:00.123+01:30", "2026-11-24T12:00:00.123-0800", "1795550400.123",
        "1795550400123", "1795550400123456", "1795550400123456789"}) {
    EXPECT_EQ(date_ms(time), kBegan_ms + 123) << time;
  }
  EXPECT_EQ(date_ms("1795550400"), kBegan_ms);
  EXPECT_EQ(date_ms("2026-11-24 20:00:00Z"), kBegan_ms);
  EXPECT_EQ(date_ms("2026-11-24T20:00:00.1Z"), kBegan_ms + 100);
  for (const char* none : {"2026-11-24T20:00:00", "-5", "12:00", "99999999999999999999", ""}) {
    EXPECT_THROW((void)date_ms(none), std::runtime_error) << none;
  }
}

TEST(IncidentLogs, FromWindowsAreReadAsOthers) {
  const auto lines = lines_of(
      "# a comment\r\n\r\n1 a x asked lease_ms=1000 timeout_ms=5\r\n \r\n2 a x granted\r\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].lease_ms, 1'000);
  EXPECT_EQ(lines[0].timeout_ms, 5);
}

/// By session: which events became of each call, by their names' alphabet.
std::string sessions_in(const std::string& log) {
  std::map<std::int64_t, std::set<std::string>> calls;
  for (const Event& e : incident_of_log(log).history) {
    if (e.session != 0) calls[e.session].insert(about(e.kind).name);
  }
  std::string all;
  for (const auto& [session, events] : calls) {
    all += std::to_string(session) + ':';
    for (const auto& event : events) all += ' ' + event;
    all += "; ";
  }
  return all;
}

TEST(Incidents, AThreadThatWaitsLeavesTheCallOfTheOneThatHoldsAlone) {
  EXPECT_EQ(sessions_in("1 a x asked timeout_ms=9\n2 a x granted\n3 a x asked timeout_ms=4\n"
                        "7 a x timed_out\n8 a x held\n9 a x releasing\n10 a x released\n"),
            "1: ask granted held release released; 2: ask ended; ");
  EXPECT_EQ(sessions_in("1 a x asked\n2 a x granted\n3 a x asked timeout_ms=99\n4 a x releasing\n"
                        "5 a x released\n6 a x granted\n7 a x releasing\n8 a x released\n"),
            "1: ask granted release released; 2: ask granted release released; ");
  // Calls with names are kept apart.
  EXPECT_EQ(sessions_in("1 a x asked call=t1 timeout_ms=9\n2 a x asked call=t2 timeout_ms=1\n"
                        "3 a x timed_out call=t2\n4 a x granted call=t1\n"
                        "5 a x releasing call=t1\n6 a x released call=t1\n"),
            "1: ask granted release released; 2: ask ended; ");
}

}  // namespace
}  // namespace leasehold::properties
