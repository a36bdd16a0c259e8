#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/virtual/commands/collection.hpp"

/// Multi-document transactions of one member, as far as "insert-unique" uses them: one insert, then
/// a commit or an abort.
namespace leasehold::sim::simulated {

[[nodiscard]] bool in_transaction(const Object& command);

/// The open transactions. They die with their primary's office, and after 60 s of its clock.
///
/// A member has one of these as primary. Before the commit, what is inserted is in neither
/// collection nor oplog, and no other client sees it.
///
/// INVARIANT: no two open transactions insert the same key.
class Transactions {
 public:
  /// A key that exists gives error 11000, a key that another open transaction inserts gives 112;
  /// both end the transaction. Any other error ends it too, as with mongod, unless it is of the
  /// commit's write concern.
  Executed execute(const Object& command, const Collection& collection, const Start& start);

 private:
  struct Open {
    Change change;
    Date began;
  };
  Executed insert(const Object& command, const Collection& collection, const Start& start);
  Executed commit(const Object& command);
  Executed abort(const Object& command);
  Change take(const std::string& session);

  std::map<std::string, Open> open_;  ///< by session
  // Kept to the end of the office: a run is short, and there is one session for each attempt.
  std::set<std::string> committed_;  ///< sessions: to commit again is to wait again
};

}  // namespace leasehold::sim::simulated
