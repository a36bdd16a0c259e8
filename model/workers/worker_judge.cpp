#include "model/workers/worker_judge.hpp"

#include <algorithm>

#include "model/history/from_outside.hpp"
#include "model/workers/worker_checkers.hpp"
#include "model/workers/worker_documents.hpp"

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

/// The findings by the oplog, as far as it was read.
void add_by_documents(std::vector<Finding>& findings, const Digest& d, const Promises& promises,
                      const WorkerCalls& calls) {
  const auto documents = worker_documents(d, calls);
  for (Finding& f : findings) {
    if (f.check == Check::G4) check_document_tokens(documents, f);
  }
  findings.push_back(check_document_leases(d, calls, documents));
  findings.push_back(check_document_owners(d, calls, documents));
  if (why_unchecked(promises, Check::G8).empty() && is_promised(promises, Check::G8)) {
    findings.push_back(check_document_ends(d, promises, documents));
  }
  const auto& all = *d.history;
  const bool unread = std::any_of(all.begin(), all.end(), [](const Event& e) {
    return e.kind == Kind::reread && e.outcome == "unread";
  });
  for (Finding& f : findings) {
    if (!unread || !kByDocuments.contains(f.check)) continue;
    f.leave_open(Open::unread, "the server's oplog was not read to its end");
  }
}

}  // namespace

std::vector<Finding> judge_worker(const History& history, const Promises& promises) {
  Digest d = digest(history);
  believe_grants(d);
  const auto calls = worker_calls(d);
  std::vector<Finding> findings{check_exclusion(d)};
  check_grants_exclusive(calls, findings.front());
  if (is_promised(promises, Check::G4)) {
    findings.push_back(check_worker_fence(d, calls));
    findings.push_back(check_worker_tokens(calls));
  }
  if (is_promised(promises, Check::G5)) findings.push_back(check_worker_losses(d, calls));
  if (is_promised(promises, Check::G7)) {
    findings.push_back(check_worker_waits(d, promises, calls));
  }
  if (promises.document) add_by_documents(findings, d, promises, calls);
  findings.push_back(check_protocol(d));
  std::stable_sort(
      findings.begin(), findings.end(),
      [](const Finding& a, const Finding& b) { return a.check < b.check; });
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
