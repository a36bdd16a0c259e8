#include "scenarios/lab/matrix_page.hpp"

#include <fmt/format.h>

#include "properties/promises.hpp"
#include "scenarios/lab/report.hpp"

namespace leasehold::lab {
namespace {

using properties::Cell;
using properties::kGuarantees;
using properties::Matrix;
using State = Cell::State;

template <typename Use>
void each_cell(const Matrix& matrix, Use use) {
  for (const auto& lock : properties::matrix_locks()) {
    for (const auto& fault : properties::matrix_faults()) {
      for (const char* g : kGuarantees) use(lock, fault, g, matrix.at(lock).at(fault).at(g));
    }
  }
}

std::map<State, int> counts(const Matrix& matrix) {
  std::map<State, int> all;
  each_cell(matrix, [&](auto&, auto&, auto, const Cell& cell) { ++all[cell.state]; });
  return all;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

/// The events of the run once more, and its plan.
std::string events_of(const std::string& lock, const std::string& fault,
                      const std::string& guarantee, const Cell& cell) {
  const auto plan = properties::matrix_plan(lock, fault, cell.seed);
  const auto one = properties::simulate(plan);
  std::vector<model::Finding> findings;
  for (const auto& f : one.judgement.findings) {
    if (f.guarantee == guarantee) findings.push_back(f);
  }
  return story(findings, one.run.history) + "\n" + sim::to_scn(plan);
}

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Who keeps which promise</title><style>
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;
 color:#1d232b;background:#fff}
table{border-collapse:collapse;margin:.6rem 0 2rem}
th,td{border:1px solid #c9d1da;padding:.25rem .55rem;text-align:left;font-size:14px}
thead th{background:#f0f3f6}td{min-width:5.2rem}
.holds{background:#dff3e4}.violated{background:#fbdcd9}.unknown{background:#fff3cd}
.not{color:#6b7580}td a{color:#8c1d12}details{margin:.4rem 0}summary{cursor:pointer}
pre{background:#f6f8fa;border:1px solid #d8dee4;padding:.7rem;overflow:auto;font-size:12.5px}
</style></head><body>
)";

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

constexpr const char* kScript = R"(<script>
addEventListener("hashchange", () => {
  const run = document.getElementById(location.hash.slice(1));
  if (run) { run.open = true; run.scrollIntoView(); }
});
</script></body></html>
)";

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
      "(`properties/promises.cpp`).\n\n";
  for (const auto& lock : properties::matrix_locks()) {
    out += "## " + lock + "\n\n| fault |";
    for (const char* g : kGuarantees) out += fmt::format(" {} |", g);
    out += "\n|---|---|---|---|---|---|---|---|---|---|\n";
    for (const auto& fault : properties::matrix_faults()) {
      out += "| " + fault + " |";
      for (const char* g : kGuarantees) {
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
  std::string out = kHead, stories;
  out += "<h1>Who keeps which promise under which fault</h1><p>Virtual world, " +
         std::to_string(seeds) +
         " runs for each lock and fault. A violated cell opens the run that shows it; the tip of "
         "any cell says how often its guarantee was put to the test.</p>";
  for (const auto& lock : properties::matrix_locks()) {
    out += "<h2>" + lock + "</h2><table><thead><tr><th>fault</th>";
    for (const char* g : kGuarantees) {
      out += fmt::format("<th title=\"{}\">{}</th>",
                         escaped(std::string(properties::promise_of(lock, g))), g);
    }
    out += "</tr></thead><tbody>";
    for (const auto& fault : properties::matrix_faults()) {
      out += "<tr><th>" + fault + "</th>";
      for (const char* g : kGuarantees) {
        const Cell& cell = matrix.at(lock).at(fault).at(g);
        const std::string name = to_string(cell.state);
        const auto id = lock + "-" + fault + "-" + g;
        const bool bad = cell.state == State::violated;
        const std::string style = cell.state == State::not_promised ? "not" : name;
        const std::string text = bad ? "<a href=\"#" + id + "\">violated</a>" : name;
        out += fmt::format("<td class=\"{}\" title=\"checked {} times\">{}</td>", style,
                           cell.checked, text);
        if (!bad) continue;
        stories += fmt::format(
            "<details id=\"{}\"><summary>{}, {}, {}: {}</summary><p>The events that show it, and "
            "the "
            "plan: to repeat, save the plan as a file and run <code>leasehold-lab simulate "
            "FILE</code></p><pre>{}</pre></details>",
            id, lock, fault, g, escaped(cell.why), escaped(events_of(lock, fault, g, cell)));
      }
      out += "</tr>";
    }
    out += "</tbody></table>";
  }
  return out + "<h2>The runs</h2>" + stories + kScript;
}

nlohmann::ordered_json to_json(const Matrix& matrix) {
  nlohmann::ordered_json json;
  each_cell(matrix, [&](const auto& lock, const auto& fault, const char* g, const Cell& cell) {
    auto& one = json[lock][fault][g];
    one["state"] = to_string(cell.state);
    one["promise"] = properties::promise_of(lock, g);
    one["checked"] = cell.checked;
    if (cell.state != State::violated) return;
    one["why"] = cell.why;
    one["seed"] = cell.seed;
    one["plan"] = sim::to_scn(properties::matrix_plan(lock, fault, cell.seed));
  });
  return json;
}

}  // namespace leasehold::lab
