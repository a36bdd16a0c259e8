#include "sim/live/run/resource.hpp"

namespace leasehold::sim::live {
namespace {

Json long_number(std::int64_t value) { return {{"$numberLong", std::to_string(value)}}; }

Json majority() { return {{"w", "majority"}, {"wtimeout", 2'000}}; }

}  // namespace

void FencedResource::create(const std::vector<std::string>& names) {
  Json documents = Json::array();
  for (const auto& name : names) documents.push_back({{"_id", name}, {"fence", long_number(0)}});
  client_.must(
      database_,
      {{"insert", kResourceCollection}, {"documents", documents}, {"writeConcern", majority()}});
}

std::string FencedResource::write(const Write& w) {
  const Json filter{{"_id", w.name}, {"fence", {{"$lte", long_number(w.token.value())}}}};
  const Json change{{"$set",
                     {{"fence", long_number(w.token.value())},
                      {"token", w.token.to_string()},
                      {"owner", w.owner},
                      {"process", w.process},
                      {"write", w.number}}}};
  try {
    const Json reply =
        client_.run(database_, {{"update", kResourceCollection},
                                {"updates", Json::array({{{"q", filter}, {"u", change}}})},
                                {"writeConcern", majority()},
                                {"maxTimeMS", 3'000}});
    const bool clean = integer(reply["ok"]) == 1 && !reply.contains("writeErrors") &&
                       !reply.contains("writeConcernError");
    if (!clean) return "unknown";
    return integer(reply["n"]) == 1 ? "accepted" : "refused";
  } catch (const std::exception&) {
    return "unknown";
  }
}

}  // namespace leasehold::sim::live
