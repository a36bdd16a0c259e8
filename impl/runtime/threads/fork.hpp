#pragma once

namespace leasehold::runtime {

/// How many forks lie between this process and the first that asked: a value kept from before a
/// fork differs from what the child gets. Thread safety: any thread.
[[nodiscard]] int fork_generation();

}  // namespace leasehold::runtime
