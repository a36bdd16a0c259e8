// Preloaded into a mongod, gives it a wall clock of its own: an offset and a rate, changed from
// outside while it runs, through a small file that both map (member_clock.hpp). Everything
// monotonic stays as it is.
//
// A wait until a wall-clock time is turned back into real time when it begins: a step made during
// the wait does not move its end.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// INVARIANT: the layout of MemberClock::Block. An odd `turn` says that somebody is writing.
struct Block {
  _Atomic uint64_t turn;
  _Atomic int64_t real_base_ns;
  _Atomic int64_t shown_base_ns;
  _Atomic int64_t rate_ppm;  // 1'000'000: as fast as real time; 0: the real clock itself
  _Atomic uint64_t shown;    // how often a time was shown that was not the real one
};
struct Rule {
  int64_t real_base_ns, shown_base_ns, rate_ppm;
};

static const int64_t kSecond = 1000000000;
static const int64_t kMillion = 1000000;
// Condition variables tied to the monotonic clock come with times since boot.
static const time_t kFirstWallSecond = 500000000;

static struct Block* block;
static int (*real_gettime)(clockid_t, struct timespec*);
static int (*real_timedwait)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
static int (*real_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);

__attribute__((constructor)) static void begin(void) {
  real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  real_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");  // of x86-64
  if (real_timedwait == NULL) real_timedwait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  real_clockwait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  const char* file = getenv("LEASEHOLD_CLOCK_FILE");
  const int fd = file == NULL ? -1 : open(file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* mapped = mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) block = mapped;
  close(fd);
}

static struct Rule rule(void) {
  struct Rule r = {0, 0, 0};
  if (block == NULL) return r;
  for (;;) {
    const uint64_t turn = block->turn;
    r = (struct Rule){block->real_base_ns, block->shown_base_ns, block->rate_ppm};
    if (turn % 2 == 0 && block->turn == turn) return r;
  }
}

static int64_t nanoseconds(const struct timespec* t) { return t->tv_sec * kSecond + t->tv_nsec; }

static struct timespec timespec_of(int64_t ns) {
  if (ns < 0) ns = 0;
  return (struct timespec){ns / kSecond, ns % kSecond};
}

static struct timespec shown(const struct timespec* real) {
  const struct Rule r = rule();
  if (r.rate_ppm == 0) return *real;
  const int64_t now = nanoseconds(real);
  const __int128 passed = now - r.real_base_ns;
  const int64_t other = r.shown_base_ns + (int64_t)(passed * r.rate_ppm / kMillion);
  if (other != now) ++block->shown;
  return timespec_of(other);
}

static struct timespec real_of(const struct timespec* shown_time) {
  const struct Rule r = rule();
  if (r.rate_ppm == 0) return *shown_time;
  const __int128 passed = nanoseconds(shown_time) - r.shown_base_ns;
  return timespec_of(r.real_base_ns + (int64_t)(passed * kMillion / r.rate_ppm));
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  if (real_gettime == NULL) real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real_gettime(clock, out);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) *out = shown(out);
  return result;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t* restrict cond, pthread_mutex_t* restrict mutex,
                           const struct timespec* restrict until) {
  if (until->tv_sec < kFirstWallSecond) return real_timedwait(cond, mutex, until);
  const struct timespec real = real_of(until);
  return real_timedwait(cond, mutex, &real);
}

int pthread_cond_clockwait(pthread_cond_t* restrict cond, pthread_mutex_t* restrict mutex,
                           clockid_t clock, const struct timespec* restrict until) {
  if (clock != CLOCK_REALTIME) return real_clockwait(cond, mutex, clock, until);
  const struct timespec real = real_of(until);
  return real_clockwait(cond, mutex, clock, &real);
}
