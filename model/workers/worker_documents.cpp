#include "model/workers/worker_documents.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace leasehold::model {
namespace {

/// From when on no command of the call can be executed any more.
std::int64_t over_by(const Digest& d, const WorkerCall& call) {
  if (call.granted != nullptr) return call.granted->at_ns;
  const SessionDigest& s = *call.session;
  const Index crash = d.processes.at(*call.process).crash;
  const Index end = s.ended != kNone ? s.ended : crash;
  if (end == kNone) return kNever;
  if (s.ended != kNone && d.at(end).outcome == "refused") return d.at(end).at_ns;
  // Commands on their way may arrive until the end of a fault of links or servers.
  const auto late = d.at(end).at_ns + d.allowed.lateness_ns;
  return d.disturbed(s.process, {call.ask->at_ns, late}) != nullptr ? kNever : late;
}

/// Finds the call of the first write of each owner of one name.
class Attribution {
 public:
  Attribution(const Digest& d, const std::vector<WorkerCall>& calls,
              const std::vector<Change>& changes)
      : d_(d) {
    std::set<std::string> seen;
    for (const Change& c : changes) {
      if (c.gone) continue;
      puts_.push_back(c.event);
      if (seen.insert(d.at(c.event).owner).second) firsts_.push_back(c.event);
    }
    for (const WorkerCall& call : calls) {
      if (call.granted == nullptr) continue;
      auto& may = may_[&call];
      for (const Index put : possible(firsts_, call)) {
        may.insert(put);
        asked_[put].push_back(&call);
      }
      if (may.empty()) doubt(call);
      if (may.size() == 1) settled_.push_back(&call);
    }
    while (!settled_.empty()) settle();
  }

  /// The call that certainly has this document; null: not certain.
  [[nodiscard]] const WorkerCall* of(Index first) const {
    const auto found = writers_.find(first);
    const bool certain = found != writers_.end() && !doubtful_.contains(d_.at(first).owner);
    return certain ? found->second : nullptr;
  }

 private:
  /// The puts come in the order in which they were written and read.
  [[nodiscard]] std::vector<Index> possible(const std::vector<Index>& puts,
                                            const WorkerCall& call) const {
    const auto begin = std::partition_point(puts.begin(), puts.end(), [&](Index put) {
      return d_.at(put).at_ns < call.ask->at_ns;
    });
    const auto end = std::find_if(begin, puts.end(), [&](Index put) {
      return d_.at(put).from_ns > call.granted->at_ns;
    });
    return {begin, end};
  }

  /// A call with one write left has that write, and no other call has it.
  void settle() {
    const WorkerCall* call = settled_.back();
    settled_.pop_back();
    auto& left = may_[call];
    if (left.empty()) return;  // another call had the same one left
    const Index put = *left.begin();
    writers_[put] = call;
    for (const WorkerCall* other : asked_[put]) {
      auto& may = may_[other];
      if (other == call || may.erase(put) == 0) continue;
      if (may.empty()) doubt(*other);
      if (may.size() == 1) settled_.push_back(other);
    }
  }

  /// No first write can have granted it the lock, so perhaps any other write did.
  void doubt(const WorkerCall& call) {
    for (const Index put : possible(puts_, call)) doubtful_.insert(d_.at(put).owner);
  }

  const Digest& d_;
  std::vector<Index> puts_, firsts_;
  std::map<const WorkerCall*, std::set<Index>> may_;  ///< first writes that may be a call's
  std::map<Index, std::vector<const WorkerCall*>> asked_;
  std::vector<const WorkerCall*> settled_;  ///< that have one left
  std::map<Index, const WorkerCall*> writers_;
  std::set<std::string> doubtful_;
};

std::vector<HeldDocument> documents_of(const Digest& d, const std::vector<Change>& changes,
                                   const Attribution& writers) {
  std::vector<HeldDocument> all;
  std::set<std::string> seen;
  bool held = false;
  for (const Change& c : changes) {
    const bool same = held && !c.gone && d.at(all.back().last).owner == d.at(c.event).owner;
    if (same) {
      all.back().last = c.event;
      continue;
    }
    const bool fresh = !c.gone && seen.insert(d.at(c.event).owner).second;
    if (held) {
      all.back().next = c.event;
      all.back().next_gone = c.gone;
      all.back().next_fresh = fresh;
    }
    held = !c.gone;
    if (c.gone) continue;
    if (!all.empty() && d.at(all.back().last).owner != d.at(c.event).owner) {
      all.back().next_put = c.event;
    }
    all.push_back({c.event, c.event});
    all.back().call = writers.of(c.event);
  }
  return all;
}

}  // namespace

bool may_have_written(const Digest& d, const WorkerCall& call, const Event& put) {
  return call.ask->at_ns <= put.at_ns && over_by(d, call) >= put.from_ns;
}

HeldDocuments worker_documents(const Digest& d, const WorkerCalls& calls) {
  HeldDocuments all;
  for (const auto& changes : d.truth) {
    if (changes.empty()) continue;
    const auto& name = d.at(changes.front().event).name;
    const auto asked = calls.find(name);
    if (asked == calls.end()) continue;
    all[name] = documents_of(d, changes, Attribution(d, asked->second, changes));
  }
  return all;
}

}  // namespace leasehold::model
