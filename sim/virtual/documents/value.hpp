#pragma once

#include <bson/bson.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// BSON values in memory: what the simulated server computes with.
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
  template <typename Text>
    requires std::is_convertible_v<const Text&, std::string_view>
  Key(const Text& text) : text_(shared(text)) {}  // NOLINT: a name is a Key

  [[nodiscard]] const std::string& text() const { return *text_; }
  operator const std::string&() const { return *text_; }  // NOLINT: its readers want that

  auto operator<=>(const Key&) const = default;  ///< no order that a run may depend on

 private:
  static const std::string* shared(std::string_view text);
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

/// An operator, a command or a type that the simulated server does not know. It ends the run,
/// because an invented answer would let a wrong command pass, or fail a right one.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An error that the real server would answer with.
/// Thrown inside an evaluation; `execute` turns it into the reply, or into the statement's write
/// error, so it never leaves the simulated server.
struct ServerError : std::runtime_error {
  ServerError(int code_, const std::string& what) : std::runtime_error(what), code(code_) {}
  int code;
};

/// The value of a path to an absent field. In a document it is left out, so it is never stored or
/// sent; null, in contrast, is a value.
struct Missing {
  auto operator<=>(const Missing&) const = default;
};
struct Null {
  auto operator<=>(const Null&) const = default;
};
/// A server's clock reading, in ms since 1970. Compared by the server alone.
struct Date {
  std::int64_t ms = 0;
  auto operator<=>(const Date&) const = default;
};
/// A place in the oplog: seconds since 1970 and a counter within that second, which begins at 1.
/// The order of the members below is the order of the oplog.
struct Timestamp {
  std::uint32_t seconds = 0, increment = 0;
  auto operator<=>(const Timestamp&) const = default;
};
/// Without options: a regular expression with options is refused when it is read.
struct Regex {
  std::string pattern;
  auto operator<=>(const Regex&) const = default;
};

/// Its subtype is UUID, because it holds session ids alone.
struct Binary {
  std::string bytes;
  auto operator<=>(const Binary&) const = default;
};

class Value;
/// A document. INVARIANT: no key stands twice.
///
/// The order of fields counts, as in BSON: two documents that differ in it are not equal. A lock
/// has five fields, so a search beats any index.
struct Object {
  std::vector<std::pair<Key, Value>> fields;  ///< in their order

  [[nodiscard]] const Value* find(const Key& key) const;
  /// Replaces the field where it stands, or appends it.
  void set(const Key& key, Value value);
  bool operator==(const Object&) const;
};
struct Array {
  std::vector<Value> items;
  bool operator==(const Array&) const;
};

/// A stored document is never changed, only replaced, because members, oplogs and replies share it.
using Document = std::shared_ptr<const Object>;  ///< null: there is none

/// A document or an array is shared and never changed, so that a copy of a value costs little.
template <typename T>
struct Shared {
  std::shared_ptr<const T> value;  ///< never null
  bool operator==(const Shared& other) const {
    return value == other.value || *value == *other.value;
  }
};

class Value {
 public:
  template <typename T>
  static constexpr bool kShared = std::is_same_v<T, Object> || std::is_same_v<T, Array>;
  template <typename T>
  using Stored = std::conditional_t<kShared<T>, Shared<T>, T>;
  // INVARIANT: `type_name()` lists its names in this order. `Missing` is first, because it is the
  // value of a default-constructed Value.
  using Any = std::variant<Missing, Null, bool, std::int32_t, std::int64_t, double, std::string,
                           Date, Timestamp, Regex, Binary, Shared<Object>, Shared<Array>>;

  Value() = default;
  template <typename T>
  Value(T value) : any_(stored(std::move(value))) {}  // NOLINT: a value of each kind is a Value

  /// Shares it. REQUIRES: it is there.
  Value(Document document) : any_(Shared<Object>{std::move(document)}) {}  // NOLINT

  /// REQUIRES: it is one.
  [[nodiscard]] Document document() const { return std::get<Shared<Object>>(any_).value; }

  template <typename T>
  [[nodiscard]] const T* as() const {
    const auto* found = std::get_if<Stored<T>>(&any_);
    if constexpr (kShared<T>) {
      return found == nullptr ? nullptr : found->value.get();
    } else {
      return found;
    }
  }
  template <typename T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<Stored<T>>(any_);
  }
  [[nodiscard]] bool is_number() const;
  /// REQUIRES: an int32 or an int64.
  [[nodiscard]] std::int64_t integer() const;
  /// As an expression's condition: missing, null, false and zero are false, all else is true, an
  /// empty string too.
  [[nodiscard]] bool truth() const;
  /// Which of the alternatives it is.
  [[nodiscard]] std::size_t kind() const { return any_.index(); }
  /// As $type says it: "missing", "int", "long", "string", ...
  [[nodiscard]] const char* type_name() const;

  friend int compare(const Value& a, const Value& b);
  /// Equal values have one type, so the int 1 is not the long 1. Where the server compares, use
  /// `compare`, to which they are equal.
  bool operator==(const Value&) const = default;

 private:
  template <typename T>
  static Stored<T> stored(T value) {
    if constexpr (kShared<T>) {
      return {std::make_shared<const T>(std::move(value))};
    } else {
      return value;
    }
  }

  Any any_;
};

/// For requests, replies and documents: `make({{"n"_key, 1}, {"ok"_key, 1.0}})`. REQUIRES: no key
/// stands twice.
inline Object make(std::initializer_list<std::pair<Key, Value>> fields) { return {fields}; }

/// The order of BSON: by type, then by value. Negative, zero or positive.
/// As in the manual's "Comparison/Sort Order": total over all types, so an expression that compares
/// a date with nothing has a result and no error. The lock's commands therefore ask for the type
/// first.
[[nodiscard]] int compare(const Value& a, const Value& b);

/// Throws Unsupported for a type that no lock here writes.
[[nodiscard]] Object to_object(const bson_t& bytes);
/// A missing value appends nothing.
void append(bson_t& to, std::string_view key, const Value& value);
/// Owns the bytes.
class Bytes {
 public:
  explicit Bytes(const Object& object);
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { bson_destroy(bytes_); }
  [[nodiscard]] const bson_t* get() const { return bytes_; }

 private:
  bson_t* bytes_;
};

}  // namespace leasehold::sim::simulated
