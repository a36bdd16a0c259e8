#include "model/monitors/monitor.hpp"

/// The rules of lock documents: they look at the server's truth, change by change, and compare
/// dates of one document with each other only.
namespace leasehold::model {
namespace {

/// What stands in the lock's document before a change. A document without dates is not known.
struct Standing {
  Index put = kNone;    ///< kNone: there is none
  bool queued = false;  ///< a release passed this lock on before: it may stand there, free
  bool free_or_gone() const { return put == kNone; }
};

/// The documents, one after the other, and who wrote each change.
class DocumentRule : public Monitor {
 public:
  DocumentRule(Guarantee guarantee, const Digest& d) : Monitor(guarantee), d_(d) {}

  void see(Index i, const Event& e, const Commands& commands) final {
    if (e.kind == Kind::send && e.verb == "pass-on") documents_[e.name].queued = true;
    if (e.kind != Kind::put && e.kind != Kind::gone) return;
    Standing& standing = documents_[e.name];
    if (e.kind == Kind::put) look_at(i, e, standing, commands);
    standing.put = e.kind == Kind::put ? i : kNone;
  }

 protected:
  struct Change {
    Index put;
    const Event& after;
    const Event* before;  ///< null: no document, or a free one
    bool queued;          ///< a free one may have stood there
    const Event& send;    ///< what wrote it; of a pass-on the attempt that left the entry
    bool own;             ///< the document was this owner's
    const Commands& commands;
  };
  virtual void judge(const Change& change) = 0;

  void accuse(const Change& c, const std::string& what) {
    violate(found, command_of(c.send) + ' ' + what,
            {c.before == nullptr ? kNone : static_cast<Index>(c.before - d_.history->data()),
             c.commands.sending(c.after.lock_id), c.put});
  }

 private:
  void look_at(Index i, const Event& e, const Standing& standing, const Commands& commands) {
    const Event* send = commands.sender(e.lock_id);
    const Event* before = standing.free_or_gone() ? nullptr : &d_.at(standing.put);
    if (!require_dates(e, found) || (before != nullptr && before->expires_at_ms == 0)) return;
    if (send == nullptr) return;  // another client's
    const bool own = before != nullptr && owner_in(before->lock_id) == owner_in(e.lock_id);
    ++found.checked;
    judge({i, e, before, standing.queued, *send, own, commands});
  }

  const Digest& d_;
  std::unordered_map<std::string_view, Standing> documents_;  ///< by name
};

/// "A lock document is written over only if it is missing, its own, the observed one, given by its
/// holder, or expired."
class CompareAndSet final : public DocumentRule {
 public:
  explicit CompareAndSet(const Digest& d) : DocumentRule(Guarantee::compare_and_set, d) {}

 private:
  void judge(const Change& c) override {
    if (c.own) return;
    const bool takes = c.send.verb == "acquire";
    if (c.before == nullptr) {
      if (!takes) accuse(c, "writes a lock where there is none");
      return;
    }
    if (given(c)) return;
    const bool observed = c.send.observed_lock_id.str() == c.before->lock_id;
    const bool expired = c.before->expires_at_ms <= c.after.acquired_at_ms;
    if (takes && (observed || expired)) return;
    const auto left_ms = c.before->expires_at_ms - c.after.acquired_at_ms;
    accuse(c,
           "writes over a lock that is another's: neither observed nor given, and in force for " +
               std::to_string(left_ms) + " ms more");
  }

  /// By a hand-over, or by a release of its holder to who stands in the queue.
  static bool given(const Change& c) {
    const auto holder = owner_in(c.before->lock_id);
    if (c.send.verb == "hand-over") return c.send.giver.str() == holder;
    const Farewell* farewell = c.commands.farewell(holder);
    return c.send.verb == "acquire" && farewell != nullptr && farewell->passed_on;
  }
};

/// "expiresAt is acquiredAt + expiry + clock_margin, and no own write lowers it."
class ExpiresAt final : public DocumentRule {
 public:
  explicit ExpiresAt(const Digest& d) : DocumentRule(Guarantee::expires_at, d) {}

 private:
  void judge(const Change& c) override {
    if (c.own) return judge_own(c);
    // A free document may name who is to have it next, and that one then keeps its acquiredAt.
    if (c.before == nullptr && c.queued) return;
    const Event* ask = c.commands.ask(c.send);
    if (ask == nullptr) return;
    const auto lasts = c.after.expires_at_ms - c.after.acquired_at_ms;
    const auto due = ask->expiry_ms + ask->clock_margin_ms;
    if (lasts == due) return;
    accuse(c, "leaves a document that expires " + std::to_string(lasts) +
                  " ms after acquiredAt: expiry and clock_margin are " + std::to_string(due) +
                  " ms");
  }

  void judge_own(const Change& c) {
    if (c.after.acquired_at_ms != c.before->acquired_at_ms) {
      accuse(c, "changes acquiredAt of a lock that its owner has already");
    } else if (c.after.expires_at_ms < c.before->expires_at_ms) {
      accuse(c, "lowers expiresAt of its own lock by " +
                    std::to_string(c.before->expires_at_ms - c.after.expires_at_ms) + " ms");
    }
  }
};

/// "The stored fencing token rises with each grant, and is below the grant's own": that is the
/// order of the write. An extension may keep it.
class StoredToken final : public DocumentRule {
 public:
  explicit StoredToken(const Digest& d) : DocumentRule(Guarantee::stored_token, d) {}

 private:
  void judge(const Change& c) override {
    if (c.after.stored_token >= c.after.order) {
      return accuse(c, "stores a fencing token that is not below its own");
    }
    if (c.before == nullptr) return;
    const bool extends = c.send.verb == "extend";
    const auto least = c.before->stored_token + (extends ? 0 : 1);
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
