#pragma once

#include "core/protocol.hpp"
#include "sim/virtual/value.hpp"

/// What the adapter's bytes of a command say, as the simulated server executes it.
namespace leasehold::sim::simulated {

inline constexpr const char* kCollection = "distributed.locks";

/// One in so many commands goes through the adapter's bytes, and so does its reply: what is read
/// without them has to be the same.
inline constexpr core::CommandId kComparedEvery = 512;

/// `to_object(mongo::build(command))`, with its update pipelines compiled.
///
/// Commands of one kind and with the same options have bytes of one shape: they differ in a few
/// leaves, its parameters. The adapter builds the bytes of the first of each shape; after that a
/// command is its parameters. Worth it: to build, read and interpret three thousand bytes for each
/// attempt took most of a run's time.
///
/// It holds what the adapter builds: if `compared`, the bytes are built and compared whole. Throws
/// std::logic_error if they differ. That changes nothing in what a command does, so the same plan
/// gives the same history.
/// Thread safety: any thread; each has its own shapes.
[[nodiscard]] Object prepared(const core::Command& command, bool compared);

/// The same, with the pipelines as they are: what is compared with the adapter's bytes.
[[nodiscard]] Object with_pipelines(const core::Command& command);

}  // namespace leasehold::sim::simulated
