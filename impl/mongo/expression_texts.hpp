#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string_view>
#include <variant>

#include "mongo/bson.hpp"

namespace leasehold::mongo {

/// A number, a text or a document that takes the place of `name`. A document that is null: the
/// place itself goes, which is the last of its array.
struct Hole {
  std::string_view name;
  std::variant<std::int64_t, std::string_view, const Bson*> value;
};

/// Aggregation expressions as extended JSON, parsed once. A value that is the name of a hole,
/// "@owner", is filled in later. Whole numbers have 64 bits. Thread-safe once constructed.
class ExpressionTexts {
 public:
  struct Text {
    std::string_view name, json;
  };
  /// `known` fills holes in all of them, and each one fills holes of those below it.
  ExpressionTexts(std::initializer_list<Hole> known, std::span<const Text> texts);

  /// What comes in by a hole is not looked through for holes. Text from outside belongs into a
  /// $literal, too, because it might be an expression. REQUIRES: no hole is left.
  [[nodiscard]] Bson filled(std::string_view name, std::initializer_list<Hole> holes = {}) const;

 private:
  std::map<std::string_view, Bson> parsed_;
};

}  // namespace leasehold::mongo
