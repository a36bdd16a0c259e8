#include <optional>

#include "properties/reference_checkers/reference_checkers.hpp"
#include "properties/reference_checkers/rule_questions.hpp"

/// The rules of lock documents, from the proof's words.
namespace leasehold::properties {
namespace {

/// A put that may be asked: its sender, and the document that it found, if there was one.
struct Put {
  const Event *send, *found;
  bool own = false;
};

std::optional<Put> put_of(const model::History& h, const Event& e) {
  if (e.kind != Kind::put || e.expires_at_ms == 0) return std::nullopt;
  Put put{};
  put.send = sender_of(h, e, e.lock_id);
  put.found = last_before(h, e, [&](const Event& b) {
    return (b.kind == Kind::put || b.kind == Kind::gone) && b.name == e.name;
  });
  if (put.found != nullptr && put.found->kind == Kind::gone) put.found = nullptr;
  const bool known = put.found == nullptr || put.found->expires_at_ms != 0;
  if (put.send == nullptr || !known) return std::nullopt;
  put.own = put.found != nullptr &&
            model::owner_of(put.found->lock_id) == model::owner_of(e.lock_id);
  return put;
}

bool passed_on(const model::History& h, const Event& e, const std::string& holder) {
  return first_before(h, e, [&](const Event& s) {
           return s.kind == Kind::send && s.verb == "pass-on" &&
                  (s.owner == holder || s.also_owner.str() == holder);
         }) != nullptr;
}

bool takes_unduly(const model::History& h, const Event& e, const Put& put) {
  const bool attempt = put.send->verb == "acquire";
  if (put.own) return false;
  if (put.found == nullptr) return !attempt;
  const auto holder = model::owner_of(put.found->lock_id);
  if (put.send->verb == "hand-over") return put.send->giver.str() != holder;
  if (!attempt) return true;
  return put.send->observed_lock_id.str() != put.found->lock_id &&
         put.found->expires_at_ms > e.acquired_at_ms && !passed_on(h, e, holder);
}

bool is_misdated(const model::History& h, const Event& e, const Put& put) {
  if (put.own) {
    return e.acquired_at_ms != put.found->acquired_at_ms ||
           e.expires_at_ms < put.found->expires_at_ms;
  }
  // A free document may stand there, which a release has left, or a client that is not known.
  const Event* may_free = first_before(h, e, [&](const Event& s) {
    if (s.name != e.name) return false;
    if (s.kind == Kind::put) return sender_of(h, s, s.lock_id) == nullptr;
    return s.kind == Kind::send && s.verb == "pass-on";
  });
  const Event* ask = ask_of(h, e, *put.send);
  if (ask == nullptr || (put.found == nullptr && may_free != nullptr)) return false;
  return e.expires_at_ms != e.acquired_at_ms + ask->expiry_ms + ask->clock_margin_ms;
}

bool token_does_not_rise(const Event& e, const Put& put) {
  if (e.stored_token >= e.order) return true;
  if (put.found == nullptr) return false;
  return put.send->verb == "extend" ? e.stored_token < put.found->stored_token
                                    : e.stored_token <= put.found->stored_token;
}

}  // namespace

/// "A lock document is written over only if it is missing, its own, the observed one, given by its
/// holder, or expired."
int slow_compare_and_set(const model::History& h) {
  return count_of(h, [&](const Event& e) {
    const auto put = put_of(h, e);
    return put && takes_unduly(h, e, *put);
  });
}

/// "expiresAt is acquiredAt + expiry + clock_margin, and no own write lowers it."
int slow_expires_at(const model::History& h) {
  return count_of(h, [&](const Event& e) {
    const auto put = put_of(h, e);
    return put && is_misdated(h, e, *put);
  });
}

/// "The stored fencing token rises with each grant, and is below the grant's own."
int slow_stored_token(const model::History& h) {
  return count_of(h, [&](const Event& e) {
    const auto put = put_of(h, e);
    return put && token_does_not_rise(e, *put);
  });
}

}  // namespace leasehold::properties
