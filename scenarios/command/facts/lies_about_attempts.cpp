#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "scenarios/command/facts/lies.hpp"

/// Of attempts at a lock, of extensions, deletes and the queue.
namespace leasehold::lab {
namespace {

using Said = std::optional<Json>;
constexpr std::chrono::milliseconds kLongEnough{30};  ///< for the other connections' commands

void let_others_act() { std::this_thread::sleep_for(kLongEnough); }

bool upserts(const Question& q) {
  return q.is("findAndModify") && q.command.value("upsert", false);
}

/// Looks whether the lock is free, and then writes whatever is there by now.
Teller upsert_in_two_steps() {
  return [](const Question& q) -> Said {
    if (!upserts(q)) return std::nullopt;
    const Json& id = q.command["query"]["_id"];
    const Json now{{"expired", {{"$lte", Json::array({"$expiresAt", "$$NOW"})}}}};
    const Json seen = q.ask({{"find", q.command["findAndModify"]},
                             {"filter", {{"_id", id}}},
                             {"projection", now}})["cursor"]["firstBatch"];
    let_others_act();
    if (!seen.empty() && !seen[0].value("expired", false)) return q.reply();
    // What it would write, by way of a document of its own.
    Json aside = q.command;
    aside["query"]["_id"] = id.get<std::string>() + aside["update"].dump();
    Json reply = q.ask(aside);
    reply["value"]["_id"] = id;
    q.ask({{"update", q.command["findAndModify"]},
           {"updates",
            Json::array({{{"q", {{"_id", id}}}, {"u", reply["value"]}, {"upsert", true}}})},
           {"writeConcern", {{"w", "majority"}}}});
    return reply;
  };
}

Teller later_document() {
  return [](const Question& q) -> Said {
    if (!q.is("findAndModify")) return std::nullopt;
    Json reply = q.reply();
    let_others_act();
    const Json found =
        q.ask({{"find", q.command["findAndModify"]}, {"filter", q.command["query"]}});
    reply["value"] = found["cursor"]["firstBatch"][0];
    return reply;
  };
}

/// After each attempt that was refused, or was the owner's second.
template <typename Change>
Teller after_updates(Change change) {
  return [change](const Question& q) -> Said {
    if (!upserts(q)) return std::nullopt;
    Json reply = q.reply();
    if (reply["lastErrorObject"].contains("upserted")) return reply;
    q.ask({{"update", q.command["findAndModify"]},
           {"updates", Json::array({{{"q", q.command["query"]}, {"u", change()}}})},
           {"writeConcern", {{"w", "majority"}}}});
    return reply;
  };
}
Teller refusal_that_writes() {
  return after_updates([] { return Json{{"$inc", {{"fencingToken", 1}}}}; });
}
Teller expiry_that_falls() {
  return after_updates([] {
    return Json::array({{{"$set", {{"expiresAt", {{"$subtract", {"$expiresAt", 1'000}}}}}}}});
  });
}
Teller owner_not_recognised() {
  return [](const Question& q) -> Said {
    if (!upserts(q)) return std::nullopt;
    Json reply = q.reply();
    if (!reply["lastErrorObject"].contains("upserted")) reply["value"]["lockId"] = "another";
    return reply;
  };
}

/// As if every type were a date or a text.
Teller types_ignored() {
  return [](const Question& q) -> Said {
    if (!upserts(q)) return std::nullopt;
    q.ask({{"delete", q.command["findAndModify"]},
           {"deletes", Json::array({{{"q", q.command["query"]}, {"limit", 1}}})}});
    return q.reply();
  };
}

Teller hand_over_that_inserts() {
  return [](const Question& q) -> Said {
    if (!q.is("findAndModify") || upserts(q)) return std::nullopt;
    Json command = q.command;
    command["query"].erase("lockId");
    command["upsert"] = true;
    return q.ask(command);
  };
}

Teller every_extension_counted() {
  return [](const Question& q) -> Said {
    if (!q.is("update")) return std::nullopt;
    Json reply = q.reply();
    reply["n"] = q.command["updates"].size();
    return reply;
  };
}
Teller dates_of_seconds() {
  return [](const Question& q) -> Said {
    if (!q.is("update")) return std::nullopt;
    Json command = q.command;
    for (Json& one : command["updates"]) one["q"].erase("acquiredAt");
    return q.ask(command);
  };
}
Teller batch_that_stops() {
  return [](const Question& q) -> Said {
    if (!q.is("update")) return std::nullopt;
    Json command = q.command;
    command["ordered"] = true;
    return q.ask(command);
  };
}
Teller error_left_out() {
  return [](const Question& q) -> Said {
    if (!q.is("update")) return std::nullopt;
    Json reply = q.reply();
    reply.erase("writeErrors");
    return reply;
  };
}

Teller delete_by_name() {
  return [](const Question& q) -> Said {
    if (!q.is("delete")) return std::nullopt;
    Json command = q.command;
    command["deletes"][0]["q"].erase("lockId");
    return q.ask(command);
  };
}
Teller delete_not_executed() {
  return [](const Question& q) -> Said {
    if (!q.is("delete")) return std::nullopt;
    Json command = q.command;
    command["deletes"][0]["q"]["_id"] = "nobody's";
    Json reply = q.ask(command);
    reply["n"] = 1;
    return reply;
  };
}

Teller queue_cut_off() {
  return [](const Question& q) -> Said {
    if (!upserts(q)) return std::nullopt;
    Json reply = q.reply();
    auto lock_id = reply["value"].value("lockId", "");
    const auto second = lock_id.find('~', lock_id.find('~') + 1);
    if (second != lock_id.npos) reply["value"]["lockId"] = lock_id.substr(0, second);
    return reply;
  };
}

}  // namespace

std::vector<Lie> lies_about_attempts() {
  return {
      {"an upsert is two steps", "one-winner-of-a-missing-lock", upsert_in_two_steps},
      {"a conditional update is two steps", "one-winner-of-an-expired-lock", upsert_in_two_steps},
      {"the reply shows a later document", "reply-shows-its-own-write", later_document},
      {"a refused attempt writes", "refused-attempt-changes-nothing", refusal_that_writes,
       nullptr, "001"},
      {"$max lowers a date", "attempt-knows-its-earlier-win", expiry_that_falls, nullptr, "037"},
      {"an owner is not recognised", "attempt-knows-its-earlier-win", owner_not_recognised,
       nullptr, "002"},
      {"types are ignored", "corrupt-document-is-held", types_ignored, "the lock was lost"},
      {"a hand-over ignores its query", "hand-over-needs-its-owner", hand_over_that_inserts,
       nullptr, "046"},
      {"statements that found nothing are counted", "extensions-are-counted",
       every_extension_counted, nullptr, "079"},
      {"dates are not compared", "extensions-are-counted", dates_of_seconds},
      {"an unordered batch stops at an error", "batch-goes-on-past-an-error", batch_that_stops},
      {"the error of a statement is left out", "batch-goes-on-past-an-error", error_left_out},
      {"a delete finds by name alone", "delete-is-by-owner", delete_by_name, nullptr, "006"},
      {"a delete is counted and not executed", "delete-is-by-owner", delete_not_executed,
       "timed out; last attempt: held by", "026"},
      {"an entry of the queue is lost", "queue-is-served-in-order", queue_cut_off},
  };
}

}  // namespace leasehold::lab
