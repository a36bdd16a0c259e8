#include "sim/live/system/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sstream>
#include <thread>
#include <tuple>
#include <utility>

extern char** environ;
namespace leasehold::sim::live {

namespace {

namespace fs = std::filesystem;
constexpr int kPipeBytes = 1 << 20;
constexpr std::chrono::seconds kTreeLimit{60};  ///< of a machine that stands still for ten of them

/// Its ends: to read from, to write to.
std::pair<int, int> new_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe available");
  return {ends[0], ends[1]};
}

void close_if_open(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

/// A child may end before it has read all that is written to it: the write fails then, and must not
/// end this process. Returns the signal, which children get back as the system gives it.
sigset_t broken_pipes_are_errors() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

/// As the kernel ends an address with it: ":1F90 ".
std::string port_in_table(int port) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), ":%04X ", static_cast<unsigned>(port));
  return text.data();
}

/// The inodes of the open sockets (proc(5)) with addresses that end so. A socket of IPv6 may be
/// connected to an address of IPv4, as those of Java are.
std::vector<std::string> inodes_of(const std::string& local, const std::string& remote) {
  constexpr std::size_t kLocal = 1, kRemote = 2, kInode = 9;
  std::vector<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    for (std::string line; std::getline(in, line);) {
      const bool may_be = line.find(local) != std::string::npos &&
                          line.find(remote) != std::string::npos;
      if (!may_be) continue;
      std::istringstream text(line);
      const std::vector<std::string> fields{std::istream_iterator<std::string>(text), {}};
      const bool is_it = fields.size() > kInode && (fields[kLocal] + ' ').ends_with(local) &&
                         (fields[kRemote] + ' ').ends_with(remote);
      if (is_it && fields[kInode] != "0") inodes.push_back(fields[kInode]);
    }
  }
  return inodes;
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

ChildProcess::ChildProcess(const std::vector<std::string>& command, Io io, bool own_session,
                           const std::string& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  int child_in = -1, child_out = -1;
  if (io == Io::pipes) {
    std::tie(child_in, in_) = new_pipe();
    std::tie(out_, child_out) = new_pipe();
    fcntl(out_, F_SETPIPE_SZ, kPipeBytes);
    fcntl(out_, F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_adddup2(&actions, child_in, 0);
    posix_spawn_file_actions_adddup2(&actions, child_out, 1);
  } else {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  }
  if (!errors.empty()) {
    posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  }
  // Else the child would keep closed connections open: some libraries do not mark sockets.
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  // A signal from the terminal is for the harness, which then ends its children in order.
  const short group = own_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
  const sigset_t broken_pipe = broken_pipes_are_errors();
  posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
  posix_spawnattr_setflags(&attributes, static_cast<short>(group | POSIX_SPAWN_SETSIGDEF));
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int error =
      posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close_if_open(child_in);
  close_if_open(child_out);
  if (error != 0) {
    pid_ = -1;
    close_pipes();
    throw std::runtime_error(command[0] + " cannot be started: " + std::strerror(error));
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  kill();
  close_pipes();
  pid_ = std::exchange(other.pid_, -1);
  in_ = std::exchange(other.in_, -1);
  out_ = std::exchange(other.out_, -1);
  ended_ = other.ended_;
  status_ = other.status_;
  return *this;
}

ChildProcess::~ChildProcess() {
  kill();
  close_pipes();
}

void ChildProcess::close_pipes() {
  close_if_open(in_);
  close_if_open(out_);
}

void ChildProcess::close_input() { close_if_open(in_); }

void ChildProcess::say(const std::string& text) const {
  if (in_ >= 0 && ::write(in_, text.data(), text.size()) < 0) return;
}

void ChildProcess::send_signal(int signal) const {
  if (pid_ > 0 && !ended_) ::kill(pid_, signal);
}

bool ChildProcess::running() {
  if (pid_ <= 0 || ended_) return false;
  ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return !ended_;
}

bool ChildProcess::wait_ms(int limit_ms) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(limit_ms);
  while (running()) {
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void ChildProcess::kill() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  ended_ = waitpid(pid_, &status_, 0) == pid_;
}

void until_true(const std::string& what, const std::function<bool()>& attempt,
                std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + limit;
  std::string complaint;
  while (Clock::now() < end) {
    try {
      if (attempt()) return;
    } catch (const NoServers&) {
      throw;
    } catch (const std::exception& error) {
      complaint = error.what();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto seconds = std::chrono::round<std::chrono::seconds>(limit).count();
  throw std::runtime_error(what + " did not succeed within " + std::to_string(seconds) + " s" +
                           (complaint.empty() ? "" : ": " + complaint));
}

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                             : "ended with status " + std::to_string(WEXITSTATUS(status));
}

std::string beside_this_program(const std::string& file) {
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / file;
  if (!std::filesystem::exists(path)) {
    throw std::runtime_error(path.string() + " is not there: build it first");
  }
  return path;
}

std::filesystem::path temporary_folder() {
  std::error_code missing;
  auto folder = std::filesystem::temp_directory_path(missing);
  if (!missing) return folder;
  const char* named = std::getenv("TMPDIR");
  throw std::runtime_error("TMPDIR is '" + std::string(named != nullptr ? named : "") +
                           "': it must be a folder that exists");
}

std::vector<std::string> kernel_stat(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text, '\0');  // all of it, and no exception for a process that just ended
  if (text.empty()) return {};
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  return {std::istream_iterator<std::string>(fields), {}};
}

bool is_stopped(pid_t pid) {
  const auto stat = kernel_stat(pid);
  return !stat.empty() && stat.front() == "T";
}

bool waits_in_kernel(pid_t pid) {
  const auto stat = kernel_stat(pid);
  return !stat.empty() && stat.front() == "D";
}

Janitor::Janitor() {
  std::string pattern = temporary_folder() / "leasehold-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    const std::string why = std::strerror(errno);
    throw std::runtime_error("no temporary folder can be made at " + pattern + ": " + why);
  }
  folder_ = pattern;
  // $0 is the folder. A pid is hit only while its command line or environment still names
  // the folder, and its group with it.
  const std::string script =
      "trap '' INT TERM HUP; pids=; while read -r pid; do pids=\"$pids $pid\"; done; "
      "for pid in $pids; do "
      "if grep -qaF \"$0\" /proc/$pid/cmdline /proc/$pid/environ 2>/dev/null; then "
      "kill -9 -$pid 2>/dev/null || kill -9 $pid; fi; "
      "done; sleep 0.2; rm -rf \"$0\"";
  shell_ = ChildProcess({"/bin/sh", "-c", script, folder_}, ChildProcess::Io::pipes, true);
}

Janitor::~Janitor() {
  shell_.close_input();
  shell_.wait_ms(5'000);
}

void Janitor::watch(pid_t pid) { shell_.say(std::to_string(pid) + "\n"); }

bool LineReader::read_from(int fd) {
  char buffer[1 << 16];
  const auto n = read(fd, buffer, sizeof buffer);
  if (n == 0) ended_ = true;
  if (n <= 0) return false;
  text_.append(buffer, static_cast<std::size_t>(n));
  return true;
}

/// Returned lines are cut off when no other is left: a cut for each line would be quadratic.
std::optional<std::string> LineReader::next() {
  const auto end = text_.find('\n', from_);
  if (end == std::string::npos) {
    text_.erase(0, from_);
    from_ = 0;
    return std::nullopt;
  }
  auto line = text_.substr(from_, end - from_);
  from_ = end + 1;
  return line;
}

ProcessTable::ProcessTable() {
  std::error_code gone;
  for (fs::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
    const auto name = at->path().filename().string();
    pid_t pid = 0;
    const auto* const last = name.data() + name.size();
    if (std::from_chars(name.data(), last, pid).ptr != last) continue;
    const auto stat = kernel_stat(pid);
    if (stat.size() < 3) continue;
    processes_[pid] = {std::stoi(stat[1]), std::stoi(stat[2]), stat[0] == "Z" || stat[0] == "X"};
  }
}

bool ProcessTable::is_gone(pid_t process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() || found->second.dead;
}

std::vector<pid_t> ProcessTable::tree(pid_t root) const {
  std::set<pid_t> all{root};
  for (std::size_t before = 0; before < all.size();) {
    before = all.size();
    for (const auto& [pid, entry] : processes_) {
      if (entry.group == root || all.contains(entry.parent)) all.insert(pid);
    }
  }
  std::erase_if(all, [this](pid_t pid) { return is_gone(pid); });
  return {all.begin(), all.end()};
}

pid_t ProcessTable::parent(pid_t process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? 0 : found->second.parent;
}

/// Again and again, because one may start another meanwhile. One that waits in the kernel stops
/// before it runs again: a shell that has just called vfork waits for a child, which may be
/// stopped.
void stop_tree(pid_t root) {
  std::set<pid_t> signalled;
  until_true("stopping a member", [&] {
    bool all = true;
    for (const pid_t pid : ProcessTable().tree(root)) {
      const bool waits = signalled.contains(pid) && waits_in_kernel(pid);
      if (waits || is_stopped(pid)) continue;
      all = false;
      ::kill(pid, SIGSTOP);
      signalled.insert(pid);
    }
    return all;
  }, kTreeLimit);
}

void resume_tree(pid_t root) {
  for (const pid_t pid : ProcessTable().tree(root)) ::kill(pid, SIGCONT);
}

/// Those that started others are stopped first, so that none that is started meanwhile loses its
/// parent and is not found.
void kill_trees(const std::vector<pid_t>& roots) {
  std::string complaint;
  for (const pid_t root : roots) {
    try {
      if (ProcessTable().tree(root).size() > 1) stop_tree(root);
    } catch (const std::runtime_error& error) {
      complaint = error.what();
    }
  }
  std::set<pid_t> seen;
  until_true("killing a member (" + complaint + ")", [&] {
    const ProcessTable table;
    for (const pid_t root : roots) {
      for (const pid_t pid : table.tree(root)) seen.insert(pid);
    }
    for (const pid_t pid : seen) ::kill(pid, SIGKILL);
    std::erase_if(seen, [&](pid_t pid) { return table.is_gone(pid); });
    return seen.empty();
  }, kTreeLimit);
}

void SocketOwners::add(const std::string& name, pid_t process) {
  const std::lock_guard lock(mutex_);
  known_[name] = process;
  names_.clear();  // a dead process may have had its number
}

/// If a known process is no child of ours, it has the number of a dead one.
void SocketOwners::look_again() const {
  names_.clear();
  const ProcessTable table;
  for (const auto& [name, process] : known_) {
    if (table.parent(process) != getpid()) continue;
    for (const pid_t pid : table.tree(process)) names_[pid] = name;
  }
}

std::string SocketOwners::owner_of(const std::string& inode) const {
  const fs::path socket = "socket:[" + inode + "]";
  const auto found = std::ranges::find_if(
      names_, [&](const auto& each) { return has_open(each.first, socket); });
  return found == names_.end() ? "" : found->second;
}

/// Only in vain are all processes of the machine looked at.
std::string SocketOwners::of(int from, int to) const {
  const auto inodes = inodes_of(port_in_table(from), port_in_table(to));
  if (inodes.empty()) return "";
  const std::lock_guard lock(mutex_);
  auto owner = owner_of(inodes.front());
  if (owner.empty()) {
    look_again();
    owner = owner_of(inodes.front());
  }
  return owner;
}

std::set<std::string> SocketOwners::connected_to(const std::set<int>& ports) const {
  const std::string loopback = "0100007F";  // in this machine's order of bytes
  std::vector<std::string> inodes;
  for (const int port : ports) {
    const auto found = inodes_of("", loopback + port_in_table(port));
    inodes.insert(inodes.end(), found.begin(), found.end());
  }
  const std::lock_guard lock(mutex_);
  look_again();
  std::set<std::string> names;
  for (const auto& inode : inodes) names.insert(owner_of(inode));
  names.erase("");
  return names;
}

}  // namespace leasehold::sim::live
