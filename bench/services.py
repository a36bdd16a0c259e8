#!/usr/bin/python3
"""The load of scripts/services: workers of scenarios/WORKERS.md that compete for one lock, on any store.

  services.py FOLDER --name NAME --worker COMMAND --uri URI [OPTIONS]   one run, which is added to FOLDER
      --clients N       worker processes (16)
      --seconds S       measured, after 2 s that are not (6)
      --lease-ms N      (3000)
      --reads PERCENT   of the calls, that share the lock; then a reader is killed while a writer waits (0)
      --repetition N    its number, from 1 on; the seed of the pauses, too
      --servers PID,... the store's processes are these and what they started: their processor time is counted

A client asks for the lock, holds it for 5 ms, releases it, and pauses up to 100 ms. After the measured time nothing new
is asked for. Then one client alone acquires and releases a lock of its own: `write_ms` is the median of both together.
At last a holder is killed while another waits: `takeover_ms`. FOLDER gets what bench/stats.py reads."""
import argparse
import csv
import heapq
import itertools
import json
import os
import random
import select
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios/stores"))
from launch import ANSWER_WITHIN_S, Misbehaves, Worker, processes  # noqa: E402

MS, SECOND = 1_000_000, 1_000_000_000
HOLD_MS, PAUSE_MS, WARM_UP_S, DRAIN_S = 5, 100, 2, 10
ALONE_NOT_COUNTED, ALONE_LEAST, ALONE_S = 20, 30, 1  # acquires and releases of one client
READY_S, TAKEOVER_S = 120, 60
IDS = itertools.count(1 << 30)  # of what is no part of the load
WAITS_S = (0.5, 1.5)  # how long the second one waits before the holder is killed: any part of a lease
MOST_FAILURES = 1_000
RUNS = ("run", "strategy", "repetition", "seed", "writes", "reads", "attempts", "most_attempts_per_s", "write_ms",
        "server_cpu_s", "machine_idle", "arrivals_per_s", "takeover_ms", "failures", "losses")
SAMPLES = ("run", "strategy", "repetition", "client", "lock", "asked_ns", "granted_ns", "released_ns", "censored",
           "reader")


def sharing(reads):
    return {"shared": True} if reads else {}


class Load:
    """A closed loop of clients on one lock. It does no input and output: it gets the time of each answer, and says what
    is to be asked when. Times are ns from the beginning of the measured time; before it they are negative."""

    def __init__(self, clients, begin_ns, end_ns, draw, reads=0):
        self.end_ns, self.given_up_ns, self.draw, self.reads = end_ns, end_ns + DRAIN_S * SECOND, draw, reads
        self.samples = []  # [client, asked, granted, released, whether it reads]; None: did not happen
        self.failures = self.losses = 0
        self._timers, self._ids = [], 0
        self._sample, self._id = [None] * clients, [None] * clients  # the request of each; its id while an answer is due
        for client in range(clients):
            self._later(begin_ns + self._pause_ns(), client, self._acquire)

    def next_ns(self):
        """When `due` has something to ask; None: not before an answer."""
        return self._timers[0][0] if self._timers else None

    def over(self):
        return not self._timers and not any(self._id)

    def due(self, now):
        """Questions whose time has come, as (client, question)."""
        asked = []
        while self._timers and self._timers[0][0] <= now:
            _, _, client, ask = heapq.heappop(self._timers)
            if question := ask(now, client):
                asked.append((client, question))
        return asked

    def heard(self, now, client, answer):
        said = answer["is"]
        if said == "lost":
            self.losses += 1
            return
        sample = self._sample[client]
        if answer.get("id") != self._id[client] or sample is None:
            raise Misbehaves(f"client {client} answers {answer}, which was not asked for")
        if said == "granted" and sample[2] is None:
            sample[2] = now
            self._later(now + HOLD_MS * MS, client, self._release)
        elif said in ("released", "not_owner", "unknown") and sample[3] is not None:
            self.failures += said != "released"
            self._next(now, client, None)
        elif said in ("refused", "timed_out", "failed") and sample[2] is None:
            self.failures += now < self.end_ns
            if self.failures > MOST_FAILURES:
                raise Misbehaves(f"more than {MOST_FAILURES} calls failed, the last one of client {client}: {answer}")
            self._next(now, client, sample)  # it still waits
        else:
            raise Misbehaves(f"client {client} answers {answer} at the wrong time")

    def _acquire(self, now, client):
        if now >= self.end_ns:
            return None
        if self._sample[client] is None:
            reads = self.reads > 0 and self.draw.random() * 100 < self.reads
            self._sample[client] = [client, now, None, None, reads]
            self.samples.append(self._sample[client])
        self._ids += 1
        self._id[client] = self._ids
        return {"do": "acquire", "id": self._ids, "name": "contended", "timeout_ms": -(-(self.given_up_ns - now) // MS),
                **sharing(self._sample[client][4])}

    def _release(self, now, client):
        self._sample[client][3] = now
        return {"do": "release", "id": self._id[client]}

    def _next(self, now, client, sample):
        self._sample[client], self._id[client] = sample, None
        self._later(now + self._pause_ns(), client, self._acquire)

    def _pause_ns(self):
        return int(self.draw.uniform(0, PAUSE_MS) * MS)

    def _later(self, at, client, ask):
        self._ids += 1
        heapq.heappush(self._timers, (at, self._ids, client, ask))


def play(load, workers, servers):
    """The load, by the workers, in real time. Returns the processor time of the servers, if there are any."""
    clients = {worker.process.stdout: client for client, worker in enumerate(workers)}
    start_ns, spent_s = time.monotonic_ns() + WARM_UP_S * SECOND, []
    while not load.over():
        now = time.monotonic_ns() - start_ns
        if now > load.given_up_ns + ANSWER_WITHIN_S * SECOND:
            raise Misbehaves(f"{workers[0].named}, or one like it, does not answer {ANSWER_WITHIN_S} s after its time-out")
        while servers and len(spent_s) < 2 and now >= (0, load.end_ns)[len(spent_s)]:
            spent_s.append(cpu_s(servers))
        for client, question in load.due(now):
            workers[client].say(**question)
        next_ns = load.next_ns()
        wait_ns = SECOND if next_ns is None else next_ns - (time.monotonic_ns() - start_ns)
        for ready in select.select(clients, [], [], min(1, max(0, wait_ns) / SECOND))[0]:
            answers = workers[clients[ready]].read()
            now = time.monotonic_ns() - start_ns
            for answer in answers:
                load.heard(now, clients[ready], answer)
    return spent_s[1] - spent_s[0] if servers else ""


def acquire_ns(worker, id, name, reads=False):
    return worker.question("acquire", id, "granted", name=name, timeout_ms=ANSWER_WITHIN_S * 1_000, **sharing(reads))[1]


def acquire_and_release_ns(worker, name):
    id = next(IDS)
    return acquire_ns(worker, id, name) + worker.question("release", id, "released")[1]


def alone_ms(worker):
    """The median of acquire and release together, of one client whose lock no other wants."""
    took, began = [], time.monotonic()
    while len(took) < ALONE_NOT_COUNTED + ALONE_LEAST or time.monotonic() - began < ALONE_S:
        took.append(acquire_and_release_ns(worker, "alone"))
    return statistics.median(took[ALONE_NOT_COUNTED:]) / MS


def takeover_ms(holder, waiter, draw, reads):
    """From the death of a holder to the grant of one that waits, to write."""
    id = next(IDS)
    acquire_ns(holder, id, "takeover", reads)
    waiter.say("acquire", id=id, name="takeover", timeout_ms=TAKEOVER_S * 1_000)
    time.sleep(draw.uniform(*WAITS_S))
    killed = time.monotonic_ns()
    holder.end()
    return (waiter.hear(id, "granted", seconds=TAKEOVER_S)[1] - killed) / MS


def cpu_s(pids):
    """Of these and what they started."""
    found, mine = processes(), set(pids)
    while more := {pid for pid, (parent, _, _) in found.items() if parent in mine and pid not in mine}:
        mine |= more
    return sum(found[pid][1] for pid in mine if pid in found)


def measure(asked):
    """(the load when it was played, its row of runs.csv without the number)"""
    draw, workers = random.Random(asked.repetition), []
    database = f"services{time.time_ns() % 10**12}"
    try:
        for client in range(asked.clients):
            workers.append(Worker(asked.worker, process=f"p0.{client}", uri=asked.uri, database=database,
                                  lease_ms=asked.lease_ms))
        for client, worker in enumerate(workers):
            worker.hear(0, "ready", seconds=READY_S)
            acquire_and_release_ns(worker, f"client-{client}")  # connects
        load = Load(asked.clients, -WARM_UP_S * SECOND, asked.seconds * SECOND, draw, asked.reads)
        return load, {
            "strategy": asked.name, "repetition": asked.repetition, "seed": asked.repetition, "arrivals_per_s": 0,
            "server_cpu_s": play(load, workers, asked.servers), "failures": load.failures, "losses": load.losses,
            "write_ms": alone_ms(workers[0]), "takeover_ms": takeover_ms(workers[0], workers[1], draw, asked.reads)}
    finally:
        for worker in workers:
            worker.end()


def add(folder, columns, file, rows):
    with open(f"{folder}/{file}", "a", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, columns, restval="")
        if out.tell() == 0:
            writer.writeheader()
        writer.writerows(rows)


def keep(folder, asked, load, run):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/runs.csv", "a+", encoding="utf-8") as runs:
        runs.seek(0)
        number = len(runs.readlines()) or 1  # the first line has the names
    with open(f"{folder}/settings.json", "w", encoding="utf-8") as out:
        json.dump({"measured_ms": load.end_ns // MS, "drain_ms": DRAIN_S * 1_000, "clients": asked.clients, "callers": 1,
                   "hottest_share": 1.0, "arrivals": f"closed:{PAUSE_MS}ms", "beside": "", "lease_ms": asked.lease_ms, "reads": asked.reads,
                   "repetitions": asked.repetition}, out, indent=1)
    add(folder, SAMPLES, "samples.csv", [  # the writer leaves a time empty that is None
        dict(zip(SAMPLES, (number, asked.name, asked.repetition, client, 0, *times,
                           int(times[1] is None or times[1] >= load.end_ns), int(reads))))
        for client, *times, reads in load.samples])
    add(folder, RUNS, "runs.csv", [{**run, "run": number}])


def whole(low):
    def number(text):
        if not text.isdigit() or int(text) < low:
            raise argparse.ArgumentTypeError(f"'{text}': it must be a whole number, {low} or more")
        return int(text)
    return number


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER")
    for given in ("--name", "--worker", "--uri"):
        parser.add_argument(given, required=True, help=argparse.SUPPRESS)
    for number, usual, low in (("--clients", 16, 2), ("--seconds", 6, 1), ("--lease-ms", 3_000, 1), ("--repetition", 1, 1),
                               ("--reads", 0, 0)):
        parser.add_argument(number, type=whole(low), default=usual, help=argparse.SUPPRESS)
    parser.add_argument("--servers", type=lambda text: [*map(whole(1), text.split(","))], default=[],
                        help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    asked = parsed()
    try:
        keep(asked.folder, asked, *measure(asked))
    except Misbehaves as why:
        sys.exit(f"services: {why}")


if __name__ == "__main__":
    main()
