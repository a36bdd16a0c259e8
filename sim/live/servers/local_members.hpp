#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/faults/cluster_control.hpp"
#include "sim/live/servers/member_clock.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {

/// A server on this machine, and all that it starts. Ends with its owner. Not thread-safe.
class ServerProcess {
 public:
  /// Its log and its clock's file stand beside `folder`. REQUIRES: that lies in the janitor's.
  ServerProcess(std::string folder, Janitor& janitor)
      : folder_(std::move(folder)), janitor_(&janitor) {}

  void stop() {  ///< SIGSTOP; it is stopped when this returns
    if (!answers()) return;
    stopped_ = true;
    stop_tree(pid());
  }
  /// Returns whether it was stopped.
  bool resume() {
    const bool was = std::exchange(stopped_, false);
    if (was) resume_tree(pid());
    return was;
  }
  /// It is dead when this returns; what it started is for `kill_trees`.
  void kill() {
    process_.kill();
    alive_ = stopped_ = starting_ = false;
  }
  /// Whether it ended without having been asked to. Says so once; it can be started again then.
  [[nodiscard]] bool died() {
    if (!alive_ || process_.running()) return false;
    alive_ = stopped_ = false;
    return true;
  }
  /// As waitpid(2) says it, after `died`.
  [[nodiscard]] int exit_status() const { return process_.exit_status(); }
  [[nodiscard]] bool alive() const { return alive_; }
  /// Whether an answer can be expected.
  [[nodiscard]] bool answers() const { return alive_ && !stopped_ && !starting_; }

  /// REQUIRES: it has a clock of its own.
  [[nodiscard]] MemberClock& clock() { return *clock_; }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string log_file() const { return folder_ + ".log"; }

 protected:
  void make_clock() { clock_.emplace(folder_ + ".clock"); }
  void start(const std::vector<std::string>& words) {
    process_ = ChildProcess(words, ChildProcess::Io::nothing);
    janitor_->watch(pid());
    alive_ = true;
    stopped_ = false;
  }

  std::string folder_;
  Janitor* janitor_;
  std::optional<MemberClock> clock_;
  ChildProcess process_;
  bool alive_ = false, stopped_ = false;
  bool starting_ = false;  ///< and did not answer yet
};

/// Members that are processes of ours.
template <typename Member>
class LocalMembers : public MemberControl {
 public:
  LocalMembers() = default;
  /// The end of a shell alone would leave its server behind.
  ~LocalMembers() override {
    try {
      for (int i = 0; i < LocalMembers::size(); ++i) LocalMembers::kill({i});
    } catch (const std::exception&) {
      // The janitor kills what is left.
    }
  }
  LocalMembers(const LocalMembers&) = delete;
  LocalMembers& operator=(const LocalMembers&) = delete;

  [[nodiscard]] Member& at(int member) { return members_.at(static_cast<std::size_t>(member)); }
  [[nodiscard]] std::vector<std::string> log_files() const {
    std::vector<std::string> files;
    for (const auto& m : members_) files.push_back(m.log_file());
    return files;
  }

  [[nodiscard]] int size() override { return static_cast<int>(members_.size()); }
  [[nodiscard]] bool reachable(int member) override { return at(member).answers(); }
  void kill(const std::vector<int>& members) override {
    std::vector<pid_t> hit;
    for (const int m : members) {
      if (at(m).alive()) hit.push_back(at(m).pid());
    }
    kill_trees(hit);
    for (const int m : members) at(m).kill();
  }
  void stop(const std::vector<int>& members) override {
    for (const int m : members) at(m).stop();
  }
  void resume(const std::vector<int>& members) override {
    for (const int m : members) at(m).resume();
  }
  void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) override {
    at(member).clock().set(std::chrono::milliseconds(ahead_ms), rate_ppm);
  }
  [[nodiscard]] std::int64_t clock_ahead_ms(int member) override {
    return at(member).clock().ahead_ms();
  }

 protected:
  Janitor janitor_;
  std::vector<Member> members_;
};

}  // namespace leasehold::sim::live
