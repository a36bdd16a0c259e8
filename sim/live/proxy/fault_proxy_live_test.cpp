#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "sim/live/live_test.hpp"
#include "sim/live/proxy/fault_proxy.hpp"

namespace leasehold::sim::live {
namespace {

/// A client that says who it is, past nothing but the proxy of the primary.
class Speaker {
 public:
  explicit Speaker(const std::string& name, int timeout_ms = 700)
      : name_(name), client_(uri(name, timeout_ms)) {
    (void)client_.run("proxy_test", {{"drop", name_}});  // of an earlier try
  }

  /// Inserts a document of at least this size. Whether a reply came in time.
  bool insert(int number, std::size_t bytes = 0) {
    try {
      const Json document = {{"_id", number}, {"padding", std::string(bytes, ' ')}};
      client_.must("proxy_test", {{"insert", name_}, {"documents", {document}}});
      return true;
    } catch (const NoReply&) {
      return false;
    }
  }

 private:
  static std::string uri(const std::string& name, int timeout_ms) {
    const auto limit = "TimeoutMS=" + std::to_string(timeout_ms);
    return faulty_set().uri() + "&appName=" + name + "&socket" + limit + "&connect" + limit;
  }
  std::string name_;
  MongoClient client_;
};

std::int64_t stored(const std::string& name) {
  auto& member = faulty_set().member(faulty_set().primary());
  return integer(member.must("proxy_test", {{"count", name}})["n"]);
}

void set_all(const std::string& name, const LinkRule& rule) {
  for (int m = 0; m < faulty_set().size(); ++m) faulty_set().proxy().set_link_rule({name, m}, rule);
}
/// For how long at most a request of this client waited for its answer since the last call. A busy
/// machine has short waits of its own.
std::int64_t longest_wait_ms(const std::string& name) {
  std::int64_t longest = 0;
  for (const auto& one : faulty_set().proxy().take_slow()) {
    if (one.link.peer == name) longest = std::max(longest, (one.to_ns - one.from_ns) / 1'000'000);
  }
  return longest;
}
void reset_all(const std::string& name) {
  for (int m = 0; m < faulty_set().size(); ++m) faulty_set().proxy().reset_link({name, m});
}

TEST(FaultProxy, ALateRequestIsExecutedAfterItsSenderGaveUp) {
  Speaker late("late");
  ASSERT_TRUE(late.insert(1));
  set_all("late", {.delay_requests = milliseconds(1'800)});
  EXPECT_FALSE(late.insert(2));
  EXPECT_EQ(stored("late"), 1);
  EXPECT_TRUE(eventually([] { return stored("late") == 2; }, milliseconds(4'000)));
  set_all("late", {});
}

TEST(FaultProxy, ACutLinkHealsAndARefusedOneSaysSo) {
  Speaker cut("cut");
  ASSERT_TRUE(cut.insert(1));
  set_all("cut", {.hold_requests = true, .hold_replies = true});
  EXPECT_FALSE(cut.insert(2));
  reset_all("cut");
  set_all("cut", {.refuse = true});
  const Stopwatch watch;
  EXPECT_FALSE(cut.insert(3));
  EXPECT_EQ(stored("cut"), 1) << "what waited when the link was reset is lost";
  set_all("cut", {});
  EXPECT_TRUE(eventually([&] { return cut.insert(4); }));
}

TEST(FaultProxy, TellsForHowLongAClientWaitedForAnAnswer) {
  Speaker waiting("waiting");
  ASSERT_TRUE(waiting.insert(1));
  longest_wait_ms("waiting");
  set_all("waiting", {.delay_replies = milliseconds(400)});
  ASSERT_TRUE(waiting.insert(2));
  EXPECT_GE(longest_wait_ms("waiting"), 400);
  set_all("waiting", {.hold_replies = true});
  EXPECT_FALSE(waiting.insert(3)) << "it gives up after 700 ms, and ends its connection";
  std::this_thread::sleep_for(milliseconds(300));
  const auto longest = longest_wait_ms("waiting");
  EXPECT_GE(longest, 690);
  EXPECT_LT(longest, 5'000) << "nobody waits after that";
  set_all("waiting", {});
}

/// Else an overloaded machine's delay before the proxy's thread would be nobody's.
TEST(FaultProxy, ARequestWaitsFromItsArrivalAndNotFromWhenItIsRead) {
  Speaker large("large", 30'000);
  ASSERT_TRUE(large.insert(1));
  longest_wait_ms("large");
  set_all("large", {.hold_requests = true});
  constexpr std::size_t kMoreThanAProxyReads = (1 << 23) + (1 << 16);
  auto inserted = std::async([&] { return large.insert(2, kMoreThanAProxyReads); });
  std::this_thread::sleep_for(milliseconds(1'500));
  set_all("large", {});
  ASSERT_TRUE(inserted.get());
  EXPECT_GE(longest_wait_ms("large"), 300) << "its last bytes may arrive when there is room";
}

TEST(FaultProxy, AConnectionToAStoppedMemberWaitsToo) {
  const int secondary = (faulty_set().primary() + 1) % faulty_set().size();
  auto hosts = faulty_set().uri().substr(std::string("mongodb://").size());
  for (int i = 0; i < secondary; ++i) hosts = hosts.substr(hosts.find(',') + 1);
  MongoClient client("mongodb://" + hosts.substr(0, hosts.find_first_of(",/")) +
                     "/?directConnection=true&appName=to-stopped&connectTimeoutMS=700"
                     "&serverSelectionTimeoutMS=700&socketTimeoutMS=700");
  faulty_set().mongod(secondary).stop();
  EXPECT_THROW((void)client.run_once("admin", {{"ping", 1}}), NoReply);
  faulty_set().mongod(secondary).resume();
  EXPECT_GE(longest_wait_ms("to-stopped"), 500);
}

/// Else a fault that ends meanwhile would last.
TEST(StoppedMember, GetsWhatItMissedWhenItGoesOn) {
  auto& set = faulty_set();
  const int secondary = (set.primary() + 1) % set.size();
  const auto deletes_expired = [&] {
    const Json asked{{"getParameter", 1}, {"ttlMonitorEnabled", 1}};
    return set.member(secondary).must("admin", asked)["ttlMonitorEnabled"].get<bool>();
  };
  set.set_ttl_monitor(false);
  set.stop({secondary});
  set.set_ttl_monitor(true);
  set.resume({secondary});
  EXPECT_TRUE(deletes_expired());
}

}  // namespace
}  // namespace leasehold::sim::live
