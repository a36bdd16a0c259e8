#include "model/abstract/arrow_log.hpp"

#include <stdexcept>

#include "model/abstract/lock_arrows.hpp"

namespace leasehold::model::arrow {
namespace {

/// Adds the arrow that leaves this state; returns where it leads.
std::string_view add(Set& set, const TransitionTable& table, std::string_view from,
                     std::string_view input) {
  std::size_t before = 0;
  for (const auto* other : all_tables()) {
    if (other == &table) break;
    before += other->arrows().size();
  }
  const auto found = table.find(from, input);
  if (!found) {
    throw std::logic_error("no arrow '" + std::string(from) + " --" + std::string(input) +
                           "-->' in " + std::string(table.name()));
  }
  const std::size_t bit = before + *found;
  set.at(bit / 64) |= std::uint64_t{1} << bit % 64;
  return table.arrows()[*found].to;
}

}  // namespace

Set set_of(std::initializer_list<Taken> all) {
  Set set{};
  for (const Taken& one : all) {
    if (!one.step) {
      add(set, one.table, one.from, one.input);
      continue;
    }
    auto state = one.from;
    for (const auto input : inputs_of(*one.step, state)) state = add(set, one.table, state, input);
  }
  return set;
}

std::vector<std::string> Log::names() const {
  std::vector<std::string> names;
  std::size_t bit = 0;
  for (const auto* table : all_tables()) {
    for (const auto& arrow : table->arrows()) {
      if ((taken_.at(bit / 64) >> bit % 64 & 1) != 0) {
        names.push_back(std::string(table->name()) + ": " + arrow.name());
      }
      ++bit;
    }
  }
  return names;
}

}  // namespace leasehold::model::arrow
