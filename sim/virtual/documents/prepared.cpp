#include "sim/virtual/documents/prepared.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "core/document/lock_queue.hpp"
#include "mongo/commands.hpp"
#include "sim/virtual/documents/program.hpp"

namespace leasehold::sim::simulated {
namespace {

using core::AcquireCommand;
using core::DeleteCommand;
using core::ExtendCommand;
using core::HandOverCommand;
using core::Owner;
using core::PassOnCommand;
using core::ReadHoldersCommand;
using std::chrono::milliseconds;

using Parameters = std::vector<Value>;

/// Of larger batches there are few of each size.
constexpr std::size_t kLargestBatch = 4;

/// What decides on the shape of a kind of command.
/// INVARIANT: commands of one kind and key have bytes that differ in their parameters alone.
struct ShapeKey {
  unsigned has = 0;       ///< what it has of what it may have
  std::size_t count = 1;  ///< of statements or names
  auto operator<=>(const ShapeKey&) const = default;
};

// The values that an example of a shape has: no two are the same, nor like a constant of the
// adapter's, so that a leaf that shows one is known for what it is.
constexpr Owner kOwner{0x1f2e3d4c5b6a7988u, 0x8967a5b4c3d2e1f0u};
constexpr Owner kOther{0x2e3d4c5b6a798801u, 0xf08967a5b4c3d2e1u};
constexpr milliseconds kLease{1'000'003}, kMargin{2'000'029}, kQueuesFor{4'000'037};
constexpr milliseconds kTimeout{7'654'321};
constexpr std::size_t kQueueRoom = 6'000'041;
constexpr std::int64_t kTicket = 8'000'051;
constexpr std::uint64_t kBeat = 987'654'321'012;

/// Of our form, because the adapter reads the beat in it.
std::string example_lock_id(std::size_t statement) {
  return core::format_lock_id({kOwner, kLease.count(), kBeat + statement});
}

std::string example_name(std::size_t place) { return "the name " + std::to_string(place); }

/// What is different from one command of its shape to another, in an order of its own; and how an
/// example of the shape is made of a command.
/// A command that gets one field more does not compile in `add`, which counts them: each field has
/// to be a parameter or in the key, or two shapes would be taken for one.
template <typename Body>
struct ShapesOf;

/// Both follow from the command's time-out, by the adapter's own rule.
void add_limits(Parameters& out, milliseconds timeout) {
  const auto limits = mongo::limits_of(timeout);
  out.emplace_back(static_cast<std::int32_t>(limits.wtimeout_ms));
  out.emplace_back(static_cast<std::int32_t>(limits.max_time_ms));
}

/// What pipelines compare with: a lockId of this owner begins so, whatever its beat.
std::string beginning(Owner owner) { return to_hex(owner) + '.'; }

template <>
struct ShapesOf<AcquireCommand> {
  static ShapeKey key(const AcquireCommand& c) {
    // Each of them adds to the pipeline: a holder presumed dead, a place in the queue, a ticket.
    return {(c.observed ? 1u : 0u) | (c.queues_for ? 2u : 0u) | (c.ticket ? 4u : 0u)};
  }
  static void become_example(AcquireCommand& c) {
    c.name = example_name(0);
    c.owner = kOwner;
    c.lock_id = example_lock_id(0);
    if (c.observed) c.observed = "what was observed";
    c.lease = kLease;
    c.margin = kMargin;
    if (c.queues_for) c.queues_for = kQueuesFor;
    c.queue_room = kQueueRoom;
    if (c.ticket) c.ticket = kTicket;
  }
  static void add(Parameters& out, const AcquireCommand& c) {
    [[maybe_unused]] const auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10] = c;  // see above
    out.emplace_back(c.name);
    out.emplace_back(beginning(c.owner));
    out.emplace_back(c.lock_id);
    out.emplace_back(std::int64_t{(c.lease + c.margin).count()});
    if (c.observed) out.emplace_back(*c.observed);
    // Without a queue the adapter's bytes have none of what follows.
    if (!c.queues_for) return;
    out.emplace_back('.' + beginning(c.owner));
    out.emplace_back(core::entry_without_until(*c.queues_for, c.lease + c.margin, c.lock_id));
    out.emplace_back(std::int64_t{c.queues_for->count()});
    out.emplace_back(static_cast<std::int64_t>(c.queue_room));
    out.emplace_back(static_cast<std::int64_t>((c.queue_room + 1) / 2));
    if (c.ticket) out.emplace_back(*c.ticket);
    const auto parts = core::parse_lock_id(c.lock_id);
    out.emplace_back(static_cast<std::int64_t>(parts ? parts->beat : 0));
  }
};

template <>
struct ShapesOf<HandOverCommand> {
  static ShapeKey key(const HandOverCommand&) { return {}; }
  static void become_example(HandOverCommand& c) {
    c.name = example_name(0);
    c.from = kOther;
    c.owner = kOwner;
    c.lock_id = example_lock_id(0);
    c.lease = kLease;
    c.margin = kMargin;
  }
  static void add(Parameters& out, const HandOverCommand& c) {
    [[maybe_unused]] const auto& [f1, f2, f3, f4, f5, f6, f7] = c;  // see above
    out.emplace_back(c.name);
    out.emplace_back(Regex{mongo::pattern_of(c.from, c.owner)});
    out.emplace_back(beginning(c.owner));
    out.emplace_back(c.lock_id);
    out.emplace_back(std::int64_t{(c.lease + c.margin).count()});
  }
};

template <>
struct ShapesOf<PassOnCommand> {
  static ShapeKey key(const PassOnCommand& c) {
    return {(c.or_owner ? 1u : 0u) | (c.offers ? 2u : 0u)};
  }
  static void become_example(PassOnCommand& c) {
    c.name = example_name(0);
    c.owner = kOwner;
    if (c.or_owner) c.or_owner = kOther;
  }
  static void add(Parameters& out, const PassOnCommand& c) {
    [[maybe_unused]] const auto& [f1, f2, f3, f4] = c;  // see above
    out.emplace_back(c.name);
    out.emplace_back(beginning(c.owner));
    if (c.or_owner) out.emplace_back(beginning(*c.or_owner));
  }
};

template <>
struct ShapesOf<DeleteCommand> {
  static ShapeKey key(const DeleteCommand& c) {
    return {(c.or_owner ? 1u : 0u) | (c.unless_queued ? 2u : 0u)};
  }
  static void become_example(DeleteCommand& c) {
    c.name = example_name(0);
    c.owner = kOwner;
    if (c.or_owner) c.or_owner = kOther;
  }
  static void add(Parameters& out, const DeleteCommand& c) {
    [[maybe_unused]] const auto& [f1, f2, f3, f4] = c;  // see above
    out.emplace_back(c.name);
    // Where no owner may be queued: no mark of a queue follows the owner.
    const char* const rest = c.unless_queued ? "[^~]*$" : "";
    out.emplace_back(Regex{c.or_owner ? mongo::pattern_of(c.owner, *c.or_owner, rest)
                                      : mongo::pattern_of(c.owner, rest)});
  }
};

template <>
struct ShapesOf<ExtendCommand> {
  // A statement for each lock. Those of one batch differ in the example too, or the leaves of one
  // could be taken for another's.
  static ShapeKey key(const ExtendCommand& c) { return {0, c.statements.size()}; }
  static void become_example(ExtendCommand& c) {
    for (std::size_t i = 0; i < c.statements.size(); ++i) {
      auto& s = c.statements[i];
      s.name = example_name(i);
      s.owner = {kOwner.high, kOwner.low + i};
      s.acquired_at.since_1970_ms = 3'000'000'017 + static_cast<std::int64_t>(i);
      s.lock_id = example_lock_id(i);
      s.lease = kLease + milliseconds(i);
      s.margin = kMargin;
      s.token = FencingToken(5'000'000'000'011 + static_cast<std::int64_t>(i));
    }
  }
  static void add(Parameters& out, const ExtendCommand& c) {
    [[maybe_unused]] const auto& [f1] = c;  // see above
    for (const auto& s : c.statements) {
      [[maybe_unused]] const auto& [g1, g2, g3, g4, g5, g6, g7, g8] = s;  // see above
      out.emplace_back(s.name);
      out.emplace_back(Regex{mongo::pattern_of(s.owner)});
      out.emplace_back(Date{s.acquired_at.since_1970_ms});
      out.emplace_back(s.lock_id);
      out.emplace_back(std::int64_t{(s.lease + s.margin).count()});
      out.emplace_back(std::int64_t{s.token.value()});
    }
  }
};

template <>
struct ShapesOf<ReadHoldersCommand> {
  static ShapeKey key(const ReadHoldersCommand& c) { return {c.until ? 1u : 0u, c.names.size()}; }
  static void become_example(ReadHoldersCommand& c) {
    for (std::size_t i = 0; i < c.names.size(); ++i) c.names[i] = example_name(i);
  }
  static void add(Parameters& out, const ReadHoldersCommand& c) {
    [[maybe_unused]] const auto& [f1, f2] = c;  // see above
    for (const auto& name : c.names) out.emplace_back(name);
  }
};

template <typename Body>
concept HasShape = requires(const Body& body) { ShapesOf<Body>::key(body); };

template <typename Body>
Parameters parameters_of(const Body& body, milliseconds timeout) {
  Parameters out;
  out.reserve(16);
  add_limits(out, timeout);
  ShapesOf<Body>::add(out, body);
  return out;
}

/// A value of the command's bytes, with places for its parameters.
struct Part {
  Value whole = {};                               ///< if there is no place in it
  std::optional<std::size_t> place = {};          ///< it is one
  std::vector<Key> keys = {};                     ///< of a document's parts
  std::vector<Part> parts = {};                   ///< of a document or an array with places in it
  std::shared_ptr<const Program> program = {};    ///< of a pipeline
  bool is_array = false;

  [[nodiscard]] bool is_whole() const { return !place && !program && parts.empty(); }
};

/// How an example's values become a shape's.
class Reader {
 public:
  explicit Reader(const Parameters& of_example) : of_example_(of_example) {}

  /// What has no place in it stays one value, which all commands of the shape share.
  [[nodiscard]] Part read(const Value& value, std::string_view key) const {
    Part out;
    if (const auto* object = value.as<Object>()) {
      for (const auto& [name, field] : object->fields) {
        out.keys.push_back(name);
        out.parts.push_back(read(field, name.text()));
      }
    } else if (const auto* array = value.as<Array>()) {
      out.is_array = true;
      for (const Value& item : array->items) out.parts.push_back(read(item, ""));
      // findAndModify has its pipeline in `update`, a statement of an update command in `u`.
      if (key == "update" || key == "u") {
        out.program = std::make_shared<const Program>(
            *array, [this](const Value& leaf) { return place_of(leaf); });
      }
    } else {
      out.place = place_of(value);
    }
    const bool has_places =
        out.place || out.program || !std::ranges::all_of(out.parts, &Part::is_whole);
    return has_places ? std::move(out) : Part{.whole = value};
  }

 private:
  /// By value, which is why no two of an example are the same. It is done once for each shape.
  [[nodiscard]] std::optional<std::size_t> place_of(const Value& leaf) const {
    const auto found = std::ranges::find(of_example_, leaf);
    if (found == of_example_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - of_example_.begin());
  }

  const Parameters& of_example_;
};

using SharedParameters = std::shared_ptr<const Parameters>;

Value filled(const Part& part, const SharedParameters& parameters, bool compiled);

/// `compiled`: an update is its program and these parameters; else the pipeline as the adapter
/// writes it.
Object filled_object(const Part& part, const SharedParameters& parameters, bool compiled) {
  Object object;
  object.fields.reserve(part.parts.size());
  for (std::size_t i = 0; i < part.parts.size(); ++i) {
    object.fields.emplace_back(part.keys[i], filled(part.parts[i], parameters, compiled));
  }
  return object;
}

Value filled(const Part& part, const SharedParameters& parameters, bool compiled) {
  if (part.is_whole()) return part.whole;
  if (part.place) return (*parameters)[*part.place];
  if (part.program && compiled) return PreparedUpdate{part.program, parameters};
  if (!part.is_array) return filled_object(part, parameters, compiled);
  Array array;
  for (const Part& item : part.parts) array.items.push_back(filled(item, parameters, compiled));
  return array;
}

Object built(const core::Command& command) {
  return to_object(*mongo::build(command, kCollection).get());
}

template <typename Body>
Part shape_of(core::Command example, Body body) {
  ShapesOf<Body>::become_example(body);
  const auto parameters = parameters_of(body, kTimeout);
  // Its own limits follow from it, and are parameters too.
  example.timeout = kTimeout;
  example.body = std::move(body);
  return Reader(parameters).read(built(example), "");
}

/// Nothing: its kind has no shapes, or it is too large.
template <typename Body>
std::optional<Object> by_shape(const core::Command& command, const Body& body, bool compiled) {
  if constexpr (HasShape<Body>) {
    const ShapeKey key = ShapesOf<Body>::key(body);
    if (key.count > kLargestBatch) return std::nullopt;
    // A few for each kind: what differs from plan to plan is a parameter.
    thread_local std::map<ShapeKey, Part> shapes;
    auto found = shapes.find(key);
    if (found == shapes.end()) found = shapes.emplace(key, shape_of(command, body)).first;
    const auto parameters =
        std::make_shared<const Parameters>(parameters_of(body, command.timeout));
    return filled_object(found->second, parameters, compiled);
  } else {
    return std::nullopt;
  }
}

Object read(const core::Command& command, bool compiled) {
  // Kinds without a shape are rare: of the index, the stream, the published locks.
  auto object = std::visit(
      [&](const auto& body) { return by_shape(command, body, compiled); }, command.body);
  return object ? std::move(*object) : built(command);
}

}  // namespace

Object with_pipelines(const core::Command& command) { return read(command, false); }

Object prepared(const core::Command& command, bool compared) {
  if (compared && !(with_pipelines(command) == built(command))) {
    throw std::logic_error("a command's shape is not what the adapter builds");
  }
  return read(command, true);
}

}  // namespace leasehold::sim::simulated
