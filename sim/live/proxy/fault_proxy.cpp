#include "sim/live/proxy/fault_proxy.hpp"

#include <deque>
#include <future>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "mongo/client/uri.hpp"
#include "sim/live/proxy/proxied_connection.hpp"

namespace leasehold::sim::live {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using proxy::Connection;
using proxy::Endpoints;
using proxy::Rules;

tcp::endpoint loopback(int port) {
  return {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)};
}

}  // namespace

/// All but the constructor's and the destructor's part runs on the one thread.
class FaultProxy::Inside {
 public:
  explicit Inside(Sender sender = {})
      : sender_(std::move(sender)),
        work_(asio::make_work_guard(context_)),
        thread_([this] { context_.run(); }) {}

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
      ends_ = true;
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
    return listen_for(member, {loopback(port)}, false);
  }

  int add_port(int member, int port) { return listen_for(member, {loopback(port)}, false); }

  /// A member with a name that is not known here is one that refuses connections.
  int add_member(const std::string& address) {
    const auto [host, port] = mongo::host_and_port(address);
    error_code unknown;
    Endpoints found;
    for (const auto& each : tcp::resolver(context_).resolve(host, port, unknown)) {
      found.push_back(each.endpoint());
    }
    const int member = static_cast<int>(listeners_.size());
    const int listens = listen_for(member, std::move(found), true);
    proxies_[address] = "127.0.0.1:" + std::to_string(listens);
    return listens;
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

  std::vector<SlowAnswer> take_slow() {
    for (const auto& c : connections_) c->report_open();
    return std::exchange(rules_.slow, {});
  }

  int connections(const Link& link) {
    int count = 0;
    for_each(link, [&count](Connection&) { ++count; });
    return count;
  }

  [[nodiscard]] Traffic traffic(const Link& link) const {
    const auto found = rules_.passed_on.find(link);
    return found == rules_.passed_on.end() ? Traffic() : found->second;
  }

  [[nodiscard]] Traffic traffic() const {
    Traffic sum;
    for (const auto& [link, each] : rules_.passed_on) {
      sum.to_members += each.to_members;
      sum.from_members += each.from_members;
    }
    return sum;
  }

  [[nodiscard]] std::set<int> ports_used() const { return rules_.ports_used; }

 private:
  struct Listener {
    tcp::acceptor acceptor;
    int member;
    Endpoints address;
    std::string rewritten_to = {};  ///< its own address, for clients; empty: nothing is changed
  };

  int listen_for(int member, Endpoints address, bool rewrites) {
    auto& listener = listeners_.emplace_back(
        Listener{tcp::acceptor(context_, loopback(0)), member, std::move(address)});
    listener.acceptor.non_blocking(true);
    const int port = listener.acceptor.local_endpoint().port();
    if (rewrites) listener.rewritten_to = "127.0.0.1:" + std::to_string(port);
    accept(listener);
    return port;
  }

  template <typename Do>
  void for_each(const Link& link, Do act) {
    connections_.remove_if([](const auto& c) { return !c->open(); });
    for (const auto& c : connections_) {
      if (c->link() == link) act(*c);
    }
  }

  /// Several each time, because on a busy machine one a turn would not suffice; not all, because
  /// clients that are refused may come back sooner than the last of them is accepted.
  void accept(Listener& listener) {
    listener.acceptor.async_wait(tcp::acceptor::wait_read, [this, &listener](error_code error) {
      // A connection may have arrived just before the end, and then its listener is gone.
      if (error == asio::error::operation_aborted || ends_) return;
      for (int most = 16; !error && most > 0; --most) {
        tcp::socket client(context_);
        if (!listener.acceptor.accept(client, error)) connect(std::move(client), listener);
      }
      accept(listener);
    });
  }

  void connect(tcp::socket client, const Listener& listener) {
    std::optional<HelloRewriter> rewriter;
    if (!listener.rewritten_to.empty()) rewriter.emplace(proxies_, listener.rewritten_to);
    std::optional<std::string> sender;
    if (sender_) {
      error_code gone;
      const int from = client.remote_endpoint(gone).port();
      sender = gone ? "" : sender_(from, listener.acceptor.local_endpoint().port());
    }
    connections_.remove_if([](const auto& c) { return !c->open(); });
    connections_.push_back(std::make_shared<Connection>(
        std::move(client), listener.member, rules_, ports_, std::move(rewriter)));
    if (sender) connections_.back()->be_of(*sender);
    connections_.back()->start(listener.address);
  }

  const Sender sender_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Rules rules_;
  std::map<int, int> ports_;  ///< member by its own port
  ProxyOf proxies_;           ///< of the members with changed replies
  std::deque<Listener> listeners_;  ///< references stay
  std::list<std::shared_ptr<Connection>> connections_;
  bool ends_ = false;
  std::thread thread_;
};

FaultProxy::FaultProxy() : inside_(std::make_unique<Inside>()) {}
FaultProxy::FaultProxy(Sender sender) : inside_(std::make_unique<Inside>(std::move(sender))) {}
FaultProxy::~FaultProxy() = default;

int FaultProxy::add_member(int port) {
  return inside_->on_thread([&] { return inside_->add_member(port); });
}
int FaultProxy::add_member(const std::string& address) {
  return inside_->on_thread([&] { return inside_->add_member(address); });
}
int FaultProxy::add_port(int member, int port) {
  return inside_->on_thread([&] { return inside_->add_port(member, port); });
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
std::vector<SlowAnswer> FaultProxy::take_slow() {
  return inside_->on_thread([&] { return inside_->take_slow(); });
}
int FaultProxy::connections(const std::string& peer, int member) const {
  return inside_->on_thread([&] { return inside_->connections({peer, member}); });
}
Traffic FaultProxy::traffic(const std::string& peer, int member) const {
  return inside_->on_thread([&] { return inside_->traffic({peer, member}); });
}
Traffic FaultProxy::traffic() const {
  return inside_->on_thread([&] { return inside_->traffic(); });
}
std::set<int> FaultProxy::ports_used() const {
  return inside_->on_thread([&] { return inside_->ports_used(); });
}

}  // namespace leasehold::sim::live
