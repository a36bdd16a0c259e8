#include <thread>

#include "cli/admin/admin.hpp"
#include "cli/output.hpp"
#include "mongo/stages.hpp"
#include "runtime/force_release.hpp"
#include "runtime/threads/os_entropy.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeout = runtime::ForceSteps::kTimeout;

std::string described(const SeenLock& lock) { return "lock '" + lock.document.name + "'"; }

po::options_description release_options() {
  po::options_description o("Options");
  o.add_options()("name", po::value<std::string>()->required()->value_name("NAME"),
                  "the lock to free")(
      "force", "required, for it takes the lock from a holder that may be alive")(
      "now", "do not wait until the old holder must have noticed: two may act as holders");
  return o.add(server_options());
}

core::Owner fresh_owner() {
  const auto entropy = runtime::os_entropy();
  return {entropy->draw(), entropy->draw()};
}

core::ForcedRelease prepared(const SeenLock& lock) {
  if (lock.is_corrupt()) {
    throw Failure(kFound, described(lock) +
                              ": when a holder must have noticed is not known; --now deletes the "
                              "document");
  }
  auto force = core::forced_release(lock.document, fresh_owner());
  if (force) return *std::move(force);
  throw Failure(kFound, described(lock) + " is other software's and dated until " +
                            date(lock.document.expires_at.since_1970_ms) +
                            ": when its holder must have noticed is not known; --now frees it");
}

/// Says when it begins to wait.
void force(Admin& admin, const core::ForcedRelease& force) {
  const auto error = runtime::force_release(
      force, {.send =
                  [&admin](decltype(core::Command::body) body) {
                    return admin.must_command({1, kTimeout, std::move(body)});
                  },
              .wait =
                  [&force](milliseconds wait) {
                    const auto rest = wait + force.take.margin;
                    print("taken; waiting " + span(wait.count()) +
                          ", until the old holder must have noticed; if you end this before, the "
                          "lock frees itself in " + span(rest.count()) + '\n');
                    flush_output();
                    std::this_thread::sleep_for(wait);
                    return true;
                  }});
  if (!error) return;
  throw Failure(error->kind == ErrorKind::refused ? kFound : kUnavailable, error->message);
}

void of_no_type(mongo::Bson& query, const char* field, const char* type) {
  query.doc(field,
            [&](mongo::Bson& q) { q.doc("$not", [&](mongo::Bson& n) { n.text("$type", type); }); });
}

/// The document as it was seen, whatever queue follows the holder by now. One without a sound
/// lockId or date no process can have changed.
void as_seen(mongo::Bson& query, const SeenLock& lock) {
  query.text("_id", lock.document.name);
  if (lock.is_corrupt()) {
    query.array("$or", [](mongo::Bson& either) {
      either.doc("0", [](mongo::Bson& q) { of_no_type(q, "lockId", "string"); });
      either.doc("1", [](mongo::Bson& q) { of_no_type(q, "expiresAt", "date"); });
    });
    return;
  }
  const auto holder = mongo::holders_lock_id();
  query.doc("lockId", [](mongo::Bson& q) { q.text("$type", "string"); });
  query.doc("$expr", [&](mongo::Bson& e) {
    e.array("$eq", [&](mongo::Bson& both) {
      both.copy("0", holder);
      both.doc("1", [&](mongo::Bson& l) { l.text("$literal", lock.document.lock_id); });
    });
  });
}

int remove_now(Admin& admin, const SeenLock& lock) {
  mongo::Bson command;
  command.text("delete", admin.collection());
  command.array("deletes", [&](mongo::Bson& deletes) {
    deletes.doc("0", [&](mongo::Bson& one) {
      one.doc("q", [&](mongo::Bson& query) { as_seen(query, lock); }).int32("limit", 1);
    });
  });
  command.doc("writeConcern", [](mongo::Bson& concern) {
    concern.text("w", "majority").int32("wtimeout", kTimeout.count());
  });
  const Json reply = admin.must_bytes(command);
  if (mongo::integer(reply["n"]) != 1) {
    throw Failure(kFound, described(lock) + " was extended meanwhile; nothing was done");
  }
  if (reply.contains("writeConcernError")) {
    throw Failure(kUnavailable, "no majority confirmed the deletion of " + described(lock));
  }
  print(printable(described(lock)) + " is free\n");
  return kDone;
}

std::unique_ptr<const SeenLock> found(Admin& admin, const std::string& name) {
  auto lock = admin.lock(name);
  if (!lock) throw Failure(kFound, "lock '" + name + "' is free: it has no document");
  if (lock->is_free()) throw Failure(kFound, "lock '" + name + "' is free: it was released");
  return lock;
}

void show_holder(const SeenLock& lock) {
  const auto since = lock.since_ms() == 0 ? "" : " since " + date(lock.since_ms());
  print(printable(described(lock) + (lock.is_corrupt() ? " has a corrupt document" : " is held") +
                  since + (lock.is_corrupt() ? ": " : " by ") + lock.holder()) +
        '\n');
  flush_output();
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
      release_options(), words, positional);
  const auto name = lock_name_in(values);
  if (!values.contains("force")) {
    throw UsageError("release of '" + name +
                     "' without --force: it takes the lock from a holder that may be alive");
  }
  Admin admin(server_of(values));
  const auto lock = found(admin, name);
  show_holder(*lock);
  if (values.contains("now")) return remove_now(admin, *lock);
  force(admin, prepared(*lock));
  print(printable(described(*lock)) + " is free\n");
  return kDone;
}

}  // namespace leasehold::cli
