#pragma once

#include <sys/types.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace leasehold::sim::live {

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
