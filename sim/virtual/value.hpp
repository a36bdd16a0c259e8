#pragma once

#include <bson/bson.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// BSON values in memory: what the simulated server computes with.
namespace leasehold::sim::virt {

/// An operator, a command or a type that the simulated server does not know. Never a guess.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An error that the real server would answer with.
struct ServerError : std::runtime_error {
  ServerError(int code_, const std::string& what) : std::runtime_error(what), code(code_) {}
  int code;
};

struct Missing {
  bool operator==(const Missing&) const = default;
};
struct Null {
  bool operator==(const Null&) const = default;
};
struct Date {
  std::int64_t ms = 0;
  bool operator==(const Date&) const = default;
};
struct Timestamp {
  std::uint32_t seconds = 0, increment = 0;
  auto operator<=>(const Timestamp&) const = default;
};
struct Regex {
  std::string pattern;
  bool operator==(const Regex&) const = default;
};

struct Binary {
  std::string bytes;
  bool operator==(const Binary&) const = default;
};

class Value;
struct Object {
  std::vector<std::pair<std::string, Value>> fields;  ///< in their order

  [[nodiscard]] const Value* find(std::string_view key) const;
  /// Replaces the field where it stands, or appends it.
  void set(std::string_view key, Value value);
  bool operator==(const Object&) const;
};
struct Array {
  std::vector<Value> items;
  bool operator==(const Array&) const;
};

class Value {
 public:
  using Any = std::variant<Missing, Null, bool, std::int32_t, std::int64_t, double, std::string,
                           Date, Timestamp, Regex, Binary, Object, Array>;

  Value() = default;
  template <typename T>
  Value(T value) : any_(std::move(value)) {}  // NOLINT: a value of each kind is a Value

  template <typename T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&any_);
  }
  template <typename T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T>(any_);
  }
  [[nodiscard]] bool is_number() const;
  /// REQUIRES: an int32 or an int64.
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] bool truth() const;
  /// As $type says it: "missing", "int", "long", "string", ...
  [[nodiscard]] const char* type_name() const;

  bool operator==(const Value&) const = default;

 private:
  Any any_;
};

/// The order of BSON: by type, then by value. Negative, zero or positive.
[[nodiscard]] int compare(const Value& a, const Value& b);

/// Throws Unsupported for a type that nobody here writes.
[[nodiscard]] Object to_object(const bson_t& bytes);
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

}  // namespace leasehold::sim::virt
