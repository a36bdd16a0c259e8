#include "sim/live/stores/store_script.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {
namespace {

using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr seconds kAbout{10}, kPrepare{120}, kLook{5}, kLead{10};
/// Beyond the limit, until its process is killed from here.
constexpr seconds kSpare{2};

/// Says what it wrote to its standard error in place of an answer, if it fails. $0 is a folder by
/// which a janitor knows it.
constexpr const char* kRun =
    "exec 3>&1; said=$(\"$@\" 2>&1 >&3); code=$?; [ $code -eq 0 ] || printf %s \"$said\"; "
    "exit $code";

/// Enough to say what is wrong.
std::string end_of(std::string text) {
  constexpr std::size_t kMost = 500;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text.size() <= kMost ? text : "..." + text.substr(text.size() - kMost);
}

StoreCommand command_in(const StoreScript::Json& answer) {
  StoreCommand command;
  command.words = answer.at("command").get<std::vector<std::string>>();
  if (command.words.empty()) throw std::runtime_error("'command' is empty");
  const auto environment = answer.value("environment", StoreScript::Json::object());
  for (const auto& [name, value] : environment.items()) {
    command.environment.push_back(name + "=" + value.get<std::string>());
  }
  return command;
}

StoreAbout about_in(const StoreScript::Json& answer) {
  StoreAbout about;
  about.name = answer.at("name");
  about.missing = answer.value("missing", "");
  if (!about.missing.empty()) return about;
  about.members = answer.at("members");
  if (about.members < 1 || about.members > 16) {
    throw std::runtime_error("'members' is " + std::to_string(about.members) +
                             ": it must be 1 to 16");
  }
  about.ports = answer.at("ports").get<std::vector<std::string>>();
  if (about.ports.empty()) throw std::runtime_error("'ports' is empty");
  about.uri = answer.at("uri");
  about.recovers_ms = answer.value("recovers_ms", about.recovers_ms);
  for (const auto& name : answer.value("faults", std::vector<std::string>())) {
    const auto kind = fault_named(name);
    const bool possible = kind && (hits_process(*kind) || scriptable_faults().contains(*kind));
    if (!possible) {
      throw std::runtime_error("'faults' has '" + name +
                               "', which a script's servers cannot have");
    }
    if (!hits_process(*kind)) about.faults.insert(*kind);
  }
  return about;
}

}  // namespace

const std::set<FaultPlan::Kind>& scriptable_faults() {
  using enum FaultPlan::Kind;
  static const std::set<FaultPlan::Kind> all{
      step_up,   kill_member, kill_two,  kill_all,     stop_member,   split_members, cut_link,
      refuse_link, slow_link, lost_replies, late_requests, slow_majority, clock_jump, clock_drift};
  return all;
}

StoreScript::StoreScript(std::string program) : program_(std::move(program)) {
  try {
    about_ = about_in(ask({"about"}, StoreScript::Json::object(), kAbout));
  } catch (const nlohmann::json::exception& error) {
    fail({"about"}, error.what());
  }
}

void StoreScript::fail(const std::vector<std::string>& verb, const std::string& why) const {
  std::string asked;
  for (const auto& word : verb) asked += (asked.empty() ? "" : " ") + word;
  throw std::runtime_error("store '" + (about_.name.empty() ? program_ : about_.name) + "': " +
                           asked + ": " + why);
}

StoreScript::Ended StoreScript::run(const std::vector<std::string>& verb, const Json& input,
                                    seconds limit) const {
  std::vector<std::string> words{"/bin/sh",
                                 "-c",
                                 kRun,
                                 janitor_ == nullptr ? "leasehold" : janitor_->folder(),
                                 "timeout",
                                 "--foreground",  // in the same group
                                 "-s",
                                 "KILL",
                                 std::to_string(limit.count()),
                                 program_};
  words.insert(words.end(), verb.begin(), verb.end());
  ChildProcess child(words, ChildProcess::Io::pipes);
  // Calls that only look end by themselves.
  if (janitor_ != nullptr && limit > kLook) janitor_->watch(child.pid());
  child.say(input.dump());
  child.close_input();
  LineReader said;
  const auto end = SteadyClock::now() + limit + kSpare;
  while (!said.ended()) {
    pollfd output{child.out(), POLLIN, 0};
    if (poll(&output, 1, 50) > 0) said.read_from(child.out());
    if (SteadyClock::now() < end) continue;
    ::kill(-child.pid(), SIGKILL);
    break;
  }
  Ended ended{.out = said.rest(std::string::npos)};
  const bool over = child.wait_ms(static_cast<int>(kSpare.count() * 1'000));
  if (over && WIFEXITED(child.exit_status())) ended.code = WEXITSTATUS(child.exit_status());
  return ended;
}

StoreScript::Json StoreScript::ask(const std::vector<std::string>& verb, const Json& input,
                                   seconds limit) const {
  const auto ended = run(verb, input, limit);
  if (ended.code != 0) {
    const auto said = end_of(ended.out);
    fail(verb, said.empty() ? "it ended with status " + std::to_string(ended.code) : said);
  }
  auto answer = Json::parse(ended.out, nullptr, false);
  if (!answer.is_object()) fail(verb, "it answered what is no JSON object: " + end_of(ended.out));
  return answer;
}

std::vector<StoreCommand> StoreScript::prepare(const Json& layout) const {
  try {
    std::vector<StoreCommand> all;
    const auto answer = ask({"prepare"}, layout, kPrepare);
    for (const auto& member : answer.at("members")) all.push_back(command_in(member));
    if (static_cast<int>(all.size()) == about_.members) return all;
    fail({"prepare"}, "it answered " + std::to_string(all.size()) + " members, and has " +
                          std::to_string(about_.members));
  } catch (const nlohmann::json::exception& error) {
    fail({"prepare"}, error.what());
  }
}

bool StoreScript::ready(const Json& layout) const {
  const auto ended = run({"ready"}, layout, kLook);
  if (ended.code > 1) fail({"ready"}, end_of(ended.out));
  return ended.code == 0;
}

int StoreScript::leader(const Json& layout) const {
  try {
    const int leader = ask({"leader"}, layout, kLook).at("leader");
    return leader < about_.members ? leader : -1;
  } catch (const std::exception&) {
    return -1;
  }
}

bool StoreScript::lead(int member, const Json& layout) const {
  return run({"lead", std::to_string(member)}, layout, kLead).code == 0;
}

StoreCommand StoreScript::rejoin(int member, const Json& layout) const {
  try {
    const auto answer = ask({"rejoin", std::to_string(member)}, layout, kPrepare);
    return answer.contains("command") ? command_in(answer) : StoreCommand();
  } catch (const nlohmann::json::exception& error) {
    fail({"rejoin", std::to_string(member)}, error.what());
  }
}

}  // namespace leasehold::sim::live
