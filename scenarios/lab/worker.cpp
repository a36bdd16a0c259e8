#include "sim/live/worker.hpp"

#include <fstream>
#include <iterator>

#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {

int worker(const std::vector<std::string>& words) {
  if (words.size() != 1) throw UsageError("worker: started by the harness only");
  std::ifstream in(words[0]);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return sim::live::run_worker(sim::live::order_from_json(text));
}

}  // namespace leasehold::lab
