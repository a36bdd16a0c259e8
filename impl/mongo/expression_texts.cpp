#include "mongo/expression_texts.hpp"

#include <algorithm>
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

void append(bson_t& to, const char* key, int length, const Hole& hole) {
  if (const auto* number = std::get_if<std::int64_t>(&hole.value)) {
    bson_append_int64(&to, key, length, *number);
  } else if (const auto* text = std::get_if<std::string_view>(&hole.value)) {
    bson_append_utf8(&to, key, length, text->data(), static_cast<int>(text->size()));
  } else if (const Bson* document = std::get<const Bson*>(hole.value)) {
    bson_append_document(&to, key, length, document->get());
  }
}

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

/// `is_new`: its numbers are not yet of 64 bits.
void fill(bson_t& to, bson_iter_t& at, Holes holes, bool is_new) {
  while (bson_iter_next(&at)) {
    const char* key = bson_iter_key(&at);
    const auto length = static_cast<int>(bson_iter_key_len(&at));
    const bool is_array = BSON_ITER_HOLDS_ARRAY(&at);
    const bool is_part = is_array || BSON_ITER_HOLDS_DOCUMENT(&at);
    if (is_part && (is_new || has_hole(at))) {
      bson_t part;
      bson_iter_t inside;
      bson_iter_recurse(&at, &inside);
      is_array ? bson_append_array_begin(&to, key, length, &part)
               : bson_append_document_begin(&to, key, length, &part);
      fill(part, inside, holes, is_new);
      is_array ? bson_append_array_end(&to, &part) : bson_append_document_end(&to, &part);
    } else if (BSON_ITER_HOLDS_INT32(&at)) {
      bson_append_int64(&to, key, length, bson_iter_int32(&at));
    } else if (const Hole* hole = hole_at(at, holes)) {
      append(to, key, length, *hole);
    } else {
      bson_append_iter(&to, key, length, &at);
    }
  }
}

Bson filled_with(const Bson& text, Holes holes, bool is_new) {
  bson_t* all = bson_sized_new(text.get()->len + 1'024);
  bson_iter_t at;
  bson_iter_init(&at, text.get());
  fill(*all, at, holes, is_new);
  return Bson(all);
}

}  // namespace

ExpressionTexts::ExpressionTexts(std::initializer_list<Hole> known, std::span<const Text> texts) {
  std::vector<Hole> holes(known);
  for (const auto& [name, json] : texts) {
    bson_error_t error;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(json.data());
    const Bson parsed(bson_new_from_json(bytes, static_cast<ssize_t>(json.size()), &error));
    if (parsed.get() == nullptr) throw std::invalid_argument(std::string(name) + error.message);
    const auto [at, fresh] = parsed_.emplace(name, filled_with(parsed, holes, true));
    holes.push_back({name, &at->second});
  }
}

Bson ExpressionTexts::filled(std::string_view name, std::initializer_list<Hole> holes) const {
  return filled_with(parsed_.at(name), {holes.begin(), holes.size()}, false);
}

}  // namespace leasehold::mongo
