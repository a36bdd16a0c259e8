#include "sim/live/oplog/oplog.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace leasehold::sim::live {

namespace {

constexpr std::chrono::milliseconds kPause{50};
constexpr int kBatch = 2'000;
constexpr int kMarkTimeout_ms = 500;

std::string name_of(const Json& entry) {
  const Json& id = id_in(entry);
  return id.is_string() ? id.get<std::string>() : "";
}

SeenEntry seen_in(const Json& entry) {
  return {packed_timestamp(entry["ts"]), std::hash<std::string>{}(entry.dump())};
}

model::Event reread_event(std::int64_t at_ns, const char* outcome) {
  return {.at_ns = at_ns, .kind = model::Kind::reread, .outcome = outcome};
}

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

/// The value at a path, made with all around it if it is not there. Each part of the path is a
/// field, or a place in an array.
Json& made(Json& document, const std::string& path) {
  Json* value = &document;
  for (std::size_t from = 0; from <= path.size();) {
    const auto dot = std::min(path.find('.', from), path.size());
    const auto part = path.substr(from, dot - from);
    value = value->is_array() ? element(*value, part) : &(*value)[part];
    from = dot + 1;
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
  } else if (std::any_of(items.begin(), items.end(), is_operator)) {
    set_and_unset(document, o);
  } else {
    document = o;
  }
  return document;
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

}  // namespace

std::vector<SeenEntry> vanished(const std::vector<SeenEntry>& seen,
                                const std::vector<SeenEntry>& again, std::int64_t oldest) {
  std::vector<SeenEntry> gone;
  for (const auto& entry : seen) {
    if (entry.order < oldest) continue;  // older entries may have left the oplog
    const auto same_time =
        std::lower_bound(again.begin(), again.end(), entry.order,
                         [](const SeenEntry& e, std::int64_t order) { return e.order < order; });
    if (same_time == again.end() || *same_time != entry) gone.push_back(entry);
  }
  return gone;
}

OplogReader::OplogReader(Source source, std::function<std::int64_t()> now_ns)
    : database_(std::move(source.database)),
      lock_namespace_(database_ + "." + source.lock_collection),
      resource_namespace_(database_ + "." + source.resource_collection),
      now_ns_(std::move(now_ns)),
      client_(
          with_option(source.uri,
                      std::string("socketTimeoutMS=5000&serverSelectionTimeoutMS=5000&appName=") +
                          kClientName)),
      documents_(std::move(source.documents)) {
  first_ = last_ = client_.must("admin", {{"ping", 1}})["operationTime"];
  thread_ = std::thread([this] { follow(); });
}

OplogReader::~OplogReader() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

model::History OplogReader::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

bool OplogReader::catch_up() {
  // The round under way may have begun before; the one after the next certainly began after.
  const auto target = rounds_ + 2;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (rounds_ < target && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(kPause);
  }
  return rounds_ >= target;
}

model::History OplogReader::read_again() {
  stopped_ = true;
  thread_.join();
  model::History out;
  try {
    std::vector<SeenEntry> again;
    for (Json from = first_, batch; !(batch = entries_after(from)).empty();) {
      for (const Json& entry : batch) again.push_back(seen_in(entry));
      from = batch.back()["ts"];
    }
    const auto gone = vanished(seen_, again, oldest_entry());
    out.push_back(reread_event(now_ns_(), "kept"));
    out.back().count = static_cast<std::int64_t>(seen_.size() - gone.size());
    for (const auto& entry : gone) {
      out.push_back(reread_event(now_ns_(), "vanished"));
      out.back().order = entry.order;
    }
  } catch (const std::exception& error) {
    out.push_back(reread_event(now_ns_(), "unread"));
    out.back().message = error.what();
  }
  return out;
}

std::int64_t OplogReader::oldest_entry() {
  const Json reply = client_.must(
      "local",
      {{"find", "oplog.rs"}, {"sort", {{"$natural", 1}}}, {"limit", 1}, {"singleBatch", true}});
  return packed_timestamp(reply["cursor"]["firstBatch"].at(0)["ts"]);
}

void OplogReader::follow() {
  while (!stopped_) {
    try {
      if (documents_.of_another_lock()) mark();
      while (read_batch()) {
      }
      ++rounds_;
    } catch (const std::exception&) {
      // There is no primary at the moment; what was not read is still there.
    }
    std::this_thread::sleep_for(kPause);
  }
}

/// All later entries in the oplog were written after it was sent, because a majority has it.
void OplogReader::mark() {
  const auto sent = now_ns_();
  const Json reply = client_.run_once(
      database_,
      {{"update", "marks"},
       {"updates",
        Json::array({{{"q", {{"_id", 0}}}, {"u", {{"$inc", {{"n", 1}}}}}, {"upsert", true}}})},
       {"writeConcern", {{"w", "majority"}, {"wtimeout", kMarkTimeout_ms}}}});
  if (integer(reply["ok"]) != 1 || reply.contains("writeConcernError") ||
      reply.contains("writeErrors")) {
    return;
  }
  marks_[packed_timestamp(reply["operationTime"])] = sent;
}

/// 0: there is none.
std::int64_t OplogReader::marked_before(std::int64_t order) const {
  const auto after = marks_.lower_bound(order);
  return after == marks_.begin() ? 0 : std::prev(after)->second;
}

Json OplogReader::entries_after(const Json& timestamp) {
  const auto collection = lock_namespace_.substr(database_.size() + 1);
  const Json reply = client_.must(
      "local", {{"find", "oplog.rs"},
                {"filter",
                 {{"ts", {{"$gt", timestamp}}},
                  {"$or", Json::array({{{"ns", {{"$in", {lock_namespace_, resource_namespace_}}}}},
                                       {{"op", "c"}, {"o.applyOps.ns", lock_namespace_}},
                                       {{"ns", database_ + ".$cmd"}, {"o.drop", collection}}})}}},
                {"limit", kBatch},
                {"batchSize", kBatch},
                {"singleBatch", true},
                {"readConcern", {{"level", "majority"}}}});
  return reply["cursor"]["firstBatch"];
}

/// Returns whether there may be more.
bool OplogReader::read_batch() {
  const Json batch = entries_after(last_);
  for (const Json& entry : batch) {
    if (entry["o"].contains("drop")) {
      for (auto& event : documents_.drop(entry)) emit(std::move(event));
    } else if (text_in(entry, "op") == "c") {
      for (const Json& inner : entry["o"]["applyOps"]) read_entry(inner, entry);
    } else {
      read_entry(entry, entry);
    }
    seen_.push_back(seen_in(entry));
    last_ = entry["ts"];
  }
  return static_cast<int>(batch.size()) == kBatch;
}

/// `when` has its time: itself, or its transaction.
void OplogReader::read_entry(const Json& entry, const Json& when) {
  const auto op = text_in(entry, "op");
  if (op != "i" && op != "u" && op != "d") return;
  const auto order = packed_timestamp(when["ts"]);
  if (text_in(entry, "ns") == lock_namespace_) {
    for (auto& event : documents_.read(entry, when)) {
      event.from_ns = marked_before(order);
      emit(std::move(event));
    }
  }
  if (text_in(entry, "ns") == resource_namespace_) read_resource(entry, order);
}

void OplogReader::read_resource(const Json& entry, std::int64_t order) {
  model::Event event;
  event.kind = model::Kind::stored;
  event.name = name_of(entry);
  event.order = order;
  const Json* document = apply(resources_, entry, event.name);
  if (document == nullptr || text_in(*document, "owner").empty()) return;
  event.owner = text_in(*document, "owner");
  event.process = text_in(*document, "process");
  event.write_number = integer((*document)["write"]);
  event.token = std::stoll(text_in(*document, "token"));
  emit(std::move(event));
}

void OplogReader::emit(model::Event event) {
  event.at_ns = now_ns_();
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
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

void attribute_writes(model::History& history) {
  auto sent = sent_commands(history);
  std::vector<Event*> puts;
  for (Event& e : history) {
    if (e.kind == Kind::put) puts.push_back(&e);
  }
  std::sort(puts.begin(), puts.end(),
            [](const Event* a, const Event* b) { return a->order < b->order; });
  for (Event* put : puts) {
    const auto may_be = [put](const Sent& s) {
      return put->lock_id.empty() ? s.name == put->name : s.owner == put->lock_id;
    };
    auto found = std::find_if(sent.begin(), sent.end(),
                              [&](const Sent& s) { return may_be(s) && s.order == put->order; });
    if (found == sent.end()) {
      found = std::find_if(sent.begin(), sent.end(),
                           [&](const Sent& s) { return may_be(s) && s.unanswered; });
    }
    if (found == sent.end()) continue;
    found->unanswered = false;
    put->lock_id = found->lock_id;
  }
}

}  // namespace leasehold::sim::live
