#!/usr/bin/python3
"""What services.py makes of locks whose answers are known: in virtual time, and of processes."""
import argparse
import heapq
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import services
import stats

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scripts"))
import services_page  # noqa: E402

MS, SECOND = services.MS, services.SECOND
# A worker on a lock of the file system, which the system gives back when its holder dies. Its answers are late by argv[1].
WORKER = """
import fcntl, json, sys, time
for line in sys.stdin:
    asked, said = json.loads(line), "released"
    if asked["do"] == "start":
        folder, said = asked["uri"] + "/", "ready"
    elif asked["do"] == "acquire":
        held, said = open(folder + asked["name"], "w"), "granted"
        fcntl.flock(held, fcntl.LOCK_EX)
        time.sleep(float(sys.argv[1]) / 1000)
    else:
        held.close()
    print(json.dumps({"id": asked.get("id", 0), "is": said}), flush=True)
"""


class MadeUpLock:
    """First come, first served. A grant comes so long after a request for the free lock, or after a release, which is
    answered after `answer_ns`."""

    def __init__(self, grant_ns, answer_ns):
        self.grant_ns, self.answer_ns = grant_ns, answer_ns
        self.waiting, self.holder, self.answers, self.count = [], None, [], 0

    def ask(self, now, client, question):
        if question["do"] == "acquire":
            self.waiting.append((client, question["id"]))
        else:
            self.later(now + self.answer_ns, client, {"id": question["id"], "is": "released"})
            self.holder = None
        if self.waiting and self.holder is None:
            client, id = self.holder = self.waiting.pop(0)
            self.later(now + self.grant_ns, client, {"id": id, "is": "granted"})

    def later(self, at, client, answer):
        self.count += 1
        heapq.heappush(self.answers, (at, self.count, client, answer))


def play(load, lock, from_ns):
    """In virtual time."""
    now = from_ns
    while not load.over():
        next_ns = [load.next_ns()] if load.next_ns() is not None else []
        now = max(now, min(next_ns + [answer[0] for answer in lock.answers[:1]]))
        while lock.answers and lock.answers[0][0] <= now:
            _, _, client, answer = heapq.heappop(lock.answers)
            load.heard(now, client, answer)
        for client, question in load.due(now):
            lock.ask(now, client, question)


class Figures(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def results(self, lock, clients=16, seconds=10, alone_ms=3.0, repetition=1, name="made-up"):
        load = services.Load(clients, -2 * SECOND, seconds * SECOND, random.Random(repetition))
        play(load, lock, -2 * SECOND)
        asked = argparse.Namespace(name=name, clients=clients, repetition=repetition, lease_ms=3_000, reads=0)
        run = {"strategy": name, "repetition": repetition, "seed": 1, "arrivals_per_s": 0, "server_cpu_s": 2.0,
               "write_ms": alone_ms, "takeover_ms": 1_234.0, "failures": load.failures, "losses": load.losses}
        services.keep(self.folder, asked, load, run)
        return stats.Results(self.folder)

    def test_a_lock_that_is_never_idle(self):
        figures = self.results(MadeUpLock(2 * MS, MS)).figures["made-up"][1]
        turns = 1_000 / 7  # 5 ms held, 2 ms until the next has it
        self.assertAlmostEqual(figures["acq_per_s"], turns, delta=0.2)
        self.assertAlmostEqual(figures["share_of_ideal"], turns * (5 + 3) / 1_000, delta=0.01)
        self.assertAlmostEqual(figures["hand_over_p50_ms"], 2, places=6)
        self.assertAlmostEqual(figures["hand_over_p99_ms"], 2, places=6)
        self.assertGreater(figures["jain"], 0.99)
        self.assertEqual(figures["overlaps"], 0)
        self.assertAlmostEqual(figures["server_cpu_ms_per_acq"], 2_000 / (turns * 10), delta=0.02)
        self.assertEqual(figures["takeover_ms"], 1_234)
        # All 16 are served in turn: what is neither held nor paused of 16 turns is waited, 62 ms in the middle.
        self.assertTrue(12 - 2 < figures["wait_p50_ms"] < 112 - 5)

    def test_repetitions_are_added_to_the_same_folder(self):
        self.results(MadeUpLock(2 * MS, MS), repetition=1)
        results = self.results(MadeUpLock(3 * MS, MS), repetition=2)
        self.assertAlmostEqual(results.figures["made-up"][1]["hand_over_p50_ms"], 2, places=6)
        self.assertAlmostEqual(results.figures["made-up"][2]["hand_over_p50_ms"], 3, places=6)

    def test_a_call_that_fails_is_made_again_and_still_waits(self):
        load = services.Load(1, 0, SECOND, random.Random(1))
        [(client, question)] = load.due(load.next_ns())
        asked = load.samples[0][1]
        load.heard(asked + 5 * MS, client, {"id": question["id"], "is": "failed", "why": "no leader"})
        [(client, again)] = load.due(load.next_ns())
        self.assertNotEqual(again["id"], question["id"])
        load.heard(asked + 200 * MS, client, {"id": again["id"], "is": "granted"})
        self.assertEqual(load.samples, [[0, asked, asked + 200 * MS, None, False]])
        self.assertEqual(load.failures, 1)

    def test_some_calls_read_also_when_they_are_made_again(self):
        load, shared = services.Load(1, 0, 40 * SECOND, random.Random(1), reads=50), []
        while not load.over():
            now = load.next_ns()
            for _, question in load.due(now):
                said = "released"
                if question["do"] == "acquire":
                    shared.append("shared" in question)
                    said = "failed" if len(shared) % 2 else "granted"
                load.heard(now, 0, {"id": question["id"], "is": said})
        self.assertEqual(shared[::2], [sample[4] for sample in load.samples])
        self.assertEqual(shared[1::2], shared[:len(shared) // 2 * 2:2])
        self.assertAlmostEqual(sum(shared) / len(shared), 0.5, delta=0.1)

    def test_an_answer_without_its_question_is_an_error(self):
        load = services.Load(1, 0, SECOND, random.Random(1))
        [(client, question)] = load.due(load.next_ns())
        for answer in ({"id": 999, "is": "granted"}, {"id": question["id"], "is": "released"}):
            with self.assertRaisesRegex(services.Misbehaves, "client 0 answers"):
                load.heard(SECOND // 2, client, answer)


class Page(unittest.TestCase):
    """Two locks and ours, in five repetitions: one is quicker by 1 ms and one slower, but it serves more evenly."""
    PROMISES = {name: {"name": f"{name} 1.0", "language": "C", "says": "it locks"} for name in ("leasehold", "quick", "slow")}

    def rows(self, repetitions=5):
        def row(store, wait_ms, jain):
            return {"store": store, "about": "a machine", "seconds": 6, "lease_ms": 3_000, "bounds": [], "figures": {
                str(r): {"wait_p99_ms": wait_ms + r, "jain": jain, "share_of_ideal": 1 / wait_ms, "acq_per_s": wait_ms, "failures": 1,
                         "takeover_ms": 3_000 + 10 * r} for r in range(1, repetitions + 1)}}
        return {"leasehold": row("mongodb", 20, 0.9), "quick": row("a", 19, 0.9), "slow": row("b", 30, 1.0)}

    def test_the_page_says_where_ours_loses_and_what_was_seen(self):
        found = {"G2": {"said": "two held it", "command": "verify --plan x | y", "of": 3, "times": 2}}
        run = {"acquisitions": 9, "left_out": ["G3 not promised"], "found": found,
               "guarantees": {"G2": {"verdict": "violated", "checked": 9}, "G7": {"verdict": "holds", "checked": 4}}}
        results = {"verdicts": {"quick on a": {"seconds": 60, "seed": 1, "runs": {"many": run}}}, "waits": {"16": self.rows()}}
        folder = self.enterContext(tempfile.TemporaryDirectory())
        services_page.write_page(f"{folder}/page.md", self.PROMISES, results)
        page = pathlib.Path(folder, "page.md").read_text(encoding="utf-8")
        self.assertIn("| quick | a | quick 1.0 | C | **violated** 2/3 | not promised |", page)
        self.assertIn("| quick | a | G2 | two held it | `verify --plan x \\| y` | it locks |", page)
        for row in ("wait p99 ms | quick | none | slow", "Jain | slow | quick | none", "takeover ms | none | quick, slow | none"):
            self.assertIn(f"| leasehold | {row} |", page)
        self.assertEqual(services_page.comparison(self.rows(4)), "", "fewer than five repetitions show no difference")
        self.assertIn("| quick | a | 19.0 [19.0, 19.0] | 0.05 [0.05, 0.05] |", page)
        self.assertIn("| 3030 (3010 to 3050) | 5 |", page)


class Live(unittest.TestCase):
    def run_it(self, late_ms, *more):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        pathlib.Path(folder, "worker.py").write_text(WORKER, encoding="utf-8")
        words = [f"{folder}/out", "--name", "files", "--worker", f"{sys.executable} {folder}/worker.py {late_ms}",
                 "--uri", folder, "--clients", "4", "--seconds", "1", "--servers", str(os.getpid()), *more]
        ran = subprocess.run([sys.executable, "-S", services.__file__, *words], capture_output=True, text=True, check=False)
        return ran, stats.Results(f"{folder}/out").figures["files"][1] if ran.returncode == 0 else None

    def test_processes_are_measured(self):
        ran, figures = self.run_it(20)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(figures["overlaps"], 0)
        # From above a busy machine sets the bounds.
        self.assertTrue(20 <= figures["hand_over_p50_ms"] < 200, figures)
        self.assertTrue(20 <= figures["write_ms"] < 200, figures)
        self.assertTrue(20 <= figures["takeover_ms"] < 5_000, figures)
        self.assertTrue(1 <= figures["acq_per_s"] <= 1_000 / (20 + 5), figures)
        self.assertGreater(figures["server_cpu_ms_per_acq"], 0)

    def test_a_worker_that_ends_is_one_clear_error(self):
        ran, _ = self.run_it(20, "--worker", "false")
        self.assertRegex(ran.stderr, r"^services: worker p0\.\d \('false'\) ended with 1\n$")

    def test_a_number_that_is_none_is_one_clear_error(self):
        ran, _ = self.run_it(20, "--clients", "1")
        self.assertIn("'1': it must be a whole number, 2 or more", ran.stderr)


if __name__ == "__main__":
    unittest.main()
