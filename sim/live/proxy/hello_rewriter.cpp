#include "sim/live/proxy/hello_rewriter.hpp"

#include <bson/bson.h>

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
constexpr std::size_t kFlags = kMessageHeader, kChecksum = 4, kLength = 4;

/// A document's elements, one after the other, with their bytes.
class Elements {
 public:
  explicit Elements(std::string_view document) : document_(document) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(document.data());
    more_ = bson_iter_init_from_data(&next_, bytes, document.size()) && bson_iter_next(&next_);
  }
  /// False: there is none left.
  bool take() {
    if (!more_) return false;
    now_ = next_;
    more_ = bson_iter_next(&next_);
    return true;
  }
  [[nodiscard]] std::string_view key() { return bson_iter_key(&now_); }
  [[nodiscard]] bson_type_t type() { return bson_iter_type(&now_); }
  [[nodiscard]] std::string_view text() {
    std::uint32_t size = 0;
    const char* begin = bson_iter_utf8(&now_, &size);
    return {begin, size};
  }
  /// REQUIRES: it is an array.
  [[nodiscard]] std::string_view array() {
    std::uint32_t size = 0;
    const std::uint8_t* bytes = nullptr;
    bson_iter_array(&now_, &size, &bytes);
    return {reinterpret_cast<const char*>(bytes), size};
  }
  [[nodiscard]] std::string_view bytes() {
    const auto begin = bson_iter_offset(&now_);
    const auto end = more_ ? bson_iter_offset(&next_)
                           : static_cast<std::uint32_t>(document_.size() - 1);  // a zero ends it
    return document_.substr(begin, end - begin);
  }

 private:
  std::string_view document_;
  bson_iter_t next_, now_;
  bool more_ = false;
};

/// What is between the length and the zero at the end.
std::string elements_of(const mongo::Bson& document) {
  const auto all = document.bytes();
  return std::string(all.substr(kLength, all.size() - kLength - 1));
}

bool is_hello(std::string_view document) {
  bool knows_versions = false, knows_office = false;
  for (Elements e(document); e.take();) {
    knows_versions |= e.key() == "maxWireVersion" && e.type() == BSON_TYPE_INT32;
    knows_office |= (e.key() == "isWritablePrimary" || e.key() == "ismaster") &&
                    e.type() == BSON_TYPE_BOOL;
  }
  return knows_versions && knows_office;
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

void set_length(std::string& bytes) {
  set_int32(bytes, 0, static_cast<std::uint32_t>(bytes.size()));
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
  if (!body || !is_hello(body->document)) return message;
  std::string out = message.substr(0, body->begin) + with_proxies(body->document);
  // A checksum may be left out.
  if (op_code_of(out) == op_code::msg) set_int32(out, kFlags, flags_of(out) & ~kHasChecksum);
  set_length(out);
  return out;
}

std::string HelloRewriter::with_proxies(std::string_view document) const {
  std::string out(kLength, '\0');
  for (Elements e(document); e.take();) {
    const auto key = e.key();
    const bool is_text = e.type() == BSON_TYPE_UTF8;
    if (key == "me" && is_text) {
      out += elements_of(mongo::Bson().text(key, me_));
    } else if (key == "primary" && is_text) {
      const auto* proxy = proxy_of(e.text());
      if (proxy != nullptr) out += elements_of(mongo::Bson().text(key, *proxy));
    } else if (lists_members(key) && e.type() == BSON_TYPE_ARRAY) {
      out += list_of_proxies(key, e.array());
    } else if (key != "compression") {
      out += e.bytes();
    }
  }
  out += '\0';
  set_length(out);
  return out;
}

std::string HelloRewriter::list_of_proxies(std::string_view key, std::string_view members) const {
  return elements_of(mongo::Bson().array(key, [&](mongo::Bson& list) {
    int count = 0;
    for (Elements e(members); e.take();) {
      const auto* proxy = e.type() == BSON_TYPE_UTF8 ? proxy_of(e.text()) : nullptr;
      if (proxy != nullptr) list.text(std::to_string(count++), *proxy);
    }
  }));
}

/// Null: it has none.
const std::string* HelloRewriter::proxy_of(std::string_view member) const {
  const auto found = proxies_.find(std::string(member));
  return found == proxies_.end() ? nullptr : &found->second;
}

}  // namespace leasehold::sim::live
