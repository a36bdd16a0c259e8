#include "sim/live/stores/scripted_servers.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>

#include "sim/live/processes/live_processes.hpp"
#include "sim/live/servers/mongod.hpp"
#include "sim/live/stores/store.hpp"

namespace leasehold::sim::live {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
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

/// A server that reads its clock once a second has read it by then.
constexpr milliseconds kClockIsRead{1'500};

/// Beside the server stands a shell, whose command line has the folder: by it the janitor knows the
/// group, for servers change their own command lines.
constexpr const char* kServe = "\"$@\" >>\"$0.log\" 2>&1; exit $?";

/// Its own writes cannot be read, so the fenced resource is the laboratory's.
class ScriptedStore final : public Store {
 public:
  ScriptedStore(ScriptedServers& servers, const StoreUse& use)
      : servers_(servers), resource_(std::make_shared<MemoryResource>()) {
    const bool leads = servers.about().faults.contains(FaultPlan::Kind::step_up);
    if (use.first_leads && leads) servers.step_up(0, {});
  }

  std::int64_t fault_echo_ms() const override { return servers_.about().recovers_ms; }
  std::optional<ServerControl> control() override {
    return ServerControl{servers_.proxy(), &servers_, nullptr};
  }
  std::string uri_for(const std::string&) override { return servers_.uri(); }
  std::shared_ptr<FencedResource> resource(const std::string&) override { return resource_; }
  void began(const std::string& process, pid_t pid) override { servers_.began(process, pid); }

  model::History exits() override { return exits_of(servers_); }
  void restart_members() override { servers_.restart_dead(); }
  std::set<std::string> past_proxies(const std::vector<std::string>& processes) override {
    auto found = servers_.past_proxies();
    std::erase_if(found, [&](const std::string& name) {
      return std::ranges::find(processes, name) == processes.end();
    });
    return found;
  }
  model::History truth() override { return resource_->take(); }

 private:
  ScriptedServers& servers_;
  const std::shared_ptr<MemoryResource> resource_;
};

}  // namespace

const std::set<FaultPlan::Kind>& scriptable_faults() {
  using enum FaultPlan::Kind;
  static const std::set<FaultPlan::Kind> all{
      step_up,   kill_member, kill_two,  kill_all,     stop_member,   split_members, cut_link,
      refuse_link, slow_link, lost_replies, late_requests, slow_majority, clock_jump, clock_drift};
  return all;
}

void StoreScript::fail(const std::vector<std::string>& verb, const std::string& why) const {
  std::string asked;
  for (const auto& word : verb) asked += (asked.empty() ? "" : " ") + word;
  throw std::runtime_error("store '" + (about_.name.empty() ? program_ : about_.name) + "': " +
                           asked + ": " + why);
}

StoreScript::Ended StoreScript::run(const std::vector<std::string>& verb, const Json& input,
                                    seconds limit) const {
  // In the foreground is in the same group.
  std::vector<std::string> words{
      "/bin/sh", "-c", kRun, janitor_ == nullptr ? "leasehold" : janitor_->folder(), "timeout",
      "--foreground", "-s", "KILL", std::to_string(limit.count()), program_};
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

template <typename Read>
auto StoreScript::ask(const std::vector<std::string>& verb, const Json& input, seconds limit,
                      const Read& read) const {
  const auto ended = run(verb, input, limit);
  if (ended.code != 0) {
    const auto said = end_of(ended.out);
    fail(verb, said.empty() ? "it ended with status " + std::to_string(ended.code) : said);
  }
  const auto answer = Json::parse(ended.out, nullptr, false);
  if (!answer.is_object()) fail(verb, "it answered what is no JSON object: " + end_of(ended.out));
  try {
    return read(answer);
  } catch (const nlohmann::json::exception& error) {
    fail(verb, error.what());
  }
}

StoreScript::StoreScript(std::string program) : program_(std::move(program)) {
  about_ = ask({"about"}, Json::object(), kAbout, about_in);
}

std::vector<StoreCommand> StoreScript::prepare(const Json& layout) const {
  auto all = ask({"prepare"}, layout, kPrepare, [](const Json& answer) {
    std::vector<StoreCommand> commands;
    for (const auto& member : answer.at("members")) commands.push_back(command_in(member));
    return commands;
  });
  if (static_cast<int>(all.size()) == about_.members) return all;
  fail({"prepare"}, "it answered " + std::to_string(all.size()) + " members, and has " +
                        std::to_string(about_.members));
}

bool StoreScript::ready(const Json& layout) const {
  const auto ended = run({"ready"}, layout, kLook);
  if (ended.code > 1) fail({"ready"}, end_of(ended.out));
  return ended.code == 0;
}

int StoreScript::leader(const Json& layout) const {
  try {
    const int leader = ask({"leader"}, layout, kLook,
                           [](const Json& answer) { return answer.at("leader").get<int>(); });
    return leader < about_.members ? leader : -1;
  } catch (const std::exception&) {
    return -1;
  }
}

bool StoreScript::lead(int member, const Json& layout) const {
  return run({"lead", std::to_string(member)}, layout, kLead).code == 0;
}

StoreCommand StoreScript::rejoin(int member, const Json& layout) const {
  return ask({"rejoin", std::to_string(member)}, layout, kPrepare, [](const Json& answer) {
    return answer.contains("command") ? command_in(answer) : StoreCommand();
  });
}

ScriptedServer::ScriptedServer(std::string folder, StoreCommand how, Janitor& janitor)
    : ServerProcess(std::move(folder), janitor), command(std::move(how)) {
  make_clock();
  fs::permissions(clock().file(), fs::perms(0666));  // the server may have another user
}

void ScriptedServer::start() {
  std::vector<std::string> words{"/bin/sh", "-c", kServe, folder(), "env", clock().preload(),
                                 clock().file_variable()};
  words.insert(words.end(), command.environment.begin(), command.environment.end());
  words.insert(words.end(), command.words.begin(), command.words.end());
  ServerProcess::start(words);
}

ScriptedServers::ScriptedServers(std::shared_ptr<StoreScript> script)
    : script_(std::move(script)) {
  if (!about().missing.empty()) throw NoServers(about().missing);
  script_->belong_to(janitor_);
  lay_out();
  auto commands = script_->prepare(layout_);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    members_.emplace_back(layout_["members"][i]["folder"], std::move(commands[i]), janitor_);
  }
  for (int i = 0; i < size(); ++i) start(i);
  wait_until_ready("starting " + about().name);
}

void ScriptedServers::lay_out() {
  fs::permissions(janitor_.folder(), fs::perms(0711));
  const auto each = about().ports.size();
  const auto ports = free_ports(about().members * static_cast<int>(each));
  uri_ = about().uri;
  layout_ = {{"folder", janitor_.folder()}, {"members", StoreScript::Json::array()}};
  listens_ = {ports.begin(), ports.end()};
  auto next = ports.begin();
  for (int i = 0; i < about().members; ++i) {
    const auto folder = janitor_.folder() + "/" + std::to_string(i);
    fs::create_directory(folder);
    StoreScript::Json member{{"folder", folder}, {"ports", StoreScript::Json::object()}};
    for (const auto& name : about().ports) {
      const int listen = *next++, advertise = proxy_.add_port(i, listen);
      member["ports"][name] = {{"listen", listen}, {"advertise", advertise}};
      boost::replace_all(uri_, "{" + std::to_string(i) + "." + name + "}", address_of(advertise));
    }
    layout_["members"].push_back(std::move(member));
  }
  if (uri_.find('{') != std::string::npos) {
    throw std::runtime_error("store '" + about().name + "': about: 'uri' is '" + about().uri +
                             "': it names what is no port of a member");
  }
}

void ScriptedServers::start(int number) {
  at(number).start();
  owners_.add(member_name(number), at(number).pid());
}

void ScriptedServers::start_again(int number) {
  if (at(number).alive()) return;
  auto otherwise = script_->rejoin(number, layout_);
  if (!otherwise.words.empty()) at(number).command = std::move(otherwise);
  start(number);
}

void ScriptedServers::wait_until_ready(const std::string& what) {
  until_true(what, [this] {
    for (int i = 0; i < size(); ++i) {
      if (!at(i).died()) continue;
      throw NoServers(member_name(i) + " of " + about().name + " " +
                      how_it_ended(at(i).exit_status()) + ": " + last_words(at(i).log_file()));
    }
    return script_->ready(layout_);
  });
}

void ScriptedServers::restart_dead() {
  for (int i = 0; i < size(); ++i) start_again(i);
  wait_until_ready("starting " + about().name + " again");
}

int ScriptedServers::primary_now() {
  if (size() == 1) return reachable(0) ? 0 : -1;
  return script_->leader(layout_);
}

bool ScriptedServers::step_up(int member, milliseconds) {
  return !is_primary(member) && script_->lead(member, layout_);
}

void ScriptedServers::not_offered(const char* what) const {
  throw std::logic_error(about().name + " has no " + what);
}

bool ScriptedServers::step_down() { not_offered("step-down"); }
void ScriptedServers::wipe(int) { not_offered("lost-data"); }

void ScriptedServers::restart(const std::vector<int>& members) {
  for (const int m : members) start_again(m);
  if (!script_->ready(layout_)) throw std::runtime_error(about().name + " takes no writes");
}

bool ScriptedServers::shows_its_clock(int number) {
  const MemberClock& clock = at(number).clock();
  if (clock.ahead_ms() == 0) return false;
  const auto end = std::chrono::steady_clock::now() + kClockIsRead;
  while (!clock.was_shown()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

void ScriptedServers::settle() {
  for (int i = 0; i < size(); ++i) set_clock(i, 0, 0);
  wait_until_ready("a write after the faults");
}

StoreAt::StoreAt(ScriptedServers& servers)
    : open([&servers](const StoreUse& use) {
        return std::make_unique<ScriptedStore>(servers, use);
      }),
      log_files(servers.log_files()),
      proxy(&servers.proxy()) {}

}  // namespace leasehold::sim::live
