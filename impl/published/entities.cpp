#include <leasehold/published.hpp>
#include <mutex>

#include "core/document/lock_id.hpp"
#include "mongo/client/mongo_transport.hpp"
#include "published/recipe.hpp"
#include "runtime/threads/clock.hpp"
#include "runtime/threads/os_entropy.hpp"

namespace leasehold::published {

/// One command at a time on a connection; connections that are free wait for the next caller.
struct Entities::Inside {
  std::shared_ptr<core::Transport> transport;
  LockOptions options;
  std::shared_ptr<const runtime::Clock> clock = runtime::boottime_clock();
  mutable std::mutex mutex;
  mutable std::unique_ptr<core::Entropy> entropy = runtime::os_entropy();
  mutable std::vector<std::unique_ptr<core::Connection>> free;

  core::Owner fresh_owner() const {
    const std::scoped_lock lock(mutex);
    return {entropy->draw(), entropy->draw()};
  }

  std::unique_ptr<core::Connection> connection() const {
    {
      const std::scoped_lock lock(mutex);
      if (!free.empty()) {
        auto one = std::move(free.back());
        free.pop_back();
        return one;
      }
    }
    return transport->connect();
  }

  core::Reply execute(core::RawCommand plain) const {
    auto connection = this->connection();
    auto reply = connection->execute({1, options.effective_operation_timeout(), std::move(plain)});
    const std::scoped_lock lock(mutex);
    free.push_back(std::move(connection));
    return reply;
  }
};

namespace {

Error failure(const core::Reply& reply) {
  return {reply.error_kind(ErrorKind::unknown_outcome), reply.code, reply.message};
}

}  // namespace

Result<Entities> Entities::connect(const std::string& uri, std::chrono::milliseconds max_duration,
                                   const std::string& database) {
  auto inside = std::make_shared<Inside>();
  inside->options.expiry = max_duration;
  inside->options.clock_margin = std::chrono::milliseconds(0);
  if (auto error = check(inside->options)) return std::move(*error);
  auto transport =
      mongo::make_transport({.uri = uri,
                             .database = database,
                             .collection = std::string(document_level().collection),
                             .server_selection_timeout = std::chrono::milliseconds(5'000)});
  if (!transport) return transport.error();
  inside->transport = std::move(*transport);
  return Entities(std::move(inside));
}

Result<Entity> Entities::lock(const std::string& id, const Entity& missing) const {
  const Call call{id, inside_->fresh_owner(), inside_->options, missing.value};
  core::RawCommand plain{.role = core::RawCommand::Role::acquire,
                         .name = id,
                         .owner = call.owner,
                         .bson = command_of(document_level(), "@acquire", call,
                                            inside_->clock->wall())};
  const auto reply = inside_->execute(std::move(plain));
  if (reply.outcome == core::Outcome::duplicate_key) {
    return Error{ErrorKind::refused, reply.code, "item '" + id + "' is already locked"};
  }
  if (reply.outcome != core::Outcome::done || reply.documents.empty()) return failure(reply);
  return Entity{id, reply.documents[0].value, to_hex(call.owner)};
}

std::optional<Error> Entities::release(const Entity& entity) const {
  const Error refused{ErrorKind::refused, 0, "unable to release lock on item '" + entity.id + "'"};
  const auto owner = core::owner_from_hex(entity.lock_id);
  if (!owner) return refused;
  const Call call{entity.id, *owner, inside_->options, entity.value};
  core::RawCommand plain{.role = core::RawCommand::Role::release,
                         .name = entity.id,
                         .owner = *owner,
                         .bson = command_of(document_level(), "@release", call,
                                            inside_->clock->wall())};
  const auto reply = inside_->execute(std::move(plain));
  if (reply.outcome != core::Outcome::done) return failure(reply);
  return reply.matched == 1 ? std::nullopt : std::optional(refused);
}

}  // namespace leasehold::published
