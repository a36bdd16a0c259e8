/* What a C compiler makes of the header, and what the library says to wrong calls. */
#include <leasehold/leasehold.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, int line, const char* text) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, line, text);
}
#define EXPECT(condition) expect((condition) != 0, __LINE__, #condition)

/* One clear error: its kind, returned and kept, and its whole sentence. */
static void expect_refused(int kind, const leasehold_error* error, const char* message, int line) {
  expect(kind == LEASEHOLD_INVALID_OPTION, line, leasehold_kind_name(kind));
  expect(error->kind == kind, line, "the error has the kind that is returned");
  if (strcmp(error->message, message) != 0) {
    ++failures;
    fprintf(stderr, "%s:%d: it says: %s\n", __FILE__, line, error->message);
  }
}
#define REFUSED(call, message) expect_refused((call), &error, (message), __LINE__)

static const char kNobody[] = "mongodb://127.0.0.1:1/?replicaSet=rs";
static leasehold_error error;
static leasehold_provider* provider = NULL;
static leasehold_handle* handle = NULL;
static leasehold_call* call = NULL;

static void connects_only_with_what_makes_sense(void) {
  leasehold_provider_options options = {.size = sizeof options};
  REFUSED(leasehold_connect(NULL, NULL, &provider, &error),
          "uri is NULL: it must be a connection string, mongodb://...");
  REFUSED(leasehold_connect(kNobody, NULL, NULL, &error),
          "provider is NULL: it must be the address of a pointer");
  options.workers = 65;
  REFUSED(leasehold_connect(kNobody, &options, &provider, &error),
          "workers is 65: it must be 1 to 64");
  options.workers = 0;
  options.collection = "";
  REFUSED(leasehold_connect(kNobody, &options, &provider, &error),
          "collection is empty: it must have a name");
  options.size = 0;
  REFUSED(leasehold_connect(kNobody, &options, &provider, &error),
          "size of leasehold_provider_options is 0: it must be sizeof(leasehold_provider_options)");
  EXPECT(leasehold_connect("mysql://db1", NULL, &provider, &error) == LEASEHOLD_INVALID_OPTION);
  EXPECT(error.message[0] != '\0');
  EXPECT(provider == NULL);
}

/* A caller that was compiled with a later version of the header. */
struct later_options {
  leasehold_lock_options known;
  int64_t unheard_of;
};

static void acquires_only_with_what_makes_sense(void) {
  leasehold_lock_options options = {.size = sizeof options};
  struct later_options later = {.known = {.size = sizeof later}};
  REFUSED(leasehold_acquire(NULL, "job", NULL, 0, &handle, &error),
          "provider is NULL: it must be one of leasehold_connect");
  REFUSED(leasehold_acquire(provider, NULL, NULL, 0, &handle, &error),
          "name is NULL: it must be the name of a lock");
  REFUSED(leasehold_acquire(provider, "job", NULL, 0, NULL, &error),
          "handle is NULL: it must be the address of a pointer");
  REFUSED(leasehold_acquire_begin(provider, "job", NULL, 0, NULL, &error),
          "call is NULL: it must be the address of a pointer");
  EXPECT(leasehold_acquire(provider, "", NULL, 0, &handle, &error) == LEASEHOLD_INVALID_OPTION);
  options.expiry_ms = 99;
  EXPECT(leasehold_acquire(provider, "job", &options, 0, &handle, NULL) ==
         LEASEHOLD_INVALID_OPTION);
  options.expiry_ms = 0;
  options.permits = -1;
  REFUSED(leasehold_acquire(provider, "job", &options, 0, &handle, &error),
          "permits is -1: it must be 1 to 1000");
  options.permits = 0;
  options.waiting = "patient";
  REFUSED(leasehold_acquire(provider, "job", &options, 0, &handle, &error),
          "waiting is 'patient': it must be queue, adaptive or uniform");
  later.unheard_of = 1;
  EXPECT(leasehold_acquire(provider, "job", &later.known, 0, &handle, &error) ==
         LEASEHOLD_INVALID_OPTION);
  EXPECT(strstr(error.message, "bytes that this library knows must be zero") != NULL);
  later.unheard_of = 0;
  EXPECT(leasehold_acquire(provider, "job", &later.known, 50, &handle, &error) ==
         LEASEHOLD_TIMED_OUT); /* nobody is there, but nothing was wrong */
  EXPECT(error.kind == LEASEHOLD_TIMED_OUT && error.message[0] != '\0');
  EXPECT(handle == NULL);
}

static void inspects_only_with_what_makes_sense(void) {
  leasehold_seen_holder seen = {.size = sizeof seen};
  REFUSED(leasehold_inspect(NULL, "job", 1, &seen, &error),
          "provider is NULL: it must be one of leasehold_connect");
  REFUSED(leasehold_inspect(provider, NULL, 1, &seen, &error),
          "name is NULL: it must be the name of a lock");
  REFUSED(leasehold_inspect(provider, "job", 1, NULL, &error),
          "seen is NULL: it must be the address of a leasehold_seen_holder");
  REFUSED(leasehold_inspect(provider, "job", 0, &seen, &error),
          "timeout is 0 ms: it must be at least 1 ms");
  seen.is_there = 7;
  EXPECT(leasehold_inspect(provider, "job", 50, &seen, &error) == LEASEHOLD_UNAVAILABLE);
  EXPECT(seen.is_there == 0);
  seen.size = offsetof(leasehold_seen_holder, readers) - 1;
  REFUSED(leasehold_inspect(provider, "job", 1, &seen, &error),
          "size of leasehold_seen_holder is 319: it must be sizeof(leasehold_seen_holder)");
}

static void nothing_comes_of_null(void) {
  leasehold_handle* none = NULL;
  uint64_t timestamp = 7;
  EXPECT(leasehold_held(NULL) == 0);
  EXPECT(leasehold_slot(NULL) == -1);
  EXPECT(leasehold_remaining_ns(NULL) == 0);
  EXPECT(leasehold_fencing_token(NULL, &timestamp) == 0 && timestamp == 0);
  EXPECT(leasehold_call_fd(NULL) == -1);
  EXPECT(leasehold_release(NULL, NULL) == -1);
  EXPECT(leasehold_release(NULL, &error) == -1);
  REFUSED(error.kind, "handle is NULL: it must be one of leasehold_acquire");
  EXPECT(leasehold_lost_fd(NULL, &error) == -1);
  REFUSED(error.kind, "handle is NULL: it must be one of leasehold_acquire");
  REFUSED(leasehold_call_end(NULL, &handle, &error),
          "call is NULL: it must be the address of a pointer");
  REFUSED(leasehold_call_end(&call, &handle, &error),
          "call is NULL: it must be one of leasehold_acquire_begin");
  leasehold_free(NULL);
  leasehold_free(&none);
  leasehold_close(NULL);
}

int main(void) {
  const leasehold_provider_options options = {.size = sizeof options,
                                              .server_selection_timeout_ms = 100};
  connects_only_with_what_makes_sense();
  EXPECT(leasehold_connect(kNobody, &options, &provider, &error) == LEASEHOLD_OK);
  EXPECT(provider != NULL);
  EXPECT(error.kind == LEASEHOLD_OK && error.message[0] == '\0');
  acquires_only_with_what_makes_sense();
  inspects_only_with_what_makes_sense();
  nothing_comes_of_null();
  EXPECT(strcmp(leasehold_version(), LEASEHOLD_VERSION) == 0);
  leasehold_close(&provider);
  EXPECT(provider == NULL);
  REFUSED(leasehold_acquire(provider, "job", NULL, 0, &handle, &error),
          "provider is NULL: it must be one of leasehold_connect");
  leasehold_close(&provider);
  return failures == 0 ? 0 : 1;
}
