#include "properties/generation/plans.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <utility>

namespace leasehold::properties {
namespace {

using sim::FaultPlan;
using sim::Plan;
using sim::ProcessPlan;
using Shrinks = rc::Seq<rc::Shrinkable<Plan>>;
using Change = std::function<void(Plan&)>;
using Changes = std::vector<Change>;

/// What makes every later run cheaper.
Changes smaller_sizes(const Plan& plan) {
  Changes changes{[](Plan& p) { p.locks = 1; }};
  for (std::int64_t ms = plan.faulty_ms / 2; ms >= 200; ms /= 2) {
    changes.emplace_back([ms](Plan& p) {
      p.faulty_ms = ms;
      std::erase_if(p.faults, [ms](const FaultPlan& f) { return f.at_ms >= ms; });
    });
  }
  return changes;
}

/// What a reader need not think of.
Changes zeros(const Plan& plan) {
  using P = ProcessPlan;
  Changes changes;
  const auto of_plan = [&](auto... fields) {
    (changes.emplace_back([fields](Plan& p) { p.*fields = {}; }), ...);
  };
  const auto of_process = [&](std::size_t i, auto... fields) {
    (changes.emplace_back([i, fields](Plan& p) { p.processes[i].*fields = {}; }), ...);
  };
  of_plan(&Plan::shards, &Plan::ttl_at_once, &Plan::failed_fetches, &Plan::stray_commands,
          &Plan::stream_lag_ms);
  for (std::size_t i = 0; i < plan.processes.size(); ++i) {
    of_process(i, &P::single_attempt_percent, &P::cancel_percent, &P::long_hold_percent,
               &P::drift_ppm, &P::permits, &P::together, &P::leads, &P::reads_percent,
               &P::other_expiry_ms, &P::other_margin_ms, &P::other_max_holding_ms,
               &P::operation_timeout_ms, &P::extension_cadence_ms);
  }
  return changes;
}

/// Chunks of a list: halves, then ever smaller ones, then each entry alone. From its end, so that
/// what stays keeps its place.
template <typename T>
void add_removals(Changes& changes, std::size_t size, std::vector<T> Plan::*list,
                  std::size_t keep) {
  for (auto chunk = std::max<std::size_t>(size / 2, 1); chunk > 0; chunk /= 2) {
    for (auto to = size; to > 0; to -= std::min(chunk, to)) {
      changes.emplace_back([=](Plan& p) {
        auto& all = p.*list;
        const auto removed = std::min(chunk, to);
        if (to > all.size() || all.size() - removed < keep) return;
        const auto end = all.begin() + static_cast<std::ptrdiff_t>(to);
        all.erase(end - static_cast<std::ptrdiff_t>(removed), end);
      });
    }
  }
}

Changes removals(const Plan& plan) {
  Changes changes;
  add_removals(changes, plan.faults.size(), &Plan::faults, 0);
  // Steps know their processes by place.
  if (is_scripted(plan)) {
    add_removals(changes, plan.steps.size(), &Plan::steps, 0);
  } else {
    add_removals(changes, plan.processes.size(), &Plan::processes, 1);
  }
  return changes;
}

/// Delta debugging: sizes; then parts, until none can go; then numbers, to zero. It is where the
/// search stands: the shrinks of a candidate go on from there.
class Search {
 public:
  enum class Stage { sizes, parts, zeros };

  explicit Search(Plan plan, Stage first = Stage::sizes) : plan_(std::move(plan)) { enter(first); }

  /// The next candidate, for RapidCheck.
  rc::Maybe<rc::Shrinkable<Plan>> operator()() {
    while (const Change* change = next()) {
      Search chosen = *this;
      (*change)(chosen.plan_);
      // What a step or a fault names stays.
      if (chosen.plan_ == plan_ || !sim::unsound(chosen.plan_).empty()) continue;
      return rc::shrinkable::lambda([plan = chosen.plan_] { return plan; },
                                    [chosen] { return rc::makeSeq<Search>(chosen); });
    }
    return rc::Nothing;
  }

 private:
  void enter(Stage stage) {
    stage_ = stage;
    at_start_ = entries(plan_);
    next_ = 0;
    changes_ = std::make_shared<const Changes>(stage == Stage::sizes   ? smaller_sizes(plan_)
                                               : stage == Stage::parts ? removals(plan_)
                                                                       : zeros(plan_));
  }

  const Change* next() {
    while (next_ == changes_->size()) {
      if (stage_ == Stage::zeros) return nullptr;
      const bool again = stage_ == Stage::sizes || entries(plan_) != at_start_;
      enter(again ? Stage::parts : Stage::zeros);
    }
    return &(*changes_)[next_++];
  }

  Plan plan_;
  Stage stage_ = Stage::sizes;
  std::size_t at_start_ = 0;  ///< entries, when this stage began
  std::shared_ptr<const Changes> changes_;
  std::size_t next_ = 0;
};

/// This plan, and the plans that are smaller by one thing: with one name, less time, without a part
/// of its faults, then of its processes (of its steps, if it is scripted), with zero percent and no
/// drift. Once one of them is chosen, what was tried before is not tried again at once. Before all
/// of these come `likely` ones, as they are; their own shrinks leave them their time, because a
/// shorter run fails more seldom.
rc::Shrinkable<Plan> with_shrinks(Plan plan, std::vector<Plan> likely = {}) {
  const auto of_likely = [](Plan&& one) {
    return rc::shrinkable::lambda([one] { return one; }, [one] {
      return rc::makeSeq<Search>(one, Search::Stage::parts);
    });
  };
  const auto shrinks = [plan, likely = std::move(likely), of_likely] {
    Shrinks first = rc::seq::map(rc::seq::fromContainer(likely), of_likely);
    return rc::seq::concat(std::move(first), Shrinks(rc::makeSeq<Search>(plan)));
  };
  return rc::shrinkable::lambda([plan] { return plan; }, shrinks);
}

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

Plan draw_plan(std::uint64_t seed, const PlanLimits& limits) {
  if (limits.manner == Manner::live) return plans(limits)(rc::Random(seed)).value();
  return plan_from(numbers_of(seed), limits);
}

}  // namespace leasehold::properties

namespace leasehold::sim {

void showValue(const Plan& plan, std::ostream& out) { out << '\n' << to_scn(plan); }

}  // namespace leasehold::sim
