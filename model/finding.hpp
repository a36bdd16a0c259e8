#pragma once

#include "model/checkers.hpp"

/// What the checkers share.
namespace leasehold::model {

inline Finding finding(const char* guarantee, const char* statement) {
  Finding f;
  f.guarantee = guarantee;
  f.statement = statement;
  return f;
}

/// Counts a violation; the first one is kept with its events.
inline void violate(Finding& f, std::string why, std::vector<Index> events) {
  if (f.violations++ == 0) {
    f.why = std::move(why);
    std::erase(events, kNone);
    f.events = std::move(events);
  }
  f.verdict = Verdict::violated;
}

inline std::string ms(std::int64_t ns) {
  return std::to_string(ns / kMs) + '.' + std::to_string(ns / (kMs / 10) % 10) + " ms";
}

/// Who asked for the lock that this put was written for.
struct Writer {
  SendDigest command;
  const SessionDigest* session = nullptr;
  const Event* ask = nullptr;
};

inline std::optional<Writer> writer_of(const Digest& d, Index put) {
  const auto sent = d.writers.find(d.at(put).lock_id);
  if (sent == d.writers.end() || sent->second.send == kNone) return std::nullopt;
  const Event& send = d.at(sent->second.send);
  const auto session = d.sessions.find({send.process, send.session});
  if (session == d.sessions.end() || session->second.ask == kNone) return std::nullopt;
  return Writer{sent->second, &session->second, &d.at(session->second.ask)};
}

inline std::int64_t shortest_lease(const Event& ask) {
  return ask.expiry_ms * kMs - ask.expiry_ms * ask.drift_ppm;  // ms * ppm = ns
}

/// A document's last state under one owner, and the change that ended it.
struct Tenure {
  std::string owner;
  Index last_put = kNone;
  Index next = kNone;  ///< the next change: another's put or the deletion; kNone: none
  bool next_gone = false;
  Index next_put = kNone;  ///< the next put of another, deletion or not
};

/// Whether the holder itself gave this lock to the next one of its process.
inline bool handed_over(const Digest& d, const Tenure& t) {
  if (t.next_put == kNone || t.next_gone) return false;
  const auto sent = d.writers.find(d.at(t.next_put).lock_id);
  return sent != d.writers.end() && sent->second.send != kNone &&
         d.at(sent->second.send).detail == "hand-over" &&
         d.at(sent->second.send).other_owner == t.owner;
}

/// The tenures of one name in the server's order. A put of the same owner after a deletion (an
/// attempt that executed late) starts another.
inline std::vector<Tenure> tenures(const Digest& d, const std::vector<Change>& changes) {
  std::vector<Tenure> out;
  for (const Change& change : changes) {
    const std::string owner = change.gone ? "" : owner_of(d.at(change.event).lock_id);
    Tenure* last = out.empty() ? nullptr : &out.back();
    if (change.gone) {
      if (last != nullptr && last->next == kNone) {
        last->next = change.event;
        last->next_gone = true;
      }
      continue;
    }
    if (last != nullptr && last->owner == owner && last->next == kNone) {
      last->last_put = change.event;
      continue;
    }
    if (last != nullptr) {
      if (last->next == kNone) last->next = change.event;
      last->next_put = change.event;
    }
    out.push_back({owner, change.event});
  }
  return out;
}

}  // namespace leasehold::model
