#pragma once

#include <sys/types.h>

#include <map>
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

}  // namespace leasehold::sim::live
