#include "sim/live/oplog/oplog.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::sim::live {

namespace {

constexpr std::size_t kLongestArray = 100'000;  ///< no document of a lock has a larger one

Json* element(Json& array, const std::string& index) {
  const auto i = static_cast<std::size_t>(std::stoul(index));
  if (i >= kLongestArray) throw std::runtime_error("an update has the place " + index);
  while (array.size() <= i) array.push_back(nullptr);
  return &array[i];
}

/// A difference of format 2: `u`, `i` and `d` are fields, `s` and a name is what became of that
/// one. Of an array (`a`) `u` and `s` are followed by a place, and `l` is its new length.
void change(Json& value, const Json& diff) {
  const bool array = diff.contains("a") && value.is_array();
  for (const auto& [key, part] : diff.items()) {
    const auto rest = key.substr(1);
    if (array && key == "l") {
      const auto length = static_cast<std::size_t>(integer(part));
      while (value.size() > length) value.erase(value.size() - 1);
    } else if (array && key.front() == 'u' && !rest.empty()) {
      *element(value, rest) = part;
    } else if (key.front() == 's' && !rest.empty()) {
      change(array ? *element(value, rest) : value[rest], part);
    } else if (key == "u" || key == "i") {
      for (const auto& [name, one] : part.items()) value[name] = one;
    } else if (key == "d") {
      for (const auto& item : part.items()) value.erase(item.key());
    }
  }
}

/// Those of a path like "lock.owner": each is a field, or a place in an array.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts{""};
  for (const char c : path) c == '.' ? parts.emplace_back() : parts.back() += c;
  return parts;
}

/// The value at a path, made with all around it if it is not there.
Json& made(Json& document, const std::string& path) {
  Json* value = &document;
  for (const auto& part : parts_of(path)) {
    value = value->is_array() ? element(*value, part) : &(*value)[part];
  }
  return *value;
}

/// The operators of format 1, which MongoDB before 5.0 writes: values as they are after the update.
void set_and_unset(Json& document, const Json& o) {
  for (const auto& [key, part] : o.items()) {
    if (key == "$set") {
      for (const auto& [path, one] : part.items()) made(document, path) = one;
    } else if (key == "$unset") {
      for (const auto& [path, one] : part.items()) {
        const auto dot = path.rfind('.');
        Json& around = dot == std::string::npos ? document : made(document, path.substr(0, dot));
        const auto last = dot == std::string::npos ? path : path.substr(dot + 1);
        if (around.is_array()) {
          *element(around, last) = nullptr;
        } else {
          around.erase(last);
        }
      }
    } else if (key != "$v") {
      throw std::runtime_error("an update has '" + key +
                               "': of format 1 only $set and $unset are known");
    }
  }
}

/// After an update entry: a difference, operators, or a replacement.
Json updated(Json document, const Json& o) {
  const auto is_operator = [](const auto& item) { return item.key().starts_with('$'); };
  const auto items = o.items();
  if (o.contains("diff")) {
    change(document, o["diff"]);
  } else if (std::ranges::any_of(items, is_operator)) {
    set_and_unset(document, o);
  } else {
    document = o;
  }
  return document;
}

/// Null: there is none.
const Json* at_path(const Json& document, const std::string& path) {
  const Json* value = &document;
  for (const auto& part : parts_of(path)) {
    const auto found = value->find(part);
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return value->is_null() ? nullptr : value;
}

/// ObjectIds, UUIDs and numbers too.
std::string words(const Json* value) {
  if (value == nullptr) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

/// A date, or ms since 1970.
std::int64_t ms_since_1970(const Json* value) {
  if (value == nullptr) return 0;
  return value->is_object() && value->contains("$date") ? date_ms(*value) : integer(*value);
}

/// Ours, or one of a published lock, which has other fields.
LockDocument lock_in(const Json& document) {
  LockDocument lock;
  const auto* const holder = document.contains("LockId") ? "LockId" : "lockId";
  lock.lock_id = text_in(document, holder);
  lock.of_nobody = document.contains("LockId") && document["LockId"].is_null();
  lock.acquired_at_ms = date_ms(document.value("acquiredAt", Json()));
  const auto expires = document.find("expiresAt");
  if (expires != document.end() && expires->contains("$date")) {
    lock.expires_at_ms = date_ms(*expires);
  }
  if (document.contains("fencingToken")) lock.stored_token = integer(document["fencingToken"]);
  return lock;
}

using model::Event;
using model::Kind;

struct Sent {
  std::string lock_id, owner, name;
  std::int64_t order = 0;  ///< the order of its write, if that was acknowledged
  bool unanswered = true;
};

/// The writing commands, as they were sent.
std::vector<Sent> sent_commands(const model::History& history) {
  std::vector<Sent> sent;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> commands;
  for (const Event& e : history) {
    const std::pair command{e.process, e.command};
    if (e.kind == Kind::send && (e.verb == "acquire" || e.verb == "extend")) {
      commands[command] = sent.size();
      sent.push_back({e.lock_id, e.owner, e.name});
    } else if (e.kind == Kind::reply && commands.contains(command)) {
      Sent& one = sent.at(commands.at(command));
      one.unanswered = e.outcome == "unknown";
      if (e.outcome == "done" && e.matched > 0) one.order = e.order;
    }
  }
  return sent;
}

OpTime op_time(const Json& value) {
  return {integer(value.at("t")), packed_timestamp(value.at("ts"))};
}

// Members are asked ten times a second. The asking thread may not run for a while and hear one of
// them first, so one answer shows nothing.
constexpr int kShown = 3;
constexpr int kWithoutPrimary = 6;

}  // namespace

std::vector<SeenEntry> vanished(const std::vector<SeenEntry>& seen,
                                const std::vector<SeenEntry>& again, std::int64_t oldest) {
  std::vector<SeenEntry> gone;
  for (const auto& entry : seen) {
    if (entry.order < oldest) continue;  // older entries may have left the oplog
    const auto same_time = std::ranges::lower_bound(again, entry.order, {}, &SeenEntry::order);
    if (same_time == again.end() || *same_time != entry) gone.push_back(entry);
  }
  return gone;
}

std::string text_in(const Json& document, const char* key) {
  return document.contains(key) && document[key].is_string() ? document[key].get<std::string>()
                                                             : "";
}

const Json& id_in(const Json& entry) {
  return (entry.contains("o2") ? entry.at("o2") : entry.at("o")).at("_id");
}

const Json* apply(std::map<std::string, Json>& documents, const Json& entry,
                  const std::string& key) {
  const auto op = text_in(entry, "op");
  if (op == "d") {
    documents.erase(key);
    return nullptr;
  }
  Json& document = documents[key];
  document = op == "i" ? entry["o"] : updated(document, entry["o"]);
  return &document;
}

DocumentTruth::Seen DocumentTruth::seen_in(const Json& document, std::int64_t wall_ms) const {
  Seen seen{words(at_path(document, mapping_->id)), words(at_path(document, mapping_->owner))};
  if (of_lock_ids_) seen.owner = model::owner_of(LockTruth::holder_in(seen.owner));
  seen.held = !seen.owner.empty();
  const Json* expires = mapping_->expires.empty() ? nullptr : at_path(document, mapping_->expires);
  if (expires == nullptr) return seen;
  seen.expires_at_ms = ms_since_1970(expires);
  if (seen.expires_at_ms <= wall_ms) seen.held = false;
  return seen;
}

model::History DocumentTruth::read(const Json& entry, const Json& when) {
  const Json& id = id_in(entry);
  const auto key = id.dump();
  const auto known = documents_.find(key);
  const Json before = known == documents_.end() ? Json{{"_id", id}} : known->second;
  if (apply(documents_, entry, key) == nullptr) return became(key, before, true, when);
  Json& document = documents_[key];
  // The first entry of a document may be a change of it.
  if (!document.contains("_id")) document["_id"] = id;
  return became(key, document, false, when);
}

/// Ours is named by the document's `_id`, or by `resourceId` ("insert-unique").
model::History DocumentTruth::became(const std::string& key, const Json& known, bool gone,
                                     const Json& when) {
  const auto order = packed_timestamp(when.at("ts"));
  if (!mapping_) {
    const auto name = text_in(known, known.contains("resourceId") ? "resourceId" : "_id");
    const auto lock = lock_in(known);
    return truth_.written(key, name, gone ? nullptr : &lock, order);
  }
  const auto wall_ms = when.contains("wall") ? date_ms(when["wall"]) : 0;
  const Seen now = gone ? Seen{} : seen_in(known, wall_ms);
  const Seen before = std::exchange(seen_[key], now);
  const bool same = now.owner == before.owner && now.expires_at_ms == before.expires_at_ms;
  if (now.held == before.held && (same || !now.held)) return {};
  model::Event e;
  e.kind = now.held ? model::Kind::put : model::Kind::gone;
  e.name = gone ? before.name : now.name;
  e.owner = now.owner;
  e.order = order;
  e.wall_ms = wall_ms;
  if (now.held) e.expires_at_ms = now.expires_at_ms;
  return {std::move(e)};
}

model::History DocumentTruth::drop(const Json& when) {
  model::History all;
  for (const auto& [key, document] : std::exchange(documents_, {})) {
    const auto events = became(key, document, true, when);
    all.insert(all.end(), events.begin(), events.end());
  }
  return all;
}

void attribute_writes(model::History& history) {
  auto sent = sent_commands(history);
  std::vector<Event*> puts;
  for (Event& e : history) {
    if (e.kind == Kind::put) puts.push_back(&e);
  }
  std::ranges::sort(puts, {}, &Event::order);
  for (Event* put : puts) {
    const auto may_be = [put](const Sent& s) {
      return put->lock_id.empty() ? s.name == put->name : s.owner == put->lock_id;
    };
    auto found = std::ranges::find_if(
        sent, [&](const Sent& s) { return may_be(s) && s.order == put->order; });
    if (found == sent.end()) {
      found = std::ranges::find_if(sent, [&](const Sent& s) { return may_be(s) && s.unanswered; });
    }
    if (found == sent.end()) continue;
    found->unanswered = false;
    put->lock_id = found->lock_id;
  }
}

MemberAnswer answer_in(const Json& hello) {
  MemberAnswer answer;
  if (!hello.value("isWritablePrimary", false)) return answer;
  answer.election = hello.at("electionId").value("$oid", "");
  answer.written = op_time(hello.at("lastWrite").at("opTime"));
  answer.committed = op_time(hello.at("lastWrite").at("majorityOpTime"));
  return answer;
}

bool CommitPoint::proven() const { return shown_ >= kShown || without_primary_ >= kWithoutPrimary; }

void CommitPoint::hear(const MemberAnswer& answer) {
  if (!answer.election.empty() && answer.election >= election_) return hear_primary(answer);
  if (!election_.empty()) ++without_primary_;
}

void CommitPoint::hear_primary(const MemberAnswer& answer) {
  if (wanted_ && answer.committed < *wanted_) {
    // No member was primary, or its writes had no majority: one span.
    shown_ = proven() ? kShown : shown_ + 1;
  } else {
    if (proven()) over_.push_back({since_ns_, answer.answered_ns});
    shown_ = 0;
    since_ns_ = answer.asked_ns;
    wanted_.reset();
    if (answer.committed < answer.written) wanted_ = answer.written;
  }
  election_ = answer.election;
  without_primary_ = 0;
}

std::vector<CommitPoint::Span> CommitPoint::spans(std::int64_t now_ns) const {
  auto all = over_;
  if (proven()) all.push_back({since_ns_, now_ns});
  return all;
}

}  // namespace leasehold::sim::live
