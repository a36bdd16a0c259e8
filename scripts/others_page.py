"""scenarios/OTHERS.md, from what scripts/others measured."""

GUARANTEES = ("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "protocol")
GENERATED, END = "\n<!-- generated -->\n", "<!-- -->\n"  # for scripts/weigh
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
     "so it is: no violation without clocks that differ"),
    ("mongo-lock-node", "from its source: a waiter that began before the expiry never gets the lock",
     "so it is (G7)"),
    ("agenda", "lockLifetime \"will ensure that no other job processor (this one included) attempts to run the job again\"",
     "**contradicted**: a process that schedules the job again runs it at once (G2)"),
    ("shedlock", "a late release frees the next holder's lock: reported in 2018 (lukas-krecan/ShedLock#74), closed",
     "so it is in 7.9.0 (G2)"),
    ("insert-unique", "as published: the release deletes by name", "so it is (G1, G2, G6)"),
]


def reported(promises, names):
    text = "\n## What is reported elsewhere\n" + GENERATED + "| lock | reported | found here |\n|---|---|---|\n"
    return text + "".join(f"| {promises[name]['name']} | {said} | {found} |\n" for name, said, found in REPORTED
                          if name in names) + END


def best_found(guarantee, runs):
    """What came again most often."""
    found = [run["found"][guarantee] for run in runs if guarantee in run["found"]]
    return max(found, key=lambda one: one["times"] / one["of"], default=None)


def runs_like(kind, runs):
    """Those of the same column: clocks are moved in this one, or left alone."""
    return [run for other, run in runs.items() if moves_clocks(other) == moves_clocks(kind)]


def moves_clocks(kind):
    return "clocks" in kind


def verdict(guarantee, runs):
    """Of these runs together, with a number."""
    judged = [run["guarantees"][guarantee] for run in runs if guarantee in run["guarantees"]]
    words = [one["verdict"] for one in judged]
    if "violated" in words:
        best = best_found(guarantee, runs)
        return f"**violated** {best['times']}/{best['of']}" if best else "**violated**"
    if judged:
        word = "holds" if "holds" in words else words[0]
        return f"{word} ({sum(one['checked'] for one in judged)})"
    left_out = [one for one in runs[0]["left_out"] if one.startswith(guarantee + " ")]
    return left_out[0].partition(" ")[2] if left_out else ""


def row(promises, runs):
    cells = [verdict(guarantee, runs_like("many", runs)) for guarantee in GUARANTEES]
    moved = runs_like("clocks", runs)
    otherwise = "violated, even without" if best_found("G2", runs_like("many", runs)) else "must agree"
    cells.append(verdict("G2", moved) if moved else otherwise)
    return f"| {promises['name']} | {promises['language']} | " + " | ".join(cells) + " |\n"


def section(name, promises, runs):
    text = f"\n## {promises['name']} ({promises['language']})\n\nIts author: {promises['says']}.\n"
    extent = [f"{run['acquisitions']} {NAMES.get(kind, f'with the plan [{kind}](others/{kind})')}" for kind, run in runs.items()]
    text += f"\nAcquisitions: {', '.join(extent)}.\n"
    for kind, run in runs.items():
        found = {g: one for g, one in run["found"].items() if one is best_found(g, runs_like(kind, runs))}
        for command in dict.fromkeys(one["command"] for one in found.values()):
            text += "\n" + "".join(f"- **{g}**: {one['said']}\n" for g, one in found.items() if one["command"] == command)
            text += f"\n      {command}\n"
    if name in CAUSES and any(run["found"] for run in runs.values()):
        text += f"\nIts source: {CAUSES[name]}\n"
    return text


def write_page(path, promises, results):
    """`results` by the names of `promises`; who has none is left out."""
    names = [name for name in promises if name in results]
    if not names:
        return
    first = results[names[0]]
    text = HEAD.format(seconds=first["seconds"], seed=first["seed"])
    text += GENERATED + "| lock | language | " + " | ".join(GUARANTEES) + " | G2, clocks moved |\n"
    text += "|---" * (len(GUARANTEES) + 3) + "|\n"
    text += "".join(row(promises[name], results[name]["runs"]) for name in names) + END
    text += reported(promises, names)
    text += "".join(section(name, promises[name], results[name]["runs"]) for name in names)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
