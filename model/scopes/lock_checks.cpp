#include "model/scopes/lock_checks.hpp"

#include "model/abstract/lock_questions.hpp"
#include "model/abstract/lock_violation.hpp"

namespace leasehold::model {

using namespace lock_world;

bool resource_takes(const World& w, int client, const Scope& scope) {
  const Client& c = w.client[client];
  return tokens_are_orders(scope) ? c.order >= w.top_order : c.token >= w.top_token;
}

const char* broken_in(const World& w, const Scope& scope) {
  if (w.violation != kNoViolation) return kBroken[w.violation].text;
  const auto looks_at = [&](Check guarantee) { return scope.guarantees.contains(guarantee); };
  int holders = 0;
  // The package's client promises nothing of its own handle.
  const int ours = scope.clients - (scope.dotnet ? 1 : 0);
  for (int i = 0; i < ours; ++i) {
    const Client& c = w.client[i];
    const bool holding = is_held_by(w, i, scope);
    holders += holding ? 1 : 0;
    if (holding && c.due == 0 && looks_at(Check::G5)) return kBroken[kHeldTooLong].text;
    if (c.phase != kHeld || c.order >= w.top_order || !looks_at(Check::G3)) continue;
    // A later grant arrived: its holder may have written, so this client's write has to be refused.
    // If this client still holds, the grant is at fault.
    if (resource_takes(w, i, scope)) return kBroken[kFenceOrder].text;
    if (holding && c.lease > 0 && looks_at(Check::G1)) return kBroken[kFenceRefused].text;
  }
  return holders > 1 && looks_at(Check::G2) ? "G2: held() was true for two clients at once"
                                                : nullptr;
}

const std::vector<std::string_view>& sometimes() {
  static const std::vector<std::string_view> names{
      "a client holds",
      "a holder is past its lease",
      "a later grant arrived before an earlier lease ended",
      "a write may be rolled back",
      "a dead holder was observed",
      "the queue has an entry",
      "a waiter is notified of a grant"};
  return names;
}

std::uint64_t reached_in(const World& w, const Scope& scope) {
  unsigned bits = 0;
  // Without a branch, because it would often be mispredicted.
  const auto add = [&bits](unsigned bit, bool is) { bits |= is ? 1u << bit : 0u; };
  add(3, w.dirty != 0);
  add(5, w.document.waiting[0].owner != 0);
  for (int i = 0; i < scope.clients; ++i) {
    const Client& c = w.client[i];
    const bool holds = c.phase == kHeld;
    add(0, holds & (c.lease > 0));
    add(1, holds & (c.lease == 0));
    add(2, holds & (c.order < w.top_order));
    for (const Message& m : c.message) add(4, (m.slot == kAcquire) & (m.seen_owner != 0));
    add(6, (c.notice.owner != 0) & (c.notice.committed != 0));
  }
  return bits;
}

}  // namespace leasehold::model
