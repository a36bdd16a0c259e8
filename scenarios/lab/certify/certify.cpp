#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/output.hpp"
#include "scenarios/lab/certify/facts.hpp"
#include "scenarios/lab/lab.hpp"
#include "sim/live/servers/mongod.hpp"

namespace leasehold::lab {
namespace {

using Is = Finding::Is;

/// All trials together. The rest of a minute is for what is under way and for the removal.
constexpr std::chrono::seconds kAllTrials{45};

/// No further command is to be sent.
struct Stopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const char* to_string(Is is) {
  return is == Is::holds ? "holds" : is == Is::fails ? "fails" : "not tried";
}

/// The facts of one kind of finding that prevent the certificate, after `words`.
std::string names_after(const std::string& words, const std::vector<Finding>& all, Is is) {
  std::vector<std::string> names;
  for (const auto& finding : all) {
    if (finding.prevents && finding.is == is) names.push_back(finding.fact->name);
  }
  return names.empty() ? "" : fmt::format("{}{}", words, fmt::join(names, ", "));
}

std::string verdict_of(const std::vector<Finding>& all) {
  const auto bad = names_after(": these facts fail: ", all, Is::fails) +
                   names_after(": these facts could not be tried: ", all, Is::not_tried);
  if (!bad.empty()) return "not certified" + bad;
  return fmt::format("certified: {} facts hold, {} were not tried",
                     std::ranges::count(all, Is::holds, &Finding::is),
                     std::ranges::count(all, Is::not_tried, &Finding::is));
}

void print(const Finding& found) {
  cli::print(fmt::format("{:9} {:34} {}\n", to_string(found.is), found.fact->name,
                         cli::printable(found.seen)));
  if (found.is == Is::fails) {
    cli::print(fmt::format("{:9} it should be that {};\n{:9} else {}\n", "", found.fact->says, "",
                           found.fact->means));
  }
  cli::flush_output();
}

std::string of_all(const std::string& verb) {
  return "{\"" + verb + R"(": "@", "writeConcern": {"w": "majority", "wtimeout": 5000}})";
}
/// What is wrong with the reply; empty: nothing is.
std::string wrong_with(const Json& reply) {
  if (sim::live::integer(reply["ok"]) != 1) return reply.value("errmsg", "refused");
  return reply.contains("writeConcernError") ? "no majority of the members confirms it" : "";
}

/// The collection of the trials, which is dropped at the end.
struct Collection {
  const std::string uri, database;
  const std::string name = fmt::format("leasehold_certify_{:08x}{:08x}", std::random_device()(),
                                       std::random_device()());
  bool made = false;

  /// On a connection of its own, because others may be stopped.
  [[nodiscard]] Asker asker() const { return {connect_to(uri), database, name}; }

  void make(Asker& asker) {
    made = true;
    const auto wrong = wrong_with(asker.run(of_all("create")));
    if (wrong.empty()) return;
    throw sim::live::NoServers(fmt::format(
        "'{}.{}' cannot be created: {}; certify needs the role readWrite on the database",
        database, name, cli::printable(wrong)));
  }
  ~Collection() {
    if (!made) return;
    std::string why;
    try {
      why = wrong_with(asker().run(of_all("drop")));
    } catch (const std::exception& error) {
      why = error.what();
    }
    if (why.empty()) return;
    fmt::print(stderr, "leasehold-lab: '{}.{}' may stay, and has to be dropped then: {}\n",
               database, name, cli::printable(why));
  }
};

/// Throws Stopped, and std::runtime_error if nothing can be said of the servers.
std::vector<Finding> run_trials(Collection& in, bool silent) {
  const auto until = our_clock() + kAllTrials;
  const auto connect = [&, number = std::size_t(0)]() mutable {
    auto servers = connect_to(in.uri, number++);
    servers.ask = [until, real = servers.ask](const auto& database, const auto& command,
                                              std::uint32_t member) {
      if (interrupted()) throw Stopped("a signal");
      if (our_clock() < until) return real(database, command, member);
      throw NotTried(fmt::format("the trials took longer than {} s", kAllTrials.count()));
    };
    return servers;
  };
  TrialSite site(connect, in.database, in.name);
  const auto election = [&] { return in.asker().hello().value("electionId", Json()); };
  const Json before = election();
  std::vector<Finding> all;
  for (const Fact& fact : facts()) {
    // The first one says whether locks can be held here at all.
    if (all.size() == 1 && all[0].is == Is::fails) break;
    if (all.size() == 1) in.make(site[0]);
    all.push_back(try_fact(fact, site));
    // Each mongos has a clock and a cluster time of its own. Of several findings the first that is
    // no good one.
    for (std::size_t i = 1; i < site.routers() && all.back().is == Is::holds; ++i) {
      site.turn();
      all.back() = try_fact(fact, site);
    }
    if (!silent) print(all.back());
  }
  if (!verdict_of(all).starts_with("certified") && election() != before) {
    throw std::runtime_error("there was an election during the trials: try again");
  }
  return all;
}

}  // namespace

int certify(const std::vector<std::string>& words) {
  const char* named = std::getenv("LEASEHOLD_URI");
  std::string uri = named == nullptr ? "" : named, database;
  bool json = false;
  po::options_description options(
      "Tries, on a collection of its own, whether servers do what the lock rests on. Options");
  options.add_options()("uri", po::value(&uri),
                        "of the replica set or cluster, without a password; or in LEASEHOLD_URI")(
      "database", po::value(&database), "where to work; default: the URI's, or leasehold")(
      "json", po::bool_switch(&json), "print JSON");
  parse("certify --uri URI [OPTIONS]", options, words);
  if (uri.empty()) throw UsageError("no replica set: give its URI by --uri or LEASEHOLD_URI");
  catch_interruptions();
  try {
    const auto usual = MongoClient(uri).database("leasehold");
    if (database.empty()) database = usual;
  } catch (const sim::live::NoReply& error) {
    throw sim::live::NoServers(error.what());
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
  Collection collection{uri, database};
  std::vector<Finding> all;
  try {
    all = run_trials(collection, json);
  } catch (const Stopped&) {
    cli::print("not certified: a signal ended the trials\n");
    return kUnknown;
  } catch (const sim::live::NoReply& error) {
    throw sim::live::NoServers(error.what());
  }
  const auto verdict = verdict_of(all);
  if (json) {
    Json list = Json::array();
    for (const auto& [fact, is, seen, prevents] : all) {
      list.push_back({{"fact", fact->name},
                      {"finding", to_string(is)},
                      {"seen", seen},
                      {"says", fact->says},
                      {"otherwise", fact->means}});
    }
    cli::print(Json{{"verdict", verdict}, {"facts", list}}.dump(2) + '\n');
  } else {
    cli::print(verdict + '\n');
  }
  if (verdict.starts_with("certified")) return kHolds;
  return names_after("", all, Is::fails).empty() ? kUnknown : kViolated;
}

}  // namespace leasehold::lab
