#include <thread>

#include "cli/admin/admin.hpp"
#include "mongo/bson_texts.hpp"
#include "mongo/commands.hpp"
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

constexpr mongo::BsonTexts::Text kRemovals[] = {
    // The document as it was seen, whatever queue follows the holder by now.
    {"@seen", R"({
      "_id": "@name", "lockId": {"$type": "string"},
      "$expr": {"$eq": ["@holder", {"$literal": "@lockId"}]}})"},
    // One without a sound lockId or date no process can have changed. A hole, because the driver
    // reads {"$type": "date"} as the beginning of something binary.
    {"@corrupt", R"({"_id": "@name", "$or": [
      {"lockId": {"$not": {"$type": "string"}}}, {"expiresAt": {"$not": {"$type": "@date"}}}]})"},
    {"@remove", R"({
      "delete": "@collection", "deletes": [{"q": "@which", "limit": 1}],
      "writeConcern": {"w": "majority", "wtimeout": "@timeout"}})"}};

void remove_now(Admin& admin, const SeenLock& lock) {
  const mongo::BsonTexts texts(kRemovals, mongo::BsonTexts::Numbers::as_written);
  const auto holder = mongo::holders_lock_id();
  const auto which =
      texts.filled(lock.is_corrupt() ? "@corrupt" : "@seen", {{"@name", lock.document.name},
                                                              {"@lockId", lock.document.lock_id},
                                                              {"@date", "date"},
                                                              {"@holder", &holder}});
  const Json reply = admin.must(
      admin.database(), texts.filled("@remove", {{"@collection", admin.collection()},
                                                 {"@which", &which},
                                                 {"@timeout", mongo::Int32{kTimeout.count()}}}));
  if (mongo::integer(reply["n"]) != 1) {
    throw Failure(kFound, described(lock) + " was extended meanwhile; nothing was done");
  }
  if (reply.contains("writeConcernError")) {
    throw Failure(kUnavailable, "no majority confirmed the deletion of " + described(lock));
  }
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
  const auto values = parse_with_name(
      "leasehold release NAME --force [OPTIONS]\n\n"
      "Takes over a lock that another holds, waits until the old holder must have noticed, and "
      "frees\n"
      "it. A holder that is alive notices at its next extension that it lost the lock.",
      release_options(), words);
  const auto name = lock_name_in(values);
  if (!values.contains("force")) {
    throw UsageError("release of '" + name +
                     "' without --force: it takes the lock from a holder that may be alive");
  }
  Admin admin(server_of(values));
  const auto lock = admin.held_lock(name);
  show_holder(*lock);
  values.contains("now") ? remove_now(admin, *lock) : force(admin, prepared(*lock));
  print(printable(described(*lock)) + " is free\n");
  return kDone;
}

}  // namespace leasehold::cli
