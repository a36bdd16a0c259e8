#include "sim/live/named_writes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;

struct Sent {
  std::string lock_id;
  std::int64_t order = 0;  ///< of its write, if it was acknowledged
  bool unanswered = true;
};

/// The writing commands of each owner, as they were sent.
std::map<std::string, std::vector<Sent>> sent_by_owner(const model::History& history) {
  std::map<std::string, std::vector<Sent>> sent;
  std::map<std::pair<std::string, std::int64_t>, std::pair<std::string, std::size_t>> commands;
  for (const Event& e : history) {
    const std::pair command{e.process, e.command};
    if (e.kind == Kind::send && (e.detail == "acquire" || e.detail == "extend")) {
      auto& of_owner = sent[e.owner];
      commands[command] = {e.owner, of_owner.size()};
      of_owner.push_back({e.lock_id});
    } else if (e.kind == Kind::reply && commands.contains(command)) {
      const auto& [owner, index] = commands.at(command);
      Sent& one = sent.at(owner).at(index);
      one.unanswered = e.outcome == "unknown";
      if (e.outcome == "done" && e.matched > 0) one.order = e.order;
    }
  }
  return sent;
}

}  // namespace

void name_writes(model::History& history) {
  auto sent = sent_by_owner(history);
  std::vector<Event*> puts;
  for (Event& e : history) {
    if (e.kind == Kind::put) puts.push_back(&e);
  }
  std::sort(puts.begin(), puts.end(),
            [](const Event* a, const Event* b) { return a->order < b->order; });
  for (Event* put : puts) {
    const auto owner = sent.find(put->lock_id);
    if (owner == sent.end()) continue;
    auto& of_owner = owner->second;
    auto found = std::find_if(of_owner.begin(), of_owner.end(),
                              [&](const Sent& s) { return s.order == put->order; });
    if (found == of_owner.end()) {
      found = std::find_if(of_owner.begin(), of_owner.end(),
                           [](const Sent& s) { return s.unanswered; });
    }
    if (found == of_owner.end()) continue;
    found->unanswered = false;
    put->lock_id = found->lock_id;
  }
}

}  // namespace leasehold::sim::live
