#include "sim/live/proxy/proxied_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "runtime/threads/clock.hpp"
#include "sim/live/proxy/wire_message.hpp"

namespace leasehold::sim::live::proxy {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

/// A direction stops reading when this much waits in it.
constexpr std::size_t kMostWaiting = 1 << 23;
/// How long a member may go on with what a client left behind.
constexpr std::chrono::seconds kLeftBehind{3};

/// By the clock of histories.
std::int64_t now_ns() {
  static const auto clock = runtime::boottime_clock();
  return clock->now().time_since_epoch().count();
}

/// When the last bytes that this socket has received arrived: a proxy that many keep busy reads
/// them later. The kernel counts in steps of a few ms.
std::int64_t arrival_ns(tcp::socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool known = getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
  return now_ns() - (known ? std::int64_t{1'000'000} * info.tcpi_last_data_recv : 0);
}

bool is_of_a_client(const std::string& peer) {
  return !peer.empty() && !peer.starts_with("member-");
}

}  // namespace

Connection::Connection(tcp::socket client, int member, Rules& rules,
                       const std::map<int, int>& ports,
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

void Connection::be_of(const std::string& sender) {
  known_ = passes_ends_ = true;
  link_.peer = sender;
  refuse_if_asked();
}

void Connection::refuse_if_asked() {
  if (!rules_.of(link_).refuse) return;
  ++rules_.touched[link_];
  reset();
}

void Connection::start(const Endpoints& member) {
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

void Connection::rule_changed() {
  refuse_if_asked();
  write(requests_);
  write(replies_);
}

void Connection::reset() {
  for (auto* socket : {&client_, &server_}) {
    error_code ignored;
    socket->set_option(asio::socket_base::linger(true, 0), ignored);
  }
  close();
}

void Connection::report_open() { watch_.report_open(now_ns()); }

void Connection::close() {
  watch_.ended(now_ns());
  over_ = true;
  for (auto* socket : {&client_, &server_}) {
    error_code ignored;
    socket->close(ignored);
  }
  requests_.timer.cancel();
  replies_.timer.cancel();
}

bool Connection::held(const Direction& d) const {
  const LinkRule& rule = rules_.of(link_);
  return &d == &requests_ ? rule.hold_requests || (!known_ && !d.ended) : rule.hold_replies;
}

std::chrono::milliseconds Connection::delay(const Direction& d) const {
  const LinkRule& rule = rules_.of(link_);
  return &d == &requests_ ? rule.delay_requests : rule.delay_replies;
}

void Connection::read(Direction& d) {
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
      if (&d == &self->requests_) self->watch_.ended(now_ns());
      if (self->passes_ends_) self->wait_for_its_turn(d, "");
    }
    self->write(d);
    self->read(d);
  });
}

void Connection::arrived(Direction& d, std::string bytes) {
  if (&d == &requests_ && !passes_ends_) watch_.asked(bytes, arrival_ns(client_));
  if (&d == &requests_ && !known_) identify(bytes);
  if (&d == &replies_ && rewriter_) bytes = rewriter_->pass(bytes);
  if (bytes.empty()) return;
  if (delay(d).count() > 0 || held(d)) ++rules_.touched[link_];
  wait_for_its_turn(d, std::move(bytes));
}

void Connection::wait_for_its_turn(Direction& d, std::string bytes) {
  auto due = SteadyClock::now() + delay(d);
  if (!d.waiting.empty()) due = std::max(due, d.waiting.back().due);
  d.bytes += bytes.size();
  d.waiting.push_back({due, std::move(bytes)});
}

/// Nothing goes to the member before the sender is known.
void Connection::identify(const std::string& bytes) {
  first_ += bytes;
  if (first_.size() < 4) return;
  const auto size = message_size(first_);
  if (size && first_.size() < *size) return;
  known_ = true;
  link_.peer = size ? peer_of(first_, ports_) : "";
  first_.clear();
  refuse_if_asked();
}

void Connection::write(Direction& d) {
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

void Connection::passed_on(const Direction& d, const std::string& bytes) {
  Traffic& sum = rules_.passed_on[link_];
  const auto size = static_cast<std::int64_t>(bytes.size());
  (&d == &requests_ ? sum.to_members : sum.from_members) += size;
  if (&d == &replies_ && !passes_ends_) watch_.answered(bytes, now_ns());
}

void Connection::write_later(Direction& d) {
  d.timer.expires_at(d.waiting.front().due);
  d.timer.async_wait([self = shared_from_this(), &d](error_code error) {
    if (!error) self->write(d);
  });
}

/// Requests of a client that is gone still go to the member; a member that is gone ends all.
void Connection::receiver_gone(Direction& d) {
  d.waiting.clear();
  d.bytes = 0;
  d.finished = true;
  if (&d == &requests_) return reset();
  if (requests_.finished) close();
}

/// All bytes have been passed on. What a client left behind executes before its member's side is
/// closed, as if only the network had forgotten the client.
void Connection::finish(Direction& d) {
  if (&d == &replies_) return reset();
  d.timer.expires_after(kLeftBehind);
  d.timer.async_wait([self = shared_from_this()](error_code) { self->reset(); });
}

/// The other side may still speak.
void Connection::pass_end(Direction& d) {
  d.waiting.clear();
  d.finished = true;
  error_code ignored;
  d.to.shutdown(tcp::socket::shutdown_send, ignored);
  if (requests_.finished && replies_.finished) close();
}

}  // namespace leasehold::sim::live::proxy
