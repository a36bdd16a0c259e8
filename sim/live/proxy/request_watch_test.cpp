#include "sim/live/proxy/wire_message.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "mongo/bson.hpp"

namespace leasehold::sim::live {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

std::string int32_bytes(std::int32_t value) {
  std::string bytes(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string message(std::int32_t number, std::int32_t answers, const std::string& body) {
  return int32_bytes(static_cast<std::int32_t>(kMessageHeader + body.size())) +
         int32_bytes(number) + int32_bytes(answers) + int32_bytes(op_code::msg) + body;
}

std::string request(std::int32_t number, const mongo::Bson& command, std::int32_t flags = 0) {
  return message(number, 0, int32_bytes(flags) + '\0' + std::string(command.bytes()));
}

std::string answer_to(std::int32_t number) { return message(7'000, number, std::string(30, 'x')); }

mongo::Bson ping() {
  mongo::Bson command;
  command.int32("ping", 1);
  return command;
}

struct Watched {
  std::vector<std::pair<std::int64_t, std::int64_t>> slow_ms;
  RequestWatch watch{[this](std::int64_t from_ns, std::int64_t to_ns) {
    slow_ms.emplace_back(from_ns / kMillisecond, to_ns / kMillisecond);
  }};
};

using Slow = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(RequestWatch, ReportsALateAnswerAndNotAQuickOne) {
  Watched w;
  w.watch.asked(request(1, ping()), 10 * kMillisecond);
  w.watch.answered(answer_to(1), 34 * kMillisecond);
  EXPECT_EQ(w.slow_ms, Slow());
  w.watch.asked(request(2, ping()), 200 * kMillisecond);
  w.watch.answered(answer_to(2), 225 * kMillisecond);
  w.watch.ended(900 * kMillisecond);
  EXPECT_EQ(w.slow_ms, (Slow{{200, 225}}));
}

TEST(RequestWatch, FindsMessagesWhereverTheirBytesAreDivided) {
  const auto both = request(1, ping()) + request(2, ping());
  const auto answers = answer_to(2) + answer_to(1);
  for (std::size_t size = 1; size <= both.size(); ++size) {
    Watched w;
    for (std::size_t at = 0; at < both.size(); at += size) {
      w.watch.asked(both.substr(at, size), 0);
    }
    for (std::size_t at = 0; at < answers.size(); at += size) {
      w.watch.answered(answers.substr(at, size), 500 * kMillisecond);
    }
    w.watch.ended(900 * kMillisecond);
    EXPECT_EQ(w.slow_ms, (Slow{{0, 500}, {0, 500}})) << size << " bytes at a time";
  }
}

TEST(RequestWatch, ReportsWhatHasNoAnswerYetAndGoesOn) {
  Watched w;
  w.watch.asked(request(1, ping()), 0);
  w.watch.report_open(400 * kMillisecond);
  w.watch.report_open(420 * kMillisecond);
  w.watch.answered(answer_to(1), 600 * kMillisecond);
  EXPECT_EQ(w.slow_ms, (Slow{{0, 400}, {400, 600}}));
}

TEST(RequestWatch, ReportsAShortWaitIfItsClientGaveUp) {
  for (const std::int64_t waited_ms : {9, 10, 90}) {
    Watched w;
    w.watch.asked(request(1, ping()), 100 * kMillisecond);
    w.watch.ended((100 + waited_ms) * kMillisecond);
    EXPECT_EQ(w.slow_ms, waited_ms < 10 ? Slow() : (Slow{{100, 100 + waited_ms + 500}}))
        << "until the driver may ask again";
  }
}

TEST(RequestWatch, AWaitByDesignCountsFromItsEnd) {
  mongo::Bson news, usual, hello, reads;
  news.int64("getMore", 17).int64("maxTimeMS", 500);
  usual.int64("getMore", 17);
  hello.int32("hello", 1).int64("maxAwaitTimeMS", 10'000);
  reads.text("find", "locks").int64("maxTimeMS", 500);
  using Case = std::pair<const mongo::Bson*, std::int64_t>;
  for (const auto& [command, waits_ms] :
       {Case(&news, 500), Case(&usual, 1'000), Case(&hello, 10'000), Case(&reads, 0)}) {
    Watched w;
    w.watch.asked(request(1, *command), 0);
    w.watch.answered(answer_to(1), (waits_ms + 24) * kMillisecond);
    w.watch.asked(request(2, *command), 0);
    w.watch.answered(answer_to(2), (waits_ms + 200) * kMillisecond);
    EXPECT_EQ(w.slow_ms, (Slow{{waits_ms, waits_ms + 200}}));
  }
}

TEST(RequestWatch, ARequestThatWantsNoAnswerGetsNone) {
  Watched w;
  w.watch.asked(request(1, ping(), 2), 0);
  w.watch.ended(900 * kMillisecond);
  EXPECT_EQ(w.slow_ms, Slow());
}

TEST(RequestWatch, AnotherProtocolIsLeftAlone) {
  Watched w;
  w.watch.asked("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", 0);
  w.watch.answered("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 500 * kMillisecond);
  w.watch.ended(900 * kMillisecond);
  EXPECT_EQ(w.slow_ms, Slow());
}

}  // namespace
}  // namespace leasehold::sim::live
