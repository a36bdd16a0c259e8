#include "model/history.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

namespace leasehold::model {
namespace {

RC_GTEST_PROP(History, AnEventIsReadBackAsItWasWritten, (std::int64_t token, std::int64_t sent)) {
  Event e;
  e.at_ns = 123;
  e.kind = *rc::gen::element(Kind::granted, Kind::ask, Kind::put, Kind::write, Kind::stored);
  e.process = "p1.2";
  e.token = token;
  e.sent_ns = sent;
  e.detail = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  RC_ASSERT(event_from_json(to_json(e)) == e);
}

TEST(History, AnswersOfHandlesAreReadBack) {
  for (const Kind kind : {Kind::held, Kind::notified}) {
    Event e;
    e.kind = kind;
    e.process = "p1";
    e.session = 3;
    e.outcome = "yes";
    e.matched = 20;
    e.sent_ns = 5;
    e.until_ns = 7;
    EXPECT_EQ(event_from_json(to_json(e)), e);
    EXPECT_NE(to_json(e).find(kind == Kind::held ? "\"held\"" : "\"notified\""), std::string::npos);
  }
}

TEST(History, TokensAreDecimalStrings) {
  Event e;
  e.token = 9'007'199'254'740'993;
  EXPECT_EQ(to_json(e), R"({"at_ns":0,"kind":"run","token":"9007199254740993"})");
}

TEST(History, ErrorsNameTheLine) {
  for (const char* bad :
       {"{\"at_ns\":1,\"kind\":\"ask\"}\n{nonsense", "\n\n", "{\"at_ns\":1,\"kind\":\"dance\"}",
        "{\"kind\":\"ask\"}", "{\"at_ns\":1,\"kind\":\"put\",\"order\":\"12x\"}",
        // Found by the fuzzer: undefined behaviour in the conversion.
        "{\"at_ns\":1e42,\"kind\":\"ask\"}", "{\"at_ns\":1.5,\"kind\":\"ask\"}",
        "{\"at_ns\":9223372036854775808,\"kind\":\"ask\"}"}) {
    std::istringstream in(bad);
    try {
      (void)read(in);
      ADD_FAILURE() << bad;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("line "), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace leasehold::model
