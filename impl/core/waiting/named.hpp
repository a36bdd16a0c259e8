#pragma once

#include <leasehold/waiting.hpp>
#include <memory>
#include <string>

namespace leasehold::core {

/// The strategies that commands and other languages choose from, each with its defaults.
inline constexpr const char* kNamedWaitings = "queue, adaptive or uniform";

/// Null: none of these.
[[nodiscard]] inline std::shared_ptr<const WaitingStrategy> waiting_named(const std::string& name) {
  if (name == "uniform") return uniform_waiting();
  if (name == "adaptive") return adaptive_waiting();
  if (name == "queue") return queue_waiting();
  return nullptr;
}

}  // namespace leasehold::core
