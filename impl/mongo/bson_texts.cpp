#include "mongo/bson_texts.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace leasehold::mongo {
namespace {

using Holes = std::span<const Hole>;

constexpr std::size_t kLength = 4;  ///< before a document's elements

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

/// One element without the document around it.
template <typename Write>
void append_element(std::string& to, Write write) {
  bson_t one = BSON_INITIALIZER;
  write(one);
  to.append(reinterpret_cast<const char*>(bson_get_data(&one)) + kLength, one.len - kLength - 1);
  bson_destroy(&one);
}

void append_filled(std::string& to, const std::string& key, const Hole& hole) {
  append_element(to, [&](bson_t& one) {
    std::visit(Append{one, key.c_str(), static_cast<int>(key.size())}, hole.value);
  });
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
  std::string text;                 ///< its bytes; what stands before the length of a part
  std::string key = {}, name = {};  ///< of a hole
};

void BsonTexts::add(const Steps& steps, Steps& to) {
  for (const Step& step : steps) {
    const bool joins = step.kind == Step::Kind::bytes && !to.empty() &&
                       to.back().kind == Step::Kind::bytes;
    joins ? void(to.back().text += step.text) : to.push_back(step);
  }
}

void BsonTexts::add_part(bson_type_t type, const std::string& key, const Steps& inside,
                         Steps& to) {
  const auto head = static_cast<char>(type) + key + '\0';
  const bool has_hole = std::ranges::any_of(inside, [](const Step& step) {
    return step.kind != Step::Kind::bytes;
  });
  if (has_hole) {
    add({{Step::Kind::begins, head}}, to);
    add(inside, to);
    return add({{Step::Kind::ends, ""}}, to);
  }
  std::string document(kLength, '\0');
  if (!inside.empty()) document += inside.front().text;
  put_length(document, 0);
  add({{Step::Kind::bytes, head + document}}, to);
}

BsonTexts::Steps BsonTexts::compiled(bson_iter_t& at, Holes known, bool widens) const {
  Steps all;
  while (bson_iter_next(&at)) {
    const std::string key = bson_iter_key(&at);
    const auto name = BSON_ITER_HOLDS_UTF8(&at) ? std::string_view(bson_iter_utf8(&at, nullptr))
                                                : std::string_view();
    const auto hole = std::ranges::find(known, name, &Hole::name);
    const auto text = texts_.find(name);
    if (BSON_ITER_HOLDS_DOCUMENT(&at) || BSON_ITER_HOLDS_ARRAY(&at)) {
      bson_iter_t inside;
      bson_iter_recurse(&at, &inside);
      add_part(bson_iter_type(&at), key, compiled(inside, known, widens), all);
    } else if (text != texts_.end()) {
      add_part(BSON_TYPE_DOCUMENT, key, text->second, all);
    } else {
      std::string element;
      if (hole != known.end()) {
        append_filled(element, key, *hole);
      } else if (widens && BSON_ITER_HOLDS_INT32(&at)) {
        append_filled(element, key, {"", std::int64_t{bson_iter_int32(&at)}});
      } else {
        append_element(element, [&at](bson_t& one) { bson_append_iter(&one, nullptr, 0, &at); });
      }
      const bool is_hole = hole == known.end() && name.starts_with('@');
      add({{is_hole ? Step::Kind::hole : Step::Kind::bytes, element, key, std::string(name)}}, all);
    }
  }
  return all;
}

BsonTexts::BsonTexts(std::span<const Text> texts, Numbers numbers,
                     std::initializer_list<Hole> known) {
  for (const auto& [name, json] : texts) {
    bson_error_t error;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(json.data());
    const Bson parsed(bson_new_from_json(bytes, static_cast<ssize_t>(json.size()), &error));
    if (parsed.get() == nullptr) throw std::invalid_argument(std::string(name) + error.message);
    bson_iter_t at;
    bson_iter_init(&at, parsed.get());
    texts_.emplace(name, compiled(at, Holes(known), numbers == Numbers::of_64_bits));
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
        found == holes.end() ? void(out += step.text) : append_filled(out, step.key, *found);
      }
    }
  }
  put_length(out, 0);
  return Bson::of(out);
}

}  // namespace leasehold::mongo
