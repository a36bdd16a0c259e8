#include <fuzzer/FuzzedDataProvider.h>

#include "cli/command_line.hpp"
#include "properties/fuzz/fuzz.hpp"

/// Words of a command line, for options of each kind that the two commands have: taken, or refused
/// in a sentence.
namespace {

using namespace leasehold;
namespace po = cli::po;

struct Given {
  int number = 0;
  double fraction = 0;
  std::uint64_t seed = 0;
  bool flag = false;
  std::string text, wait = "0", core;
  std::vector<std::string> many, rest;
};

po::options_description options_for(Given& g) {
  po::options_description options("Options");
  options.add_options()("number,n", po::value(&g.number)->default_value(7), "")(
      "seed", po::value(&g.seed), "")("fraction", po::value(&g.fraction), "")(
      "flag,f", po::bool_switch(&g.flag), "")("text", po::value(&g.text)->value_name("FILE"), "")(
      "wait,w", po::value(&g.wait), "")("core", po::value(&g.core)->implicit_value(""), "")(
      "many", po::value(&g.many)->composing(), "")("rest", po::value(&g.rest), "");
  return options;
}

std::vector<std::string> words(FuzzedDataProvider& input) {
  std::vector<std::string> all;
  while (input.remaining_bytes() > 0 && all.size() < 12) {
    std::string word = input.PickValueInArray(
        {"", "--number", "-n", "--seed=", "--fraction", "--flag", "-f", "--text", "--wait=", "-w",
         "--list", "--many", "--rest", "--", "--help", "--num", "-nf"});
    if (input.ConsumeBool()) word += input.ConsumeRandomLengthString(24);
    all.push_back(std::move(word));
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider input(bytes, size);
  Given given;
  try {
    (void)cli::parse("program", options_for(given), words(input),
                     po::positional_options_description().add("rest", -1));
    const auto wait = cli::duration_of("wait", given.wait);
    fuzz::must(wait.count() >= 0, "a duration is not negative");
  } catch (const cli::UsageError& refused) {
    fuzz::must(*refused.what() != '\0', "a refusal has a reason");
  } catch (const cli::HelpAsked& help) {
    fuzz::must(help.text.starts_with("usage: program"), "help begins with the usage");
  }
  return 0;
}
