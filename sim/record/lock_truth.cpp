#include "sim/record/lock_truth.hpp"

#include <algorithm>
#include <charconv>

namespace leasehold::sim {
namespace {

constexpr char kQueueMark = '~';  // as the document has it; not asked of the lock under test
/// An entry has its date, in two spans, and then the owner that waits.
constexpr int kPartsBeforeLockId = 3;

std::string_view cut_off(std::string_view& rest, char at) {
  const auto end = std::min(rest.find(at), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

}  // namespace

model::Event stored(const FencedWrite& write, std::int64_t order, std::int64_t at_ns) {
  return {.at_ns = at_ns,
          .kind = model::Kind::stored,
          .process = write.process,
          .write_number = write.number,
          .name = write.name,
          .owner = write.owner,
          .token = write.token,
          .order = order,
          .shared = write.reads};
}

/// Text that is no entry has no owner.
LockTruth::Queue LockTruth::queue_in(std::string_view lock_id) {
  Queue queue;
  cut_off(lock_id, kQueueMark);
  while (!lock_id.empty()) {
    auto entry = cut_off(lock_id, kQueueMark);
    Entry one;
    const auto until = entry.substr(0, entry.find('.'));
    std::from_chars(until.data(), until.data() + until.size(), one.until_ms);
    for (int part = 0; part < kPartsBeforeLockId; ++part) cut_off(entry, '.');
    one.lock_id = entry;
    if (!entry.empty()) queue.push_back(std::move(one));
  }
  return queue;
}

/// The owners that were queued before and still are. An entry that was over and is renewed all the
/// same is dropped and joins again in one write: it is then behind others that were behind it.
std::set<std::string> LockTruth::kept_places(const Queue& before, const Queue& now) {
  std::map<std::string, std::size_t> old_places;
  for (const Entry& entry : before) {
    old_places.emplace(model::owner_of(entry.lock_id), old_places.size());
  }
  std::set<std::string> kept;
  std::size_t furthest = 0;
  for (const Entry& entry : now) {
    const auto owner = model::owner_of(entry.lock_id);
    const auto old = old_places.find(owner);
    if (old == old_places.end() || old->second < furthest) continue;
    furthest = old->second;
    kept.insert(owner);
  }
  return kept;
}

model::History LockTruth::queued(const std::string& id, const std::string& name,
                                 std::string_view lock_id, std::int64_t order) {
  const auto known = queues_.find(id);
  if (known == queues_.end() && lock_id.find(kQueueMark) == std::string_view::npos) return {};
  const Queue before = known == queues_.end() ? Queue() : std::move(known->second);
  Queue now = queue_in(lock_id);
  model::History changes;
  const auto note = [&](const Entry& entry, std::size_t place) {
    model::Event& e = changes.emplace_back();
    e.kind = model::Kind::place;
    e.name = name;
    e.lock_id = entry.lock_id;
    e.order = order;
    e.count = static_cast<std::int64_t>(place);
    e.matched = static_cast<std::int64_t>(now.size());
    e.expires_at_ms = entry.until_ms;
  };
  // One place an owner is kept: a queue that lists it twice has an entry that joins, and leaves.
  const auto note_changed = [&note](const Queue& queue, std::set<std::string> kept, bool joins) {
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const bool keeps = kept.erase(model::owner_of(queue[i].lock_id)) > 0;
      if (!keeps) note(queue[i], joins ? i + 1 : 0);
    }
  };
  const auto kept = kept_places(before, now);
  note_changed(before, kept, false);
  note_changed(now, kept, true);
  if (now.empty()) {
    queues_.erase(id);
  } else {
    queues_[id] = std::move(now);
  }
  return changes;
}

std::string LockTruth::holder_in(std::string_view lock_id) {
  return std::string(lock_id.substr(0, lock_id.find(kQueueMark)));
}

/// Each lockId names one execution of one command. If the holder's part stays and what follows it
/// changes, an owner only joined or left the queue. A lock with a queue is free while its document
/// stays: without a holder, expired in 1970.
LockTruth::Became LockTruth::became(const std::string& id, const LockDocument* document) {
  if (document == nullptr) {
    const auto lock = locks_.extract(id);
    return !lock.empty() && lock.mapped().free ? Became::nothing : Became::free;
  }
  if (document->of_nobody) return Became::free;
  const auto& lock_id = document->lock_id;
  Lock& lock = locks_[id];
  const bool was_free = lock.free;
  const bool only_queue = lock.lock_id != lock_id && holder_in(lock.lock_id) == holder_in(lock_id);
  lock = {lock_id, document->expires_at_ms == 0};
  if (lock.free) return was_free ? Became::nothing : Became::free;
  return only_queue && !was_free ? Became::nothing : Became::held;
}

model::History LockTruth::written(const std::string& id, const std::string& name,
                                  const LockDocument* document, std::int64_t order) {
  auto events = queued(id, name, document == nullptr ? "" : document->lock_id, order);
  const auto now = became(id, document);
  if (now == Became::nothing) return events;
  model::Event& e = events.emplace_back();
  e.kind = now == Became::held ? model::Kind::put : model::Kind::gone;
  e.name = name;
  e.order = order;
  if (now == Became::free) return events;
  e.lock_id = document->command;
  if (!e.lock_id.empty()) return events;  // dates of other fields, or of another meaning
  e.lock_id = holder_in(document->lock_id);
  e.acquired_at_ms = document->acquired_at_ms;
  e.expires_at_ms = document->expires_at_ms.value_or(0);
  e.stored_token = document->stored_token;
  return events;
}

}  // namespace leasehold::sim
