#include <algorithm>
#include <unordered_map>

#include "model/workers/worker_checkers.hpp"

namespace leasehold::model {
namespace {

using Writers = std::map<std::pair<std::string, std::int64_t>, const WorkerCall*>;

/// The call that wrote to the resource, by process and number of the write.
Writers writers(const Digest& d, const WorkerCalls& calls) {
  Writers by_session, out;
  for (const auto& [name, all] : calls) {
    for (const WorkerCall& call : all) by_session[{*call.process, call.ask->session}] = &call;
  }
  for (const Index i : d.writes) {
    const Event& write = d.at(i);
    const auto call = by_session.find({write.process, write.session});
    if (call == by_session.end() || call->second->granted == nullptr) continue;
    out[{write.process, write.write_number}] = call->second;
  }
  return out;
}

const WorkerCall* writer_of_write(const Writers& writers, const Event& e) {
  const auto found = writers.find({e.process, e.write_number});
  return found == writers.end() ? nullptr : found->second;
}

/// Compares the server's order of accepted writes with the order of the holders.
void check_accepted(const Digest& d, const Writers& writers, Finding& f) {
  struct Latest {
    const WorkerCall* call;
    Index stored;
  };
  std::map<std::string, Latest> latest;  // by name: the write of the call that began last
  for (const Index i : d.stored) {
    const WorkerCall* call = writer_of_write(writers, d.at(i));
    if (call == nullptr) continue;
    const auto [before, first] = latest.try_emplace(d.at(i).name, Latest{call, i});
    if (first) continue;
    if (before->second.call->after(*call)) {
      violate(f,
              "resource '" + d.at(i).name + "' accepted a write of " + *call->process +
                  " after one of a later holder",
              {call->session->granted, before->second.stored, i});
    } else if (call->ask->at_ns > before->second.call->ask->at_ns) {
      before->second = {call, i};
    }
  }
}

/// Whether a call that may be a later holder may have written a higher token before.
bool may_be_overtaken(const Digest& d, const Writers& writers, const WorkerCall& call,
                      const Event& write) {
  return std::any_of(d.writes.begin(), d.writes.end(), [&](Index i) {
    const Event& other = d.at(i);
    if (other.name != write.name || other.token <= write.token) return false;
    const WorkerCall* caller = writer_of_write(writers, other);
    return other.sent_ns <= write.at_ns && caller != nullptr && !call.after(*caller);
  });
}

}  // namespace

Finding check_worker_fence(const Digest& d, const WorkerCalls& calls) {
  Finding f = finding(Check::G3);
  const auto writers_of = writers(d, calls);
  check_accepted(d, writers_of, f);
  for (const Index i : d.writes) {
    const Event& write = d.at(i);
    const WorkerCall* call = writer_of_write(writers_of, write);
    if (call == nullptr) continue;
    ++f.checked;
    const auto held = call->session->answers.held();
    const bool current = held && write.sent_ns >= held->from && write.at_ns <= held->to;
    const bool stale = write.sent_ns >= call->session->answers.first_no_ns;
    f.counts["stale_writes"] += stale ? 1 : 0;
    f.counts["current_writes"] += current ? 1 : 0;
    if (write.outcome != "refused") continue;
    f.counts["stale_writes_refused"] += stale ? 1 : 0;
    if (!current || may_be_overtaken(d, writers_of, *call, write)) continue;
    violate(f,
            "resource '" + write.name + "' refused the token " + std::to_string(write.token) +
                " of its current holder " + write.process,
            {call->session->granted, i});
  }
  return f;
}

namespace {

std::string token_of(const WorkerCall& call) {
  return "token " + std::to_string(call.token()) + " of " + *call.process;
}

/// `granted` is in the order of the calls. Each token is compared with the highest of the grants
/// before its call began.
void check_rising(const std::string& name, const std::vector<WorkerCall>& granted, Finding& f) {
  auto by_grant = granted;
  std::sort(by_grant.begin(), by_grant.end(), [](const WorkerCall& a, const WorkerCall& b) {
    return a.granted->at_ns < b.granted->at_ns;
  });
  auto next = by_grant.begin();
  const WorkerCall* highest = nullptr;
  for (const WorkerCall& call : granted) {
    for (; next != by_grant.end() && call.after(*next); ++next) {
      if (highest == nullptr || next->token() > highest->token()) highest = &*next;
    }
    ++f.checked;
    // `check_different` reports equal tokens.
    if (highest == nullptr || call.token() >= highest->token()) continue;
    violate(f, "lock '" + name + "': " + token_of(call) + " after " + token_of(*highest),
            {highest->session->granted, call.session->granted});
  }
}

void check_different(const std::string& name, const std::vector<WorkerCall>& granted, Finding& f) {
  std::unordered_map<std::int64_t, const WorkerCall*> seen;
  for (const WorkerCall& call : granted) {
    const auto [before, first] = seen.try_emplace(call.token(), &call);
    if (first) continue;
    violate(f,
            "lock '" + name + "': " + token_of(call) + " is also the " + token_of(*before->second),
            {before->second->session->granted, call.session->granted});
  }
}

}  // namespace

Finding check_worker_tokens(const WorkerCalls& calls) {
  Finding f = finding(Check::G4);
  for (const auto& [name, all] : calls) {
    std::vector<WorkerCall> with_token;
    for (const WorkerCall& call : all) {
      if (call.granted == nullptr) continue;
      if (call.token() != 0) {
        with_token.push_back(call);
        continue;
      }
      ++f.checked;
      violate(f, "lock '" + name + "': " + *call.process + " was granted it without a token",
              {call.session->granted});
    }
    check_rising(name, with_token, f);
    check_different(name, with_token, f);
  }
  return f;
}

}  // namespace leasehold::model
