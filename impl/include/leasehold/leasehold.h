#ifndef LEASEHOLD_LEASEHOLD_H
#define LEASEHOLD_LEASEHOLD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file
 * The lock for C, and for every language that can call C: `libleasehold_c.so` (pkg-config:
 * `leasehold_c`). What a lock promises is in lock_handle.hpp and lock_provider.hpp; this page says
 * what is different in C.
 *
 * Errors: functions that can fail return a kind (LEASEHOLD_OK is 0), and fill in the caller's
 * `leasehold_error` unless it is NULL. No C++ exception leaves the library.
 *
 * Ownership: `leasehold_connect`, `leasehold_acquire` and `leasehold_acquire_begin` make an object
 * that the caller owns. `leasehold_close`, `leasehold_free` and `leasehold_call_end` take the
 * address of its pointer, free it and set the pointer to NULL; with NULL they do nothing, so a
 * second call is harmless. Handles and calls may outlive their provider. Strings and options are
 * copied; strings that are returned are static. A file descriptor belongs to its object, which
 * closes it: only ever poll it.
 *
 * Thread safety: all functions from any thread, on one object too. Only while an object is freed
 * no other thread may use it.
 *
 * Fork: in the child, handles are not held and calls fail with LEASEHOLD_SHUT_DOWN until it
 * opens its own connection. Freeing what the parent made does nothing there, and never waits.
 *
 * Signals: the library's threads block all but those of a fault, so that they go to the
 * application's.
 *
 * ABI: as long as the library is `libleasehold_c.so.1`, functions, numbers and the layout of
 * `leasehold_error` do not change. The other structs grow at their end: `size` is what the
 * caller was compiled with. In options zero means the default, for each member. A library that is
 * older than its caller refuses options that it does not know, unless they are zero, and sets
 * members that it cannot fill in to zero.
 *
 *     leasehold_provider *provider = NULL;
 *     leasehold_handle *handle = NULL;
 *     leasehold_error error;
 *     if (leasehold_connect(uri, NULL, &provider, &error)) return complain(error.message);
 *     if (leasehold_acquire(provider, "nightly-report", NULL, 30000, &handle, &error) == 0) {
 *       write_report(leasehold_fencing_token(handle, NULL));
 *       leasehold_release(handle, NULL);
 *     }
 *     leasehold_free(&handle);
 *     leasehold_close(&provider);
 */

typedef struct leasehold_provider leasehold_provider; /**< locks of one collection */
typedef struct leasehold_handle leasehold_handle;     /**< proof that a lock is held */
typedef struct leasehold_call leasehold_call;         /**< an acquire in progress */

/** Why a call gave no lock, or could not be made. */
enum {
  LEASEHOLD_OK = 0,
  LEASEHOLD_INVALID_OPTION = 1,  /**< an argument breaks a rule; nothing was sent */
  LEASEHOLD_REFUSED = 2,         /**< a single attempt found the lock held by another */
  LEASEHOLD_TIMED_OUT = 3,       /**< the wait ended at the time it was given */
  LEASEHOLD_CANCELLED = 4,       /**< `leasehold_call_end` came before the lock */
  LEASEHOLD_UNAVAILABLE = 5,     /**< no server that takes writes; no memory or descriptor here */
  LEASEHOLD_UNKNOWN_OUTCOME = 6, /**< a single attempt without a reply; what it won is deleted */
  LEASEHOLD_CONFIGURATION = 7,   /**< retrying cannot help: login, permission, kind of server */
  LEASEHOLD_SHUT_DOWN = 8        /**< the provider was closed while the call waited */
};

/** What `leasehold_release` found. After any of them this process does not hold the lock. */
enum {
  LEASEHOLD_RELEASED = 0,       /**< it was ours and is free, acknowledged by a majority */
  LEASEHOLD_NOT_OWNER = 1,      /**< it was no longer ours; no lock was touched */
  LEASEHOLD_RELEASE_UNKNOWN = 2 /**< no reply in time; repeated in the background */
};

/** What went wrong, in a sentence that names the thing, the value and the rule. */
typedef struct leasehold_error {
  int32_t kind;       /**< LEASEHOLD_OK .. LEASEHOLD_SHUT_DOWN */
  int32_t code;       /**< the server's error code, or 0 */
  char message[1016]; /**< UTF-8, cut off if it is longer; empty: no error */
} leasehold_error;

/** Turns an option off; for members in which zero means the default. */
#define LEASEHOLD_NONE (-1)

/** What all locks of a provider share; `ProviderOptions` says more. */
typedef struct leasehold_provider_options {
  size_t size;                         /**< sizeof(leasehold_provider_options) */
  const char* database;                /**< NULL: the URI's, or "leasehold" */
  const char* collection;              /**< NULL: "distributed.locks" */
  const char* holder;                  /**< NULL: host, process, program; "": nothing */
  int64_t workers;                     /**< commands in progress at once, 1..64; 0: 4 */
  int64_t server_selection_timeout_ms; /**< 0: 5000 */
  /** Gets warnings for an administrator, one sentence each, on a thread of the library; NULL:
   * standard error. `leasehold_close` waits for a running call of it, unless that call closes.
   * After it, warnings of its handles go to standard error. */
  void (*on_warning)(const char* message, void* context);
  void* warning_context; /**< for `on_warning` */
} leasehold_provider_options;

/** The options of one lock; `LockOptions` says more. */
typedef struct leasehold_lock_options {
  size_t size;                  /**< sizeof(leasehold_lock_options) */
  int64_t expiry_ms;            /**< the lease; 0: 30000 */
  int64_t extension_cadence_ms; /**< 0: a third of the expiry */
  int64_t clock_margin_ms;      /**< 0: 30000; LEASEHOLD_NONE */
  int64_t operation_timeout_ms; /**< 0: a third of the expiry, at most 10000 */
  int64_t max_holding_ms;       /**< 0: no limit */
  int64_t hand_overs_in_a_row;  /**< 0: 8; LEASEHOLD_NONE */
  double max_drift;             /**< 0: 0.005; LEASEHOLD_NONE */
  const char* waiting;          /**< NULL: "queue"; "adaptive", "uniform" */
  /** 0: a lock, which one may hold; 1..1000: a semaphore, which so many may hold at once;
   * `LockProvider::create_semaphore` says more. */
  int64_t permits;
  int64_t shared; /**< 1: to read, with all others that share the lock; 0: to exclude all others */
} leasehold_lock_options;

/** The holder of a lock, as the lock's document said at one moment; `SeenHolder` says more. */
typedef struct leasehold_seen_holder {
  size_t size;            /**< sizeof(leasehold_seen_holder), which the caller sets */
  int64_t is_there;       /**< 1; or 0: the lock is free, and all that follows is 0 */
  int64_t since_ms;       /**< when it was granted, since 1970 by the server's clock */
  int64_t until_ms;       /**< when it ends unless it is extended, by the same clock */
  int64_t left_ms;        /**< to `until_ms` when it was read; not positive: it is over */
  int64_t lease_ms;       /**< its expiry; 0: of other software */
  int64_t token_at_least; /**< the holder's own may be higher, no earlier one's is */
  char holder[264];       /**< UTF-8, cut off if it is longer; empty: none */
  int64_t readers;        /**< how many share it; 0: its holder shares it with nobody */
  int64_t permits;        /**< they have so many of how many permits; 0: they read */
} leasehold_seen_holder;

/** Checks the URI and the options; contacts no server. `options` may be NULL. */
int leasehold_connect(const char* uri, const leasehold_provider_options* options,
                      leasehold_provider** provider, leasehold_error* error);

/** Ends waiting acquires with LEASEHOLD_SHUT_DOWN, and waits for what is deleted in the background,
 * at most the longest operation timeout in use. */
void leasehold_close(leasehold_provider** provider);

/** Checks a name and options, which may be NULL, by the rules that an acquire checks them by. */
int leasehold_check(const char* name, const leasehold_lock_options* options,
                    leasehold_error* error);

/** Waits until the lock is ours, for `timeout_ms` at most; 0: one attempt; negative: for ever.
 * `options` may be NULL. Without the lock `*handle` is NULL. */
int leasehold_acquire(leasehold_provider* provider, const char* name,
                      const leasehold_lock_options* options, int64_t timeout_ms,
                      leasehold_handle** handle, leasehold_error* error);

/** Begins an acquire without waiting: for event loops, and for languages that handle signals. */
int leasehold_acquire_begin(leasehold_provider* provider, const char* name,
                            const leasehold_lock_options* options, int64_t timeout_ms,
                            leasehold_call** call, leasehold_error* error);

/** A file descriptor that is readable, and stays so, once the call has its answer; NULL: -1. */
int leasehold_call_fd(const leasehold_call* call);

/** Fetches the answer, as `leasehold_acquire` gives it. If there is none yet, the call is cancelled
 * and ends at once: with LEASEHOLD_CANCELLED, or with the lock that it had just won. */
int leasehold_call_end(leasehold_call** call, leasehold_handle** handle, leasehold_error* error);

/** Fills in `seen`: for people and pages, because it may be outdated when this returns. One read,
 * for `timeout_ms` at most, which is above 0. While it waits, no other thread may close
 * `provider`. */
int leasehold_inspect(leasehold_provider* provider, const char* name, int64_t timeout_ms,
                      leasehold_seen_holder* seen, leasehold_error* error);

/** 1 while the lease certainly still runs, by the clock at this moment; else, and for NULL, 0. */
int leasehold_held(const leasehold_handle* handle);

/** How long it will be held without a further extension, in ns; 0 if it is not. */
int64_t leasehold_remaining_ns(const leasehold_handle* handle);

/** The fencing token: above 0, and higher for each later holder; the same for the whole life of the
 * handle; 0 for NULL. `timestamp`, unless it is NULL, gets the database's form of it: the grant's
 * place in the oplog as a BSON timestamp, seconds since 1970 << 32 | increment. Both have the same
 * order. Tokens exceed 2^53: do not make doubles of them. */
int64_t leasehold_fencing_token(const leasehold_handle* handle, uint64_t* timestamp);

/** 1 if it is held to read, with others that share it; else, and for NULL, 0. */
int leasehold_shared(const leasehold_handle* handle);

/** Which of the slots of a semaphore is held: 0 to `permits` - 1; -1: that of a lock, or NULL. */
int leasehold_slot(const leasehold_handle* handle);

/** A file descriptor that is readable, and stays so, once the lock is lost: within a scheduling
 * delay of the deadline, even if every server hangs; never by a release. Not a callback, because
 * few runtimes can be called on a thread that they did not start, and all can poll. -1: see
 * `error`. */
int leasehold_lost_fd(leasehold_handle* handle, leasehold_error* error);

/** Frees the lock and returns what was found, LEASEHOLD_RELEASED .. LEASEHOLD_RELEASE_UNKNOWN, or
 * -1 for NULL. Waits for the operation timeout at most. `leasehold_held` is 0 before the first byte
 * is sent. Calling again gives the first answer again. The handle is still to be freed. */
int leasehold_release(leasehold_handle* handle, leasehold_error* error);

/** Begins the release and does not wait: `leasehold_held` is 0 when it returns, and
 * `leasehold_release` gives the answer. */
int leasehold_release_begin(leasehold_handle* handle, leasehold_error* error);

/** Goes on to read with what a handle has that writes: `*reader` gets a handle with a token of its
 * own, and nobody writes in between. Waits for the operation timeout at most. `handle` holds
 * nothing from here on, whatever this returns, and is still to be freed. */
int leasehold_downgrade(leasehold_handle* handle, leasehold_handle** reader,
                        leasehold_error* error);

/** Frees the handle. A lock that is still held is released in the background: this never waits. */
void leasehold_free(leasehold_handle** handle);

/** The name of a kind, such as "timed_out"; "?" for a number that is none. */
const char* leasehold_kind_name(int kind);

/** The version of the library, such as "1.2.3". */
const char* leasehold_version(void);

#ifdef __cplusplus
}
#endif

#endif
