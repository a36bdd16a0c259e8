#include "sim/live/proxy/fault_proxy.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

// One thread runs it all, and thread sanitizers do not know fences.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

// clang-format off
#include <utility>  // which Boost 1.74 forgets
#include <array>
#include <boost/asio.hpp>
// clang-format on
#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <list>
#include <map>
#include <optional>
#include <thread>

#include "mongo/client/uri.hpp"
#include "sim/live/proxy/wire_message.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;
using Endpoints = std::vector<tcp::endpoint>;

/// A direction stops reading when this much waits in it.
constexpr std::size_t kMostWaiting = 1 << 23;
/// How long a member may go on with what a client left behind.
constexpr std::chrono::seconds kLeftBehind{3};

/// When the last bytes that this socket has received arrived: a proxy that many keep busy reads
/// them later. The kernel counts in steps of a few ms.
std::int64_t arrival_ns(tcp::socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool known = getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
  return boot_ns() - (known ? std::int64_t{1'000'000} * info.tcpi_last_data_recv : 0);
}

bool is_of_a_client(const std::string& peer) {
  return !peer.empty() && !peer.starts_with("member-");
}

tcp::endpoint loopback(int port) {
  return {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)};
}

}  // namespace

/// The inside of the fault proxy: all of it runs on one thread.
namespace proxy {

/// What rules say, what they did, and what was passed on.
struct Rules {
  std::map<Link, LinkRule> in_force;
  std::map<Link, std::int64_t> touched;
  Traffic passed_on;
  std::vector<SlowAnswer> slow;  ///< of clients that said who they are
  std::set<int> ports_used;
  std::array<char, 1 << 16> chunk;  ///< for what is read at once

  [[nodiscard]] const LinkRule& of(const Link& link) const {
    static const LinkRule none;
    const auto found = in_force.find(link);
    return found == in_force.end() ? none : found->second;
  }
};

/// One connection: two sockets, and the bytes that wait in each direction. Lives on while one of
/// its operations is under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `rewriter` changes what the member says; nothing: the member says the right addresses itself.
  /// REQUIRES: `rules` and `ports` outlive it.
  Connection(tcp::socket client, int member, Rules& rules, const std::map<int, int>& ports,
             std::optional<HelloRewriter> rewriter)
      : rules_(rules),
        ports_(ports),
        rewriter_(std::move(rewriter)),
        client_(std::move(client)),
        server_(client_.get_executor()),
        link_{"", member},
        requests_{client_, server_, asio::steady_timer(client_.get_executor())},
        replies_{server_, client_, asio::steady_timer(client_.get_executor())},
        watch_([this](std::int64_t from_ns, std::int64_t to_ns) {
          if (is_of_a_client(link_.peer)) rules_.slow.push_back({link_, from_ns, to_ns});
        }) {}

  /// This is the sender, so no message has to say it, and ends are passed on as over a network. To
  /// be called before `start`, or never.
  void be_of(const std::string& sender) {
    known_ = passes_ends_ = true;
    link_.peer = sender;
    refuse_if_asked();
  }

  void start(const Endpoints& member) {
    if (over_) return;
    asio::async_connect(server_, member, [self = shared_from_this()](error_code error,
                                                                     const tcp::endpoint&) {
      if (error || self->over_) return self->reset();
      error_code ignored;
      self->connected_ = true;
      self->rules_.ports_used.insert(self->server_.local_endpoint(ignored).port());
      self->server_.non_blocking(true, ignored);
      self->client_.set_option(tcp::no_delay(true), ignored);
      self->server_.set_option(tcp::no_delay(true), ignored);
      self->write(self->requests_);
      self->read(self->replies_);
    });
    error_code ignored;
    client_.non_blocking(true, ignored);
    // What it asks counts from now on, whenever the member takes the connection.
    read(requests_);
  }

  [[nodiscard]] const Link& link() const { return link_; }
  [[nodiscard]] bool open() const { return !over_; }
  void rule_changed() {
    refuse_if_asked();
    write(requests_);
    write(replies_);
  }

  /// Ends both sides at once, like a host that does not know the connection.
  void reset() {
    for (auto* socket : {&client_, &server_}) {
      error_code ignored;
      socket->set_option(asio::socket_base::linger(true, 0), ignored);
    }
    close();
  }

  /// Reports what waits for an answer now.
  void report_open() { watch_.report_open(boot_ns()); }

 private:
  struct Chunk {
    SteadyClock::time_point due;
    std::string bytes;  ///< empty: the sender ended, and its end is passed on
  };
  struct Direction {
    tcp::socket& from;
    tcp::socket& to;
    asio::steady_timer timer;
    std::deque<Chunk> waiting = {};
    std::size_t bytes = 0;
    bool reading = false, writing = false, ended = false, finished = false;
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
    d.from.async_wait(tcp::socket::wait_read, [self = shared_from_this(), &d](error_code error) {
      d.reading = false;
      auto& chunk = self->rules_.chunk;
      const auto size = error ? 0 : d.from.read_some(asio::buffer(chunk), error);
      if (size > 0) {
        self->arrived(d, std::string(chunk.data(), size));
      } else if (error != asio::error::would_block) {
        d.ended = true;
        if (&d == &self->requests_) self->watch_.ended(boot_ns());
        if (self->passes_ends_) self->wait_for_its_turn(d, "");
      }
      self->write(d);
      self->read(d);
    });
  }

  void arrived(Direction& d, std::string bytes) {
    if (&d == &requests_ && !passes_ends_) watch_.asked(bytes, arrival_ns(client_));
    if (&d == &requests_ && !known_) identify(bytes);
    if (&d == &replies_ && rewriter_) bytes = rewriter_->pass(bytes);
    if (bytes.empty()) return;
    if (delay(d).count() > 0 || held(d)) ++rules_.touched[link_];
    wait_for_its_turn(d, std::move(bytes));
  }

  void wait_for_its_turn(Direction& d, std::string bytes) {
    auto due = SteadyClock::now() + delay(d);
    if (!d.waiting.empty()) due = std::max(due, d.waiting.back().due);
    d.bytes += bytes.size();
    d.waiting.push_back({due, std::move(bytes)});
  }

  /// Nothing goes to the member before the sender is known.
  void identify(const std::string& bytes) {
    first_ += bytes;
    if (first_.size() < 4) return;
    const auto size = message_size(first_);
    if (size && first_.size() < *size) return;
    known_ = true;
    link_.peer = size ? peer_of(first_, ports_) : "";
    first_.clear();
    refuse_if_asked();
  }

  void refuse_if_asked() {
    if (!rules_.of(link_).refuse) return;
    ++rules_.touched[link_];
    reset();
  }

  void write(Direction& d) {
    if (over_ || d.writing || !connected_) return;
    if (d.waiting.empty()) return d.ended && !passes_ends_ ? finish(d) : void();
    if (held(d)) return;
    if (d.waiting.front().due > SteadyClock::now()) return write_later(d);
    if (d.waiting.front().bytes.empty()) return pass_end(d);
    d.writing = true;
    const auto chunk = std::make_shared<Chunk>(std::move(d.waiting.front()));
    d.waiting.pop_front();
    asio::async_write(d.to, asio::buffer(chunk->bytes),
                      [self = shared_from_this(), &d, chunk](error_code error, std::size_t) {
                        d.writing = false;
                        d.bytes -= chunk->bytes.size();
                        if (error) {
                          self->receiver_gone(d);
                        } else {
                          self->passed_on(d, chunk->bytes);
                        }
                        self->write(d);
                        self->read(d);
                      });
  }

  void passed_on(const Direction& d, const std::string& bytes) {
    Traffic& sum = rules_.passed_on;
    const auto size = static_cast<std::int64_t>(bytes.size());
    (&d == &requests_ ? sum.to_members : sum.from_members) += size;
    if (&d == &replies_ && !passes_ends_) watch_.answered(bytes, boot_ns());
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
    d.finished = true;
    if (&d == &requests_) return reset();
    if (requests_.finished) close();
  }

  /// All bytes have been passed on. What a client left behind executes before its member's side is
  /// closed, as if only the network had forgotten the client.
  void finish(Direction& d) {
    if (&d == &replies_) return reset();
    d.timer.expires_after(kLeftBehind);
    d.timer.async_wait([self = shared_from_this()](error_code) { self->reset(); });
  }

  /// The other side may still speak.
  void pass_end(Direction& d) {
    d.waiting.clear();
    d.finished = true;
    error_code ignored;
    d.to.shutdown(tcp::socket::shutdown_send, ignored);
    if (requests_.finished && replies_.finished) close();
  }

  void close() {
    watch_.ended(boot_ns());
    over_ = true;
    for (auto* socket : {&client_, &server_}) {
      error_code ignored;
      socket->close(ignored);
    }
    requests_.timer.cancel();
    replies_.timer.cancel();
  }

  Rules& rules_;
  const std::map<int, int>& ports_;
  std::optional<HelloRewriter> rewriter_;
  tcp::socket client_, server_;
  Link link_;
  Direction requests_, replies_;
  std::string first_;
  RequestWatch watch_;
  bool connected_ = false, known_ = false, passes_ends_ = false, over_ = false;
};

}  // namespace proxy

/// All but the constructor's and the destructor's part runs on the one thread.
class FaultProxy::Inside {
 public:
  explicit Inside(Sender sender = {})
      : sender_(std::move(sender)),
        work_(asio::make_work_guard(context)),
        thread_([this] { context.run(); }) {}

  /// Runs it on the proxy's thread, and waits.
  template <typename Work>
  auto on_thread(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    asio::post(context, [&task] { task(); });
    return result.get();
  }

  ~Inside() {
    on_thread([this] {
      ends_ = true;
      for (const auto& c : connections) c->reset();
      connections.clear();
      listeners.clear();
    });
    work_.reset();
    context.stop();
    thread_.join();
  }

  struct Listener {
    tcp::acceptor acceptor;
    int member;
    Endpoints address;
    std::string rewritten_to = {};  ///< its own address, for clients; empty: nothing is changed
  };

  /// `name`: by which members call this one to clients; empty: by the right address.
  int listen_for(int member, Endpoints address, const std::string& name = "") {
    auto& listener = listeners.emplace_back(
        Listener{tcp::acceptor(context, loopback(0)), member, std::move(address)});
    listener.acceptor.non_blocking(true);
    const int port = listener.acceptor.local_endpoint().port();
    if (!name.empty()) {
      proxies[name] = listener.rewritten_to = "127.0.0.1:" + std::to_string(port);
    }
    accept(listener);
    return port;
  }

  /// As it is known here.
  [[nodiscard]] Link known(const Link& link) const {
    return {sender_ ? link.peer.substr(0, link.peer.find('/')) : link.peer, link.member};
  }

  template <typename Do>
  void for_each(const Link& link, Do act) {
    connections.remove_if([](const auto& c) { return !c->open(); });
    for (const auto& c : connections) {
      if (c->link() == link) act(*c);
    }
  }

  asio::io_context context{1};
  proxy::Rules rules;
  std::map<int, int> ports;  ///< member by its own port
  ProxyOf proxies;           ///< of the members with changed replies
  std::deque<Listener> listeners;  ///< references stay
  std::list<std::shared_ptr<proxy::Connection>> connections;

 private:
  /// Several each time, because on a busy machine one a turn would not suffice; not all, because
  /// clients that are refused may come back sooner than the last of them is accepted.
  void accept(Listener& listener) {
    listener.acceptor.async_wait(tcp::acceptor::wait_read, [this, &listener](error_code error) {
      // A connection may have arrived just before the end, and then its listener is gone.
      if (error == asio::error::operation_aborted || ends_) return;
      for (int most = 16; !error && most > 0; --most) {
        tcp::socket client(context);
        if (!listener.acceptor.accept(client, error)) connect(std::move(client), listener);
      }
      accept(listener);
    });
  }

  void connect(tcp::socket client, const Listener& listener) {
    std::optional<HelloRewriter> rewriter;
    if (!listener.rewritten_to.empty()) rewriter.emplace(proxies, listener.rewritten_to);
    std::optional<std::string> sender;
    if (sender_) {
      error_code gone;
      const int from = client.remote_endpoint(gone).port();
      sender = gone ? "" : sender_(from, listener.acceptor.local_endpoint().port());
    }
    connections.remove_if([](const auto& c) { return !c->open(); });
    connections.push_back(std::make_shared<proxy::Connection>(
        std::move(client), listener.member, rules, ports, std::move(rewriter)));
    if (sender) connections.back()->be_of(*sender);
    connections.back()->start(listener.address);
  }

  const Sender sender_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  bool ends_ = false;
  std::thread thread_;
};

FaultProxy::FaultProxy() : inside_(std::make_unique<Inside>()) {}
FaultProxy::FaultProxy(Sender sender) : inside_(std::make_unique<Inside>(std::move(sender))) {}
FaultProxy::~FaultProxy() = default;

/// A member with a name that is not known here is one that refuses connections.
int FaultProxy::add_member(const std::string& address) {
  return inside_->on_thread([&in = *inside_, &address] {
    const auto [host, port] = mongo::host_and_port(address);
    error_code unknown;
    Endpoints found;
    for (const auto& each : tcp::resolver(in.context).resolve(host, port, unknown)) {
      found.push_back(each.endpoint());
    }
    return in.listen_for(static_cast<int>(in.listeners.size()), std::move(found), address);
  });
}

int FaultProxy::add_port(int member, int port) {
  return inside_->on_thread([&in = *inside_, member, port] {
    in.ports[port] = member;
    return in.listen_for(member, {loopback(port)});
  });
}

int FaultProxy::size() {
  return inside_->on_thread([&in = *inside_] {
    return in.listeners.empty() ? 0 : in.listeners.back().member + 1;
  });
}

void FaultProxy::set_link_rule(const Link& between, const LinkRule& rule) {
  inside_->on_thread([&in = *inside_, link = inside_->known(between), &rule] {
    in.rules.in_force[link] = rule;
    in.for_each(link, [](proxy::Connection& c) { c.rule_changed(); });
  });
}

void FaultProxy::reset_link(const Link& between) {
  inside_->on_thread([&in = *inside_, link = inside_->known(between)] {
    in.for_each(link, [&](proxy::Connection& c) {
      c.reset();
      ++in.rules.touched[link];
    });
  });
}

std::int64_t FaultProxy::touched(const Link& between) {
  return inside_->on_thread([&] { return inside_->rules.touched[inside_->known(between)]; });
}

std::vector<SlowAnswer> FaultProxy::take_slow() {
  return inside_->on_thread([&in = *inside_] {
    for (const auto& c : in.connections) c->report_open();
    return std::exchange(in.rules.slow, {});
  });
}

Traffic FaultProxy::traffic() const {
  return inside_->on_thread([&in = *inside_] { return in.rules.passed_on; });
}

std::set<int> FaultProxy::ports_used() const {
  return inside_->on_thread([&] { return inside_->rules.ports_used; });
}

}  // namespace leasehold::sim::live
