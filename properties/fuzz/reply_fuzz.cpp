#include <fuzzer/FuzzedDataProvider.h>

#include <array>

#include "core/document/lock_id.hpp"
#include "mongo/bson.hpp"
#include "mongo/replies.hpp"
#include "properties/fuzz/fuzz.hpp"

/// A server's answers. Random bytes are hardly ever BSON, so every other input is no reply but a
/// recipe for one, made of fields that the reader knows and types that it does not expect.
namespace leasehold::fuzz {
namespace {

using core::Command;
using core::Outcome;
using core::RawCommand;
using mongo::Bson;

constexpr int kDeepest = 4;
/// As lockIds begin that several readers share; the entry is of owner {1, 2}.
constexpr const char* kReaders[] = {
    "00000000000000000000000000000000.000030000.0.shared|",
    "00000000000000000000000000000000.000030000.0.shared|"
    "1700000060000.1700000000000.00000000000000010000000000000002.000030000.7.host:1:|"};
constexpr std::array kKeys{
    "ok", "code", "errmsg", "keyPattern", "writeErrors", "index", "n", "writeConcernError",
    "value", "_id", "lockId", "acquiredAt", "expiresAt", "fencingToken", "cursor", "id",
    "firstBatch", "nextBatch", "documentKey", "operationTime", "retriedStmtId", "msg",
    "setName", "maxWireVersion", "key", "expireAfterSeconds", "partialFilterExpression",
    "Value", "0", "1", "clusterTime"};

RawCommand plain(RawCommand::Won won) {
  return {.role = RawCommand::Role::acquire, .owner = {1, 2}, .lock_id = "ours", .won = won};
}

/// One of each kind, in the order of Command::body's alternatives.
const decltype(Command::body) kBodies[] = {
    core::AcquireCommand{.owner = {1, 2}}, core::ExtendCommand{{{}, {}, {}}},
    core::ReadHoldersCommand{}, core::DeleteCommand{}, core::EnsureIndexCommand{},
    core::HandOverCommand{},
    core::StreamCommand{}, plain(RawCommand::Won::by_success),
    plain(RawCommand::Won::by_null_before), plain(RawCommand::Won::by_owner_in_value)};

void write(Bson& out, FuzzedDataProvider& input, int depth) {
  for (int left = input.ConsumeIntegralInRange(0, 6); left > 0; --left) {
    const char* key = input.PickValueInArray(kKeys);
    const auto nested = [&](Bson& inside) { write(inside, input, depth + 1); };
    switch (input.ConsumeIntegralInRange(0, depth < kDeepest ? 10 : 8)) {
      case 0: out.int32(key, input.ConsumeIntegral<std::int32_t>()); break;
      case 1: out.int64(key, input.ConsumeIntegral<std::int64_t>()); break;
      case 2: out.text(key, input.ConsumeRandomLengthString(40)); break;
      case 3: out.flag(key, input.ConsumeBool()); break;
      case 4: out.date(key, input.ConsumeIntegral<std::int64_t>()); break;
      case 5: out.null(key); break;
      case 6: out.int32(key, 1); break;
      case 7: out.int32(key, 11000); break;
      case 8:
        out.text(key, input.PickValueInArray(kReaders) + input.ConsumeRandomLengthString(90));
        break;
      case 9: out.doc(key, nested); break;
      default: out.array(key, nested); break;
    }
  }
}

void read(const Command& command, const bson_t& reply) {
  const auto read = mongo::read_reply(command, reply);
  const bool refused = read.outcome == Outcome::configuration ||
                       read.outcome == Outcome::not_executed ||
                       read.outcome == Outcome::duplicate_key;
  must(!refused || read.code != 0, "certainly not executed needs an error code that says so");
  must(read.outcome != Outcome::done || !bson_has_field(&reply, "writeConcernError"),
       "a write concern error is never done");
  for (const auto& document : read.documents) {
    auto parts = core::parse_lock_id(document.lock_id);
    if (!parts) continue;
    parts->queue = {};  // servers alone write it
    const auto text = core::format_lock_id(*parts);
    const auto again = core::parse_lock_id(text);
    must(again && *again == *parts, "a lock id reads back to its parts");
  }
  (void)mongo::refusal_of_hello(reply);
  (void)mongo::judge_indexes(reply);
}

}  // namespace
}  // namespace leasehold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace leasehold;
  FuzzedDataProvider input(bytes, size);
  const core::Command command{1, {}, input.PickValueInArray(fuzz::kBodies)};
  if (input.ConsumeBool()) {
    mongo::Bson reply;
    fuzz::write(reply, input, 0);
    fuzz::read(command, *reply.get());
    return 0;
  }
  const auto raw = input.ConsumeRemainingBytes<std::uint8_t>();
  bson_t reply;
  if (!raw.empty() && bson_init_static(&reply, raw.data(), raw.size())) fuzz::read(command, reply);
  return 0;
}
