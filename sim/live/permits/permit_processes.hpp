#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/faults/cluster_control.hpp"
#include "sim/live/permits/permit_claims.hpp"
#include "sim/live/system/child_process.hpp"
#include "sim/live/system/line_reader.hpp"

namespace leasehold::sim::live {

/// Processes that take permits of one semaphore (`permit_main.cpp`), for faults, and what they
/// said. One thread calls all of it.
class PermitProcesses final : public ProcessControl {
 public:
  /// The command line of the process with this name.
  using Command = std::function<std::vector<std::string>(const std::string& name)>;
  PermitProcesses(Command command, int count, std::function<std::int64_t()> now_ns);

  void read();

  [[nodiscard]] std::vector<ProcessView> running() override;
  bool kill(const std::string& name) override;
  void start_successor(const std::string& name) override;
  void pause(const std::string& name, bool suspends) override;
  void resume(const std::string& name) override;
  /// REQUIRES: never called, because nothing that they do depends on a wall clock.
  void set_wall_clock(const std::string& name, std::int64_t offset_ms) override;

  /// A permit of a holder that was killed.
  struct Orphan {
    int slot = 0;
    std::int64_t token = 0, died_ns = 0;
  };
  [[nodiscard]] const std::vector<PermitClaim>& claims() const { return claims_; }
  [[nodiscard]] const std::vector<Orphan>& orphans() const { return orphans_; }
  /// Permits that each place had, of all processes that stood there.
  [[nodiscard]] const std::vector<double>& grants() const { return grants_; }
  /// How often `held()` turned false while a holder used its permit.
  [[nodiscard]] int losses() const { return losses_; }
  /// Processes that ended by themselves, with their exit status: there should be none.
  [[nodiscard]] std::vector<std::string> ended();

 private:
  struct One {
    ChildProcess child;
    std::string name;
    LineReader lines = {};
    int life = 1;
    bool paused = false, killed = false;
    std::int64_t held_token = 0;  ///< 0: it holds nothing, by what it last said
    int held_slot = 0;
  };

  void start(std::size_t place);
  void read(std::size_t place);
  void hear(std::size_t place, const std::string& line);
  One* named(const std::string& name);

  const Command command_;
  const std::function<std::int64_t()> now_ns_;
  std::vector<One> processes_;
  std::vector<PermitClaim> claims_;
  std::vector<Orphan> orphans_;
  std::vector<double> grants_;
  int losses_ = 0;
};

}  // namespace leasehold::sim::live
