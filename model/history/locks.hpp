#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace leasehold::model {

/// The locks that the laboratory knows: ours, and the four published ones.
enum class Lock : std::uint8_t {
  leasehold,
  distributed_lock,
  document_level,
  insert_unique,
  set_on_insert
};

[[nodiscard]] std::string_view name_of(Lock lock);
[[nodiscard]] std::optional<Lock> lock_named(std::string_view name);
[[nodiscard]] const std::vector<Lock>& all_locks();

}  // namespace leasehold::model
