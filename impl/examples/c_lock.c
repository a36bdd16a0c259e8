/* In C: holds a lock while there is work, and is notified at once if it is lost. */
#include <leasehold/leasehold.h>
#include <poll.h>
#include <stdio.h>

/* A piece of work, short against the lease; whatever it writes carries the token. */
static void do_a_piece(int64_t token) { printf("working with token %lld\n", (long long)token); }

/* Waits for 100 ms, in which other descriptors could be served too. */
static int is_lost(int lost_fd) {
  struct pollfd watched = {lost_fd, POLLIN, 0};
  return poll(&watched, 1, 100) == 1;
}

static int work(leasehold_handle* handle, leasehold_error* error) {
  const int lost_fd = leasehold_lost_fd(handle, error);
  const int64_t token = leasehold_fencing_token(handle, NULL);
  int pieces;
  if (lost_fd < 0) return fprintf(stderr, "%s\n", error->message), 1;
  for (pieces = 0; pieces < 3 && leasehold_held(handle); ++pieces) {
    do_a_piece(token);
    if (is_lost(lost_fd)) return fprintf(stderr, "the lock is lost\n"), 1;
  }
  return leasehold_release(handle, error) == LEASEHOLD_RELEASED ? 0 : 1;
}

int main(int argc, char** argv) {
  leasehold_lock_options options = {.size = sizeof options, .expiry_ms = 10000};
  leasehold_provider* provider = NULL;
  leasehold_handle* handle = NULL;
  leasehold_error error;
  int result = 1;
  if (argc != 2) return 64;
  if (leasehold_connect(argv[1], NULL, &provider, &error) == LEASEHOLD_OK &&
      leasehold_acquire(provider, "c-example", &options, 30000, &handle, &error) == LEASEHOLD_OK) {
    result = work(handle, &error);
  } else {
    fprintf(stderr, "%s: %s\n", leasehold_kind_name(error.kind), error.message);
  }
  leasehold_free(&handle);
  leasehold_close(&provider);
  return result;
}
