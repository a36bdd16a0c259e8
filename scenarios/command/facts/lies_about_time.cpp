#include <atomic>
#include <mutex>
#include <utility>

#include "scenarios/command/facts/lies.hpp"

/// Of tokens, of $$NOW, and of news.
namespace leasehold::lab {
namespace {

using Said = std::optional<Json>;

std::int64_t ms_of(const Json& value) { return mongo::date_ms(value); }
Json date_of(std::int64_t ms) { return {{"$date", {{"$numberLong", std::to_string(ms)}}}}; }

/// The reply to a findAndModify, changed.
template <typename Change>
Teller of_attempts(Change change) {
  return [change](const Question& q) -> Said {
    if (!q.is("findAndModify")) return std::nullopt;
    Json reply = q.reply();
    if (reply.contains("value") && reply["value"].is_object()) change(reply);
    return reply;
  };
}

Teller later_operation_time() {
  return of_attempts([](Json& reply) {
    Json& at = reply["operationTime"]["$timestamp"]["i"];
    at = at.get<int>() + 1;
  });
}
Teller earlier_operation_time() {
  return of_attempts([](Json& reply) {
    Json& at = reply["operationTime"]["$timestamp"]["i"];
    at = at.get<int>() - 1;
  });
}
Teller operation_time_of_the_last_write() {
  return [](const Question& q) -> Said {
    if (!q.is("findAndModify")) return std::nullopt;
    Json reply = q.reply();
    const Json other = q.ask({{"insert", q.command["findAndModify"]},
                              {"documents", Json::array({Json::object()})},
                              {"writeConcern", {{"w", "majority"}}}});
    reply["operationTime"] = other["operationTime"];
    return reply;
  };
}
Teller one_time_for_two_writes() {
  struct Kept {
    std::mutex mutex;
    Json last;
    bool again = true;
  };
  return of_attempts([kept = std::make_shared<Kept>()](Json& reply) {
    const std::lock_guard lock(kept->mutex);
    kept->again = !kept->again;
    if (kept->again) {
      reply["operationTime"] = kept->last;
    } else {
      kept->last = reply["operationTime"];
    }
  });
}
Teller cluster_time_ahead() {
  return of_attempts([](Json& reply) {
    if (!reply["value"].contains("fencingToken")) return;
    reply["value"]["fencingToken"] = mongo::packed_timestamp(reply["operationTime"]);
  });
}

Teller now_off_by(std::int64_t ms) {
  return of_attempts([ms](Json& reply) {
    Json& at = reply["value"]["acquiredAt"];
    at = date_of(ms_of(at) + ms);
  });
}
Teller now_of_a_clock_ahead() { return now_off_by(60'000); }
Teller now_of_a_clock_behind() { return now_off_by(-60'000); }
Teller now_that_stands_still() {
  return of_attempts([first = std::make_shared<std::atomic<std::int64_t>>(0)](Json& reply) {
    std::int64_t none = 0;
    first->compare_exchange_strong(none, ms_of(reply["value"]["acquiredAt"]));
    reply["value"]["acquiredAt"] = date_of(first->load());
  });
}
Teller now_that_jumps() {
  return of_attempts([count = std::make_shared<std::atomic<int>>(0)](Json& reply) {
    constexpr std::int64_t kJump_ms = 10'000;
    Json& at = reply["value"]["acquiredAt"];
    at = date_of(ms_of(at) + kJump_ms * (*count)++);
  });
}
Teller two_nows_in_a_write() {
  return of_attempts([](Json& reply) {
    Json& last = reply["value"]["last"];
    last = date_of(ms_of(last) + 1);
  });
}

/// An attempt that is refused finds the lock free after all.
Teller lease_that_ends_early() {
  return [](const Question& q) -> Said {
    if (!q.is("findAndModify")) return std::nullopt;
    Json reply = q.reply();
    if (reply["lastErrorObject"].contains("upserted")) return reply;
    q.ask(
        {{"delete", q.command["findAndModify"]},
         {"deletes", Json::array({{{"q", {{"_id", q.command["query"]["_id"]}}}, {"limit", 1}}})}});
    return q.reply();
  };
}
Teller lease_that_does_not_end() {
  return of_attempts([](Json& reply) {
    if (!reply["lastErrorObject"].contains("upserted")) reply["value"]["lockId"] = "another";
  });
}

template <typename Change>
Teller of_events(Change change) {
  return [change](const Question& q) -> Said {
    if (!q.is("getMore")) return std::nullopt;
    Json reply = q.reply();
    Json& batch = reply["cursor"]["nextBatch"];
    if (batch.is_array() && !batch.empty()) change(batch);
    return reply;
  };
}
Teller event_left_out() {
  return of_events([left = std::make_shared<bool>(false)](Json& batch) {
    if (!std::exchange(*left, true)) batch.erase(batch.begin());
  });
}
Teller event_twice() {
  return of_events([](Json& batch) { batch.push_back(batch.back()); });
}
Teller event_of_another_time() {
  return of_events([](Json& batch) {
    for (Json& event : batch) {
      Json& at = event["clusterTime"]["$timestamp"]["i"];
      at = at.get<int>() + 1;
    }
  });
}
Teller events_of_all() {
  return [](const Question& q) -> Said {
    if (!q.is("aggregate")) return std::nullopt;
    Json all = q.command;
    all["pipeline"].erase(1);  // the condition
    return q.ask(all);
  };
}
Teller stream_that_does_not_wait() {
  return [](const Question& q) -> Said {
    if (!q.is("getMore")) return std::nullopt;
    Json hurried = q.command;
    hurried["maxTimeMS"] = 1;
    hurried["getMore"] = {{"$numberLong", hurried["getMore"].dump()}};
    return q.ask(hurried);
  };
}

}  // namespace

std::vector<Lie> lies_about_time() {
  return {
      {"operationTime is after the write", "operation-time-is-the-writes", later_operation_time},
      {"operationTime is before the write", "operation-time-is-the-writes",
       earlier_operation_time, "is not above the stored"},
      {"operationTime is of the last write of all", "operation-time-is-the-writes",
       operation_time_of_the_last_write, nullptr, "098"},
      {"two writes have one operationTime", "token-rises-over-a-deletion", one_time_for_two_writes},
      {"$$CLUSTER_TIME is that of the write", "cluster-time-is-below-the-write",
       cluster_time_ahead, "is not above the stored"},
      {"$$NOW is a minute ahead", "now-is-the-primarys", now_of_a_clock_ahead,
       "the lock was lost"},
      {"$$NOW is a minute behind", "now-is-the-primarys", now_of_a_clock_behind,
       "the lock was lost"},
      {"$$NOW stands still", "now-runs-as-our-clock", now_that_stands_still},
      {"$$NOW jumps", "now-runs-as-our-clock", now_that_jumps},
      {"$$NOW is read twice in a write", "now-is-one-in-a-write", two_nows_in_a_write},
      {"a lease ends early", "lock-expires-by-the-primary", lease_that_ends_early,
       "the lock was lost"},
      {"a lease does not end", "lock-expires-by-the-primary", lease_that_does_not_end},
      {"an event is left out", "each-grant-is-reported-once", event_left_out, nullptr, "094"},
      {"an event comes twice", "each-grant-is-reported-once", event_twice},
      {"the stream's condition is ignored", "each-grant-is-reported-once", events_of_all},
      {"an event has another time", "news-has-the-time-of-the-write", event_of_another_time},
      {"a stream does not wait", "stream-waits-for-news", stream_that_does_not_wait},
  };
}

}  // namespace leasehold::lab
