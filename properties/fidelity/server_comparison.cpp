#include "properties/fidelity/server_comparison.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "core/protocol.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "sim/faults/cluster_control.hpp"
#include "sim/live/proxy/wire_message.hpp"
#include "sim/live/servers/replica_set.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/virtual/cluster.hpp"

namespace leasehold::properties {

using namespace sim::simulated;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// One command: its bytes, and how the adapter reads the reply if it is one of the lock's.
struct Request {
  Object bytes;
  std::optional<core::Command> command = {};
};

/// What came back on the connection: a reply, its end, or nothing so far.
struct Answer {
  enum class Kind { reply, broken, silent };
  Kind kind = Kind::silent;
  Object reply = {};
};

using Call = std::size_t;  ///< a command under way, each on a connection of its own

enum class Hold { lock, fail_point };

namespace {

/// The times of a lock's readers and of its queue are dates too.
std::string without_times(std::string text) {
  const std::string marks{core::kReaderMark, core::kQueueMark};
  for (auto mark = text.find_first_of(marks); mark != std::string::npos;
       mark = text.find_first_of(marks, mark + 1)) {
    const bool is_reader = text[mark] == core::kReaderMark;
    if (is_reader && text.size() > mark + core::kReaderLockIdAt) {
      text.replace(mark + 1 + core::kSinceAt, core::kUntilDigits, "since");
    }
    text.replace(mark + 1, core::kUntilDigits, "until");
  }
  return text;
}

/// Without what no reader of a reply uses, and what names objects of this run. Error labels are
/// left out because the adapter goes by codes.
nlohmann::json comparable(const std::string& key, const sim::live::Json& value) {
  static const std::set<std::string> left_out{
      "operationTime", "$clusterTime", "electionId", "opTime", "codeName", "errmsg", "errInfo",
      "ns", "keyValue", "numYields", "postBatchResumeToken", "numIndexesBefore",
      "numIndexesAfter", "createdCollectionAutomatically", "commitQuorum", "topologyVersion",
      "note", "errorLabels"};
  if (key == "id") return sim::live::integer(value) == 0 ? "0" : "cursor";
  if (value.contains("$date") || value.contains("$timestamp")) return value.begin().key();
  if (key == "fencingToken") return value.is_null() ? "none" : "token";
  if (key.starts_with("cursors")) return value.size();
  if (value.is_string()) return without_times(value.get<std::string>());
  if (value.is_number_float()) return static_cast<std::int64_t>(value.get<double>());
  if (!value.is_structured()) return value;
  auto out = value.is_array() ? nlohmann::json::array() : nlohmann::json::object();
  for (const auto& [name, inner] : value.items()) {
    if (left_out.contains(name) || inner.contains("_data")) continue;  // a resume token
    if (value.is_array()) {
      out.push_back(comparable("", inner));
    } else {
      out[name] = comparable(name, inner);
    }
  }
  return out;
}

std::string render(const Request& request, const Answer& answer) {
  if (answer.kind == Answer::Kind::silent) return "nothing comes";
  if (answer.kind == Answer::Kind::broken) return "the connection ends";
  constexpr const char* kOutcomes[] = {"done", "unknown", "failed before", "duplicate key",
                                       "configuration"};
  std::string text;
  if (request.command) {
    const auto read = mongo::read_reply(*request.command, *Bytes(answer.reply).get());
    text = kOutcomes[static_cast<std::size_t>(read.outcome)];
    text += read.retried ? ", retried: " : ": ";
  }
  return text + comparable("", mongo::to_json(*Bytes(answer.reply).get())).dump();
}

}  // namespace

/// One of the two sets, of three members; 0 is primary when a script begins. A script asks it and
/// brings faults about, and has the answers written down. Its owner undoes all that a script did.
class ComparedSet {
 public:
  static constexpr std::int64_t kElectionTimeout_ms = 2'000, kHeartbeat_ms = 200;
  static constexpr const char* kCollection = "locks";

  virtual ~ComparedSet() = default;

  Call send(int member, const Request& request) {
    requests_.push_back(request);
    return send_bytes(member, request.bytes);
  }
  /// Waits for the answer, for this long at most.
  virtual Answer await(Call call, std::int64_t limit_ms) = 0;
  /// Waits for the answer, and writes it down.
  Answer note(const std::string& label, Call call, std::int64_t limit_ms = 10'000) {
    Answer answer = await(call, limit_ms);
    note(label, render(requests_.at(call), answer));
    const Value* time = answer.reply.find("operationTime");
    // A stream's reply is of the time up to which a majority has everything, as far as the server
    // has heard by then; no client reads it.
    // No client reads when an index was made, either: the simulated set's oplog has no such entry.
    const std::string& name = requests_.at(call).bytes.fields.at(0).first;
    const bool read = name != "aggregate" && name != "getMore" && name != "createIndexes";
    if (time != nullptr && compares_times_ && read) lines_.back().time = *time->as<Timestamp>();
    return answer;
  }
  Answer ask(const std::string& label, int member, const Request& request) {
    return note(label, send(member, request));
  }
  void note(const std::string& label, const std::string& text) {
    lines_.push_back({label + " -> " + text});
  }
  /// From here on, because two primaries count their times apart.
  void leave_out_times() { compares_times_ = false; }
  /// All lines, with the ranks of the operation times.
  std::string lines() const {
    std::set<Timestamp> ranks;
    for (const auto& [text, time] : lines_) {
      if (time) ranks.insert(*time);
    }
    std::string all;
    for (const auto& [text, time] : lines_) {
      all += text;
      if (time) all += " at T" + std::to_string(std::distance(ranks.begin(), ranks.find(*time)));
      all += '\n';
    }
    return all;
  }

  /// The next findAndModify waits this long inside the primary: for a lock that another client has,
  /// which also keeps members from stepping down; or in a fail point before it has looked at
  /// anything.
  virtual void hold_next_inside(std::int64_t ms, Hold hold = Hold::lock) = 0;
  /// Closes the connection; commands that were sent may still be executed.
  virtual void hang_up(Call call) = 0;
  virtual void pass(std::int64_t ms) = 0;
  /// Secondaries fetch nothing, while heartbeats and votes go on.
  void hold_replication(bool on) {
    const int primary = members().primary_now();
    for (int m = 0; m < members().size(); ++m) {
      if (!on || m != primary) hold_fetching(m, on);
    }
  }
  /// Waits until every member has everything.
  virtual void catch_up() = 0;
  /// The member reaches no other; clients still reach it.
  void isolate(int member, bool on) {
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
  void step_up(int member) {
    wait_until([&] {
      (void)members().step_up(member, milliseconds(1'000));
      return members().is_primary(member);
    });
  }
  void step_down() { (void)members().step_down(); }
  void stop(int member) { members().stop({member}); }
  void go_on(int member) { members().resume({member}); }
  void kill(int member) { members().kill({member}); }
  void move_clock(int member, std::int64_t ahead_ms) { members().set_clock(member, ahead_ms, 0); }
  /// What the member's wall clock shows.
  std::int64_t wall_ms(int member) { return true_ms() + members().clock_ahead_ms(member); }
  /// Waits for a member that says it is primary, of the latest election.
  int primary() {
    wait_until([this] { return members().primary_now() >= 0; });
    return members().primary_now();
  }

 private:
  /// What plans' faults do to it.
  virtual sim::ServerControl control() = 0;
  /// Beside which members' clocks are set.
  virtual std::int64_t true_ms() = 0;
  virtual void hold_fetching(int member, bool on) = 0;
  virtual Call send_bytes(int member, const Object& command) = 0;
  sim::MemberControl& members() { return *control().members; }
  /// Throws std::runtime_error if it does not become so in half a minute.
  void wait_until(const std::function<bool()>& is_so) {
    const auto over_ms = true_ms() + 30'000;
    while (!is_so()) {
      if (true_ms() > over_ms) throw std::runtime_error("no member became primary");
      pass(10);
    }
  }

  bool compares_times_ = true;
  std::vector<Request> requests_;  ///< by call
  struct Line {
    std::string text;
    std::optional<Timestamp> time = {};
  };
  std::vector<Line> lines_;
};

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
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
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

class RealSet final : public ComparedSet {
 public:
  /// Commands that wait for the lock must end before the members do.
  ~RealSet() override { let_go(); }

  sim::ServerControl control() override { return {set_.proxy(), &set_, data_.get()}; }
  void hold_fetching(int member, bool on) override {
    set_.fail_point(member, "stopReplProducer", on ? "alwaysOn" : "off");
  }
  void catch_up() override {
    sim::live::until_true("a write on every member", [this] { return set_.all_have_all_data(); });
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

  sim::live::ReplicaSet set_{{.election_timeout_ms = static_cast<int>(kElectionTimeout_ms),
                              .heartbeat_ms = static_cast<int>(kHeartbeat_ms),
                              .faulty = true}};
  std::unique_ptr<sim::DataControl> data_ =
      sim::live::data_of(set_, kDatabase + std::string(".locks"), "");
  std::deque<Wire> calls_;
  int held_ = -1;  ///< the member inside which a command waits
  std::optional<sim::DataControl::Inside> inside_;  ///< nothing: it waits for a lock
  SteadyClock::time_point let_go_at_;
};

class SimulatedSet final : public ComparedSet {
 public:
  explicit SimulatedSet(std::uint64_t seed) : random_(seed) { pass(1'000); }

  sim::ServerControl control() override { return faults_.control(); }
  void hold_fetching(int member, bool on) override {
    servers_.serving().set_fetching(member, !on);
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

using Step = core::StreamCommand::Step;

constexpr milliseconds kLease{60'000}, kMargin{500}, kTimeout{5'000};
constexpr core::Owner kA{1, 1}, kB{2, 2}, kC{3, 3};

Object concern(const Value& w, int wtimeout_ms) {
  return make({{"w", w}, {"wtimeout", std::int32_t{wtimeout_ms}}});
}

Request as_sent(core::Command command) {
  command.id = 1;
  if (command.timeout.count() == 0) command.timeout = kTimeout;
  const auto bytes = mongo::build(command, ComparedSet::kCollection);
  return {to_object(*bytes.get()), command};
}

Object session(char id) { return make({{"id", Binary{std::string(16, id)}}}); }

std::string lock_id(core::Owner owner) { return core::to_hex(owner) + ".60000.1.host:1"; }

Request acquire(const char* name, core::Owner owner, milliseconds timeout = kTimeout) {
  const core::AcquireCommand body{1, name, owner, lock_id(owner), {}, kLease, kMargin};
  return as_sent({.timeout = timeout, .body = body});
}

Request release(const char* name, core::Owner owner, milliseconds timeout = kTimeout) {
  return as_sent({.timeout = timeout, .body = core::DeleteCommand{name, owner, {}}});
}

/// A refused owner waits in the lock's queue.
Request queue_up(const char* name, core::Owner owner, core::Room room = 0) {
  const auto id =
      core::format_lock_id({owner, milliseconds(kLease).count(), 1, "host:1", {}, room});
  return as_sent({.body = core::AcquireCommand{1, name, owner, id, {}, kLease, kMargin, kLease,
                                               core::kMostInQueue, {}, room}});
}

Request pass_on(const char* name, core::Owner from, bool offers = false, core::Room room = 0) {
  return as_sent({.body = core::PassOnCommand{name, from, {}, offers, room}});
}

/// A reader renews what the reply to its attempt shows.
Request extend_reader(const char* name, core::Owner owner, const Object& reply) {
  const Bytes attempt(reply);
  const auto since =
      mongo::read_reply(*queue_up(name, owner, core::kReaders).command, *attempt.get())
          .documents.at(0);
  const auto id = core::format_lock_id({owner, kLease.count(), 2, "host:1", {}, core::kReaders});
  return as_sent({.body = core::ExtendCommand{{{1, name, owner, since.acquired_at, id, kLease,
                                                kMargin, {}, core::kReaders}}}});
}

/// The stream of grants to owners of one provider, with releases or without.
/// `since`: a reply, at whose operation time it begins; without one it begins now.
Request stream_of(std::uint64_t provider, const Object& since = {}) {
  core::StreamCommand open{.provider = provider};
  if (const auto* at = since.find("operationTime")) {
    const auto& place = *at->as<Timestamp>();
    open.since = FencingToken::from_timestamp(place.seconds, place.increment);
  }
  return as_sent({.timeout = milliseconds(1'500), .body = open});
}

Request look(const char* name) { return as_sent({.body = core::ReadHoldersCommand{{name}}}); }

Request stream(Step step, std::int64_t cursor = 0, milliseconds timeout = milliseconds(1'500)) {
  return as_sent({.timeout = timeout, .body = core::StreamCommand{step, cursor}});
}

/// Any document, written as `w` says.
Request put(const char* name, const Value& x, const Value& w = std::string("majority"),
            int wtimeout_ms = 5'000) {
  return {make({{"findAndModify", std::string(ComparedSet::kCollection)},
                {"query", make({{"_id", std::string(name)}})},
                {"update", make({{"$set", make({{"x", x}})}})},
                {"upsert", true},
                {"new", true},
                {"writeConcern", concern(w, wtimeout_ms)}})};
}

Request insert_in_transaction(char id, const char* resource) {
  const auto document =
      make({{"resourceId", std::string(resource)}, {"clientId", std::string("c")}});
  return {make({{"insert", std::string(ComparedSet::kCollection)},
                {"documents", Array{{document}}},
                {"lsid", session(id)},
                {"txnNumber", std::int64_t{1}},
                {"autocommit", false},
                {"startTransaction", true}})};
}

Request end_transaction(const char* how, char id, int wtimeout_ms = 5'000) {
  return {make({{how, std::int32_t{1}},
                {"lsid", session(id)},
                {"txnNumber", std::int64_t{1}},
                {"autocommit", false},
                {"writeConcern", concern(std::string("majority"), wtimeout_ms)}})};
}

Request unique_index() {
  const auto index = make({{"key", make({{"resourceId", std::int32_t{1}}})},
                           {"name", std::string("resourceId_1")},
                           {"unique", true}});
  return {make({{"createIndexes", std::string(ComparedSet::kCollection)},
                {"indexes", Array{{index}}},
                {"writeConcern", concern(std::string("majority"), 5'000)}})};
}

Date date_in(const Answer& answer, const char* field) {
  const auto* value = answer.reply.find("value");
  const auto* document = value == nullptr ? nullptr : value->as<Object>();
  const auto* date = document == nullptr ? nullptr : document->find(field);
  return date != nullptr && date->is<Date>() ? *date->as<Date>() : Date{};
}

/// How far the date is from the time that it should show: whole ten seconds.
std::string apart(Date date, std::int64_t from_ms) {
  const auto tens = (date.ms - from_ms + 5'000 + 1'000'000) / 10'000 - 100;
  return std::to_string(tens * 10) + " s from the clock at its arrival";
}

std::int64_t cursor_in(const Answer& answer) {
  const auto* cursor = answer.reply.find("cursor");
  return cursor == nullptr ? 0 : cursor->as<Object>()->find("id")->integer();
}

std::string seen_of(ComparedSet& set, const Script& script) {
  // Both sets have the collection from now on, and every member of them.
  set.ask("first write", 0, put("warm", std::int32_t{0}));
  set.catch_up();
  script.run(set);
  return set.lines();
}

}  // namespace

const std::vector<Script>& scripts() {
  static const std::vector<Script> all{
    {"duplicate_keys", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      Request upsert = put("l", std::string("x"));  // as "set-on-insert" sends it
      upsert.bytes.set("query", make({{"_id", std::string("l")},
                                      {"lockId", std::string("nobody's")}}));
      s.ask("_id taken, filter does not match", 0, upsert);
    }},

    // A majority that cannot be reached.

    {"isolated_primary_and_a_real_write", [](ComparedSet& s) {
      s.isolate(0, true);
      s.ask("acquire", 0, acquire("l", kA, milliseconds(500)));
    }},
    {"isolated_primary_and_a_no_op", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      s.isolate(0, true);
      s.ask("nothing new: a refusal", 0, acquire("l", kB, milliseconds(500)));
      s.ask("a write of another", 0, put("foreign", std::int32_t{1}, std::int32_t{1}));
      s.ask("refusal beside it", 0, acquire("l", kB, milliseconds(500)));
      s.ask("no document beside it", 0, release("none", kB, milliseconds(500)));
    }},
    {"held_replication", [](ComparedSet& s) {
      s.hold_replication(true);
      s.ask("acquire", 0, acquire("l", kA, milliseconds(500)));
      s.ask("refused", 0, acquire("l", kB, milliseconds(500)));
      const auto waits = s.send(0, acquire("m", kA));
      s.pass(300);
      s.hold_replication(false);
      s.note("waited until it was let go", waits);
    }},
    {"time_is_up_while_it_waits_for_a_majority", [](ComparedSet& s) {
      s.hold_replication(true);
      Request request = put("l", std::int32_t{1}, std::string("majority"), 5'000);
      request.bytes.set("maxTimeMS", std::int32_t{300});
      s.ask("max time before the write concern's", 0, request);
    }},
    {"time_is_up_inside", [](ComparedSet& s) {
      s.hold_next_inside(1'500);
      const auto held = s.send(0, acquire("l", kA, milliseconds(500)));
      s.note("held", held);
      s.pass(1'500);
      s.ask("look", 0, look("l"));
    }},
    {"held_inside", [](ComparedSet& s) {
      s.hold_next_inside(500);
      const auto held = s.send(0, acquire("l", kA));
      s.pass(100);
      s.ask("a read passes it", 0, look("l"));
      s.note("held", held);
    }},

    // Elections.

    {"step_down_while_a_write_waits", [](ComparedSet& s) {
      s.hold_replication(true);
      const auto acquires = s.send(0, acquire("l", kA));
      const auto releases = s.send(0, release("warm", kA));
      s.pass(200);
      s.step_down();
      s.note("the acquire", acquires);
      s.note("the release", releases);
      s.ask("the next", 0, acquire("m", kA));
    }},
    {"step_down_while_it_is_held_inside", [](ComparedSet& s) {
      s.hold_next_inside(1'200, Hold::fail_point);
      const auto held = s.send(0, acquire("l", kA));
      s.pass(200);
      s.step_down();
      s.note("held", held);
    }},
    {"another_steps_up_while_a_write_waits", [](ComparedSet& s) {
      s.hold_replication(true);
      const auto waits = s.send(0, acquire("l", kA));
      s.pass(200);
      s.step_up(1);
      s.note("the acquire", waits);
      s.hold_replication(false);
      s.catch_up();
      s.ask("rolled back", 1, look("l"));
      s.ask("taken by another", 1, acquire("l", kB));
      s.ask("the old primary", 0, acquire("l", kB));
    }},
    {"a_write_survives_a_clean_failover", [](ComparedSet& s) {
      s.ask("acquire", 0, acquire("l", kA));
      s.step_up(1);
      s.ask("look", 1, look("l"));
      s.ask("refused", 1, acquire("l", kB));
      s.ask("release", 1, release("l", kA));
    }},
    {"isolated_primary_leaves_its_office", [](ComparedSet& s) {
      s.isolate(0, true);
      s.ask("write for one", 0, put("l", std::int32_t{1}, std::int32_t{1}));
      const auto waits = s.send(0, acquire("m", kA, milliseconds(9'000)));
      s.note("while it is deposed", waits);
      s.ask("afterwards", 0, acquire("m", kA));
      const int next = s.primary();
      s.ask("its successor", next, acquire("m", kB));
      s.isolate(0, false);
      s.catch_up();
      s.ask("rolled back", next, look("l"));
    }},
    {"two_primaries", [](ComparedSet& s) {
      s.isolate(0, true);
      s.step_up(1);
      s.leave_out_times();
      s.ask("old, for one", 0, put("l", std::int32_t{1}, std::int32_t{1}));
      s.ask("new, for one", 1, put("l", std::int32_t{2}, std::int32_t{1}));
      s.ask("old, for a majority", 0, acquire("m", kA, milliseconds(300)));
      s.ask("new, for a majority", 1, acquire("m", kB));
      s.isolate(0, false);
      s.catch_up();
      s.ask("what is left", 1, look("m"));
    }},

    // Members that stop or die.

    {"zombies_of_a_short_stop", [](ComparedSet& s) {
      s.stop(0);
      const auto waits = s.send(0, acquire("l", kA));
      s.note("while it is stopped", waits, 300);
      s.go_on(0);
      s.note("once it goes on", waits);
    }},
    // Commands that no client waits for any more are executed.
    {"zombies_of_closed_connections", [](ComparedSet& s) {
      s.stop(0);
      const auto closed = s.send(0, acquire("l", kA));
      s.pass(200);
      s.hang_up(closed);
      s.pass(200);
      s.go_on(0);
      s.pass(700);
      s.ask("what it wrote", 0, look("l"));
    }},
    {"zombies_of_a_deposed_primary", [](ComparedSet& s) {
      s.stop(0);
      const auto acquires = s.send(0, acquire("l", kA));
      s.step_up(1);
      s.leave_out_times();
      s.ask("its successor", 1, acquire("l", kB));
      s.go_on(0);
      s.note("once it goes on", acquires);
      s.catch_up();
      s.ask("what is left", 1, look("l"));
    }},
    {"killed_while_a_write_waits", [](ComparedSet& s) {
      s.hold_replication(true);
      const auto waits = s.send(0, acquire("l", kA));
      s.pass(200);
      s.kill(0);
      s.note("the acquire", waits);
      s.ask("the next", 0, acquire("l", kA));
    }},

    // Clocks that jump, and the TTL monitor.
    {"clock_jumps_during_a_held_command", [](ComparedSet& s) {
      const auto before = s.wall_ms(0);
      s.hold_next_inside(600);
      const auto held = s.send(0, acquire("l", kA));
      s.pass(200);
      s.move_clock(0, -30'000);
      const auto answer = s.note("held", held);
      s.note("$$NOW", apart(date_in(answer, "acquiredAt"), before));
      const auto after = s.ask("the next", 0, acquire("m", kA));
      s.note("$$NOW of the next", apart(date_in(after, "acquiredAt"), before));
    }},
    // maxTimeMS is of the wall clock too.
    {"clock_jumps_past_the_time_of_a_held_command", [](ComparedSet& s) {
      s.hold_next_inside(800);
      const auto held = s.send(0, acquire("l", kA));
      s.pass(200);
      s.move_clock(0, 30'000);
      s.note("held", held);
    }},
    {"clock_of_a_stopped_member_jumps", [](ComparedSet& s) {
      const auto before = s.wall_ms(0);
      s.stop(0);
      const auto waits = s.send(0, acquire("l", kA));
      s.move_clock(0, 30'000);
      s.go_on(0);
      const auto answer = s.note("once it goes on", waits);
      s.note("$$NOW", apart(date_in(answer, "acquiredAt"), before));
    }},
    // Operation times never go back.
    {"clock_goes_back", [](ComparedSet& s) {
      s.move_clock(0, 60'000);
      s.ask("ahead", 0, acquire("l", kA));
      s.move_clock(0, 0);
      const auto now = s.wall_ms(0);
      const auto answer = s.ask("back", 0, acquire("m", kA));
      s.note("$$NOW", apart(date_in(answer, "acquiredAt"), now));
    }},
    {"a_clock_that_goes_back_stretches_wtimeout", [](ComparedSet& s) {
      s.hold_replication(true);
      const auto waits = s.send(0, put("l", std::int32_t{1}, std::string("majority"), 600));
      s.pass(200);
      s.move_clock(0, -1'500);
      s.note("when it would have ended", waits, 1'000);
      s.note("by its own clock", waits);
    }},
    {"a_secondary_that_jumps_stands_for_election", [](ComparedSet& s) {
      s.move_clock(1, 3 * ComparedSet::kElectionTimeout_ms);
      s.pass(ComparedSet::kElectionTimeout_ms / 2);
      s.note("primary", std::to_string(s.primary()));
      s.ask("the old one", 0, acquire("l", kA));
    }},
    {"a_secondary_that_jumps_back_does_not", [](ComparedSet& s) {
      s.move_clock(1, -30'000);
      s.pass(ComparedSet::kElectionTimeout_ms / 2);
      s.note("primary", std::to_string(s.primary()));
    }},
    {"a_primary_that_jumps", [](ComparedSet& s) {
      s.move_clock(0, 3 * ComparedSet::kElectionTimeout_ms);
      s.pass(1'000);
      s.ask("at once", 0, look("l"));
    }},
    {"a_secondary_that_was_stopped_may_stand", [](ComparedSet& s) {
      s.stop(1);
      s.pass(2 * ComparedSet::kElectionTimeout_ms);
      s.go_on(1);
      s.pass(1'000);
      s.note("primary", std::to_string(s.primary()));
    }},

    {"ttl_goes_by_the_primarys_clock", [](ComparedSet& s) {
      s.ask("index", 0, as_sent({.body = core::EnsureIndexCommand{}}));
      s.catch_up();
      s.ask("held for a minute", 0, acquire("l", kA));
      s.move_clock(0, 120'000);
      s.pass(4'000);
      s.ask("gone", s.primary(), look("l"));
    }},

    // Change streams and transactions.
    {"a_stream_waits_for_the_majority", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
      s.hold_replication(true);
      s.ask("goes", 0, release("l", kA, milliseconds(300)));
      s.ask("no majority, no news", 0, stream(Step::next, cursor, milliseconds(900)));
      const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(6'000)));
      s.pass(100);
      s.hold_replication(false);
      s.note("a majority has it", waits);
    }},
    {"a_stream_begins_where_an_attempt_was", [](ComparedSet& s) {
      s.ask("held before", 0, acquire("a", kB));
      const auto held = s.ask("held", 0, acquire("b", kA));
      const core::HandOverCommand to_b{1, "b", kA, kB, lock_id(kB), kLease, kMargin};
      s.ask("handed over", 0, as_sent({.body = to_b}));
      const auto since = s.ask("open", 0, stream_of(kB.high, held.reply));
      s.ask("news", 0, stream(Step::next, cursor_in(since), milliseconds(900)));
    }},
    {"a_stream_is_killed_while_it_waits", [](ComparedSet& s) {
      const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
      const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(9'000)));
      s.pass(200);
      s.ask("kill", 0, stream(Step::close, cursor));
      s.note("who waited", waits);
      s.ask("afterwards", 0, stream(Step::next, cursor));
    }},
    {"a_stream_and_a_step_down", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
      const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(9'000)));
      s.pass(200);
      s.step_up(1);
      s.note("while it waits", waits);
      s.ask("afterwards", 0, stream(Step::next, cursor, milliseconds(600)));
      s.ask("goes", 1, release("l", kA));
      s.pass(500);
      s.ask("the next", 0, stream(Step::next, cursor, milliseconds(600)));
    }},
    {"a_stream_and_a_rollback", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
      s.isolate(0, true);
      s.leave_out_times();
      s.ask("goes, for one", 0, put("m", std::int32_t{1}, std::int32_t{1}));
      const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(30'000)));
      s.pass(200);
      s.step_up(1);
      s.pass(200);
      s.isolate(0, false);
      s.catch_up();
      s.note("while it is rolled back", waits);
      s.ask("afterwards", 0, stream(Step::next, cursor, milliseconds(600)));
    }},

    // Transactions.

    {"transactions", [](ComparedSet& s) {
      s.ask("index", 0, unique_index());
      s.catch_up();
      s.ask("insert", 0, insert_in_transaction('a', "r"));
      s.ask("insert the same", 0, insert_in_transaction('b', "r"));
      s.ask("commit of the loser", 0, end_transaction("commitTransaction", 'b'));
      s.ask("commit", 0, end_transaction("commitTransaction", 'a'));
      s.ask("commit again", 0, end_transaction("commitTransaction", 'a'));
      s.ask("insert what is there", 0, insert_in_transaction('c', "r"));
      s.ask("insert another", 0, insert_in_transaction('d', "q"));
      s.ask("abort", 0, end_transaction("abortTransaction", 'd'));
      s.ask("commit after it", 0, end_transaction("commitTransaction", 'd'));
      s.ask("commit of none", 0, end_transaction("commitTransaction", 'e'));
    }},
    {"a_transaction_and_a_step_down", [](ComparedSet& s) {
      s.ask("index", 0, unique_index());
      s.catch_up();
      s.ask("insert", 0, insert_in_transaction('a', "r"));
      s.step_up(1);
      s.catch_up();
      s.ask("commit at the old one", 0, end_transaction("commitTransaction", 'a'));
      s.ask("commit at the new one", 1, end_transaction("commitTransaction", 'a'));
      s.ask("insert again", 1, insert_in_transaction('b', "r"));
      s.ask("commit", 1, end_transaction("commitTransaction", 'b'));
    }},
    {"a_commit_waits_in_vain", [](ComparedSet& s) {
      s.ask("index", 0, unique_index());
      s.catch_up();
      s.ask("insert", 0, insert_in_transaction('a', "r"));
      s.hold_replication(true);
      s.ask("commit", 0, end_transaction("commitTransaction", 'a', 300));
      s.hold_replication(false);
    }},

    // With a short name the oplog has whole documents, with a long one what has changed.
    {"a_stream_tells_whom_a_lock_is_passed_to", [](ComparedSet& s) {
      const std::string longer(100, 'l');
      const auto cursor = cursor_in(s.ask("open", 0, stream_of(kB.high)));
      for (const char* name : {"s", longer.c_str()}) {
        s.ask("A has it", 0, queue_up(name, kA));
        s.ask("B waits", 0, queue_up(name, kB));
        s.ask("no news", 0, stream(Step::next, cursor, milliseconds(600)));
        const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(6'000)));
        s.ask("offered to B", 0, pass_on(name, kA, true));
        s.note("B hears", waits);
        s.ask("B takes it", 0, queue_up(name, kB));
        s.ask("its own write", 0, stream(Step::next, cursor));
        s.ask("A waits", 0, queue_up(name, kA));
        s.ask("that is no news for B", 0, stream(Step::next, cursor, milliseconds(600)));
        s.ask("offered to A", 0, pass_on(name, kB, true));
        s.ask("nor that", 0, stream(Step::next, cursor, milliseconds(600)));
        s.ask("to nobody", 0, pass_on(name, kA));
      }
    }},
    {"a_stream_tells_the_readers_whom_a_lock_is_passed_to", [](ComparedSet& s) {
      const std::string longer(200, 'l');
      const auto cursor = cursor_in(s.ask("open", 0, stream_of(kB.high)));
      for (const char* name : {"s", longer.c_str()}) {
        s.ask("A writes", 0, queue_up(name, kA));
        s.ask("B waits", 0, queue_up(name, kB, core::kReaders));
        s.ask("C waits", 0, queue_up(name, kC, core::kReaders));
        s.ask("no news", 0, stream(Step::next, cursor, milliseconds(600)));
        const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(6'000)));
        s.ask("to both", 0, pass_on(name, kA, false, core::kReaders));
        s.note("B hears", waits);
        const auto again = s.ask("B has it", 0, queue_up(name, kB, core::kReaders));
        s.ask("its own write", 0, stream(Step::next, cursor));
        s.ask("B extends", 0, extend_reader(name, kB, again.reply));
        s.ask("that is no news", 0, stream(Step::next, cursor, milliseconds(600)));
        s.ask("C goes", 0, pass_on(name, kC, false, core::kReaders));
        s.ask("nor that C went", 0, stream(Step::next, cursor, milliseconds(600)));
        s.ask("B goes", 0, pass_on(name, kB, false, core::kReaders));
        s.ask("nor that B went", 0, stream(Step::next, cursor, milliseconds(600)));
      }
    }},
  };
  return all;
}

std::string seen_of_a_real_set(const Script& script) {
  RealSet set;
  return seen_of(set, script);
}

std::string seen_of_a_simulated_set(const Script& script, std::uint64_t seed) {
  SimulatedSet set(seed);
  return seen_of(set, script);
}

}  // namespace leasehold::properties
