#include "sim/live/proxy/request_watch.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "sim/live/proxy/wire_message.hpp"

namespace leasehold::sim::live {
namespace {

constexpr std::size_t kKept = 1 << 12;  ///< of a message; what waits by design is short
/// A server waits so long for news if the client does not say how long.
constexpr std::chrono::milliseconds kUsualWait{1'000};
constexpr std::int32_t kMoreToCome = 2;  ///< the flag of a request without an answer

/// How long the server may wait before it answers.
std::chrono::milliseconds waits_by_design(std::string_view request) {
  const auto command = command_in(request);
  bson_t document;
  bson_iter_t at;
  const bool has_name = command && read_in_place(*command, document) &&
                        bson_iter_init(&at, &document) && bson_iter_next(&at);
  if (!has_name) return {};
  const std::string_view name = bson_iter_key(&at);
  const bool reads_on = name == "getMore";
  if (!reads_on && name != "hello" && name != "isMaster" && name != "ismaster") return {};
  const char* field = reads_on ? "maxTimeMS" : "maxAwaitTimeMS";
  const bool says = bson_iter_init_find(&at, &document, field);
  if (says) return std::chrono::milliseconds(bson_iter_as_int64(&at));
  return reads_on ? kUsualWait : std::chrono::milliseconds(0);
}

bool wants_no_answer(std::string_view request) {
  return op_code_of(request) == op_code::msg && request.size() >= kMessageHeader + 4 &&
         (int32_at(request, kMessageHeader) & kMoreToCome) != 0;
}

}  // namespace

template <typename Each>
void RequestWatch::Messages::read(std::string_view bytes, const Each& each) {
  while (!bytes.empty() && !lost_) {
    const auto part = bytes.substr(0, (size_ == 0 ? kMessageHeader : size_) - seen_);
    bytes.remove_prefix(part.size());
    seen_ += part.size();
    begin_.append(part.substr(0, kKept - std::min(kKept, begin_.size())));
    if (seen_ == kMessageHeader) {
      size_ = message_size(begin_).value_or(0);
      lost_ = size_ == 0;
    }
    if (size_ == 0 || seen_ < size_) continue;
    each(begin_);
    begin_.clear();
    seen_ = size_ = 0;
  }
}

void RequestWatch::asked(std::string_view bytes, std::int64_t now_ns) {
  requests_.read(bytes, [&](std::string_view request) {
    if (wants_no_answer(request)) return;
    const std::chrono::nanoseconds waits = waits_by_design(request);
    open_.push_back({int32_at(request, 4), now_ns + waits.count()});
  });
}

void RequestWatch::answered(std::string_view bytes, std::int64_t now_ns) {
  answers_.read(bytes, [&](std::string_view answer) {
    const auto request = std::find_if(open_.begin(), open_.end(), [&](const Request& one) {
      return one.number == int32_at(answer, 8);
    });
    if (request == open_.end()) return;  // one of many answers to one request
    report(*request, now_ns);
    open_.erase(request);
  });
}

void RequestWatch::report_open(std::int64_t now_ns) {
  for (Request& one : open_) {
    if (report(one, now_ns)) one.from_ns = now_ns;
  }
}

void RequestWatch::ended(std::int64_t now_ns) {
  for (const Request& one : open_) {
    if (now_ns - one.from_ns >= kGivenUpFrom_ns) report_(one.from_ns, now_ns + kUnreachable_ns);
  }
  open_.clear();
}

bool RequestWatch::report(const Request& one, std::int64_t now_ns) const {
  const bool slow = now_ns - one.from_ns >= kSlowFrom_ns;
  if (slow) report_(one.from_ns, now_ns);
  return slow;
}

}  // namespace leasehold::sim::live
