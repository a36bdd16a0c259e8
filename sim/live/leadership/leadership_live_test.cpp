#include <signal.h>

#include <map>
#include <sstream>

#include "sim/live/live_test.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {
namespace {

constexpr milliseconds kLease(2'000);
constexpr milliseconds kWithin = kLease + seconds(1);
/// Between the first answer that it leads no more and the request to end: a turn of a thread.
constexpr milliseconds kToNotify(250);

/// Processes that stand for election, and what they say of it (`leader_main.cpp`).
class Candidates {
 public:
  struct Line {
    std::string what;
    std::int64_t at_ns = 0, token = 0;
  };

  Candidates(std::string database, int count) : database_(std::move(database)) {
    for (int i = 0; i < count; ++i) processes_.push_back(start());
  }

  void read() {
    for (auto& one : processes_) read(one);
  }
  [[nodiscard]] bool lead() {
    return eventually([this] {
      read();
      return lines.size() > 100;
    });
  }
  /// The one that was the last to say that it leads.
  std::size_t leader() {
    read();
    std::size_t found = 0;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].last_yes_ns > processes_[found].last_yes_ns) found = i;
    }
    return found;
  }
  /// Reads on meanwhile: a full pipe would hold them up.
  void watch_for(milliseconds time) {
    (void)eventually(
        [this] {
          read();
          return false;
        },
        time);
  }
  void kill(std::size_t i) {
    processes_[i].child.kill();
    read(processes_[i]);
    processes_[i] = start();
  }
  /// Ends it as an orchestrator does, and starts it anew.
  void restart(std::size_t i) {
    processes_[i].child.send_signal(SIGTERM);
    EXPECT_TRUE(processes_[i].child.wait_ms(20'000));
    read(processes_[i]);
    processes_[i] = start();
  }
  [[nodiscard]] std::size_t size() const { return processes_.size(); }
  void send(std::size_t i, int signal) { processes_[i].child.send_signal(signal); }

  std::vector<Line> lines;

 private:
  struct One {
    ChildProcess child;
    LineReader lines = {};
    std::int64_t last_yes_ns = 0;
  };

  One start() {
    return {ChildProcess({beside_this_program("leader"), shared_set().uri(), database_,
                          std::to_string(kLease.count())},
                         ChildProcess::Io::pipes)};
  }
  void read(One& one) {
    while (one.lines.read_from(one.child.out())) {
      while (const auto text = one.lines.next()) {
        Line line;
        std::istringstream(*text) >> line.what >> line.at_ns >> line.token;
        if (line.what == "yes") one.last_yes_ns = line.at_ns;
        lines.push_back(line);
      }
    }
  }

  const std::string database_;
  std::vector<One> processes_;
};

milliseconds in_ms(std::int64_t ns) { return milliseconds(ns / 1'000'000); }

/// When each term began, by its token.
std::map<std::int64_t, std::int64_t> beginnings(const std::vector<Candidates::Line>& lines) {
  std::map<std::int64_t, std::int64_t> began;
  for (const auto& line : lines) {
    if (line.what == "begin") began[line.token] = line.at_ns;
  }
  return began;
}

/// Whoever led by an answer of its own did so before the next one's term began.
void expect_never_two(const std::vector<Candidates::Line>& lines) {
  const auto began = beginnings(lines);
  ASSERT_GT(began.size(), 1u) << "else nobody followed anybody";
  for (const auto& line : lines) {
    const auto next = began.upper_bound(line.token);
    if (line.what != "yes" || next == began.end()) continue;
    EXPECT_LT(line.at_ns, next->second) << "tokens " << line.token << " and " << next->first;
  }
}

milliseconds longest_without_leader(const std::vector<Candidates::Line>& lines) {
  std::vector<std::int64_t> led;
  for (const auto& line : lines) {
    if (line.what == "yes") led.push_back(line.at_ns);
  }
  std::sort(led.begin(), led.end());
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < led.size(); ++i) longest = std::max(longest, led[i] - led[i - 1]);
  return in_ms(longest);
}

/// From the first answer that it leads no more to the request to end.
milliseconds slowest_notice(const std::vector<Candidates::Line>& lines) {
  std::map<std::int64_t, std::int64_t> over, asked;  // by token
  std::int64_t slowest = 0;
  for (const auto& line : lines) {
    if (line.what == "no") over.emplace(line.token, line.at_ns);
    if (line.what == "asked") asked[line.token] = line.at_ns;
  }
  for (const auto& [token, since] : over) {
    EXPECT_TRUE(asked.contains(token)) << "token " << token << " was never asked to end";
    slowest = std::max(slowest, asked[token] - since);
  }
  return in_ms(slowest);
}

/// A failover, and at once the end of the leader's process, or a pause of it beyond its lease.
void fail_over(int n, Candidates& candidates) {
  const int primary = shared_set().primary();
  const auto leader = candidates.leader();
  if (n % 2 == 0) {
    shared_set().step_up((primary + 1) % shared_set().size());
    candidates.kill(leader);
    candidates.watch_for(kWithin);
  } else {
    shared_set().stop({primary});
    candidates.send(leader, SIGSTOP);
    candidates.watch_for(kWithin);
    candidates.send(leader, SIGCONT);
    shared_set().resume({primary});
    candidates.watch_for(milliseconds(300));
  }
}

/// Ten replicas, restarted one after another; twenty times with --long.
TEST(LiveLeadership, ARollingRestartPassesTheLockOnAndNeverLeavesTwo) {
  const int rounds = std::getenv("LEASEHOLD_LONG") != nullptr ? 20 : 1;
  Candidates candidates(fresh_database(), 10);
  ASSERT_TRUE(candidates.lead());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      candidates.restart(i);
      candidates.watch_for(milliseconds(200));  // it stands for election again
    }
  }
  expect_never_two(candidates.lines);
  const auto terms = beginnings(candidates.lines).size();
  ASSERT_GT(terms, static_cast<std::size_t>(rounds)) << "each round ends one leader or more";
  const auto without = longest_without_leader(candidates.lines);
  std::cout << rounds << " rolling restarts of " << candidates.size() << ", " << terms
            << " terms: at most " << without.count() << " ms without a leader\n";
  EXPECT_LT(without, kLease) << "none waited for a lease to run out";
}

/// Twenty failovers with --long.
TEST(LiveLeadership, ThroughFailoversNeverTwoAndOneWithinALeaseAndASecondAndNotifiedInTime) {
  const int failovers = std::getenv("LEASEHOLD_LONG") != nullptr ? 20 : 2;
  Candidates candidates(fresh_database(), 3);
  ASSERT_TRUE(candidates.lead());
  for (int i = 0; i < failovers; ++i) fail_over(i, candidates);
  candidates.read();
  expect_never_two(candidates.lines);
  const auto without = longest_without_leader(candidates.lines);
  const auto notice = slowest_notice(candidates.lines);
  std::cout << failovers << " failovers: at most " << without.count()
            << " ms without a leader, lease " << kLease.count() << " ms; a leader was asked to end "
            << notice.count() << " ms after it led no more\n";
  EXPECT_LE(without, kWithin);
  EXPECT_LE(notice, kToNotify);
}

}  // namespace
}  // namespace leasehold::sim::live
