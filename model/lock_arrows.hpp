#pragma once

#include <bitset>
#include <initializer_list>

#include "model/transition_table.hpp"

/// Which arrows of the diagrams a step of the abstract system takes. A name that no table has is
/// refused when it is first used.
namespace leasehold::model::arrow {

using Set = std::bitset<128>;  ///< bit n: the nth arrow of all tables, in their order

struct Name {
  const TransitionTable& table;
  std::string_view from, input;
};
[[nodiscard]] Set set_of(std::initializer_list<Name> names);

// Every set is looked up once.
#define LEASEHOLD_ARROWS(name, ...)             \
  inline const Set& name() {                    \
    static const Set set = set_of(__VA_ARGS__); \
    return set;                                 \
  }

LEASEHOLD_ARROWS(create_lock, {{lifecycle(), kOutside, "Create Lock"}})
LEASEHOLD_ARROWS(first_attempt, {{flowchart(), "A", "then"}, {flowchart(), "B", "then"}})
LEASEHOLD_ARROWS(next_attempt, {{flowchart(), "Q", "then"}, {flowchart(), "B", "then"}})
LEASEHOLD_ARROWS(attempt, {{lifecycle(), "Waiting", "Call AcquireAsync()"}})
LEASEHOLD_ARROWS(held, {{flowchart(), "C", "Yes"}, {flowchart(), "D", "No"}})
LEASEHOLD_ARROWS(raced, {{flowchart(), "M", "No"}, {flowchart(), "O", "then"}})
LEASEHOLD_ARROWS(inserted, {{flowchart(), "C", "No"},
                            {flowchart(), "E", "then"},
                            {document_states(), "NonExistent", "Acquire Attempt"}})
LEASEHOLD_ARROWS(inserted_again, {{flowchart(), "C", "No"},
                                  {flowchart(), "E", "then"},
                                  {document_states(), "Deleted", "Acquire Attempt"}})
LEASEHOLD_ARROWS(taken_over, {{flowchart(), "C", "Yes"},
                              {flowchart(), "D", "Yes"},
                              {flowchart(), "F", "then"},
                              {document_states(), "Expired", "Other Process Acquires"}})
LEASEHOLD_ARROWS(own_retry, {{flowchart(), "C", "Yes"},
                             {flowchart(), "D", "Ours"},
                             {document_states(), "Active", "Own Retry"}})
LEASEHOLD_ARROWS(own_retry_while_extending, {{flowchart(), "C", "Yes"},
                                             {flowchart(), "D", "Ours"},
                                             {document_states(), "Extending", "Own Retry"}})
LEASEHOLD_ARROWS(written, {{flowchart(), "H", "then"},
                           {flowchart(), "I", "then"},
                           {flowchart(), "J", "then"},
                           {flowchart(), "K", "then"},
                           {flowchart(), "L", "then"}})
LEASEHOLD_ARROWS(won, {{lifecycle(), "Acquiring", "Successfully Acquired Lock"},
                       {flowchart(), "M", "Yes"},
                       {flowchart(), "N", "then"},
                       {flowchart(), "R", "then"}})
LEASEHOLD_ARROWS(won_too_late, {{lifecycle(), "Acquiring", "Won Too Late"},
                                {flowchart(), "M", "Yes"},
                                {flowchart(), "N", "Won Too Late"},
                                {flowchart(), "P", "then"}})
LEASEHOLD_ARROWS(refused, {{lifecycle(), "Acquiring", "Lock Held by Others"},
                           {flowchart(), "G", "then"},
                           {flowchart(), "P", "then"}})
LEASEHOLD_ARROWS(acquire_unknown, {{lifecycle(), "Acquiring", "Outcome Unknown"},
                                   {flowchart(), "B", "No Reply"},
                                   {flowchart(), "P", "then"}})
LEASEHOLD_ARROWS(give_up_waiting,
                 {{lifecycle(), "Waiting", "Give Up"}, {flowchart(), "P", "Give Up"}})
LEASEHOLD_ARROWS(give_up_attempting,
                 {{lifecycle(), "Acquiring", "Give Up"}, {flowchart(), "B", "Give Up"}})
LEASEHOLD_ARROWS(extension_sent, {{lifecycle(), "Acquired", "Background Extension Task"},
                                  {document_states(), "Active", "Background Task"}})
LEASEHOLD_ARROWS(extended, {{lifecycle(), "Extending", "Extension Successful"}})
LEASEHOLD_ARROWS(extension_unknown, {{lifecycle(), "Extending", "Outcome Unknown"}})
LEASEHOLD_ARROWS(extension_failed, {{lifecycle(), "Extending", "Extension Failed"},
                                    {lifecycle(), "Lost", "HandleLostToken Signaled"}})
LEASEHOLD_ARROWS(extension_in_time, {{document_states(), "Extending", "Success"}})
LEASEHOLD_ARROWS(extension_late, {{document_states(), "Expired", "Late Renewal"}})
LEASEHOLD_ARROWS(lease_ran_out, {{lifecycle(), "Acquired", "Lease Ran Out"},
                                 {lifecycle(), "Lost", "HandleLostToken Signaled"}})
LEASEHOLD_ARROWS(document_ran_out, {{document_states(), "Active", "Lease Ran Out"}})
LEASEHOLD_ARROWS(document_ran_out_extending, {{document_states(), "Extending", "Failure"}})
LEASEHOLD_ARROWS(release, {{lifecycle(), "Acquired", "Dispose Handle"}})
LEASEHOLD_ARROWS(release_while_extending, {{lifecycle(), "Extending", "Dispose Handle"}})
LEASEHOLD_ARROWS(release_lost, {{lifecycle(), "Lost", "Dispose Handle"}})
LEASEHOLD_ARROWS(hand_over, {{lifecycle(), "Acquired", "Dispose Handle"},
                             {lifecycle(), "Releasing", "Lock Handed Over"},
                             {lifecycle(), "Released", "Lock Released"}})
LEASEHOLD_ARROWS(handed_over, {{flowchart(), "C", "Yes"},
                               {flowchart(), "D", "Handed Over"},
                               {flowchart(), "F", "then"},
                               {document_states(), "Active", "Handed Over"}})
LEASEHOLD_ARROWS(nothing_to_hand_over, {{lifecycle(), "Acquiring", "Nothing To Hand Over"},
                                        {flowchart(), "B", "Nothing To Hand Over"}})
LEASEHOLD_ARROWS(deleted, {{lifecycle(), "Releasing", "Lock Document Deleted"},
                           {lifecycle(), "Released", "Lock Released"},
                           {document_states(), "Active", "Release"}})
LEASEHOLD_ARROWS(deleted_while_extending, {{lifecycle(), "Releasing", "Lock Document Deleted"},
                                           {lifecycle(), "Released", "Lock Released"},
                                           {document_states(), "Extending", "Release"}})
LEASEHOLD_ARROWS(deleted_expired, {{lifecycle(), "Releasing", "Lock Document Deleted"},
                                   {lifecycle(), "Released", "Lock Released"},
                                   {document_states(), "Expired", "Release"}})
LEASEHOLD_ARROWS(ttl, {{lifecycle(), "Waiting", "TTL Cleanup"},
                       {lifecycle(), "Expired", "Stale Lock Cleaned Up"},
                       {document_states(), "Expired", "TTL Cleanup"}})

#undef LEASEHOLD_ARROWS

}  // namespace leasehold::model::arrow
