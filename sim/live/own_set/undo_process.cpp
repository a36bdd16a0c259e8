#include "sim/live/own_set/undo_process.hpp"

namespace leasehold::sim::live {
namespace {

constexpr int kLimit_ms = 10'000;

}  // namespace

// In a session of its own, which the end of a terminal does not end.
UndoProcess::UndoProcess()
    : child_({beside_this_program("leasehold-undo")}, ChildProcess::Io::pipes, true) {}

UndoProcess::~UndoProcess() {
  child_.close_input();
  child_.wait_ms(kLimit_ms);
}

void UndoProcess::remember(const std::string& what, const std::string& uri, const Json& command) {
  child_.say(Json{{"what", what}, {"uri", uri}, {"command", command}}.dump() + '\n');
}

void UndoProcess::forget(const std::string& what) {
  child_.say(Json{{"what", what}}.dump() + '\n');
}

}  // namespace leasehold::sim::live
