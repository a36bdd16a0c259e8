"""scenarios/SERVICES.md, from what scripts/services measured."""
import itertools
import statistics
import sys

from verdicts import ROOT, table, verdicts, violations

sys.path.insert(1, f"{ROOT}/bench")
import stats  # noqa: E402

GUARANTEES = ("G2", "G3", "G4", "G5", "G7", "protocol")
COLUMNS = [("acq_per_s", "acquisitions a second", 1), ("share_of_ideal", "share of ideal", 2),
           ("hand_over_p50_ms", "hand-over p50 ms", 1), ("hand_over_p99_ms", "hand-over p99 ms", 1),
           ("wait_p50_ms", "wait p50 ms", 0), ("wait_p99_ms", "wait p99 ms", 0), ("jain", "Jain", 3),
           ("server_cpu_ms_per_acq", "server CPU ms per acquisition", 2), ("write_ms", "alone ms", 2)]
READ_COLUMNS = [COLUMNS[0], *((f"{kind}_{q}_ms", f"{kind}s' wait {q} ms", 0) for kind in stats.KINDS for q in ("p50", "p99")),
                *COLUMNS[-3:]]  # where some read
LESS_IS_BETTER = {"acq_per_s": False, "share_of_ideal": False, "jain": False}  # the others: True
COMPARED = ("acq_per_s", "hand_over_p50_ms", "hand_over_p99_ms", "wait_p99_ms", "jain",
            "server_cpu_ms_per_acq", "takeover_ms")
READ_COMPARED = ("acq_per_s", "reader_p99_ms", "writer_p99_ms", "jain", "server_cpu_ms_per_acq", "takeover_ms")
HEADS = {key: head for key, head, _ in COLUMNS + READ_COLUMNS} | {"takeover_ms": "takeover ms"}
KEPT = {*HEADS, "failures", "losses", "overlaps"}  # of the figures
OURS = "leasehold"

HEAD = """# Lock services side by side

By `scripts/services`: the usual clients' locks, used as their authors document them.

## Verdicts

`leasehold-lab verify --store` ran two plans for all, each lock's own, and generated ones: {seconds} s with processes,
servers and links disturbed, as long with clocks moved (seed {seed}). What broke was repeated. The words of the cells:
[OTHERS.md](OTHERS.md). G1, G6 and G8 need documents: not checked.
"""

# What an author says, or what is reported, and what was found here.
REPORTED = [
    ("etcd-mutex", "its source: \"If the context is canceled while trying to acquire the lock, the mutex tries to clean "
                   "its stale lock entry\"",
     "**contradicted** where the answer of its first request is lost: the entry stays as long as the session, and others "
     "wait in vain (G7: etcd-mutex.scn)"),
    ("etcd-mutex", "\"the lock APIs cannot be used as mutual exclusion mechanism by themselves\"",
     "confirmed (G2); the fence refused each late write (G3)"),
    ("kazoo", "LockTimeout is raised \"if the lock wasn't acquired within `timeout` seconds\"",
     "**contradicted** without any fault: the time begins again whenever a waiter ahead gives up (G7: kazoo.scn)"),
    ("redlock", "its page: \"In the case that auto-extension fails, an AbortSignal will be updated\"",
     "**contradicted** where what it sends is late: an extension that waits has not failed, so the signal stays as it is "
     "after the lease, and a second process holds the lock (G2, G5: any.late.scn)"),
    ("redlock", "a call that waited longer than the lease gets a lock that is over (mike-marcacci/node-redlock#169), and "
                "one that won a minority waits for its own keys (its pull request 369)",
     "confirmed in 5.0.0-beta.2: failed calls and a long wait p99, without any fault"),
    ("redisson", "its page: the watchdog \"prolongs lock expiration while lock holder Redisson instance is alive\"",
     "**contradicted** where what it sends is late: the lock expires under a living holder, which hears nothing (G2: "
     "any.late.scn); reported in 2021 (redisson/redisson#3636), closed"),
    ("redisson-rw", "\"Works in non-fair mode\" (redisson/redisson#5379)",
     "confirmed: where readers come and go, a writer waits for seconds (Waits)"),
    ("redisson-fenced", "its page: the token is there because a delayed client \"can't detect that it doesn't own the lock "
                        "anymore\"", "confirmed (G2); whether the tokens rise: G4"),
    ("curator", "its page: \"at any snapshot in time no two clients think they hold the same lock\"",
     "**contradicted** by a holder that was stopped: it holds the lock until its listener has run (G2, G5: "
     "any.pause.scn)"),
    ("postgres-session", "the manual: lock_timeout aborts \"any statement that waits longer than the specified amount of "
                         "time\"; reported: a statement that it aborts may have got the lock "
                         "(madelson/DistributedLock#147, yugabyte/yugabyte-db#26105)",
     "confirmed where a release meets the end of the wait, without any fault: the call fails, and its session has the lock "
     "until it ends (G7: postgres.timeout.scn); a transaction gives it back"),
]

WAITS = """
## Waits

One lock, held for 5 ms; pauses up to 100 ms; a lease of {lease_ms} ms. On {about}: repetitions of {seconds} s,
interleaved, each with a new store.

- *Alone*: median of acquire and release together, by one client. *Share of ideal*: acquisitions a second times (holding
  + alone). Above 1, waiters save a part of the acquire.
- *Hand-over*: from asking for a release until the next waiter is notified of its grant.
- *Takeover*: from a holder's SIGKILL to the grant of one that waits: median, extremes. Where some calls read, the dead
  one reads, and the other waits to write.
- The rest: [RESULTS.md](../bench/RESULTS.md).
"""

LIMITS = """
## What may not be concluded

- Speed elsewhere: clients, driver and servers share two cores, without a network.
- The price of durability: all write to disk first, but a single server has no copy.
- The price of a service: each wait contains a client in some language. `leasehold` is C++, its servers behind the
  laboratory's proxies.
- Takeovers with other leases: sessions end by their own rules; PostgreSQL sees a closed connection at once.
"""


def verdict_tables(promises, results):
    known = [(*key.split(" on "), found["runs"]) for key, found in results.items()]
    known = [(name, store, runs, promises[name]) for name, store, runs in known if name in promises]
    text = table(["lock", "store", "version", "language", *GUARANTEES, "G2, clocks moved"], [
        [name, store, said["name"], said["language"], *verdicts(GUARANTEES, runs)] for name, store, runs, said in known])
    found = [[name, store, *row, said["says"]] for name, store, runs, said in known for row in violations(runs)]
    if found:
        text += table(["lock", "store", "guarantee", "seen", "again", "its author"], found)
    reported = [list(row) for row in REPORTED if row[0] in [name for name, *_ in known]]
    return text + (table(["lock", "said or reported", "found here"], reported) if reported else "")


def figures_of(rows):
    return stats.Figures(*({name: row[part] for name, row in rows.items()} for part in ("figures", "bounds")))


def takeover(took):
    return f"{statistics.median(took):.0f} ({min(took):.0f} to {max(took):.0f})" if took else "-"


def wait_table(rows, columns):
    figures = figures_of(rows)
    cells = [[name, rows[name]["store"], *(figures.cell(name, key, digits) for key, _, digits in columns),
              takeover(figures.values(name, "takeover_ms")), f"{sum(figures.values(name, 'failures')):.0f}"]
             for name in sorted(rows, key=lambda name: -figures.mean(name, "acq_per_s")[0])]
    return table(["lock", "store", *(head for _, head, _ in columns), "takeover ms", "failed calls"], cells)


def difference(figures, one, other, key):
    """-1, 0 or 1: whether one is worse than the other, not shown to differ, or better, repetition by repetition."""
    less = LESS_IS_BETTER.get(key, True)
    return figures.beats(one, other, key, less) - figures.beats(other, one, key, less)


def comparison(rows, compared=COMPARED):
    """Where ours loses, and where it wins; "" of too few repetitions."""
    if min(len(row["figures"]) for row in rows.values()) < stats.LEAST_REPETITIONS:
        return ""
    figures, lines = figures_of(rows), []
    for mine, key in itertools.product((name for name in rows if name.startswith(OURS)), compared):
        sides = {side: [name for name in rows if not name.startswith(OURS) and
                        difference(figures, mine, name, key) == side] for side in (-1, 0, 1)}
        lines.append([mine, HEADS[key], *(", ".join(named) or "none" for named in sides.values())])
    return table(["lock", "in", "loses to", "no difference shown", "is better than"], lines)


def write_page(path, promises, results):
    text = ""
    if results["verdicts"]:
        first = next(iter(results["verdicts"].values()))
        text += HEAD.format(seconds=first["seconds"], seed=first["seed"]) + verdict_tables(promises, results["verdicts"])
    waits = dict(sorted(results["waits"].items(), key=lambda one: [*map(int, one[0].split("/"))]))
    if waits:
        some = next(row for rows in waits.values() for row in rows.values())
        text += WAITS.format(lease_ms=some["lease_ms"], about=some["about"], seconds=some["seconds"])
        for load, rows in waits.items():
            clients, _, reads = load.partition("/")
            title = f"{clients} clients" + f", {reads} % of the calls read" * bool(reads)
            columns, compared = (READ_COLUMNS, READ_COMPARED) if reads else (COLUMNS, COMPARED)
            about = next(iter(rows.values()))["about"]
            text += f"\n### {title}\n" + f"\nOn {about}.\n" * (about != some["about"])
            text += wait_table(rows, columns) + comparison(rows, compared)
        text += LIMITS
    if text:
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
