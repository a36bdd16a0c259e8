#include "sim/live/servers/data_snapshot.hpp"

#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;

/// Another program, or another version of it, gets another folder.
std::string name_for(const std::string& mongod) {
  const auto size = fs::file_size(mongod);
  const auto changed = fs::last_write_time(mongod).time_since_epoch().count();
  return "prepared-" + std::to_string(size) + "-" + std::to_string(changed);
}

/// A set of one, which is primary at once, shut down so that nothing is left to recover.
void make(const std::string& mongod, const std::string& data, Janitor& janitor) {
  const int port = free_ports(1).front();
  Mongod member({.program = mongod, .data = data, .port = port}, janitor);
  member.wait_until_ready();
  member.client().must(
      "admin", {{"replSetInitiate",
                 {{"_id", "rs"}, {"members", {{{"_id", 0}, {"host", address_of(port)}}}}}}});
  until_true("the first write", [&] {
    return integer(member.client().run("leasehold_start",
                                       {{"insert", "start"},
                                        {"documents", {{{"x", 1}}}},
                                        {"writeConcern", {{"w", "majority"}}}})["ok"]) == 1;
  });
  member.shut_down();
}

}  // namespace

std::optional<std::string> data_snapshot(const std::string& mongod) {
  std::error_code error;
  const fs::path kept = fs::path(cache_folder()) / name_for(mongod);
  if (fs::exists(kept, error)) return kept;
  fs::create_directories(cache_folder(), error);
  if (access(cache_folder().c_str(), W_OK) != 0) return std::nullopt;
  Janitor janitor;
  const auto made = janitor.folder() + "/prepared";
  make(mongod, made, janitor);
  // Renamed as a whole, so that a folder is complete even if two processes make it at once.
  const fs::path fresh = kept.string() + "." + std::to_string(getpid());
  fs::copy(made, fresh, fs::copy_options::recursive, error);
  if (!error) fs::rename(fresh, kept, error);
  if (error) fs::remove_all(fresh, error);
  return fs::exists(kept, error) ? std::optional(kept.string()) : std::nullopt;
}

}  // namespace leasehold::sim::live
