#include "sim/live/oplog/oplog.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::live::attribute_writes_test {
namespace {

using model::Event;
using model::Kind;

Event sent(std::int64_t command, const char* detail, const char* lock_id) {
  Event e;
  e.kind = Kind::send;
  e.process = "p";
  e.command = command;
  e.verb = detail;
  e.owner = "guid";
  e.lock_id = lock_id;
  return e;
}
Event reply(std::int64_t command, const char* outcome, std::int64_t order) {
  Event e;
  e.kind = Kind::reply;
  e.process = "p";
  e.command = command;
  e.outcome = outcome;
  e.matched = order > 0 ? 1 : 0;
  e.order = order;
  return e;
}
Event put(std::int64_t order, const char* lock_id) {
  Event e;
  e.kind = Kind::put;
  e.order = order;
  e.lock_id = lock_id;
  return e;
}

TEST(NamedWrites, AreTheAcknowledgedOnesByTimeAndTheOthersInTheirOrder) {
  model::History history{sent(1, "acquire", "guid.1.1"),
                         reply(1, "done", 10),
                         sent(2, "extend", "guid.1.2"),
                         reply(2, "unknown", 0),
                         sent(3, "extend", "guid.1.3"),
                         reply(3, "done", 30),
                         put(10, "guid"),
                         put(20, "guid"),
                         put(30, "guid"),
                         put(40, "somebody")};
  attribute_writes(history);
  EXPECT_EQ(history[6].lock_id, "guid.1.1");
  EXPECT_EQ(history[7].lock_id, "guid.1.2");
  EXPECT_EQ(history[8].lock_id, "guid.1.3");
  EXPECT_EQ(history[9].lock_id, "somebody");
}

}  // namespace
}  // namespace leasehold::sim::live::attribute_writes_test
