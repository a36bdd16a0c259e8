#include <fmt/format.h>

#include <sstream>

#include "properties/campaigns/verify.hpp"
#include "properties/stories/incident.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {
namespace {

using properties::IncidentOptions;
using sim::live::Json;

struct ImportCommand {
  std::string uri, database = "test", collection = "distributed.locks", since, oplog_file;
  std::string promises_file, lock = "leasehold";
  std::vector<std::string> logs;
  std::string scenario_file, folder;
  Outputs outputs;
  IncidentOptions options;
};

po::options_description options_for(ImportCommand& a) {
  constexpr std::int64_t kDay_ms = 86'400'000;
  po::options_description options(
      "Checks what happened outside of the laboratory, by the oplog and the logs of the lock's "
      "users. Options");
  options.add_options()("oplog", po::value(&a.oplog_file)->value_name("FILE"),
                        "entries of the oplog, one a line, as extended JSON")(
      "uri", po::value(&a.uri), "or the replica set that has them")(
      "since", po::value(&a.since)->value_name("TIME"),
      "of that set's oplog, from this time on, like 2026-11-24T20:00:00Z")(
      "database", po::value(&a.database)->default_value(a.database), "of the locks")(
      "collection", po::value(&a.collection)->default_value(a.collection),
      "of the locks; with --promises the file says it")(
      "log", po::value(&a.logs)->value_name("FILE")->composing(),
      "what an application wrote of its locks; more than one may be given")(
      "promises", po::value(&a.promises_file)->value_name("FILE"),
      "what another lock promises, and where its documents are; else they are leasehold's")(
      "lease-ms",
      in_range("lease-ms", a.options.lease_ms, 1, kDay_ms)->default_value(a.options.lease_ms),
      "where no log says it")(
      "clock-error",
      in_range("clock-error", a.options.clock_error_ms, 0, kDay_ms)
          ->default_value(a.options.clock_error_ms)
          ->value_name("MS"),
      "by how much a stamp may be wrong")(
      "scenario", to_file("scenario", a.scenario_file), "write a story that does the same")(
      "lock", po::value(&a.lock)->default_value(a.lock), "that plays the story")(
      "keep", to_folder("keep", a.folder), "keep history and promises, for check and export");
  a.outputs.add_to(options, "write it as a page");
  return options;
}

std::vector<Json> entries_in(const std::string& file) {
  std::istringstream in(read_file("--oplog", file));
  std::vector<Json> entries;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    reading("--oplog is '" + file + "': line " + std::to_string(number) +
                " is no entry of an oplog: ",
            [&] {
              entries.push_back(Json::parse(line));
              (void)sim::live::packed_timestamp(entries.back().at("ts"));
            });
  }
  return entries;
}

/// Entries of the locks, and of the elections meanwhile.
std::vector<Json> entries_of(const ImportCommand& a) {
  const std::int64_t since_ms = reading("--since: ", [&] { return properties::date_ms(a.since); });
  const auto space = a.database + "." + a.collection;
  std::vector<Json> entries;
  const auto failed = sim::live::MongoClient(a.uri).each(
      "local",
      {{"find", "oplog.rs"},
       {"filter",
        {{"ts", {{"$gt", {{"$timestamp", {{"t", since_ms / 1'000}, {"i", 0}}}}}}},
         {"$or", Json::array({{{"ns", space}},
                              {{"op", "c"}, {"o.applyOps.ns", space}},
                              {{"ns", a.database + ".$cmd"}, {"o.drop", a.collection}},
                              {{"op", "n"}, {"o.msg", "new primary"}}})}}},
       {"readConcern", {{"level", "majority"}}}},
      [&](const bson_t& entry) { entries.push_back(mongo::to_json(entry)); });
  if (failed) throw std::runtime_error("find: " + failed->value("errmsg", "failed"));
  return entries;
}

}  // namespace

int import_incident(const std::vector<std::string>& words) {
  ImportCommand asked;
  parse("import --oplog FILE --log FILE... [OPTIONS]", options_for(asked), words);
  if (asked.oplog_file.empty() == asked.uri.empty()) {
    throw UsageError("--oplog FILE or --uri: one of them must be given");
  }
  if (asked.uri.empty() != asked.since.empty()) {
    throw UsageError("--uri and --since TIME go together: one of them is missing");
  }
  if (asked.logs.empty()) throw UsageError("--log is missing: it must name a file");
  require_lock(asked.lock, false);
  auto& promises = asked.options.promises;
  asked.options.own_documents = asked.promises_file.empty();
  promises = asked.options.own_documents ? properties::own_incident_promises(asked.collection)
                                         : read_promises(asked.promises_file);
  if (!promises.document) {
    refuse("--promises", asked.promises_file,
           "document is missing; it says where its documents are");
  }
  asked.collection = promises.document->collection;
  const auto entries = asked.uri.empty() ? entries_in(asked.oplog_file) : entries_of(asked);
  std::vector<properties::LogLine> lines;
  for (const auto& file : asked.logs) {
    std::istringstream in(read_file("--log", file));
    const auto of_file =
        reading("--log is '" + file + "': ", [&] { return properties::read_log(in); });
    lines.insert(lines.end(), of_file.begin(), of_file.end());
  }
  if (entries.empty() && lines.empty()) throw UsageError("the oplog and the logs are empty");
  const auto incident = reading("an entry of the oplog: ", [&] {
    return properties::read_incident(entries, lines, asked.options);
  });
  const auto findings = properties::judge_incident(incident);
  const auto plan = properties::incident_plan(incident, findings, asked.options, asked.lock);
  Conclusion c{.command = "import",
               .findings = findings,
               .verdict = model::overall_tested(findings),
               .promises = incident.promises,
               .left_out = incident.left_out,
               .facts = {{"events", incident.history.size()},
                         {"began", properties::date_text(incident.began_ms)}}};
  if (c.verdict == model::Verdict::unknown) {
    const char* more = "take longer logs, and the oplog of that time";
    c.advice = properties::answer(findings, {.see_more = more}).advice;
  }
  fmt::print("{} events since {}\n{}{}", incident.history.size(),
             properties::date_text(incident.began_ms), findings_text(c),
             story(findings, incident.history, true));
  const auto broken = properties::violated(findings);
  write_file(asked.scenario_file,
             fmt::format("# What an oplog and logs showed: {}{}.\n# locks: {}\n{}",
                         broken.empty() ? "nothing was violated" : "violated ", to_string(broken),
                         plan.lock, to_scn(plan)));
  if (!asked.folder.empty()) {
    properties::keep_run(asked.folder, plan, incident.history, findings, {}, incident.promises);
  }
  return conclude(c, asked.outputs, incident.history);
}

}  // namespace leasehold::lab
