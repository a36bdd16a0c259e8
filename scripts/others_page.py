"""scenarios/OTHERS.md, from what scripts/others measured."""

GUARANTEES = ("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "protocol")

HEAD = """# Others' locks: what was found

Locks that other people wrote, each in its own language and at the version named, judged by
`leasehold-lab verify --worker` ([WORKERS.md](WORKERS.md)) on a real replica set with faults. `scripts/others` installs
them, runs each for {seconds} s with seed {seed}, repeats each case that broke something, and writes this page.

- **violated** *k*/*n*: found, and found again in *k* of *n* repetitions of the same plan; a live run is never quite the
  same. `holds` (*n*): checked *n* times. *not promised*: its author never said so. *not checked*: from the outside
  nobody can see it. *unknown*: too seldom, or disturbed by the machine alone.
- No author promises to cope with clocks that differ: none is moved in this run. What happens if they are is in the last
  column, unless the author says that they must agree.
- A holder is believed to hold until its own library says otherwise; where that has no word for it, for the lease from
  before the attempt that won, which is the most careful that its user can be.
"""


def cell(guarantee, result):
    found = result["found"].get(guarantee)
    verdict = result["report"]["guarantees"].get(guarantee)
    if verdict is None:
        left_out = [one for one in result["report"]["left_out"] if one.startswith(guarantee + " ")]
        return left_out[0].partition(" ")[2] if left_out else ""
    if verdict["verdict"] == "violated":
        return f"**violated** {found['times']}/{found['of']}" if found else "**violated**"
    if verdict["verdict"] == "holds":
        return f"holds ({verdict['checked']})"
    return verdict["verdict"]


def row(promises, result):
    cells = [cell(guarantee, result["usual"]) for guarantee in GUARANTEES]
    cells.append(cell("G2", result["clocks"]) if result["clocks"] else "must agree")
    return f"| {promises['name']} | {promises['language']} | " + " | ".join(cells) + " |\n"


def violations(result):
    return "".join(f"\n- **{guarantee}**, {found['times']} of {found['of']} repetitions: {found['said']}\n\n"
                   f"      {found['command']}\n" for guarantee, found in result["found"].items())


def section(promises, result):
    usual, clocks = result["usual"], result["clocks"]
    text = f"\n## {promises['name']} ({promises['language']})\n\nIts author: {promises['says']}.\n"
    text += f"\n{usual['report']['acquisitions']} acquisitions.\n" + violations(usual)
    if clocks and clocks["found"]:
        text += f"\nWith clocks moved, {clocks['report']['acquisitions']} acquisitions:\n" + violations(clocks)
    return text


def write_page(path, promises, results):
    """`results` by the names of `promises`; who has none is left out."""
    names = [name for name in promises if name in results]
    if not names:
        return
    first = results[names[0]]["usual"]["report"]
    text = HEAD.format(seconds=first["seconds"], seed=first["seed"])
    text += "\n| lock | language | " + " | ".join(GUARANTEES) + " | G2, clocks moved |\n"
    text += "|---" * (len(GUARANTEES) + 3) + "|\n"
    text += "".join(row(promises[name], results[name]) for name in names)
    text += "".join(section(promises[name], results[name]) for name in names)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
