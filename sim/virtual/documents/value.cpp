#include "sim/virtual/documents/value.hpp"

#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace leasehold::sim::simulated {
namespace {

/// Types as BSON orders them. Numbers are one.
/// The server's own list has more; what is not here cannot be read and so cannot occur.
int rank(const Value& v) {
  // Missing is below null only where expressions compare; a query takes the two for one.
  enum { missing, null, numbers, text, object, array, binary, boolean, date, timestamp, regex };
  // The ranks of the variant's alternatives, in their order.
  constexpr int kRanks[] = {missing, null, boolean, numbers, numbers, numbers, text,
                            date, timestamp, regex, binary, object, array};
  return kRanks[v.kind()];
}

/// Text by bytes, as the server does without a collation.
template <typename T>
int order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

/// What is the beginning of another comes first. `compare_items`: an item of each.
template <typename Items, typename Compare>
int compare_all(const Items& a, const Items& b, Compare compare_items) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (const int by_item = compare_items(a[i], b[i]); by_item != 0) return by_item;
  }
  return order(a.size(), b.size());
}

/// The manual's order of the fields of documents: of each the type, then the name, then the value.
int compare_fields(const std::pair<Key, Value>& a, const std::pair<Key, Value>& b) {
  if (const int by_type = order(rank(a.second), rank(b.second)); by_type != 0) return by_type;
  if (const int by_key = order(a.first.text(), b.first.text()); by_key != 0) return by_key;
  return compare(a.second, b.second);
}

template <typename T>
Shared<T> read_once(std::string_view bytes);

/// The part of the bytes in which a nested document or array is.
std::string_view part_at(const bson_iter_t& at) {
  std::uint32_t length = 0;
  const std::uint8_t* bytes = nullptr;
  if (bson_iter_type(&at) == BSON_TYPE_ARRAY) {
    bson_iter_array(&at, &length, &bytes);
  } else {
    bson_iter_document(&at, &length, &bytes);
  }
  return {reinterpret_cast<const char*>(bytes), length};
}

Value read(const bson_iter_t& at) {
  switch (bson_iter_type(&at)) {
    case BSON_TYPE_NULL: return Null{};
    case BSON_TYPE_BOOL: return bson_iter_bool(&at);
    // A number keeps its type, because what is stored with another is another document.
    case BSON_TYPE_INT32: return bson_iter_int32(&at);
    case BSON_TYPE_INT64: return bson_iter_int64(&at);
    case BSON_TYPE_DOUBLE: return bson_iter_double(&at);
    case BSON_TYPE_DATE_TIME: return Date{bson_iter_date_time(&at)};
    case BSON_TYPE_REGEX: {
      const char* options = nullptr;
      std::string pattern = bson_iter_regex(&at, &options);
      // They would change what matches, and `begins` knows none.
      if (options != nullptr && *options != '\0') throw Unsupported("options of a regex");
      return Regex{std::move(pattern)};
    }
    case BSON_TYPE_BINARY: {
      std::uint32_t length = 0;
      const std::uint8_t* bytes = nullptr;
      bson_subtype_t subtype{};
      bson_iter_binary(&at, &subtype, &length, &bytes);
      // The subtype is not kept: to write the value again takes the one that is allowed here.
      if (subtype != BSON_SUBTYPE_UUID) throw Unsupported("binary other than a UUID");
      return Binary{std::string(reinterpret_cast<const char*>(bytes), length)};
    }
    // An operation time or $$CLUSTER_TIME; tokens are packed into a long.
    case BSON_TYPE_TIMESTAMP: {
      Timestamp t;
      bson_iter_timestamp(&at, &t.seconds, &t.increment);
      return t;
    }
    case BSON_TYPE_UTF8: {
      std::uint32_t length = 0;
      // By its length: text may hold a zero byte.
      const char* text = bson_iter_utf8(&at, &length);
      return std::string(text, length);
    }
    case BSON_TYPE_DOCUMENT: return read_once<Object>(part_at(at));
    case BSON_TYPE_ARRAY: return read_once<Array>(part_at(at));
    // No lock here writes object ids, decimals, code and so on.
    default: throw Unsupported("BSON type " + std::to_string(bson_iter_type(&at)));
  }
}

void add(Object& to, const bson_iter_t& at) {
  to.fields.emplace_back(bson_iter_key(&at), read(at));
}

void add(Array& to, const bson_iter_t& at) { to.items.push_back(read(at)); }

template <typename T>
T read_anew(std::string_view bytes) {
  bson_iter_t at;
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (!bson_iter_init_from_data(&at, data, bytes.size())) throw Unsupported("broken BSON");
  T value;
  while (bson_iter_next(&at)) add(value, at);
  return value;
}

/// Remembers what it read last of each place in a table: every command carries a pipeline, and the
/// parts of it that are the same in each command are read once. Large ones never are.
template <typename T>
Shared<T> read_once(std::string_view bytes) {
  struct Known {
    std::string bytes;
    Shared<T> value;
  };
  constexpr std::size_t kLarge = 800, kPlaces = 1'024;
  if (bytes.size() > kLarge) return {std::make_shared<const T>(read_anew<T>(bytes))};
  // A hash only says where to look; the bytes are compared whole. So what a command means never
  // depends on what was read before it. Runs go on in several threads, each with its own table.
  thread_local std::vector<Known> table(kPlaces);
  Known& known = table[std::hash<std::string_view>()(bytes) % kPlaces];
  if (known.bytes != bytes) {
    // In this order, for what is nested in it may take its place.
    Shared<T> value{std::make_shared<const T>(read_anew<T>(bytes))};
    known = {std::string(bytes), std::move(value)};
  }
  return known.value;
}

}  // namespace

const std::string* Key::shared(std::string_view text) {
  // What this thread has looked up before it finds without a lock.
  thread_local std::unordered_map<std::string_view, const std::string*> known;
  if (const auto found = known.find(text); found != known.end()) return found->second;
  static std::mutex mutex;
  // Nodes, which stay where they are when it grows. Never destroyed: keys of static lifetime refer
  // to it.
  static auto& all = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  const std::string& one = *all.emplace(text).first;
  return known[one] = &one;
}

// The first of that name; a key stands once.
const Value* Object::find(const Key& key) const {
  for (const auto& [name, value] : fields) {
    if (name == key) return &value;
  }
  return nullptr;
}

// As $set does it: what is there keeps its place, what is new goes to the end.
// Most that are made so have a few fields: room for them at once.
void Object::set(const Key& key, Value value) {
  constexpr std::size_t kUsual = 5;
  if (fields.empty()) fields.reserve(kUsual);
  const auto found = std::ranges::find(fields, key, &std::pair<Key, Value>::first);
  if (found != fields.end()) {
    found->second = std::move(value);
  } else {
    fields.emplace_back(key, std::move(value));
  }
}

bool Object::operator==(const Object& other) const { return fields == other.fields; }
bool Array::operator==(const Array& other) const { return items == other.items; }

bool Value::is_number() const { return is<std::int32_t>() || is<std::int64_t>() || is<double>(); }

// An int is one too, because callers that count do not care for its type.
std::int64_t Value::integer() const {
  const auto* small = as<std::int32_t>();
  return small != nullptr ? *small : std::get<std::int64_t>(any_);
}

bool Value::truth() const {
  if (is<Missing>() || is<Null>()) return false;
  if (const auto* flag = as<bool>()) return *flag;
  if (const auto* real = as<double>()) return *real != 0;
  // An empty string, document or array is true, as in the server's expressions.
  return !is_number() || integer() != 0;
}

// The variant's alternatives have their names here, in their order; the words are those of the
// $type expression.
const char* Value::type_name() const {
  constexpr const char* kNames[] = {"missing", "null",   "bool", "int",       "long",
                                    "double",  "string", "date", "timestamp", "regex",
                                    "binData", "object", "array"};
  return kNames[kind()];
}

int compare(const Value& a, const Value& b) {
  if (const int by_type = order(rank(a), rank(b)); by_type != 0) return by_type;
  // From here on they are of one type, or numbers.
  return std::visit(
      []<typename A, typename B>(const A& x, const B& y) {
        if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>) {
          // Across int, long and double by value: 1 equals NumberLong(1). A long above 2^53 is
          // rounded, where mongod compares it exactly, and NaN is not below all numbers, as there.
          // Tokens are compared as longs, so neither reaches a lock.
          using Both = std::common_type_t<A, B>;
          return order(static_cast<Both>(x), static_cast<Both>(y));
        } else if constexpr (!std::is_same_v<A, B>) {
          return 0;
        } else if constexpr (std::is_same_v<A, Shared<Object>>) {
          return compare_all(x.value->fields, y.value->fields, compare_fields);
        } else if constexpr (std::is_same_v<A, Shared<Array>>) {
          return compare_all(x.value->items, y.value->items, compare);
        } else {
          return order(x, y);
        }
      },
      a.any_, b.any_);
}

Object to_object(const bson_t& bytes) {
  return read_anew<Object>({reinterpret_cast<const char*>(bson_get_data(&bytes)), bytes.len});
}

/// Each type as itself, so that reading the bytes gives the value back.
void append(bson_t& to, std::string_view key, const Value& value) {
  const char* k = key.data();
  const int n = static_cast<int>(key.size());
  if (value.is<Null>()) {
    bson_append_null(&to, k, n);
  } else if (const auto* flag = value.as<bool>()) {
    bson_append_bool(&to, k, n, *flag);
  } else if (const auto* small = value.as<std::int32_t>()) {
    bson_append_int32(&to, k, n, *small);
  } else if (const auto* large = value.as<std::int64_t>()) {
    bson_append_int64(&to, k, n, *large);
  } else if (const auto* real = value.as<double>()) {
    bson_append_double(&to, k, n, *real);
  } else if (const auto* text = value.as<std::string>()) {
    bson_append_utf8(&to, k, n, text->data(), static_cast<int>(text->size()));
  } else if (const auto* date = value.as<Date>()) {
    bson_append_date_time(&to, k, n, date->ms);
  } else if (const auto* time = value.as<Timestamp>()) {
    bson_append_timestamp(&to, k, n, time->seconds, time->increment);
  } else if (const auto* regex = value.as<Regex>()) {
    // Without options, as it was read.
    bson_append_regex(&to, k, n, regex->pattern.c_str(), "");
  } else if (const auto* binary = value.as<Binary>()) {
    bson_append_binary(&to, k, n, BSON_SUBTYPE_UUID,
                       reinterpret_cast<const std::uint8_t*>(binary->bytes.data()),
                       static_cast<std::uint32_t>(binary->bytes.size()));
  } else if (const auto* object = value.as<Object>()) {
    bson_t child;
    bson_append_document_begin(&to, k, n, &child);
    for (const auto& [name, field] : object->fields) append(child, name.text(), field);
    bson_append_document_end(&to, &child);
  } else if (const auto* array = value.as<Array>()) {
    bson_t child;
    bson_append_array_begin(&to, k, n, &child);
    for (std::size_t i = 0; i < array->items.size(); ++i) {
      // An array's keys are its indices in decimal; the server relies on it.
      append(child, std::to_string(i), array->items[i]);
    }
    bson_append_array_end(&to, &child);
  }
}

/// What the adapter's code reads is BSON again, so both ways go through its bytes.
Bytes::Bytes(const Object& object) : bytes_(bson_new()) {
  for (const auto& [key, value] : object.fields) append(*bytes_, key.text(), value);
}

}  // namespace leasehold::sim::simulated
