#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/virtual/collection.hpp"

/// Multi-document transactions of one member, as far as "insert-unique" uses them: one insert, then
/// a commit or an abort.
namespace leasehold::sim::simulated {

[[nodiscard]] bool in_transaction(const Object& command);

/// Those that are open. They die with their primary's office, and after 60 s of its clock.
class Transactions {
 public:
  /// A key that is there is error 11000, one that another open transaction inserts is 112; both end
  /// the transaction.
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
  std::set<std::string> committed_;   ///< sessions: to commit again is to wait again
};

}  // namespace leasehold::sim::simulated
