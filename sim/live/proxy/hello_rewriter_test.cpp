#include "sim/live/proxy/wire_message.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

std::string message(std::int32_t code, const std::string& body) {
  constexpr int kNumber = 77, kAnswers = 66;
  return int32_bytes(static_cast<std::int64_t>(kMessageHeader + body.size())) +
         int32_bytes(kNumber) + int32_bytes(kAnswers) + int32_bytes(code) + body;
}
std::string op_msg(const Bson& document, std::int32_t flags = 0) {
  return message(op_code::msg,
                 int32_bytes(flags) + std::string(1, '\0') + std::string(document.bytes()));
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

/// One of those that hold anything but hosts; `kind` and `value` are any numbers.
void add_field(Bson& d, const std::string& key, int kind, std::int64_t value) {
  constexpr int kKinds = 8;
  switch (kind % kKinds) {
    case 0: d.int32(key, value); break;
    case 1: d.int64(key, value); break;
    case 2: d.flag(key, value % 2 == 0); break;
    case 3: d.date(key, value); break;
    case 4: d.null(key); break;
    case 5: d.text(key, "db1:27017 " + std::to_string(value)); break;
    case 6:
      d.doc(key, [&](Bson& nested) {
        nested.int64("counter", value).text("me", "db1:27017").flag("ismaster", true);
      });
      break;
    default:
      d.array(key, [](Bson& list) { list.text("0", "db1:27017").text("1", "db2:27018"); });
  }
}

void add_list(Bson& d, const char* key, const std::vector<std::string>& members, Names names) {
  d.array(key, [&](Bson& list) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      list.text(std::to_string(i), names.of(members[i]));
    }
  });
}

/// What a reply to `hello` is made of, in any order; its keys are not those of hosts.
struct Field {
  std::string key;
  int kind;
  std::int64_t value;
};
struct Hello {
  std::vector<Field> before, after;
  std::vector<std::string> hosts, passives;
  std::string primary;
  bool old_name, compresses;

  [[nodiscard]] Bson as(Names names) const {
    Bson d;
    for (const auto& f : before) add_field(d, f.key, f.kind, f.value);
    d.flag(old_name ? "ismaster" : "isWritablePrimary", false);
    add_list(d, "hosts", hosts, names);
    add_list(d, "passives", passives, names);
    if (compresses && !names.proxies) {
      d.array("compression", [](Bson& list) { list.text("0", "zlib"); });
    }
    d.int32("maxWireVersion", 17);
    if (!primary.empty()) d.text("primary", names.of(primary));
    d.text("me", names.proxies ? kMe : "db1:27017");
    for (const auto& f : after) add_field(d, f.key, f.kind, f.value);
    return d;
  }
};

std::vector<Field> any_fields() {
  return *rc::gen::container<std::vector<Field>>(rc::gen::apply(
      [](const std::string& key, int kind, std::int64_t value) {
        std::string letters;  // a key has no zero, and none of these is one of a hello
        for (const char c : key) letters += static_cast<char>('a' + (c & 15));
        return Field{"x" + letters, kind & 0xFF, value};
      },
      rc::gen::arbitrary<std::string>(), rc::gen::arbitrary<int>(),
      rc::gen::arbitrary<std::int64_t>()));
}

Hello any_hello() {
  std::vector<std::string> names;
  for (const auto& [member, proxy] : kProxies) names.push_back(member);
  const auto some = rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(names));
  names.emplace_back();
  return {any_fields(),
          any_fields(),
          *some,
          *some,
          *rc::gen::elementOf(names),
          *rc::gen::arbitrary<bool>(),
          *rc::gen::arbitrary<bool>()};
}

/// No reply to `hello`: fields without its marks, beside those that only look like it.
Bson any_other() {
  Bson d;
  for (const auto& f : any_fields()) add_field(d, f.key, f.kind, f.value);
  if (*rc::gen::arbitrary<bool>()) add_list(d, "hosts", {"db1:27017"}, kMembers);
  if (*rc::gen::arbitrary<bool>()) d.text("me", "db1:27017").text("primary", "db1:27017");
  if (*rc::gen::arbitrary<bool>()) d.flag("ismaster", true);
  return d;
}

RC_GTEST_PROP(HelloRewriter, AnyHelloSurvivesWithOnlyItsHostsChanged, ()) {
  const auto hello = any_hello();
  RC_ASSERT(passed(op_msg(hello.as(kMembers))) == op_msg(hello.as(kSeen)));
  RC_ASSERT(passed(op_reply(hello.as(kMembers))) == op_reply(hello.as(kSeen)));
  RC_ASSERT(passed(op_msg(hello.as(kMembers), kMoreToCome)) ==
            op_msg(hello.as(kSeen), kMoreToCome));
}

RC_GTEST_PROP(HelloRewriter, OtherMessagesPassByteForByte, ()) {
  const auto other = any_other();
  for (const auto& same : {op_msg(other), op_reply(other), op_msg(other, kMoreToCome)}) {
    RC_ASSERT(passed(same) == same);
  }
}

RC_GTEST_PROP(HelloRewriter, SplitAnywhereOrManyInOneReadIsTheSame, ()) {
  std::string sent, expected;
  const int count = *rc::gen::inRange(1, 8);
  for (int i = 0; i < count; ++i) {
    const auto hello = any_hello();
    const auto other = any_other();
    const std::pair<std::string, std::string> choices[] = {
        {op_msg(hello.as(kMembers)), op_msg(hello.as(kSeen))},
        {op_reply(hello.as(kMembers)), op_reply(hello.as(kSeen))},
        {op_msg(other), op_msg(other)},
        {message(kCompressed, "?"), message(kCompressed, "?")},
        {op_msg(Bson().text("x", std::string(70'000, 'x'))),
         op_msg(Bson().text("x", std::string(70'000, 'x')))},
    };
    const auto& [from_member, to_client] = choices[*rc::gen::inRange(0, 5)];
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
  d.array("hosts", [&](Bson& list) {
    for (std::size_t i = 0; i < hosts.size(); ++i) list.text(std::to_string(i), hosts[i]);
  });
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
  HelloRewriter rewriter(kProxies, kMe);
  const auto hello = op_msg(hello_with({"db1:27017"}, "db1:27017"));
  EXPECT_EQ(rewriter.pass(std::string_view(hello).substr(0, hello.size() - 1)), "");
  EXPECT_EQ(rewriter.pass(std::string_view(hello).substr(hello.size() - 1)),
            op_msg(hello_with({"127.0.0.1:7001"}, "127.0.0.1:7001")));
  const auto large = op_msg(Bson().text("x", std::string(70'000, 'x')));
  EXPECT_EQ(rewriter.pass(std::string_view(large).substr(0, 1'000)), large.substr(0, 1'000));
}

}  // namespace
}  // namespace leasehold::sim::live
