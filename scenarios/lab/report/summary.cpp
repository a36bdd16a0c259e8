#include "scenarios/lab/report/conclusion.hpp"

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

std::string to_markdown(const Conclusion& c) {
  std::string out = fmt::format("### leasehold-lab {}: {}\n\n{}\n\n", c.command,
                                ending_of(c.verdict, c.harness_failure).word, plain(c.run));
  if (!c.harness_failure.empty()) out += "**" + plain(c.harness_failure) + "**\n\n";
  if (!c.advice.empty()) out += plain(c.advice) + "\n\n";
  out += "| | verdict | checked | excused | |\n|---|---|--:|--:|---|\n";
  for (const Finding& f : c.findings) out += row(f);
  if (!c.repeat.empty()) out += "\nTo repeat it:\n\n    " + c.repeat + "\n";
  return out + '\n';
}

void append_summary(const std::string& file, const std::string& markdown) {
  if (file.empty()) return;
  std::ofstream out(file, std::ios::app);
  out << markdown;
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace leasehold::lab
