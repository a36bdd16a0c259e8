#!/usr/bin/python3
"""What stats.py makes of samples whose answers are known."""
import csv
import functools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

import situations
import stats

MS = 1_000_000
SECOND = 1_000 * MS
SETTINGS = {"measured_ms": 2_000, "drain_ms": 60_000, "clients": 2, "callers": 1, "hottest_share": 1.0,
            "arrivals": "closed:100ms", "beside": "", "repetitions": 5}
RUN = {"run": 1, "strategy": "made-up", "repetition": 1, "seed": 1, "writes": 800, "reads": 400, "attempts": 400,
       "most_attempts_per_s": 200, "write_ms": 1, "server_cpu_s": 2, "machine_idle": 0.5, "arrivals_per_s": 0}


def turns(strategy_run=1, count=400):
    """Two clients in turns: 4 ms held, 1 ms until the other has it, who asked when it released last."""
    rows = []
    for i in range(count):
        granted = i * 5 * MS
        rows.append((strategy_run, i % 2, 0, max(granted - 6 * MS, 0), granted, granted + 4 * MS))
    return rows


def two_strategies(extra_ms, fewer_writes=0):
    """Runs and rows of two strategies: the other's waits are longer by so much in each repetition, and it writes so
    much less."""
    runs, rows = [], []
    for r, extra in enumerate(extra_ms, 1):
        for run, name, more, less in ((2 * r, "quick", 0, 0), (2 * r + 1, "other", extra, fewer_writes)):
            runs.append({**RUN, "run": run, "strategy": name, "repetition": r, "writes": RUN["writes"] - less})
            rows += [(n, c, l, min(a - int(more * MS), g), g, e) for n, c, l, a, g, e in turns(run)]
    return runs, rows


def write(folder, runs, rows, settings=SETTINGS):
    end, names = settings["measured_ms"] * MS, {run["run"]: (run["strategy"], run["repetition"]) for run in runs}
    samples = [(run, *names[run], *row[:5], int(row[3] == "" or row[3] >= end), int(any(row[5:]))) for run, *row in rows]
    with open(f"{folder}/settings.json", "w") as out:
        json.dump(settings, out)
    heads = "run,strategy,repetition,client,lock,asked_ns,granted_ns,released_ns,censored,reader".split(",")
    for file, lines in (("runs", [RUN, *(run.values() for run in runs)]), ("samples", [heads, *samples])):
        with open(f"{folder}/{file}.csv", "w", newline="") as out:
            csv.writer(out).writerows(lines)


class Made(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def results(self, runs, rows, settings=SETTINGS):
        write(self.folder, runs, rows, settings)
        return stats.Results(self.folder)

    def figures(self, rows, settings=SETTINGS):
        return self.results([RUN], rows, settings).figures["made-up"][1]


class Figures(Made):
    def test_two_in_turns(self):
        f = self.figures(turns())  # a turn is 4 ms held and 1 ms written
        for key, value in {"acq_per_s": 200, "share_of_ideal": 1, "writes_per_acq": 2, "reads_per_acq": 1,
                           "commands_per_acq": 3, "wait_p50_ms": 6, "wait_p99_ms": 6, "wait_spread_ms": 0,
                           "hand_over_p50_ms": 1, "jain": 1, "server_cpu_ms_per_acq": 5, "censored": 0, "unserved": 0,
                           "overlaps": 0}.items():
            self.assertAlmostEqual(f[key], value, msg=key)

    def test_a_wait_that_outlasts_the_measured_time_counts_as_no_grant(self):
        rows = turns() + [(1, 1, 0, 1_900 * MS, 2_500 * MS, 2_504 * MS), (1, 0, 0, 1_950 * MS, "", "")]
        f = self.figures(rows)
        self.assertEqual(f["acq_per_s"], 200)
        self.assertEqual((f["censored"], f["unserved"]), (2, 1))
        self.assertAlmostEqual(f["wait_max_ms"], 60_050)  # not even 60 s later: a lower bound
        results = self.results([RUN], rows)
        self.assertTrue(results.cell("made-up", "wait_max_ms", 0).startswith("≥ 60050"))
        self.assertIn("not served", " ".join(results.warnings()))

    def test_a_percentile_that_only_the_censored_reach_is_a_lower_bound(self):
        rows = turns() + [(1, 1, 0, 1_000 * MS, 3_000 * MS + i, 3_001 * MS) for i in range(40)]
        results = self.results([RUN], rows)
        self.assertAlmostEqual(results.figures["made-up"][1]["wait_p99_ms"], 1_000)
        self.assertTrue(results.cell("made-up", "wait_p99_ms", 0).startswith("≥ 1000"))
        self.assertEqual(results.cell("made-up", "wait_p50_ms", 0), "6")

    def test_the_warm_up_does_not_count_but_waits_that_began_in_it_do(self):
        before = [(1, 0, 0, -900 * MS, -800 * MS, -790 * MS), (1, 1, 0, -500 * MS, 1_995 * MS, 1_999 * MS)]
        f = self.figures(turns(count=398) + before)
        self.assertEqual(f["acq_per_s"], 199.5)
        self.assertAlmostEqual(f["wait_max_ms"], 2_495)

    def test_a_free_lock_has_no_hand_over(self):
        f = self.figures([(1, 0, 0, 0, 0, MS), (1, 1, 0, 3 * MS, 4 * MS, 5 * MS)])
        self.assertTrue(math.isnan(f["hand_over_p50_ms"]))

    def test_one_of_fifty_slow_hand_overs_is_seen_in_the_p99(self):
        f = self.figures([(*row, end - 2 * MS * (i % 50 == 0)) for i, (*row, end) in enumerate(turns())])
        self.assertAlmostEqual(f["hand_over_p50_ms"], 1)
        self.assertAlmostEqual(f["hand_over_p99_ms"], 3)

    def test_a_lock_granted_while_it_was_held_is_noticed(self):
        rows = [(1, 0, 0, 0, 1 * MS, 10 * MS), (1, 1, 0, 0, 5 * MS, 12 * MS), (1, 1, 1, 0, 6 * MS, 7 * MS)]
        results = self.results([RUN], rows)
        self.assertEqual(results.figures["made-up"][1]["overlaps"], 1)
        self.assertIn("WARNING", " ".join(results.warnings()))

    def test_the_one_beside_is_reported_apart(self):
        rows = turns() + [(1, 2, 0, 0, 1_999 * MS + MS // 2, 1_999 * MS + MS // 2 + 1)]
        f = self.figures(rows, {**SETTINGS, "beside": "uniform"})
        self.assertEqual(f["acq_per_s"], 200)
        self.assertEqual(f["beside_acquisitions"], 1)
        self.assertAlmostEqual(f["beside_longest_ms"], 1_999.5)
        self.assertAlmostEqual(f["wait_p99_ms"], 6)

    def test_readers_and_writers_are_reported_apart(self):
        # Two read for 4 ms at once, then one writes for 1 ms; it waited for 6 ms, they for 2.
        rows = []
        for at in range(0, 2_000 * MS, 8 * MS):
            rows += [(1, c, 0, at - 2 * MS, at, at + 4 * MS, True) for c in (0, 1)]
            rows.append((1, 2, 0, at - MS, at + 5 * MS, at + 6 * MS, False))
        results = self.results([RUN], rows, {**SETTINGS, "clients": 3, "reads": 67})
        f = results.figures["made-up"][1]
        for key, value in {"acq_per_s": 375, "reader_per_s": 250, "reader_p50_ms": 2, "reader_p99_ms": 2, "writer_per_s": 125,
                           "writer_p50_ms": 6, "writer_p99_ms": 6, "overlaps": 0}.items():
            self.assertAlmostEqual(f[key], value, msg=key)
        self.assertIn("| readers' wait p99 ms | writers' acquisitions a second |", results.table()[0])
        late = [row if row[6] else (*row[:4], row[4] - 2 * MS, *row[5:]) for row in rows]
        self.assertEqual(self.figures(late, {**SETTINGS, "reads": 67})["overlaps"], 250, "a writer beside a reader")

    def test_several_locks_are_as_fast_as_the_hottest_permits(self):
        rows = [(1, c, c, a, g, r) for _, c, _, a, g, r in turns()]
        self.assertAlmostEqual(self.figures(rows, {**SETTINGS, "hottest_share": 0.5})["share_of_ideal"], 0.5)


class Jain(unittest.TestCase):
    def test_is_one_for_equal_and_a_share_for_a_single_winner_as_whole_numbers_permit(self):
        for counts, index in (([10, 10, 10], 1), ([30, 0, 0], 1 / 3), ([0, 0], 0), ([1, 1, 1, 0], 1),
                              ([3, 0, 0, 0], 3 / 9), ([4, 2], 36 / 40)):
            self.assertAlmostEqual(stats.jain(counts), index, msg=counts)


class Estimate(unittest.TestCase):
    def longer(self, waits, shares):
        for share, expected in zip(waits.longer, shares, strict=True):
            self.assertAlmostEqual(share, expected, places=12)

    def test_is_that_of_a_textbook(self):
        # Those at 3 and 5 of six leave unserved: 5/6, 4/6, then of three 2/3, then of one nothing.
        waits = stats.Waits([-1] * 6, [1, 2, 3, 4, 5, 6], [True, True, False, True, False, True])
        self.longer(waits, [5 / 6, 4 / 6, 4 / 9, 0])
        self.assertEqual(waits.quantile(0.5), (4, False))

    def test_a_late_entry_is_at_risk_only_from_then_on(self):
        # The third is seen from age 3 on, so that it says nothing of ages 1 and 2.
        self.longer(stats.Waits([-1, -1, 3], [1, 4, 5], [True] * 3), [1 / 2, 1 / 4, 0])


class Differences(Made):
    def campaign(self, extra_ms):
        return self.results(*two_strategies(extra_ms))

    def test_are_called_so_when_the_interval_of_the_pairs_leaves_out_zero(self):
        results = self.campaign([5, 6, 7, 5, 6])
        mean, low, high = results.difference("quick", "other", "wait_p99_ms")
        self.assertAlmostEqual(mean, -5.8)
        self.assertTrue(-7 <= low <= mean <= high <= -5)
        self.assertTrue(results.beats("quick", "other", "wait_p99_ms", True))
        self.assertFalse(results.beats("other", "quick", "wait_p99_ms", True))
        self.assertIn("differ", [line for line in results.differences() if line.startswith("wait p99")][0])

    def test_are_none_when_it_goes_either_way_or_of_fewer_than_five_repetitions(self):
        for extra in ([5, -5, 4, -4, 1], [5, 6, 7, 5]):
            results = self.campaign(extra)
            self.assertFalse(results.beats("quick", "other", "wait_p99_ms", True))
            self.assertFalse(results.beats("other", "quick", "wait_p99_ms", True))


class Advice(Made):
    def measured(self, **campaigns):
        for name, (runs, rows) in campaigns.items():
            os.makedirs(f"{self.folder}/{name}")
            write(f"{self.folder}/{name}", runs, rows)
        return situations.measured(self.folder)

    def test_names_who_is_unbeaten_and_what_others_are_better_at(self):
        measured = self.measured(clients_16=two_strategies([5, 6, 7, 5, 6]),
                                 clients_2=two_strategies([5, 6, 7, 5, 6], fewer_writes=100))
        head, other = situations.advice(measured)
        self.assertTrue(head.startswith("`quick` is unbeaten"))
        self.assertIn("in wait p99 in 2 of 2 situations, in commands per acquisition in 1", head)
        self.assertEqual(other, "- `other` is better in this: Fewer commands per acquisition: 2 clients (2.75 against "
                                "3.00).")

    def test_begins_with_the_default_beside_the_published_waiting(self):
        runs, rows = two_strategies([5, 6, 7, 5, 6])
        names = (("other", "uniform"), ("quick", situations.DEFAULT))
        runs, rows = (json.loads(functools.reduce(lambda text, name: text.replace(*name), names, json.dumps(x)))
                      for x in (runs, rows))
        head = situations.advice(self.measured(clients_16=(runs, rows)))[0]
        self.assertRegex(head, r"`queue` is the default. Its wait p99 is [0-9.]+ times shorter than that of `uniform`")

    def test_says_nothing_of_what_intervals_do_not_show(self):
        head, other = situations.advice(self.measured(clients_16=two_strategies([5, -5, 4, -4, 1])))
        self.assertEqual(other, "- `quick` was better in none of these three." if "`other`" in head else
                         "- `other` was better in none of these three.")

    def test_is_none_of_fewer_than_five_repetitions(self):
        head = situations.advice(self.measured(clients_16=two_strategies([5, 6])))[0]
        self.assertTrue(head.startswith("No advice"))

    def test_begins_its_part_of_the_page_which_has_every_table(self):
        self.measured(clients_16=two_strategies([5, 6, 7, 5, 6]))
        page = situations.section(self.folder, "a machine")
        self.assertTrue(page.startswith("`quick` is unbeaten"))
        self.assertIn("### 16 clients, holdings of 5 ms", page)
        self.assertRegex(page, r"\| other \| 1.00.* 12 \[11, 1[23]\]")


class Sharing(Made):
    def test_is_compared_with_taking_the_lock_alone(self):
        runs, rows = two_strategies([6, 6, 6, 6, 6], fewer_writes=400)
        names = {"quick": "queue", "other": "exclusive"}
        rows = [(*row, i % 2) for i, row in enumerate(rows)]
        os.makedirs(f"{self.folder}/readers_8")
        write(f"{self.folder}/readers_8", [{**run, "strategy": names[run["strategy"]]} for run in runs], rows,
              {**SETTINGS, "reads": 50})
        page = situations.section(self.folder, "a machine", "readers")
        self.assertIn("| 8 processes, all read | 1.0 | 0.50 | 0.50 | 0.50 | 0.50 | 1.50 | 1.00 |", page)


class Answer(Made):
    def test_compares_what_was_published_in_each_situation(self):
        runs, rows = two_strategies([5, 6, 7, 5, 6], fewer_writes=200)
        names = {"quick": "adaptive", "other": "uniform"}
        write(self.folder, [{**run, "strategy": names[run["strategy"]]} for run in runs], rows)
        page = "\n".join(situations.answer([(situations.SITUATIONS[0], stats.Results(self.folder))]))
        self.assertIn("1.20 to 1.20 times the commands for each acquisition: more in 1 of 1 situations, fewer in 0.", page)
        self.assertRegex(page, r"\| 16 clients, holdings of 5 ms \| \+0.50 \[0.50, 0.50\] \| .* \| -6 \[-6, -5\] \|")


def table(text):
    """The first table of this text: its rows, each by its columns' heads. Intervals are left out."""
    lines = re.findall(r"^\|.*\|$", text, re.MULTILINE)
    heads, _, *rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in lines)
    return [dict(zip(heads, row)) for row in rows if len(row) == len(heads)]


class Page(unittest.TestCase):
    """RESULTS.md: what it answers must be what its tables have."""

    def test_the_answer_is_that_of_the_tables(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "RESULTS.md")) as file:
            head, *parts = re.split(r"^### ", file.read(), flags=re.MULTILINE)
        number = lambda cell: float(re.search(r"[+-]?[\d.]+", cell)[0])
        measured = {part.splitlines()[0]: {row["strategy"]: row for row in table(part)} for part in parts}
        live = {title for title, rows in measured.items() if "uniform" in rows and "virtual" not in title}
        rows = table(head)
        self.assertEqual({row["situation"] for row in rows}, live)
        for _, what, digits, sentence in situations.ANSWERED:
            of = lambda row: sum(number(row[x]) for x in (("writes", "reads") if "commands" in what else (what,)))
            pairs = [[of(measured[row["situation"]][s]) for s in ("adaptive", "uniform")] for row in rows]
            for row, (adaptive, uniform) in zip(rows, pairs):
                self.assertAlmostEqual(number(row[what]), adaptive - uniform, delta=2.1 * 0.1 ** digits, msg=row)
            bounds = [re.search(r"\[(.*), (.*)\]", row[what]).groups() for row in rows]
            said = re.search(re.escape(sentence).replace(r"\{\}", r"([\d.]+)"), head)
            low, high, *counts = map(float, said.groups() or (0, 0))
            if "commands" in what:
                self.assertEqual("**It does not, measured here.**" in head, counts[0] == len(rows))
            if counts:
                self.assertAlmostEqual(low, min(a / u for a, u in pairs), delta=0.02, msg=what)
                self.assertAlmostEqual(high, max(a / u for a, u in pairs), delta=0.02, msg=what)
                self.assertEqual(counts, [sum(float(x) > 0 for x, _ in bounds), len(rows),
                                          sum(float(y) < 0 for _, y in bounds)], what)


class Command(Made):
    def run_it(self, *words):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stats.py")
        # -S: without any package.
        return subprocess.run([sys.executable, "-S", program, *words], capture_output=True, text=True)

    def test_prints_the_table_and_what_its_words_mean_without_any_package(self):
        write(self.folder, [RUN], turns())
        ran = self.run_it(self.folder)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("| made-up | 1.00 |", ran.stdout)
        self.assertIn("Kaplan", ran.stdout)

    def test_a_missing_package_or_folder_is_one_clear_error(self):
        ran = self.run_it(self.folder)
        self.assertEqual(ran.returncode, 64)
        self.assertRegex(ran.stderr, r"^stats: the folder is '.*': it must have .*\n$")
        write(self.folder, [RUN], turns())
        ran = self.run_it(self.folder, "--plot", f"{self.folder}/plot.png")
        self.assertEqual(ran.returncode, 64)
        self.assertRegex(ran.stderr, r"^stats: --plot: matplotlib is not installed: .*\n$")


if __name__ == "__main__":
    unittest.main()
