#!/usr/bin/python3
"""Campaigns on many machines, on this one: what their engines run, and that the sum is that of one machine."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import dask.distributed
import yaml

HERE = pathlib.Path(__file__).parent
SEEDS, PARTS = 12, 4


def facts(report):
    """All of it that does not depend on how fast the machine is, or on the order of additions."""
    left_out = ("cpu_s", "cpu_seconds", "lifecycles_per_cpu_second", "virtual_s", "simulated_seconds")
    if isinstance(report, dict):
        return {key: facts(value) for key, value in report.items() if key not in left_out}
    return report


class Many(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "reports").mkdir()

    def shell(self, words, **variables):
        return subprocess.run(["sh", "-ec", words], cwd=self.folder, env=os.environ | variables, text=True,
                              capture_output=True)

    def whole(self):
        self.shell(f"leasehold-lab simulate --seeds 1..{SEEDS} --json whole.json")
        return facts(json.loads((self.folder / "whole.json").read_text()))

    def assert_sum(self, words):
        """That this command, as the example has it, gives the report of one machine."""
        words = re.sub(r"--seeds 1\.\.\d+", f"--seeds 1..{SEEDS} --json sum.json", words)
        ran = self.shell(words)
        self.assertEqual(ran.stderr, "")
        self.assertEqual(facts(json.loads((self.folder / "sum.json").read_text())), self.whole())

    def test_an_indexed_job_runs_each_part_once(self):
        text = (HERE / "kubernetes.yaml").read_text()
        container = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"][0]
        for index in range(PARTS):
            ran = self.shell(container["command"][2], SEEDS=str(SEEDS // PARTS), JOB_COMPLETION_INDEX=str(index))
            self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assert_sum(re.search("leasehold-lab simulate.*--sum.*", text)[0])

    def test_a_matrix_of_ci_runs_each_part_once(self):
        jobs = yaml.safe_load((HERE / "github.yaml").read_text())["jobs"]
        for index in range(PARTS):
            words = jobs["part"]["steps"][0]["run"].replace("${{ matrix.part }}", str(index))
            self.assertEqual(self.shell(words, SEEDS=str(SEEDS // PARTS)).returncode, 0)
        self.assert_sum(jobs["sum"]["steps"][1]["run"])

    def test_a_worker_killed_in_the_middle_changes_nothing(self):
        cluster = self.enterContext(dask.distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None,
            local_directory=str(self.folder)))
        client = self.enterContext(dask.distributed.Client(cluster))
        killed, over = [], threading.Event()

        def kill_one():
            while not killed and not over.is_set():
                tasks = client.processing()
                killed.extend([worker for worker in cluster.workers.values() if tasks.get(worker.worker_address)][:1])
            for worker in killed:
                os.kill(worker.process.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()
        ran = self.shell(f"{sys.executable} {HERE}/dask_campaign.py {cluster.scheduler_address} 1..{SEEDS} 3 --hash")
        over.set()
        killer.join()
        self.assertTrue(killed)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("4 of 4 parts", ran.stderr)
        hashes = [re.search("hash (.*)", run.stdout)[1] for run in (
            ran, self.shell(f"leasehold-lab simulate --seeds 1..{SEEDS} --hash"))]
        self.assertEqual(*hashes)


if __name__ == "__main__":
    unittest.main()
