#pragma once

#include <bson/bson.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace leasehold::sim::live {

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
  [[nodiscard]] bool begins_a_candidate() const;
  void collect(std::string_view& bytes, std::size_t size);
  [[nodiscard]] std::string rewritten(std::string message) const;
  [[nodiscard]] std::string with_proxies(const bson_t& hello) const;
  [[nodiscard]] const std::string* proxy_of(const bson_iter_t& member) const;

  const ProxyOf& proxies_;
  const std::string me_;
  std::string message_;        ///< the bytes received so far
  std::size_t unchanged_ = 0;  ///< bytes of another message still to come
};

}  // namespace leasehold::sim::live
