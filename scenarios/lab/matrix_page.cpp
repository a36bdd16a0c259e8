#include "scenarios/lab/matrix_page.hpp"

#include <fmt/format.h>

#include "scenarios/lab/markup.hpp"
#include "scenarios/lab/pages.hpp"
#include "scenarios/lab/report.hpp"
#include "sim/lock_registry.hpp"

namespace leasehold::lab {
namespace {

using properties::Cell;
using properties::Matrix;
using pugi::xml_node;
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

/// The events of the run once more, and its plan.
std::string events_of(const std::string& lock, const std::string& fault, model::Guarantee guarantee,
                      const Cell& cell) {
  const auto plan = properties::matrix_plan(lock, fault, cell.seed);
  const auto one = properties::simulate(plan);
  std::vector<model::Finding> findings;
  for (const auto& f : one.judgement.findings) {
    if (f.guarantee == guarantee) findings.push_back(f);
  }
  return story(findings, one.run.history) + "\n" + sim::to_scn(plan);
}

constexpr const char* kBesides = R"(## Besides the table

What breaks none of G1 to G9, and the test that shows it:

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

std::string id_of(const std::string& lock, const std::string& fault, model::Guarantee guarantee) {
  return lock + "-" + fault + "-" + to_string(guarantee);
}

void add_cell(xml_node row, const Cell& cell, const std::string& id) {
  const char* word = to_string(cell.state);
  auto td = row.append_child("td");
  set_attribute(td, "class", cell.state == State::not_promised ? "not" : word);
  set_attribute(td, "title", fmt::format("checked {} times", cell.checked));
  if (cell.state != State::violated) {
    td.text() = word;
    return;
  }
  set_attribute(add_element(td, "a", word), "href", "#" + id);
}

void add_table(xml_node tables, const std::string& lock, const Matrix& matrix) {
  add_element(tables, "h2", lock);
  auto table = tables.append_child("table");
  auto head = table.append_child("thead").append_child("tr");
  add_element(head, "th", "fault");
  for (const auto g : model::kPromised) {
    set_attribute(add_element(head, "th", to_string(g)), "title", sim::promise_of(lock, g));
  }
  auto body = table.append_child("tbody");
  for (const auto& fault : properties::matrix_faults()) {
    auto row = body.append_child("tr");
    add_element(row, "th", fault);
    for (const auto g : model::kPromised) {
      add_cell(row, matrix.at(lock).at(fault).at(g), id_of(lock, fault, g));
    }
  }
}

void add_run(xml_node runs, const std::string& lock, const std::string& fault, model::Guarantee g,
             const Cell& cell) {
  auto details = runs.append_child("details");
  set_attribute(details, "id", id_of(lock, fault, g));
  add_element(details, "summary",
              fmt::format("{}, {}, {}: {}", lock, fault, to_string(g), cell.why));
  auto how = add_element(
      details, "p",
      "The events that show it, and the plan: to repeat, save the plan as a file and run ");
  add_element(how, "code", "leasehold-lab simulate FILE");
  add_element(details, "pre", events_of(lock, fault, g, cell));
}

}  // namespace

bool keeps_its_promises(const Matrix& matrix, const std::string& lock) {
  bool kept = true;
  each_cell(matrix, [&](const auto& of, auto&, auto, const Cell& cell) {
    if (of == lock && cell.state == State::violated) kept = false;
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
      "test;\n"
      "*not promised* was decided from what its author wrote, before any run "
      "(its source in `impl/published`).\n\n";
  for (const auto& lock : properties::matrix_locks()) {
    out += "## " + lock + "\n\n| fault |";
    for (const auto g : model::kPromised) out += fmt::format(" {} |", to_string(g));
    out += "\n|---|---|---|---|---|---|---|---|---|---|\n";
    for (const auto& fault : properties::matrix_faults()) {
      out += "| " + fault + " |";
      for (const auto g : model::kPromised) {
        const Cell& cell = matrix.at(lock).at(fault).at(g);
        const bool bad = cell.state == State::violated;
        out += fmt::format(" {}{}{} |", bad ? "**" : "", to_string(cell.state), bad ? "**" : "");
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

std::string to_html(const Matrix& matrix, std::uint64_t seeds) {
  pugi::xml_document tables, runs;  // text in them is escaped when they are written
  for (const auto& lock : properties::matrix_locks()) add_table(tables, lock, matrix);
  each_cell(matrix, [&](const auto& lock, const auto& fault, model::Guarantee g, const Cell& cell) {
    if (cell.state == State::violated) add_run(runs, lock, fault, g, cell);
  });
  return pages::filled(pages::matrix_page_html, {{"style", pages::matrix_page_css},
                                                 {"seeds", std::to_string(seeds)},
                                                 {"tables", html_of(tables)},
                                                 {"runs", html_of(runs)},
                                                 {"script", pages::matrix_page_js}});
}

nlohmann::ordered_json to_json(const Matrix& matrix) {
  nlohmann::ordered_json json;
  each_cell(matrix, [&](const auto& lock, const auto& fault, model::Guarantee g, const Cell& cell) {
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
