#include <fcntl.h>
#include <fuzzer/FuzzedDataProvider.h>
#include <unistd.h>

#include <stdexcept>

#include "model/history/from_outside.hpp"
#include "properties/fuzz/fuzz.hpp"
#include "sim/live/foreign/worker_protocol.hpp"
#include "sim/live/system/child_process.hpp"

/// A worker's output, byte for byte, to questions that were asked or not: an answer, or a sentence
/// that says what is wrong and that a report can show.
namespace {

using namespace leasehold;
using sim::live::Dialogue;

void hear(Dialogue& dialogue, const std::string& line) {
  try {
    dialogue.heard(sim::live::answer_from(line), 1'000);
  } catch (const std::runtime_error& wrong) {
    const auto why = model::valid_utf8(wrong.what());
    fuzz::must(!why.empty(), "what is wrong has a sentence");
    model::Event e;
    e.kind = model::Kind::protocol;
    e.message = why;
    fuzz::must(model::event_from_json(model::to_json(e)).message == why,
               "a sentence reads back to itself");
  }
}

void ask(Dialogue& dialogue, FuzzedDataProvider& input) {
  dialogue.started(0);
  for (int n = input.ConsumeIntegralInRange(0, 6); n > 0; --n) {
    using Question = Dialogue::Question;
    const auto id = input.ConsumeIntegralInRange(1, 3);
    dialogue.asked(input.PickValueInArray({Question::acquire, Question::ask, Question::release}),
                   id, 10);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider input(bytes, size);
  Dialogue dialogue;
  ask(dialogue, input);
  int ends[2];
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return 0;
  sim::live::LineReader lines;
  while (input.remaining_bytes() > 0) {
    const auto piece = input.ConsumeRandomLengthString(300);
    if (piece.empty()) break;
    if (write(ends[1], piece.data(), piece.size()) < 0) break;
    while (lines.read_from(ends[0])) {
      while (const auto line = lines.next()) hear(dialogue, *line);
    }
  }
  close(ends[0]);
  close(ends[1]);
  return 0;
}
