#include "sim/live/proxy/wire_message.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "mongo/bson.hpp"
#include "sim/plan/fault.hpp"

namespace leasehold::sim::live {
namespace {

constexpr std::int32_t kLargestMessage = 48'000'000;
constexpr std::int32_t kSmallestDocument = 5;
/// A set has at most 50 members, and a host's name 255 letters: with the rest a third of this.
constexpr std::size_t kLargestHello = 1 << 16;
constexpr std::size_t kFlags = kMessageHeader, kChecksum = 4;
constexpr std::uint32_t kHasChecksum = 1, kMoreToCome = 2;  ///< the latter: without an answer
constexpr std::size_t kKept = 1 << 12;  ///< of a message; what waits by design is short
/// A server waits so long for news if the client does not say how long.
constexpr std::chrono::milliseconds kUsualWait{1'000};

/// REQUIRES: four bytes are there.
std::int32_t int32_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return static_cast<std::int32_t>(BSON_UINT32_FROM_LE(value));
}

/// REQUIRES: the header is there, like for the next.
std::int32_t op_code_of(std::string_view message) { return int32_at(message, 12); }

/// Those that an OP_MSG has.
std::uint32_t flags_of(std::string_view message) {
  if (message.size() < kFlags + 4) return 0;
  return static_cast<std::uint32_t>(int32_at(message, kFlags));
}

/// Reads the whole document that begins there where it stands, for as long as the message does.
/// False: none does.
bool read_at(std::string_view message, std::size_t begin, bson_t& out) {
  if (begin + kSmallestDocument > message.size()) return false;
  const auto size = int32_at(message, begin);
  return size >= kSmallestDocument && static_cast<std::size_t>(size) <= message.size() - begin &&
         bson_init_static(&out, reinterpret_cast<const std::uint8_t*>(message.data()) + begin,
                          static_cast<std::size_t>(size)) &&
         bson_validate(&out, BSON_VALIDATE_NONE, nullptr);
}

/// The document of the command in a request (OP_MSG, OP_QUERY).
bool read_command(std::string_view message, bson_t& out) {
  if (message.size() < kMessageHeader) return false;
  if (op_code_of(message) == op_code::msg) {
    return read_at(message, kFlags + 5, out);  // after the flags, and the kind of the only section
  }
  const auto name_ends = op_code_of(message) == op_code::query
                             ? message.find('\0', kMessageHeader + 4)
                             : std::string_view::npos;
  return name_ends != std::string_view::npos && read_at(message, name_ends + 1 + 8, out);
}

/// Where the only document of a reply begins; nothing if it has none, or others.
std::optional<std::size_t> read_reply(std::string_view message, bson_t& out) {
  constexpr std::size_t kSectionKind = kFlags + 4, kCount = kMessageHeader + 16;
  const bool old = op_code_of(message) == op_code::reply;
  const std::size_t begin = old ? kCount + 4 : kSectionKind + 1;
  if (message.size() <= begin) return std::nullopt;
  if (old ? int32_at(message, kCount) != 1 : message[kSectionKind] != 0) return std::nullopt;
  const std::size_t after = !old && (flags_of(message) & kHasChecksum) != 0 ? kChecksum : 0;
  const bool is_all = read_at(message, begin, out) && begin + out.len + after == message.size();
  return is_all ? std::optional(begin) : std::nullopt;
}

/// Empty: there is no text.
std::string text_of(const bson_iter_t& at) {
  std::uint32_t size = 0;
  const char* begin = BSON_ITER_HOLDS_UTF8(&at) ? bson_iter_utf8(&at, &size) : "";
  return {begin, size};
}

std::string text_at(const bson_t& document, const char* path) {
  bson_iter_t root, found;
  const bool is_there = bson_iter_init(&root, &document) &&
                        bson_iter_find_descendant(&root, path, &found);
  return is_there ? text_of(found) : "";
}

bool has(const bson_t& document, const char* key, bson_type_t type) {
  bson_iter_t at;
  return bson_iter_init_find(&at, &document, key) && bson_iter_type(&at) == type;
}

bool is_hello(const bson_t& document) {
  return has(document, "maxWireVersion", BSON_TYPE_INT32) &&
         (has(document, "isWritablePrimary", BSON_TYPE_BOOL) ||
          has(document, "ismaster", BSON_TYPE_BOOL));
}

bool lists_members(std::string_view key) {
  return key == "hosts" || key == "passives" || key == "arbiters";
}

void set_int32(std::string& bytes, std::size_t at, std::uint32_t value) {
  value = BSON_UINT32_TO_LE(value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// How long the server may wait before it answers.
std::chrono::milliseconds waits_by_design(std::string_view request) {
  bson_t document;
  bson_iter_t at;
  const bool has_name = read_command(request, document) && bson_iter_init(&at, &document) &&
                        bson_iter_next(&at);
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
  return op_code_of(request) == op_code::msg && (flags_of(request) & kMoreToCome) != 0;
}

}  // namespace

std::optional<std::size_t> message_size(std::string_view bytes) {
  const auto size = int32_at(bytes, 0);
  if (size < static_cast<std::int32_t>(kMessageHeader) || size > kLargestMessage) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(size);
}

std::string peer_of(std::string_view message, const std::map<int, int>& member_by_port) {
  bson_t document;
  if (!read_command(message, document)) return "";
  const auto host = text_at(document, "hostInfo");
  const auto colon = host.rfind(':');
  if (colon == std::string::npos) return text_at(document, "client.application.name");
  const auto member = member_by_port.find(std::atoi(host.c_str() + colon + 1));
  if (member == member_by_port.end()) return "";
  const bool beat = text_at(document, "client.driver.name") == "NetworkInterfaceTL-ReplNetwork";
  return member_name(member->second) + (beat ? "/beat" : "/sync");
}

HelloRewriter::HelloRewriter(const ProxyOf& proxies, std::string me)
    : proxies_(proxies), me_(std::move(me)) {}

std::string HelloRewriter::pass(std::string_view bytes) {
  waiting_ += bytes;
  std::string out;
  const auto take = [this](std::size_t size) {
    auto taken = waiting_.substr(0, size);
    waiting_.erase(0, size);
    return taken;
  };
  for (;;) {
    const auto part = take(unchanged_);
    unchanged_ -= part.size();
    out += part;
    if (waiting_.size() < kMessageHeader) return out;
    const auto size = message_size(waiting_);
    const auto code = op_code_of(waiting_);
    const bool may_be_hello =
        size && *size <= kLargestHello && (code == op_code::msg || code == op_code::reply);
    if (!may_be_hello) {
      // Bytes without a size are no message, and neither are those after them.
      unchanged_ = size.value_or(std::numeric_limits<std::size_t>::max());
    } else if (waiting_.size() < *size) {
      return out;
    } else {
      out += rewritten(take(*size));
    }
  }
}

std::string HelloRewriter::rewritten(std::string message) const {
  bson_t hello;
  const auto begin = read_reply(message, hello);
  if (!begin || !is_hello(hello)) return message;
  std::string out = message.substr(0, *begin) + with_proxies(hello);
  // A checksum may be left out.
  if (op_code_of(out) == op_code::msg) set_int32(out, kFlags, flags_of(out) & ~kHasChecksum);
  set_int32(out, 0, static_cast<std::uint32_t>(out.size()));
  return out;
}

std::string HelloRewriter::with_proxies(const bson_t& hello) const {
  bson_t* written = bson_new();
  mongo::Bson out(written);
  bson_iter_t at;
  for (bson_iter_init(&at, &hello); bson_iter_next(&at);) {
    const std::string_view key = bson_iter_key(&at);
    if (key == "me" && BSON_ITER_HOLDS_UTF8(&at)) {
      out.text(key, me_);
    } else if (key == "primary" && BSON_ITER_HOLDS_UTF8(&at)) {
      const auto* proxy = proxy_of(at);
      if (proxy != nullptr) out.text(key, *proxy);
    } else if (lists_members(key) && BSON_ITER_HOLDS_ARRAY(&at)) {
      out.array(key, [&](mongo::Bson& list) {
        int count = 0;
        bson_iter_t member;
        for (bson_iter_recurse(&at, &member); bson_iter_next(&member);) {
          const auto* proxy = proxy_of(member);
          if (proxy != nullptr) list.text(std::to_string(count++), *proxy);
        }
      });
    } else if (key != "compression") {
      bson_append_iter(written, nullptr, 0, &at);
    }
  }
  return std::string(out.bytes());
}

/// Null: it has none.
const std::string* HelloRewriter::proxy_of(const bson_iter_t& member) const {
  const auto found = proxies_.find(text_of(member));
  return found == proxies_.end() ? nullptr : &found->second;
}

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
    const auto request = std::ranges::find(open_, int32_at(answer, 8), &Request::number);
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
