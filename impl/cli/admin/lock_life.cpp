#include "cli/admin/lock_life.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/document/lock_id.hpp"
#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "core/release/forced_release.hpp"

namespace leasehold::cli {
namespace {

using mongo::date_ms;
using mongo::Json;

/// Fields that the entry sets; the others keep their value.
void apply(const Json& fields, LockFields& to) {
  if (fields.contains("lockId") && fields["lockId"].is_string()) {
    const auto whole = fields["lockId"].get<std::string>();
    to.lock_id = core::split_queue(whole).lock_id;
  }
  if (fields.contains("acquiredAt")) to.acquired_ms = date_ms(fields["acquiredAt"]);
  if (fields.contains("expiresAt")) to.expires_ms = date_ms(fields["expiresAt"]);
}

/// The document after the entry. An update is logged as a replacement, or as a difference with the
/// new values of fields in its sections `i` and `u`.
LockFields after(const Json& entry, const std::optional<LockFields>& before) {
  const Json& o = entry["o"];
  LockFields now = before.value_or(LockFields());
  if (!o.contains("diff")) {
    apply(o, now);
    return now;
  }
  for (const char* section : {"i", "u"}) {
    if (o["diff"].contains(section)) apply(o["diff"][section], now);
  }
  return now;
}

/// The owner; of other software's the whole lockId, which each acquire draws anew.
std::string owner_in(const std::string& lock_id) {
  const auto parts = core::parse_lock_id(lock_id);
  return parts ? core::to_hex(parts->owner) : lock_id;
}

std::string holder_in(const LockFields& document) {
  return core::holder_for_people(document.lock_id);
}

bool is_over(const LockFields& document, std::int64_t at_ms) {
  return document.expires_ms && *document.expires_ms < at_ms;
}

bool is_election(const Json& entry) {
  return entry.value("op", "") == "n" && entry["o"].value("msg", "") == "new primary";
}

}  // namespace

const char* to_string(LifeStep::Kind kind) {
  switch (kind) {
    case LifeStep::Kind::taken: return "taken";
    case LifeStep::Kind::extended: return "extended";
    case LifeStep::Kind::taken_over: return "taken over";
    case LifeStep::Kind::handed_on: return "handed on";
    case LifeStep::Kind::joined: return "joined";
    case LifeStep::Kind::left: return "left";
    case LifeStep::Kind::forced: return "forced";
    case LifeStep::Kind::released: return "released";
    case LifeStep::Kind::removed: return "removed";
    case LifeStep::Kind::new_primary: return "new primary";
  }
  return "?";
}

std::vector<Json> writes_of(const Json& entry, const std::string& space, const std::string& name) {
  if (entry.value("op", "") != "c") return {entry};
  std::vector<Json> all;
  for (Json part : entry.at("o").value("applyOps", Json::array())) {
    const Json& key = part.contains("o2") ? part["o2"] : part["o"];
    if (part.value("ns", "") != space || key.value("_id", Json()) != name) continue;
    for (const char* of_the_entry : {"ts", "wall"}) {
      part[of_the_entry] = entry.value(of_the_entry, Json());
    }
    all.push_back(std::move(part));
  }
  return all;
}

void LockLife::read(const Json& entry) {
  const auto at_ms = date_ms(entry.value("wall", Json()));
  if (is_election(entry)) {
    return add({.kind = LifeStep::Kind::new_primary, .at_ms = at_ms, .last_ms = at_ms});
  }
  const auto op = entry.value("op", "");
  if (op == "d") return gone(at_ms);
  if (op != "i" && op != "u") return;
  // The first that is seen of it may be an extension of a holder that took it earlier: then it is
  // unknown when its lease ended.
  if (!document_ && entry["o"].contains("diff")) {
    document_ = after(entry, LockFields());
    document_->expires_ms.reset();
  }
  put(after(entry, document_), at_ms, mongo::packed_timestamp(entry["ts"]));
}

std::string LockLife::holder() const {
  return document_ && !document_->is_free() ? holder_in(*document_) : "";
}

/// A write of the same owner is an extension, or a retry of its acquire, which comes to the same;
/// one that leaves the holder's part as it was is of a call in the queue.
void LockLife::put(const LockFields& now, std::int64_t at_ms, std::int64_t token) {
  if (now.is_free()) {
    gone(at_ms);
    document_ = now;
    return;
  }
  auto before = std::exchange(document_, now);
  if (before && before->is_free()) before.reset();
  if (before && before->lock_id == now.lock_id && before->expires_ms == now.expires_ms) return;
  if (before && joined_or_left(*before, now, at_ms, token)) return;
  if (before && owner_in(before->lock_id) == owner_in(now.lock_id)) {
    const bool again = !steps_.empty() && steps_.back().kind == LifeStep::Kind::extended;
    if (!again) {
      return add({.kind = LifeStep::Kind::extended,
                  .at_ms = at_ms,
                  .last_ms = at_ms,
                  .holder = holder_in(now)});
    }
    steps_.back().last_ms = at_ms;
    ++steps_.back().times;
    return;
  }
  LifeStep step{.at_ms = at_ms, .last_ms = at_ms, .holder = holder_in(now), .token = token};
  if (before) {
    step.from = holder_in(*before);
    step.held_ms = at_ms - granted_ms_;
    step.kind = is_over(*before, at_ms) ? LifeStep::Kind::taken_over : LifeStep::Kind::handed_on;
    if (step.holder == core::kForcedHolder) step.kind = LifeStep::Kind::forced;
  }
  granted_ms_ = at_ms;
  add(std::move(step));
}

/// A reader is known by its owner, and so is one that stands alone by its own lockId.
bool LockLife::joined_or_left(const LockFields& before, const LockFields& now, std::int64_t at_ms,
                              std::int64_t token) {
  const auto readers_of = [](const LockFields& fields) {
    std::map<std::string, std::string> readers;  // by owner: for people
    for (const auto& one : core::readers_in(fields.lock_id)) {
      const std::string id(one.lock_id);
      readers[owner_in(id)] = core::holder_for_people(id);
    }
    const auto alone = core::parse_lock_id(fields.lock_id);
    if (readers.empty() && alone && alone->room != 0) {
      readers[core::to_hex(alone->owner)] = core::holder_for_people(fields.lock_id);
    }
    return readers;
  };
  const auto old = readers_of(before), current = readers_of(now);
  if (old.empty() || current.empty()) return false;
  const auto steps = steps_.size();
  const auto add_new = [&](const auto& from, const auto& to, LifeStep::Kind kind) {
    for (const auto& [owner, holder] : to) {
      if (from.contains(owner)) continue;
      add({.kind = kind, .at_ms = at_ms, .last_ms = at_ms, .holder = holder,
           .token = kind == LifeStep::Kind::joined ? token : 0});
    }
  };
  add_new(current, old, LifeStep::Kind::left);
  add_new(old, current, LifeStep::Kind::joined);
  return steps_.size() > steps;
}

void LockLife::gone(std::int64_t at_ms) {
  const auto before = std::exchange(document_, std::nullopt);
  if (before && before->is_free()) return;  // what a release left
  if (!before) return add({.kind = LifeStep::Kind::released, .at_ms = at_ms, .last_ms = at_ms});
  const bool over = is_over(*before, at_ms);
  add({.kind = over ? LifeStep::Kind::removed : LifeStep::Kind::released,
       .at_ms = at_ms,
       .last_ms = at_ms,
       .holder = holder_in(*before),
       .held_ms = granted_ms_ == 0 ? 0 : at_ms - granted_ms_});
}

void LockLife::add(LifeStep step) { steps_.push_back(std::move(step)); }

}  // namespace leasehold::cli
