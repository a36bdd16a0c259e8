"""Whether `verify --worker` notices each error of planted_errors.py within two minutes, by a guarantee that its table
names: planted_errors_check.py LAB [ERROR...]. Exit code 1: one was not, or by others alone."""
import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
SECONDS = 120


def table():
    """{error: the guarantees that must notice it}"""
    text = ast.get_docstring(ast.parse(pathlib.Path(FOLDER, "planted_errors.py").read_text(encoding="utf-8")))
    rows = re.findall(r"^\| ([a-z-]+) +\| (.*) \|$", text, re.MULTILINE)
    return {error: set(re.findall(r"G\d|protocol", noticed)) for error, noticed in rows if noticed[0] in "Gp"}


def run(lab, error):
    """(the report, what was printed). A run that is violated is kept in leasehold-runs."""
    with tempfile.TemporaryDirectory() as folder:
        report = f"{folder}/report.json"
        worker = f"{sys.executable} {FOLDER}/planted_errors.py {error}"
        ran = subprocess.run([lab, "verify", "--until-violated", "--seconds", str(SECONDS), "--worker", worker,
                              "--promises", f"{FOLDER}/pymongo_oplog.json", "--json", report],
                             check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if not os.path.exists(report):
            sys.exit(f"{error}: {ran.stdout}")
        return json.loads(pathlib.Path(report).read_text(encoding="utf-8")), ran.stdout


def main():
    wanted = table()
    missed = []
    for error in sys.argv[2:] or wanted:
        report, printed = run(sys.argv[1], error)
        seconds = report.get("violated_after_s", report["elapsed_s"])
        violated = {name for name, found in report["guarantees"].items() if found["verdict"] == "violated"}
        noticed = violated & wanted[error] and seconds <= SECONDS
        print(f"{error:24} {'noticed' if noticed else 'MISSED'} after {seconds:.0f} s: "
              f"{' '.join(sorted(violated)) or 'nothing'}, wanted {' or '.join(sorted(wanted[error]))}", flush=True)
        if not noticed:
            missed.append(error)
            print(printed, flush=True)
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)


main()
