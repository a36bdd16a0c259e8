#include "sim/live/oplog/commit_point.hpp"

namespace leasehold::sim::live {
namespace {

// Members are asked ten times a second. The asking thread may not run for a while and hear one of
// them first, so one answer shows nothing.
constexpr int kShown = 3;
constexpr int kWithoutPrimary = 6;

}  // namespace

bool CommitPoint::proven() const { return shown_ >= kShown || without_primary_ >= kWithoutPrimary; }

void CommitPoint::hear(const MemberAnswer& answer) {
  if (!answer.election.empty() && answer.election >= election_) return hear_primary(answer);
  if (!election_.empty()) ++without_primary_;
}

void CommitPoint::hear_primary(const MemberAnswer& answer) {
  if (wanted_ && answer.committed < *wanted_) {
    // No member was primary, or its writes had no majority: one span.
    shown_ = proven() ? kShown : shown_ + 1;
  } else {
    if (proven()) over_.push_back({since_ns_, answer.answered_ns});
    shown_ = 0;
    since_ns_ = answer.asked_ns;
    wanted_.reset();
    if (answer.committed < answer.written) wanted_ = answer.written;
  }
  election_ = answer.election;
  without_primary_ = 0;
}

std::vector<CommitPoint::Span> CommitPoint::spans(std::int64_t now_ns) const {
  auto all = over_;
  if (proven()) all.push_back({since_ns_, now_ns});
  return all;
}

}  // namespace leasehold::sim::live
