#include "model/lock_scopes.hpp"

#include <algorithm>

namespace leasehold::model {
namespace {

std::vector<NamedScope> make() {
  Scope three;
  three.clients = 3;
  three.failovers = false;
  Scope messages;
  messages.messages = 2;
  messages.failovers = messages.crashes = messages.losses = messages.ttl_passes = false;
  messages.late_starts = false;
  Scope mixed;
  mixed.dotnet = mixed.stale_primary = true;
  Scope hand_over;
  hand_over.hand_overs = true;
  // The longest first, so that two cores end together.
  return {{"three-clients", three, 23'888'550},
          {"two-messages", messages, 18'398'133},
          {"hand-over", hand_over, 16'330'746},
          {"two-clients", Scope{}, 13'676'446},
          {"mixed", mixed, 10'086'502}};
}

}  // namespace

const std::vector<NamedScope>& standard_scopes() {
  static const std::vector<NamedScope> all = make();
  return all;
}

const NamedScope* scope_named(std::string_view name) {
  const auto found = std::find_if(standard_scopes().begin(), standard_scopes().end(),
                                  [&](const NamedScope& s) { return s.name == name; });
  return found == standard_scopes().end() ? nullptr : &*found;
}

unsigned guarantees_named(std::string_view names) {
  unsigned bits = 0;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find_first_of(" ,"), names.size());
    const std::string_view word = names.substr(0, end);
    if (word.size() != 2 || word[0] != 'G' || word[1] < '1' || word[1] > '7') return 0;
    bits |= 1u << (word[1] - '0');
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return bits;
}

}  // namespace leasehold::model
