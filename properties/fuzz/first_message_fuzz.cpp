#include "properties/fuzz/fuzz.hpp"
#include "sim/live/proxy/wire_message.hpp"

/// The fault proxy reads the first bytes of any peer that connects to it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace leasehold;
  const auto message = fuzz::text_of(bytes, size);
  if (size >= 4) {
    const auto whole = sim::live::message_size(message);
    fuzz::must(!whole || (*whole >= 16 && *whole <= 48'000'000),
               "no buffer grows beyond a message");
  }
  const auto peer = sim::live::peer_of(message, {{27017, 0}, {27018, 1}});
  fuzz::must(peer.size() <= size + sizeof "member-N/beat", "a name comes from the message");
  return 0;
}
