#include <fuzzer/FuzzedDataProvider.h>

#include <nlohmann/json.hpp>

#include "properties/fuzz/fuzz.hpp"
#include "sim/live/oplog/oplog.hpp"
#include "sim/record/lock_truth.hpp"

/// Oplog entries about lock documents with any fields: read, or refused with a reason. No queue
/// loses more owners than have joined it.
namespace leasehold::fuzz {
namespace {

using Json = sim::live::Json;

constexpr const char* kFields[] = {"_id",   "lockId", "expiresAt", "owner", "a",  "$v",
                                   "diff",  "u",      "i",         "d",     "l",  "sowner",
                                   "u0",    "s0",     "squeue",    "queue", "$set", "$unset",
                                   "$date", "owner.by", "queue.0", "queue.x.y", "$numberLong", ""};

Json value(FuzzedDataProvider& input, int depth) {
  switch (input.ConsumeIntegralInRange(0, depth < 4 ? 8 : 5)) {
    case 0: return nullptr;
    case 1: return input.ConsumeBool();
    case 2: return input.ConsumeIntegral<std::int64_t>();
    case 3: return input.ConsumeProbability<double>();
    case 4: return input.PickValueInArray({"a.1.1", "a.1.1~7.1.2.b.1.1", "~", "2026-11-24", ""});
    case 5: return Json{{"$date", "2026-11-24T20:00:00.5Z"}};
    case 6: {
      Json array = Json::array();
      for (int n = input.ConsumeIntegralInRange(0, 3); n > 0; --n) {
        array.push_back(value(input, depth + 1));
      }
      return array;
    }
    default: {
      Json object = Json::object();
      for (int n = input.ConsumeIntegralInRange(0, 4); n > 0; --n) {
        object[input.PickValueInArray(kFields)] = value(input, depth + 1);
      }
      return object;
    }
  }
}

Json entry(FuzzedDataProvider& input) {
  Json all{{"op", input.PickValueInArray({"i", "u", "d", "c", "n"})},
           {"ts", {{"$timestamp", {{"t", 1'795'550'400}, {"i", 1}}}}},
           {"wall", value(input, 3)},
           {"o", value(input, 0)}};
  if (input.ConsumeBool()) all["o2"] = Json{{"_id", input.PickValueInArray({"x", "y"})}};
  if (input.ConsumeBool() && all["o"].is_object()) all["o"]["_id"] = "x";
  return all;
}

void follow_queue(FuzzedDataProvider& input) {
  sim::LockTruth truth;
  std::int64_t standing = 0;
  for (std::int64_t order = 1; order < 8 && input.remaining_bytes() > 0; ++order) {
    const sim::LockDocument document{.lock_id = input.ConsumeRandomLengthString(60),
                                     .expires_at_ms = input.ConsumeBool() ? 0 : 1};
    const bool deleted = input.ConsumeBool();
    for (const auto& e : truth.written("x", "x", deleted ? nullptr : &document, order)) {
      if (e.kind != model::Kind::place) continue;
      standing += e.count > 0 ? 1 : -1;
      must(e.matched >= 0, "a queue has a length");
    }
    must(standing >= 0, "nobody leaves a queue unseen");
  }
}

}  // namespace
}  // namespace leasehold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace leasehold;
  FuzzedDataProvider input(bytes, size);
  if (input.ConsumeBool()) {
    fuzz::follow_queue(input);
    return 0;
  }
  const model::DocumentMapping mapping{"locks", "_id", input.ConsumeBool() ? "owner" : "owner.by",
                                       "expiresAt"};
  sim::live::DocumentTruth truth;
  if (input.ConsumeBool()) truth = sim::live::DocumentTruth(mapping, input.ConsumeBool());
  for (int n = 0; n < 20 && input.remaining_bytes() > 0; ++n) {
    const auto one = fuzz::entry(input);
    try {
      (void)truth.read(one, one);
    } catch (const std::exception& refused) {
      fuzz::must(*refused.what() != '\0', "a refusal has a reason");
    }
  }
  return 0;
}
