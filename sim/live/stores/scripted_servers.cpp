#include "sim/live/stores/scripted_servers.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>

#include "model/history/history.hpp"
#include "sim/live/processes/live_processes.hpp"
#include "sim/live/servers/mongod.hpp"
#include "sim/live/stores/store.hpp"
#include "sim/live/system/process_tree.hpp"

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A server that reads its clock once a second has read it by then.
constexpr milliseconds kClockIsRead{1'500};

/// Beside the server stands a shell, whose command line has the folder: by it the janitor knows the
/// group, for servers change their own command lines.
constexpr const char* kServe = "\"$@\" >>\"$0.log\" 2>&1; exit $?";

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

ScriptedServers::ScriptedServers(std::shared_ptr<StoreScript> script)
    : script_(std::move(script)),
      proxy_(std::make_unique<FaultProxy>(
          [this](int from, int to) { return owners_.of(from, to); })) {
  if (!about().missing.empty()) throw NoServers(about().missing);
  try {
    begin();
  } catch (...) {
    end();
    throw;
  }
}

ScriptedServers::~ScriptedServers() { end(); }

void ScriptedServers::begin() {
  script_->belong_to(janitor_);
  lay_out();
  auto commands = script_->prepare(layout_);
  for (int i = 0; i < about().members; ++i) {
    const std::string folder = layout_["members"][static_cast<std::size_t>(i)]["folder"];
    const auto clock_file = folder + ".clock";
    members_.push_back({folder, std::move(commands[static_cast<std::size_t>(i)]),
                        MemberClock(clock_file)});
    fs::permissions(clock_file, fs::perms(0666));  // the server may have another user
  }
  for (int i = 0; i < size(); ++i) start(i);
  wait_until_ready("starting " + about().name);
}

/// Their shells alone would leave them behind.
void ScriptedServers::end() {
  std::vector<pid_t> alive;
  for (Member& member : members_) {
    if (member.process.running()) alive.push_back(member.process.pid());
  }
  try {
    kill_trees(alive);
  } catch (const std::exception&) {
    // The janitor kills what is left.
  }
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
      const int listen = *next++, advertise = proxy_->add_port(i, listen);
      member["ports"][name] = {{"listen", listen}, {"advertise", advertise}};
      replace_all(uri_, "{" + std::to_string(i) + "." + name + "}", address_of(advertise));
    }
    layout_["members"].push_back(std::move(member));
  }
  if (uri_.find('{') != std::string::npos) {
    throw std::runtime_error("store '" + about().name + "': about: 'uri' is '" + about().uri +
                             "': it names what is no port of a member");
  }
}

void ScriptedServers::start(int number) {
  Member& member = at(number);
  std::vector<std::string> words{"/bin/sh", "-c", kServe, member.folder, "env",
                                 member.clock.preload(), member.clock.file_variable()};
  const auto& [command, environment] = member.command;
  words.insert(words.end(), environment.begin(), environment.end());
  words.insert(words.end(), command.begin(), command.end());
  member.process = ChildProcess(words, ChildProcess::Io::nothing);
  janitor_.watch(member.process.pid());
  owners_.add(member_name(number), member.process.pid());
  member.alive = true;
  member.stopped = false;
}

void ScriptedServers::start_again(int number) {
  Member& member = at(number);
  if (member.alive) return;
  auto otherwise = script_->rejoin(number, layout_);
  if (!otherwise.words.empty()) member.command = std::move(otherwise);
  start(number);
}

void ScriptedServers::wait_until_ready(const std::string& what) {
  until_true(what, [this] {
    for (const Ended& dead : ended()) {
      throw NoServers(member_name(dead.member) + " of " + about().name + " " +
                      how_it_ended(dead.status) + ": " + last_words(dead.log_file));
    }
    return script_->ready(layout_);
  });
}

std::vector<std::string> ScriptedServers::log_files() const {
  std::vector<std::string> files;
  for (const Member& member : members_) files.push_back(member.folder + ".log");
  return files;
}

std::vector<ScriptedServers::Ended> ScriptedServers::ended() {
  std::vector<Ended> all;
  for (int i = 0; i < size(); ++i) {
    Member& member = at(i);
    if (!member.alive || member.process.running()) continue;
    member.alive = member.stopped = false;
    all.push_back({i, member.process.exit_status(), member.folder + ".log"});
  }
  return all;
}

void ScriptedServers::restart_dead() {
  for (int i = 0; i < size(); ++i) start_again(i);
  wait_until_ready("starting " + about().name + " again");
}

int ScriptedServers::primary_now() {
  if (size() == 1) return reachable(0) ? 0 : -1;
  return script_->leader(layout_);
}

bool ScriptedServers::reachable(int number) {
  const Member& member = at(number);
  return member.alive && !member.stopped;
}

bool ScriptedServers::step_up(int member, milliseconds) {
  return !is_primary(member) && script_->lead(member, layout_);
}

void ScriptedServers::not_offered(const char* what) const {
  throw std::logic_error(about().name + " has no " + what);
}

bool ScriptedServers::step_down() { not_offered("step-down"); }
void ScriptedServers::wipe(int) { not_offered("lost-data"); }

void ScriptedServers::kill(const std::vector<int>& members) {
  std::vector<pid_t> hit;
  for (const int m : members) {
    if (at(m).alive) hit.push_back(at(m).process.pid());
  }
  kill_trees(hit);
  for (const int m : members) {
    at(m).process.kill();
    at(m).alive = at(m).stopped = false;
  }
}

void ScriptedServers::restart(const std::vector<int>& members) {
  for (const int m : members) start_again(m);
  if (!script_->ready(layout_)) throw std::runtime_error(about().name + " takes no writes");
}

void ScriptedServers::stop(const std::vector<int>& members) {
  for (const int m : members) {
    if (!reachable(m)) continue;
    at(m).stopped = true;
    stop_tree(at(m).process.pid());
  }
}

void ScriptedServers::resume(const std::vector<int>& members) {
  for (const int m : members) {
    if (!std::exchange(at(m).stopped, false)) continue;
    resume_tree(at(m).process.pid());
  }
}

void ScriptedServers::set_clock(int number, std::int64_t ahead_ms, std::int64_t rate_ppm) {
  at(number).clock.set(milliseconds(ahead_ms), rate_ppm);
}

bool ScriptedServers::shows_its_clock(int number) {
  const MemberClock& clock = at(number).clock;
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

namespace {

/// Its own writes cannot be read, so the fenced resource is the laboratory's.
class ScriptedStore final : public Store {
 public:
  ScriptedStore(ScriptedServers& servers, const StoreUse& use)
      : servers_(servers),
        now_ns_(use.now_ns),
        resource_(std::make_shared<MemoryResource>(use.now_ns)) {
    const bool leads = servers.about().faults.contains(FaultPlan::Kind::step_up);
    if (use.first_leads && leads) servers.step_up(0, {});
  }

  std::int64_t fault_echo_ms() const override { return servers_.about().recovers_ms; }
  std::optional<ServerControl> control() override {
    return ServerControl{servers_, &servers_, nullptr};
  }
  std::string uri_for(const std::string&) override { return servers_.uri(); }
  std::shared_ptr<FencedResource> resource(const std::string&) override { return resource_; }
  void began(const std::string& process, pid_t pid) override { servers_.began(process, pid); }

  model::History exits() override {
    model::History all;
    for (const auto& ended : servers_.ended()) {
      all.push_back(exit_of_member(now_ns_(), ended.member, ended.status, ended.log_file));
    }
    return all;
  }
  void restart_members() override { servers_.restart_dead(); }
  std::set<std::string> past_proxies(const std::vector<std::string>& processes) override {
    auto found = servers_.past_proxies();
    std::erase_if(found, [&](const std::string& name) {
      return std::find(processes.begin(), processes.end(), name) == processes.end();
    });
    return found;
  }
  model::History truth() override { return resource_->take(); }

 private:
  ScriptedServers& servers_;
  const std::function<std::int64_t()> now_ns_;
  const std::shared_ptr<MemoryResource> resource_;
};

}  // namespace

StoreAt::StoreAt(ScriptedServers& servers)
    : uri(servers.uri()), open([&servers](const StoreUse& use) {
        return std::make_unique<ScriptedStore>(servers, use);
      }) {}

}  // namespace leasehold::sim::live
