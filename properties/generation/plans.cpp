#include "properties/generation/plans.hpp"

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

/// What makes every later run cheaper.
std::vector<Change> smaller_sizes(const Plan& plan) {
  std::vector<Change> changes{[](Plan& p) { p.locks = 1; }};
  for (std::int64_t ms = plan.faulty_ms / 2; ms >= 200; ms /= 2) {
    changes.emplace_back([ms](Plan& p) {
      p.faulty_ms = ms;
      std::erase_if(p.faults, [ms](const FaultPlan& f) { return f.at_ms >= ms; });
    });
  }
  return changes;
}

/// What a reader need not think of.
std::vector<Change> zeros(const Plan& plan) {
  using P = ProcessPlan;
  std::vector<Change> changes;
  const auto of_plan = [&](auto... fields) {
    (changes.emplace_back([fields](Plan& p) { p.*fields = {}; }), ...);
  };
  const auto of_process = [&](std::size_t i, auto... fields) {
    (changes.emplace_back([i, fields](Plan& p) { p.processes[i].*fields = {}; }), ...);
  };
  of_plan(&Plan::shards, &Plan::ttl_at_once, &Plan::failed_fetches, &Plan::stray_commands);
  for (std::size_t i = 0; i < plan.processes.size(); ++i) {
    of_process(i, &P::single_attempt_percent, &P::cancel_percent, &P::long_hold_percent,
               &P::drift_ppm, &P::permits, &P::together, &P::leads, &P::other_expiry_ms,
               &P::other_margin_ms, &P::other_max_holding_ms, &P::operation_timeout_ms,
               &P::extension_cadence_ms);
  }
  return changes;
}

/// Delta debugging: sizes; then chunks of the lists, in halves, then one by one, until none can go;
/// then numbers, to zero. It is where the search stands: the shrinks of a candidate go on from
/// there.
class Search {
 public:
  enum class Stage { sizes, faults, actors, zeros };

  explicit Search(Plan plan, Stage first = Stage::sizes)
      : plan_(std::move(plan)), at_start_(entries(plan_)) {
    enter(first);
  }

  /// The next candidate, for RapidCheck.
  rc::Maybe<rc::Shrinkable<Plan>> operator()() {
    while (auto candidate = next()) {
      Search chosen = *this;
      chosen.removed_ = true;
      from_ += chunk_;
      // What a step or a fault names stays.
      if (*candidate == plan_ || !sim::unsound(*candidate).empty()) continue;
      chosen.plan_ = *candidate;
      return rc::shrinkable::lambda([plan = std::move(*candidate)] { return plan; },
                                    [chosen] { return rc::makeSeq<Search>(chosen); });
    }
    return rc::Nothing;
  }

 private:
  void enter(Stage stage) {
    stage_ = stage;
    from_ = 0;
    removed_ = false;
    chunk_ = 0;
    change_ = 0;
    if (stage == Stage::sizes) change_by(smaller_sizes(plan_));
    if (stage == Stage::faults) chunk_ = half_of(plan_.faults.size());
    if (stage == Stage::actors) {
      chunk_ = half_of(scripted() ? plan_.steps.size() : plan_.processes.size());
    }
    if (stage == Stage::zeros) change_by(zeros(plan_));
  }
  void change_by(std::vector<Change> changes) {
    changes_ = std::make_shared<const std::vector<Change>>(std::move(changes));
  }

  std::optional<Plan> next() {
    for (;;) {
      auto candidate = next_of_stage();
      if (candidate || stage_ == Stage::zeros) return candidate;
      if (stage_ == Stage::actors) {
        const bool another_round = std::exchange(at_start_, entries(plan_)) != entries(plan_);
        enter(another_round ? Stage::faults : Stage::zeros);
      } else {
        enter(stage_ == Stage::sizes ? Stage::faults : Stage::actors);
      }
    }
  }

  std::optional<Plan> next_of_stage() {
    if (stage_ == Stage::faults) return without_chunk(&Plan::faults, 0);
    // Steps know their processes by place.
    if (stage_ == Stage::actors && scripted()) return without_chunk(&Plan::steps, 0);
    if (stage_ == Stage::actors) return without_chunk(&Plan::processes, 1);
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
  Stage stage_ = Stage::sizes;
  std::size_t chunk_ = 1, from_ = 0;
  bool removed_ = false;  ///< anything, in chunks of this size
  std::size_t at_start_;  ///< entries, when this round of both lists began
  std::shared_ptr<const std::vector<Change>> changes_;
  std::size_t change_ = 0;
};

}  // namespace

rc::Gen<Plan> plans(PlanLimits limits) {
  return [limits = std::move(limits)](const rc::Random& seed, int) {
    // As many as the longest live plan reads, an hour of all kinds, with room.
    constexpr std::size_t kNumbers = 200'000;
    rc::Random random = seed;
    Numbers numbers(kNumbers);
    for (auto& n : numbers) n = static_cast<std::uint32_t>(random.next());
    return with_shrinks(plan_from(numbers, limits));
  };
}

rc::Shrinkable<Plan> with_shrinks(Plan plan, std::vector<Plan> likely) {
  const auto of_likely = [](Plan&& one) {
    return rc::shrinkable::lambda([one] { return one; }, [one] {
      return rc::makeSeq<Search>(one, Search::Stage::faults);
    });
  };
  const auto shrinks = [plan, likely = std::move(likely), of_likely] {
    Shrinks first = rc::seq::map(rc::seq::fromContainer(likely), of_likely);
    return rc::seq::concat(std::move(first), Shrinks(rc::makeSeq<Search>(plan)));
  };
  return rc::shrinkable::lambda([plan] { return plan; }, shrinks);
}

/// As RapidCheck does with what fails a property: the first that fails as well, and on from there.
Plan minimise(Plan plan, const std::function<bool(const Plan&)>& fails, std::vector<Plan> likely) {
  auto smallest = with_shrinks(std::move(plan), std::move(likely));
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
