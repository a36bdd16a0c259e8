#include "sim/live/system/disk_waits.hpp"

#include <filesystem>
#include <fstream>
#include <utility>

namespace leasehold::sim::live {
namespace {

std::string first_line(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

/// The state stands after the name, which is in parentheses and may contain some itself.
bool waits_for_a_disk(const std::string& stat) {
  const auto name_ends = stat.rfind(')');
  return name_ends != std::string::npos && stat.compare(name_ends, 3, ") D") == 0;
}

}  // namespace

std::optional<DiskWaits::Wait> DiskWaits::look(std::int64_t now_ns) {
  std::map<std::string, Waiting> still;
  std::error_code gone;  // a thread may end at any time
  for (const auto& thread : std::filesystem::directory_iterator(tasks_, gone)) {
    if (!waits_for_a_disk(first_line(thread.path() / "stat"))) continue;
    const auto id = thread.path().filename().string();
    Waiting now{now_ns, first_line(thread.path() / "schedstat")};
    const auto before = waiting_.find(id);
    const bool same = before != waiting_.end() && before->second.ran == now.ran;
    still[id] = same ? before->second : std::move(now);
  }
  std::optional<Wait> longest;
  for (const auto& [id, wait] : waiting_) {
    const auto found = still.find(id);
    const bool ended = found == still.end() || found->second.since_ns != wait.since_ns;
    if (!ended || (longest && longest->from_ns <= wait.since_ns)) continue;
    longest = Wait{wait.since_ns, now_ns};
  }
  waiting_ = std::move(still);
  return longest;
}

}  // namespace leasehold::sim::live
