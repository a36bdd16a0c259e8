#pragma once

#include <string>

#include "sim/live/system/child_process.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

/// Undoes what was done to a user's servers, when this process ends in any way, SIGKILL included: a
/// process of its own, `leasehold-undo`, that waits for the end of a pipe.
///
/// Not thread-safe.
class UndoProcess {
 public:
  /// Throws std::runtime_error if the program is not there.
  UndoProcess();
  /// Waits some seconds for what is still to be undone.
  ~UndoProcess();
  UndoProcess(const UndoProcess&) = delete;
  UndoProcess& operator=(const UndoProcess&) = delete;

  /// Keeps the command that undoes `what`, on the server of this URI.
  void remember(const std::string& what, const std::string& uri, const Json& command);
  /// Notes that it was undone.
  void forget(const std::string& what);

 private:
  ChildProcess child_;
};

}  // namespace leasehold::sim::live
