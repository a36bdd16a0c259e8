"""Patches of the sources, and copies of the sources to try them on: for scripts/mutants."""
import contextlib
import filecmp
import itertools
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# As the presets have it: else ccache keeps nothing that is compiled with a precompiled header.
os.environ.setdefault("CCACHE_SLOPPINESS", "pch_defines,time_macros")


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


class Patch:
    """A diff, and above it lines of the form `Key: value`. A key may stand more than once."""

    def __init__(self, path):
        self.path = path
        with open(path) as lines:
            head = list(itertools.takewhile(lambda text: not text.startswith("---"), lines))
        self.head = [line.strip().partition(": ")[::2] for line in head if line.strip()]

    def first(self, key):
        return next(iter(self.all(key)), None)

    def all(self, key):
        return [value for found, value in self.head if found == key]

    def apply(self, folder, *options):
        """Whether it fits; if it does not, nothing is changed."""
        def ran(*more):
            return run(["patch", "--directory", folder, "--strip", "1", "--fuzz", "0", "--silent",
                        "--force", "--no-backup-if-mismatch", "--reject-file", "-",
                        "--input", self.path, *options, *more]).returncode == 0
        return ran("--dry-run") and ("--dry-run" in options or ran())

    @contextlib.contextmanager
    def applied(self, folder):
        if not self.apply(folder):
            sys.exit(f"{self.path} does not fit")
        try:
            yield
        finally:
            self.apply(folder, "--reverse")


def patches(folder):
    return [f"{folder}/{file}" for file in sorted(os.listdir(folder)) if file.endswith(".patch")]


def copy_file(source, target):
    """Leaves alone what is the same: its object file is then known to be of it."""
    if os.path.exists(target) and filecmp.cmp(source, target, shallow=False):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)


def copy_sources(folder, *parts):
    """These files and folders; what a patch left there that was cut short goes."""
    names = run(["git", "ls-files", "-co", "--exclude-standard", *parts], cwd=ROOT).stdout.split("\n")
    names = {name for name in names if os.path.isfile(f"{ROOT}/{name}")}
    for name in names:
        copy_file(f"{ROOT}/{name}", f"{folder}/{name}")
    for part in parts:
        for place, _, files in os.walk(f"{folder}/{part}"):
            for file in files:
                if os.path.relpath(f"{place}/{file}", folder) not in names:
                    os.unlink(f"{place}/{file}")


def configure(folder, *options):
    done = run(["cmake", "-S", folder, "-B", f"{folder}/build", "-G", "Ninja",
                "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache",
                "-DCMAKE_UNITY_BUILD=ON", *options])
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def build(folder, *targets):
    """With the objects of the release build, where the flags are its own and the sources the same."""
    return run(["cmake", "--build", f"{folder}/build", "--target", *targets],
               env={**os.environ, "CCACHE_BASEDIR": folder, "CCACHE_NOHASHDIR": "1"})
