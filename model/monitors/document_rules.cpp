#include "model/monitors/monitor.hpp"
#include "model/spec/rules.hpp"

/// The rules of lock documents: they check the oplog, change by change, and compare only dates of
/// the same document.
namespace leasehold::model {
namespace {

/// The lock's document before a change. A document without dates is not known.
struct Standing {
  Index put = kNone;    ///< kNone: there is none
  bool queued = false;  ///< a release, or another client, may have passed it on before: it may
                        ///< stand there, free
};

/// The documents, one after the other, and the command that wrote each change.
class DocumentRule : public Monitor {
 public:
  DocumentRule(Check check, const Digest& d)
      : Monitor(check, {Kind::send, Kind::put, Kind::gone}),
        d_(d),
        documents_(d.facts.names.size()) {}

  void see(Index i, const Fact& e, const Commands& commands) final {
    if (e.kind == Kind::send) {
      if (e.verb == Verb::pass_on) documents_[e.name].queued = true;
      return;
    }
    Standing& standing = documents_[e.name];
    if (e.kind == Kind::put) look_at(i, e, standing, commands);
    standing.put = e.kind == Kind::put ? i : kNone;
  }

 protected:
  struct Change {
    Index put;
    Index standing;     ///< the put before; kNone: no document, or a free one
    bool queued;        ///< a free one may have stood there
    Index sending;      ///< what wrote it; of a pass-on the attempt that left the entry
    const Fact& send;
    bool own;           ///< the document was this owner's
    const Event& after;
    const Event& before;
    const Commands& commands;
  };
  virtual void judge(const Change& change) = 0;

  void accuse(const Change& c, const std::string& what) {
    violate(found, command_of(d_.at(c.sending)) + ' ' + what, {c.standing, c.sending, c.put});
  }

  const Digest& d_;

 private:
  void look_at(Index i, const Fact& e, const Standing& standing, const Commands& commands) {
    const Index send = commands.sending(e.lock_id);
    const bool stands = standing.put != kNone;
    const Event& after = *e.event;
    const Event& before = stands ? d_.at(standing.put) : kNoEvent;
    if (!require_dates(after, found) || (stands && before.expires_at_ms == 0)) return;
    documents_[e.name].queued |= send == kNone;
    if (send == kNone) return;  // another client's
    const bool own = stands && d_.fact(standing.put).owner == e.owner;
    ++found.checked;
    judge({i, standing.put, standing.queued, send, d_.fact(send), own, after, before, commands});
  }

  std::vector<Standing> documents_;  ///< by name
};

/// "A lock document is written over only if it is missing, its own, the observed one, given by its
/// holder, or expired."
class CompareAndSet final : public DocumentRule {
 public:
  explicit CompareAndSet(const Digest& d) : DocumentRule(Check::compare_and_set, d) {}

 private:
  void judge(const Change& c) override {
    if (c.own) return;
    const bool takes = c.send.verb == Verb::acquire;
    if (c.standing == kNone) {
      if (!takes) accuse(c, "writes a lock where there is none");
      return;
    }
    if (given(c)) return;
    const bool observed = c.send.observed == d_.fact(c.standing).lock_id;
    const bool expired = rules::is_expired(c.before.expires_at_ms, c.after.acquired_at_ms);
    if (takes && rules::may_take(observed, expired)) return;
    const auto left_ms = c.before.expires_at_ms - c.after.acquired_at_ms;
    accuse(c,
           "writes over a lock that is another's: neither observed nor given, and in force for " +
               std::to_string(left_ms) + " ms more");
  }

  /// Whether it was given: by a hand-over, or by a release of its holder to the queue.
  bool given(const Change& c) const {
    const Id holder = d_.fact(c.standing).owner;
    if (c.send.verb == Verb::hand_over) return c.send.other_owner == holder;
    const Farewell* farewell = c.commands.farewell(holder);
    return c.send.verb == Verb::acquire && farewell != nullptr && farewell->passed_on;
  }
};

/// "expiresAt is acquiredAt + expiry + clock_margin, and no own write lowers it."
class ExpiresAt final : public DocumentRule {
 public:
  explicit ExpiresAt(const Digest& d) : DocumentRule(Check::expires_at, d) {}

 private:
  void judge(const Change& c) override {
    if (c.own) return judge_own(c);
    // A free document may name the next owner, which then keeps its acquiredAt.
    if (c.standing == kNone && c.queued) return;
    const Event* ask = c.commands.ask(c.send.session);
    if (ask == nullptr) return;
    const auto lasts = c.after.expires_at_ms - c.after.acquired_at_ms;
    const auto due = ask->expiry_ms + ask->clock_margin_ms;
    if (lasts == due) return;
    accuse(c, "leaves a document that expires " + std::to_string(lasts) +
                  " ms after acquiredAt: expiry and clock_margin are " + std::to_string(due) +
                  " ms");
  }

  void judge_own(const Change& c) {
    if (c.after.acquired_at_ms != c.before.acquired_at_ms) {
      accuse(c, "changes acquiredAt of a lock that its owner has already");
    } else if (c.after.expires_at_ms < c.before.expires_at_ms) {
      accuse(c, "lowers expiresAt of its own lock by " +
                    std::to_string(c.before.expires_at_ms - c.after.expires_at_ms) + " ms");
    }
  }
};

/// "The stored fencing token rises with each grant, and is below the grant's own": that is the
/// order of the write. An extension may keep it.
class StoredToken final : public DocumentRule {
 public:
  explicit StoredToken(const Digest& d) : DocumentRule(Check::stored_token, d) {}

 private:
  void judge(const Change& c) override {
    if (c.after.stored_token >= d_.at(c.put).order) {
      return accuse(c, "stores a fencing token that is not below its own");
    }
    if (c.standing == kNone) return;
    const bool extends = c.send.verb == Verb::extend;
    const auto least = c.before.stored_token + (extends ? 0 : 1);
    if (c.after.stored_token < least) accuse(c, "does not raise the stored fencing token");
  }
};

}  // namespace

void add_document_rules(Monitors& monitors, const Digest& d) {
  monitors.push_back(std::make_unique<CompareAndSet>(d));
  monitors.push_back(std::make_unique<ExpiresAt>(d));
  monitors.push_back(std::make_unique<StoredToken>(d));
}

}  // namespace leasehold::model
