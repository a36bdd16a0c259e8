#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "sim/live/oplog/oplog.hpp"
#include "sim/live/own_set/user_set.hpp"
#include "sim/live/processes/live_processes.hpp"
#include "sim/live/stores/store.hpp"

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::History;
using model::Kind;
using std::chrono::milliseconds;

constexpr const char* kNotTouched = "not.touched";
/// As servers see it.
constexpr const char* kOplogReader = "oplog-reader";

std::string locks_of(const StoreUse& use) { return use.locks.empty() ? kNotTouched : use.locks; }

/// Measures when a replica set had no majority: asks its members themselves, past all proxies.
/// Thread safety: all but the destructor from any thread.
class MajorityWatch {
 public:
  /// Watches from now on: each of these URIs is of one member, or of the whole set.
  explicit MajorityWatch(const std::vector<std::string>& uris) {
    std::vector<MongoClient> clients;  // before any thread runs: a URI may be a bad one
    for (const auto& uri : uris) clients.emplace_back(with_option(uri, kTimeouts));
    for (auto& one : clients) {
      threads_.emplace_back([this, client = std::move(one)](const std::stop_token& stop) mutable {
        watch(stop, client);
      });
    }
  }
  ~MajorityWatch() {
    for (auto& thread : threads_) thread.request_stop();
  }
  MajorityWatch(const MajorityWatch&) = delete;
  MajorityWatch& operator=(const MajorityWatch&) = delete;

  /// `no-majority` events of all spans so far; of one that is not over, until now.
  [[nodiscard]] History events() const {
    const std::lock_guard lock(mutex_);
    History all;
    for (const auto& span : commit_point_.spans(boot_ns())) {
      all.push_back({.at_ns = span.to_ns, .kind = Kind::no_majority, .from_ns = span.from_ns});
    }
    return all;
  }
  [[nodiscard]] bool follows() const {
    const std::lock_guard lock(mutex_);
    return commit_point_.follows();
  }

 private:
  static constexpr milliseconds kEvery{100};
  /// A member that is stopped is asked again as soon as it goes on.
  static constexpr const char* kTimeouts =
      "serverSelectionTimeoutMS=500&connectTimeoutMS=500&socketTimeoutMS=500"
      "&appName=majority-watch";

  void watch(const std::stop_token& stop, MongoClient& client) {
    while (!stop.stop_requested()) {
      const auto asked = boot_ns();
      try {
        auto answer = answer_in(client.run_once("admin", {{"hello", 1}}));
        answer.asked_ns = asked;
        answer.answered_ns = boot_ns();
        const std::lock_guard lock(mutex_);
        commit_point_.hear(answer);
      } catch (const std::exception&) {
        // A member that does not answer, or not completely, shows nothing; the others do.
      }
      std::this_thread::sleep_for(kEvery);
    }
  }

  mutable std::mutex mutex_;
  CommitPoint commit_point_;  ///< protected by mutex_
  std::vector<std::jthread> threads_;
};

SeenEntry seen_in(const Json& entry) {
  return {packed_timestamp(entry["ts"]), std::hash<std::string>{}(entry.dump())};
}

/// The server's truth: follows the oplog, as far as a majority has it, on a connection of its own.
/// Turns each write to the lock collection and to the fenced resource into an event. For a lock
/// that is not ours it also makes heartbeat writes to the database, which show of each later write
/// that it was made after them.
///
/// Thread safety: `take` from any thread.
class OplogReader {
 public:
  /// Follows the database from now on.
  OplogReader(const std::string& uri, const StoreUse& use)
      : database_(use.database),
        locks_(locks_of(use)),
        resources_at_(database_ + "." + MongoResource::kCollection),
        client_(with_option(
            uri, std::string("socketTimeoutMS=5000&serverSelectionTimeoutMS=5000&appName=") +
                     kOplogReader)) {
    if (use.document) documents_ = DocumentTruth(*use.document);
    first_ = last_ = client_.must("admin", {{"ping", 1}})["operationTime"];
    thread_ = std::jthread([this](const std::stop_token& stop) { follow(stop); });
  }

  /// The events since the last call.
  [[nodiscard]] History take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

  /// Waits until everything that was written before this call has been read. False: it was not
  /// within 30 s.
  [[nodiscard]] bool catch_up() {
    // The round under way may have begun before; the one after the next certainly began after.
    const auto target = rounds_ + 2;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (rounds_ < target && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(kPause);
    }
    return rounds_ >= target;
  }

  /// Ends the following, and reads all entries once more, because what a majority had must still be
  /// there. Returns `reread` events; `take` has what came before.
  [[nodiscard]] History read_again() {
    thread_ = {};
    History out;
    try {
      std::vector<SeenEntry> again;
      for (Json from = first_, batch; !(batch = entries_after(from)).empty();) {
        for (const Json& entry : batch) again.push_back(seen_in(entry));
        from = batch.back()["ts"];
      }
      const auto gone = vanished(seen_, again, oldest_entry());
      out.push_back(reread("kept"));
      out.back().count = static_cast<std::int64_t>(seen_.size() - gone.size());
      for (const auto& entry : gone) {
        out.push_back(reread("vanished"));
        out.back().order = entry.order;
      }
    } catch (const std::exception& error) {
      out.push_back(reread("unread", error.what()));
    }
    return out;
  }

  [[nodiscard]] Event reread(const char* outcome, const std::string& why = "") const {
    return {.at_ns = boot_ns(), .kind = Kind::reread, .outcome = outcome, .message = why};
  }

 private:
  static constexpr milliseconds kPause{50};
  static constexpr int kBatch = 2'000;
  static constexpr int kMarkTimeout_ms = 500;

  std::int64_t oldest_entry() {
    const Json reply = client_.must(
        "local",
        {{"find", "oplog.rs"}, {"sort", {{"$natural", 1}}}, {"limit", 1}, {"singleBatch", true}});
    return packed_timestamp(reply["cursor"]["firstBatch"].at(0)["ts"]);
  }

  void follow(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
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
  void mark() {
    const auto sent = boot_ns();
    const Json add_one{{"q", {{"_id", 0}}}, {"u", {{"$inc", {{"n", 1}}}}}, {"upsert", true}};
    const Json reply = client_.run_once(
        database_, {{"update", "marks"},
                    {"updates", Json::array({add_one})},
                    {"writeConcern", {{"w", "majority"}, {"wtimeout", kMarkTimeout_ms}}}});
    if (confirmed(reply)) marks_[packed_timestamp(reply["operationTime"])] = sent;
  }

  /// 0: there is none.
  [[nodiscard]] std::int64_t marked_before(std::int64_t order) const {
    const auto after = marks_.lower_bound(order);
    return after == marks_.begin() ? 0 : std::prev(after)->second;
  }

  /// Entries of our namespaces after this time, as far as a majority has them.
  Json entries_after(const Json& timestamp) {
    const auto locks_at = database_ + "." + locks_;
    const Json reply = client_.must(
        "local", {{"find", "oplog.rs"},
                  {"filter",
                   {{"ts", {{"$gt", timestamp}}},
                    {"$or", Json::array({{{"ns", {{"$in", {locks_at, resources_at_}}}}},
                                         {{"op", "c"}, {"o.applyOps.ns", locks_at}},
                                         {{"ns", database_ + ".$cmd"}, {"o.drop", locks_}}})}}},
                  {"limit", kBatch},
                  {"batchSize", kBatch},
                  {"singleBatch", true},
                  {"readConcern", {{"level", "majority"}}}});
    return reply["cursor"]["firstBatch"];
  }

  /// Returns whether there may be more.
  bool read_batch() {
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
  void read_entry(const Json& entry, const Json& when) {
    const auto op = text_in(entry, "op"), at = text_in(entry, "ns");
    if (op != "i" && op != "u" && op != "d") return;
    const auto order = packed_timestamp(when["ts"]);
    if (at == database_ + "." + locks_) {
      for (auto& event : documents_.read(entry, when)) {
        event.from_ns = marked_before(order);
        emit(std::move(event));
      }
    }
    if (at == resources_at_) read_resource(entry, order);
  }

  void read_resource(const Json& entry, std::int64_t order) {
    const Json& id = id_in(entry);
    const std::string name = id.is_string() ? id.get<std::string>() : "";
    const Json* document = apply(resources_, entry, name);
    if (document == nullptr || text_in(*document, "owner").empty()) return;
    emit(stored({name, text_in(*document, "process"), text_in(*document, "owner"),
                 integer((*document)["write"]), std::stoll(text_in(*document, "token")),
                 document->value("reads", false)},
                order, 0));
  }

  void emit(Event event) {
    event.at_ns = boot_ns();
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }

  const std::string database_, locks_, resources_at_;
  MongoClient client_;
  Json first_, last_;            ///< timestamps: where reading began, and of the last entry read
  std::vector<SeenEntry> seen_;  ///< of the following thread, while it runs
  DocumentTruth documents_;
  std::map<std::int64_t, std::int64_t> marks_;  ///< times of heartbeat writes, by order
  std::map<std::string, Json> resources_;

  std::mutex mutex_;
  History events_;  ///< protected by mutex_
  std::atomic<std::int64_t> rounds_ = 0;
  std::jthread thread_;  ///< last: it uses the rest
};

/// A replica set, whose oplog has the truth: ours, the user's behind proxies, or one that is left
/// alone.
class MongoStore final : public Store {
 public:
  /// `members`: a URI of each, or of the whole set. At most one of the last two is given.
  MongoStore(const std::string& uri, const std::vector<std::string>& members, const StoreUse& use,
             ReplicaSet* ours, UserSet* theirs)
      : ours_(ours),
        theirs_(theirs),
        proxy_(ours != nullptr ? &ours->proxy() : theirs != nullptr ? &theirs->proxy() : nullptr),
        uri_(uri),
        database_(use.database),
        oplog_(uri, use),
        majority_(members) {
    MongoResource(uri, use.database).create(use.resources);
    if (ours_ == nullptr) return;
    const auto locks = use.database + "." + locks_of(use);
    data_ = data_of(*ours_, use.foreign ? use.database + "." + kNotTouched : locks, locks);
    if (use.first_leads) ours_->step_up(0);
  }

  /// One election timeout to notice that the primary is gone, another for an election that fails.
  std::int64_t fault_echo_ms() const override {
    return ours_ == nullptr ? Store::fault_echo_ms() : 2 * ours_->election_timeout_ms();
  }
  std::optional<ServerControl> control() override {
    if (proxy_ == nullptr) return std::nullopt;
    return ServerControl{*proxy_, ours_, data_.get()};
  }
  std::string uri_for(const std::string& process) override {
    return with_option(uri_, "appName=" + process);
  }
  std::shared_ptr<FencedResource> resource(const std::string& uri) override {
    const auto* const limits = "socketTimeoutMS=3000&serverSelectionTimeoutMS=3000";
    return std::make_shared<MongoResource>(with_option(uri, limits), database_);
  }

  std::vector<std::string> watched_members() override {
    return ours_ == nullptr ? std::vector<std::string>() : ours_->member_uris();
  }
  History exits() override { return ours_ == nullptr ? History() : exits_of(*ours_); }
  void restart_members() override {
    for (int i = 0; ours_ != nullptr && i < ours_->size(); ++i) ours_->restart({i});
  }
  std::set<std::string> past_proxies(const std::vector<std::string>& processes) override {
    if (theirs_ == nullptr) return {};
    return theirs_->past_proxies(processes, kOplogReader);
  }

  History truth() override { return oplog_.take(); }
  History rest_of_truth() override {
    const bool read = oplog_.catch_up();
    auto again = oplog_.read_again();
    auto all = truth();
    if (!read) {
      again.push_back(
          oplog_.reread("unread", "no primary showed its oplog within 30 s of the end"));
    }
    all.insert(all.end(), std::make_move_iterator(again.begin()),
               std::make_move_iterator(again.end()));
    return all;
  }
  bool has_majority() override { return majority_.follows(); }
  History take_spans() override {
    auto spans = majority_.events();
    if (proxy_ == nullptr) return spans;
    for (const auto& one : proxy_->take_slow()) {
      spans.push_back({.at_ns = one.to_ns,
                       .kind = Kind::slow,
                       .process = one.link.peer,
                       .victim = member_name(one.link.member),
                       .from_ns = one.from_ns});
    }
    return spans;
  }

 private:
  ReplicaSet* const ours_;
  UserSet* const theirs_;
  FaultProxy* const proxy_;  ///< null: links are left alone
  const std::string uri_, database_;
  OplogReader oplog_;
  MajorityWatch majority_;
  std::unique_ptr<DataControl> data_;  ///< of ours
};

auto opener(const std::string& uri, const std::vector<std::string>& members, ReplicaSet* ours,
            UserSet* theirs) {
  return [=](const StoreUse& use) {
    return std::make_unique<MongoStore>(uri, members, use, ours, theirs);
  };
}

}  // namespace

StoreAt::StoreAt(ReplicaSet& servers)
    : open(opener(servers.uri(), servers.member_uris(), &servers, nullptr)),
      log_files(servers.log_files()) {}
StoreAt::StoreAt(UserSet& servers)
    : open(opener(servers.uri(), servers.member_uris(), nullptr, &servers)),
      proxy(&servers.proxy()) {}
StoreAt::StoreAt(const std::string& uri) : open(opener(uri, {uri}, nullptr, nullptr)) {}

}  // namespace leasehold::sim::live
