#include "properties/fidelity/server_comparison.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/document/lock_queue.hpp"
#include "mongo/replies.hpp"
#include "sim/live/proxy/wire_message.hpp"
#include "sim/live/servers/replica_set.hpp"
#include "sim/virtual/cluster.hpp"

namespace leasehold::properties {
namespace {

using namespace sim::simulated;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// Masks what no reader of a reply uses, and what names objects of this run. Error labels are
/// masked because the adapter goes by codes.
bool is_masked(const std::string& key) {
  static const std::set<std::string> masked{
      "operationTime", "$clusterTime", "electionId", "opTime", "codeName", "errmsg", "errInfo",
      "ns", "keyValue", "numYields", "postBatchResumeToken", "numIndexesBefore",
      "numIndexesAfter", "createdCollectionAutomatically", "commitQuorum", "topologyVersion",
      "note", "errorLabels"};
  return masked.contains(key);
}

/// The times in a lock's queue are dates too.
std::string without_times(std::string text) {
  for (auto mark = text.find(core::kQueueMark); mark != std::string::npos;
       mark = text.find(core::kQueueMark, mark + 1)) {
    text.replace(mark + 1, core::kUntilDigits, "until");
  }
  return text;
}

std::string render(const std::string& key, const Value& value);

std::string render(const Object& object) {
  std::vector<std::string> fields;
  for (const auto& [key, value] : object.fields) {
    const auto* inner = value.as<Object>();
    const bool resume_token = inner != nullptr && inner->find("_data") != nullptr;
    if (!is_masked(key) && !resume_token) fields.push_back(key.text() + ':' + render(key, value));
  }
  std::sort(fields.begin(), fields.end());
  std::string text;
  for (const auto& field : fields) text += (text.empty() ? "" : " ") + field;
  return '{' + text + '}';
}

std::string render(const std::string& key, const Value& value) {
  if (key == "fencingToken") return value.type_name();
  if (key == "id" && value.is<std::int64_t>()) return value.integer() == 0 ? "0" : "cursor";
  if (value.is<Date>() || value.is<Timestamp>()) return value.type_name();
  if (key.starts_with("cursors")) return std::to_string(value.as<Array>()->items.size());
  if (const auto* object = value.as<Object>()) return render(*object);
  if (const auto* text = value.as<std::string>()) return without_times(*text);
  if (const auto* flag = value.as<bool>()) return *flag ? "true" : "false";
  if (const auto* real = value.as<double>()) return std::to_string(static_cast<long long>(*real));
  if (value.is_number()) return std::to_string(value.integer());
  const auto* array = value.as<Array>();
  if (array == nullptr) return value.type_name();
  std::string text;
  for (const Value& item : array->items) text += (text.empty() ? "" : " ") + render("", item);
  return '[' + text + ']';
}

const char* render(core::Outcome outcome) {
  constexpr const char* kNames[] = {"done", "unknown", "failed before", "duplicate key",
                                    "configuration"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string render(const Request& request, const Answer& answer) {
  if (answer.kind == Answer::Kind::silent) return "nothing comes";
  if (answer.kind == Answer::Kind::broken) return "the connection ends";
  std::string text;
  if (request.command) {
    const auto read = mongo::read_reply(*request.command, *Bytes(answer.reply).get());
    text = std::string(render(read.outcome)) + (read.retried ? ", retried: " : ": ");
  }
  return text + render(answer.reply);
}

}  // namespace

Call ComparedSet::send(int member, const Request& request) {
  requests_.push_back(request);
  return send_bytes(member, request.bytes);
}

Answer ComparedSet::note(const std::string& label, Call call, std::int64_t limit_ms) {
  Answer answer = await(call, limit_ms);
  lines_.push_back({label, render(requests_.at(call), answer)});
  times_.resize(lines_.size());
  const Value* time = answer.reply.find("operationTime");
  // A stream's reply is of the time up to which a majority has everything, as far as the server has
  // heard by then; no client reads it.
  // No client reads when an index was made, either: the simulated set's oplog has no such entry.
  const std::string& name = requests_.at(call).bytes.fields.at(0).first;
  const bool read = name != "aggregate" && name != "getMore" && name != "createIndexes";
  if (time != nullptr && compares_times_ && read) times_.back() = *time->as<Timestamp>();
  return answer;
}

Answer ComparedSet::ask(const std::string& label, int member, const Request& request) {
  return note(label, send(member, request));
}

std::vector<Seen> ComparedSet::lines() const {
  std::set<Timestamp> ranks;
  for (const auto& time : times_) {
    if (time) ranks.insert(*time);
  }
  auto lines = lines_;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (!times_[i]) continue;
    const auto rank = std::distance(ranks.begin(), ranks.find(*times_[i]));
    lines[i].text += " at T" + std::to_string(rank);
  }
  return lines;
}

void ComparedSet::isolate(int member, bool on) {
  const sim::LinkRule rule{.hold_requests = on, .hold_replies = on};
  auto& links = control().links;
  for (int other = 0; other < links.size(); ++other) {
    if (other == member) continue;
    for (const char* what : {"/beat", "/sync"}) {
      for (const auto& [from, to] : {std::pair(member, other), std::pair(other, member)}) {
        const sim::Link link{sim::member_name(from) + what, to};
        // What waited is lost.
        if (!on) links.reset_link(link);
        links.set_link_rule(link, rule);
      }
    }
  }
}

void ComparedSet::wait_until(const std::function<bool()>& is_so) {
  const auto over_ms = true_ms() + 30'000;
  while (!is_so()) {
    if (true_ms() > over_ms) throw std::runtime_error("no member became primary");
    pass(10);
  }
}

void ComparedSet::step_up(int member) {
  wait_until([&] {
    (void)members().step_up(member, milliseconds(1'000));
    return members().is_primary(member);
  });
}

int ComparedSet::primary() {
  wait_until([this] { return members().primary_now() >= 0; });
  return members().primary_now();
}

namespace {

constexpr const char* kDatabase = "comparison";
constexpr std::size_t kBeforeBody = 21;

/// A connection that sends one command as an OP_MSG and reads one reply. It is no driver, because a
/// driver's additions (sessions, read preferences, retries) are not compared here.
class Wire {
 public:
  explicit Wire(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = sim::live::loopback_address(port);
    broken_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0;
  }
  Wire(Wire&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), broken_(other.broken_), read_(other.read_) {}
  Wire& operator=(Wire&&) = delete;
  ~Wire() { hang_up(); }

  void send(const Object& command) {
    const Bytes bytes(command);
    const bson_t* body = bytes.get();
    const auto length = static_cast<std::int32_t>(kBeforeBody + body->len);
    std::string message(kBeforeBody, '\0');
    std::memcpy(message.data(), &length, sizeof length);
    std::memcpy(message.data() + 12, &sim::live::op_code::msg, sizeof(std::int32_t));
    message.append(reinterpret_cast<const char*>(bson_get_data(body)), body->len);
    const auto sent = ::send(socket_, message.data(), message.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(message.size())) broken_ = true;
  }

  Answer await(SteadyClock::time_point until) {
    while (!complete() && !broken_) {
      const auto left = std::chrono::ceil<milliseconds>(until - SteadyClock::now()).count();
      pollfd waiting{socket_, POLLIN, 0};
      if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) <= 0) return {};
      char buffer[4096];
      const auto got = recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) broken_ = true;
      if (got > 0) read_.append(buffer, static_cast<std::size_t>(got));
    }
    if (broken_) return {Answer::Kind::broken};
    bson_t body;
    const auto bytes = std::string_view(read_).substr(std::min(kBeforeBody, read_.size()));
    if (!bson_init_static(&body, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                          bytes.size())) {
      throw std::runtime_error("a reply that is no BSON");
    }
    return {Answer::Kind::reply, known_part(body)};
  }

  void hang_up() {
    if (socket_ >= 0) close(std::exchange(socket_, -1));
    broken_ = true;
  }

 private:
  [[nodiscard]] bool complete() const {
    const auto size = sim::live::message_size(read_);
    return size && read_.size() >= *size;
  }
  /// Without members of types that the simulated set does not compute with.
  static Object known_part(const bson_t& body) {
    bson_t known = BSON_INITIALIZER;
    bson_copy_to_excluding_noinit(&body, &known, "$clusterTime", "electionId", "topologyVersion",
                                  "opTime", nullptr);
    Object object = to_object(known);
    bson_destroy(&known);
    return object;
  }

  int socket_;
  bool broken_ = false;
  std::string read_;
};

sim::live::ReplicaSetOptions options() {
  return {.election_timeout_ms = static_cast<int>(ComparedSet::kElectionTimeout_ms),
          .heartbeat_ms = static_cast<int>(ComparedSet::kHeartbeat_ms),
          .faulty = true};
}

class RealSet final : public ComparedSet {
 public:
  /// Commands that wait for the lock must end before the members do.
  ~RealSet() override { let_go(); }

  sim::ServerControl control() override { return {set_.proxy(), &set_, data_.get()}; }
  void hold_replication(bool on) override {
    const int primary = set_.primary();
    for (int m = 0; m < set_.size(); ++m) {
      if (!on || m != primary) set_.fail_point(m, "stopReplProducer", on ? "alwaysOn" : "off");
    }
  }
  void catch_up() override {
    sim::live::until_true("a write on every member",
                          [this] { return set_.all_have_all_data(); });
  }
  std::int64_t true_ms() override { return sim::live::real_time().count(); }

  Call send_bytes(int member, const Object& command) override {
    Object addressed = command;
    const bool on_admin =
        command.find("commitTransaction") != nullptr || command.find("abortTransaction") != nullptr;
    addressed.set("$db", std::string(on_admin ? "admin" : kDatabase));
    calls_.emplace_back(set_.mongod(member).port());
    calls_.back().send(addressed);
    return calls_.size() - 1;
  }
  void hold_next_inside(std::int64_t ms, Hold hold) override {
    held_ = set_.primary();
    let_go_at_ = SteadyClock::now() + milliseconds(ms);
    inside_ = std::nullopt;
    if (hold == Hold::lock) {
      set_.member(held_).must("admin", {{"fsync", 1}, {"lock", true}});
    } else {
      inside_ = data_->hold_inside("", ms, ms);
      inside_.value().begin();
    }
  }
  Answer await(Call call, std::int64_t limit_ms) override {
    const auto until = SteadyClock::now() + milliseconds(limit_ms);
    if (held_ >= 0 && let_go_at_ < until) {
      const auto early = calls_.at(call).await(let_go_at_);
      if (early.kind != Answer::Kind::silent) return early;
      let_go();
    }
    return calls_.at(call).await(until);
  }
  void hang_up(Call call) override { calls_.at(call).hang_up(); }
  void pass(std::int64_t ms) override {
    const auto until = SteadyClock::now() + milliseconds(ms);
    if (held_ >= 0 && let_go_at_ < until) {
      std::this_thread::sleep_until(let_go_at_);
      let_go();
    }
    std::this_thread::sleep_until(until);
  }

 private:
  void let_go() {
    const int member = std::exchange(held_, -1);
    if (member < 0) return;
    if (inside_) {
      (void)inside_->end();
    } else {
      set_.member(member).must("admin", {{"fsyncUnlock", 1}});
    }
  }

  sim::live::ReplicaSet set_{options()};
  std::unique_ptr<sim::DataControl> data_ =
      sim::live::data_of(set_, kDatabase + std::string(".locks"), "");
  std::vector<Wire> calls_;
  int held_ = -1;  ///< the member inside which a command waits
  std::optional<sim::DataControl::Inside> inside_;  ///< nothing: it waits for a lock
  SteadyClock::time_point let_go_at_;
};

class SimulatedSet final : public ComparedSet {
 public:
  explicit SimulatedSet(std::uint64_t seed) : random_(seed) { pass(1'000); }

  sim::ServerControl control() override { return faults_.control(); }
  void hold_replication(bool on) override {
    const int primary = servers_.primary();
    for (int m = 0; m < kMembers; ++m) {
      if (!on || m != primary) servers_.serving().set_fetching(m, !on);
    }
  }
  void catch_up() override {
    const auto write = std::make_shared<const sim::FencedWrite>(
        sim::FencedWrite{.name = "catching up", .token = 1});
    run(30'000, [this] { return servers_.primary() >= 0; });
    servers_.fenced_write(servers_.primary(), write, [](auto, const auto&) {});
    pass(1'000);
  }
  std::int64_t true_ms() override {
    return ServerSettings{}.epoch_ms + queue_.now() / kMs;
  }

  Call send_bytes(int member, const Object& command) override {
    calls_.emplace_back();
    Answer& answer = calls_.back();
    servers_.command(member,
                     {.command = std::make_shared<const Object>(command),
                      .waits_ns = std::exchange(next_waits_ms_, 0) * kMs},
                     [&answer](ServerAnswer kind, const Object& reply) {
                       if (answer.kind != Answer::Kind::silent) return;
                       answer = kind == ServerAnswer::reply
                                    ? Answer{Answer::Kind::reply, reply}
                                    : Answer{Answer::Kind::broken};
                     });
    return calls_.size() - 1;
  }
  void hold_next_inside(std::int64_t ms, Hold) override { next_waits_ms_ = ms; }
  Answer await(Call call, std::int64_t limit_ms) override {
    const Answer& answer = calls_.at(call);
    run(limit_ms, [&answer] { return answer.kind != Answer::Kind::silent; });
    return answer;
  }
  void hang_up(Call call) override { calls_.at(call).kind = Answer::Kind::broken; }
  void pass(std::int64_t ms) override {
    run(ms, [] { return false; });
  }

 private:
  /// Until it is so, at most so long.
  template <typename Condition>
  void run(std::int64_t limit_ms, Condition is_so) {
    const auto over = std::make_shared<bool>(false);
    queue_.after(limit_ms * kMs, [over] { *over = true; });
    while (!is_so() && !*over) queue_.step();
  }

  EventQueue queue_;
  sim::Random random_;
  Shards servers_{queue_,
                  random_,
                  {.election_timeout_ns = kElectionTimeout_ms * kMs,
                   .heartbeat_ns = kHeartbeat_ms * kMs},
                  {}};
  SimulatedServers faults_{queue_, servers_, nullptr};
  std::deque<Answer> calls_;  ///< where replies are written to
  std::int64_t next_waits_ms_ = 0;
};

}  // namespace

std::unique_ptr<ComparedSet> real_set() {
  constexpr int kTries = 3;  // a port that was free may be taken by the time that it is used
  for (int i = 1;; ++i) {
    try {
      return std::make_unique<RealSet>();
    } catch (const sim::live::NoMongod&) {
      if (i == kTries) throw;
    }
  }
}

std::unique_ptr<ComparedSet> simulated_set(std::uint64_t seed) {
  return std::make_unique<SimulatedSet>(seed);
}

}  // namespace leasehold::properties
