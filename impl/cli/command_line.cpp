#include "cli/command_line.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

namespace leasehold::cli {
namespace {

/// What Boost says of an error. It puts words into the places of its sentence until none is left:
/// for ever, if a word has one.
std::string sentence_of(const po::error& error, const std::vector<std::string>& words) {
  for (const auto& word : words) {
    for (const auto* place :
         {"%option%", "%value%", "%prefix%", "%canonical_option%", "%original_token%"}) {
      if (word.find(place) == word.npos) continue;
      return "the options are wrong; which is not said, because '" + word + "' has " + place;
    }
  }
  return error.what();
}

}  // namespace

po::variables_map parse(const std::string& usage, po::options_description options,
                        const std::vector<std::string>& words,
                        const po::positional_options_description& positional) {
  options.add_options()("help,h", "show help");
  po::variables_map values;
  try {
    po::store(po::command_line_parser(words).options(options).positional(positional).run(), values);
    if (values.contains("help")) {
      std::ostringstream text;
      text << "usage: " << usage << "\n\n" << options;
      throw HelpAsked{text.str()};
    }
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(sentence_of(error, words));
  }
  return values;
}

int dispatch(const std::string& program, std::span<const Subcommand> all, const std::string& footer,
             const std::vector<std::string>& words) {
  const std::string hint = "; " + program + " --help lists them";
  if (words.empty()) throw UsageError("no subcommand" + hint);
  if (words[0] == "help" && words.size() > 1) {
    return dispatch(program, all, footer, {words[1], "--help"});
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::string text = "usage: " + program + " SUBCOMMAND [OPTIONS]\n\nSubcommands:\n";
    for (const auto& s : all) text += "  " + std::string(s.name) + "\t" + s.what + "\n";
    throw HelpAsked{text + "\nEach has --help. " + footer + "\n"};
  }
  for (const auto& s : all) {
    if (words[0] == s.name) return s.run({words.begin() + 1, words.end()});
  }
  throw UsageError("unknown subcommand '" + words[0] + "'" + hint);
}

std::chrono::milliseconds duration_of(const std::string& option, const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits_ms{
      {{"", 1'000}, {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};
  double number = 0;
  // Not as 1e3 or infinity: what is written is what people write.
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, ms] : kUnits_ms) {
    const bool fits = number >= 0 && number * ms <= static_cast<double>(kLongestDuration.count());
    if (error != std::errc() || unit != name || !fits) continue;
    return std::chrono::milliseconds(std::llround(number * ms));
  }
  throw UsageError("--" + option + " is '" + text +
                   "': it must be a duration, such as 250ms, 1.5s, 5m or 2h, of ten years at most");
}

}  // namespace leasehold::cli
