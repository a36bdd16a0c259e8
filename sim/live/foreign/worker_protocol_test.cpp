#include "sim/live/foreign/worker_protocol.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/live/error_of.hpp"

namespace leasehold::sim::live {
namespace {

using Question = Dialogue::Question;

TEST(WorkerLines, AnAnswerIsReadWithNumbersAsDigitsToo) {
  const auto answer = answer_from(
      R"({"id":7,"is":"granted","token":"9007199254740993","remaining_ms":990,"at_ns":12})");
  EXPECT_EQ(answer.is, Answer::Is::granted);
  EXPECT_EQ(answer.id, 7);
  EXPECT_EQ(answer.token, 9007199254740993);
  EXPECT_EQ(answer.remaining_ms, 990);
  EXPECT_EQ(answer.at_ns, 12);
  EXPECT_EQ(answer_from(R"({"id":7,"is":"failed","why":"no primary"})").why, "no primary");
}

TEST(WorkerLines, EachWrongOneIsNamed) {
  const auto error = [](const char* line) { return error_of([&] { (void)answer_from(line); }); };
  EXPECT_EQ(error("hello"), "it said what is no JSON object: hello");
  EXPECT_EQ(error("[1]"), "it said what is no JSON object: [1]");
  EXPECT_EQ(error(R"({"id":7})"), R"(it said a line without 'is': {"id":7})");
  EXPECT_EQ(error(R"({"is":"held"})"), R"(it said a line without 'id': {"is":"held"})");
  EXPECT_EQ(error(R"({"id":7,"is":"mine"})"),
            R"(it said a word that the protocol has not: {"id":7,"is":"mine"})");
  EXPECT_EQ(error(R"({"id":7,"is":"granted","token":1.5})"),
            R"('token' is no whole number below 2^63: {"id":7,"is":"granted","token":1.5})");
}

TEST(Dialogue, AnAnswerNeedsItsQuestion) {
  Dialogue d;
  const auto heard = [&](Answer::Is is, std::int64_t id) {
    return error_of([&] { d.heard({.is = is, .id = id}, 100); });
  };
  d.started(1);
  EXPECT_EQ(heard(Answer::Is::ready, 0), "");
  EXPECT_NE(heard(Answer::Is::ready, 0), "");
  EXPECT_EQ(heard(Answer::Is::granted, 7),
            "it said \"granted\" of 7, which is no answer to an order");
  d.asked(Question::acquire, 7, 2);
  EXPECT_NE(heard(Answer::Is::lost, 7), "") << "it is not granted";
  EXPECT_EQ(heard(Answer::Is::granted, 7), "");
  EXPECT_NE(heard(Answer::Is::granted, 7), "") << "once";
  EXPECT_NE(heard(Answer::Is::held, 7), "") << "nobody asked";
  d.asked(Question::ask, 7, 3);
  EXPECT_EQ(heard(Answer::Is::held, 7), "");
  EXPECT_EQ(heard(Answer::Is::lost, 7), "");
  EXPECT_NE(heard(Answer::Is::lost, 7), "") << "once";
  EXPECT_NE(heard(Answer::Is::released, 7), "") << "nobody asked";
  d.asked(Question::release, 7, 4);
  EXPECT_EQ(heard(Answer::Is::not_owner, 7), "");
}

TEST(Dialogue, AStampLiesBetweenQuestionAndArrival) {
  Dialogue d;
  d.asked(Question::acquire, 1, 50);
  d.asked(Question::acquire, 2, 50);
  const auto heard = [&](std::int64_t id, std::int64_t at) {
    return error_of([&] { d.heard({.is = Answer::Is::refused, .id = id, .at_ns = at}, 100); });
  };
  EXPECT_EQ(heard(1, 75), "");
  EXPECT_NE(heard(2, 49).find("is it CLOCK_BOOTTIME in ns?"), std::string::npos);
}

TEST(WorkerSchema, HasTheWordsOfTheProtocolAndNoOther) {
  std::ifstream in(LEASEHOLD_WORKER_SCHEMA);
  const auto schema = nlohmann::json::parse(in);
  const auto words = schema["$defs"]["answer"]["properties"]["is"]["enum"];
  ASSERT_EQ(words.size(), 11u);
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(words[i], to_string(static_cast<Answer::Is>(i)));
  }
  std::set<std::string> questions;
  for (const auto& one : schema["$defs"]["question"]["oneOf"]) {
    questions.insert(one["properties"]["do"]["const"]);
  }
  EXPECT_EQ(questions, (std::set<std::string>{"start", "acquire", "ask", "release", "stop"}));
}

}  // namespace
}  // namespace leasehold::sim::live
