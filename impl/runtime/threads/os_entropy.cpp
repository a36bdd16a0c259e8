#include "runtime/threads/os_entropy.hpp"

#include <sys/random.h>

#include "core/check.hpp"

namespace leasehold::runtime {
namespace {

class OsEntropy final : public core::Entropy {
 public:
  std::uint64_t draw() override {
    std::uint64_t value = 0;
    LEASEHOLD_CHECK(getrandom(&value, sizeof value, 0) == sizeof value);
    return value;
  }
};

}  // namespace

std::unique_ptr<core::Entropy> os_entropy() { return std::make_unique<OsEntropy>(); }

}  // namespace leasehold::runtime
