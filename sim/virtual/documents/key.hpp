#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace leasehold::sim::simulated {

/// The name of a field. Each name has one text, which all documents share and which stays to the
/// end of the program. So a key is copied and compared as a pointer, because commands and documents
/// are mostly names of fields.
///
/// Thread safety: all calls from any thread.
class Key {
 public:
  /// Looks it up, which costs more than one comparison. So keys in the code are written as
  /// `"name"_key`, which is looked up once.
  explicit Key(std::string_view text);

  [[nodiscard]] const std::string& text() const { return *text_; }
  operator const std::string&() const { return *text_; }  // NOLINT: its readers want that

  bool operator==(const Key&) const = default;
  bool operator==(std::string_view text) const { return *text_ == text; }

 private:
  const std::string* text_;
};

template <std::size_t size>
struct KeyText {
  constexpr KeyText(const char (&from)[size]) { std::copy_n(from, size, text); }  // NOLINT
  char text[size];
};

template <KeyText literal>
const Key& operator""_key() {
  static const Key key(literal.text);
  return key;
}

}  // namespace leasehold::sim::simulated

template <>
struct std::hash<leasehold::sim::simulated::Key> {
  std::size_t operator()(const leasehold::sim::simulated::Key& key) const {
    return std::hash<const std::string*>()(&key.text());
  }
};
