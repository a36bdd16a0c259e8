#include "scenarios/lab/report/matrix_table.hpp"

#include <fmt/format.h>

#include "sim/plan/lock_registry.hpp"

namespace leasehold::lab {
namespace {

using properties::Cell;
using properties::Matrix;
using State = Cell::State;

template <typename Use>
void each_cell(const Matrix& matrix, Use use) {
  for (const auto& lock : properties::matrix_locks()) {
    for (const auto& fault : properties::matrix_faults()) {
      for (const auto g : model::kPromised) use(lock, fault, g, matrix.at(lock).at(fault).at(g));
    }
  }
}

std::map<State, int> counts(const Matrix& matrix) {
  std::map<State, int> all;
  each_cell(matrix, [&](auto&, auto&, auto, const Cell& cell) { ++all[cell.state]; });
  return all;
}

std::string shown(const Cell& cell) {
  const std::string state = to_string(cell.state);
  if (cell.state == State::violated) return "**" + state + "**";
  return cell.state == State::holds ? fmt::format("{} {}", state, cell.checked) : state;
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

bool keeps_its_promises(const Matrix& matrix, const std::string& lock) {
  bool kept = true;
  each_cell(matrix, [&](const auto& of, auto&, auto, const Cell& cell) {
    if (of == lock && cell.state != State::holds && cell.state != State::not_promised) kept = false;
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
  out += fmt::format("\nCells: {} hold, {} violated, ", all[State::holds], all[State::violated]);
  out +=
      fmt::format("{} not promised, {} unknown.\n", all[State::not_promised], all[State::unknown]);
  return out;
}

nlohmann::ordered_json to_json(const Matrix& matrix) {
  nlohmann::ordered_json json;
  each_cell(matrix, [&](const auto& lock, const auto& fault, model::Check g, const Cell& cell) {
    auto& one = json[lock][fault][to_string(g)];
    one["state"] = to_string(cell.state);
    one["promise"] = sim::promise_of(lock, g);
    one["checked"] = cell.checked;
    if (cell.state != State::violated) return;
    one["why"] = cell.why;
    one["seed"] = cell.seed;
    one["plan"] = sim::to_scn(properties::matrix_plan(lock, fault, cell.seed));
  });
  return json;
}

}  // namespace leasehold::lab
