#pragma once

// One thread runs it all, and thread sanitizers do not know fences.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

// clang-format off
#include <utility>  // which Boost 1.74 forgets
#include <array>
#include <boost/asio.hpp>
// clang-format on
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/faults/link_rules.hpp"
#include "sim/live/proxy/fault_proxy.hpp"
#include "sim/live/proxy/hello_rewriter.hpp"
#include "sim/live/proxy/request_watch.hpp"

/// The inside of the fault proxy: all of it runs on one thread.
namespace leasehold::sim::live::proxy {

using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

/// What rules say, what they did, and what was passed on.
struct Rules {
  std::map<Link, LinkRule> in_force;
  std::map<Link, std::int64_t> touched;
  std::map<Link, Traffic> passed_on;
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
  Connection(boost::asio::ip::tcp::socket client, int member, Rules& rules,
             const std::map<int, int>& ports, std::optional<HelloRewriter> rewriter);

  /// This is the sender, so no message has to say it, and ends are passed on as over a network. To
  /// be called before `start`, or never.
  void be_of(const std::string& sender);
  void start(const Endpoints& member);
  [[nodiscard]] const Link& link() const { return link_; }
  [[nodiscard]] bool open() const { return !over_; }
  void rule_changed();
  /// Ends both sides at once, like a host that does not know the connection.
  void reset();
  /// Reports what waits for an answer now.
  void report_open();

 private:
  struct Chunk {
    std::chrono::steady_clock::time_point due;
    std::string bytes;  ///< empty: the sender ended, and its end is passed on
  };
  struct Direction {
    boost::asio::ip::tcp::socket& from;
    boost::asio::ip::tcp::socket& to;
    boost::asio::steady_timer timer;
    std::deque<Chunk> waiting = {};
    std::size_t bytes = 0;
    bool reading = false, writing = false, ended = false, finished = false;
  };

  [[nodiscard]] bool held(const Direction& d) const;
  [[nodiscard]] std::chrono::milliseconds delay(const Direction& d) const;
  void read(Direction& d);
  void arrived(Direction& d, std::string bytes);
  void wait_for_its_turn(Direction& d, std::string bytes);
  void identify(const std::string& bytes);
  void refuse_if_asked();
  void write(Direction& d);
  void passed_on(const Direction& d, const std::string& bytes);
  void write_later(Direction& d);
  void receiver_gone(Direction& d);
  void finish(Direction& d);
  void pass_end(Direction& d);
  void close();

  Rules& rules_;
  const std::map<int, int>& ports_;
  std::optional<HelloRewriter> rewriter_;
  boost::asio::ip::tcp::socket client_, server_;
  Link link_;
  Direction requests_, replies_;
  std::string first_;
  RequestWatch watch_;
  bool connected_ = false, known_ = false, passes_ends_ = false, over_ = false;
};

}  // namespace leasehold::sim::live::proxy
