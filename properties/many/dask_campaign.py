#!/usr/bin/python3
"""Runs `leasehold-lab simulate` on many machines by dask.distributed, and adds up what they report.

usage: dask_campaign.py SCHEDULER FIRST..LAST SEEDS_A_PART [OPTIONS OF simulate, such as --lock NAME]

Each worker needs the same leasehold-lab on its PATH. A part whose worker dies is run again by another one. The output
and the exit code are those of `leasehold-lab simulate --sum`, which refuses parts that are missing, doubled or of other
code.
"""
import pathlib
import subprocess
import sys
import tempfile

import dask.distributed

LAB = "leasehold-lab"


def run_part(seeds, options):
    """The report on these seeds, as JSON. A lock that breaks, 1, or that is not judged, 2, is for the sum to say."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "part.json")
        ran = subprocess.run([LAB, "simulate", "--seeds", seeds, "--json", report, "--runs", folder, *options],
                             capture_output=True, text=True)
        if not report.exists():  # it was refused, or the lock died
            raise RuntimeError(f"seeds {seeds}: exit code {ran.returncode}: {ran.stderr or ran.stdout}")
        return report.read_text()


def main(scheduler, seeds, size, *options):
    first, last = map(int, seeds.split(".."))
    parts = [f"{at}..{min(at + int(size) - 1, last)}" for at in range(first, last + 1, int(size))]
    with dask.distributed.Client(scheduler) as client, tempfile.TemporaryDirectory() as folder:
        futures = client.map(run_part, parts, options=options, pure=False)
        files = []
        for _, report in dask.distributed.as_completed(futures, with_results=True):
            files.append(pathlib.Path(folder, f"{len(files)}.json"))
            files[-1].write_text(report)
            print(f"{len(files)} of {len(parts)} parts", file=sys.stderr)
        return subprocess.run([LAB, "simulate", "--seeds", seeds, *options, "--sum", *files]).returncode


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
