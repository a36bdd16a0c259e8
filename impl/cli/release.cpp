#include <cstdio>
#include <thread>

#include "cli/admin.hpp"
#include "cli/lock_life.hpp"
#include "mongo/commands.hpp"
#include "runtime/os_entropy.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeout{10'000};
const milliseconds kMargin = LockOptions().clock_margin;
constexpr milliseconds kMinLease{100};

po::options_description options() {
  po::options_description o("Options");
  o.add_options()("name", po::value<std::string>()->required()->value_name("NAME"),
                  "the lock to free")(
      "force", "required, for it takes the lock from a holder that may be alive")(
      "now", "do not wait until the old holder must have noticed: two may act as holders");
  return o.add(server_options());
}

/// How long held() may still be true for its holder: its lease, or what the server's clock says of
/// other software's.
milliseconds longest_rest_of(const SeenLock& lock) {
  const milliseconds lease(lock.parts ? lock.parts->lease_ms : lock.left_ms());
  const auto drift = milliseconds(lease.count() / 100);
  return std::max(lease + drift, kMinLease);
}

core::Owner fresh_owner() {
  const auto entropy = runtime::os_entropy();
  return {entropy->draw(), entropy->draw()};
}

/// Takes the lock if it is still as it was seen, in the holder's place, until that one must have
/// noticed.
core::Owner take(Admin& admin, const SeenLock& lock, milliseconds lease) {
  const auto owner = fresh_owner();
  const core::AcquireCommand command{0,
                                     lock.name,
                                     owner,
                                     core::format_lock_id({owner, lease.count(), 1}, kForcedHolder),
                                     lock.lock_id,
                                     lease,
                                     kMargin};
  const Json reply = admin.must_bytes(mongo::build({1, kTimeout, command}, admin.collection()));
  const auto holder = reply["value"].value("lockId", "");
  if (holder != command.lock_id) {
    throw Failure(kFound, "lock '" + lock.name +
                              "' was extended or changed hands meanwhile; nothing was done. "
                              "Its holder is alive: try again to take the lock from it anyway");
  }
  if (reply.contains("writeConcernError")) {
    throw Failure(kUnavailable,
                  "no majority confirmed that the lock was taken; it frees itself in " +
                      span((lease + kMargin).count()));
  }
  return owner;
}

void remove(Admin& admin, const std::string& name, core::Owner owner) {
  const Json reply = admin.must_bytes(mongo::build(
      {1, kTimeout, core::DeleteCommand{name, owner, std::nullopt}}, admin.collection()));
  if (mongo::integer(reply["n"]) == 1 && !reply.contains("writeConcernError")) return;
  throw Failure(kUnavailable, "nobody confirmed the deletion of lock '" + name + "'");
}

int remove_now(Admin& admin, const SeenLock& lock) {
  const Json reply = admin.must(
      admin.database(),
      {{"delete", admin.collection()},
       {"deletes",
        Json::array({{{"q", {{"_id", lock.name}, {"lockId", lock.lock_id}}}, {"limit", 1}}})},
       {"writeConcern", {{"w", "majority"}, {"wtimeout", kTimeout.count()}}}});
  if (mongo::integer(reply["n"]) != 1) {
    throw Failure(kFound, "lock '" + lock.name + "' was extended meanwhile; nothing was done");
  }
  std::printf("lock '%s' is free\n", lock.name.c_str());
  return kDone;
}

}  // namespace

int release(const std::vector<std::string>& words) {
  po::positional_options_description positional;
  positional.add("name", 1);
  const auto values = parse(
      "leasehold release NAME --force [OPTIONS]\n\n"
      "Takes over a lock that another holds, waits until the old holder must have noticed, and "
      "frees\n"
      "it. A holder that is alive notices at its next extension that it lost the lock.",
      options(), words, positional);
  const auto name = values["name"].as<std::string>();
  if (!values.contains("force")) {
    throw UsageError("release of '" + name +
                     "' without --force: it takes the lock from a holder that may be alive");
  }
  Admin admin(server_of(values));
  const auto lock = admin.lock(name);
  if (!lock) throw Failure(kFound, "lock '" + name + "' is free: it has no document");
  std::printf("lock '%s' is held since %s by %s\n", name.c_str(), date(lock->acquired_ms).c_str(),
              lock->holder.empty() ? lock->lock_id.c_str() : lock->holder.c_str());
  if (values.contains("now")) return remove_now(admin, *lock);
  const auto lease = longest_rest_of(*lock);
  const auto owner = take(admin, *lock, lease);
  std::printf("taken; waiting %s, until the old holder must have noticed\n",
              span(lease.count()).c_str());
  std::fflush(stdout);
  std::this_thread::sleep_for(lease);
  remove(admin, name, owner);
  std::printf("lock '%s' is free\n", name.c_str());
  return kDone;
}

}  // namespace leasehold::cli
