#include "mongo/bson_texts.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace leasehold::mongo {
namespace {

using Holes = std::span<const Hole>;

/// Null: what is there is no hole, or one that is filled later.
const Hole* hole_at(const bson_iter_t& at, Holes holes) {
  if (!BSON_ITER_HOLDS_UTF8(&at)) return nullptr;
  const std::string_view name(bson_iter_utf8(&at, nullptr));
  if (!name.starts_with('@')) return nullptr;
  const auto found = std::ranges::find(holes, name, &Hole::name);
  return found == holes.end() ? nullptr : &*found;
}

struct Append {
  bson_t& to;
  const char* key;
  int length;

  void operator()(std::int64_t number) { bson_append_int64(&to, key, length, number); }
  void operator()(std::string_view text) {
    bson_append_utf8(&to, key, length, text.data(), static_cast<int>(text.size()));
  }
  void operator()(const Bson* document) {
    if (document != nullptr) bson_append_document(&to, key, length, document->get());
  }
  void operator()(Int32 number) {
    using Limits = std::numeric_limits<std::int32_t>;
    const auto fitting = std::clamp<std::int64_t>(number.value, Limits::min(), Limits::max());
    bson_append_int32(&to, key, length, static_cast<std::int32_t>(fitting));
  }
  void operator()(Date at) { bson_append_date_time(&to, key, length, at.since_1970_ms); }
  void operator()(Regex regex) { bson_append_regex(&to, key, length, regex.pattern, ""); }
  void operator()(Uuid id) {
    bson_append_binary(&to, key, length, BSON_SUBTYPE_UUID, id.bytes, 16);
  }
  void operator()(Elements elements) {
    bson_append_array(&to, key, length, elements.of->get());
  }
  void operator()(FencingToken at) {
    constexpr std::int64_t kWord = 4'294'967'296;
    bson_append_timestamp(&to, key, length,
                          static_cast<std::uint32_t>(at.value() / kWord + at.kEpochSeconds),
                          static_cast<std::uint32_t>(at.value() % kWord));
  }
};

/// A part without one is copied unchanged, because this runs for each command.
bool has_hole(const bson_iter_t& at) {
  std::uint32_t size = 0;
  const std::uint8_t* bytes = nullptr;
  if (BSON_ITER_HOLDS_ARRAY(&at)) {
    bson_iter_array(&at, &size, &bytes);
  } else {
    bson_iter_document(&at, &size, &bytes);
  }
  return std::string_view(reinterpret_cast<const char*>(bytes), size).find('@') !=
         std::string_view::npos;
}

/// `widens`: its numbers are not yet of 64 bits.
void fill(bson_t& to, bson_iter_t& at, Holes holes, bool widens) {
  while (bson_iter_next(&at)) {
    const char* key = bson_iter_key(&at);
    const auto length = static_cast<int>(bson_iter_key_len(&at));
    const bool is_array = BSON_ITER_HOLDS_ARRAY(&at);
    const bool is_part = is_array || BSON_ITER_HOLDS_DOCUMENT(&at);
    if (is_part && (widens || has_hole(at))) {
      bson_t part;
      bson_iter_t inside;
      bson_iter_recurse(&at, &inside);
      is_array ? bson_append_array_begin(&to, key, length, &part)
               : bson_append_document_begin(&to, key, length, &part);
      fill(part, inside, holes, widens);
      is_array ? bson_append_array_end(&to, &part) : bson_append_document_end(&to, &part);
    } else if (widens && BSON_ITER_HOLDS_INT32(&at)) {
      bson_append_int64(&to, key, length, bson_iter_int32(&at));
    } else if (const Hole* hole = hole_at(at, holes)) {
      std::visit(Append{to, key, length}, hole->value);
    } else {
      bson_append_iter(&to, key, length, &at);
    }
  }
}

Bson filled_with(const Bson& text, Holes holes, bool widens) {
  bson_t* all = bson_sized_new(text.get()->len + 1'024);
  bson_iter_t at;
  bson_iter_init(&at, text.get());
  fill(*all, at, holes, widens);
  return Bson(all);
}

}  // namespace

BsonTexts::BsonTexts(std::span<const Text> texts, Numbers numbers,
                     std::initializer_list<Hole> known) {
  std::vector<Hole> holes(known);
  for (const auto& [name, json] : texts) {
    bson_error_t error;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(json.data());
    const Bson parsed(bson_new_from_json(bytes, static_cast<ssize_t>(json.size()), &error));
    if (parsed.get() == nullptr) throw std::invalid_argument(std::string(name) + error.message);
    const auto [at, fresh] =
        parsed_.emplace(name, filled_with(parsed, holes, numbers == Numbers::of_64_bits));
    holes.push_back({name, &at->second});
  }
}

Bson BsonTexts::filled(std::string_view name, Holes holes) const {
  return filled_with(parsed_.at(name), holes, false);
}

}  // namespace leasehold::mongo
