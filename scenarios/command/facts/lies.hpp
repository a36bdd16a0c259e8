#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/facts/trial_site.hpp"

/// Servers that break one fact: what stands between the trials and a real server, and lies.
namespace leasehold::lab {

using mongo::Json;

/// One command on its way to a real server.
struct Question {
  const Json& command;
  std::uint32_t member;
  /// The real reply to the command as it is.
  std::function<Json()> reply;
  /// The real reply of the primary to another command on the trials' database.
  std::function<Json(const Json& command)> ask;

  [[nodiscard]] bool is(const char* name) const { return command.begin().key() == name; }
};
/// What is said instead; nothing: the truth. Called by several threads.
using Teller = std::function<std::optional<Json>(const Question&)>;

struct Lie {
  const char* name;
  const char* found_by;  ///< the fact that has to fail
  Teller (*teller)();    ///< of one set
  const char* refused = nullptr;  ///< what the lock says of it; null: it does not notice
  const char* mutant = nullptr;   ///< that makes the same error in properties/mutants
};
[[nodiscard]] std::vector<Lie> lies_about_attempts();
[[nodiscard]] std::vector<Lie> lies_about_answers();
[[nodiscard]] std::vector<Lie> lies_about_time();

/// Connections to the set of this URI whose every reply is what `teller` says.
[[nodiscard]] cli::Connect lying_about(const std::string& uri, Teller teller);

}  // namespace leasehold::lab
