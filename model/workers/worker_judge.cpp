#include "model/workers/worker_judge.hpp"

#include <utility>

#include "model/history/from_outside.hpp"
#include "model/workers/worker_digest.hpp"

namespace leasehold::model {
namespace {

Finding check_protocol(const Digest& d) {
  Finding f = finding(Check::protocol);
  for (Index i = 0; i < d.history->size(); ++i) {
    const Event& e = d.at(i);
    if (e.kind == Kind::start) ++f.checked;
    if (e.kind != Kind::protocol) continue;
    const auto why = e.process + ": " + e.message;
    if (e.outcome != kNeverReady) {
      violate(f, why, {i});
    } else {
      f.leave_open(Open::other, why);
    }
  }
  return f;
}

bool is_promised(const Promises& p, Check guarantee) {
  switch (guarantee) {
    case Check::G3:
    case Check::G4: return p.tokens == Promises::Tokens::rising;
    case Check::G5: return p.tells_loss;
    case Check::G7: return p.waits != Promises::Waits::none || p.passes_on_leases;
    case Check::G8: return p.passes_on_leases.has_value();
    default: return true;
  }
}

/// Why it is not checked; empty: it is checked.
std::string why_unchecked(const Promises& p, Check guarantee) {
  const bool unseen = kByDocuments.contains(guarantee) && !p.document;
  if (unseen || guarantee == Check::G9) return "not checked";
  const bool undated = guarantee == Check::G8 && p.document->expires.empty();
  return undated ? "not checked (document.expires is missing)" : "";
}

}  // namespace

std::vector<Finding> judge_worker(const History& history, const Promises& promises) {
  const Digest d = worker_digest(history, promises);
  using Checker = Finding (*)(const Digest&);
  constexpr std::pair<Check, Checker> kCheckers[] = {
      {Check::G1, check_leases},      {Check::G2, check_exclusion},
      {Check::G3, check_fence},       {Check::G4, check_token_order},
      {Check::G5, check_loss_notified}, {Check::G6, check_ownership},
      {Check::G7, check_liveness},    {Check::G8, check_cleanup}};
  std::vector<Finding> findings;
  for (const auto& [check, checker] : kCheckers) {
    if (!is_promised(promises, check) || !why_unchecked(promises, check).empty()) continue;
    Finding f = checker(d);
    if (!d.oplog_read && kByDocuments.contains(check)) {
      f.leave_open(Open::unread, "the server's oplog was not read to its end");
    }
    findings.push_back(std::move(f));
  }
  findings.push_back(check_protocol(d));
  for (Finding& f : findings) {
    if (f.checked == 0) f.leave_open(Open::never_tested, kNeverTested);
  }
  return findings;
}

std::vector<std::string> left_out(const Promises& promises) {
  std::vector<std::string> all;
  for (const Check guarantee : kPromised) {
    const auto why =
        is_promised(promises, guarantee) ? why_unchecked(promises, guarantee) : "not promised";
    if (!why.empty()) all.push_back(std::string(to_string(guarantee)) + " " + why);
  }
  return all;
}

}  // namespace leasehold::model
