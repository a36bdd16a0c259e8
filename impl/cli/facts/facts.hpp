#pragma once

#include <string>
#include <vector>

#include "cli/facts/trial_site.hpp"

/// The facts about servers that the lock rests on, each with a trial for any replica set: without a
/// fault, by a role that may write, on a collection of its own.
namespace leasehold::cli {

/// `says`, if it does not fail; then `means` is what that does to the lock.
struct Fact {
  const char* name;
  const char* says;
  const char* means;
  bool needed;  ///< a guarantee rests on it; else only news or the removal of documents
  /// What was seen. Throws Fails or NotTried. Null: no trial without a fault.
  std::string (*trial)(TrialSite& site);
};

/// By what they are about.
[[nodiscard]] std::vector<Fact> facts_of_answers();
[[nodiscard]] std::vector<Fact> facts_of_attempts();
[[nodiscard]] std::vector<Fact> facts_of_writes();
[[nodiscard]] std::vector<Fact> facts_of_time();
[[nodiscard]] std::vector<Fact> facts_of_news();
[[nodiscard]] std::vector<Fact> facts_of_removal();
[[nodiscard]] std::vector<Fact> facts_of_faults();  ///< without a trial
/// All, in the order in which they are tried.
[[nodiscard]] const std::vector<Fact>& facts();

struct Finding {
  enum class Is { holds, fails, not_tried };
  Is is;
  std::string seen;       ///< or why it was not tried
  bool prevents = false;  ///< the certificate, because the fact is needed and could have been tried
};

/// Throws mongo::NoReply, and what the connection throws.
[[nodiscard]] Finding try_fact(const Fact& fact, TrialSite& site);

}  // namespace leasehold::cli
