#include "scenarios/lab/report/summary.hpp"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <string_view>

#include "properties/campaigns/judgement.hpp"

namespace leasehold::lab {
namespace {

using model::Finding;
using model::Verdict;

/// Text for a cell of a table or a paragraph: one line, without markup of Markdown or HTML.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "<br>";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      if (std::string_view("\\|`*_[]#~").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string row(const Finding& f) {
  const std::string verdict = to_string(f.verdict);
  const bool holds = f.verdict == Verdict::holds;
  return fmt::format("| {} | {} | {} | {:.1f} % | {}{} |\n", plain(to_string(f.check)),
                     holds ? verdict : "**" + verdict + "**", f.checked,
                     properties::excused_percent(f),
                     plain(about(f.check).statement), holds ? "" : ": " + plain(f.why));
}

}  // namespace

std::string to_markdown(const Summary& summary, const std::vector<Finding>& findings) {
  std::string out =
      fmt::format("### leasehold-lab {}: {}\n\n{}\n\n", summary.command, summary.verdict,
                  plain(summary.run));
  if (!summary.failure.empty()) out += "**" + plain(summary.failure) + "**\n\n";
  if (!summary.advice.empty()) out += plain(summary.advice) + "\n\n";
  out += "| | verdict | checked | excused | |\n|---|---|--:|--:|---|\n";
  for (const Finding& f : findings) out += row(f);
  if (!summary.repeat.empty()) out += "\nTo repeat it:\n\n    " + summary.repeat + "\n";
  return out + '\n';
}

void append_summary(const std::string& file, const std::string& markdown) {
  if (file.empty()) return;
  std::ofstream out(file, std::ios::app);
  out << markdown;
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace leasehold::lab
