#include "scenarios/lab/live_world.hpp"

#include <filesystem>

namespace leasehold::lab {

model::History LiveWorld::run(const sim::Plan& plan) {
  if (!servers_) {
    servers_ =
        std::make_unique<sim::live::ReplicaSet>(sim::live::ReplicaSetOptions{.faulty = true});
  }
  sim::live::LiveRun run;
  run.uri = servers_->uri();
  run.servers = servers_.get();
  run.worker_program = std::filesystem::read_symlink("/proc/self/exe");
  run.database = "leasehold_lab_" + std::to_string(++runs_);
  run.janitor = &janitor_;
  run.folder = janitor_.folder();
  return sim::live::run_live(plan, run);
}

}  // namespace leasehold::lab
