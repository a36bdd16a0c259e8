#pragma once

#include "core/protocol.hpp"
#include "sim/virtual/documents/value.hpp"

/// Commands in the form that the simulated server executes, made from the adapter's bytes.
namespace leasehold::sim::simulated {

inline constexpr const char* kCollection = "distributed.locks";

/// One command in this many goes through the adapter's bytes, with its reply, because what is read
/// without the bytes has to be the same.
inline constexpr core::CommandId kComparedEvery = 512;

/// `to_object(mongo::build(command))`, with its update pipelines compiled.
///
/// Commands of one kind and with the same options have bytes of one shape: they differ in a few
/// leaves, its parameters. The adapter builds the bytes of the first of each shape; after that a
/// command is its parameters. To build, read and interpret three thousand bytes for each attempt
/// took most of a run's time.
///
/// If `compared`, the adapter's bytes are built and compared whole; throws std::logic_error if they
/// differ. That changes nothing in what a command does, so the same plan gives the same history.
/// Thread safety: any thread; each has its own shapes.
[[nodiscard]] Object prepared(const core::Command& command, bool compared);

/// The same, with the pipelines as they are: what is compared with the adapter's bytes.
[[nodiscard]] Object with_pipelines(const core::Command& command);

}  // namespace leasehold::sim::simulated
