/// The example of "document-level": the lock is on the entity; the release writes its new
/// value.
#include <cstdio>
#include <leasehold/published.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto entities = leasehold::published::Entities::connect(argv[1]);
  if (!entities) return std::fprintf(stderr, "%s\n", entities.error().message.c_str()), 1;
  auto dummy = entities->lock("dummy-1", {"dummy-1", "lorem", ""});
  if (!dummy) return std::fprintf(stderr, "%s\n", dummy.error().message.c_str()), 1;
  if (auto second = entities->lock("dummy-1", *dummy)) return 1;  // it is already locked
  dummy->value += " ipsum";
  if (auto error = entities->release(*dummy)) {
    return std::fprintf(stderr, "%s\n", error->message.c_str()), 1;
  }
  std::printf("released with the value '%s'\n", dummy->value.c_str());
}
