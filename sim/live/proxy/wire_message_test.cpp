#include "sim/live/proxy/wire_message.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "mongo/bson.hpp"

namespace leasehold::sim::live {
namespace {

using mongo::Bson;

const ProxyOf kProxies{{"db1:27017", "127.0.0.1:7001"},
                       {"db2.example.org:27018", "127.0.0.1:7002"},
                       {"[::1]:27019", "127.0.0.1:7003"}};
constexpr const char* kMe = "127.0.0.1:7001";
constexpr std::int32_t kCompressed = 2012;
constexpr std::int32_t kMoreToCome = 2;

std::string int32_bytes(std::int64_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

std::string message(std::int32_t code, const std::string& body, int number = 77,
                    int answers = 66) {
  return int32_bytes(static_cast<std::int64_t>(kMessageHeader + body.size())) +
         int32_bytes(number) + int32_bytes(answers) + int32_bytes(code) + body;
}
std::string op_msg(const Bson& document, std::int32_t flags = 0, int number = 77,
                   int answers = 66) {
  const auto body = int32_bytes(flags) + '\0' + std::string(document.bytes());
  return message(op_code::msg, body, number, answers);
}
std::string op_reply(const Bson& document) {
  constexpr int kFlags = 8;
  return message(op_code::reply, int32_bytes(kFlags) + std::string(8, '\0') + int32_bytes(0) +
                                     int32_bytes(1) + std::string(document.bytes()));
}

std::string passed(const std::string& bytes) { return HelloRewriter(kProxies, kMe).pass(bytes); }

/// A set's members as its configuration has them, or as clients behind the proxies are to see them.
struct Names {
  bool proxies;
  [[nodiscard]] std::string of(const std::string& member) const {
    return proxies ? kProxies.at(member) : member;
  }
};
constexpr Names kMembers{false}, kSeen{true};

using Numbers = std::vector<std::int64_t>;

/// Fields that hold anything but a hello's hosts, one for each number.
void add_fields(Bson& d, const Numbers& numbers) {
  for (const auto n : numbers) {
    const auto key = "x" + std::to_string(n);
    switch (n & 3) {
      case 0: d.int64(key, n); break;
      case 1: d.text(key, "db1:27017"); break;
      case 2:
        d.doc(key, [n](Bson& nested) {
          nested.int64("counter", n).text("me", "db1:27017").flag("ismaster", true);
        });
        break;
      default: d.array(key, [](Bson& list) { list.text("0", "db1:27017"); });
    }
  }
}

void add_list(Bson& d, const char* key, const std::vector<std::string>& members, Names names) {
  d.array(key, [&](Bson& list) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      list.text(std::to_string(i), names.of(members[i]));
    }
  });
}

/// What a reply to `hello` is made of, in any order.
struct Hello {
  Numbers before, after;
  std::vector<std::string> hosts, passives;
  std::string primary;
  bool old_name, compresses;

  [[nodiscard]] Bson as(Names names) const {
    Bson d;
    add_fields(d, before);
    d.flag(old_name ? "ismaster" : "isWritablePrimary", false);
    add_list(d, "hosts", hosts, names);
    add_list(d, "passives", passives, names);
    if (compresses && !names.proxies) {
      d.array("compression", [](Bson& list) { list.text("0", "zlib"); });
    }
    d.int32("maxWireVersion", 17);
    if (!primary.empty()) d.text("primary", names.of(primary));
    d.text("me", names.proxies ? kMe : "db1:27017");
    add_fields(d, after);
    return d;
  }
};

Numbers any_numbers() { return *rc::gen::arbitrary<Numbers>(); }

Hello any_hello() {
  std::vector<std::string> names;
  for (const auto& [member, proxy] : kProxies) names.push_back(member);
  const auto some = rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(names));
  names.emplace_back();
  return {any_numbers(),
          any_numbers(),
          *some,
          *some,
          *rc::gen::elementOf(names),
          *rc::gen::arbitrary<bool>(),
          *rc::gen::arbitrary<bool>()};
}

/// No reply to `hello`: fields without its marks, beside those that only look like it.
Bson any_other() {
  Bson d;
  add_fields(d, any_numbers());
  if (*rc::gen::arbitrary<bool>()) add_list(d, "hosts", {"db1:27017"}, kMembers);
  if (*rc::gen::arbitrary<bool>()) d.text("me", "db1:27017").text("primary", "db1:27017");
  if (*rc::gen::arbitrary<bool>()) d.flag("ismaster", true);
  return d;
}

/// However they are divided into reads, or many in one.
RC_GTEST_PROP(HelloRewriter, AnyHelloHasItsHostsChangedAndOtherMessagesPassByteForByte, ()) {
  std::string sent, expected;
  const int count = *rc::gen::inRange(1, 8);
  for (int i = 0; i < count; ++i) {
    const auto hello = any_hello();
    const auto other = any_other();
    const auto large = op_msg(Bson().text("x", std::string(70'000, 'x')));
    const std::pair<std::string, std::string> choices[] = {
        {op_msg(hello.as(kMembers)), op_msg(hello.as(kSeen))},
        {op_msg(hello.as(kMembers), kMoreToCome), op_msg(hello.as(kSeen), kMoreToCome)},
        {op_reply(hello.as(kMembers)), op_reply(hello.as(kSeen))},
        {op_msg(other), op_msg(other)},
        {op_msg(other, kMoreToCome), op_msg(other, kMoreToCome)},
        {op_reply(other), op_reply(other)},
        {message(kCompressed, "?"), message(kCompressed, "?")},
        {large, large},
    };
    const auto& [from_member, to_client] =
        choices[*rc::gen::inRange<std::size_t>(0, std::size(choices))];
    sent += from_member;
    expected += to_client;
  }
  RC_ASSERT(passed(sent) == expected);
  HelloRewriter rewriter(kProxies, kMe);
  std::string got;
  for (std::size_t at = 0; at < sent.size();) {
    const auto size = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(1, 40),
                                      rc::gen::inRange<std::size_t>(1, 40'000));
    got += rewriter.pass(std::string_view(sent).substr(at, size));
    at += size;
  }
  RC_ASSERT(got == expected);
}

RC_GTEST_PROP(HelloRewriter, BytesThatAreNoMessagesAreNotChanged, (const std::string& bytes)) {
  const auto got = passed(bytes);
  RC_ASSERT(bytes.starts_with(got));
  const auto endless = std::string(4, '\xFF') + std::string(12, 'x') + bytes;
  RC_ASSERT(passed(endless) == endless);
}

Bson hello_with(const std::vector<std::string>& hosts, const std::string& primary) {
  Bson d;
  d.flag("isWritablePrimary", true).int32("maxWireVersion", 17);
  add_list(d, "hosts", hosts, kMembers);
  d.text("primary", primary);
  return d;
}

TEST(HelloRewriter, AMemberWithoutAProxyIsLeftOutSoThatNobodyGoesRound) {
  EXPECT_EQ(passed(op_msg(hello_with({"db1:27017", "new:1", "[::1]:27019"}, "db1:27017"))),
            op_msg(hello_with({"127.0.0.1:7001", "127.0.0.1:7003"}, "127.0.0.1:7001")));
  Bson unknown = hello_with({}, "new:1"), rest;
  rest.flag("isWritablePrimary", true).int32("maxWireVersion", 17).array("hosts", [](Bson&) {});
  EXPECT_EQ(passed(op_msg(unknown)), op_msg(rest));
}

TEST(HelloRewriter, AChecksumOfAChangedMessageIsLeftOutAndAnotherStays) {
  constexpr std::int32_t kHasChecksum = 1;
  const auto with_checksum = [](const Bson& d) {
    const auto body = int32_bytes(kHasChecksum) + std::string(1, '\0') + std::string(d.bytes());
    return message(op_code::msg, body + "sum!");
  };
  EXPECT_EQ(passed(with_checksum(hello_with({"db1:27017"}, "db1:27017"))),
            op_msg(hello_with({"127.0.0.1:7001"}, "127.0.0.1:7001")));
  const auto other = with_checksum(Bson().text("me", "db1:27017"));
  EXPECT_EQ(passed(other), other);
}

TEST(HelloRewriter, ASetThatIsNotInitiatedHasNoHostsAndMayNotCompress) {
  const auto plain = [](bool compresses) {
    Bson d;
    d.flag("ismaster", false).flag("isreplicaset", true);
    if (compresses) d.array("compression", [](Bson& list) { list.text("0", "snappy"); });
    d.int32("maxWireVersion", 17);
    return d;
  };
  EXPECT_EQ(passed(op_reply(plain(true))), op_reply(plain(false)));
}

TEST(HelloRewriter, OnlyTheBeginOfAPossibleHelloWaits) {
  const auto hello = op_msg(hello_with({"db1:27017"}, "db1:27017"));
  EXPECT_EQ(passed(hello.substr(0, hello.size() - 1)), "");
  const auto large = op_msg(Bson().text("x", std::string(70'000, 'x')));
  EXPECT_EQ(passed(large.substr(0, 1'000)), large.substr(0, 1'000));
}

using Slow = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::string request(std::int32_t number, const Bson& command, std::int32_t flags = 0) {
  return op_msg(command, flags, number, 0);
}

std::string answer_to(std::int32_t number) {
  return message(op_code::msg, std::string(30, 'x'), 7'000, number);
}

Bson ping() {
  Bson command;
  command.int32("ping", 1);
  return command;
}

/// A watch whose times are in ms, and what was slow by it.
struct Watched {
  void asked(const std::string& bytes, std::int64_t at) { watch.asked(bytes, at * kMs); }
  void answered(const std::string& bytes, std::int64_t at) { watch.answered(bytes, at * kMs); }

  static constexpr std::int64_t kMs = 1'000'000;
  Slow slow;
  RequestWatch watch{[this](std::int64_t from_ns, std::int64_t to_ns) {
    slow.emplace_back(from_ns / kMs, to_ns / kMs);
  }};
};

TEST(RequestWatch, FindsMessagesWhereverTheirBytesAreDivided) {
  const auto both = request(1, ping()) + request(2, ping());
  const auto answers = answer_to(2) + answer_to(1);
  for (std::size_t size = 1; size <= both.size(); ++size) {
    Watched w;
    for (std::size_t at = 0; at < both.size(); at += size) w.asked(both.substr(at, size), 0);
    for (std::size_t at = 0; at < answers.size(); at += size) {
      w.answered(answers.substr(at, size), 500);
    }
    w.watch.ended(900 * Watched::kMs);
    EXPECT_EQ(w.slow, (Slow{{0, 500}, {0, 500}})) << size << " bytes at a time";
  }
}

TEST(RequestWatch, ReportsWhatHasNoAnswerYetAndGoesOn) {
  Watched w;
  w.asked(request(1, ping()), 0);
  w.watch.report_open(400 * Watched::kMs);
  w.watch.report_open(420 * Watched::kMs);
  w.answered(answer_to(1), 600);
  EXPECT_EQ(w.slow, (Slow{{0, 400}, {400, 600}}));
}

TEST(RequestWatch, ReportsAShortWaitIfItsClientGaveUp) {
  for (const std::int64_t waited_ms : {9, 10, 90}) {
    Watched w;
    w.asked(request(1, ping()), 100);
    w.watch.ended((100 + waited_ms) * Watched::kMs);
    EXPECT_EQ(w.slow, waited_ms < 10 ? Slow() : (Slow{{100, 100 + waited_ms + 500}}))
        << "until the driver may ask again";
  }
}

/// From 25 ms on, and from the end of a wait by design.
TEST(RequestWatch, ReportsALateAnswerAndNotAQuickOne) {
  Bson news, usual, hello, reads;
  news.int64("getMore", 17).int64("maxTimeMS", 500);
  usual.int64("getMore", 17);
  hello.int32("hello", 1).int64("maxAwaitTimeMS", 10'000);
  reads.text("find", "locks").int64("maxTimeMS", 500);
  using Case = std::pair<const Bson*, std::int64_t>;
  for (const auto& [command, waits_ms] :
       {Case(&news, 500), Case(&usual, 1'000), Case(&hello, 10'000), Case(&reads, 0)}) {
    Watched w;
    w.asked(request(1, *command), 0);
    w.answered(answer_to(1), waits_ms + 24);
    w.asked(request(2, *command), 0);
    w.answered(answer_to(2), waits_ms + 25);
    EXPECT_EQ(w.slow, (Slow{{waits_ms, waits_ms + 25}}));
  }
}

TEST(RequestWatch, ARequestThatWantsNoAnswerAndAnotherProtocolAreLeftAlone) {
  const std::string http = "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
  for (const auto& sent : {request(1, ping(), 2), http}) {
    Watched w;
    w.asked(sent, 0);
    w.answered("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 500);
    w.watch.ended(900 * Watched::kMs);
    EXPECT_EQ(w.slow, Slow());
  }
}

}  // namespace
}  // namespace leasehold::sim::live
