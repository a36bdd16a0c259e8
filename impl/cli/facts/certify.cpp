#include "cli/facts/certify.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <stop_token>
#include <thread>

#include "cli/facts/facts.hpp"
#include "cli/output.hpp"
#include "cli/run/signals.hpp"
#include "mongo/errors.hpp"
#include "runtime/threads/os_entropy.hpp"

namespace leasehold::cli {
namespace {

using Is = Finding::Is;

/// All trials together. The rest of a minute is for what is under way and for the removal.
constexpr std::chrono::seconds kLongest{45};
const Json kOfAMajority{{"w", "majority"}, {"wtimeout", 5'000}};

/// Of a connection: no further command is to be sent.
struct Stopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class StoppableConnection final : public TrialConnection {
 public:
  StoppableConnection(std::unique_ptr<TrialConnection> real, std::stop_token stop,
                      std::chrono::milliseconds until)
      : real_(std::move(real)), stop_(std::move(stop)), until_(until) {}

  mongo::Bson ask(const std::string& database, const mongo::Bson& command,
                  std::uint32_t member) override {
    if (stop_.stop_requested()) throw Stopped("a signal");
    if (our_clock() > until_) {
      throw NotTried("the trials took longer than " + std::to_string(kLongest.count()) + " s");
    }
    return real_->ask(database, command, member);
  }
  [[nodiscard]] std::vector<mongo::JsonClient::Member> members() const override {
    return real_->members();
  }

 private:
  std::unique_ptr<TrialConnection> real_;
  std::stop_token stop_;
  std::chrono::milliseconds until_;
};

struct Line {
  const Fact& fact;
  Finding finding;
};

const char* word_of_finding(Is is) {
  return is == Is::holds ? "holds" : is == Is::fails ? "fails" : "not tried";
}

void print_line(const Line& line) {
  print(column(word_of_finding(line.finding.is), 10) + column(line.fact.name, 34) + ' ' +
        printable(line.finding.seen) + '\n');
  if (line.finding.is == Is::fails) {
    print("          it should be that " + std::string(line.fact.says) + ";\n          else " +
          line.fact.means + '\n');
  }
  flush_output();
}

std::size_t count_of(const std::vector<Line>& lines, Is is) {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [is](const Line& line) { return line.finding.is == is; }));
}

bool is_certified(const std::vector<Line>& lines) {
  return std::none_of(lines.begin(), lines.end(),
                      [](const Line& line) { return line.finding.prevents; });
}

/// The names of those that prevent the certificate, because they are so.
std::string names_of(const std::vector<Line>& lines, Is is) {
  std::string names;
  for (const Line& line : lines) {
    if (line.finding.prevents && line.finding.is == is) {
      names += (names.empty() ? "" : ", ") + std::string(line.fact.name);
    }
  }
  return names;
}

std::string verdict_of(const std::vector<Line>& lines) {
  if (is_certified(lines)) {
    return "certified: " + std::to_string(count_of(lines, Is::holds)) + " facts hold, " +
           std::to_string(count_of(lines, Is::not_tried)) + " were not tried";
  }
  const auto failed = names_of(lines, Is::fails), missed = names_of(lines, Is::not_tried);
  std::string verdict = "not certified";
  if (!failed.empty()) verdict += ": these facts fail: " + failed;
  if (!missed.empty()) verdict += ": these facts could not be tried: " + missed;
  return verdict;
}

/// What is promised of fewer members than locks should be kept on.
std::vector<std::string> notes_on(const Json& hello) {
  if (!hello.contains("hosts")) return {};  // a mongos
  if (hello["hosts"].size() + hello.value("passives", Json::array()).size() > 1) return {};
  return {kSetOfOne};
}

struct Certificate {
  std::vector<Line> lines;
  std::vector<std::string> notes;
};

/// The trials of one replica set, in a thread of their own.
class Certification {
 public:
  Certification(Server server, std::function<void(const Line&)> show)
      : server_(std::move(server)), show_(std::move(show)) {}

  /// On the thread that waits for signals. Throws Failure, and EndedBySignal.
  Certificate run() {
    const Signals signals;  // before there are threads
    int signal = 0;
    {
      std::jthread trials([this](const std::stop_token& stop) { try_and_remove(stop); });
      while (!over_) {
        wait_for(signals, bell_, -1);
        const int next = signals.next();
        if (next == 0) continue;
        if (signal != 0) end_by({next});
        signal = next;
        say("ends when '" + server_.collection + "' is dropped; another signal ends at once");
        trials.request_stop();
      }
    }
    if (signal != 0) throw EndedBySignal{signal};
    if (failed_) std::rethrow_exception(failed_);
    return certificate_;
  }

 private:
  void try_and_remove(const std::stop_token& stop) {
    try {
      try_all(stop);
    } catch (const mongo::NoReply& error) {
      failed_ = std::make_exception_ptr(Failure(
          kUnavailable, std::string("no answer during the trials, try again: ") + error.what()));
    } catch (...) {
      failed_ = std::current_exception();
    }
    for (const auto& collection : made_) remove(collection);
    over_ = true;
    bell_.ring();
  }

  void try_all(const std::stop_token& stop) {
    const auto until = our_clock() + kLongest;
    const auto connect = [&, number = std::size_t(0)]() mutable {
      return std::make_unique<StoppableConnection>(connect_for_trials(server_.uri, number++), stop,
                                                   until);
    };
    TrialSite site(connect, server_.database, server_.collection);
    const Json began = site[0].hello();
    certificate_.notes = notes_on(began);
    make(site[0]);
    for (const Fact& fact : facts()) add({fact, by_each_router(fact, site)});
    if (site.routers() > 0) try_sharded(connect);
    if (is_certified(certificate_.lines)) return;
    // On another connection, because this one may be stopped.
    Asker later(connect_for_trials(server_.uri), server_.database, server_.collection);
    if (later.hello().value("electionId", Json()) != began.value("electionId", Json())) {
      throw Failure(kUnavailable, "there was an election during the trials: try again");
    }
  }

  void add(Line line) {
    certificate_.lines.push_back(std::move(line));
    show_(certificate_.lines.back());
  }

  /// Once more on a collection that is on all shards, if the user may shard one. Only what fails
  /// there is a line of its own.
  void try_sharded(const Connect& connect) {
    const auto name = server_.collection + "_by_id";
    TrialSite site(connect, server_.database, name);
    made_.push_back(name);
    const Json shard{{"shardCollection", server_.database + '.' + name},
                     {"key", {{"_id", "hashed"}}}};
    const auto bytes = site[0].connection().ask("admin", mongo::from_json(shard), 0);
    const Json reply = mongo::to_json(*bytes.get());
    if (mongo::integer(reply["ok"]) != 1) {
      certificate_.notes.push_back(
          "a cluster: tried on an unsharded collection alone, because none can be sharded: " +
          mongo::without_command(reply.value("errmsg", "refused")));
      return;
    }
    std::size_t held = 0;
    for (const Fact& fact : facts()) {
      Finding finding = by_each_router(fact, site);
      held += finding.is == Is::holds ? 1 : 0;
      if (finding.is != Is::fails) continue;
      finding.seen = "sharded by _id: " + finding.seen;
      add({fact, finding});
    }
    certificate_.notes.push_back(
        "a cluster: tried on an unsharded collection, and on one that is sharded by _id: " +
        std::to_string(held) + " facts hold there");
  }

  /// Each mongos has a clock and a cluster time of its own. Of several findings the first that is
  /// no good one.
  static Finding by_each_router(const Fact& fact, TrialSite& site) {
    Finding finding = try_fact(fact, site);
    for (std::size_t i = 1; i < site.routers() && finding.is == Is::holds; ++i) {
      site.turn();
      finding = try_fact(fact, site);
    }
    return finding;
  }

  [[nodiscard]] std::string place(const std::string& collection) const {
    return "'" + server_.database + "." + collection + "'";
  }

  void make(Asker& asker) {
    const Json reply = asker.run({{"create", server_.collection}, {"writeConcern", kOfAMajority}});
    const bool made = mongo::integer(reply["ok"]) == 1;
    if (made) made_.push_back(server_.collection);
    if (made && !reply.contains("writeConcernError")) return;
    if (made) throw Failure(kUnavailable, "no majority of the members confirms a write");
    const auto why = mongo::without_command(reply.value("errmsg", "refused"));
    throw Failure(kUnavailable, place(server_.collection) + " cannot be created: " + why +
                                    "; --certify needs the role readWrite on the database");
  }

  /// On a connection of its own, because the others may be stopped.
  void remove(const std::string& collection) {
    std::string why;
    try {
      Asker asker(connect_for_trials(server_.uri), server_.database, collection);
      const Json reply = asker.run({{"drop", collection}, {"writeConcern", kOfAMajority}});
      const bool dropped =
          mongo::integer(reply["ok"]) == 1 ||
          mongo::integer(reply.value("code", Json(0))) == mongo::kNamespaceNotFound;
      if (dropped && !reply.contains("writeConcernError")) return;
      why = dropped ? "no majority confirmed that it was dropped"
                    : mongo::without_command(reply.value("errmsg", "refused"));
    } catch (const std::exception& error) {
      why = error.what();
    }
    say(place(collection) + " may stay, and has to be dropped then: " + why);
  }

  const Server server_;
  const std::function<void(const Line&)> show_;
  const Bell bell_;
  // Below: written by the thread of the trials.
  Certificate certificate_;
  std::exception_ptr failed_;
  std::vector<std::string> made_;  ///< collections, to be dropped
  std::atomic<bool> over_ = false;
};

std::string fresh_collection() {
  const auto number = static_cast<unsigned long long>(runtime::os_entropy()->draw());
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", number);
  return std::string("leasehold_certify_") + digits;
}

Json to_json(const std::vector<Line>& lines) {
  Json all = Json::array();
  for (const Line& line : lines) {
    all.push_back({{"fact", line.fact.name},
                   {"finding", word_of_finding(line.finding.is)},
                   {"says", line.fact.says},
                   {"seen", line.finding.seen},
                   {"otherwise", line.fact.means}});
  }
  return all;
}

}  // namespace

int certify(const Server& server, bool json) {
  const auto began = our_clock();
  const auto [lines, notes] =
      Certification({server.uri, server.database, fresh_collection()}, [json](const Line& line) {
        if (!json) print_line(line);
      }).run();
  const std::chrono::duration<double> took = our_clock() - began;
  const bool certified = is_certified(lines);
  if (json) {
    print_json({{"certified", certified},
                {"verdict", verdict_of(lines)},
                {"notes", notes},
                {"seconds", std::round(took.count() * 10) / 10},
                {"facts", to_json(lines)}});
  } else {
    for (const auto& note : notes) print("note      " + note + '\n');
    print(verdict_of(lines) + '\n');
  }
  return certified ? kDone : kFound;
}

int certify_nothing(const std::string& why, bool json) {
  const auto verdict = "not certified: " + why;
  if (json) {
    print_json({{"certified", false}, {"verdict", verdict}, {"facts", Json::array()}});
  } else {
    print(printable(verdict) + '\n');
  }
  return kFound;
}

}  // namespace leasehold::cli
