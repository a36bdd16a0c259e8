#include "bench/contend/strategies.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <utility>

#include "bench/contend/own_strategy.hpp"
#include "cli/command_line.hpp"

namespace leasehold::bench {
namespace {

using std::chrono::milliseconds;
using Strategy = std::shared_ptr<const WaitingStrategy>;

/// In the order of tables.
const std::vector<std::pair<std::string, Strategy>>& named() {
  static const std::vector<std::pair<std::string, Strategy>> all{
      {"uniform", uniform_waiting()},
      {"adaptive", adaptive_waiting()},
      {"queue", queue_waiting()},
      {"uniform-1-50", uniform_waiting(milliseconds(1), milliseconds(50))},
      {"uniform-100-3000", uniform_waiting(milliseconds(100), milliseconds(3'000))},
      {"fixed-100", fixed_waiting(milliseconds(100))},
      {"exponential-full", exponential_waiting(Jitter::full)},
      {"exponential-decorrelated", exponential_waiting(Jitter::decorrelated)},
  };
  return all;
}

bool is_path(const std::string& strategy) { return strategy.find('/') != std::string::npos; }

Strategy loaded(const std::string& path) {
  const auto refuse = [&path](const std::string& why) {
    throw cli::UsageError("--strategy is '" + path + "': " + why);
  };
  void* library = dlopen(path.c_str(), RTLD_NOW);  // never closed: the strategy lives in it
  if (library == nullptr) refuse(std::string("it cannot be loaded (") + dlerror() + ")");
  constexpr const char* kSymbol = "leasehold_waiting_strategy";
  auto* const make =
      reinterpret_cast<decltype(&leasehold_waiting_strategy)>(dlsym(library, kSymbol));
  if (make == nullptr) refuse(std::string("it must define ") + kSymbol + " (own_strategy.hpp)");
  const WaitingStrategy* strategy = make();
  if (strategy == nullptr) refuse(std::string(kSymbol) + " gives a null pointer");
  return {strategy, [](const WaitingStrategy*) {}};
}

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const auto& [name, strategy] : named()) names.push_back(name);
  return names;
}

Strategy strategy_named(const std::string& name) {
  for (const auto& [known, strategy] : named()) {
    if (known == name) return strategy;
  }
  if (is_path(name)) return loaded(name);
  std::string list;
  for (const auto& known : strategy_names()) list += known + ", ";
  throw cli::UsageError("--strategy is '" + name + "': it must be one of " + list +
                        "or a path, as ./mine.so");
}

std::string label_of(const std::string& strategy) {
  if (strategy.starts_with(kWorker)) return "worker";
  return is_path(strategy) ? std::filesystem::path(strategy).stem().string() : strategy;
}

}  // namespace leasehold::bench
