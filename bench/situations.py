"""The situations in which strategies are compared for RESULTS.md, and what their figures advise."""
import os
import subprocess
import time

import stats

PROGRAM = "build/bin/leasehold-bench"
COMPARED = ["queue", "adaptive", "uniform"]
SHARED = ["queue", "exclusive"]  # where some read
OTHER = "distributed-lock-mongo"  # a lock of scenarios/others
VIRTUAL_S, START_S = 4, 5  # about: a run in virtual time; the start and the end of another


class Situation:
    def __init__(self, name, title, *options, others=False, **settings):
        """`others`: locks of others are measured, too, if that is asked for."""
        self.name, self.title, self.options, self.others = name, title, options, others
        self.is_virtual = "virtual" in options
        self.compared = SHARED if "reads" in settings else COMPARED
        self.settings = {"clients": 16, "seconds": 6, "warm_up": 2, **settings}

    def repetitions(self, asked):
        return asked or (10 if self.is_virtual else 5)

    def estimate_s(self, other, asked):
        """About how long it takes."""
        runs = (len(self.compared) + bool(other and self.others)) * self.repetitions(asked)
        return runs * (VIRTUAL_S if self.is_virtual else START_S + self.settings["warm_up"] + self.settings["seconds"])

    def command(self, root, out, other, asked):
        given = [word for key, value in self.settings.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        return [f"{root}/{PROGRAM}", "contend", "--strategy", ",".join(self.compared), *given, *self.options,
                *(["--worker", other] if other and self.others else []),
                "--repetitions", str(self.repetitions(asked)), "--out", out]


READERS = [
    *(Situation(f"readers_{n}", f"{n} process{'es' * (n > 1)}, all read", "--processes", clients=n, reads=100)
      for n in (1, 8, 32, 128)),
    Situation("threads_64", "64 threads of one process, all read, no pauses", "--callers", "64", "--arrivals", "closed:0ms",
              clients=1, reads=100),
    *(Situation(f"writes_{w}", f"16 clients, {w} % of the calls write", reads=100 - w) for w in (1, 10, 50)),
    Situation("hold_100", "16 clients, 10 % of the calls write, holdings of 100 ms", "--hold", "constant:100ms", seconds=10,
              reads=90),
    Situation("writer", "16 clients that read and one that writes, no pauses", "--beside", "queue", "--arrivals", "closed:0ms",
              reads=100),
]
SITUATIONS = [
    Situation("clients_16", "16 clients, holdings of 5 ms", others=True),
    Situation("clients_64", "64 clients, threads of one process", others=True, clients=64, seconds=9),
    Situation("processes_64", "64 clients, each an OS process", "--processes", others=True, clients=64, seconds=9),
    Situation("clients_2", "2 clients", others=True, clients=2),
    Situation("hold_20", "16 clients, holdings of 20 ms", "--hold", "constant:20ms"),
    Situation("hold_100", "16 clients, holdings of 100 ms", "--hold", "constant:100ms", seconds=10),
    Situation("open_30", "16 clients, open loop: 30 % of the ideal rate", "--arrivals", "open:30"),
    Situation("open_80", "16 clients, open loop: 80 % of the ideal rate", "--arrivals", "open:80"),
    Situation("beside", "16 clients, and one more that waits with `uniform`", "--beside", "uniform", seconds=12),
    Situation("thousand", "In virtual time: a thousand ask at once, each is served once",
              "--world", "virtual", "--arrivals", "once", clients=1000, seconds=300),
    Situation("virtual_beside", "In virtual time: 16 clients, and one with the .NET package, which polls",
              "--world", "virtual", "--beside", "distributed-lock", seconds=120),
    Situation("virtual_256", "In virtual time: 256 clients", "--world", "virtual", clients=256, seconds=20, warm_up=20),
    Situation("virtual_pareto", "In virtual time: 64 clients, holdings Pareto (5 ms on average)",
              "--world", "virtual", "--hold", "pareto:5ms", clients=64, seconds=20, warm_up=20),
]


def run_all(root, folder, situations, other, repetitions):
    """Says how long it takes, and measures; all figures are then under `folder`. `other` is the command of OTHER's
    worker, or None."""
    whole = sum(s.estimate_s(other, repetitions) for s in situations)
    print(f"{len(situations)} situations, about {whole / 60:.0f} minutes; the machine should have nothing else to do",
          flush=True)
    began = time.time()
    for number, situation in enumerate(situations, 1):
        print(f"[{number}/{len(situations)}, {time.time() - began:.0f} s] {situation.title} ...", flush=True)
        out = f"{folder}/{situation.name}"
        os.makedirs(out, exist_ok=True)
        subprocess.run(situation.command(root, out, other, repetitions), check=True, stdout=subprocess.DEVNULL)


def measured(folder, situations=SITUATIONS):
    """(situation, its results) of all that have any. `contend` calls the lock of a worker "worker"."""
    there = [s for s in situations if os.path.exists(f"{folder}/{s.name}/samples.csv")]
    return [(s, stats.Results(f"{folder}/{s.name}", {"worker": OTHER})) for s in there]


def unbeaten(strategy, live, key, less):
    """The situations in which no other is better, as far as intervals can tell."""
    return [s for s, r in live if strategy in r.strategies()
            and not any(r.beats(o, strategy, key, less) for o in r.strategies() if o != strategy)]


def better_than(one, other, live):
    """Where, and in what, one is better than the other: parts of a sentence."""
    parts = []
    for key, what, less, digits in stats.COMPARED:
        where = [f"{s.title} ({r.mean(one, key)[0]:.{digits}f} against {r.mean(other, key)[0]:.{digits}f})"
                 for s, r in live if {one, other} <= set(r.strategies()) and r.beats(one, other, key, less)]
        if where:
            parts.append(f"{'fewer' if 'commands' in what else 'a shorter' if less else 'a larger'} {what}: "
                         + "; ".join(where))
    return parts


def advice(all_measured):
    """Sentences for a user, made of differences alone: whose longest waits nobody beats, and what the others
    are better at."""
    live = [(s, r) for s, r in all_measured if not s.is_virtual]
    if not live or min(len(f) for _, r in live for f in r.figures.values()) < stats.LEAST_REPETITIONS:
        return ["No advice: fewer than five repetitions were measured."]
    strategies = list(dict.fromkeys(x for _, r in live for x in r.strategies()))
    counts = {x: [len(unbeaten(x, live, key, less)) for key, _, less, _ in stats.COMPARED] for x in strategies}
    best = max(strategies, key=lambda x: counts[x])
    waits, commands, share = counts[best]
    n = sum(best in r.strategies() for _, r in live)
    lines = [*of_default(live),
             f"`{best}` is unbeaten in wait p99 in {waits} of {n} situations, in commands per acquisition in {commands}, "
             f"and in the share of ideal in {share}."]
    for other in strategies:
        if other != best:
            parts = better_than(other, best, live)
            lines.append(f"- `{other}` is better in this: {'. '.join(p[0].upper() + p[1:] for p in parts)}." if parts
                         else f"- `{other}` was better in none of these three.")
    return lines


DEFAULT = "queue"  # of LockOptions::waiting
PUBLISHED = """\
> Under contention, adaptive backoff reduces the load on MongoDB compared to fixed random intervals

This is a sentence of the documentation of [DistributedLock.MongoDB](../REFERENCES.md). Its package waits as `uniform`
does: for a random time of 10 to 800 ms between attempts. `adaptive` learns how long waits for the lock usually last, and
makes most attempts about that time. `queue` keeps its waiters in order in the lock's document; a release passes the lock
to the first, which is notified by a change stream."""
ANSWERED = [  # key, what it is, digits, a sentence: the least and the greatest ratio; more, situations, less
    ("commands_per_acq", "commands per acquisition", 2,
     "`adaptive` sent {} to {} times the commands for each acquisition: more in {} of {} situations, fewer in {}."),
    ("wait_p50_ms", "wait p50 ms", 0, ""),  # of some ms: its ratio says little
    ("wait_p99_ms", "wait p99 ms", 0, "Its wait p99 was {} to {} times as long: longer in {} of {}, shorter in {}."),
    ("server_cpu_ms_per_acq", "server CPU ms per acquisition", 1,
     "The servers used {} to {} times the CPU for each acquisition: more in {} of {}, less in {}.")]


def answer(live):
    """Whether what was published is so: sentences, and `adaptive` less `uniform` in each situation."""
    both = [(s, r) for s, r in live if {"adaptive", "uniform"} <= set(r.strategies())]
    if not both:
        return []
    said, rows = [], {s.title: [] for s, _ in both}
    for key, _, digits, sentence in ANSWERED:
        apart = {s.title: r.difference("adaptive", "uniform", key) for s, r in both}
        for title, (mean, low, high) in apart.items():
            rows[title].append(f"{mean:+.{digits}f}{stats.in_brackets(low, high, digits)}")
        times = [r.mean("adaptive", key)[0] / r.mean("uniform", key)[0] for _, r in both]
        said.append(sentence.format(f"{min(times):.2f}", f"{max(times):.2f}", sum(low > 0 for _, low, _ in apart.values()),
                                    len(both), sum(high < 0 for _, _, high in apart.values())))
    more = sum(r.difference("adaptive", "uniform", "commands_per_acq")[1] > 0 for _, r in both)
    verdict = "It does not" if more == len(both) else f"It does not in {more} of {len(both)} situations"
    return [PUBLISHED, "", f"**{verdict}, measured here.** {' '.join(filter(None, said))}", "",
            "`adaptive` less `uniform`, paired repetition by repetition:", "",
            "| situation | " + " | ".join(what for _, what, _, _ in ANSWERED) + " |", "|---" * 5 + "|",
            *(f"| {title} | " + " | ".join(cells) + " |" for title, cells in rows.items()), ""]


def span(numbers):
    low, high = f"{min(numbers):.1f}", f"{max(numbers):.1f}"
    return low if low == high else f"{low} to {high}"


def of_default(live):
    """What a user asks first: how the default does beside the waiting that was published."""
    both = [r for _, r in live if {DEFAULT, "uniform"} <= set(r.strategies())]
    if not both:
        return []
    shorter = [r.mean("uniform", "wait_p99_ms")[0] / r.mean(DEFAULT, "wait_p99_ms")[0] for r in both]
    commands = {s: [r.mean(s, "commands_per_acq")[0] for r in both] for s in (DEFAULT, "uniform")}
    return [f"`{DEFAULT}` is the default. Its wait p99 is {span(shorter)} times shorter than that of `uniform`, and an "
            f"acquisition takes {span(commands[DEFAULT])} commands instead of {span(commands['uniform'])}. What it needs: "
            "[how calls wait](../impl/guide/waiting.md)."]


RATIOS = [("acq_per_s", "acquisitions a second", 1), *((f"{kind}_{key}_ms", f"{kind}s' wait {key}", 2) for kind in stats.KINDS
                                                       for key in ("p50", "p99")),
          ("commands_per_acq", "commands per acquisition", 2), ("server_cpu_ms_per_acq", "server CPU per acquisition", 2)]


def sharing(everything):
    """Sharing a lock in proportion to taking it alone, in each situation."""
    ratio = lambda r, key: r.mean("queue", key)[0] / r.mean("exclusive", key)[0]
    cells = lambda r: (f"{ratio(r, key):.{digits}f}".replace("nan", "-") for key, _, digits in RATIOS)
    return ["`exclusive` makes the calls of `queue`, but those that read take the lock alone, too. `queue` in proportion to it:",
            "", "| situation | " + " | ".join(what for _, what, _ in RATIOS) + " |", "|---" * (len(RATIOS) + 1) + "|",
            *(f"| {s.title} | " + " | ".join(cells(r)) + " |" for s, r in everything), ""]


def contention_head(everything):
    head, *rest = advice(everything)
    return [*answer([(s, r) for s, r in everything if not s.is_virtual]), head, "", *rest, ""]


# What RESULTS.md has a part of: its situations, how it begins, and what its picture shows.
PARTS = {"contention": (SITUATIONS, contention_head, "wait p99 and load of each strategy"),
         "readers": (READERS, sharing, "rate and waits of readers and writers")}


def section(folder, about, part="contention"):
    """A part of RESULTS.md: Markdown."""
    situations, begin, shown = PARTS[part]
    everything = measured(folder, situations)
    lines = [*begin(everything), f"Measured by `scripts/bench {part}` on {about}: real replica set of three "
             "members beside its clients, repetitions interleaved over the strategies. Only figures of one run are "
             "comparable. Where nothing else is said one lock is held for 5 ms, and a client pauses up to 100 ms after "
             "a release.", "", f"![{shown} in each situation]({part}.png)", ""]
    if part == "contention":
        lines += ["## The figures", "", stats.DEFINITIONS, ""]
    for situation, results in everything:
        settings = results.settings
        if situation.is_virtual:
            how = f"{settings['repetitions']} seeds"
        else:
            how = f"{settings['repetitions']} repetitions of {settings['measured_ms'] / 1000:.0f} s"
        lines += [f"### {situation.title}", "", f"{how}:", "", *results.table(), ""]
        differences = [d for d in results.differences() if "wait p99" in d or "commands" in d]
        lines += [f"- {d}" for d in differences] + [f"- {w}" for w in results.warnings()]
        lines += [""] if lines[-1] else []
    return "\n".join(lines)
