#!/usr/bin/python3
"""leasehold-bench contend, for a second or two at a time: that every request is there, not how long anything took."""
import collections
import csv
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios/stores"))
from launch import ROOT, MongoSet  # noqa: E402

PROGRAM = os.environ.get("LEASEHOLD_BENCH", f"{ROOT}/build/bin/leasehold-bench")
WORKER = f"/usr/bin/python3 {ROOT}/scenarios/workers/templates/python/worker.py"
MS, SECOND = 1_000_000, 1_000_000_000
NOBODY = "mongodb://127.0.0.1:1/?replicaSet=rs"


def contend(*words):
    return subprocess.run([PROGRAM, "contend", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def ran(self, line, *more):
        return contend("--warm-up", "0", "--seconds", "1", "--out", self.folder, *line.split(), *more)

    def measured(self, line, *more):
        """The rows of its samples and of its runs."""
        ran, tables = self.ran(line, *more), []
        self.assertEqual(ran.returncode, 0, ran.stdout)
        for name in ("samples", "runs"):
            with open(f"{self.folder}/{name}.csv", newline="", encoding="utf-8") as file:
                tables.append([{key: int(value) if value.lstrip("-").isdigit() else value for key, value in row.items()}
                               for row in csv.DictReader(file)])
        return tables


class Live(Run):
    @classmethod
    def setUpClass(cls):
        cls.servers = cls.enterClassContext(MongoSet())

    def ran(self, line, *more):
        return super().ran(line, "--uri", self.servers.uri, *more)

    def test_every_acquisition_has_its_row_those_that_waited_at_the_end_included(self):
        # Two clients, no pause and 300 ms held: when the second is over, one holds and one waits.
        samples, runs = self.measured("--clients 2 --strategy adaptive,queue --repetitions 2 --hold constant:300ms "
                                      "--arrivals closed:0ms")
        self.assertEqual([row["run"] for row in runs], [1, 2, 3, 4], "two strategies, two repetitions")
        for run in runs:
            self.assertGreater(run["writes"], 0)
            last_release, of_run = -1, [row for row in samples if row["run"] == run["run"]]
            for row in sorted(of_run, key=lambda row: row["granted_ns"]):
                self.assertLess(row["asked_ns"], SECOND, "nothing new after the end")
                self.assertLessEqual(row["asked_ns"], row["granted_ns"], "all are served")
                self.assertGreaterEqual(row["granted_ns"], last_release, "one at a time")
                last_release = row["released_ns"]
                self.assertGreaterEqual(last_release, row["granted_ns"] + 300 * MS)
                self.assertEqual(row["censored"], int(row["granted_ns"] >= SECOND))
            self.assertTrue(any(row["censored"] for row in of_run), "who waited at the end was served after it")

    def test_repetitions_are_interleaved_and_get_the_same_seed(self):
        _, runs = self.measured("--clients 2 --strategy uniform,adaptive --repetitions 2")
        self.assertEqual([(run["repetition"], run["seed"]) for run in runs], [(1, 1), (1, 1), (2, 2), (2, 2)])
        self.assertEqual([{run["strategy"] for run in runs[i:i + 2]} for i in (0, 2)], 2 * [{"uniform", "adaptive"}])

    def test_clients_may_be_processes_and_one_may_stand_beside(self):
        samples, _ = self.measured("--clients 2 --processes --beside uniform --strategy adaptive --repetitions 1")
        self.assertEqual({row["client"] for row in samples}, {0, 1, 2})

    def test_an_open_loop_serves_its_backlog(self):
        samples, _ = self.measured("--clients 2 --strategy uniform --repetitions 1 --arrivals open:150 "
                                   "--hold exponential:10ms --locks zipf:3")
        self.assertGreater(len(samples), 20)
        self.assertNotIn("", [row["released_ns"] for row in samples])

    def test_a_workers_lock_stands_beside_the_strategies(self):
        samples, runs = self.measured("--clients 2 --repetitions 1 --strategy uniform", "--worker", WORKER)
        granted = collections.Counter(row["strategy"] for row in samples if row["granted_ns"] != "")
        self.assertGreater(min(granted["worker"], granted["uniform"]), 2)
        for run in runs:
            self.assertEqual(run["writes"] == "", run["strategy"] == "worker", "nobody can count them")

    def test_a_worker_that_ends_is_named(self):
        ran = self.ran("--clients 1 --repetitions 1 --strategy uniform", "--worker", "exit 3")
        self.assertEqual(ran.returncode, 70, ran.stdout)
        self.assertIn("the worker ended", ran.stdout)


class WithoutServers(Run):
    def test_starts_three_members_of_its_own(self):
        samples, [run] = self.measured("--clients 1 --strategy uniform --repetitions 1")
        self.assertGreater(len(samples), 2)
        self.assertGreater(float(run["server_cpu_s"]), 0)

    def test_the_virtual_world_takes_the_same_options(self):
        _, runs = self.measured("--world virtual --clients 4 --strategy uniform --locks many:2")
        self.assertEqual(len(runs), 10, "ten seeds")

    def test_a_wrong_option_is_one_clear_error(self):
        for words, error in (
                ("--strategy uniform,uniform", "--strategy has 'uniform' twice"),
                ("--clients 0", "--clients is 0: it must be 1 to 10000"), ("--clients many", "clients"),
                ("--world real", "--world is 'real': it must be live or virtual"),
                ("--world virtual --processes", "--processes needs --world live"),
                (f"--uri {NOBODY}", "no primary answers there"), ("--worker ", "--worker is '': it must be a command"),
                ("--worker true --reads 50", "--worker has no --reads"),
                ("--reads 101", "--reads is 101: it must be 0 to 100"),
                ("--world virtual --worker true", "--worker needs --world live"),
                ("--beside distributed-lock", "that needs --world virtual"),
                ("--seconds 0", "--seconds is 0: it must be 1 to 3600"), ("--quickly", "quickly"),
                ("--out /dev/null/x", "--out is '/dev/null/x': it must be a folder"),
                ("--out ", "--out is '': it must be a folder")):
            ran = contend(*words.split(" "))
            self.assertEqual(ran.returncode, 64, f"{words}: {ran.stdout}")
            self.assertIn(error, ran.stdout)
            self.assertEqual(ran.stdout.count("\n"), 1, ran.stdout)

    def test_no_folder_is_made_where_no_server_answers(self):
        ran = contend("--uri", NOBODY, "--worker", "true", "--out", f"{self.folder}/out")
        self.assertEqual(ran.returncode, 64, ran.stdout)
        self.assertFalse(os.path.exists(f"{self.folder}/out"))

    def test_help_names_all_options(self):
        ran = contend("--help")
        self.assertEqual(ran.returncode, 0)
        for option in ("strategy", "hold", "arrivals", "locks", "processes", "uri", "seconds", "repetitions", "seed"):
            self.assertIn(f"--{option}", ran.stdout)


if __name__ == "__main__":
    unittest.main()
