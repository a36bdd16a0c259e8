#include "properties/promises.hpp"

#include <algorithm>
#include <array>

namespace leasehold::properties {
namespace {

using enum model::Guarantee;

struct Promise {
  std::string_view lock;
  model::Guarantee guarantee;
  std::string_view sentence;
};

/// In our words and in English.
constexpr std::array kPromises{
    Promise{"leasehold", G1, "its README"},
    Promise{"leasehold", G2, "its README"},
    Promise{"leasehold", G3, "its README"},
    Promise{"leasehold", G4, "its README"},
    Promise{"leasehold", G5, "its README"},
    Promise{"leasehold", G6, "its README"},
    Promise{"leasehold", G7, "its README"},
    Promise{"leasehold", G8, "its README"},
    Promise{"leasehold", G9, "its README"},
    Promise{"leasehold", release, "its README"},
    Promise{"leasehold", needless, "its README"},

    Promise{"distributed-lock", G1, "a lock held by another process is left unchanged"},
    Promise{"distributed-lock", G2, "no two processes hold the lock at once, by their own account"},
    Promise{"distributed-lock", G3, "operations with the token of a lost lock are rejected"},
    Promise{"distributed-lock", G4, "the token is incremented and gives an order"},
    Promise{"distributed-lock", G5, "HandleLostToken is signaled when an extension fails"},
    Promise{"distributed-lock", G6, "disposing the handle deletes the lock document"},
    Promise{"distributed-lock", G7, "a crashed process's lock is available after its expiry"},
    Promise{"distributed-lock", G8, "stale lock documents are cleaned up by the database"},
    Promise{"distributed-lock", G9, "an acquisition is one operation"},

    Promise{"document-level", G1, "only a lock that is null or has expired is taken"},
    Promise{"document-level", G2, "a document that is locked is not given to a second caller"},
    Promise{"document-level", G6, "a release filters by id and lock id"},
    Promise{"document-level", G7, "a lock that has expired can be taken"},
    Promise{"document-level", G9, "one atomic operation locks, one releases"},

    Promise{"insert-unique", G1, "the unique index keeps the lock unique"},
    Promise{"insert-unique", G2, "only one service instance works at a time"},
    Promise{"insert-unique", G6, "deleting the document releases the lock that was taken"},
    Promise{"insert-unique", G7, "a crashed client's lock is cleaned up, no deadlock"},
    Promise{"insert-unique", G8, "the system cleans up expired locks"},

    Promise{"set-on-insert", G1, "an existing lock record is returned and not touched"},
    Promise{"set-on-insert", G2, "no two tasks get past step 1 for one resource"},
    Promise{"set-on-insert", G6, "disposing of the lock deletes the lock document"},
    Promise{"set-on-insert", G7, "a lock not released in time is freed for another thread"},
    Promise{"set-on-insert", G8, "expired lock documents are deleted automatically"},
    Promise{"set-on-insert", G9, "one FindOneAndUpdate acquires"},
};

}  // namespace

std::string_view promise_of(std::string_view lock, model::Guarantee guarantee) {
  const auto found = std::find_if(kPromises.begin(), kPromises.end(), [&](const Promise& p) {
    return p.lock == lock && p.guarantee == guarantee;
  });
  return found == kPromises.end() ? std::string_view() : found->sentence;
}

}  // namespace leasehold::properties
