"""scenarios/OTHERS.md, from what scripts/others measured."""

GUARANTEES = ("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "protocol")
NAMES = {"many": "With many processes", "two": "With two processes", "clocks": "With clocks moved",
         "plan": "With a plan of its own"}

HEAD = """# Others' locks: what was found

Locks that other people wrote, each in its own language and at the version named, checked by
`leasehold-lab verify --worker` ([WORKERS.md](WORKERS.md)) on a real replica set with faults. `scripts/others` installs
them, runs each for {seconds} s with many processes and as long with two, with seed {seed}, repeats each case that broke
something, and writes this page.

- **violated** *k*/*n*: found, and found again in *k* of *n* repetitions of the same plan; a live run is never quite the
  same. `holds` (*n*): checked *n* times. *not promised*: its author never said so. *not checked*: from the outside
  nobody can see it. *unknown*: too seldom, or disturbed by the machine alone.
- No author promises to cope with clocks that differ: none is moved in these two runs. What happens if they are is in
  the last column, unless the author says that they must agree.
- A lock counts as held until its own library says otherwise; where that has no word for it, for the lease from before
  the attempt that won, which is the most careful that its user can be.
"""

# What the source of that version shows, of what was found.
CAUSES = {
    "distributed-lock-mongo": "Nothing extends the lease (`extension_cadence` is read by nobody), and nobody can send to "
                              "the handle's `lost_token`: who holds longer than a lease is not notified.",
    "mongo-lock-rs": "A release deletes by name, whoever holds the lock: one that comes late frees the next holder's.",
    "mongolock": "`expire` becomes a date when the call begins: who waits for the lock has it for less than that.",
    "mongodb-lock": "`expire` is by the clock of who holds the lock, and compared with that of who tries to get it.",
    "mongo-lock-node": "`expires` is by the clock of who holds the lock, and compared with that of who tries to get it; "
                       "only the first attempt of a call removes a document that has expired.",
    "agenda": "`every`, which each process calls when it starts, sets `lockedAt` of the job to null, also while it runs: "
              "two processes then run it, without any fault. Who finishes a job does the same by its `_id`, whoever "
              "runs it by then. G7 may be the worker's fault: its agenda was never ready after an error of its first command.",
    "shedlock": "A release sets `lockUntil` by name, whoever holds the lock: one that comes late frees the next holder's.",
    "insert-unique": "A release deletes by name, whoever holds the lock.",
}


def verdict(guarantee, runs):
    """Of these runs together, with a number."""
    judged = [run["report"]["guarantees"][guarantee] for run in runs if guarantee in run["report"]["guarantees"]]
    words = [one["verdict"] for one in judged]
    if "violated" in words:
        found = [run["found"][guarantee] for run in runs if guarantee in run["found"]]
        best = max(found, key=lambda one: one["times"], default=None)
        return f"**violated** {best['times']}/{best['of']}" if best else "**violated**"
    if judged:
        word = "holds" if "holds" in words else words[0]
        return f"{word} ({sum(one['checked'] for one in judged)})"
    left_out = [one for one in runs[0]["report"]["left_out"] if one.startswith(guarantee + " ")]
    return left_out[0].partition(" ")[2] if left_out else ""


def row(promises, result):
    cells = [verdict(guarantee, [run for kind, run in result.items() if kind != "clocks"])
             for guarantee in GUARANTEES]
    broken = "G2" in {**result["many"]["found"], **result["two"]["found"]}
    otherwise = "violated without" if broken else "must agree"
    cells.append(verdict("G2", [result["clocks"]]) if "clocks" in result else otherwise)
    return f"| {promises['name']} | {promises['language']} | " + " | ".join(cells) + " |\n"


def section(name, promises, result):
    text = f"\n## {promises['name']} ({promises['language']})\n\nIts author: {promises['says']}.\n"
    for kind, run in result.items():
        text += f"\n{NAMES[kind]}: {run['report']['acquisitions']} acquisitions.\n"
        for guarantee, found in run["found"].items():
            text += (f"\n- **{guarantee}**, {found['times']} of {found['of']} repetitions: {found['said']}\n\n"
                     f"      {found['command']}\n")
    if name in CAUSES and any(run["found"] for run in result.values()):
        text += f"\nIts source: {CAUSES[name]}\n"
    return text


def write_page(path, promises, results):
    """`results` by the names of `promises`; who has none is left out."""
    names = [name for name in promises if name in results]
    if not names:
        return
    first = results[names[0]]["many"]["report"]
    text = HEAD.format(seconds=first["seconds"], seed=first["seed"])
    text += "\n| lock | language | " + " | ".join(GUARANTEES) + " | G2, clocks moved |\n"
    text += "|---" * (len(GUARANTEES) + 3) + "|\n"
    text += "".join(row(promises[name], results[name]) for name in names)
    text += "".join(section(name, promises[name], results[name]) for name in names)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
