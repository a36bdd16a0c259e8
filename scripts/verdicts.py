"""What `leasehold-lab verify --worker` finds in locks, and tables of it: for scripts/others and scripts/services, whose
locks scripts/others installs.

What was found of a lock is {"seconds", "seed", "runs": {KIND: {"acquisitions", "left_out", "guarantees", "found"}}}. A
kind is a name of options, or the file of a plan; clocks are moved only in those with "clocks" in their names."""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LABORATORY = "build/bin/leasehold-lab"
PLANS = "scenarios/others"
GENERATED, END = "\n<!-- generated -->\n", "<!-- -->\n"  # for scripts/weigh
TRIES = 3  # of a run that a busy machine kept from its end

# Its compiler for long runs and its threads for garbage would take most of a small machine while processes start.
JAVA = "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp 'build/others/java:build/others/java/lib/*'"
PYTHON = "env PYTHONPATH=build/others/python/lib python3 -W ignore scenarios/others/python"

# Name (of its promises, too): what installs it, the worker's command, its stores (scenarios/stores); waits are compared
# on the first.
SERVICES = {
    "etcd-mutex": ("go", "build/others/go/worker", ["etcd"]),
    "etcd-trylock": ("go", "build/others/go/worker try", ["etcd"]),
    "curator": ("java", f"{JAVA} CuratorWorker", ["zookeeper"]),
    "curator-rw": ("java", f"{JAVA} CuratorWorker rw", ["zookeeper"]),
    "kazoo": ("python", f"{PYTHON}/kazoo_worker.py", ["zookeeper"]),
    "redlock": ("node", "node build/others/node/redlock.js", ["redis5"]),
    "redisson": ("java", f"{JAVA} RedissonWorker", ["redis", "redis-sentinel"]),
    "redisson-rw": ("java", f"{JAVA} RedissonWorker rw", ["redis"]),
    "redisson-fenced": ("java", f"{JAVA} RedissonWorker fenced", ["redis", "redis-sentinel"]),
    "redis-py": ("python", f"{PYTHON}/redis_worker.py", ["redis", "redis-sentinel"]),
    "postgres-session": ("python", f"{PYTHON}/postgres_worker.py session", ["postgres", "postgres-sync"]),
    "postgres-rw": ("python", f"{PYTHON}/postgres_worker.py session", ["postgres"]),
    "postgres-transaction": ("python", f"{PYTHON}/postgres_worker.py transaction", ["postgres", "postgres-sync"]),
}


def words_of(doc, flags, numbers):
    """A parser of a script's words: names of locks, flags, and numbers with what they usually are."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    for flag in flags:
        parser.add_argument(flag, action="store_true", help=argparse.SUPPRESS)
    for number, usual in numbers.items():
        parser.add_argument(number, type=int, default=usual, help=argparse.SUPPRESS)
    return parser


def require_names(parser, names, choices):
    for name in [name for name in names if name not in choices]:
        parser.error(f"the name is '{name}': it must be one of {', '.join(choices)}")


def not_lacking(names, lacks):
    """Says what is left out, and why."""
    for name in [name for name in names if lacks(name)]:
        print(f"left out: {name}: {lacks(name)}")
    return [name for name in names if not lacks(name)]


def read(file, otherwise=None):
    if otherwise is not None and not os.path.exists(f"{ROOT}/{file}"):
        return otherwise
    return json.loads(pathlib.Path(ROOT, file).read_text(encoding="utf-8"))


def keep(file, results):
    pathlib.Path(ROOT, file).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


@dataclasses.dataclass
class Lock:
    """What is run: a worker with its promises, on a store or, without one, on a replica set of MongoDB."""
    name: str
    worker: str
    promises: str
    runs: dict  # {kind: options}
    plans: list  # files under PLANS; each shows the guarantee that its first line names
    store: list = ()  # options

    def shown_by(self, kind):
        if kind in self.runs:
            return None
        return re.match(r"# (G\d): ", pathlib.Path(ROOT, PLANS, kind).read_text(encoding="utf-8"))[1]


def plans_of(*names):
    """The files of plans for these, NAME.scn or NAME.*.scn."""
    return [file for file in sorted(os.listdir(f"{ROOT}/{PLANS}"))
            if file.endswith(".scn") and file.startswith(tuple(f"{name}." for name in names))]


def verify(lock, kind, asked, *more):
    """(the report, what was printed, the command)"""
    folder = f"build/others/runs/{lock.name}/{kind}{'-again' if more else ''}"
    what = ["--plan", f"{PLANS}/{kind}", "--until-violated"]
    if kind in lock.runs:
        what = ["--seed", str(asked.seed), "--seconds", str(asked.seconds), *lock.runs[kind]]
    command = [LABORATORY, "verify", *lock.store, *what, *more, "--worker", lock.worker, "--promises", lock.promises,
               "--floors", "10"]
    for _ in range(TRIES):
        shutil.rmtree(f"{ROOT}/{folder}", ignore_errors=True)
        os.makedirs(f"{ROOT}/{folder}")
        ran = subprocess.run([*command, "--runs", folder, "--json", f"{folder}/report.json"], cwd=ROOT, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
        if report := read(f"{folder}/report.json", {}):
            return report, ran.stdout, shlex.join(command)
    sys.exit(f"{os.path.basename(sys.argv[0])}: {shlex.join(command)} ended with {ran.returncode}:\n{ran.stderr[-4000:]}")


def violated(report):
    return [name for name, found in report["guarantees"].items() if found["verdict"] == "violated"]


def first_cases(printed):
    """{guarantee: (case, description)}: of each violation the first run that was kept."""
    found, waiting = {}, {}
    for line in printed.splitlines():
        if story := re.match(r"(\w+) violated: (.*)", line):
            waiting.setdefault(story[1], story[2])
        if kept := re.match(r"kept: .*/\d+-(\d+)$", line):
            for guarantee, said in waiting.items():
                found.setdefault(guarantee, (kept[1], said))
            waiting = {}
    return found


def judge(lock, kind, asked, known):
    """One run and the repetitions of what it found that was not `known`. `known` is what came again each time."""
    print(f"{lock.name}: runs ({kind})", flush=True)
    report, printed, _ = verify(lock, kind, asked)
    cases = {guarantee: case for guarantee, case in first_cases(printed).items() if guarantee not in known}
    again = {}
    for case in dict.fromkeys(number for number, _ in cases.values()):
        print(f"{lock.name}: repeats case {case}", flush=True)
        again[case] = [verify(lock, kind, asked, "--case", case) for _ in range(asked.repetitions)]
    found = {}
    for guarantee in [one for one in violated(report) if one in cases]:
        case, said = cases[guarantee]
        found[guarantee] = {"said": said, "command": again[case][0][2], "of": len(again[case]),
                            "times": sum(guarantee in violated(one) for one, _, _ in again[case])}
    print(f"{lock.name}: {report['verdict']} {' '.join(violated(report))}", flush=True)
    return {"acquisitions": report["acquisitions"], "left_out": report["left_out"], "found": found,
            "guarantees": {guarantee: {"verdict": one["verdict"], "checked": one["checked"]}
                           for guarantee, one in report["guarantees"].items()}}


def judge_all(lock, asked, may_differ, plans_first=False):
    """All kinds of runs. Without a plan for what is known by then, or, if plans come first, all plans. `may_differ`:
    clocks are moved, too."""
    kinds, known = {}, {False: set(), True: set()}
    for kind in sorted([*lock.runs, *lock.plans],
                       key=lambda kind: (moves_clocks(kind), (kind in lock.runs) == plans_first)):
        moved = moves_clocks(kind)
        if moved and (not may_differ or "G2" in known[False]) or not plans_first and lock.shown_by(kind) in known[moved]:
            continue
        kinds[kind] = judge(lock, kind, asked, known[moved])
        known[moved].update(one for one, found in kinds[kind]["found"].items() if found["times"] == found["of"])
    return {"seconds": asked.seconds, "seed": asked.seed, "runs": kinds}


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


def verdicts(guarantees, runs):
    """Cells of a row: of each guarantee, and of G2 if clocks are moved."""
    cells = [verdict(guarantee, runs_like("many", runs)) for guarantee in guarantees]
    moved = runs_like("clocks", runs)
    otherwise = "violated, even without" if best_found("G2", runs_like("many", runs)) else "must agree"
    return [*cells, verdict("G2", moved) if moved else otherwise]


def table(heads, rows):
    """A generated one."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in [heads, *rows]]
    return GENERATED + "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]]) + "\n" + END


def violations(runs):
    """Rows of what was found: the guarantees that one command shows, what was seen, the command."""
    rows = []
    for kind, run in runs.items():
        found = {g: one for g, one in run["found"].items() if one is best_found(g, runs_like(kind, runs))}
        for command in dict.fromkeys(one["command"] for one in found.values()):
            shown = {g: one["said"] for g, one in found.items() if one["command"] == command}
            rows.append([", ".join(shown), "; ".join(dict.fromkeys(shown.values())), f"`{command}`"])
    return rows
