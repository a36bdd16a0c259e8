#pragma once

#include "properties/reference_checkers/world_questions.hpp"

namespace leasehold::properties {

/// The last write of an owner before another's, or before the document went; with its call.
struct Stay {
  const Event *put, *send, *ask, *next;
  std::string owner;
};

/// Of commands and documents as well.
class Questions : public WorldQuestions {
 public:
  using WorldQuestions::WorldQuestions;

  [[nodiscard]] const Event* reply_to(const Event& send) const;
  [[nodiscard]] const Event* sender(const Event& put) const;
  [[nodiscard]] const Event* put_of(const Event& granted) const;
  [[nodiscard]] const Event* change_after(const Event& change, bool only_puts = false) const;
  [[nodiscard]] const Event* change_before(const Event& change) const;
  /// The newest change of a name that has this time or an earlier one.
  [[nodiscard]] const Event* change_by(const std::string& name, std::int64_t order) const;
  [[nodiscard]] Events deletes_of(const std::string& owner) const;
  [[nodiscard]] Events hand_overs_of(const std::string& owner) const;
  [[nodiscard]] bool gives_away(const std::string& owner) const {
    return !hand_overs_of(owner).empty();
  }
  /// The answer to the delete, or to the release that passes on, which says that it made this
  /// change.
  [[nodiscard]] const Event* claimed_by(const Event& change) const;
  [[nodiscard]] std::string sent_for(const Event& reply) const;
  /// Whether this change can have been the owner's own delete, or it gave the lock to another.
  [[nodiscard]] bool passed_on(const std::string& owner, const Event& put) const;
  [[nodiscard]] bool gave_up(const std::string& owner, const Event* next) const;
  [[nodiscard]] double executed_by(const Event& put) const;
  [[nodiscard]] double executed_from(const Event& put) const;
  [[nodiscard]] std::vector<Stay> stays() const;
  /// When all workers of this process were taken.
  [[nodiscard]] Delays congestions(const std::string& process) const;
  [[nodiscard]] Delays of_worker(const std::string& process) const {
    return together({of_process(process), congestions(process)});
  }
  /// What was due then is sent until then; what has waited for two leases is not sent.
  [[nodiscard]] double sends_until(const Event& ask, double due) const {
    return std::min(runs_until(ask.process), due + 2 * own_lease(ask));
  }
};

}  // namespace leasehold::properties
