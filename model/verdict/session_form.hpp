#pragma once

#include <string>
#include <vector>

#include "model/verdict/finding.hpp"

/// The form of a history: what an event may follow, and what must follow it. Internal to
/// `form_inquiry`.
///
/// An event that does not fit is the fault of the recorder or of the lock. If it is the recorder's,
/// the verdict is unknown. It is the lock's for certain if event and cause belong in one record: a
/// process records each step of its core at once, and each input before what the core did about it.
/// A record that ends early lacks only its end.
namespace leasehold::model {

inline constexpr std::int64_t kSlackMs = 500;  ///< scheduling, on a busy machine

struct FormFindings {
  Finding form = finding(Check::form);          ///< whether the record is whole
  Finding grounded = finding(Check::grounded);  ///< whether what the lock did has a cause
};

/// The record is malformed: the verdict is unknown, not violated.
inline void malformed(Finding& finding, const std::string& why, std::vector<Index> events) {
  violate(finding, why, std::move(events));
  finding.verdict = Verdict::unknown;
}

/// Whether what must follow the event within `span` ns is overdue: its process goes on after that,
/// and what delayed it (counted in `f`) does not explain it. It is not needed any more at `until`.
[[nodiscard]] bool overdue(const Digest& d, Finding& f, const Fact& event, std::int64_t span,
                           Needs needs = Needs::process, std::int64_t until = kNever);

/// Checks the sessions of a history: each is asked for, granted, lost, released and ended in a
/// possible order, and each event of it has a cause. It reads the events of sessions; commands it
/// knows only by the digest.
///
/// INVARIANT: `lives_` reflects the events visited so far, in the history's order.
class SessionForm {
 public:
  /// REQUIRES: both outlive it.
  SessionForm(const Digest& digest, FormFindings& findings)
      : d_(digest),
        f_(findings),
        lives_(digest.sessions.size()),
        released_(digest.facts.owners) {}

  /// REQUIRES: events come in their order. Events without a session are ignored.
  void visit(Index i, const Fact& e);
  /// The session of this command may send another attempt.
  void answered(const Fact& send) { lives_[send.session].attempting = false; }
  /// Checks that calls and releases with enough time have ended.
  void check_ends();

 private:
  struct Life {
    bool asked = false, attempting = false, granted = false, lost = false, notified = false,
         release = false, released = false, ended = false;
    Index first_answers = kNone, newest_answers = kNone;  ///< the newest by their times
  };

  /// A rule of the record.
  void require(bool rule, const char* what, Index i) {
    if (!rule) malformed(f_.form, what, {i});
  }
  /// A rule of the lock.
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
