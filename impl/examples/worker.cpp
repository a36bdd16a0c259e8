// A worker service: one of many works on a queue of orders at a time, on the connections that the
// application has already; each order it touches refuses a worker whose lock is another's by now.
#include <mongoc/mongoc.h>

#include <csignal>
#include <cstdio>
#include <leasehold/mongoc.hpp>
#include <memory>

using namespace std::chrono_literals;

namespace {

volatile std::sig_atomic_t ending = 0;

/// Marks the order as done, if no other worker has held the lock after us.
leasehold::Result<bool> finish(mongoc_client_t* client, int order, leasehold::FencingToken token) {
  bson_t id = BSON_INITIALIZER, update = BSON_INITIALIZER, set;
  BSON_APPEND_INT32(&id, "_id", order);
  BSON_APPEND_DOCUMENT_BEGIN(&update, "$set", &set);
  BSON_APPEND_UTF8(&set, "state", "done");
  bson_append_document_end(&update, &set);
  auto written = leasehold::fenced_update(
      client, {.database = "shop", .collection = "orders", .upsert = true}, id, update, token);
  bson_destroy(&id);
  bson_destroy(&update);
  return written;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  std::signal(SIGTERM, [](int) { ending = 1; });
  mongoc_init();
  mongoc_uri_t* uri = mongoc_uri_new(argv[1]);
  if (uri == nullptr) return 64;
  const std::shared_ptr<mongoc_client_pool_t> pool(mongoc_client_pool_new(uri),
                                                   mongoc_client_pool_destroy);
  mongoc_uri_destroy(uri);
  auto provider = leasehold::connect(pool);
  if (!provider) return 1;
  leasehold::LockOptions options;
  options.max_holding = 60s;  // a worker that hangs on an order does not keep the queue for ever
  const auto lock = *provider->create_lock("orders", options);

  mongoc_client_t* client = mongoc_client_pool_pop(pool.get());
  for (int order = 1; order <= 3 && ending == 0;) {  // a real one waits for more
    auto turn = lock.try_acquire(10s);
    if (!turn) continue;
    while (turn->held() && order <= 3 && ending == 0) {
      const auto written = finish(client, order, turn->fencing_token());
      if (!written && written.error().kind != leasehold::ErrorKind::unknown_outcome) return 1;
      if (!written) continue;  // a repeated $set does no harm
      if (!*written) break;    // another worker's turn
      std::printf("order %d done\n", order++);
    }
  }
  mongoc_client_pool_push(pool.get(), client);
}
