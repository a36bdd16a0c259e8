#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/contend/load.hpp"
#include "bench/contend/samples.hpp"

namespace leasehold::bench {

/// The servers of live runs: the user's, or three members of its own.
class Servers {
 public:
  /// `round_trip`: added to each command by a proxy. REQUIRES: none if `uri` is not empty. Throws
  /// NoMongod, cli::UsageError for a URI at which no server answers.
  Servers(const std::string& uri, std::chrono::milliseconds round_trip);
  ~Servers();

  [[nodiscard]] const std::string& uri() const { return uri_; }
  /// Processor time of all members so far; -1: they are the user's.
  [[nodiscard]] double cpu_s();
  /// How long one majority write of the bare driver takes, on average over about a second.
  [[nodiscard]] double write_ms(const std::string& database) const;
  void drop(const std::string& database) const;

 private:
  struct Own;
  std::unique_ptr<Own> own_;
  std::string uri_;
};

/// One run of one strategy: the clients' processes, and what they measured. Throws
/// std::runtime_error if a client could not do its part.
[[nodiscard]] RunResult run_live(const Load& load, bool processes, Servers& servers,
                                 const std::string& database);

}  // namespace leasehold::bench
