#include "sim/live/stores/socket_owners.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/live/system/process_tree.hpp"

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;

/// Of an address as the kernel prints it: "0100007F:1F90".
int port_in(const std::string& address) {
  const auto colon = address.rfind(':');
  return colon == std::string::npos ? 0 : std::stoi(address.substr(colon + 1), nullptr, 16);
}

/// The socket's inode (proc(5)); "0" or empty: there is none any more. A socket of IPv6 may be
/// connected to an address of IPv4, as those of Java are.
std::string inode_of(int from, int to) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
      fields >> number >> local >> remote;
      if (port_in(local) != from || port_in(remote) != to) continue;
      fields >> state >> queues >> timer >> retries >> user >> timeout >> inode;
      return inode;
    }
  }
  return "";
}

bool has_open(pid_t pid, const fs::path& what) {
  std::error_code gone;
  for (fs::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", gone), end;
       !gone && at != end; at.increment(gone)) {
    std::error_code closed;
    if (fs::read_symlink(at->path(), closed) == what) return true;
  }
  return false;
}

}  // namespace

void SocketOwners::add(const std::string& name, pid_t process) {
  const std::lock_guard lock(mutex_);
  known_[name] = process;
}

/// A process that is no child of ours has got the number of a dead one.
std::string SocketOwners::of(int from, int to) const {
  const auto inode = inode_of(from, to);
  if (inode.empty() || inode == "0") return "";
  const fs::path socket = "socket:[" + inode + "]";
  const ProcessTable table;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, process] : known_) {
    if (table.parent(process) != getpid()) continue;
    for (const pid_t pid : table.tree(process)) {
      if (has_open(pid, socket)) return name;
    }
  }
  return "";
}

}  // namespace leasehold::sim::live
