#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "model/history/history.hpp"
#include "sim/live/system/child_process.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/record/lock_truth.hpp"

namespace leasehold::sim::live {

/// A resource protected by fencing, one for each lock: it keeps a Fence.
class FencedResource {
 public:
  FencedResource() = default;
  virtual ~FencedResource() = default;
  FencedResource(const FencedResource&) = delete;
  FencedResource& operator=(const FencedResource&) = delete;

  /// "accepted", "refused" or "unknown".
  virtual std::string write(const FencedWrite& write) = 0;
};

/// One document per lock name (filter `fence <= token`, of a read `wrote <= token`), majority
/// writes. For one thread.
class MongoResource final : public FencedResource {
 public:
  static constexpr const char* kCollection = "resource";

  MongoResource(const std::string& uri, std::string database)
      : client_(uri), database_(std::move(database)) {}

  /// Makes the documents for these names; the fence stands at 0.
  void create(const std::vector<std::string>& names) {
    Json documents = Json::array();
    for (const auto& name : names) {
      documents.push_back({{"_id", name}, {"fence", number(0)}, {"wrote", number(0)}});
    }
    client_.must(
        database_,
        {{"insert", kCollection}, {"documents", documents}, {"writeConcern", majority()}});
  }

  std::string write(const FencedWrite& w) override {
    const Json filter{{"_id", w.name}, {w.reads ? "wrote" : "fence", {{"$lte", number(w.token)}}}};
    Json maxima{{"fence", number(w.token)}};
    if (!w.reads) maxima["wrote"] = number(w.token);
    const Json change{{"$max", maxima},
                      {"$set",
                       {{"token", std::to_string(w.token)},
                        {"owner", w.owner},
                        {"process", w.process},
                        {"write", w.number},
                        {"reads", w.reads}}}};
    try {
      const Json reply =
          client_.run(database_, {{"update", kCollection},
                                  {"updates", Json::array({{{"q", filter}, {"u", change}}})},
                                  {"writeConcern", majority()},
                                  {"maxTimeMS", 3'000}});
      if (!confirmed(reply)) return "unknown";
      return integer(reply["n"]) == 1 ? "accepted" : "refused";
    } catch (const std::exception&) {
      return "unknown";
    }
  }

 private:
  static Json number(std::int64_t value) { return {{"$numberLong", std::to_string(value)}}; }
  static Json majority() { return {{"w", "majority"}, {"wtimeout", 2'000}}; }

  MongoClient client_;
  const std::string database_;
};

/// In this process, for stores whose own writes cannot be read. Thread-safe.
class MemoryResource final : public FencedResource {
 public:
  std::string write(const FencedWrite& w) override {
    const std::lock_guard lock(mutex_);
    if (!fences_[w.name].take(w)) return "refused";
    stored_.push_back(stored(w, ++accepted_, boot_ns()));
    return "accepted";
  }
  /// The accepted writes since the last call, in their order.
  [[nodiscard]] model::History take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(stored_, {});
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Fence> fences_;
  std::int64_t accepted_ = 0;
  model::History stored_;
};

}  // namespace leasehold::sim::live
