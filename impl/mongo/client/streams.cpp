#include "mongo/client/streams.hpp"

#include <algorithm>

namespace leasehold::mongo {

std::unique_ptr<OwnSession> Streams::take(std::int64_t cursor) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [cursor](const Open& open) { return open.cursor == cursor; });
  if (found == open_.end()) return nullptr;
  auto stream = std::move(found->stream);
  open_.erase(found);
  return stream;
}

void Streams::put(std::int64_t cursor, std::unique_ptr<OwnSession> stream) {
  std::unique_ptr<OwnSession> forgotten;  // destroyed after the lock: it may talk to a server
  const std::lock_guard lock(mutex_);
  open_.push_back({cursor, std::move(stream)});
  if (open_.size() <= kMost) return;
  forgotten = std::move(open_.front().stream);
  open_.erase(open_.begin());
}

}  // namespace leasehold::mongo
