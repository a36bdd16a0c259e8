#include "scenarios/lab/campaigns/matrix_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "scenarios/lab/progress.hpp"
#include "sim/live/run/live_world.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::lab {
namespace {

using model::Verdict;
using properties::Cell;
using properties::Matrix;

constexpr std::uint64_t kManySeeds = 4'000;

bool is_listed(const std::string& lock, model::Check guarantee) {
  const auto& listed = properties::live_differences();
  return std::any_of(listed.begin(), listed.end(), [&](const properties::LiveDifference& d) {
    return d.lock == lock && d.guarantee == guarantee;
  });
}

template <typename Use>
void each_cell(const Matrix& matrix, Use use) {
  for (const auto& lock : properties::matrix_locks()) {
    for (const auto& fault : properties::matrix_faults()) {
      for (const auto g : model::kPromised) use(lock, fault, g, matrix.at(lock).at(fault).at(g));
    }
  }
}

std::map<std::optional<Verdict>, int> counts(const Matrix& matrix) {
  std::map<std::optional<Verdict>, int> all;
  each_cell(matrix, [&](auto&, auto&, auto, const Cell& cell) { ++all[cell.verdict]; });
  return all;
}

std::string shown(const Cell& cell) {
  const std::string verdict = to_string(cell);
  if (cell.verdict == Verdict::violated) return "**" + verdict + "**";
  return cell.verdict == Verdict::holds ? fmt::format("{} {}", verdict, cell.checked) : verdict;
}

constexpr const char* kBesides = R"(<!-- -->

## Besides the table

What breaks none of G1 to G9, and the test that shows it where there is one:

- insert-unique: two inserts at once get error 112, which its code throws:
  `InsertUniqueText.TwoAtOnceGetError112WhichHardeningTakesForALostRace` (live).
- insert-unique: the transaction is over before the work begins:
  `InsertUnique.ItsTransactionIsCommittedBeforeTheWorkBegins`.
- document-level: an expired holder's work on the entity is refused, its work elsewhere is done:
  `DocumentLevelText.AnExpiredHoldersReleaseIsRefusedAndTheValueIntact` (live).
- insert-unique, set-on-insert: a dead holder's lock waits for the TTL monitor:
  `TakeoverAfterACrash.WaitsForTheTtlMonitor` (live) prints how long.
- distributed-lock: adaptive waiting is claimed and uniform waiting described: no test yet.
)";

}  // namespace

Matrix run_matrix(std::uint64_t seeds, const std::function<void(std::size_t, std::size_t)>& watch) {
  struct Row {
    std::string lock, fault;
  };
  std::vector<Row> rows;
  for (const auto& lock : properties::matrix_locks()) {
    for (const auto& fault : properties::matrix_faults()) rows.push_back({lock, fault});
  }
  Matrix matrix;
  std::mutex mutex;
  const auto work = [&](std::uint64_t i) {
    const auto& [name, fault] = rows[i];
    auto row = properties::run_row(name, fault, seeds, [](const sim::Plan& plan) {
      return properties::simulate(plan).judgement;
    });
    const std::scoped_lock lock(mutex);
    matrix[name][fault] = std::move(row);
    return true;
  };
  on_all_cores(rows.size(), work, [&](std::uint64_t done) {
    if (watch) watch(done, rows.size());
  });
  return matrix;
}

Matrix run_live_matrix(const std::string& runs,
                       const std::function<void(std::size_t, std::size_t)>& done) {
  const auto locks = properties::matrix_locks();
  const auto faults = properties::matrix_faults();
  sim::live::LiveWorld world;
  Matrix matrix;
  std::size_t finished = 0;
  for (const auto& fault : faults) {
    for (const auto& lock : locks) {
      matrix[lock][fault] = properties::run_row(lock, fault, 1, [&](const sim::Plan& plan) {
        const auto history = world.run(plan).history;
        auto judgement = properties::judge(history);
        if (!runs.empty() && model::overall(judgement.findings) == model::Verdict::violated) {
          properties::keep_run(runs + '/' + lock + '-' + fault, plan, history, judgement.findings,
                               {});
        }
        return judgement;
      });
      done(++finished, locks.size() * faults.size());
    }
  }
  return matrix;
}

Comparison compare(const Matrix& live, const Matrix& simulated) {
  Comparison c;
  for (const auto& [lock, rows] : live) {
    for (const auto& [fault, row] : rows) {
      for (const auto& [guarantee, cell] : row) {
        const auto& other = simulated.at(lock).at(fault).at(guarantee);
        const bool seen = cell.verdict == Verdict::violated;
        const bool both = seen && other.verdict == Verdict::violated;
        c.seen_in_both += both ? 1 : 0;
        c.only_virtual += !both && other.verdict == Verdict::violated ? 1 : 0;
        const bool holds = cell.verdict == Verdict::holds;
        c.agree_to_hold += holds && other.verdict == Verdict::holds ? 1 : 0;
        if (!seen || both) continue;
        const auto text = lock + ", " + fault + ", " + to_string(guarantee) + ": " + cell.why;
        if (is_listed(lock, guarantee)) {
          c.listed.push_back(text);
        } else if (const auto seed = properties::first_break(lock, fault, guarantee, kManySeeds)) {
          c.rare.push_back(text + "; virtual: seed " + std::to_string(*seed));
        } else {
          c.only_live.push_back(text);
        }
      }
    }
  }
  return c;
}

bool keeps_its_promises(const Matrix& matrix, const std::string& lock) {
  bool kept = true;
  each_cell(matrix, [&](const auto& of, auto&, auto, const Cell& cell) {
    if (of == lock && cell.verdict && cell.verdict != Verdict::holds) kept = false;
  });
  return kept;
}

std::string to_markdown(const Matrix& matrix, std::uint64_t seeds) {
  std::string out =
      "# Who keeps which promise under which fault\n\n"
      "Virtual world; " +
      std::to_string(seeds) +
      " runs for each lock and fault, by `leasehold-lab matrix --markdown scenarios/MATRIX.md`;\n"
      "a test keeps it current. A cell says *holds* only if its guarantee was put to the "
      "test, and how\noften; "
      "*not promised* was decided from what its author wrote, before any run "
      "(its source in\n`impl/published`). With leasehold a process dies in every second run, "
      "because without takeovers\nG1 is not put to the test.\n\n<!-- generated -->\n\n";
  for (const auto& lock : properties::matrix_locks()) {
    out += "## " + lock + "\n\n| fault |";
    for (const auto g : model::kPromised) out += fmt::format(" {} |", to_string(g));
    out += "\n|---|---|---|---|---|---|---|---|---|---|\n";
    for (const auto& fault : properties::matrix_faults()) {
      out += "| " + fault + " |";
      for (const auto g : model::kPromised) {
        const Cell& cell = matrix.at(lock).at(fault).at(g);
        out += fmt::format(" {} |", shown(cell));
      }
      out += "\n";
    }
    out += "\n";
  }
  out += kBesides;
  auto all = counts(matrix);
  return out + fmt::format("\nCells: {} hold, {} violated, {} not promised, {} unknown.\n",
                           all[Verdict::holds], all[Verdict::violated], all[std::nullopt],
                           all[Verdict::unknown]);
}

nlohmann::ordered_json to_json(const Matrix& matrix) {
  nlohmann::ordered_json json;
  each_cell(matrix, [&](const auto& lock, const auto& fault, model::Check g, const Cell& cell) {
    auto& one = json[lock][fault][to_string(g)];
    one["state"] = to_string(cell);
    one["promise"] = sim::promise_of(lock, g);
    one["checked"] = cell.checked;
    if (cell.verdict != Verdict::violated) return;
    one["why"] = cell.why;
    one["seed"] = cell.seed;
    one["plan"] = sim::to_scn(properties::matrix_plan(lock, fault, cell.seed));
  });
  return json;
}

}  // namespace leasehold::lab
