#include <algorithm>
#include <cstdio>
#include <thread>

#include "cli/admin.hpp"

namespace leasehold::cli {
namespace {

po::options_description with_json() {
  po::options_description options("Options");
  options.add_options()("json", "print JSON");
  return options.add(server_options());
}

std::string state_of(const SeenLock& lock) {
  if (lock.left_ms() < 0) return "expired";
  return lock.parts ? "held" : "held by other software";
}

void print_table(const std::vector<SeenLock>& locks) {
  std::size_t width = 4;
  for (const SeenLock& lock : locks) width = std::max(width, lock.name.size());
  const int w = static_cast<int>(width);
  std::printf("%-*s  %-22s  %-12s  %-12s  %s\n", w, "NAME", "STATE", "SINCE", "LEFT", "HOLDER");
  for (const SeenLock& lock : locks) {
    std::printf("%-*s  %-22s  %-12s  %-12s  %s\n", w, lock.name.c_str(), state_of(lock).c_str(),
                span(lock.now_ms - lock.acquired_ms).c_str(), span(lock.left_ms()).c_str(),
                lock.parts ? lock.holder.c_str() : lock.lock_id.c_str());
  }
}

void print(const std::vector<SeenLock>& locks, bool json) {
  if (!json) return print_table(locks);
  Json list = Json::array();
  for (const SeenLock& lock : locks) list.push_back(to_json(lock));
  std::printf("%s\n", list.dump(2).c_str());
}

void print(const SeenLock& lock) {
  const auto line = [](const char* what, const std::string& value) {
    std::printf("%-14s %s\n", what, value.c_str());
  };
  line("lock", lock.name);
  line("state", state_of(lock));
  line("holder", lock.parts ? (lock.holder.empty() ? "(does not say)" : lock.holder) : "(unknown)");
  line("held since", date(lock.acquired_ms) + ", " + span(lock.now_ms - lock.acquired_ms) +
                         " ago by the server's clock");
  if (lock.parts) {
    line("lease", span(lock.parts->lease_ms) +
                      " from the holder's last extension, its command number " +
                      std::to_string(lock.parts->beat));
  }
  line("expires at", date(lock.expires_ms) + ", in " + span(lock.left_ms()) +
                         (lock.parts ? ", including clock_margin" : ""));
  line("stored token", std::to_string(lock.token) + " (the holder's own may be higher)");
  line("lockId", lock.lock_id);
}

void print(const Result<std::vector<Json>>& writes) {
  if (!writes) {
    std::printf("last writes    not shown: this role may not read the oplog\n");
    return;
  }
  auto listed = writes;
  for (const Json& write : *listed) {
    std::printf("last writes    %s %s %s\n", write["at"].get<std::string>().c_str(),
                write["what"].get<std::string>().c_str(), write.value("lockId", "").c_str());
  }
}

int list_again(Admin& admin, std::chrono::milliseconds every, int times, bool json) {
  for (int i = 0; times == 0 || i < times; ++i) {
    if (i > 0) std::this_thread::sleep_for(every);
    const auto locks = admin.locks();
    if (!json) {
      std::printf("\n%s\n", locks.empty() ? "no locks" : date(locks.front().now_ms).c_str());
    }
    if (json || !locks.empty()) print(locks, json);
    std::fflush(stdout);
  }
  return kDone;
}

}  // namespace

int ls(const std::vector<std::string>& words) {
  auto options = with_json();
  options.add_options()("watch", "list them again and again")(
      "every", po::value<std::string>()->default_value("1s")->value_name("DURATION"),
      "with --watch: how often")("times", po::value<int>()->default_value(0)->value_name("N"),
                                 "with --watch: how many times; 0: until it is interrupted");
  const auto values = parse("leasehold ls [OPTIONS]\n\nLists the locks.", options, words);
  const auto every = duration_of("every", values["every"].as<std::string>());
  Admin admin(server_of(values));
  const bool json = values.contains("json");
  if (values.contains("watch")) return list_again(admin, every, values["times"].as<int>(), json);
  print(admin.locks(), json);
  return kDone;
}

int show(const std::vector<std::string>& words) {
  auto options = with_json();
  options.add_options()("name", po::value<std::string>()->required(), "the lock's name");
  po::positional_options_description positional;
  positional.add("name", 1);
  const auto values = parse(
      "leasehold show NAME [OPTIONS]\n\nShows one lock, and its last writes if the role may read "
      "the oplog. Exit code 1 if nobody holds it.",
      options, words, positional);
  Admin admin(server_of(values));
  const auto name = values["name"].as<std::string>();
  const auto lock = admin.lock(name);
  if (!lock) throw Failure(kFound, "lock '" + name + "' is free: it has no document");
  const auto writes = admin.last_writes(name, 5);
  if (values.contains("json")) {
    Json json = to_json(*lock);
    if (auto listed = writes) json["lastWrites"] = *listed;
    std::printf("%s\n", json.dump(2).c_str());
  } else {
    print(*lock);
    print(writes);
  }
  return kDone;
}

}  // namespace leasehold::cli
