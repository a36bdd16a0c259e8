#include <sstream>
#include <stdexcept>

#include "model/history/history.hpp"
#include "properties/fuzz/fuzz.hpp"

/// The histories that `leasehold-lab check` is given: refused with a reason, or read; and what was
/// read is written and read again without a difference.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace leasehold;
  model::History history;
  try {
    std::istringstream in{std::string(fuzz::text_of(bytes, size))};
    history = model::read(in);
  } catch (const std::runtime_error& refused) {
    fuzz::must(std::string_view(refused.what()).starts_with("line "), "a refusal names the line");
    return 0;
  }
  std::stringstream written;
  model::write(written, history);
  fuzz::must(model::read(written) == history, "a history reads back to itself");
  return 0;
}
