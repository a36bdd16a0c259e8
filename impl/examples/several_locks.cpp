// Two accounts are locked together, in whatever order the caller names them.
#include <cstdio>
#include <leasehold/leasehold.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto provider = leasehold::LockProvider::connect(argv[1]);
  if (!provider) return 1;
  const auto from = *provider->create_lock("account-7");
  const auto to = *provider->create_lock("account-3");
  auto both = leasehold::acquire_all({from, to}, 30s);
  if (!both) {
    std::fprintf(stderr, "%s\n", both.error().message.c_str());
    return 1;
  }
  std::printf("from: token %s, to: token %s\n", both->at(0).fencing_token().to_string().c_str(),
              both->at(1).fencing_token().to_string().c_str());
}
