#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "model/workers/promises.hpp"
#include "sim/live/foreign/worker_protocol.hpp"

/// scenarios/WORKERS.md: whether each of its blocks is true.
namespace leasehold::sim::live {
namespace {

using Block = std::vector<std::string>;

/// The indented ones.
std::vector<Block> blocks_of_the_page() {
  std::ifstream page(LEASEHOLD_SCENARIOS "/WORKERS.md");
  std::vector<Block> blocks;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    const bool indented = line.rfind("    ", 0) == 0;
    if (indented && !inside) blocks.emplace_back();
    if (indented) blocks.back().push_back(line.substr(4));
    inside = indented;
  }
  return blocks;
}

std::string text_of(const Block& block) {
  std::string text;
  for (const auto& line : block) text += line + '\n';
  return text;
}

/// The laboratory's own lines of such questions, with the members that the page shows.
std::string said_for(const nlohmann::json& asked) {
  const std::string what = asked["do"];
  if (what == "start") {
    return start_line(asked["process"], asked["uri"], asked["database"], asked["lease_ms"]);
  }
  if (what == "acquire") {
    return acquire_line(asked["id"], asked["name"], asked["timeout_ms"],
                        asked.value("shared", false));
  }
  if (what == "ask") return ask_line(asked["id"]);
  if (what == "release") return release_line(asked["id"]);
  return what == "stop" ? stop_line() : "";
}

TEST(WorkersPageBlocks, EachIsACommandQuestionsAnswersOrPromises) {
  int commands = 0, questions = 0, answers = 0, promises = 0;
  std::set<std::string> words;
  for (const auto& block : blocks_of_the_page()) {
    const auto text = text_of(block);
    if (text.rfind("build/bin/leasehold-lab ", 0) == 0) {
      ++commands;  // scripts/readmes runs it
      EXPECT_EQ(block.size(), 1u) << text;
    } else if (text.rfind("{\"do\"", 0) == 0) {
      ++questions;
      for (const auto& line : block) {
        const auto asked = nlohmann::json::parse(line);
        words.insert(asked["do"]);
        EXPECT_EQ(line + '\n', said_for(asked)) << line;
      }
    } else if (text.rfind("{\"is\"", 0) == 0) {
      ++answers;
      for (const auto& line : block) {
        words.insert(to_string(answer_from(line).is));
      }
    } else {
      ++promises;
      EXPECT_EQ(model::promises_from_json(text).document->expires, "lockUntil") << text;
    }
  }
  EXPECT_EQ(commands, 1);
  EXPECT_EQ(questions, 1);
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(promises, 1);
  for (const char* question : {"start", "acquire", "ask", "release", "stop"}) {
    EXPECT_EQ(words.erase(question), 1u) << question;
  }
  EXPECT_EQ(words.size(), 11u) << "each word of a worker has its example";
}

/// What is said of the locks of other people is what the laboratory can read.
TEST(OthersPromises, AreRead) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(LEASEHOLD_SCENARIOS "/others")) {
    if (file.path().extension() != ".json") continue;
    ++files;
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_NO_THROW((void)model::promises_from_json(text)) << file.path();
    EXPECT_NE(text.find("\"says\""), std::string::npos) << file.path();
  }
  EXPECT_GE(files, 8);
}

}  // namespace
}  // namespace leasehold::sim::live
