#include "sim/live/oplog/majority_watch.hpp"

#include <chrono>
#include <utility>

namespace leasehold::sim::live {

namespace {

constexpr std::chrono::milliseconds kEvery{100};
/// A member that is stopped is asked again as soon as it goes on.
constexpr const char* kTimeouts =
    "serverSelectionTimeoutMS=500&connectTimeoutMS=500&socketTimeoutMS=500&appName=majority-watch";

OpTime op_time(const Json& value) {
  return {integer(value.at("t")), packed_timestamp(value.at("ts"))};
}

// Members are asked ten times a second. The asking thread may not run for a while and hear one of
// them first, so one answer shows nothing.
constexpr int kShown = 3;
constexpr int kWithoutPrimary = 6;

}  // namespace

MemberAnswer answer_in(const Json& hello) {
  MemberAnswer answer;
  if (!hello.value("isWritablePrimary", false)) return answer;
  answer.election = hello.at("electionId").value("$oid", "");
  answer.written = op_time(hello.at("lastWrite").at("opTime"));
  answer.committed = op_time(hello.at("lastWrite").at("majorityOpTime"));
  return answer;
}

MajorityWatch::MajorityWatch(const std::vector<std::string>& uris,
                             std::function<std::int64_t()> now_ns)
    : now_ns_(std::move(now_ns)) {
  std::vector<MongoClient> clients;  // before any thread runs: a URI may be a bad one
  for (const auto& uri : uris) clients.emplace_back(with_option(uri, kTimeouts));
  for (auto& client : clients) {
    threads_.emplace_back([this, client = std::move(client)](const std::stop_token& stop) mutable {
      watch(stop, client);
    });
  }
}

MajorityWatch::~MajorityWatch() {
  for (auto& thread : threads_) thread.request_stop();
}

model::History MajorityWatch::events() const {
  const std::lock_guard lock(mutex_);
  model::History all;
  for (const auto& span : commit_point_.spans(now_ns_())) {
    all.push_back(
        {.at_ns = span.to_ns, .kind = model::Kind::no_majority, .from_ns = span.from_ns});
  }
  return all;
}

bool MajorityWatch::follows() const {
  const std::lock_guard lock(mutex_);
  return commit_point_.follows();
}

void MajorityWatch::watch(const std::stop_token& stop, MongoClient& client) {
  while (!stop.stop_requested()) {
    const auto asked = now_ns_();
    try {
      auto answer = answer_in(client.run_once("admin", {{"hello", 1}}));
      answer.asked_ns = asked;
      answer.answered_ns = now_ns_();
      const std::lock_guard lock(mutex_);
      commit_point_.hear(answer);
    } catch (const std::exception&) {
      // A member that does not answer, or not completely, shows nothing; the others do.
    }
    std::this_thread::sleep_for(kEvery);
  }
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
