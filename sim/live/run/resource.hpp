#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "model/history/history.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/record/lock_truth.hpp"

namespace leasehold::sim::live {

/// A resource protected by fencing, one for each lock: it refuses a token lower than the greatest
/// it has taken.
class FencedResource {
 public:
  FencedResource() = default;
  virtual ~FencedResource() = default;
  FencedResource(const FencedResource&) = delete;
  FencedResource& operator=(const FencedResource&) = delete;

  /// "accepted", "refused" or "unknown".
  virtual std::string write(const FencedWrite& write) = 0;
};

/// One document per lock name (filter `fence <= token`), majority writes. For one thread.
class MongoResource final : public FencedResource {
 public:
  static constexpr const char* kCollection = "resource";

  MongoResource(const std::string& uri, std::string database)
      : client_(uri), database_(std::move(database)) {}

  /// Makes the documents for these names; the fence stands at 0.
  void create(const std::vector<std::string>& names);
  std::string write(const FencedWrite& write) override;

 private:
  MongoClient client_;
  const std::string database_;
};

/// In this process, for stores whose own writes cannot be read. Thread-safe.
class MemoryResource final : public FencedResource {
 public:
  explicit MemoryResource(std::function<std::int64_t()> now_ns) : now_ns_(std::move(now_ns)) {}

  std::string write(const FencedWrite& write) override;
  /// The accepted writes since the last call, in their order.
  [[nodiscard]] model::History take();

 private:
  const std::function<std::int64_t()> now_ns_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> fences_;
  std::int64_t accepted_ = 0;
  model::History stored_;
};

}  // namespace leasehold::sim::live
