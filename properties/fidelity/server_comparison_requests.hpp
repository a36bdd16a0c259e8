#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "properties/fidelity/server_comparison.hpp"
#include "sim/virtual/documents/make_object.hpp"

/// The requests of scripts, and what they read in the answers.
namespace leasehold::properties {

using sim::simulated::Date;
using sim::simulated::make;
using sim::simulated::Object;
using sim::simulated::Value;
using std::chrono::milliseconds;
using Step = core::StreamCommand::Step;

inline constexpr milliseconds kLease{60'000}, kMargin{500}, kTimeout{5'000};
inline constexpr core::Owner kA{1, 1}, kB{2, 2}, kC{3, 3};

[[nodiscard]] Value list(std::vector<Value> items);
[[nodiscard]] std::string lock_id(core::Owner owner);

[[nodiscard]] Request acquire(const char* name, core::Owner owner, milliseconds timeout = kTimeout,
                              milliseconds lease = kLease);
[[nodiscard]] Request release(const char* name, core::Owner owner, milliseconds timeout = kTimeout);
/// For a lock that was granted at `acquired`.
[[nodiscard]] Request extend(const char* name, core::Owner owner, Date acquired,
                             milliseconds timeout = kTimeout);
[[nodiscard]] Request hand_over(const char* name, core::Owner from, core::Owner to);
/// A refused owner waits in the lock's queue.
[[nodiscard]] Request queue_up(const char* name, core::Owner owner, std::uint64_t beat = 1);
[[nodiscard]] Request pass_on(const char* name, core::Owner from, bool offers = false);
[[nodiscard]] Request release_unless_queued(const char* name, core::Owner owner);
/// The stream of grants to owners of one provider, with releases or without.
/// `since`: a reply, at whose operation time it begins; without one it begins now.
[[nodiscard]] Request stream_of(std::uint64_t provider, const Object& since = {});
[[nodiscard]] Request look(const char* name);
[[nodiscard]] Request stream(Step step, std::int64_t cursor = 0,
                             milliseconds timeout = milliseconds(1'500));
[[nodiscard]] Request ttl_index();
/// Any document, written as `w` says.
[[nodiscard]] Request put(const char* name, const Value& x,
                          const Value& w = std::string("majority"), int wtimeout_ms = 5'000);
/// As "set-on-insert" sends it: the name is there already, and the filter does not match.
[[nodiscard]] Request upsert_under(const char* name, const char* unique_field_taken);
[[nodiscard]] Request insert_in_transaction(char id, const char* resource);
[[nodiscard]] Request end_transaction(const char* how, char id, int wtimeout_ms = 5'000);
[[nodiscard]] Request unique_index();
[[nodiscard]] Date date_in(const Answer& answer, const char* field);
/// How far the date is from the time that it should show: whole ten seconds.
[[nodiscard]] std::string apart(Date date, std::int64_t from_ms);
[[nodiscard]] std::int64_t cursor_in(const Answer& answer);

}  // namespace leasehold::properties
