/* The small lease protocol of bench/small_protocol.hpp for Spin: one process, one choice a step.
 * spin -a -DN=3 -DT=10 -DK=8 small_protocol.pml; cc -O2 -DSAFETY -o pan pan.c; ./pan -m1000000 */
#ifndef N
#define N 3
#endif
#ifndef T
#define T 10
#endif
#ifndef K
#define K 8
#endif
#define L 3
#define Idle 0
#define Waiting 1
#define Held 2
#define Paused 3
#define Crashed 4

byte now, owner, expiry, token, greatest, latest;
byte phase[N], tok[N], dl[N];

#define holds(i) ((phase[i] == Held || phase[i] == Paused) && dl[i] > now)
#define clear(i) tok[i] = 0; dl[i] = 0
#define accept(t) if :: t >= greatest -> greatest = t; latest = t :: else fi

#define CLIENT(i) \
  :: d_step { (phase[i] == Idle || phase[i] == Waiting) && (owner == 0 || expiry <= now) && \
       token < K -> owner = i + 1; expiry = now + L; token++; phase[i] = Held; \
       tok[i] = token; dl[i] = expiry } \
  :: d_step { phase[i] == Idle && owner != 0 && expiry > now -> phase[i] = Waiting } \
  :: d_step { phase[i] == Waiting -> phase[i] = Idle } \
  :: d_step { phase[i] == Held -> \
       if :: owner == i + 1 && expiry > now -> expiry = now + L; dl[i] = expiry \
          :: else -> phase[i] = Idle; clear(i) fi } \
  :: d_step { phase[i] == Held -> if :: owner == i + 1 -> owner = 0; expiry = 0 :: else fi; \
       phase[i] = Idle; clear(i) } \
  :: d_step { phase[i] == Held -> phase[i] = Crashed; clear(i) } \
  :: d_step { phase[i] == Crashed -> phase[i] = Idle } \
  :: d_step { phase[i] == Held -> phase[i] = Paused } \
  :: d_step { phase[i] == Paused -> phase[i] = Held } \
  :: d_step { phase[i] == Held && dl[i] > now -> accept(tok[i]) } \
  :: d_step { phase[i] == Held && dl[i] <= now -> accept(tok[i]); phase[i] = Idle; clear(i) }

active proctype system() {
  do
  :: d_step { now < T -> now++ }
  :: d_step { owner != 0 && expiry <= now -> owner = 0; expiry = 0 }
  CLIENT(0)
  CLIENT(1)
  CLIENT(2)
#if N > 3
  CLIENT(3)
#endif
  od
}

#if N > 3
#define holders (holds(0) + holds(1) + holds(2) + holds(3))
#else
#define holders (holds(0) + holds(1) + holds(2))
#endif
never {
  do
  :: d_step { !(holders <= 1 && latest >= greatest) -> assert(false) }
  :: else
  od
}
