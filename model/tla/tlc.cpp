#include "model/tla/tlc.hpp"

#include <stdio.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace leasehold::model::tla {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(LEASEHOLD_TLA) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What is not there, or there twice, would leave TLC with another question than was meant.
void replace_once(std::string& text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    throw std::runtime_error("the specification does not have this once: " + from);
  }
  text.replace(at, from.size(), to);
}

std::string configuration(const Constants& constants) {
  std::string text = text_of("Leasehold.cfg");
  for (const auto& [name, value] : constants) {
    const std::string start = "\n  " + name + " = ";
    const auto at = text.find(start);
    if (at == std::string::npos) throw std::runtime_error("no constant is called " + name);
    const auto end = text.find('\n', at + 1);
    text.replace(at, end - at, start + value);
  }
  return text;
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  char buffer[4096];
  while (const auto n = fread(buffer, 1, sizeof buffer, pipe.get())) output.append(buffer, n);
  return output;
}

/// A folder that is gone afterwards. TLC leaves modules and states beside its input.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "leasehold-tlc-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

Answer read(std::string output) {
  Answer answer;
  static const std::regex action(R"(^<(\w+) line .*>: \d+:(\d+)$)");
  static const std::regex invariant(R"(^Error: Invariant (\w+) is violated\.$)");
  static const std::regex state(R"(^State (\d+): .*$)");
  static const std::regex total(R"(^\d+ states generated, (\d+) distinct states found, .*$)");
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line == "Model checking completed. No error has been found.") answer.ended = true;
    if (std::regex_match(line, found, action)) {
      answer.taken[found[1]] = std::stoull(found[2]);
    } else if (std::regex_match(line, found, invariant)) {
      answer.broken = found[1];
      answer.ended = true;
    } else if (std::regex_match(line, found, state)) {
      answer.steps = std::stoull(found[1]) - 1;
    } else if (std::regex_match(line, found, total)) {
      answer.states = std::stoull(found[1]);
    }
  }
  answer.output = std::move(output);
  return answer;
}

}  // namespace

bool has_tlc() { return fs::exists(LEASEHOLD_TLC); }

Answer ask(const Question& question) {
  std::string specification = text_of("Leasehold.tla");
  if (!question.from.empty()) replace_once(specification, question.from, question.to);
  const Folder folder;
  folder.write("Leasehold.tla", specification);
  folder.write("Leasehold.cfg", configuration(question.constants));
  const std::string java = "java -XX:+UseSerialGC -Xmx4g -Djava.io.tmpdir='" + folder.path() + "'";
  return read(output_of("cd '" + folder.path() + "' && exec " + java + " -cp '" LEASEHOLD_TLC
                        "' tlc2.TLC -workers 1 -coverage 60 -metadir states Leasehold.tla 2>&1"));
}

}  // namespace leasehold::model::tla
