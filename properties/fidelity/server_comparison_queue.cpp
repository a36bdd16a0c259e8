#include "properties/fidelity/server_comparison_requests.hpp"

// The queue in a lock's document.
namespace leasehold::properties {
namespace {

void a_lock_passes_along_its_queue(Stage& s) {
  begin(s);
  s.ask("A has it", 0, queue_up("l", kA));
  s.ask("B waits", 0, queue_up("l", kB));
  s.ask("C waits", 0, queue_up("l", kC));
  s.ask("B again, at its place", 0, queue_up("l", kB, 3));
  s.ask("B's late command changes nothing of it", 0, queue_up("l", kB, 2));
  s.ask("A releases unless somebody waits", 0, release_unless_queued("l", kA));
  // Offered each time, because the present second decides whether a lock is given at once.
  s.ask("A offers", 0, pass_on("l", kA, true));
  s.ask("B takes it", 0, queue_up("l", kB, 4));
  s.ask("B has it, C waits", 0, look("l"));
  s.ask("A has nothing to pass on", 0, pass_on("l", kA));
  s.ask("C waits no longer", 0, pass_on("l", kC));
  s.ask("B alone", 0, look("l"));
  s.ask("C waits", 0, queue_up("l", kC));
  s.ask("B offers", 0, pass_on("l", kB, true));
  s.ask("who polls takes it, and C waits no longer first", 0, acquire("l", kA));
  s.ask("C waits", 0, queue_up("l", kC));
  s.ask("to C", 0, pass_on("l", kA, true));
  s.ask("C to nobody", 0, pass_on("l", kC));
  s.ask("nobody's", 0, look("l"));
  s.ask("taken", 0, queue_up("l", kB));
  s.ask("B releases unless somebody waits", 0, release_unless_queued("l", kB));
  s.ask("nothing there", 0, pass_on("l", kB));
}

/// With a short name the oplog has whole documents, with a long one what has changed.
void a_stream_tells_whom_a_lock_is_passed_to(Stage& s) {
  begin(s);
  const std::string longer(100, 'l');
  const auto cursor = cursor_in(s.ask("open", 0, stream_of(kB.high)));
  for (const char* name : {"s", longer.c_str()}) {
    s.ask("A has it", 0, queue_up(name, kA));
    s.ask("B waits", 0, queue_up(name, kB));
    s.ask("no news", 0, stream(Step::next, cursor, milliseconds(600)));
    const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(6'000)));
    s.ask("offered to B", 0, pass_on(name, kA, true));
    s.note("B hears", waits);
    s.ask("B takes it", 0, queue_up(name, kB));
    s.ask("its own write", 0, stream(Step::next, cursor));
    s.ask("A waits", 0, queue_up(name, kA));
    s.ask("that is no news for B", 0, stream(Step::next, cursor, milliseconds(600)));
    s.ask("offered to A", 0, pass_on(name, kB, true));
    s.ask("nor that", 0, stream(Step::next, cursor, milliseconds(600)));
    s.ask("to nobody", 0, pass_on(name, kA));
  }
}

}  // namespace

const std::vector<Script>& queue_scripts() {
  static const std::vector<Script> all{
      {"a_lock_passes_along_its_queue", a_lock_passes_along_its_queue},
      {"a_stream_tells_whom_a_lock_is_passed_to", a_stream_tells_whom_a_lock_is_passed_to}};
  return all;
}

}  // namespace leasehold::properties
