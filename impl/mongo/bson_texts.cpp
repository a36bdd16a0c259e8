#include "mongo/bson_texts.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace leasehold::mongo {
namespace {

using Holes = std::span<const Hole>;

constexpr std::size_t kLength = 4;  ///< before a document's elements

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

/// Once for each text. `widens`: its numbers are not yet of 64 bits.
void fill(bson_t& to, bson_iter_t& at, Holes holes, bool widens) {
  while (bson_iter_next(&at)) {
    const char* key = bson_iter_key(&at);
    const auto length = static_cast<int>(bson_iter_key_len(&at));
    const bool is_array = BSON_ITER_HOLDS_ARRAY(&at);
    if (is_array || BSON_ITER_HOLDS_DOCUMENT(&at)) {
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
  Bson all;
  bson_iter_t at;
  bson_iter_init(&at, text.get());
  fill(*const_cast<bson_t*>(all.get()), at, holes, widens);
  return all;
}

/// One element without the document around it.
template <typename Write>
void append_element(std::string& to, Write write) {
  bson_t one = BSON_INITIALIZER;
  write(one);
  to.append(reinterpret_cast<const char*>(bson_get_data(&one)) + kLength, one.len - kLength - 1);
  bson_destroy(&one);
}

void put_length(std::string& document, std::size_t begin) {
  document.push_back('\0');
  const auto length = BSON_UINT32_TO_LE(static_cast<std::uint32_t>(document.size() - begin));
  std::memcpy(document.data() + begin, &length, kLength);
}

}  // namespace

/// What is between two holes is bytes. So a command costs as much as it has holes, and not as it
/// has expressions.
struct BsonTexts::Step {
  enum class Kind { bytes, begins, ends, hole };

  Kind kind;
  std::string text;       ///< its bytes; what stands before the length of a part
  std::string key, name;  ///< of a hole
};

void BsonTexts::compile(bson_iter_t at, std::vector<Step>& to) {
  using enum Step::Kind;
  while (bson_iter_next(&at)) {
    std::string element;
    append_element(element, [&at](bson_t& one) { bson_append_iter(&one, nullptr, 0, &at); });
    const std::string key = bson_iter_key(&at);
    const bool is_part = BSON_ITER_HOLDS_ARRAY(&at) || BSON_ITER_HOLDS_DOCUMENT(&at);
    const bool is_hole = BSON_ITER_HOLDS_UTF8(&at) && *bson_iter_utf8(&at, nullptr) == '@';
    if (is_hole) {
      to.push_back({hole, element, key, bson_iter_utf8(&at, nullptr)});
    } else if (is_part && element.find('@') != element.npos) {
      to.push_back({begins, element.substr(0, 1 + key.size() + 1), "", ""});
      bson_iter_t inside;
      bson_iter_recurse(&at, &inside);
      compile(inside, to);
      to.push_back({ends, "", "", ""});
    } else if (!to.empty() && to.back().kind == bytes) {
      to.back().text += element;
    } else {
      to.push_back({bytes, element, "", ""});
    }
  }
}

BsonTexts::BsonTexts(std::span<const Text> texts, Numbers numbers,
                     std::initializer_list<Hole> known) {
  std::vector<Hole> holes(known);
  std::deque<Bson> parsed;  // where they are, because holes refer to them
  for (const auto& [name, json] : texts) {
    bson_error_t error;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(json.data());
    const Bson read(bson_new_from_json(bytes, static_cast<ssize_t>(json.size()), &error));
    if (read.get() == nullptr) throw std::invalid_argument(std::string(name) + error.message);
    const auto& text =
        parsed.emplace_back(filled_with(read, holes, numbers == Numbers::of_64_bits));
    holes.push_back({name, &text});
    bson_iter_t at;
    bson_iter_init(&at, text.get());
    compile(at, texts_[name]);
  }
}

BsonTexts::BsonTexts(BsonTexts&&) noexcept = default;
BsonTexts::~BsonTexts() = default;

Bson BsonTexts::filled(std::string_view name, Holes holes) const {
  constexpr std::size_t kUsual = 4'096;
  std::string out(kLength, '\0');
  out.reserve(kUsual);
  std::vector<std::size_t> parts;  ///< where the lengths of those that have not ended belong
  for (const Step& step : texts_.at(name)) {
    switch (step.kind) {
      case Step::Kind::bytes: out += step.text; break;
      case Step::Kind::begins:
        out += step.text;
        parts.push_back(out.size());
        out.append(kLength, '\0');
        break;
      case Step::Kind::ends:
        put_length(out, parts.back());
        parts.pop_back();
        break;
      case Step::Kind::hole: {
        const auto found = std::ranges::find(holes, std::string_view(step.name), &Hole::name);
        if (found == holes.end()) {
          out += step.text;
          break;
        }
        append_element(out, [&](bson_t& one) {
          std::visit(Append{one, step.key.c_str(), static_cast<int>(step.key.size())},
                     found->value);
        });
      }
    }
  }
  put_length(out, 0);
  return Bson::of(out);
}

}  // namespace leasehold::mongo
