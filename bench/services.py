#!/usr/bin/python3
"""The load of scripts/services: workers of scenarios/WORKERS.md that compete for one lock, on any store.

  services.py FOLDER --name NAME --worker COMMAND --uri URI [OPTIONS]   one run, which is added to FOLDER
      --clients N       worker processes (16)
      --seconds S       measured, after 2 s that are not (6)
      --lease-ms N      (3000)
      --repetition N    its number, from 1 on; the seed of the pauses, too
      --servers PID,... the store's processes are these and what they started: their processor time is counted

A client asks for the lock, holds it for 5 ms, releases it, and pauses up to 100 ms. After the measured time nothing new
is asked for. Then one client alone acquires and releases a lock of its own: `write_ms` is the median of both together.
At last a holder is killed while another waits: `takeover_ms`. FOLDER gets what bench/stats.py reads."""
import argparse
import csv
import heapq
import json
import os
import random
import selectors
import signal
import statistics
import subprocess
import sys
import time

MS, SECOND = 1_000_000, 1_000_000_000
HOLD_MS, PAUSE_MS, WARM_UP_S, DRAIN_S = 5, 100, 2, 10
ALONE_NOT_COUNTED, ALONE_LEAST, ALONE_S = 20, 30, 1  # acquires and releases of one client
READY_S, ANSWER_S, TAKEOVER_S = 120, 30, 60
ENDS_S = 5  # from the end of a pipe to the end of its process
WAITS_S = (0.5, 1.5)  # how long the second one waits before the holder is killed: any part of a lease
MOST_FAILURES = 1_000
RUNS = ("run", "strategy", "repetition", "seed", "writes", "reads", "attempts", "most_attempts_per_s", "write_ms",
        "server_cpu_s", "machine_idle", "arrivals_per_s", "takeover_ms", "failures", "losses")
SAMPLES = ("run", "strategy", "repetition", "client", "lock", "asked_ns", "granted_ns", "released_ns", "censored")


class BadRun(Exception):
    """A worker or a store does not do what it should; the text says what."""


class Load:
    """A closed loop of clients on one lock. It does no input and output: it gets the time of each answer, and says what
    is to be asked when. Times are ns from the beginning of the measured time; before it they are negative."""

    def __init__(self, clients, begin_ns, end_ns, draw):
        self.end_ns, self.given_up_ns, self.draw = end_ns, end_ns + DRAIN_S * SECOND, draw
        self.samples = []  # [client, asked, granted, released]; None: did not happen
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
            raise BadRun(f"client {client} answers {answer}, which was not asked for")
        if said == "granted" and sample[2] is None:
            sample[2] = now
            self._later(now + HOLD_MS * MS, client, self._release)
        elif said in ("released", "not_owner", "unknown") and sample[3] is not None:
            self.failures += said != "released"
            self._next(now, client, None)
        elif said in ("refused", "timed_out", "failed") and sample[2] is None:
            self.failures += now < self.end_ns
            if self.failures > MOST_FAILURES:
                raise BadRun(f"more than {MOST_FAILURES} calls failed, the last one of client {client}: {answer}")
            self._next(now, client, sample)  # it still waits
        else:
            raise BadRun(f"client {client} answers {answer} at the wrong time")

    def _acquire(self, now, client):
        if now >= self.end_ns:
            return None
        if self._sample[client] is None:
            self._sample[client] = [client, now, None, None]
            self.samples.append(self._sample[client])
        self._ids += 1
        self._id[client] = self._ids
        return {"do": "acquire", "id": self._ids, "name": "contended", "timeout_ms": -(-(self.given_up_ns - now) // MS)}

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


class Worker:
    """A process of the worker."""

    def __init__(self, command, start):
        self.name, self.command = start["process"], command
        self.process = subprocess.Popen(["sh", "-c", f"exec {command}"], start_new_session=True, bufsize=0,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        self._rest, self._answers, self._ids = b"", [], 1 << 30
        self.say({"do": "start", **start})

    def say(self, question):
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
        except OSError as why:
            raise self._gone("reads no question any more") from why

    def read(self):
        """The answers that have come by now."""
        chunk = self.process.stdout.read()
        if chunk == b"":
            raise self._gone("closed its standard output")
        *lines, self._rest = (self._rest + (chunk or b"")).split(b"\n")
        try:
            return [json.loads(line) for line in lines]
        except ValueError as why:
            raise BadRun(f"worker {self.name} ('{self.command}') says {lines}: it must be JSON ({why})") from why

    def _gone(self, closed):
        """The error of a closed pipe: that the process ended says more, whichever of its pipes told first."""
        try:
            closed = f"ended with {self.process.wait(ENDS_S)}"
        except subprocess.TimeoutExpired:
            pass
        return BadRun(f"worker {self.name} ('{self.command}') {closed}")

    def await_answer(self, limit_s, *wanted):
        """The next answer, and when it came (ns); its `is` must be one of these."""
        until = time.monotonic() + limit_s
        with selectors.SelectSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            while not self._answers:
                if not ready.select(max(0, until - time.monotonic())):
                    raise BadRun(f"worker {self.name} ('{self.command}') does not answer {' or '.join(wanted)} in {limit_s} s")
                now = time.monotonic_ns()
                self._answers += [(answer, now) for answer in self.read() if answer["is"] != "lost"]
        answer, now = self._answers.pop(0)
        if answer["is"] not in wanted:
            raise BadRun(f"worker {self.name} ('{self.command}') answers {answer}: it must be {' or '.join(wanted)}")
        return now

    def ask_acquire(self, name, timeout_s=ANSWER_S):
        self._ids += 1
        asked = time.monotonic_ns()
        self.say({"do": "acquire", "id": self._ids, "name": name, "timeout_ms": timeout_s * 1_000})
        return asked

    def acquire(self, name):
        asked = self.ask_acquire(name)
        return self.await_answer(ANSWER_S, "granted") - asked

    def release(self):
        asked = time.monotonic_ns()
        self.say({"do": "release", "id": self._ids})
        return self.await_answer(ANSWER_S, "released") - asked

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def play(load, workers, start_ns, look):
    """The load, by the workers, in real time. Each turn calls `look` with the time."""
    with selectors.SelectSelector() as ready:
        for client, worker in enumerate(workers):
            ready.register(worker.process.stdout, selectors.EVENT_READ, client)
        while not load.over():
            now = time.monotonic_ns() - start_ns
            if now > load.given_up_ns + ANSWER_S * SECOND:
                raise BadRun(f"a worker ('{workers[0].command}') does not answer {ANSWER_S} s after its time-out")
            look(now)
            for client, question in load.due(now):
                workers[client].say(question)
            next_ns = load.next_ns()
            wait_ns = SECOND if next_ns is None else next_ns - (time.monotonic_ns() - start_ns)
            for key, _ in ready.select(min(1, max(0, wait_ns) / SECOND)):
                answers = workers[key.data].read()
                now = time.monotonic_ns() - start_ns
                for answer in answers:
                    load.heard(now, key.data, answer)


def alone_ms(worker):
    """The median of acquire and release together, of one client whose lock no other wants."""
    took, began = [], time.monotonic()
    while len(took) < ALONE_NOT_COUNTED + ALONE_LEAST or time.monotonic() - began < ALONE_S:
        took.append(worker.acquire("alone") + worker.release())
    return statistics.median(took[ALONE_NOT_COUNTED:]) / MS


def takeover_ms(holder, waiter, draw):
    """From the death of a holder to the grant of one that waits."""
    holder.acquire("takeover")
    waiter.ask_acquire("takeover", TAKEOVER_S)
    time.sleep(draw.uniform(*WAITS_S))
    killed = time.monotonic_ns()
    holder.kill()
    return (waiter.await_answer(TAKEOVER_S, "granted") - killed) / MS


def processes():
    """{pid: (its parent, its processor time in s, its name)}"""
    found, tick_s = {}, 1 / os.sysconf("SC_CLK_TCK")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, _, fields = file.read().rpartition(")")
        except OSError:
            continue  # it has just ended
        fields = fields.split()
        found[int(pid)] = int(fields[1]), (int(fields[11]) + int(fields[12])) * tick_s, name.partition("(")[2]
    return found


def cpu_s(pids):
    """Of these and what they started."""
    found, mine = processes(), set(pids)
    while more := {pid for pid, (parent, _, _) in found.items() if parent in mine and pid not in mine}:
        mine |= more
    return sum(found[pid][1] for pid in mine if pid in found)


class ProcessorTime:
    """Of some processes, between two times."""

    def __init__(self, pids, begin_ns, end_ns):
        self._pids, self._times, self._read = pids, [begin_ns, end_ns], []

    def look(self, now):
        while self._pids and len(self._read) < len(self._times) and now >= self._times[len(self._read)]:
            self._read.append(cpu_s(self._pids))

    def spent_s(self):
        return self._read[1] - self._read[0] if self._pids else ""


def measure(asked):
    """(the load when it was played, its row of runs.csv without the number)"""
    draw, workers = random.Random(asked.repetition), []
    database = f"services{time.time_ns() % 10**12}"
    try:
        for client in range(asked.clients):
            start = {"process": f"p0.{client}", "uri": asked.uri, "database": database, "lease_ms": asked.lease_ms}
            workers.append(Worker(asked.worker, start))
        for client, worker in enumerate(workers):
            worker.await_answer(READY_S, "ready")
            worker.acquire(f"client-{client}")  # connects
            worker.release()
        load = Load(asked.clients, -WARM_UP_S * SECOND, asked.seconds * SECOND, draw)
        servers = ProcessorTime(asked.servers, 0, load.end_ns)
        play(load, workers, time.monotonic_ns() + WARM_UP_S * SECOND, servers.look)
        return load, {
            "strategy": asked.name, "repetition": asked.repetition, "seed": asked.repetition, "arrivals_per_s": 0,
            "server_cpu_s": servers.spent_s(), "failures": load.failures, "losses": load.losses,
            "write_ms": alone_ms(workers[0]), "takeover_ms": takeover_ms(workers[0], workers[1], draw)}
    finally:
        for worker in workers:
            worker.kill()


def add(folder, columns, file, rows):
    new = not os.path.exists(f"{folder}/{file}")
    with open(f"{folder}/{file}", "a", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, columns, restval="")
        if new:
            writer.writeheader()
        writer.writerows(rows)


def keep(folder, asked, load, run):
    os.makedirs(folder, exist_ok=True)
    number = 1
    if os.path.exists(f"{folder}/runs.csv"):
        with open(f"{folder}/runs.csv", newline="", encoding="utf-8") as file:
            number += len(list(csv.DictReader(file)))
    with open(f"{folder}/settings.json", "w", encoding="utf-8") as out:
        json.dump({"measured_ms": load.end_ns // MS, "drain_ms": DRAIN_S * 1_000, "clients": asked.clients, "callers": 1,
                   "hottest_share": 1.0, "arrivals": f"closed:{PAUSE_MS}ms", "beside": "", "lease_ms": asked.lease_ms,
                   "repetitions": asked.repetition}, out, indent=1)
    named = {"run": number, "strategy": asked.name, "repetition": asked.repetition}
    times = [("" if time is None else time for time in sample[1:]) for sample in load.samples]
    add(folder, SAMPLES, "samples.csv", [
        {**named, "client": sample[0], "lock": 0, "censored": int(sample[2] is None or sample[2] >= load.end_ns),
         **dict(zip(SAMPLES[5:8], row))} for sample, row in zip(load.samples, times)])
    add(folder, RUNS, "runs.csv", [{**run, "run": number}])


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER")
    for given in ("--name", "--worker", "--uri"):
        parser.add_argument(given, required=True, help=argparse.SUPPRESS)
    for number, usual, low in (("--clients", 16, 2), ("--seconds", 6, 1), ("--lease-ms", 3_000, 1), ("--repetition", 1, 1)):
        parser.add_argument(number, type=lambda text, low=low: whole(text, low), default=usual, help=argparse.SUPPRESS)
    parser.add_argument("--servers", type=lambda text: [whole(pid, 1) for pid in text.split(",")], default=[],
                        help=argparse.SUPPRESS)
    return parser.parse_args()


def whole(text, low):
    if not text.isdigit() or int(text) < low:
        raise argparse.ArgumentTypeError(f"'{text}': it must be a whole number, {low} or more")
    return int(text)


def main():
    asked = parsed()
    try:
        keep(asked.folder, asked, *measure(asked))
    except BadRun as why:
        sys.exit(f"services: {why}")


if __name__ == "__main__":
    main()
