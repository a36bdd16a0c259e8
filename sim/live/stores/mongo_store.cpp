#include <utility>

#include "sim/live/oplog/majority_watch.hpp"
#include "sim/live/oplog/oplog.hpp"
#include "sim/live/own_set/user_set.hpp"
#include "sim/live/processes/live_processes.hpp"
#include "sim/live/servers/real_data.hpp"
#include "sim/live/stores/store.hpp"

namespace leasehold::sim::live {
namespace {

using model::History;
using model::Kind;

constexpr const char* kNotTouched = "not.touched";

std::string locks_of(const StoreUse& use) { return use.locks.empty() ? kNotTouched : use.locks; }

FaultyCollections hit_by_faults(const StoreUse& use) {
  const auto locks = use.database + "." + locks_of(use);
  return {use.foreign ? use.database + "." + kNotTouched : locks, locks};
}

OplogReader::Source source_of(const std::string& uri, const StoreUse& use) {
  OplogReader::Source source{uri, use.database, locks_of(use), MongoResource::kCollection};
  if (use.document) source.documents = DocumentTruth(*use.document);
  return source;
}

/// A replica set, whose oplog has the truth. Without more it is left alone.
class MongoStore : public Store {
 public:
  /// `members`: a URI of each, or of the whole set. `proxy`: before its members, if there is one.
  MongoStore(const std::string& uri, const std::vector<std::string>& members, const StoreUse& use,
             FaultProxy* proxy = nullptr)
      : now_ns_(use.now_ns),
        proxy_(proxy),
        uri_(uri),
        database_(use.database),
        oplog_(source_of(uri, use), use.now_ns),
        majority_(members, use.now_ns) {
    MongoResource(uri, use.database).create(use.resources);
  }

  std::string uri_for(const std::string& process) override {
    return with_option(uri_, "appName=" + process);
  }

  std::shared_ptr<FencedResource> resource(const std::string& uri) override {
    const auto* const limits = "socketTimeoutMS=3000&serverSelectionTimeoutMS=3000";
    return std::make_shared<MongoResource>(with_option(uri, limits), database_);
  }

  History truth() override { return oplog_.take(); }

  History rest_of_truth() override {
    const bool read = oplog_.catch_up();
    auto again = oplog_.read_again();
    auto all = truth();
    if (!read) {
      again.push_back({.at_ns = now_ns_(),
                       .kind = Kind::reread,
                       .outcome = "unread",
                       .message = "no primary showed its oplog within 30 s of the end"});
    }
    all.insert(all.end(), std::make_move_iterator(again.begin()),
               std::make_move_iterator(again.end()));
    return all;
  }

  bool has_majority() override { return majority_.follows(); }
  History take_spans() override {
    auto spans = majority_.events();
    const auto slow = proxy_ == nullptr ? std::vector<SlowAnswer>() : proxy_->take_slow();
    for (const auto& one : slow) {
      spans.push_back({.at_ns = one.to_ns,
                       .kind = Kind::slow,
                       .process = one.link.peer,
                       .victim = member_name(one.link.member),
                       .from_ns = one.from_ns});
    }
    return spans;
  }

 protected:
  [[nodiscard]] std::int64_t now_ns() const { return now_ns_(); }

 private:
  const std::function<std::int64_t()> now_ns_;
  FaultProxy* const proxy_;
  const std::string uri_, database_;
  OplogReader oplog_;
  MajorityWatch majority_;
};

std::vector<std::string> uris_of(ReplicaSet& servers) {
  std::vector<std::string> uris;
  for (int i = 0; i < servers.size(); ++i) uris.push_back(direct_uri(servers.mongod(i).port()));
  return uris;
}

class OwnStore final : public MongoStore {
 public:
  OwnStore(ReplicaSet& servers, const StoreUse& use)
      : MongoStore(servers.uri(), uris_of(servers), use, &servers.proxy()),
        servers_(servers),
        data_(servers, hit_by_faults(use)) {
    if (use.first_leads) servers.step_up(0);
  }

  /// One election timeout to notice that the primary is gone, another for an election that fails.
  std::int64_t fault_echo_ms() const override { return 2 * servers_.election_timeout_ms(); }
  std::optional<ServerControl> control() override {
    return ServerControl{servers_, &servers_, &data_};
  }

  std::vector<StallWatch::Member> watched_members() override {
    std::vector<StallWatch::Member> members;
    for (int i = 0; i < servers_.size(); ++i) {
      members.push_back({member_name(i), servers_.mongod(i).port()});
    }
    return members;
  }

  History exits() override {
    History all;
    for (int i = 0; i < servers_.size(); ++i) {
      Mongod& member = servers_.mongod(i);
      if (!member.died()) continue;
      all.push_back(exit_of_member(now_ns(), i, member.exit_status(), member.log_file()));
    }
    return all;
  }

  void restart_members() override {
    for (int i = 0; i < servers_.size(); ++i) servers_.restart({i});
  }

 private:
  ReplicaSet& servers_;
  RealData data_;
};

std::vector<std::string> uris_of(UserSet& servers) {
  std::vector<std::string> uris;
  for (int i = 0; i < servers.size(); ++i) uris.push_back(servers.member_uri(i));
  return uris;
}

class UsersStore final : public MongoStore {
 public:
  UsersStore(UserSet& servers, const StoreUse& use)
      : MongoStore(servers.uri(), uris_of(servers), use, &servers.proxy()), servers_(servers) {}

  std::optional<ServerControl> control() override {
    return ServerControl{servers_, nullptr, nullptr};
  }
  std::set<std::string> past_proxies(const std::vector<std::string>& processes) override {
    return servers_.past_proxies(processes, OplogReader::kClientName);
  }

 private:
  UserSet& servers_;
};

}  // namespace

StoreAt::StoreAt(ReplicaSet& servers)
    : uri(servers.uri()), open([&servers](const StoreUse& use) {
        return std::make_unique<OwnStore>(servers, use);
      }) {}

StoreAt::StoreAt(UserSet& servers)
    : uri(servers.uri()), open([&servers](const StoreUse& use) {
        return std::make_unique<UsersStore>(servers, use);
      }) {}

StoreAt::StoreAt(std::string mongodb_uri)
    : uri(std::move(mongodb_uri)), open([at = uri](const StoreUse& use) {
        return std::make_unique<MongoStore>(at, std::vector{at}, use);
      }) {}

}  // namespace leasehold::sim::live
