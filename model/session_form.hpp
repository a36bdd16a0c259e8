#pragma once

#include <string>
#include <vector>

#include "model/finding.hpp"

/// The form of a history: what an event may follow, and what must follow it. Internal to
/// `form_inquiry`.
///
/// What does not fit is either the recorder's fault, and nobody can tell what happened, or the
/// lock's. That the lock did something without a ground is certain where both are in one record: a
/// process writes down each step of its core at once, what it heard before what it did about it. A
/// record that ends early lacks its end, and nothing before that.
namespace leasehold::model {

inline constexpr std::int64_t kSlackMs = 500;  ///< scheduling, on a busy machine

struct FormFindings {
  Finding form = finding(Guarantee::form);          ///< whether the record is whole
  Finding grounded = finding(Guarantee::grounded);  ///< of the lock
};

/// Nobody broke a promise; nobody can tell.
inline void malformed(Finding& finding, const std::string& why, std::vector<Index> events) {
  violate(finding, why, std::move(events));
  finding.verdict = Verdict::unknown;
}

/// Whether the process lived and ran for `span` ns and more after the event, and for as long again
/// as something stood still in it, so that what must follow it must have followed.
[[nodiscard]] bool goes_on(const Digest& digest, const Fact& event, std::int64_t span);

/// The sessions of a history: that each asks, is granted, loses, releases and ends in an order that
/// can be, and that nothing happens to it which nobody did. It knows which events are a session's,
/// and of commands only what the digest says.
///
/// INVARIANT: what is noted of a session is of the events visited so far, in the history's order.
class SessionForm {
 public:
  /// REQUIRES: both outlive it.
  SessionForm(const Digest& digest, FormFindings& findings)
      : d_(digest),
        f_(findings),
        lives_(digest.sessions.size()),
        released_(digest.facts.owners) {}

  /// REQUIRES: events come in their order. One of no session is passed over.
  void visit(Index i, const Fact& e);
  /// The session of this command may send another attempt.
  void answered(const Fact& send) { lives_[send.session].attempting = false; }
  /// Calls and releases that had time enough to end.
  void check_ends();

 private:
  struct Life {
    bool asked = false, attempting = false, granted = false, lost = false, notified = false,
         release = false, released = false, ended = false;
    Index first_answers = kNone, newest_answers = kNone;  ///< the newest by their times
  };

  /// Of the record.
  void require(bool rule, const char* what, Index i) {
    if (!rule) malformed(f_.form, what, {i});
  }
  /// Of the lock.
  void demand(bool rule, const char* what, Index i) {
    ++f_.grounded.checked;
    if (!rule) violate(f_.grounded, d_.process_name(d_.fact(i).process) + ": " + what, {i});
  }
  void visit_grant(Life& s, Index i, const Fact& e);
  void visit_send(Life& s, Index i, const Fact& e);
  void visit_holding(Life& s, Index i, const Fact& e);
  void visit_end(Life& s, Index i, const Fact& e);
  [[nodiscard]] bool may_answer(const Fact& held) const;
  bool is_new(Life& s, Index i) const;
  [[nodiscard]] bool passed_on(const Fact& granted, const SendDigest& attempt) const;
  [[nodiscard]] bool won(const Fact& granted) const;
  [[nodiscard]] bool sent_extension(const Fact& extended) const;
  [[nodiscard]] Id owner_of_grant(const Fact& e) const;
  [[nodiscard]] bool deleted(const Fact& released) const;

  const Digest& d_;
  FormFindings& f_;
  std::vector<Life> lives_;
  std::vector<bool> released_;  ///< by owner: its handle was asked to release
};

}  // namespace leasehold::model
