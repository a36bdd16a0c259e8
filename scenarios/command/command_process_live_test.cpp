#include "scenarios/command/command_fixture.hpp"
#include "scenarios/command/pseudo_terminal.hpp"

/// `leasehold run` and `hold` as one process among others: what they inherit, signals, terminals.
namespace leasehold::lab {
namespace {

const std::string kCommand = LEASEHOLD_COMMAND_PROGRAM;

/// Run by a shell, which has $leasehold and $lock.
class InShell : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    setenv("leasehold", kCommand.c_str(), 1);
    setenv("lock", lock_.c_str(), 1);
  }
  Ran shell_says(const std::string& line) const { return shell(folder_, line); }
};

TEST_F(InShell, AnIgnoredSigchldHidesNoEndOfACommandAndBlockedSignalsEndItAllTheSame) {
  EXPECT_EQ(shell_says("timeout 20 env --ignore-signal=CHLD $leasehold run $lock -- sh -c 'exit 7'")
                .exit_code,
            7);
  EXPECT_EQ(
      shell_says("timeout -s TERM 2 env --block-signal=TERM $leasehold ls --watch > /dev/null")
          .exit_code,
      124);
}

/// nohup, and `&` in a script.
TEST_F(InShell, SignalsThatWereIgnoredAreNotTaken) {
  ChildProcess holder(
      {"env", "--ignore-signal=HUP", "--ignore-signal=INT", kCommand, "hold", lock_},
      ChildProcess::Io::nothing);
  EXPECT_TRUE(eventually([this] { return !lock_is_free(); }));
  holder.send_signal(SIGHUP);
  holder.send_signal(SIGINT);
  EXPECT_FALSE(holder.wait_ms(500));
  ChildProcess waiting({"env", "--ignore-signal=HUP", kCommand, "run", "-q", lock_, "--", "true"},
                       ChildProcess::Io::nothing);
  EXPECT_FALSE(waiting.wait_ms(300));
  waiting.send_signal(SIGHUP);
  EXPECT_FALSE(waiting.wait_ms(300));
  holder.send_signal(SIGTERM);
  EXPECT_EQ(code_of(holder), 0);
  EXPECT_EQ(code_of(waiting), 0);
  const auto ran =
      shell_says("env --ignore-signal=HUP $leasehold run $lock -- sh -c 'kill -HUP $$; echo on'");
  EXPECT_EQ(ran.out, "on\n") << "by the command neither";
}

TEST_F(InShell, ClosedDescriptorsBecomeNoConnections) {
  EXPECT_EQ(shell_says("$leasehold ls --watch --times 3 --every 10ms <&- >&-").exit_code, 0);
  const auto ran = shell_says(
      "$leasehold run $lock -- sh -c 'for i in 0 1 2; do readlink /proc/$$/fd/$i; done > links' "
      "<&- >&- 2>&-; cat links");
  EXPECT_EQ(ran.out, "/dev/null\n" + folder_ + "/links\n/dev/null\n");
}

TEST_F(InShell, OutputThatCannotBeWrittenIsAFailure) {
  for (const auto* words : {"ls", "ls --json", "ls --watch --times 1", "doctor", "doctor --json",
                            "--version", "--help", "run --help", "hold $lock"}) {
    const auto ran = shell_says("$leasehold " + std::string(words) + " > /dev/full");
    EXPECT_EQ(ran.exit_code, 74) << words;
    EXPECT_EQ(ran.out, "leasehold: standard output cannot be written: No space left on device\n");
  }
  EXPECT_TRUE(lock_is_free()) << "a token that cannot be written is of no use";
  auto holder = start("exec sleep 100", "2s");
  for (const auto* words : {"show $lock", "show $lock --json", "trace $lock", "trace $lock --json",
                            "release $lock --force"}) {
    EXPECT_EQ(shell_says("$leasehold " + std::string(words) + " > /dev/full").exit_code, 74);
  }
  EXPECT_EQ(shell_says("exec 3>&1; (trap '' PIPE; $leasehold ls; echo $? >&3) | true").out,
            "leasehold: standard output cannot be written: Broken pipe\n74\n");
  EXPECT_EQ(shell_says("exec 3>&1; (sleep 0.1; $leasehold ls; echo $? >&3) | true").out, "141\n")
      << "as other programs whose reader has read enough";
}

TEST_F(InShell, SignalsThatWouldEndItGoToTheCommand) {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXCPU, SIGPWR,
                           SIGSTKFLT, SIGRTMIN}) {
    auto wrapper = start("trap 'exit 5' " + std::to_string(signal) + "; touch '" + folder_ +
                         "/ready'; while :; do sleep 0.05; done");
    EXPECT_TRUE(appears("ready"));
    wrapper.send_signal(signal);
    EXPECT_EQ(code_of(wrapper), 5) << signal;
    EXPECT_TRUE(lock_is_free()) << signal;
    fs::remove(pid_file());
    fs::remove(folder_ + "/ready");
  }
}

TEST_F(InShell, AsProcessNumberOneItReapsOrphansAndPassesCodesOn) {
  if (shell_says("unshare -pfm --mount-proc true").exit_code != 0) {
    GTEST_SKIP() << "no namespaces here";
  }
  const auto ran = shell_says(
      "unshare -pfm --mount-proc $leasehold run $lock -- sh -c '"
      "for i in 1 2 3; do (sleep 0.01 &); done; sleep 1; "
      "grep -l \"^State:.Z\" /proc/[0-9]*/status | wc -l; exit 7'");
  EXPECT_EQ(ran.out, "0\n");
  EXPECT_EQ(ran.exit_code, 7);
  EXPECT_EQ(shell_says("unshare -pfm --mount-proc $leasehold run $lock -- sh -c 'kill -INT $$'")
                .exit_code,
            128 + SIGINT);
}

/// A node stops a pod by SIGTERM to its process 1.
TEST_F(InShell, InAPodOf64MiBAnd24ProcessesItEndsWhenStoppedAndTheLockIsFree) {
  const auto ran = shell_says(
      "pod=leasehold-$$; for c in memory pids; do mkdir /sys/fs/cgroup/$c/$pod || exit 99; done; "
      "echo 64M > /sys/fs/cgroup/memory/$pod/memory.limit_in_bytes && "
      "echo 24 > /sys/fs/cgroup/pids/$pod/pids.max || exit 99; "
      "pod=$pod sh -c 'for c in memory pids; do echo $$ > /sys/fs/cgroup/$c/$pod/tasks; done; "
      "exec unshare -pfm --mount-proc $leasehold run $lock -- sh -c \""
      "trap \\\"exit 3\\\" TERM; touch ready; while :; do sleep 0.1; done\"' & "
      "for i in $(seq 600); do [ -e ready ] && break; sleep 0.1; done; "
      "kill $(pgrep -P $!); wait $!; code=$?; rmdir /sys/fs/cgroup/*/$pod; exit $code");
  if (ran.exit_code == 99) GTEST_SKIP() << "no control groups of ours here";
  EXPECT_EQ(ran.exit_code, 3) << ran.out;
  EXPECT_TRUE(lock_is_free());
}

/// As sudo does: the command is root's, we are not.
TEST_F(InShell, ACommandOfAnotherUserIsSaidToRunOn) {
  const std::string tools = folder_ + "/tools";
  fs::create_directory(tools);
  fs::permissions(folder_, fs::perms::all);
  shell_says(
      "cp $leasehold tools/leasehold; cp $(command -v setpriv) tools/setpriv; "
      "chown 0:0 tools/setpriv; chmod 4755 tools/setpriv");
  const std::string as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups ";
  const std::string as_root = "tools/setpriv --reuid 0 --regid 0 --clear-groups ";
  if (shell_says(as_nobody + as_root + "sh -c 'test $(id -ru) = 0'").exit_code != 0) {
    GTEST_SKIP() << "setuid programs change nothing here";
  }
  ChildProcess wrapper(
      {"/bin/sh", "-c",
       "cd '" + folder_ + "' && exec " + as_nobody + "tools/leasehold run --expiry 6s $lock -- " +
           as_root + "sh -c 'sleep 10; touch done' 2> messages"},
      ChildProcess::Io::nothing);
  EXPECT_TRUE(eventually([this] { return !lock_is_free(); }));
  EXPECT_EQ(leasehold({"release", lock_, "--force"}).exit_code, 0);
  EXPECT_EQ(code_of(wrapper), kLost);
  EXPECT_TRUE(fs::exists(folder_ + "/done")) << "else it was ended, and there is nothing to say";
  const auto said = shell_says("cat messages").out;
  EXPECT_TRUE(has(said, "processes of another user"));
}

TEST_F(InShell, AChildInASessionOfItsOwnIsNotKilledAndANestedRunIs) {
  auto wrapper = start("setsid sleep 100 & echo $! > '" + folder_ + "/apart'; '" + kCommand +
                           "' run '" + lock_ + "-inner' -- sh -c 'echo $$ > \"" + folder_ +
                           "/inner\"; exec sleep 100'",
                       "6s");
  pid_t inner = 0;
  EXPECT_TRUE(eventually([&] {
    std::ifstream(folder_ + "/inner") >> inner;
    return inner != 0;
  }));
  EXPECT_EQ(leasehold({"release", lock_, "--force"}).exit_code, 0);
  EXPECT_EQ(code_of(wrapper), kLost);
  pid_t apart = 0;
  std::ifstream(folder_ + "/apart") >> apart;
  EXPECT_FALSE(is_gone(apart)) << "it has left the group";
  kill(apart, SIGKILL);
  // The inner one was killed: its lock ends with its lease; its command is gone at once.
  EXPECT_TRUE(child_is_gone());
  EXPECT_TRUE(eventually([&] { return is_gone(inner); }));
}

TEST_F(InShell, TheSecondOfTwoLocksIsTakenByForceAndTheCommandEnds) {
  auto wrapper = start("exec sleep 100", "15s", {lock_ + "-second"});
  ChildProcess release(words({"release", lock_ + "-second", "--force"}), ChildProcess::Io::nothing);
  EXPECT_TRUE(eventually([this] { return child_is_gone(); }, seconds(9)))
      << "the loss is known with the next extension; a guard would kill it ten seconds later";
  EXPECT_EQ(code_of(wrapper), kLost);
  EXPECT_EQ(code_of(release), 0);
  EXPECT_TRUE(lock_is_free()) << "the other lock is given back";
}

TEST_F(InShell, APasswordIsNotHandedOnToTheCommand) {
  std::ofstream(folder_ + "/uri") << "\xEF\xBB\xBF" << shared_set().uri() << "\r\n";
  setenv("LEASEHOLD_URI", "mongodb://u:secret@h/", 1);
  EXPECT_EQ(
      shell_says("$leasehold run --uri-file uri $lock -- sh -c 'echo uri: $LEASEHOLD_URI'").out,
      "uri:\n");
  setenv("LEASEHOLD_URI", shared_set().uri().c_str(), 1);
  EXPECT_EQ(shell_says("$leasehold run $lock -- $leasehold run $lock-inner -- echo nested").out,
            "nested\n");
}

TEST_F(InShell, AFileWithAPasswordThatAllMayReadIsSaid) {
  std::ofstream(folder_ + "/uri") << "mongodb://u:secret@127.0.0.1:1/?serverSelectionTimeoutMS=100";
  fs::permissions(folder_ + "/uri", fs::perms(0644));
  const auto open = shell_says("$leasehold ls --uri-file uri");
  EXPECT_TRUE(has(open, "has a password, which all users of this machine can read"));
  fs::permissions(folder_ + "/uri", fs::perms(0600));
  EXPECT_EQ(shell_says("$leasehold ls --uri-file uri").out.find("all users"), std::string::npos);
}

/// As `ulimit -f` gives it: output to a pipe is no file. And with one page, as docker gives by
/// --shm-size=4096.
TEST_F(InShell, ALimitOnFilesAndAFullShmHaveNoEffect) {
  EXPECT_TRUE(ended(shell_says("ulimit -f 0; exec $leasehold run $lock -- echo done"), 0, "done"));
  if (shell_says("unshare -m true").exit_code != 0) GTEST_SKIP() << "no namespaces here";
  EXPECT_TRUE(ended(shell_says("unshare -m sh -c 'mount -t tmpfs -o size=4k none /dev/shm && "
                               "$leasehold run $lock -- true'"), 0));
}

/// As in a pod of few pids: each number ends with a sentence, soon, and leaves the lock free.
TEST_F(InShell, WithFewProcessesOrDescriptorsItSaysSoAndReleases) {
  const auto ends_well = [this](const std::string& line, const std::string& why,
                                const std::string& what, const std::string& or_what) {
    const auto ran = shell_says(line);
    EXPECT_TRUE(ran.exit_code == 0 || (has(ran, why) && (has(ran, what) || has(ran, or_what))))
        << line << ": " << ran.exit_code << ' ' << ran.out;
    EXPECT_LT(ran.exit_code, 127) << line << ": " << ran.out;
    EXPECT_TRUE(lock_is_free()) << line;
  };
  for (const std::string what : {"run -w 2 $lock -- true", "ls"}) {
    for (int few = 4; few <= 32; few += 4) {
      ends_well("ulimit -n " + std::to_string(few) + "; exec $leasehold " + what, "",
                "Too many open files", "descriptor");
    }
  }
  if (geteuid() != 0) GTEST_SKIP() << "needs a user of its own";
  for (const int few : {1, 3, 4, 5, 6, 9, 13, 16}) {
    ends_well("timeout 30 setpriv --reuid=54321 --clear-groups prlimit --nproc=" +
                  std::to_string(few) + " $leasehold run -w 2 --expiry 8s $lock -- /bin/true",
              "Resource temporarily unavailable", "thread", "process");
  }
}

/// The same in a terminal.
class InTerminal : public InShell {
 protected:
  void SetUp() override {
    InShell::SetUp();
    ASSERT_TRUE(terminal_.shows("ready>"));
    ASSERT_TRUE(terminal_.runs("cd '" + folder_ + "'; leasehold='" + kCommand + "' lock=" + lock_ +
                               "; export LEASEHOLD_URI='" + shared_set().uri() + "'"));
  }
  /// As bash says it: the lock, whose name is the test's, may have "Stopped" in it too.
  bool shows_stopped() { return terminal_.shows("Stopped  "); }

  PseudoTerminal terminal_;
};

TEST_F(InTerminal, StopAndForegroundAreThoseOfAnyJob) {
  terminal_.type(
      "$leasehold run --expiry 20s $lock -- sh -c 'touch began; sleep 1; echo a\"\"wake'\n");
  EXPECT_TRUE(appears("began"));
  terminal_.type(PseudoTerminal::kStop);
  EXPECT_TRUE(terminal_.shows("stopped with the command")) << terminal_.all();
  EXPECT_TRUE(shows_stopped()) << terminal_.all();
  EXPECT_TRUE(terminal_.shows("ready>"));
  terminal_.type("fg\n");
  EXPECT_TRUE(terminal_.shows("awake")) << terminal_.all();
  EXPECT_TRUE(terminal_.shows("ready>"));
  EXPECT_TRUE(terminal_.runs("echo code $?")) << terminal_.all();
  EXPECT_TRUE(lock_is_free());
}

TEST_F(InTerminal, InterruptEndsALoopOfTheShellAndOneOfAScript) {
  const std::string loop =
      "for i in 1 2 3; do rm -f began; $leasehold run -n $lock -- sh -c 'touch began; exec sleep "
      "100'; echo ro\"\"und; done";
  terminal_.type(loop + "\n");
  EXPECT_TRUE(appears("began"));
  terminal_.type(PseudoTerminal::kInterrupt);
  EXPECT_TRUE(terminal_.shows("ready>"));
  for (const auto* interpreter : {"bash", "sh"}) {
    fs::remove(folder_ + "/began");
    std::ofstream(folder_ + "/script") << "leasehold='" << kCommand << "' lock=" << lock_ << '\n'
                                       << loop << '\n';
    terminal_.type(std::string(interpreter) + " script\n");
    EXPECT_TRUE(appears("began"));
    terminal_.type(PseudoTerminal::kInterrupt);
    EXPECT_TRUE(terminal_.shows("ready>"));
    terminal_.type("echo co\"\"de $?\n");
    EXPECT_TRUE(terminal_.shows("code 130")) << terminal_.all();
  }
  EXPECT_EQ(terminal_.all().find("round"), std::string::npos) << terminal_.all();
}

TEST_F(InTerminal, InterruptWhileWaitingEndsALoopToo) {
  auto first = start("exec sleep 100");
  terminal_.type("for i in 1 2 3; do $leasehold run $lock -- true; echo ro\"\"und; done\n");
  EXPECT_TRUE(terminal_.shows("waiting")) << terminal_.all();
  terminal_.type(PseudoTerminal::kInterrupt);
  EXPECT_TRUE(terminal_.shows("ready>"));
  EXPECT_EQ(terminal_.all().find("round"), std::string::npos) << terminal_.all();
}

TEST_F(InTerminal, ACommandInAPipeReadsTheTerminalAndTheOthersToo) {
  terminal_.type(
      "echo | $leasehold run $lock -- sh -c 'read a < /dev/tty; echo go\"\"t $a' | cat\n");
  EXPECT_TRUE(eventually([this] { return !lock_is_free(); }));
  terminal_.type("one\n");
  EXPECT_TRUE(terminal_.shows("got one")) << terminal_.all();
  EXPECT_TRUE(terminal_.shows("ready>"));
  terminal_.type("$leasehold run $lock -- sleep 2 | sh -c 'read a < /dev/tty; echo go\"\"t $a'\n");
  terminal_.type("two\n");
  EXPECT_TRUE(terminal_.shows("got two")) << terminal_.all();
  terminal_.type(PseudoTerminal::kInterrupt);
  EXPECT_TRUE(terminal_.shows("ready>"));
}

TEST_F(InTerminal, ABackgroundJobThatReadsTheTerminalIsAStoppedJob) {
  terminal_.type("$leasehold run $lock -- sh -c 'read a; echo go\"\"t $a' &\n");
  EXPECT_TRUE(terminal_.shows("ready>"));
  EXPECT_TRUE(eventually([this] { return !lock_is_free(); }));
  EXPECT_TRUE(eventually([this] {
    terminal_.type("jobs\n");
    return shows_stopped();
  })) << terminal_.all();
  terminal_.type("fg\n");
  terminal_.type("three\n");
  EXPECT_TRUE(terminal_.shows("got three")) << terminal_.all();
}

TEST_F(InTerminal, InterruptReachesItWhileItHoldsOn) {
  terminal_.type("$leasehold run --at-least 60s $lock -- touch ended\n");
  EXPECT_TRUE(appears("ended"));
  EXPECT_TRUE(eventually([this] {
    terminal_.type(PseudoTerminal::kInterrupt);
    return terminal_.shows("not released before --at-least");
  }));
  EXPECT_TRUE(terminal_.shows("ready>")) << terminal_.all();
}

}  // namespace
}  // namespace leasehold::lab
