#include "sim/explored/core_server.hpp"

#include "mongo/commands.hpp"
#include "mongo/replies.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;
using simulated::Bytes;
using simulated::Change;
using simulated::Collection;
using simulated::Date;
using simulated::Object;
using simulated::Timestamp;
using simulated::to_object;

// Any time at which tokens are positive. All operation times are of this second, so a token is its
// counter, which is the number of the write.
constexpr std::int64_t kEpoch_ms = 1'700'000'000'000;
constexpr std::uint32_t kEpoch_s = 1'700'000'000;
constexpr int kNotWritablePrimary = 10107, kPrimarySteppedDown = 189;
constexpr int kInterruptedDueToReplStateChange = 11602;

/// {w: "majority"} was not reached: the member stepped down.
void add_write_concern_error(Object& reply) {
  Object error;
  error.set("code", std::int32_t{kPrimarySteppedDown});
  error.set("errmsg", std::string("stepped down"));
  reply.set("writeConcernError", error);
}

/// No acknowledgement of {w: "majority"}: by a primary that steps down, or by an old primary.
bool lacks_majority(std::optional<CoreFault> fault, bool wrote) {
  if (fault == CoreFault::error_after || fault == CoreFault::rolled_back) return true;
  return fault == CoreFault::old_primary && wrote;
}

}  // namespace

/// True time, and a tick more once another member is primary: no client's clock plays a part.
std::int64_t CoreServer::clock_ms(const World& w) {
  return kEpoch_ms + static_cast<std::int64_t>(w.tick + w.ahead) * kTick.count();
}

std::int64_t CoreServer::order_of(unsigned entry) {
  return FencingToken::from_timestamp(kEpoch_s, entry).value();
}

/// Of the request with this number, at these documents and this time: the same each time.
const CoreServer::Execution& CoreServer::execute(const World& w, std::uint32_t number,
                                                 std::optional<CoreFault> fault) {
  // An old primary lacks the last write.
  const bool old = fault == CoreFault::old_primary;
  const std::uint32_t documents = old ? w.before : w.documents;
  const unsigned writes = old ? w.before_writes : w.writes;
  // Part of the key, as an error replaces the reply or comes beside it.
  const std::uint64_t how_it_goes = fault ? static_cast<std::uint64_t>(*fault) + 1 : 0;
  const std::array<std::uint64_t, 2> key{
      number | std::uint64_t{documents} << 32,
      w.tick | w.ahead << 8 | std::uint64_t{writes} << 16 | how_it_goes << 32};
  // The waiting call and the time of its sender's clock play no part.
  const auto known = executions_.find(key);
  if (known != executions_.end()) return known->second;
  const Message& m = states_.message(number);
  Execution done{documents, 0, {}};
  Object reply;
  if (fault == CoreFault::error_before) {
    reply = simulated::error_reply(kNotWritablePrimary, "not primary");
  } else {
    // By the manual $$NOW is one reading for the whole command.
    const auto now = m.started_ms.value_or(clock_ms(w));
    // What $$CLUSTER_TIME shows: the time of the last write before the command started.
    const auto cluster = static_cast<std::uint32_t>(m.started_ms ? m.started_at : writes);
    reply = run(*m.command, {Date{now}, Timestamp{kEpoch_s, cluster}}, done);
    if (fault == CoreFault::error_after && w.tick % 2 == 1) {
      // As often an error of its own says so. By it, a client cannot tell whether it came before.
      reply = simulated::error_reply(kInterruptedDueToReplStateChange, "interrupted");
    } else if (lacks_majority(fault, done.writes > 0)) {
      add_write_concern_error(reply);
    }
  }
  // The time of its own write, or of the last one before if it changed nothing, as in mongod. Set
  // last, because an error carries it too.
  reply.set("operationTime", Timestamp{kEpoch_s, writes + done.writes});
  done.reply = mongo::read_reply(*m.command, *Bytes(reply).get());
  return executions_.emplace(key, std::move(done)).first->second;
}

/// The adapter's own bytes, and its own reading of the reply: what is explored is what runs.
Object CoreServer::run(const core::Command& command, const simulated::Start& start,
                       Execution& done) {
  // All documents, because a command may name both locks.
  Collection collection;
  const Documents& before = states_.documents(done.documents);
  for (std::size_t lock = 0; lock < kLocks; ++lock) {
    if (before[lock]) collection.apply({kNames[lock], before[lock]});
  }
  const auto bytes = mongo::build(command, "distributed.locks");
  auto executed = simulated::execute(to_object(*bytes.get()), collection, start);
  for (const Change& change : executed.changes) collection.apply(change);
  // A statement that changes nothing has no entry in the oplog, so no time passes.
  done.writes = static_cast<unsigned>(executed.changes.size());
  Documents after;
  for (std::size_t lock = 0; lock < kLocks; ++lock) after[lock] = collection.find(kNames[lock]);
  done.documents = states_.keep(after);
  return std::move(executed.reply);
}

}  // namespace leasehold::sim::explored
