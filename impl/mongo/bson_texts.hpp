#pragma once

#include <cstdint>
#include <initializer_list>
#include <leasehold/fencing_token.hpp>
#include <map>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "mongo/bson.hpp"

namespace leasehold::mongo {

/// A number of 32 bits; what is too large becomes the largest, as for durations it should.
struct Int32 {
  std::int64_t value;
};
struct Date {
  std::int64_t since_1970_ms;
};
struct Regex {
  const char* pattern;
};
struct Uuid {
  const std::uint8_t* bytes;  ///< 16
};
/// A document with the keys "0", "1", ... as an array.
struct Elements {
  const Bson* of;
};

/// A value that takes the place of `name`. A document that is null: the place itself goes; if it is
/// in an array, it must be the last.
struct Hole {
  std::string_view name;
  std::variant<std::int64_t, std::string_view, const Bson*, Int32, Date, Regex, Uuid, Elements,
               FencingToken>
      value;
};

/// BSON as extended JSON, parsed once: commands, and the aggregation expressions inside them. A
/// value that is the name of a hole, "@owner", is filled in later. Thread-safe once constructed.
class BsonTexts {
 public:
  struct Text {
    std::string_view name, json;
  };
  enum class Numbers { as_written, of_64_bits };
  /// `known` fills holes in all of them, and each one fills holes of those below it.
  BsonTexts(std::span<const Text> texts, Numbers numbers, std::initializer_list<Hole> known = {});
  BsonTexts(BsonTexts&&) noexcept;
  ~BsonTexts();

  /// What comes in by a hole is not looked through for holes. Text from outside belongs into a
  /// $literal, where it might be an expression. REQUIRES: no hole is left.
  [[nodiscard]] Bson filled(std::string_view name, std::initializer_list<Hole> holes = {}) const {
    return filled(name, std::span(holes.begin(), holes.size()));
  }
  [[nodiscard]] Bson filled(std::string_view name, std::span<const Hole> holes) const;

 private:
  struct Step;
  using Steps = std::vector<Step>;
  static void add(const Steps& steps, Steps& to);
  static void add_part(bson_type_t type, const std::string& key, const Steps& inside, Steps& to);
  [[nodiscard]] Steps compiled(bson_iter_t& at, std::span<const Hole> known, bool widens) const;

  std::map<std::string_view, Steps> texts_;
};

}  // namespace leasehold::mongo
