#!/usr/bin/python3
"""What the samples of `leasehold-bench contend` say: a table, differences, and a plot.

  bench/stats.py FOLDER [--plot FILE.png] [--json FILE]

All figures come from samples.csv, runs.csv and settings.json in FOLDER. Only the plot needs a package, Matplotlib."""
import argparse
import bisect
import collections
import csv
import functools
import itertools
import json
import math
import os
import random
import statistics
import sys

DEFINITIONS = """\
- *Share of ideal*: acquisitions a second, relative to a lock that is never idle: one turn is one holding and one majority
  write, both measured in the same run. With several locks the lock that is asked for most often sets the pace.
- *Writes* and *reads* per acquisition: commands on the wire. A write is findAndModify, update, delete, insert or
  createIndexes, also a refused attempt; everything else is a read, change streams included.
- *Wait p50, p99*: half of the waits, or 99 in a hundred, are not longer. What still waited at the end of the measured
  time counts as longer than its age then (Kaplan and Meier's estimate). "≥": unfinished waits reach this figure.
- *Longest wait*: as long as it really was, also if it ended after the measured time.
- *Spread*: the wait p90 less the wait p10.
- *Jain*: Jain's index of the clients' acquisitions, (sum)² / (clients x sum of squares), divided by the most that whole
  numbers permit with so many acquisitions. 1: all got the lock equally often; 1 / clients: one got all.
- Figures are means over the repetitions; in brackets a 95 % bootstrap interval of that mean. A difference is called one
  only if the 95 % bootstrap interval of the paired differences, repetition by repetition, leaves out zero, and there are
  five repetitions at least. Such intervals are a little too narrow: where nothing differs, about one comparison in six
  is still called a difference with five repetitions, one in ten with ten."""

COLUMNS = [  # key, head, digits
    ("share_of_ideal", "share of ideal", 2), ("writes_per_acq", "writes", 2), ("reads_per_acq", "reads", 2),
    ("wait_p50_ms", "wait p50 ms", 0), ("wait_p99_ms", "wait p99 ms", 0), ("wait_max_ms", "longest wait ms", 0),
    ("wait_spread_ms", "spread ms", 0), ("hand_over_p50_ms", "hand-over p50 ms", 1), ("jain", "Jain", 3),
    ("server_cpu_ms_per_acq", "server CPU ms per acquisition", 1),
]
ONCE_COLUMNS = [
    ("longest_times_ideal", "longest wait, times ideal", 2), ("commands_per_acq", "commands each", 1),
    ("attempts_per_acq", "attempts each", 1), ("most_attempts_per_s", "most attempts in a second", 0),
    ("wait_p50_ms", "wait p50 ms", 0), ("wait_max_ms", "longest wait ms", 0),
]
KINDS = ("reader", "writer")
READ_COLUMNS = [  # of a load with readers
    ("share_of_ideal", "share of ideal", 2), ("writes_per_acq", "writes", 2), ("reads_per_acq", "reads", 2),
    *((f"{kind}_{key}", f"{kind}s' {head}", digits) for kind in KINDS for key, head, digits in (
        ("per_s", "acquisitions a second", 0), ("p50_ms", "wait p50 ms", 0), ("p99_ms", "wait p99 ms", 0))),
    ("jain", "Jain", 3), ("server_cpu_ms_per_acq", "server CPU ms per acquisition", 1)]
BESIDE_COLUMNS = [("beside_acquisitions", "acquisitions of the one beside", 1),
                  ("beside_longest_ms", "its longest wait ms", 0)]
COMPARED = [  # key, what it is, whether less is better, digits
    ("wait_p99_ms", "wait p99 in ms", True, 0), ("commands_per_acq", "commands per acquisition", True, 2),
    ("share_of_ideal", "share of ideal", False, 3),
]
READ_COMPARED = [*((f"{kind}_p99_ms", f"{kind}s' wait p99 in ms", True, 0) for kind in KINDS), *COMPARED[1:]]
NEVER = math.inf
RESAMPLES = 9_999
LEAST_REPETITIONS = 5  # with fewer, nothing is called a difference


class BadResults(Exception):
    """The files are not what `leasehold-bench contend` writes; the text says which and why."""


def read(folder):
    """Settings, runs and samples by run number."""
    try:
        with open(f"{folder}/settings.json") as file:
            settings = json.load(file)
        with open(f"{folder}/runs.csv", newline="") as file:
            runs = list(csv.DictReader(file))
        samples = {int(run["run"]): [] for run in runs}
        with open(f"{folder}/samples.csv", newline="") as file:
            for row in csv.DictReader(file):
                times = [float(row[key]) if row[key] else NEVER
                         for key in ("asked_ns", "granted_ns", "released_ns")]
                samples[int(row["run"])].append((int(row["client"]), int(row["lock"]), *times, row["reader"] == "1"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadResults(f"the folder is '{folder}': it must have settings.json, runs.csv and samples.csv of "
                         f"leasehold-bench contend ({type(error).__name__}: {error})") from error
    return settings, runs, samples


class Waits:
    """Kaplan and Meier's estimate of how long requests wait, from ages at which they came under
    observation and left it, and whether they left it because they were served."""

    def __init__(self, entered, left, served):
        self.longest = max(left, default=0.0)
        came, went = sorted(entered), sorted(left)
        ended = sorted(collections.Counter(age for age, was in zip(left, served) if was).items())
        self.ages = [age for age, _ in ended]
        self.longer, share = [], 1.0
        for age, count in ended:
            share *= 1 - count / (bisect.bisect_left(came, age) - bisect.bisect_left(went, age))
            self.longer.append(share)

    def quantile(self, q):
        """(value, whether it is only a lower bound)."""
        reached = next((age for age, longer in zip(self.ages, self.longer) if longer <= 1 - q + 1e-12), None)
        return (self.longest, True) if reached is None else (reached, False)


def waits_of(requests, end):
    """Of requests (asked, granted) that waited at some time in [0, end); in ms."""
    seen = [(asked, granted) for asked, granted in requests if asked >= 0 or granted > 0]
    # -1: under observation from the first moment on
    return Waits([-asked * 1e-6 if asked < 0 else -1e-6 for asked, _ in seen],
                 [(min(granted, end) - asked) * 1e-6 for asked, granted in seen],
                 [granted < end for _, granted in seen])


def jain(counts):
    """Of acquisitions per client, relative to the most even way to share out so many."""
    total, n = sum(counts), len(counts)
    if total == 0:
        return 0.0
    each, more = divmod(total, n)
    most_even = n * each ** 2 + more * (2 * each + 1)
    return most_even / sum(count ** 2 for count in counts)


def successions(samples):
    """Each grant of a lock with the one before it: two (client, lock, asked, granted, released, reads)."""
    order = sorted(samples, key=lambda row: (row[1], row[3]))
    return [(a, b) for a, b in itertools.pairwise(order) if a[1] == b[1] and b[3] < NEVER]


def hand_overs_ms(samples):
    """From a release to the next grant of that lock, where somebody was waiting by then."""
    return [(b[3] - a[4]) * 1e-6 for a, b in successions(samples) if b[2] < a[4]]


def overlaps(samples):
    """How often a lock was granted before one that it excludes had called release: readers share it."""
    count, until = 0, collections.defaultdict(lambda: -NEVER)
    for _, lock, _, granted, released, reads in sorted(samples, key=lambda row: row[3]):
        count += granted < (until[lock, False] if reads else max(until[lock, False], until[lock, True]))
        until[lock, reads] = max(until[lock, reads], released)
    return count


def counted(text):
    return float(text) if text else math.nan


def measure(settings, run, samples):
    """All figures of one run."""
    end = settings["measured_ms"] * 1e6
    callers = settings["clients"] * settings["callers"]
    mine = [row for row in samples if row[0] < callers]
    beside = [row for row in samples if row[0] >= callers]
    in_time = [row for row in samples if 0 <= row[3] < end]
    won = [row for row in mine if 0 <= row[3] < end]
    held = [row[4] - row[3] for row in in_time if row[4] < NEVER]
    acquired = max(len(in_time), 1)  # commands are of all clients
    write_ms = float(run["write_ms"])
    turn_ms = (statistics.fmean(held) * 1e-6 if held else 0) + write_ms
    waits = waits_of([(row[2], row[3]) for row in mine], end)
    last = end + settings["drain_ms"] * 1e6
    longest_ms = lambda rows: max((min(r[3], last) - r[2] for r in rows if r[3] >= 0), default=0) * 1e-6
    over = [] if settings.get("reads") else hand_overs_ms(samples)
    wins = collections.Counter(row[0] for row in won)
    seconds = end * 1e-9
    figures = {
        "acq_per_s": len(won) / seconds,
        "share_of_ideal": len(in_time) / seconds * turn_ms * 1e-3 * settings["hottest_share"],
        "writes_per_acq": counted(run["writes"]) / acquired, "reads_per_acq": counted(run["reads"]) / acquired,
        "commands_per_acq": (counted(run["writes"]) + counted(run["reads"])) / acquired,
        "attempts_per_acq": counted(run["attempts"]) / acquired,
        "most_attempts_per_s": counted(run["most_attempts_per_s"]),
        "wait_max_ms": longest_ms(mine),
        "hand_over_p50_ms": statistics.median(over) if over else math.nan,
        "hand_over_p99_ms": sorted(over)[math.ceil(0.99 * len(over)) - 1] if over else math.nan,
        "jain": jain([wins[client] for client in range(callers)]),
        "censored": sum(row[3] >= end for row in mine), "unserved": sum(row[3] == NEVER for row in samples),
        "overlaps": overlaps(samples), "write_ms": write_ms,
    }
    figures["longest_times_ideal"] = figures["wait_max_ms"] / (acquired * turn_ms * settings["hottest_share"])
    bounds = set()
    quantiles = [("wait", waits, q) for q in (10, 50, 90, 99)]
    for kind in KINDS if settings.get("reads") else ():
        of_kind = [row for row in samples if row[5] == (kind == "reader")]
        if of_kind:
            figures[f"{kind}_per_s"] = sum(0 <= row[3] < end for row in of_kind) / seconds
            quantiles += [(kind, waits_of([row[2:4] for row in of_kind], end), q) for q in (50, 99)]
    for what, waited, q in quantiles:
        figures[f"{what}_p{q}_ms"], bound = waited.quantile(q / 100)
        bounds |= {f"{what}_p{q}_ms"} if bound else set()
    figures["wait_spread_ms"] = figures["wait_p90_ms"] - figures["wait_p10_ms"]
    if "wait_p90_ms" in bounds:
        bounds.add("wait_spread_ms")
    if any(row[3] == NEVER for row in mine):
        bounds.add("wait_max_ms")
    if run["server_cpu_s"]:
        figures["server_cpu_ms_per_acq"] = float(run["server_cpu_s"]) * 1e3 / acquired
    measured = ("takeover_ms", "failures", "losses", "machine_idle")
    figures.update({key: float(run[key]) for key in measured if run.get(key)})
    if settings["beside"]:
        figures["beside_acquisitions"] = len(in_time) - len(won)
        figures["beside_longest_ms"] = longest_ms(beside)
    return figures, bounds


@functools.lru_cache(maxsize=None)
def mean_and_interval(*values):
    """(mean, low, high): the bootstrap's 95 % interval; none of one value alone."""
    if not values:
        return math.nan, math.nan, math.nan
    mean = statistics.fmean(values)
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return mean, math.nan, math.nan
    if min(values) == max(values):
        return values[0], values[0], values[0]
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    low, high = (means[round(q * (RESAMPLES - 1))] for q in (0.025, 0.975))
    return mean, low, high


def in_brackets(low, high, digits):
    return "" if math.isnan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]"


class Figures:
    """Figures by name of a lock or strategy, one of each repetition: {name: {repetition: {key: value}}}; and which of
    them are only lower bounds: {name: {key}}."""

    def __init__(self, figures, bounds):
        self.figures, self.bounds = figures, bounds

    def strategies(self):
        return list(self.figures)

    def values(self, strategy, key):
        return [f[key] for _, f in sorted(self.figures[strategy].items()) if key in f]

    def known(self, key):
        """Those of which it is known: nobody sees what a worker sends."""
        return [s for s in self.strategies() if not math.isnan(self.mean(s, key)[0])]

    def mean(self, strategy, key):
        return mean_and_interval(*self.values(strategy, key))

    def paired(self, one, other, key):
        """The differences, repetition by repetition."""
        ours, theirs = self.figures[one], self.figures[other]
        return [ours[r][key] - theirs[r][key] for r in sorted(ours) if key in ours[r] and key in theirs.get(r, {})]

    def difference(self, one, other, key):
        """(mean, low, high) of one less the other."""
        return mean_and_interval(*self.paired(one, other, key))

    def beats(self, one, other, key, less_is_better):
        if len(self.paired(one, other, key)) < LEAST_REPETITIONS:
            return False
        _, low, high = self.difference(one, other, key)
        return bool(high < 0 if less_is_better else low > 0)

    def cell(self, strategy, key, digits):
        """The mean of repetitions with its interval; "≥" if it is only a lower bound."""
        mean, low, high = self.mean(strategy, key)
        if math.isnan(mean):
            return "-"
        bound = "≥ " if key in self.bounds[strategy] else ""
        return f"{bound}{mean:.{digits}f}{in_brackets(low, high, digits)}"


class Results(Figures):
    """Those of one folder."""

    def __init__(self, folder, names={}):
        """`names` are of strategies, where another one is shown."""
        super().__init__({}, {})
        self.settings, self.runs, self.samples = read(folder)
        for run in self.runs:
            run["strategy"] = names.get(run["strategy"], run["strategy"])
            figures, bounds = measure(self.settings, run, self.samples[int(run["run"])])
            self.figures.setdefault(run["strategy"], {})[int(run["repetition"])] = figures
            self.bounds.setdefault(run["strategy"], set()).update(bounds)
        if not self.figures:
            raise BadResults(f"the folder is '{folder}': it has no run")

    def columns(self):
        columns = (ONCE_COLUMNS if self.settings["arrivals"] == "once" else
                   READ_COLUMNS if self.settings.get("reads") else COLUMNS)
        columns = columns + (BESIDE_COLUMNS if self.settings["beside"] else [])
        return [c for c in columns if any(self.values(s, c[0]) for s in self.strategies())]

    def table(self):
        """Lines of Markdown."""
        columns = self.columns()
        once = self.settings["arrivals"] == "once"
        order = sorted(self.strategies(), key=lambda s: self.mean(s, "wait_max_ms" if once else "wait_p99_ms")[0])
        lines = ["| strategy | " + " | ".join(head for _, head, _ in columns) + " |",
                 "|---" * (len(columns) + 1) + "|"]
        for s in order:
            lines.append(f"| {s} | " + " | ".join(self.cell(s, key, digits) for key, _, digits in columns) + " |")
        return lines

    def differences(self):
        """Sentences: what the best in each respect is better than, and what not."""
        lines = []
        compared = READ_COMPARED if self.settings.get("reads") else COMPARED
        for key, what, less, digits in compared if self.settings["arrivals"] != "once" else []:
            ranked = sorted(self.known(key), key=lambda s: self.mean(s, key)[0] * (1 if less else -1))
            for best, other in ((ranked[0], other) for other in ranked[1:]):
                mean, low, high = self.difference(best, other, key)
                said = ("too few repetitions to say" if len(self.paired(best, other, key)) < LEAST_REPETITIONS else
                        "differ" if self.beats(best, other, key, less) else "no difference shown")
                lines.append(f"{what}: {best} less {other}: {mean:.{digits}f}{in_brackets(low, high, digits)}: {said}")
        return lines

    def warnings(self):
        """What must be known before a figure is used."""
        lines = []
        for s in self.strategies():
            twice, never = sum(self.values(s, "overlaps")), sum(self.values(s, "unserved"))
            if twice:
                lines.append(f"WARNING: {s} granted a lock {twice} times before its holder had called release.")
            if never:
                lines.append(f"{s}: {never} requests were not served even within "
                             f"{self.settings['drain_ms'] / 1000:.0f} s after the measured time.")
        return lines


def machine():
    """What a page says of where it was measured."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "?")
    return f"{os.cpu_count()} cores of {model}, load {os.getloadavg()[0]:.1f} at the start"


def pyplot_without_a_screen():
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot
    return pyplot


def save(figure, plots, file):
    for axes in plots:
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, dpi=100)


def plot_situations(named, file):
    """The wait p99 and the load in each of `named`, (title, Results) pairs: a line each, a mark for each strategy. Where
    some read, the waits of both kinds and the rate."""
    pyplot = pyplot_without_a_screen()
    names = list(dict.fromkeys(s for _, results in named for s in results.strategies()))
    shown = (("wait_p99_ms", "wait p99 in ms: one wait in a hundred is longer"),
             ("commands_per_acq", "load: commands per acquisition"))
    if any(results.settings.get("reads") for _, results in named):
        shown = (("acq_per_s", "acquisitions a second"), ("reader_p99_ms", "readers' wait p99 in ms"),
                 ("writer_p99_ms", "writers' wait p99 in ms"))
    figure, panels = pyplot.subplots(1, len(shown), figsize=(14, 1.6 + 0.36 * len(named)), sharey=True)
    for axes, (key, label) in zip(panels, shown):
        for i, s in enumerate(names):
            there = [(y, results.mean(s, key)) for y, (_, results) in enumerate(named) if s in results.known(key)]
            bars = [[max(m - (m if math.isnan(low) else low), 0) for _, (m, low, _) in there],
                    [max((m if math.isnan(high) else high) - m, 0) for _, (m, _, high) in there]]
            axes.errorbar([m for _, (m, _, _) in there], [y for y, _ in there], xerr=bars, fmt="osD^vP*X"[i % 8],
                          color=f"C{i}", markersize=8, label=s, linestyle="none")
        axes.set(xscale="log", xlabel=label)
    panels[0].set_yticks(range(len(named)), [title for title, _ in named])
    panels[0].invert_yaxis()
    panels[0].legend(loc="upper center", bbox_to_anchor=(0.4, 1.16), ncol=len(names), frameon=False)
    save(figure, list(panels), file)


def plot(results, title, file):
    """How large a share of the waits is longer than a time, all repetitions together; and commands against the wait p99,
    with both intervals."""
    pyplot = pyplot_without_a_screen()
    end = results.settings["measured_ms"] * 1e6
    callers = results.settings["clients"] * results.settings["callers"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 3.6))
    for i, s in enumerate(sorted(results.strategies())):
        of_it = (results.samples[int(r["run"])] for r in results.runs if r["strategy"] == s)
        waits = waits_of([row[2:4] for rows in of_it for row in rows if row[0] < callers], end)
        left.step(waits.ages, [max(share, 1e-5) for share in waits.longer], where="post", color=f"C{i}", label=s)
        if s in results.known("commands_per_acq"):
            errors, means = [], [results.mean(s, key) for key in ("commands_per_acq", "wait_p99_ms")]
            for mean, low, high in means:
                errors.append(None if math.isnan(low) else [[max(mean - low, 0)], [max(high - mean, 0)]])
            right.errorbar([means[0][0]], [means[1][0]], xerr=errors[0], yerr=errors[1], fmt="osD^vP*X"[i % 8],
                           color=f"C{i}", label=s, capsize=3)
    left.set(xscale="log", yscale="log", ylim=(1e-3, 1.1), xlabel="wait (ms)", ylabel="share of waits that are longer")
    right.set(yscale="log", xlabel="commands per acquisition", ylabel="wait p99 (ms)")
    left.set_title(title, loc="left", fontsize=10)
    right.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    save(figure, (left, right), file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", help="what leasehold-bench contend --out was")
    parser.add_argument("--plot", metavar="FILE.png", help="waits and load as a picture")
    parser.add_argument("--json", metavar="FILE", help="all figures of every run")
    asked = parser.parse_args()
    try:
        results = Results(asked.folder)
        print("\n".join([*results.table(), "", *results.differences(), *results.warnings(), "", DEFINITIONS]))
        if asked.plot:
            plot(results, asked.folder, asked.plot)
        if asked.json:
            with open(asked.json, "w") as out:
                json.dump({"settings": results.settings, "figures": results.figures}, out, indent=1)
        return
    except BadResults as error:
        why = error
    except ModuleNotFoundError as error:
        why = f"--plot: {error.name} is not installed: python3-matplotlib has it"
    except (OSError, ValueError) as error:
        why = f"--plot or --json cannot be written: {error}"
    print(f"stats: {why}", file=sys.stderr)
    sys.exit(64)


if __name__ == "__main__":
    main()
