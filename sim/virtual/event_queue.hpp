#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::sim::simulated {

/// Times and spans are whole numbers of ns from the start of the run. Never floating point: it
/// rounds differently from one machine to the next, and the same plan must give the same bytes.
inline constexpr std::int64_t kMs = 1'000'000;  ///< times are in ns
/// Coarser than a ns so that a clock that is a few ppm off still shows a whole number of ns.
inline constexpr std::int64_t kGrain = 1'000;  ///< and multiples of this

/// Virtual time: due events run in the order of their times; at equal times, in the order in which
/// they were asked for.
///
/// An event cannot be withdrawn. Code that may change its mind gives it a number or a time and
/// compares when it runs (a member's `life`, a cursor's `asked`, a timer's due time).
///
/// An event's closure is kept in a place of its own, which is used again afterwards, because a run
/// has thousands of events and few at a time. So no event needs the allocator, and the heap moves
/// 24 bytes and not a whole closure.
///
/// INVARIANT: `now()` never goes back: what is asked for in the past runs now.
/// INVARIANT: the order is total. No two events compare equal, because `asked` differs, so the
/// heap, which is not stable, never decides.
class EventQueue {
 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  ~EventQueue() {
    for (const Due& due : heap_) due.place->end(due.place->bytes);
  }

  [[nodiscard]] std::int64_t now() const { return now_; }

  template <typename Run>
  void at(std::int64_t time, Run&& run) {
    heap_.push_back({std::max(time, now_), ++asked_, place_for(std::forward<Run>(run))});
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }
  template <typename Run>
  void after(std::int64_t span, Run&& run) {
    at(now_ + span, std::forward<Run>(run));
  }

  /// Runs the next event. False when there is none. Throws if time stands still for a million.
  bool step() {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    const Due due = heap_.back();
    heap_.pop_back();
    at_once_ = due.time == now_ ? at_once_ + 1 : 0;
    if (at_once_ > kMostAtOnce) {
      throw std::runtime_error("the run does not go on: a million events at one time");
    }
    now_ = due.time;
    ++ran_;
    // It may add events, and throw. Its place is free only after it has ended.
    const Running running{*this, *due.place};
    due.place->run(due.place->bytes);
    return true;
  }

  /// How many events ran: the cost of a run, independent of the machine.
  [[nodiscard]] std::uint64_t ran() const { return ran_; }

 private:
  static constexpr std::size_t kBytes = 64;  ///< enough for all frequent closures
  static constexpr int kMostAtOnce = 1'000'000;

  struct Place {
    alignas(std::max_align_t) std::byte bytes[kBytes];
    void (*run)(void* closure);
    void (*end)(void* closure);
  };
  struct Due {
    std::int64_t time;
    std::uint64_t asked;
    Place* place;
  };
  /// INVARIANT: its place is not used again while it runs, whatever it adds to the queue.
  struct Running {
    EventQueue& queue;
    Place& place;
    ~Running() {
      place.end(place.bytes);
      queue.free_.push_back(&place);
    }
  };
  /// A type of its own, so that the compiler inlines it into the heap's loops.
  struct Later {
    bool operator()(const Due& a, const Due& b) const {
      return a.time != b.time ? a.time > b.time : a.asked > b.asked;
    }
  };

  /// A closure that is too large is kept on the heap, and a pointer to it in the place.
  template <typename Given, typename Run = std::decay_t<Given>>
  Place* place_for(Given&& run) {
    if constexpr (sizeof(Run) > kBytes || alignof(Run) > alignof(std::max_align_t)) {
      return place_for([whole = std::make_unique<Run>(std::forward<Given>(run))] { (*whole)(); });
    } else {
      if (free_.empty()) free_.push_back(&places_.emplace_back());
      Place* place = free_.back();
      new (place->bytes) Run(std::forward<Given>(run));
      free_.pop_back();
      place->run = [](void* closure) { (*static_cast<Run*>(closure))(); };
      place->end = [](void* closure) { static_cast<Run*>(closure)->~Run(); };
      return place;
    }
  }

  std::vector<Due> heap_;
  std::deque<Place> places_;  ///< never moved, so that an event may run where it is
  std::vector<Place*> free_;
  std::int64_t now_ = 0;
  std::uint64_t asked_ = 0, ran_ = 0;
  int at_once_ = 0;
};

}  // namespace leasehold::sim::simulated
