#pragma once

#include <string>
#include <vector>

#include "model/history/digest.hpp"

namespace leasehold::properties {

/// A history in words, a line an event: which process asked for, got, lost and released which lock,
/// wrote to the resource, was killed or stopped; which faults came and went; which documents went
/// without a release. Times in ms from the first process's start; processes are A, B, C; tokens
/// beyond what a person can read are T1, T2, ... in their order.
[[nodiscard]] std::vector<std::string> transcript(const model::History& history);

/// The part in which these events decided something: the events of their lock from the first of
/// them to the last, and of their processes; with the writes of its document and the answers of
/// holders. The events themselves have a mark.
[[nodiscard]] std::vector<std::string> transcript_of(const model::History& history,
                                                     const std::vector<model::Index>& events);

/// The name that a transcript gives to a process: "p1.2" is B.
[[nodiscard]] std::string short_name(const std::string& process);

/// The text with the names that a transcript gives to the processes.
[[nodiscard]] std::string with_short_names(const std::string& text);

}  // namespace leasehold::properties
