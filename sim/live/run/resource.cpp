#include "sim/live/run/resource.hpp"

#include <utility>

namespace leasehold::sim::live {
namespace {

Json long_number(std::int64_t value) { return {{"$numberLong", std::to_string(value)}}; }

Json majority() { return {{"w", "majority"}, {"wtimeout", 2'000}}; }

}  // namespace

void MongoResource::create(const std::vector<std::string>& names) {
  Json documents = Json::array();
  for (const auto& name : names) documents.push_back({{"_id", name}, {"fence", long_number(0)}});
  client_.must(
      database_,
      {{"insert", kCollection}, {"documents", documents}, {"writeConcern", majority()}});
}

std::string MongoResource::write(const FencedWrite& w) {
  const Json filter{{"_id", w.name}, {"fence", {{"$lte", long_number(w.token)}}}};
  const Json change{{"$set",
                     {{"fence", long_number(w.token)},
                      {"token", std::to_string(w.token)},
                      {"owner", w.owner},
                      {"process", w.process},
                      {"write", w.number}}}};
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

std::string MemoryResource::write(const FencedWrite& w) {
  const std::lock_guard lock(mutex_);
  auto& fence = fences_[w.name];
  if (w.token < fence) return "refused";
  fence = w.token;
  stored_.push_back(stored(w, ++accepted_, now_ns_()));
  return "accepted";
}

model::History MemoryResource::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(stored_, {});
}

}  // namespace leasehold::sim::live
