#include "sim/live/oplog/attribute_writes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;

struct Sent {
  std::string lock_id, owner, name;
  std::int64_t order = 0;  ///< the order of its write, if that was acknowledged
  bool unanswered = true;
};

/// The writing commands, as they were sent.
std::vector<Sent> sent_commands(const model::History& history) {
  std::vector<Sent> sent;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> commands;
  for (const Event& e : history) {
    const std::pair command{e.process, e.command};
    if (e.kind == Kind::send && (e.verb == "acquire" || e.verb == "extend")) {
      commands[command] = sent.size();
      sent.push_back({e.lock_id, e.owner, e.name});
    } else if (e.kind == Kind::reply && commands.contains(command)) {
      Sent& one = sent.at(commands.at(command));
      one.unanswered = e.outcome == "unknown";
      if (e.outcome == "done" && e.matched > 0) one.order = e.order;
    }
  }
  return sent;
}

}  // namespace

void attribute_writes(model::History& history) {
  auto sent = sent_commands(history);
  std::vector<Event*> puts;
  for (Event& e : history) {
    if (e.kind == Kind::put) puts.push_back(&e);
  }
  std::sort(puts.begin(), puts.end(),
            [](const Event* a, const Event* b) { return a->order < b->order; });
  for (Event* put : puts) {
    const auto may_be = [put](const Sent& s) {
      return put->lock_id.empty() ? s.name == put->name : s.owner == put->lock_id;
    };
    auto found = std::find_if(sent.begin(), sent.end(),
                              [&](const Sent& s) { return may_be(s) && s.order == put->order; });
    if (found == sent.end()) {
      found = std::find_if(sent.begin(), sent.end(),
                           [&](const Sent& s) { return may_be(s) && s.unanswered; });
    }
    if (found == sent.end()) continue;
    found->unanswered = false;
    put->lock_id = found->lock_id;
  }
}

}  // namespace leasehold::sim::live
