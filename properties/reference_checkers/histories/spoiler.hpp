#pragma once

#include <vector>

#include "model/verdict/check.hpp"
#include "properties/reference_checkers/histories/draws.hpp"

namespace leasehold::properties {

/// Spoils whole histories in ways that no lock of ours would, each by the guarantee that it can
/// break.
class Spoiler {
 public:
  explicit Spoiler(Draws& draws) : draw_(draws) {}

  /// Two of three histories so that they can break this guarantee; seldom so that they can break
  /// another. The rules of the monitors are broken only if one is meant.
  void spoil(model::History& h, model::Check check);
  /// An answer or another event is missing from it.
  void lose_some(model::History& h);

 private:
  using History = model::History;
  using Event = model::Event;

  struct Spoil {
    model::Check check;
    void (Spoiler::*how)(History&);
  };
  static const std::vector<Spoil>& spoils();
  void steal(History& h);
  void hold_on(History& h);
  void spoil_the_fence(History& h);
  void miscount(History& h);
  void forget_to_notify(History& h);
  void touch_anothers(History& h);
  void overlook_a_win(History& h);
  void leave_a_document(History& h);
  void send_too_much(History& h);
  void say_the_wrong_thing(History& h);
  void lose_needlessly(History& h);
  void mislead_the_user(History& h);
  void reuse_a_lock_id(History& h);
  void count_from_later(History& h);
  void presume_somebody_dead(History& h);
  void use_an_ended_owner(History& h);
  void misdate(History& h);
  void store_another_token(History& h);
  void lose_an_answer(History& h);
  void lose_an_event(History& h);

  Event* any_grant(History& h) { return draw_.pick(h, model::Kind::granted); }
  /// A command of this session, sent at that time.
  Event command(const Event& session, int at, const char* what);
  /// The write of this command, at its time.
  static Event put_by(const Event& send, std::int64_t order);
  static Event answer(const Event& send, int after, std::int64_t matched, std::int64_t order);

  Draws& draw_;
  std::int64_t command_ = 0;  ///< the last that was added to this history
};

}  // namespace leasehold::properties
