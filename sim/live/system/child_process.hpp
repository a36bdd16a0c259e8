#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/threads/clock.hpp"

namespace leasehold::sim::live {

/// By the clock of histories, CLOCK_BOOTTIME, which is never destroyed: a proxy that ends with the
/// program asks.
[[nodiscard]] inline std::int64_t boot_ns() {
  static const auto& clock = *new auto(runtime::boottime_clock());
  return clock->now().time_since_epoch().count();
}

/// A child of this process: started, killed, stopped, waited for. Ends with its owner.
/// Not thread-safe.
class ChildProcess {
 public:
  /// What the child's standard input and output are: ours, nothing, or a pipe to us.
  enum class Io { nothing, pipes };

  ChildProcess() = default;
  /// `errors`: the file that its standard error goes to; empty: ours. Throws std::runtime_error if
  /// it cannot be started.
  ChildProcess(const std::vector<std::string>& command, Io io, bool own_session = false,
               const std::string& errors = "");
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int out() const { return out_; }  ///< to read from, non-blocking
  void say(const std::string& text) const;        ///< to its standard input
  void close_input();
  void send_signal(int signal) const;
  [[nodiscard]] bool running();
  /// Whether it ended within this many milliseconds.
  bool wait_ms(int limit_ms);
  /// SIGKILL, and waits until it is gone.
  void kill();
  [[nodiscard]] int exit_status() const { return status_; }

 private:
  void close_pipes();

  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

/// Servers that cannot be started here; the message says why, or how to get them.
struct NoServers : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Repeats `attempt` until it returns true; throws std::runtime_error with its last complaint once
/// the limit is over, and NoServers as soon as it does. On a machine that is overloaded a server
/// needs more than a minute to start.
void until_true(const std::string& what, const std::function<bool()>& attempt,
                std::chrono::milliseconds limit = std::chrono::minutes(3));

/// "ended with status 1" or "was ended by signal 9", from a status of wait(2).
[[nodiscard]] std::string how_it_ended(int status);

/// A file that the build puts beside the program that runs. Throws std::runtime_error if it is not
/// there.
[[nodiscard]] std::string beside_this_program(const std::string& file);

/// TMPDIR, or /tmp. Throws std::runtime_error that names it unless it is there.
[[nodiscard]] std::filesystem::path temporary_folder();

/// The fields of /proc/PID/stat (proc(5)) from the third, the state, on, because the name before it
/// may have spaces. Empty: no process has that number.
[[nodiscard]] std::vector<std::string> kernel_stat(pid_t pid);
[[nodiscard]] bool is_stopped(pid_t pid);
/// No signal but SIGKILL reaches it before that is over.
[[nodiscard]] bool waits_in_kernel(pid_t pid);

/// Kills processes and removes a folder when this process ends in any way, SIGKILL included: a
/// shell that waits for the end of a pipe. The run may keep its data in that folder.
class Janitor {
 public:
  Janitor();
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  /// A process to be killed, stopped or not. REQUIRES: its command line or its environment contains
  /// `folder()`, so that no process of another program is ever hit.
  void watch(pid_t pid);
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  ChildProcess shell_;
};

/// What comes from a descriptor, line by line. Not thread-safe.
///
///     while (lines.read_from(child.out())) {
///       while (const auto line = lines.next()) hear(*line);
///     }
class LineReader {
 public:
  /// Reads once what is there now. Returns whether there was anything.
  bool read_from(int fd);
  /// The next line that is complete, without its end.
  [[nodiscard]] std::optional<std::string> next();

  /// Whether nothing more will come.
  [[nodiscard]] bool ended() const { return ended_; }
  /// The bytes not returned yet: once `next` returns nothing, those of a line without an end.
  [[nodiscard]] std::size_t waiting() const { return text_.size() - from_; }
  /// Those bytes, `most` of them at most.
  [[nodiscard]] std::string rest(std::size_t most) const { return text_.substr(from_, most); }

 private:
  std::string text_;
  std::size_t from_ = 0;  ///< where the rest begins
  bool ended_ = false;
};

/// The processes of this machine at one moment, by who started whom.
class ProcessTable {
 public:
  ProcessTable();

  /// A process, all that it started, and its group; those also that began a group or session of
  /// their own, as the processes of PostgreSQL do. Dead ones that wait for their parent are none.
  [[nodiscard]] std::vector<pid_t> tree(pid_t root) const;
  /// There is no such process, or it is dead.
  [[nodiscard]] bool is_gone(pid_t process) const;
  /// 0: there is no such process.
  [[nodiscard]] pid_t parent(pid_t process) const;

 private:
  struct Entry {
    pid_t parent = 0, group = 0;
    bool dead = false;
  };
  std::map<pid_t, Entry> processes_;
};

/// SIGSTOP to a whole tree; all are stopped when this returns. Throws std::runtime_error if one is
/// not within ten seconds.
void stop_tree(pid_t root);
/// SIGCONT.
void resume_tree(pid_t root);
/// SIGKILL to several trees at once; none of them runs when this returns. Throws as `stop_tree`,
/// when it has sent it.
void kill_trees(const std::vector<pid_t>& roots);

/// Which of the processes that it knows has the other end of a connection on this machine: by the
/// kernel's table of sockets, so without reading what they say.
///
/// Thread-safe.
///
///     SocketOwners owners;
///     owners.add("p0.1", child.pid());
///     const auto name = owners.of(remote_port, local_port);  // "p0.1"
class SocketOwners {
 public:
  /// From now on connections of this process and of all that it starts have this name. REQUIRES: it
  /// is a child of this process. A name may be given to another process once the first is dead.
  void add(const std::string& name, pid_t process);
  /// The name of the process with a connection from this port to that one; empty: it is of none
  /// that is known, or gone.
  [[nodiscard]] std::string of(int from, int to) const;
  /// The names of those that have a connection to one of these ports of 127.0.0.1 now.
  [[nodiscard]] std::set<std::string> connected_to(const std::set<int>& ports) const;

 private:
  void look_again() const;
  [[nodiscard]] std::string owner_of(const std::string& inode) const;

  mutable std::mutex mutex_;
  std::map<std::string, pid_t> known_;
  /// All their processes as of the last time that one was looked for in vain.
  mutable std::map<pid_t, std::string> names_;
};

}  // namespace leasehold::sim::live
