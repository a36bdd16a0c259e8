#include "model/finding.hpp"

namespace leasehold::model {
namespace {

/// A deletion belongs to whoever was told that it deleted something at just that time.
void check_deletion(const Digest& d, Finding& f, const std::string& name, Index gone,
                    Index last_put) {
  const auto claim = d.claims.find(d.at(gone).order);
  if (claim == d.claims.end()) return;
  ++f.checked;
  const std::string holder = last_put == kNone ? "" : owner_of(d.at(last_put).lock_id);
  const Event& reply = d.at(claim->second);
  if (reply.owner == holder || (reply.other_owner == holder && !holder.empty())) return;
  violate(f,
          "lock '" + name + "': a release or clean-up of " + d.at(claim->second).process +
              " deleted the lock of another",
          {last_put, claim->second, gone});
}

/// An extension writes only where its own owner stands, a hand-over where its own or who gives.
void check_update(const Digest& d, Finding& f, const std::string& name, Index put, Index last_put) {
  const auto sent = d.writers.find(d.at(put).lock_id);
  if (sent == d.writers.end() || sent->second.send == kNone) return;
  const Event& send = d.at(sent->second.send);
  if (send.detail != "extend" && send.detail != "hand-over") return;
  ++f.checked;
  const bool extension = send.detail == "extend";
  ++f.counts[extension ? "extensions" : "hand_overs"];
  const std::string holder = last_put == kNone ? "" : owner_of(d.at(last_put).lock_id);
  if (holder == owner_of(send.lock_id) || (!extension && holder == send.other_owner)) return;
  violate(f,
          "lock '" + name + "': " + (extension ? "an extension of " : "a hand-over of ") +
              send.process +
              (holder.empty() ? " inserted a lock that was gone" : " wrote over another's lock"),
          {last_put, sent->second.send, put});
}

}  // namespace

Finding check_ownership(const Digest& d) {
  Finding f = finding("G6", "release, extend, hand-over and clean-up never touch another's lock");
  for (const auto& [name, changes] : d.truth) {
    Index last_put = kNone;
    for (const Change& c : changes) {
      if (c.gone) {
        check_deletion(d, f, name, c.event, last_put);
        last_put = kNone;
      } else {
        check_update(d, f, name, c.event, last_put);
        last_put = c.event;
      }
    }
  }
  return f;
}

}  // namespace leasehold::model
