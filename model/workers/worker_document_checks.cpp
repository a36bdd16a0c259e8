#include <algorithm>
#include <set>

#include "model/workers/worker_documents.hpp"

namespace leasehold::model {
namespace {

/// Whether the holder itself may have given it up by then, as far as its user knows.
bool may_have_given_up(const Digest& d, const HeldDocument& doc, const Event& change) {
  const WorkerCall& call = *doc.call;
  const SessionDigest& s = *call.session;
  const auto by = [&](Index i) { return i != kNone && d.at(i).at_ns <= change.at_ns; };
  const bool told = s.notified != kNone && d.at(s.notified).sent_ns <= change.at_ns;
  const bool denied =
      s.answers.denied != kNone && d.at(s.answers.denied).first_asked_ns <= change.at_ns;
  const Index end = d.processes.at(*call.process).crash;
  const bool broke = by(end) && d.at(end).kind != Kind::crash;
  return by(s.release) || told || denied || broke;
}

/// Whether the change may be older than the grant, or an attempt that the holder gave up before the
/// grant may have been cleaned up after it: then the check decides nothing.
bool is_undecidable(const Digest& d, const HeldDocument& doc) {
  const WorkerCall& call = *doc.call;
  const Span attempts{call.ask->at_ns, call.granted->at_ns};
  const Id process = call.session->process;
  return d.at(doc.next).from_ns < call.granted->at_ns ||
         d.disturbed(process, attempts) != nullptr || !d.ran_throughout(process, attempts);
}

/// Once a clock was moved, it is unknown by which clock a document expires. A member that lost its
/// disks lost documents as well.
struct Doubts {
  bool dates = false, documents = false;
};
Doubts doubts(const Digest& d) {
  Doubts found;
  for (const Event& e : *d.history) {
    if (e.kind != Kind::fault) continue;
    found.dates = found.dates || e.fault.find("clock") != std::string::npos;
    found.documents = found.documents || e.fault == "lost-data";
  }
  return found;
}

/// How much of the holder's lease is certainly left at a change. The lease lasts for its length
/// from the begin of the call. By the primary's dates it lasts until the document's date, at most
/// for its length from the last write. The longer one counts.
std::int64_t left_of_lease(const Digest& d, const HeldDocument& doc, const Event& change,
                           bool dates_doubtful) {
  const Event& ask = *doc.call->ask;
  const Event& last = d.at(doc.last);
  const auto by_us = ask.at_ns + ask.expiry_ms * kMs - change.at_ns;
  if (dates_doubtful || last.expires_at_ms == 0 || last.wall_ms == 0 || change.wall_ms == 0) {
    return by_us;
  }
  // Servers date their entries by a clock that one of their threads advances now and then.
  const auto end_ms = std::min(last.expires_at_ms, last.wall_ms + ask.expiry_ms);
  return std::max(by_us, (end_ms - change.wall_ms) * kMs - d.allowed.lateness_ns);
}

/// An end of a holder's document that its holder did not cause.
struct Ending {
  const std::string& name;
  const HeldDocument& document;
  bool is_acquire = false;      ///< by a write that is, or may be, the winning one of an acquire
  bool dates_doubtful = false;  ///< a clock was moved
  std::int64_t left_ns = 0;
};

template <typename Use>
void each_ending(const Digest& d, const WorkerCalls& calls, const HeldDocuments& documents,
                 Use use) {
  const auto doubtful = doubts(d);
  if (doubtful.documents) return;
  for (const auto& [name, all] : documents) {
    for (const HeldDocument& doc : all) {
      if (doc.call == nullptr || doc.next == kNone) continue;
      const Event& change = d.at(doc.next);
      // A holder with a clock that was moved may extend into the past.
      const bool own = doc.next_gone && change.owner == d.at(doc.last).owner && doubtful.dates;
      if (own || is_undecidable(d, doc) || may_have_given_up(d, doc, change)) continue;
      const auto& asked = calls.at(name);
      const bool acquire =
          doc.next_fresh ||
          (!doc.next_gone && std::any_of(asked.begin(), asked.end(), [&](const WorkerCall& c) {
            return &c != doc.call && may_have_written(d, c, change);
          }));
      const auto left = left_of_lease(d, doc, change, doubtful.dates);
      use(Ending{name, doc, acquire, doubtful.dates, left});
    }
  }
}

std::string holder_of(const Ending& e) {
  return "lock '" + e.name + "': the document of " + *e.document.call->process;
}

std::string too_early(const Ending& e) { return ms(e.left_ns) + " before its lease ran out"; }

/// The processes that were releasing this lock meanwhile, in words.
std::string releasing(const Digest& d, const std::vector<WorkerCall>& calls, const Ending& e) {
  const Event& change = d.at(e.document.next);
  std::set<std::string> names;
  for (const WorkerCall& call : calls) {
    const SessionDigest& s = *call.session;
    if (&call == e.document.call || s.release == kNone) continue;
    if (d.at(s.release).at_ns > change.at_ns) continue;
    if (s.released == kNone || d.at(s.released).at_ns >= change.from_ns) {
      names.insert(*call.process);
    }
  }
  std::string out;
  for (const auto& process : names) {
    out += (out.empty() ? "; it was being released by " : ", ") + process;
  }
  return out;
}

}  // namespace

Finding check_document_leases(const Digest& d, const WorkerCalls& calls,
                              const HeldDocuments& documents) {
  Finding f = finding(Check::G1);
  each_ending(d, calls, documents, [&](const Ending& e) {
    const HeldDocument& doc = e.document;
    const bool replaced = e.is_acquire || (doc.next_gone && doc.next_put != kNone);
    if (!replaced) return;
    ++f.checked;
    ++f.counts["takeovers"];
    const auto left = left_of_lease(d, doc, d.at(doc.next_put), e.dates_doubtful);
    if (left <= 0) return;
    violate(f,
            holder_of(e) + " was replaced by another's at least " + ms(left) +
                " before its lease ran out",
            {doc.call->session->granted, doc.last, doc.next_gone ? doc.next : kNone, doc.next_put});
  });
  return f;
}

Finding check_document_owners(const Digest& d, const WorkerCalls& calls,
                              const HeldDocuments& documents) {
  Finding f = finding(Check::G6);
  for (const auto& [name, all] : documents) {
    f.checked += std::count_if(all.begin(), all.end(), [&](const HeldDocument& doc) {
      return doc.call != nullptr && doc.next_gone && !is_undecidable(d, doc);
    });
  }
  each_ending(d, calls, documents, [&](const Ending& e) {
    if (e.is_acquire) return;
    if (!e.document.next_gone) ++f.checked;
    if (e.left_ns <= 0) return;
    const auto* what = e.document.next_gone ? " was freed " : " was overwritten ";
    violate(f,
            holder_of(e) + what + too_early(e) + ", and not by its holder" +
                releasing(d, calls.at(e.name), e),
            {e.document.call->session->granted, e.document.last, e.document.next});
  });
  return f;
}

void check_document_tokens(const HeldDocuments& documents, Finding& f) {
  for (const auto& [name, all] : documents) {
    const HeldDocument* highest = nullptr;
    for (const HeldDocument& doc : all) {
      if (doc.call == nullptr || doc.call->token() == 0) continue;
      ++f.counts["by the oplog"];
      // Equal ones are found without the oplog.
      if (highest == nullptr || doc.call->token() >= highest->call->token()) {
        highest = &doc;
        continue;
      }
      violate(
          f,
          "lock '" + name + "': token " + std::to_string(doc.call->token()) + " of " +
              *doc.call->process + ", by the oplog after token " +
              std::to_string(highest->call->token()) + " of " + *highest->call->process,
          {highest->first, highest->call->session->granted, doc.first, doc.call->session->granted});
    }
  }
}

namespace {

/// When its holder was killed without a release before; kNever: it was not.
std::int64_t died_holding(const Digest& d, const WorkerCall& call) {
  const Index end = d.processes.at(*call.process).crash;
  const bool killed = end != kNone && d.at(end).kind == Kind::crash;
  return killed && call.session->release == kNone ? d.at(end).at_ns : kNever;
}

/// Whether the write may come from a command that was on its way at the death, because of a fault.
bool may_be_late(const Digest& d, Id process, std::int64_t died, const Event& write) {
  return write.at_ns > died && d.disturbed(process, {died, write.at_ns}) != nullptr;
}

}  // namespace

Finding check_document_ends(const Digest& d, const Promises& promises,
                            const HeldDocuments& documents) {
  Finding f = finding(Check::G8);
  const auto doubtful = doubts(d);
  if (doubtful.dates || doubtful.documents || !promises.passes_on_leases) return f;
  for (const auto& [name, all] : documents) {
    for (const HeldDocument& doc : all) {
      const auto died = doc.call == nullptr ? kNever : died_holding(d, *doc.call);
      const Event& last = d.at(doc.last);
      const bool dated = last.expires_at_ms != 0 && last.wall_ms != 0 && last.from_ns != 0;
      const bool over = doc.next != kNone && d.at(doc.next).from_ns <= died;
      if (died == kNever || !dated || over) continue;
      if (may_be_late(d, doc.call->session->process, died, last)) continue;
      ++f.checked;
      const auto lease_ns = static_cast<double>(doc.call->ask->expiry_ms * kMs);
      const auto executed = d.servers.put_off(died, died + d.allowed.lateness_ns);
      const auto latest = (last.at_ns > died ? executed : died + d.allowed.lateness_ns) +
                          promises.clock_margin_ms.value_or(0) * kMs +
                          static_cast<std::int64_t>(*promises.passes_on_leases * lease_ns);
      const auto by_date = last.from_ns + (last.expires_at_ms - last.wall_ms) * kMs;
      const auto ended = doc.next == kNone ? by_date : std::min(by_date, d.at(doc.next).from_ns);
      if (ended <= latest) continue;
      violate(f,
              "lock '" + name + "': the document of " + *doc.call->process +
                  ", which died, is in force " + ms(ended - latest) + " longer than promised",
              {doc.call->session->granted, doc.last, d.processes.at(*doc.call->process).crash});
    }
  }
  return f;
}

}  // namespace leasehold::model
