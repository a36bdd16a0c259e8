"""scenarios/OTHERS.md, from what scripts/others measured."""

from verdicts import table, verdicts, violations

GUARANTEES = ("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "protocol")
NAMES = {"many": "with many processes", "two": "with two", "clocks": "with clocks moved"}

HEAD = """# Others' locks: what was found

`scripts/others` installs locks that other people wrote, each in its own language. It runs each under
`leasehold-lab verify --worker` ([WORKERS.md](WORKERS.md)) on a real replica set with faults, for {seconds} s with many
processes and as long with two, with seed {seed}, repeats each case that broke something, and writes this page.

- **violated** *k*/*n*: found, and found again in *k* of *n* repetitions of the same plan; a live run is never quite the
  same. `holds` (*n*): checked *n* times. *not checked*: it cannot be seen from the outside. *unknown*: too seldom, or
  disturbed by the machine alone.
- No author promises to cope with clocks that differ: none is moved in these two runs. What happens if they are is in
  the last column, unless the author says that they must agree.
- A lock counts as held until its own library says otherwise; where that has no word for it, for the lease from before
  the attempt that won.
"""

# What the source of that version shows, of what was found.
CAUSES = {
    "distributed-lock-mongo": "Nothing extends the lease (`extension_cadence` is never read), and nothing can send to "
                              "the handle's `lost_token`, so a holder is not notified when its lease is over.",
    "mongo-lock-rs": "A release deletes by name, so one that comes late frees the next holder's.",
    "mongolock": "`expire` becomes a date when the call begins: a caller that waits for the lock has it for less.",
    "mongodb-lock": "`expire` is by the holder's clock, and compared with the clock of a process that tries to get it.",
    "mongo-lock-node": "`expires` is by the holder's clock, and compared with the clock of a process that tries to get "
                       "it; only the first attempt of a call removes a document that has expired; and each write waits "
                       "for the primary alone (`w: 1`).",
    "agenda": "`every`, which each process calls when it starts, sets `lockedAt` of the job to null, also while it runs: "
              "two processes then run it, without any fault. A process that finishes a job does the same by its `_id`.",
    "shedlock": "A release sets `lockUntil` by name, so one that comes late frees the next holder's.",
    "insert-unique": "A release deletes by name.",
}


# What is reported of a lock elsewhere, and what was found here.
REPORTED = [
    ("distributed-lock-mongo", "its page: \"automatic lease extension\"; and in a race without faults, of hundreds of "
                               "holdings, nobody was twice inside",
     "**contradicted**: no lease is extended, and while a holding outlasts its lease, a second process gets the lock (G2)"),
    ("mongo-lock-rs", "its page: it relies on clocks that agree", "not enough: they agreed, and G2 was violated"),
    ("mongolock", "\"duration in seconds after which lock can be stealed\"",
     "**contradicted** for a caller that waited: the duration counts from when it began to wait"),
    ("mongodb-lock", "its release asks for the owner, and that the lease is not over; clocks that differ break it silently",
     "confirmed: no violation without clocks that differ"),
    ("mongo-lock-node", "from its source: a waiter that began before the expiry never gets the lock",
     "confirmed (G7)"),
    ("agenda", "lockLifetime \"will ensure that no other job processor (this one included) attempts to run the job again\"",
     "**contradicted**: a process that schedules the job again runs it at once (G2)"),
    ("shedlock", "a late release frees the next holder's lock: reported in 2018 (lukas-krecan/ShedLock#74), closed",
     "confirmed in 7.9.0 (G2)"),
    ("insert-unique", "as published: the release deletes by name", "confirmed (G1, G2, G6)"),
]


def acquisitions(runs):
    return ", ".join(f"{run['acquisitions']} {NAMES.get(kind, f'with the plan [{kind}](others/{kind})')}"
                     for kind, run in runs.items())


def write_page(path, promises, results):
    """`results` by the names of `promises`; what has none is left out."""
    names = [name for name in promises if name in results]
    if not names:
        return
    runs = {name: results[name]["runs"] for name in names}
    first = results[names[0]]
    text = HEAD.format(seconds=first["seconds"], seed=first["seed"])
    text += table(["lock", "language", *GUARANTEES, "G2, clocks moved"], [
        [promises[name]["name"], promises[name]["language"], *verdicts(GUARANTEES, runs[name])] for name in names])
    text += "\n## What is reported elsewhere\n" + table(["lock", "reported", "found here"], [
        [promises[name]["name"], said, found] for name, said, found in REPORTED if name in names])
    text += "\n## What was violated\n" + table(["lock", "guarantee", "seen", "again"], [
        [promises[name]["name"], *row] for name in names for row in violations(runs[name])])
    text += "\n## Each lock\n" + table(["lock", "its author", "its source", "acquisitions"], [
        [promises[name]["name"], promises[name]["says"], CAUSES[name], acquisitions(runs[name])] for name in names])
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
