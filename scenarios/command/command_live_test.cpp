
#include "scenarios/command/command_fixture.hpp"

/// The command `leasehold`, as people use it: its table of outcomes is that of its man page.
namespace leasehold::lab {
namespace {

/// All members stand still, until the end of the scope.
class ServerGone {
 public:
  ServerGone() {
    for (int i = 0; i < shared_set().size(); ++i) shared_set().stop({i});
  }
  ~ServerGone() {
    for (int i = 0; i < shared_set().size(); ++i) shared_set().resume({i});
    shared_set().primary();
  }
};

TEST_F(Command, TheCommandsOwnCodeIsPassedOnAndItHasTheToken) {
  const auto ran = leasehold({"run", "--lock", lock_, "--", "/bin/sh", "-c",
                              "echo $LEASEHOLD_LOCK $LEASEHOLD_FENCING_TOKEN; exit 7"});
  EXPECT_EQ(ran.exit_code, 7) << ran.out;
  EXPECT_EQ(ran.out.find(lock_ + " "), 0u) << ran.out;
  EXPECT_GT(std::stoll(ran.out.substr(lock_.size())), 0) << ran.out;
  EXPECT_TRUE(lock_is_free());
  EXPECT_EQ(leasehold({"run", "--lock", lock_, "--", "no-such-program"}).exit_code, 127);
  EXPECT_EQ(leasehold({"run", "--lock", lock_, "--", folder_}).exit_code, 126);
}

TEST_F(Command, BadWordsAreNamedAndNothingIsDone) {
  const auto says = [](std::vector<std::string> arguments, const std::string& what) {
    const auto ran = leasehold(std::move(arguments));
    EXPECT_TRUE(ended(ran, 64, what));
    EXPECT_FALSE(has(ran, "secret"));
  };
  says({"run", "--lock", lock_}, "no command");
  says({"run", "--lock", lock_, "--wait", "soon", "--", "true"}, "--wait is 'soon'");
  says({"run", "--lock", lock_, "--wait", "99999999h", "--", "true"}, "of ten years at most");
  says({"run", "--lock", lock_, "--expiry", "50ms", "--", "true"}, "expiry is 50 ms");
  says({"run", "--lock", lock_, "--grace", "25s", "--", "true"}, "--grace is 25000 ms");
  says({"run", "--lock", lock_, "--on-lost", "cry", "--", "true"}, "--on-lost is 'cry'");
  says({"run", "--lock", lock_, "--max-holding", "5s", "--", "true"}, "--max-holding is 5000 ms");
  says({"run", "--lock", lock_, "--max-holding", "9s", "--on-lost", "ignore", "--", "true"},
       "--max-holding needs --on-lost kill");
  says({"run", "--lock", lock_, "-n", "-w", "3", "--", "true"}, "--nonblock and --wait are both");
  says({"run", "-E", "256", lock_, "--", "true"}, "--conflict-exit-code is 256");
  says({"run", "--waiting", "fast", lock_, "--", "true"},
       "--waiting is 'fast': it must be queue, adaptive or uniform");
  says({"run", "a", "b", "a", "--", "true"}, "--lock is given twice as 'a'");
  says({"run", "a", "b", "--permits", "2", "--", "true"}, "--permits needs one --lock");
  says({"run", "a", "--permits", "0", "--", "true"}, "--permits is 0: it must be 1 to 1000");
  says({"run", lock_, "--max-holding", "9s", "--at-least", "9s", "--", "true"},
       "--max-holding is 9000 ms");
  says({"release", lock_}, "without --force");
  says({"run", "--lock", lock_, "--uri", "mongodb://u:secret@h/", "--", "true"},
       "--uri has a password");
  says({"show", "bad-\xff"}, "lock name is 5 bytes long");
  says({"dance"}, "unknown subcommand 'dance'");
  setenv("LEASEHOLD_URI", "mongodb://u:sec@secret@h/", 1);
  says({"ls"}, "more than one @");
}

TEST_F(Command, OneThatQueuesStandsInTheLocksQueueAndGetsItNext) {
  auto first = start("exec sleep 100");
  ChildProcess second(words({"run", "-q", lock_, "--", "true"}),
                      ChildProcess::Io::nothing);
  EXPECT_TRUE(eventually([this] {
    return leasehold({"show", lock_, "--json"}).out.find("\"waiting\"") != std::string::npos;
  }));
  first.send_signal(SIGTERM);
  EXPECT_EQ(code_of(second), 0);
}

/// Those of the keyboard end it as a signal.
TEST_F(Command, SignalsGoToTheCommand) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) {
    auto wrapper = start("ulimit -c 0; exec sleep 100");
    wrapper.send_signal(signal);
    EXPECT_TRUE(wrapper.wait_ms(20'000));
    const int status = wrapper.exit_status();
    EXPECT_EQ(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), 128 + signal);
    const bool of_keyboard = signal == SIGINT || signal == SIGQUIT;
    EXPECT_TRUE(!of_keyboard || (WIFSIGNALED(status) && !WCOREDUMP(status))) << signal;
    EXPECT_TRUE(child_is_gone());
    EXPECT_TRUE(lock_is_free());
    fs::remove(pid_file());
  }
}

TEST_F(Command, ASignalEndsTheWaitForTheLock) {
  auto first = start("exec sleep 100");
  ChildProcess second(words({"run", "--lock", lock_, "--", "true"}), ChildProcess::Io::nothing);
  EXPECT_FALSE(second.wait_ms(1'000));
  second.send_signal(SIGTERM);
  EXPECT_EQ(code_of(second), 128 + SIGTERM);
}

TEST_F(Command, AKilledWrapperTakesTheWholeGroupWithItAndTheLockStaysForItsLease) {
  auto wrapper = start("sleep 100 & echo $! > '" + folder_ + "/grandchild'; wait", "3s");
  pid_t grandchild = 0;
  ASSERT_TRUE(eventually([&] {
    std::ifstream(folder_ + "/grandchild") >> grandchild;
    return grandchild != 0;
  }));
  wrapper.kill();
  EXPECT_TRUE(eventually([this] { return child_is_gone(); }, seconds(1)));
  EXPECT_TRUE(eventually([&] { return is_gone(grandchild); }, seconds(1)));
  const sim::live::Stopwatch since;
  EXPECT_EQ(leasehold({"run", "--lock", lock_, "--wait", "20s", "--", "true"}).exit_code, 0);
  EXPECT_GE(since.elapsed(), milliseconds(1'500)) << "at the end of its lease, not before";
}

TEST_F(Command, AStoppedWrapperCannotKeepTheCommandAliveBeyondTheLease) {
  auto wrapper = start("trap '' TERM; exec sleep 100", "2s");
  wrapper.send_signal(SIGSTOP);
  const sim::live::Stopwatch since;
  EXPECT_TRUE(eventually([this] { return child_is_gone(); }));
  EXPECT_LE(since.elapsed(), milliseconds(2'500));
  wrapper.send_signal(SIGCONT);
  EXPECT_EQ(code_of(wrapper), kLost);
}

TEST_F(Command, WithoutServersItIsToldToEndBeforeTheLeaseEnds) {
  auto wrapper = start("exec sleep 100", "3s");
  const ServerGone gone;
  const sim::live::Stopwatch since;
  EXPECT_TRUE(eventually([this] { return child_is_gone(); }));
  EXPECT_LE(since.elapsed(), seconds(3)) << "half a second before the deadline";
  EXPECT_EQ(code_of(wrapper), kLost);
}

TEST_F(Command, WithoutServersThatAnswerAWaitEndsAsUnavailable) {
  const ServerGone gone;
  EXPECT_TRUE(ended(leasehold({"run", "-q", "-w", "2", "-E", "0", lock_, "--", "true"}), 69,
                    lock_));
}

TEST_F(Command, WithoutServersWhoDoesNotListenIsKilledAtTheEndOfTheLease) {
  auto wrapper = start("trap '' TERM; while :; do sleep 1; done", "3s");
  const ServerGone gone;
  const sim::live::Stopwatch since;
  EXPECT_TRUE(eventually([this] { return child_is_gone(); }));
  EXPECT_LE(since.elapsed(), milliseconds(3'200)) << "by the deadline";
  EXPECT_EQ(code_of(wrapper), kLost);
}

TEST_F(Command, AskedToIgnoreTheLossItSaysSoAndLetsTheCommandGoOn) {
  auto wrapper = start("sleep 4; exit 5", "2s", {"--on-lost", "ignore"});
  const ServerGone gone;
  EXPECT_EQ(code_of(wrapper), kLost);
}

TEST_F(Command, AfterItsLongestHoldingItIsToldToEnd) {
  const sim::live::Stopwatch since;
  auto wrapper = start("trap 'exit 0' TERM; while :; do sleep 0.1; done", "3s",
                       {"--max-holding", "2s", "--grace", "1s"});
  EXPECT_EQ(code_of(wrapper), kLost);
  EXPECT_LT(since.elapsed(), seconds(2));
  EXPECT_TRUE(lock_is_free());
}

TEST_F(Command, AfterItsLongestHoldingWhoDoesNotListenIsKilledAndTheLockIsFree) {
  const sim::live::Stopwatch since;
  auto wrapper = start("trap '' TERM; while :; do sleep 1; done", "30s",
                       {"--max-holding", "1s", "--grace", "500ms"});
  EXPECT_EQ(code_of(wrapper), kLost);
  EXPECT_GE(since.elapsed(), milliseconds(990));
  EXPECT_TRUE(child_is_gone());
  EXPECT_TRUE(lock_is_free());
}

TEST_F(Command, LsAndShowTellWhoHoldsWhat) {
  auto wrapper = start("exec sleep 100");
  EXPECT_TRUE(ended(leasehold({"ls"}), 0, lock_));
  const auto shown = leasehold({"show", lock_});
  EXPECT_TRUE(has(shown, ":" + std::to_string(wrapper.pid()) + ":leasehold", "last writes"));
  const auto json = sim::live::Json::parse(leasehold({"show", lock_, "--json"}).out);
  EXPECT_EQ(json["leaseMs"], 30'000);
  EXPECT_GT(json["leftMs"], 50'000) << "including clock_margin";
  EXPECT_EQ(leasehold({"ls", "--watch", "--times", "2", "--every", "10ms"}).exit_code, 0);
}

}  // namespace
}  // namespace leasehold::lab
