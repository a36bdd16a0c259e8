#include "sim/live/fault_proxy.hpp"

// One thread runs it all, and thread sanitizers know no fences.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

// clang-format off
#include <utility>  // which Boost 1.74 forgets
#include <boost/asio.hpp>
// clang-format on
#include <deque>
#include <future>
#include <list>
#include <map>
#include <thread>
#include <vector>

#include "sim/live/peer_identity.hpp"

namespace leasehold::sim::live {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kChunk = 1 << 16;
/// A direction stops reading when this much waits in it.
constexpr std::size_t kMostWaiting = 1 << 23;
/// How long a member may go on with what a client left behind.
constexpr std::chrono::seconds kLeftBehind{3};

const tcp::endpoint loopback(int port) {
  return {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)};
}

/// What rules say and what they did; of the proxy's thread.
struct Rules {
  std::map<Link, LinkRule> in_force;
  std::map<Link, std::int64_t> touched;

  [[nodiscard]] const LinkRule& of(const Link& link) const {
    static const LinkRule none;
    const auto found = in_force.find(link);
    return found == in_force.end() ? none : found->second;
  }
};

/// One connection: two sockets, and the bytes that wait in each direction.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket client, int member, Rules& rules, const std::map<int, int>& ports)
      : rules_(rules),
        ports_(ports),
        client_(std::move(client)),
        server_(client_.get_executor()),
        link_{"", member},
        requests_{client_, server_, asio::steady_timer(client_.get_executor())},
        replies_{server_, client_, asio::steady_timer(client_.get_executor())} {}

  void start(int port) {
    server_.async_connect(loopback(port), [self = shared_from_this()](error_code error) {
      if (error) return self->reset();
      error_code ignored;
      self->client_.set_option(tcp::no_delay(true), ignored);
      self->server_.set_option(tcp::no_delay(true), ignored);
      self->read(self->requests_);
      self->read(self->replies_);
    });
  }

  [[nodiscard]] const Link& link() const { return link_; }
  [[nodiscard]] bool open() const { return !over_; }

  void rule_changed() {
    if (rules_.of(link_).refuse) {
      ++rules_.touched[link_];
      return reset();
    }
    write(requests_);
    write(replies_);
  }

  /// Ends both sides at once, as a host does that knows nothing of the connection.
  void reset() {
    over_ = true;
    for (auto* socket : {&client_, &server_}) {
      error_code ignored;
      socket->set_option(asio::socket_base::linger(true, 0), ignored);
      socket->close(ignored);
    }
    requests_.timer.cancel();
    replies_.timer.cancel();
  }

 private:
  struct Chunk {
    SteadyClock::time_point due;
    std::vector<char> bytes;
  };
  struct Direction {
    tcp::socket& from;
    tcp::socket& to;
    asio::steady_timer timer;
    std::deque<Chunk> waiting = {};
    std::size_t bytes = 0;
    bool reading = false, writing = false, ended = false;
  };

  [[nodiscard]] bool held(const Direction& d) const {
    const LinkRule& rule = rules_.of(link_);
    return &d == &requests_ ? rule.hold_requests || (!known_ && !d.ended) : rule.hold_replies;
  }
  [[nodiscard]] std::chrono::milliseconds delay(const Direction& d) const {
    const LinkRule& rule = rules_.of(link_);
    return &d == &requests_ ? rule.delay_requests : rule.delay_replies;
  }

  void read(Direction& d) {
    if (over_ || d.reading || d.ended || d.bytes > kMostWaiting) return;
    d.reading = true;
    auto buffer = std::make_shared<std::vector<char>>(kChunk);
    d.from.async_read_some(asio::buffer(*buffer), [self = shared_from_this(), &d, buffer](
                                                      error_code error, std::size_t size) {
      d.reading = false;
      if (error) {
        d.ended = true;
      } else {
        buffer->resize(size);
        self->arrived(d, std::move(*buffer));
      }
      self->write(d);
      self->read(d);
    });
  }

  void arrived(Direction& d, std::vector<char> bytes) {
    if (&d == &requests_ && !known_) identify(bytes);
    auto due = SteadyClock::now() + delay(d);
    if (!d.waiting.empty()) due = std::max(due, d.waiting.back().due);
    if (delay(d).count() > 0 || held(d)) ++rules_.touched[link_];
    d.bytes += bytes.size();
    d.waiting.push_back({due, std::move(bytes)});
  }

  /// Nothing goes to the member before it is known who speaks.
  void identify(const std::vector<char>& bytes) {
    first_.insert(first_.end(), bytes.begin(), bytes.end());
    if (first_.size() < 4) return;
    const auto size = message_size(first_);
    if (size && first_.size() < *size) return;
    known_ = true;
    link_.peer = size ? peer_of(first_, ports_) : "";
    first_.clear();
    if (rules_.of(link_).refuse) {
      ++rules_.touched[link_];
      reset();
    }
  }

  void write(Direction& d) {
    if (over_ || d.writing) return;
    if (d.waiting.empty()) return d.ended ? finish(d) : void();
    if (held(d)) return;
    if (d.waiting.front().due > SteadyClock::now()) return write_later(d);
    d.writing = true;
    const auto chunk = std::make_shared<Chunk>(std::move(d.waiting.front()));
    d.waiting.pop_front();
    asio::async_write(d.to, asio::buffer(chunk->bytes),
                      [self = shared_from_this(), &d, chunk](error_code error, std::size_t) {
                        d.writing = false;
                        d.bytes -= chunk->bytes.size();
                        if (error) self->receiver_gone(d);
                        self->write(d);
                        self->read(d);
                      });
  }

  void write_later(Direction& d) {
    d.timer.expires_at(d.waiting.front().due);
    d.timer.async_wait([self = shared_from_this(), &d](error_code error) {
      if (!error) self->write(d);
    });
  }

  /// Requests of a client that is gone still go to the member; a member that is gone ends all.
  void receiver_gone(Direction& d) {
    d.waiting.clear();
    d.bytes = 0;
    if (&d == &requests_) reset();
  }

  /// All that came has been passed on. What a client left behind executes before its member's side
  /// is closed, as it would if only the network had forgotten the client.
  void finish(Direction& d) {
    if (&d == &replies_) return reset();
    d.timer.expires_after(kLeftBehind);
    d.timer.async_wait([self = shared_from_this()](error_code) { self->reset(); });
  }

  Rules& rules_;
  const std::map<int, int>& ports_;
  tcp::socket client_, server_;
  Link link_;
  Direction requests_, replies_;
  std::string first_;
  bool known_ = false, over_ = false;
};

}  // namespace

/// Everything but the constructor's and destructor's part runs on the one thread.
class FaultProxy::Inside {
 public:
  Inside() : work_(asio::make_work_guard(context_)), thread_([this] { context_.run(); }) {}

  /// Runs it on the proxy's thread, and waits.
  template <typename Work>
  auto on_thread(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    asio::post(context_, [&task] { task(); });
    return result.get();
  }

  ~Inside() {
    on_thread([this] {
      for (const auto& c : connections_) c->reset();
      connections_.clear();
      listeners_.clear();
      return 0;
    });
    work_.reset();
    context_.stop();
    thread_.join();
  }

  int add_member(int port) {
    const int member = static_cast<int>(listeners_.size());
    ports_[port] = member;
    listeners_.push_back({tcp::acceptor(context_, loopback(0)), port});
    accept(member);
    return listeners_.back().acceptor.local_endpoint().port();
  }

  int set(const Link& link, const LinkRule& rule) {
    rules_.in_force[link] = rule;
    for_each(link, [](Connection& c) { c.rule_changed(); });
    return 0;
  }

  int reset(const Link& link) {
    for_each(link, [this, &link](Connection& c) {
      c.reset();
      ++rules_.touched[link];
    });
    return 0;
  }

  [[nodiscard]] std::int64_t touched(const Link& link) const {
    const auto found = rules_.touched.find(link);
    return found == rules_.touched.end() ? 0 : found->second;
  }

  int connections(const Link& link) {
    int count = 0;
    for_each(link, [&count](Connection&) { ++count; });
    return count;
  }

 private:
  struct Listener {
    tcp::acceptor acceptor;
    int port;
  };

  template <typename Do>
  void for_each(const Link& link, Do act) {
    connections_.remove_if([](const auto& c) { return !c->open(); });
    for (const auto& c : connections_) {
      if (c->link() == link) act(*c);
    }
  }

  void accept(int member) {
    auto& listener = listeners_[static_cast<std::size_t>(member)];
    listener.acceptor.async_accept([this, member](error_code error, tcp::socket client) {
      if (error == asio::error::operation_aborted) return;
      if (!error) {
        connections_.remove_if([](const auto& c) { return !c->open(); });
        connections_.push_back(
            std::make_shared<Connection>(std::move(client), member, rules_, ports_));
        connections_.back()->start(listeners_[static_cast<std::size_t>(member)].port);
      }
      accept(member);
    });
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Rules rules_;
  std::map<int, int> ports_;  ///< member by its own port
  std::deque<Listener> listeners_;
  std::list<std::shared_ptr<Connection>> connections_;
  std::thread thread_;
};

FaultProxy::FaultProxy() : inside_(std::make_unique<Inside>()) {}
FaultProxy::~FaultProxy() = default;

int FaultProxy::add_member(int port) {
  return inside_->on_thread([&] { return inside_->add_member(port); });
}
void FaultProxy::set(const std::string& peer, int member, const LinkRule& rule) {
  inside_->on_thread([&] { return inside_->set({peer, member}, rule); });
}
void FaultProxy::reset(const std::string& peer, int member) {
  inside_->on_thread([&] { return inside_->reset({peer, member}); });
}
std::int64_t FaultProxy::touched(const std::string& peer, int member) const {
  return inside_->on_thread([&] { return inside_->touched({peer, member}); });
}
int FaultProxy::connections(const std::string& peer, int member) const {
  return inside_->on_thread([&] { return inside_->connections({peer, member}); });
}

}  // namespace leasehold::sim::live
