#pragma once

#include <bson/bson.h>

#include <algorithm>
#include <cstdint>
#include <leasehold/fencing_token.hpp>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::mongo {

/// A BSON document that is being written; nested parts are written by a callable that gets them.
/// Owns its bytes. Not thread-safe.
///
///     Bson d;
///     d.doc("query", [&](Bson& q) { q.text("_id", name); }).flag("upsert", true);
class Bson {
 public:
  Bson() : bytes_(bson_new()) {}
  explicit Bson(bson_t* owned) : bytes_(owned) {}
  /// A copy of whole bytes. REQUIRES: those of a document.
  static Bson of(std::string_view bytes) {
    Bson copy;
    bson_destroy(copy.bytes_);
    copy.bytes_ =
        bson_new_from_data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return copy;
  }
  Bson(Bson&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)) {}
  Bson& operator=(Bson&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Bson() { bson_destroy(bytes_); }

  Bson& text(std::string_view key, std::string_view value) {
    bson_append_utf8(raw(), key.data(), size(key), value.data(), size(value));
    return *this;
  }
  /// What is too large becomes the largest, as for durations it should.
  Bson& int32(std::string_view key, std::int64_t value) {
    using Limits = std::numeric_limits<std::int32_t>;
    const auto fitting = std::clamp<std::int64_t>(value, Limits::min(), Limits::max());
    bson_append_int32(raw(), key.data(), size(key), static_cast<std::int32_t>(fitting));
    return *this;
  }
  Bson& int64(std::string_view key, std::int64_t value) {
    bson_append_int64(raw(), key.data(), size(key), value);
    return *this;
  }
  Bson& flag(std::string_view key, bool value) {
    bson_append_bool(raw(), key.data(), size(key), value);
    return *this;
  }
  Bson& date(std::string_view key, std::int64_t since_1970_ms) {
    bson_append_date_time(raw(), key.data(), size(key), since_1970_ms);
    return *this;
  }
  Bson& null(std::string_view key) {
    bson_append_null(raw(), key.data(), size(key));
    return *this;
  }
  Bson& copy(std::string_view key, const Bson& value) {
    bson_append_document(raw(), key.data(), size(key), value.get());
    return *this;
  }
  template <typename Write>
  Bson& doc(std::string_view key, Write write) {
    Bson nested;
    write(nested);
    return copy(key, nested);
  }
  /// The callable appends elements with the keys "0", "1", ...
  template <typename Write>
  Bson& array(std::string_view key, Write write) {
    Bson nested;
    write(nested);
    bson_append_array(raw(), key.data(), size(key), nested.get());
    return *this;
  }

  [[nodiscard]] const bson_t* get() const { return bytes_; }
  [[nodiscard]] std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bson_get_data(bytes_)), bytes_->len};
  }

 private:
  static int size(std::string_view text) { return static_cast<int>(text.size()); }
  bson_t* raw() { return bytes_; }

  bson_t* bytes_;
};

/// A reply that a driver call fills in.
class ReplyBson {
 public:
  ReplyBson() { bson_init(&bytes_); }
  ReplyBson(const ReplyBson&) = delete;
  ReplyBson& operator=(const ReplyBson&) = delete;
  ~ReplyBson() { bson_destroy(&bytes_); }

  /// For a driver call, which initialises it anew.
  bson_t* out() {
    bson_destroy(&bytes_);
    return &bytes_;
  }
  [[nodiscard]] const bson_t* get() const { return &bytes_; }

 private:
  bson_t bytes_;
};

/// A field of a document, or of one inside it ("lastErrorObject.n").
class Field {
 public:
  Field(const bson_t& document, const char* path) {
    bson_iter_t start;
    found_ = bson_iter_init(&start, &document) && bson_iter_find_descendant(&start, path, &at_);
  }
  explicit operator bool() const { return found_; }
  [[nodiscard]] bson_type_t type() const { return found_ ? bson_iter_type(&at_) : BSON_TYPE_EOD; }
  [[nodiscard]] std::int64_t number() const { return found_ ? bson_iter_as_int64(&at_) : 0; }
  [[nodiscard]] bool truth() const { return found_ && bson_iter_as_bool(&at_); }
  [[nodiscard]] std::string text() const {
    std::uint32_t length = 0;
    if (type() != BSON_TYPE_UTF8) return {};
    const char* bytes = bson_iter_utf8(&at_, &length);
    return {bytes, length};
  }
  [[nodiscard]] std::int64_t date() const { return bson_iter_date_time(&at_); }
  [[nodiscard]] FencingToken timestamp() const {
    std::uint32_t seconds = 0, increment = 0;
    if (type() == BSON_TYPE_TIMESTAMP) bson_iter_timestamp(&at_, &seconds, &increment);
    return FencingToken::from_timestamp(seconds, increment);
  }
  /// Calls `use` with each document of an array.
  template <typename Use>
  void each_document(Use use) const {
    bson_iter_t child;
    if (type() != BSON_TYPE_ARRAY || !bson_iter_recurse(&at_, &child)) return;
    while (bson_iter_next(&child)) read_document(&child, use);
  }
  template <typename Use>
  void as_document(Use use) const {
    if (found_) read_document(&at_, use);
  }

 private:
  template <typename Use>
  static void read_document(const bson_iter_t* at, Use use) {
    if (!BSON_ITER_HOLDS_DOCUMENT(at)) return;
    const std::uint8_t* bytes = nullptr;
    std::uint32_t length = 0;
    bson_t document;
    bson_iter_document(at, &length, &bytes);
    if (bson_init_static(&document, bytes, length)) use(document);
  }

  bson_iter_t at_{};
  bool found_ = false;
};

}  // namespace leasehold::mongo
