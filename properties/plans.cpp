#include "properties/plans.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

namespace leasehold::properties {
namespace {

using sim::FaultPlan;
using sim::Plan;
using sim::ProcessPlan;
using Shrinks = rc::Seq<rc::Shrinkable<Plan>>;
using Change = std::function<void(Plan&)>;

/// Numbers that are set to the least, each by itself.
std::vector<Change> changes_of(const Plan& plan) {
  std::vector<Change> changes{[](Plan& p) { p.locks = 1; }};
  for (std::int64_t ms = plan.faulty_ms / 2; ms >= 200; ms /= 2) {
    changes.emplace_back([ms](Plan& p) {
      p.faulty_ms = ms;
      std::erase_if(p.faults, [ms](const FaultPlan& f) { return f.at_ms >= ms; });
    });
  }
  for (std::size_t i = 0; i < plan.processes.size(); ++i) {
    for (auto field : {&ProcessPlan::single_attempt_percent, &ProcessPlan::cancel_percent,
                       &ProcessPlan::long_hold_percent}) {
      changes.emplace_back([i, field](Plan& p) { p.processes[i].*field = 0; });
    }
    changes.emplace_back([i](Plan& p) { p.processes[i].drift_ppm = 0; });
  }
  return changes;
}

/// Delta debugging: removes chunks of the lists, in halves, then one by one, until none can go;
/// then reduces numbers. An object is a place in the search, from which a candidate's shrinks go
/// on.
class Search {
 public:
  explicit Search(Plan plan) : plan_(std::move(plan)), at_start_(entries(plan_)) {
    enter(Stage::faults);
  }

  /// The next candidate, for RapidCheck.
  rc::Maybe<rc::Shrinkable<Plan>> operator()() {
    while (auto candidate = next()) {
      Search chosen = *this;
      chosen.removed_ = stage_ != Stage::numbers;
      from_ += chunk_;
      // Processes and locks that a step or a fault names stay.
      if (*candidate == plan_ || !sim::unsound(*candidate).empty()) continue;
      chosen.plan_ = *candidate;
      return rc::shrinkable::lambda([plan = std::move(*candidate)] { return plan; },
                                    [chosen] { return rc::makeSeq<Search>(chosen); });
    }
    return rc::Nothing;
  }

 private:
  enum class Stage { faults, actors, numbers };

  void enter(Stage stage) {
    stage_ = stage;
    from_ = 0;
    removed_ = false;
    if (stage == Stage::faults) chunk_ = half_of(plan_.faults.size());
    if (stage == Stage::actors) chunk_ = half_of(scripted() ? plan_.steps.size()
                                                            : plan_.processes.size());
    if (stage != Stage::numbers) return;
    chunk_ = 0;
    changes_ = std::make_shared<const std::vector<Change>>(changes_of(plan_));
  }

  std::optional<Plan> next() {
    if (stage_ == Stage::faults) {
      if (auto shorter = without_chunk(&Plan::faults, 0)) return shorter;
      enter(Stage::actors);
    }
    if (stage_ == Stage::actors) {
      // Steps know their processes by place.
      auto shorter = scripted() ? without_chunk(&Plan::steps, 0)
                                : without_chunk(&Plan::processes, 1);
      if (shorter) return shorter;
      const bool another_round = std::exchange(at_start_, entries(plan_)) != entries(plan_);
      enter(another_round ? Stage::faults : Stage::numbers);
      if (another_round) return next();
    }
    if (change_ == changes_->size()) return std::nullopt;
    Plan changed = plan_;
    (*changes_)[change_++](changed);
    return changed;
  }

  template <typename T>
  std::optional<Plan> without_chunk(std::vector<T> Plan::*list, std::size_t keep) {
    const std::size_t size = (plan_.*list).size();
    for (;;) {
      const std::size_t to = std::min(from_ + chunk_, size);
      if (from_ < size && size - (to - from_) >= keep) {
        Plan shorter = plan_;
        auto& entries = shorter.*list;
        entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(from_),
                      entries.begin() + static_cast<std::ptrdiff_t>(to));
        return shorter;
      }
      if (chunk_ == 1 && !removed_) return std::nullopt;
      chunk_ = half_of(chunk_);
      from_ = 0;
      removed_ = false;
    }
  }

  [[nodiscard]] bool scripted() const { return is_scripted(plan_); }
  static std::size_t half_of(std::size_t size) { return std::max<std::size_t>(size / 2, 1); }

  Plan plan_;
  Stage stage_ = Stage::faults;
  std::size_t chunk_ = 1, from_ = 0;
  bool removed_ = false;  ///< anything, in chunks of this size
  std::size_t at_start_;  ///< entries, when this round of both lists began
  std::shared_ptr<const std::vector<Change>> changes_;
  std::size_t change_ = 0;
};

}  // namespace

rc::Gen<Plan> plans(PlanLimits limits) {
  return [limits = std::move(limits)](const rc::Random& seed, int) {
    // The longest live plan, an hour of all kinds, fits.
    constexpr std::size_t kNumbers = 200'000;
    rc::Random random = seed;
    Numbers numbers(kNumbers);
    for (auto& n : numbers) n = static_cast<std::uint32_t>(random.next());
    return with_shrinks(plan_from(numbers, limits));
  };
}

rc::Shrinkable<Plan> with_shrinks(Plan plan) {
  return rc::shrinkable::lambda([plan] { return plan; },
                                [plan] { return rc::makeSeq<Search>(plan); });
}

/// Like RapidCheck with a failing property: goes on from the first candidate that fails too.
Plan minimise(Plan plan, const std::function<bool(const Plan&)>& fails) {
  auto smallest = with_shrinks(std::move(plan));
  for (auto shrinks = smallest.shrinks(); auto next = shrinks.next();) {
    if (!fails(next->value())) continue;
    smallest = *next;
    shrinks = smallest.shrinks();
  }
  return smallest.value();
}

std::size_t entries(const Plan& plan) {
  return plan.processes.size() + plan.faults.size() + plan.steps.size();
}

Plan draw_plan(std::uint64_t seed, const PlanLimits& limits) {
  if (limits.manner == Manner::live) return plans(limits)(rc::Random(seed)).value();
  return plan_from(numbers_of(seed), limits);
}

}  // namespace leasehold::properties

namespace leasehold::sim {

void showValue(const Plan& plan, std::ostream& out) { out << '\n' << to_scn(plan); }

}  // namespace leasehold::sim
