#include "sim/live/foreign/foreign_worker.hpp"

#include <utility>

namespace leasehold::sim::live {

ForeignWorker::ForeignWorker(Setting setting, Now now_ns, Emit emit)
    : setting_(std::move(setting)), process_(setting_, std::move(now_ns), std::move(emit)) {
  for (int i = 0; i < setting_.workload.process.callers; ++i) {
    callers_.emplace_back([this, i] { ForeignCaller(home_, i).live(); });
  }
}

ForeignWorker::~ForeignWorker() {
  process_.kill();
  callers_.clear();
}

}  // namespace leasehold::sim::live
