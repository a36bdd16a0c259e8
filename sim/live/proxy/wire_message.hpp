#pragma once

#include <bson/bson.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Messages of MongoDB's wire protocol, as far as a proxy has to understand them.
namespace leasehold::sim::live {

/// Begins each message: its size, its number, the number that it answers, and its kind.
inline constexpr std::size_t kMessageHeader = 16;

namespace op_code {
inline constexpr std::int32_t reply = 1;  ///< of the old handshake, like `query`
inline constexpr std::int32_t query = 2004;
inline constexpr std::int32_t msg = 2013;
}  // namespace op_code

/// The size of the message that begins with these bytes, once its first four are there. Nothing for
/// a size that no server takes.
[[nodiscard]] std::optional<std::size_t> message_size(std::string_view bytes);

/// The sender of a connection's first message (OP_QUERY or OP_MSG): the application's name, or for
/// a member, known by its port, "member-N/beat" or "member-N/sync". Empty: it does not say.
[[nodiscard]] std::string peer_of(std::string_view message,
                                  const std::map<int, int>& member_by_port);

/// From the addresses by which a set's configuration names its members ("db1:27017") to those of
/// the proxies before them.
using ProxyOf = std::map<std::string, std::string>;

/// What a member says to a client, with the addresses of proxies in place of the members' own, so
/// that a driver that looks for the other members finds proxies.
///
/// Only replies to `hello` and `isMaster` are changed, by OP_MSG or the old OP_REPLY, also those
/// that come unasked one after the other: `hosts`, `passives`, `arbiters`, `primary` and `me`. A
/// member without a proxy is left out, and so is `compression`, because compressed bytes cannot be
/// read here. All else passes byte for byte.
///
/// One for each connection, and one thread. The bytes may be split anywhere.
///
///     HelloRewriter rewriter(proxies, "127.0.0.1:7001");
///     send_to_client(rewriter.pass(bytes_of_member));
class HelloRewriter {
 public:
  /// `me`: the address to which the client connected. REQUIRES: `proxies` outlives it.
  HelloRewriter(const ProxyOf& proxies, std::string me);

  /// Returns what may go on of these bytes and those before. A message that may be a reply to
  /// `hello` waits for its end; a message that is larger than such a reply does not.
  [[nodiscard]] std::string pass(std::string_view bytes);

 private:
  [[nodiscard]] std::string rewritten(std::string message) const;
  [[nodiscard]] std::string with_proxies(const bson_t& hello) const;
  [[nodiscard]] const std::string* proxy_of(const bson_iter_t& member) const;

  const ProxyOf& proxies_;
  const std::string me_;
  std::string waiting_;        ///< bytes of a message that is not whole yet
  std::size_t unchanged_ = 0;  ///< bytes of another message still to come
};

/// Measures how long the requests of one connection wait for their answers, in MongoDB's protocol.
/// The time in which a server waits by design, such as for news of a change stream, does not count.
/// Pure; times are in ns of any one clock.
class RequestWatch {
 public:
  /// Waits that are shorter are not reported. The shortest operation timeout is 100 ms, and an
  /// attempt with a new connection waits for three answers ...
  static constexpr std::int64_t kSlowFrom_ns = 25'000'000;
  /// ... but for those that end without an answer, because on a busy machine a request may need
  /// most of that timeout until it arrives here.
  static constexpr std::int64_t kGivenUpFrom_ns = 10'000'000;
  /// Then the driver sends nothing for so long: after an error it asks a server no sooner whether
  /// it is there (Server Discovery and Monitoring, minHeartbeatFrequencyMS).
  static constexpr std::int64_t kUnreachable_ns = 500'000'000;
  /// Called for each slow wait, with when it began and until when nothing could be sent.
  using Report = std::function<void(std::int64_t from_ns, std::int64_t to_ns)>;

  explicit RequestWatch(Report report) : report_(std::move(report)) {}

  /// What the client said arrived.
  void asked(std::string_view bytes, std::int64_t now_ns);
  /// What the server said was passed on to the client.
  void answered(std::string_view bytes, std::int64_t now_ns);
  /// Reports the waits so far of the requests that have no answer. They wait on.
  void report_open(std::int64_t now_ns);
  /// Nobody waits any more.
  void ended(std::int64_t now_ns);

 private:
  /// Divides bytes into messages, and keeps the beginning of each.
  class Messages {
   public:
    template <typename Each>
    void read(std::string_view bytes, const Each& each);

   private:
    std::string begin_;
    std::size_t seen_ = 0, size_ = 0;  ///< of this message; 0: its size is not known yet
    bool lost_ = false;                ///< these are no messages
  };
  struct Request {
    std::int32_t number = 0;
    std::int64_t from_ns = 0;  ///< an answer is due from then on
  };

  /// Whether it has waited for so long that it was reported.
  bool report(const Request& one, std::int64_t now_ns) const;

  const Report report_;
  Messages requests_, answers_;
  std::vector<Request> open_;  ///< few
};

}  // namespace leasehold::sim::live
