#pragma once

#include <initializer_list>
#include <optional>

#include "model/abstract/arrow_log.hpp"
#include "model/diagrams/lifecycle_steps.hpp"
#include "model/diagrams/transition_table.hpp"

/// The arrows of the diagrams that a step of the abstract system takes. A name that no table has is
/// refused at its first use.
namespace leasehold::model::arrow {

using Step = LifecycleStep;

/// One arrow by its name, or those that a step takes through the lifecycle.
struct Taken {
  Taken(const TransitionTable& of, std::string_view state, std::string_view label)
      : table(of), from(state), input(label) {}
  Taken(Step of, std::string_view state) : table(lifecycle()), from(state), step(of) {}

  const TransitionTable& table;
  std::string_view from, input;
  std::optional<Step> step;
};
[[nodiscard]] Set set_of(std::initializer_list<Taken> all);

// Every set is looked up once.
#define LEASEHOLD_ARROWS(name, ...)             \
  inline const Set& name() {                    \
    static const Set set = set_of(__VA_ARGS__); \
    return set;                                 \
  }

LEASEHOLD_ARROWS(create_lock, {{Step::created, kOutside}})
LEASEHOLD_ARROWS(first_attempt, {{flowchart(), "A", "then"}, {flowchart(), "B", "then"}})
LEASEHOLD_ARROWS(next_attempt, {{flowchart(), "Q", "then"}, {flowchart(), "B", "then"}})
LEASEHOLD_ARROWS(attempt, {{Step::attempt_sent, "Waiting"}})
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
LEASEHOLD_ARROWS(won, {{Step::granted, "Acquiring"},
                       {flowchart(), "M", "Yes"},
                       {flowchart(), "N", "then"},
                       {flowchart(), "R", "then"}})
LEASEHOLD_ARROWS(won_too_late, {{Step::won_too_late, "Acquiring"},
                                {flowchart(), "M", "Yes"},
                                {flowchart(), "N", "Won Too Late"},
                                {flowchart(), "P", "then"}})
LEASEHOLD_ARROWS(refused, {{Step::attempt_refused, "Acquiring"},
                           {flowchart(), "G", "then"},
                           {flowchart(), "P", "then"}})
LEASEHOLD_ARROWS(acquire_unknown, {{Step::attempt_unanswered, "Acquiring"},
                                   {flowchart(), "B", "No Reply"},
                                   {flowchart(), "P", "then"}})
LEASEHOLD_ARROWS(give_up_waiting, {{Step::ended, "Waiting"}, {flowchart(), "P", "Give Up"}})
LEASEHOLD_ARROWS(give_up_attempting, {{Step::ended, "Acquiring"}, {flowchart(), "B", "Give Up"}})
LEASEHOLD_ARROWS(extension_sent, {{Step::extension_sent, "Acquired"},
                                  {document_states(), "Active", "Background Task"}})
LEASEHOLD_ARROWS(extended, {{Step::extended, "Extending"}})
LEASEHOLD_ARROWS(extension_unknown, {{Step::extension_unanswered, "Extending"}})
LEASEHOLD_ARROWS(extension_failed, {{Step::lost, "Extending"}, {Step::signalled, "Lost"}})
LEASEHOLD_ARROWS(extension_in_time, {{document_states(), "Extending", "Success"}})
LEASEHOLD_ARROWS(extension_late, {{document_states(), "Expired", "Late Renewal"}})
LEASEHOLD_ARROWS(lease_ran_out, {{Step::lost, "Acquired"}, {Step::signalled, "Lost"}})
LEASEHOLD_ARROWS(document_ran_out, {{document_states(), "Active", "Lease Ran Out"}})
LEASEHOLD_ARROWS(document_ran_out_extending, {{document_states(), "Extending", "Failure"}})
LEASEHOLD_ARROWS(release, {{Step::release_asked, "Acquired"}})
LEASEHOLD_ARROWS(release_while_extending, {{Step::release_asked, "Extending"}})
LEASEHOLD_ARROWS(release_lost, {{Step::release_asked, "Lost"}})
LEASEHOLD_ARROWS(hand_over, {{Step::release_asked, "Acquired"}, {Step::handed_over, "Releasing"}})
LEASEHOLD_ARROWS(handed_over, {{flowchart(), "C", "Yes"},
                               {flowchart(), "D", "Handed Over"},
                               {flowchart(), "F", "then"},
                               {document_states(), "Active", "Handed Over"}})
LEASEHOLD_ARROWS(nothing_to_hand_over, {{Step::nothing_to_hand_over, "Acquiring"},
                                        {flowchart(), "B", "Nothing To Hand Over"}})
LEASEHOLD_ARROWS(deleted, {{Step::deleted, "Releasing"}, {document_states(), "Active", "Release"}})
LEASEHOLD_ARROWS(deleted_while_extending,
                 {{Step::deleted, "Releasing"}, {document_states(), "Extending", "Release"}})
LEASEHOLD_ARROWS(deleted_expired,
                 {{Step::deleted, "Releasing"}, {document_states(), "Expired", "Release"}})
LEASEHOLD_ARROWS(ttl,
                 {{Step::cleaned_up, "Waiting"}, {document_states(), "Expired", "TTL Cleanup"}})

#undef LEASEHOLD_ARROWS

}  // namespace leasehold::model::arrow
