#include "sim/live/oplog.hpp"

#include <algorithm>
#include <chrono>

namespace leasehold::sim::live {
namespace {

constexpr std::chrono::milliseconds kPause{50};
constexpr int kBatch = 2'000;

/// The document after an update entry: a replacement, or a flat diff of format 2.
Json updated(Json document, const Json& change) {
  if (!change.contains("diff")) return change;
  const Json& diff = change["diff"];
  for (const char* part : {"u", "i"}) {
    if (!diff.contains(part)) continue;
    for (const auto& [key, value] : diff[part].items()) document[key] = value;
  }
  if (diff.contains("d")) {
    for (const auto& [key, value] : diff["d"].items()) document.erase(key);
  }
  return document;
}

std::string text(const Json& document, const char* key) {
  return document.contains(key) && document[key].is_string() ? document[key].get<std::string>()
                                                             : "";
}

const Json k1970{{"$date", "1970-01-01T00:00:00Z"}};

const char* lock_id_field(const Json& document) {
  return document.contains("LockId") ? "LockId" : "lockId";
}

/// Of a document of ours; those of the published locks have other fields.
void add_dates(model::Event& put, const Json& document) {
  if (document.contains("acquiredAt")) put.acquired_at_ms = mongo::date_ms(document["acquiredAt"]);
  if (document.contains("expiresAt")) put.expires_at_ms = mongo::date_ms(document["expiresAt"]);
  if (document.contains("fencingToken")) put.stored_token = integer(document["fencingToken"]);
}

/// The document that an entry leaves in `documents`, or null if it deletes it.
const Json* apply(std::map<std::string, Json>& documents, const Json& entry,
                  const std::string& name) {
  const auto op = text(entry, "op");
  if (op == "d") {
    documents.erase(name);
    return nullptr;
  }
  Json& document = documents[name];
  document = op == "i" ? entry["o"] : updated(document, entry["o"]);
  return &document;
}

std::string name_of(const Json& entry) {
  return text(entry.contains("o2") ? entry["o2"] : entry["o"], "_id");
}

SeenEntry seen_in(const Json& entry) {
  return {packed_timestamp(entry["ts"]), std::hash<std::string>{}(entry.dump())};
}

model::Event reread_event(std::int64_t at_ns, const char* outcome) {
  model::Event e;
  e.at_ns = at_ns;
  e.kind = model::Kind::reread;
  e.outcome = outcome;
  return e;
}

}  // namespace

std::vector<SeenEntry> vanished(const std::vector<SeenEntry>& seen,
                                const std::vector<SeenEntry>& again, std::int64_t oldest) {
  std::vector<SeenEntry> gone;
  for (const auto& entry : seen) {
    if (entry.order < oldest) continue;  // the oplog keeps so much and no more
    const auto same_time =
        std::lower_bound(again.begin(), again.end(), entry.order,
                         [](const SeenEntry& e, std::int64_t order) { return e.order < order; });
    if (same_time == again.end() || *same_time != entry) gone.push_back(entry);
  }
  return gone;
}

OplogReader::OplogReader(const std::string& uri, std::string database, std::string lock_collection,
                         std::string resource_collection, std::function<std::int64_t()> now_ns)
    : database_(std::move(database)),
      lock_namespace_(database_ + "." + lock_collection),
      resource_namespace_(database_ + "." + resource_collection),
      now_ns_(std::move(now_ns)),
      client_(with_option(
          uri, "socketTimeoutMS=5000&serverSelectionTimeoutMS=5000&appName=oplog-reader")) {
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
  // The round under way may have begun before; the next but one has certainly begun after.
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
      while (read_batch()) {
      }
      ++rounds_;
    } catch (const std::exception&) {
      // No primary for the moment; what was not read is still there.
    }
    std::this_thread::sleep_for(kPause);
  }
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

/// Whether there may be more.
bool OplogReader::read_batch() {
  const Json batch = entries_after(last_);
  for (const Json& entry : batch) {
    const Json& timestamp = entry["ts"];
    if (entry["o"].contains("drop")) {
      read_drop(timestamp);
    } else if (text(entry, "op") == "c") {
      for (const Json& inner : entry["o"]["applyOps"]) read_entry(inner, timestamp);
    } else {
      read_entry(entry, timestamp);
    }
    seen_.push_back(seen_in(entry));
    last_ = timestamp;
  }
  return static_cast<int>(batch.size()) == kBatch;
}

void OplogReader::read_entry(const Json& entry, const Json& timestamp) {
  const auto op = text(entry, "op");
  if (op != "i" && op != "u" && op != "d") return;
  const auto order = packed_timestamp(timestamp);
  if (text(entry, "ns") == lock_namespace_) read_lock(entry, order);
  if (text(entry, "ns") == resource_namespace_) read_resource(entry, order);
}

LockTruth::Became OplogReader::became_of(const std::string& id, const Json* document) {
  if (document == nullptr) return truth_.deleted(id);
  if (document->contains("LockId") && (*document)["LockId"].is_null()) {
    return LockTruth::Became::free;
  }
  const bool free = document->contains("expiresAt") && (*document)["expiresAt"] == k1970;
  return truth_.written(id, text(*document, lock_id_field(*document)), free);
}

/// A lock is named by the document's `_id`, or by `resourceId` ("insert-unique"). An entity whose
/// LockId is null is free ("document-level").
void OplogReader::read_lock(const Json& entry, std::int64_t order) {
  model::Event event;
  event.order = order;
  const auto id = (entry.contains("o2") ? entry["o2"] : entry["o"])["_id"].dump();
  const Json before = locks_.contains(id) ? locks_[id] : Json();
  const Json* document = apply(locks_, entry, id);
  const Json& known = document == nullptr ? before : *document;
  event.name = known.contains("resourceId") ? text(known, "resourceId") : name_of(entry);
  const auto became = became_of(id, document);
  if (became == LockTruth::Became::nothing) return;
  const bool held = became == LockTruth::Became::held;
  event.kind = held ? model::Kind::put : model::Kind::gone;
  if (held) {
    event.lock_id = LockTruth::holder_in(text(*document, lock_id_field(*document)));
    add_dates(event, *document);
  }
  emit(std::move(event));
}

/// All that was there is gone.
void OplogReader::read_drop(const Json& timestamp) {
  for (const auto& [id, document] : std::exchange(locks_, {})) {
    const Json deletion{{"op", "d"}, {"o", {{"_id", document["_id"]}}}};
    locks_[id] = document;
    read_lock(deletion, packed_timestamp(timestamp));
  }
}

void OplogReader::read_resource(const Json& entry, std::int64_t order) {
  model::Event event;
  event.kind = model::Kind::stored;
  event.name = name_of(entry);
  event.order = order;
  const Json* document = apply(resources_, entry, event.name);
  if (document == nullptr || text(*document, "owner").empty()) return;
  event.owner = text(*document, "owner");
  event.process = text(*document, "process");
  event.write_number = integer((*document)["write"]);
  event.token = std::stoll(text(*document, "token"));
  emit(std::move(event));
}

void OplogReader::emit(model::Event event) {
  event.at_ns = now_ns_();
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

}  // namespace leasehold::sim::live
