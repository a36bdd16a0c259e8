#include "sim/live/proxy/hello_rewriter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "mongo/bson.hpp"
#include "sim/live/proxy/wire_message.hpp"

namespace leasehold::sim::live {
namespace {

/// A set has at most 50 members, and a host's name 255 letters: with the rest a third of this.
constexpr std::size_t kLargestHello = 1 << 16;
constexpr std::uint32_t kHasChecksum = 1;
constexpr std::size_t kFlags = kMessageHeader, kChecksum = 4;

bool has(const bson_t& document, const char* key, bson_type_t type) {
  bson_iter_t at;
  return bson_iter_init_find(&at, &document, key) && bson_iter_type(&at) == type;
}

bool is_hello(const bson_t& document) {
  return has(document, "maxWireVersion", BSON_TYPE_INT32) &&
         (has(document, "isWritablePrimary", BSON_TYPE_BOOL) ||
          has(document, "ismaster", BSON_TYPE_BOOL));
}

std::string text_of(const bson_iter_t& at) {
  std::uint32_t size = 0;
  const char* begin = bson_iter_utf8(&at, &size);
  return {begin, size};
}

bool lists_members(std::string_view key) {
  return key == "hosts" || key == "passives" || key == "arbiters";
}

struct Body {
  std::size_t begin;
  std::string_view document;
};

std::uint32_t flags_of(std::string_view message) {
  return static_cast<std::uint32_t>(int32_at(message, kFlags));
}

/// The only document of a reply; nothing if it has none, or others.
std::optional<Body> body_of(std::string_view message) {
  constexpr std::size_t kSectionKind = kFlags + 4, kCount = kMessageHeader + 16;
  const bool old = op_code_of(message) == op_code::reply;
  const std::size_t begin = old ? kCount + 4 : kSectionKind + 1;
  if (message.size() <= begin) return std::nullopt;
  if (old ? int32_at(message, kCount) != 1 : message[kSectionKind] != 0) return std::nullopt;
  const std::size_t after = !old && (flags_of(message) & kHasChecksum) != 0 ? kChecksum : 0;
  const auto document = document_at(message, begin);
  if (!document || begin + document->size() + after != message.size()) return std::nullopt;
  return Body{begin, *document};
}

void set_int32(std::string& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
  }
}

}  // namespace

HelloRewriter::HelloRewriter(const ProxyOf& proxies, std::string me)
    : proxies_(proxies), me_(std::move(me)) {}

std::string HelloRewriter::pass(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    if (unchanged_ > 0) {
      const auto size = std::min(unchanged_, bytes.size());
      out += bytes.substr(0, size);
      bytes.remove_prefix(size);
      unchanged_ -= size;
      continue;
    }
    collect(bytes, kMessageHeader);
    if (message_.size() < kMessageHeader) break;
    const auto size = message_size(message_);
    if (!begins_a_candidate()) {
      out += std::exchange(message_, {});
      // Bytes without a size are no message, and neither are those after them.
      unchanged_ = size ? *size - kMessageHeader : std::numeric_limits<std::size_t>::max();
      continue;
    }
    collect(bytes, *size);
    if (message_.size() == *size) out += rewritten(std::exchange(message_, {}));
  }
  return out;
}

/// Takes bytes over until the message has `size` bytes.
void HelloRewriter::collect(std::string_view& bytes, std::size_t size) {
  if (message_.size() >= size) return;
  const auto missing = std::min(size - message_.size(), bytes.size());
  message_ += bytes.substr(0, missing);
  bytes.remove_prefix(missing);
}

bool HelloRewriter::begins_a_candidate() const {
  const auto size = message_size(message_);
  const auto code = op_code_of(message_);
  return size && *size <= kLargestHello && (code == op_code::msg || code == op_code::reply);
}

std::string HelloRewriter::rewritten(std::string message) const {
  const auto body = body_of(message);
  bson_t hello;
  if (!body || !read_in_place(body->document, hello) || !is_hello(hello)) return message;
  std::string out = message.substr(0, body->begin) + with_proxies(hello);
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
    const bool is_text = BSON_ITER_HOLDS_UTF8(&at);
    if (key == "me" && is_text) {
      out.text(key, me_);
    } else if (key == "primary" && is_text) {
      const auto* proxy = proxy_of(at);
      if (proxy != nullptr) out.text(key, *proxy);
    } else if (lists_members(key) && BSON_ITER_HOLDS_ARRAY(&at)) {
      out.array(key, [&](mongo::Bson& list) {
        int count = 0;
        bson_iter_t member;
        for (bson_iter_recurse(&at, &member); bson_iter_next(&member);) {
          const auto* proxy = BSON_ITER_HOLDS_UTF8(&member) ? proxy_of(member) : nullptr;
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

}  // namespace leasehold::sim::live
