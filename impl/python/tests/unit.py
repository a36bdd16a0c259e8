"""What the package does without a server."""
import asyncio
import concurrent.futures
import gc
import os
import select
import signal
import subprocess
import sys
import threading
import time
import unittest
from datetime import timedelta
from unittest import mock

import leasehold
from leasehold import _library, _polling

NOBODY = "mongodb://127.0.0.1:1/?replicaSet=rs"


def descriptors_to_poll():
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return sum(os.path.islink(link) and "eventfd" in os.readlink(link) for link in links)


class Connected(unittest.TestCase):
    def setUp(self):
        self.provider = leasehold.connect(NOBODY, server_selection_timeout=0.1)
        self.addCleanup(self.provider.close)
        self.lock = self.provider.lock("job", operation_timeout=0.2)

    def signalled(self, handler):
        """In 0.1 s."""
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, handler))
        signal.setitimer(signal.ITIMER_REAL, 0.1)


class Arguments(Connected):
    def refused(self, sentence, call, *args, **options):
        with self.assertRaises(leasehold.InvalidOption) as raised:
            call(*args, **options)
        self.assertIn(sentence, str(raised.exception))
        self.assertIsInstance(raised.exception, ValueError)
        self.assertEqual(raised.exception.kind, "invalid_option")

    def test_a_refused_option_has_the_librarys_message(self):
        acquire = lambda name="job", **options: self.provider.lock(name, **options).acquire(timeout=0)
        self.refused("expiry is 50 ms", acquire, expiry=0.05)
        self.refused("waiting is 'patient'", acquire, waiting="patient")
        self.refused("max_drift is 0.5", acquire, max_drift=0.5)
        self.refused("hand_overs_in_a_row is 1001", acquire, hand_overs_in_a_row=1001)
        self.refused("lock name is 0 bytes long", self.provider.lock, "")
        self.refused("waiting is 'patient'", self.provider.lock, "job", waiting="patient")
        self.refused("permits is 1001: it must be 1 to 1000", self.provider.semaphore, "job", 1001)
        self.refused("expiry is 50 ms", self.provider.semaphore, "job", 2, expiry=0.05)
        self.refused("workers is 65: it must be 1 to 64", leasehold.connect, NOBODY, workers=65)
        self.refused("", leasehold.connect, "mysql://db1")
        self.refused("uri is NULL", leasehold.connect, None)

    def test_values_that_c_would_misread_are_refused(self):
        self.refused("expiry is 0 s", self.provider.lock, "job", expiry=0)
        self.refused("clock_margin is -0.001 s", self.provider.lock, "job", clock_margin=-0.001)
        self.refused("hand_overs_in_a_row is -1", self.provider.lock, "job", hand_overs_in_a_row=-1)
        self.refused("max_drift is nan", self.provider.lock, "job", max_drift=float("nan"))
        self.refused("workers is 0", leasehold.connect, NOBODY, workers=0)
        self.refused("on_warning is 7: it must be callable", leasehold.connect, NOBODY, on_warning=7)
        self.refused("permits is 0", self.provider.semaphore, "job", 0)
        for name in ("a\0b", "\ud800", b"job", 7):
            self.refused(f"name is {name!r}", self.provider.lock, name)
        for timeout in (-1, float("nan"), timedelta(seconds=-1), 1e300):
            self.refused(f"timeout is {timeout} s", self.provider.lock("job").acquire, timeout)

    def test_seconds_and_timedelta_mean_the_same(self):
        for timeout in (0.05, timedelta(milliseconds=50)):
            began = time.monotonic()
            with self.assertRaises(leasehold.TimedOut) as raised:
                self.lock.acquire(timeout)
            self.assertGreaterEqual(time.monotonic() - began, 0.045)
            self.assertIsInstance(raised.exception, TimeoutError)
            self.assertIn("'job'", str(raised.exception))


class Warnings(unittest.TestCase):
    def test_go_to_the_logger_of_the_package(self):
        with self.assertLogs("leasehold", "WARNING") as logged:
            _library.warn("the index of \u00e9 is missing".encode() + b"\xff", None)
        self.assertEqual(logged.records[0].getMessage(), "the index of \u00e9 is missing\ufffd")

    def test_go_to_the_function_of_their_provider_as_long_as_that_lives(self):
        heard = []
        provider = leasehold.connect(NOBODY, on_warning=heard.append)
        context = id(provider._hook)
        leasehold.connect(NOBODY, on_warning=self.fail).close()
        _library.warn("\u00e9 is missing".encode(), context)
        self.assertEqual(heard, ["\u00e9 is missing"])
        del provider
        gc.collect()
        with self.assertLogs("leasehold", "WARNING"):
            _library.warn(b"later", context)
        self.assertEqual(len(heard), 1)

    def test_are_logged_with_an_exception_of_their_function(self):
        provider = leasehold.connect(NOBODY, on_warning=lambda said: 1 / 0)
        self.addCleanup(provider.close)
        with self.assertLogs("leasehold", "ERROR") as logged:
            _library.warn(b"the index is missing", id(provider._hook))
        self.assertIn("the index is missing", logged.output[0])
        self.assertIn("ZeroDivisionError", logged.output[0])

    def test_are_over_at_exit_whatever_thread_closes(self):
        program = """
import sys, threading, time
import leasehold
provider, calls, closing = leasehold.connect(sys.argv[1]), [], threading.Event()
class Slow:
    def leasehold_close(self, box):
        calls.append(len(calls))
        mine = calls[-1]
        if mine == 0:
            closing.set()
            time.sleep(0.2)
        print(mine, flush=True)
leasehold.lock.library = Slow()
threading.Thread(target=provider.close, daemon=True).start()
closing.wait()
"""
        ran = subprocess.run([sys.executable, "-c", program, NOBODY], capture_output=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stdout), (0, b"0\n1\n"), ran.stderr)


# Leaves by sys.exit: then finalizers run, of what the parent has. STATE says what that is.
FORKS = """
import os, signal, sys, threading
import leasehold
provider = leasehold.connect(sys.argv[1], server_selection_timeout=0.1, on_warning=print)
lock = provider.lock("job", operation_timeout=0.2)
if STATE == "waits":
    threading.Thread(target=lambda: lock.acquire(60), daemon=True).start()
elif STATE == "begun":
    call = lock._call(60)
elif STATE == "ended":
    call = lock._call(60)
    try:
        call.end()
    except leasehold.Cancelled:
        pass
elif STATE == "closed":
    provider.close()
elif STATE == "closing":
    provider._opened._finishing.acquire()  # as another thread does
if os.fork() == 0:
    signal.alarm(20)
    sys.exit(0)
_, status = os.wait()
os._exit(0 if status == 0 else 1)
"""


class Forks(unittest.TestCase):
    def test_child_ends_whatever_its_parent_was_doing(self):
        def runs(state):
            ran = subprocess.run([sys.executable, "-c", FORKS.replace("STATE", repr(state)), NOBODY],
                                 stderr=subprocess.PIPE, timeout=60)
            return state, ran.returncode, ran.stderr

        rounds = int(os.environ.get("LEASEHOLD_ROUNDS", "1"))
        with concurrent.futures.ThreadPoolExecutor(10) as pool:  # each waits, mostly
            for state, code, said in pool.map(runs, ("idle", "waits", "begun", "ended", "closed", "closing") * rounds):
                self.assertEqual(code, 0, f"{state}: {said}")

    def test_child_sets_no_flag_of_its_parent(self):
        flag = _polling.Flag()
        child = os.fork()
        if child == 0:
            flag.set()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertFalse(_polling.any_ready((flag,), 0))
        flag.set()
        self.assertTrue(_polling.any_ready((flag,), 0))


class Greenlets(unittest.TestCase):
    def test_without_poll_and_epoll_are_waited_for_all_the_same(self):
        """As under eventlet.monkey_patch(), which takes both names away."""
        original = mock.Mock(original=lambda name: sys.modules["original_select"])
        bare = mock.Mock(spec=["select"], select=select.select)
        with mock.patch.dict(sys.modules, {"eventlet.patcher": original, "original_select": select}), \
                mock.patch.object(_polling, "select", bare):
            flag = _polling.Flag()
            stop = leasehold.leadership.Stop(flag)
            self.assertFalse(stop.wait(0.01))
            self.assertFalse(stop.is_set())
            flag.set()
            self.assertTrue(stop.wait())
            self.assertTrue(stop.wait(2**32))


class Loading(unittest.TestCase):
    def test_makes_no_counters_in_shared_memory_and_leaves_the_environment_alone(self):
        program = ("import os; before = dict(os.environ); seen = []; import ctypes; load = ctypes.CDLL\n"
                   "ctypes.CDLL = lambda name: seen.append(os.environ['MONGOC_DISABLE_SHM']) or load(name)\n"
                   "import leasehold; assert seen == ['1'] and dict(os.environ) == before, (seen, os.environ)")
        without = {name: value for name, value in os.environ.items() if name != "MONGOC_DISABLE_SHM"}
        subprocess.run([sys.executable, "-c", program], check=True, env=without)

    def test_says_what_a_frozen_program_needs(self):
        with mock.patch("ctypes.CDLL", side_effect=OSError("cannot open shared object file")):
            with self.assertRaisesRegex(ImportError, "--collect-data leasehold"):
                _library._load()


class Waiting(Connected):
    def test_for_ever_ends_by_a_signal(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        self.signalled(interrupt)
        with self.assertRaises(KeyboardInterrupt):
            self.lock.acquire()

    def test_ends_when_the_provider_is_closed(self):
        closes = threading.Timer(0.1, self.provider.close)
        closes.start()
        with self.assertRaises(leasehold.ShutDown):
            self.lock.acquire()
        closes.join()
        with self.assertRaises(leasehold.ShutDown) as raised:
            self.lock.acquire(0)
        self.assertEqual(str(raised.exception), "the provider is closed")
        self.provider.close()

    def test_is_over_once_the_block_of_the_provider_is_left(self):
        with leasehold.connect(NOBODY) as provider:
            lock = provider.lock("job")
        with self.assertRaises(leasehold.ShutDown):
            lock.acquire(0)

    def test_in_asyncio_ends_when_the_task_is_cancelled_and_leaves_nothing_open(self):
        async def wait():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(self.lock.acquire_async(), 0.1)

        before = descriptors_to_poll()
        for _ in range(5):
            asyncio.run(wait())
        for _ in range(100):  # the library lets go of its half in the background
            if descriptors_to_poll() <= before:
                return
            time.sleep(0.05)
        self.fail(f"{descriptors_to_poll()} descriptors are open, {before} were before")


class Inspecting(Connected):
    def test_ends_without_an_answer(self):
        with self.assertRaises(leasehold.Unavailable):
            self.provider.inspect("job", timeout=0.05)
        with self.assertRaisesRegex(leasehold.InvalidOption, "timeout is 0 s: it must be longer"):
            self.provider.inspect("job", 0)
        with self.assertRaisesRegex(leasehold.InvalidOption, "lock name is 0 bytes long"):
            self.provider.inspect("")
        self.provider.close()
        with self.assertRaises(leasehold.ShutDown):
            self.provider.inspect("job")

    def test_lets_other_threads_run(self):
        ticks, over = [], threading.Event()

        def tick():
            while not over.wait(0.001):
                ticks.append(None)

        threading.Thread(target=tick).start()
        self.addCleanup(over.set)
        most = 0
        for _ in range(20):
            before = len(ticks)
            with self.assertRaises(leasehold.Unavailable):
                self.provider.inspect("job", timeout=0.05)
            most = max(most, len(ticks) - before)
        self.assertGreater(most, 5)

    def test_is_waited_for_by_closing(self):
        asked, go, said = threading.Event(), threading.Event(), []

        def inspect(*_):
            asked.set()
            go.wait()
            said.append("inspected")
            return 0

        fake = mock.Mock(leasehold_inspect=inspect, leasehold_close=lambda box: said.append("closed"))
        # Besides the user the end of the Provider and the exit of Python close it.
        calls = [lambda: self.provider.inspect("job"), self.provider.close, *[self.provider._opened.finish] * 2]
        threads = [threading.Thread(target=call, daemon=True) for call in calls]
        with mock.patch.object(leasehold.lock, "library", fake):
            threads[0].start()
            asked.wait()
            for thread in threads[1:]:
                thread.start()
            time.sleep(0.1)
            go.set()
            for thread in threads:
                thread.join(30)
            self.assertFalse(any(thread.is_alive() for thread in threads))
        self.assertEqual(said, ["inspected", *["closed"] * 3])

    def test_has_the_nearest_date(self):
        date = leasehold.seen._date
        self.assertEqual(date(1500).timestamp(), 1.5)
        self.assertEqual([date(2**62).year, date(-2**62).year], [9999, 1])


class Signals(unittest.TestCase):
    def test_may_release_amid_the_first_question_for_the_loss(self):
        fake = mock.Mock(leasehold_release=lambda *_: 0)
        with mock.patch.object(leasehold.held, "library", fake):
            held = leasehold.Held(leasehold.held.Handle(), "job")
            fake.leasehold_lost_fd = lambda *_: held.release().value
            asks = threading.Thread(target=lambda: held.lost, daemon=True)
            asks.start()
            asks.join(30)
            self.assertFalse(asks.is_alive())
            self.assertTrue(_polling.any_ready((held.lost._released,), 0))


class FakeHeld:
    """What a fake election gives: not a lock, but it is held until it is lost or released."""

    def __init__(self, token):
        self.fencing_token, self.held, self.lost, self.releases = token, True, _polling.Flag(), 0

    def lose(self):
        self.held = False
        self.lost.set()

    def release(self):
        self.held, self.releases = False, self.releases + 1
        return leasehold.ReleaseResult.RELEASED

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


class Leading(Connected):
    def setUp(self):
        super().setUp()
        self.helds, self.terms = [], []

    def leadership(self, work, on_ended=None, **options):
        """One that is elected at once, until it is stopped."""
        leadership = leasehold.Leadership(self.provider.lock("job"), work, on_ended=on_ended or self.ended, **options)

        def elected():
            if leadership._stopped_now():
                return None
            self.helds.append(FakeHeld(len(self.helds) + 1))
            return self.helds[-1]

        leadership._elected = elected
        return leadership

    def ended(self, term):
        if term.failure is not None and not isinstance(term.failure, ZeroDivisionError):
            raise term.failure  # an assertion of the work
        self.terms.append(term)

    def test_is_done_again_and_again_until_it_is_stopped(self):
        def work(stop, token):
            self.assertEqual((leadership.leading, self.helds[-1].releases, stop.is_set()), (token, 0, False))
            if token == 3:
                leadership.stop()
                self.assertTrue(stop.wait(10))

        leadership = self.leadership(work, pause=0)
        self.assertIsNone(leadership.leading)
        leadership.run()
        self.assertEqual([term.token for term in self.terms], [1, 2, 3])
        self.assertEqual({(term.lost, term.failure, term.release) for term in self.terms},
                         {(False, None, leasehold.ReleaseResult.RELEASED)})
        self.assertIsNone(leadership.leading)
        self.assertTrue(all(held.releases for held in self.helds))

    def test_ends_with_a_loss_and_begins_again_without_a_pause(self):
        def work(stop, token):
            if token == 2:
                return leadership.stop()
            self.assertFalse(stop.wait(0.01))
            self.helds[-1].lose()
            self.assertTrue(stop.wait(10))
            self.assertTrue(select.select([stop], [], [], 0)[0])
            self.assertIsNone(leadership.leading)
            time.sleep(0.02)

        leadership, began = self.leadership(work, pause=3), time.monotonic()
        leadership.run()
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual([term.lost for term in self.terms], [True, False])
        self.assertGreaterEqual(self.terms[0].lasted, 0.03)

    def test_pauses_longer_after_each_exception_in_a_row(self):
        failing = [True] * 4 + [False, True]

        def work(stop, token):
            if token == 7:
                return leadership.stop()
            if failing[token - 1]:
                raise ZeroDivisionError(token)

        pauses, any_ready = [], _polling.any_ready

        def see(descriptors, timeout_ms):
            if timeout_ms > 0:
                pauses.append(timeout_ms)
            return any_ready(descriptors, 0)

        leadership = self.leadership(work, pause=1, longest_pause=timedelta(seconds=5))
        with mock.patch.object(leasehold.leadership, "any_ready", see):
            leadership.run()
        self.assertEqual(pauses[:6], [1000, 2000, 4000, 5000, 1000, 1000])
        self.assertEqual([type(term.failure) for term in self.terms][:5], [ZeroDivisionError] * 4 + [type(None)])

    def test_ends_by_resigning_which_waits_for_the_release(self):
        began, go_on, stops = threading.Event(), threading.Event(), []

        def work(stop, token):
            stops.append(stop)
            began.set()
            stop.wait()
            go_on.wait()

        leadership = self.leadership(work, pause=3600, longest_pause=3600)
        self.assertTrue(leadership.resign(), "there is no term")
        runs = threading.Thread(target=leadership.run)
        runs.start()
        began.wait()
        self.assertFalse(leadership.resign(0.01), "the work still runs")
        self.assertEqual(leadership.leading, 1)
        go_on.set()
        self.assertTrue(leadership.resign(10))
        self.assertGreater(self.helds[0].releases, 0)
        leadership.stop()
        runs.join()

    def test_may_be_resigned_by_the_work_itself_and_its_stop_stays_set(self):
        stops = []

        def work(stop, token):
            stops.append(stop)
            if token == 1:
                began = time.monotonic()
                self.assertFalse(leadership.resign(3))
                self.assertLess(time.monotonic() - began, 2)
                self.assertTrue(stop.is_set())

        def ended(term):
            self.ended(term)
            seen.append(stops[-1].is_set())
            if term.token == 2:
                leadership.stop()

        leadership, seen = self.leadership(work, on_ended=ended, pause=0), []
        leadership.run()
        self.assertEqual(seen, [True, True])

    def test_is_over_before_an_exception_is_raised_that_is_not_for_the_work(self):
        for raised in (KeyboardInterrupt, SystemExit):
            def work(stop, token):
                raise raised

            with self.assertRaises(raised):
                self.leadership(work, on_ended=lambda term: self.fail("it is no end of a term")).run()
            self.assertGreater(self.helds[-1].releases, 0)

    def test_raises_what_its_listener_raises_and_may_go_on(self):
        def refuse(term):
            raise ZeroDivisionError

        leadership = self.leadership(lambda stop, token: None, on_ended=refuse)
        for _ in range(2):
            with self.assertRaises(ZeroDivisionError):
                leadership.run()

    def test_logs_a_bad_end_unless_there_is_a_listener(self):
        def work(stop, token):
            if token == 1:
                raise ZeroDivisionError("amid work")
            self.helds[-1].lose()
            leadership.stop()

        leadership = self.leadership(work, pause=0)
        leadership._on_ended = leadership._log  # as without a listener
        with self.assertLogs("leasehold", "WARNING") as logged:
            leadership.run()
        self.assertIn("leadership of lock 'job': term 1 ended: its work raised", logged.output[0])
        self.assertIn("amid work", logged.output[0])
        self.assertIn("term 2 ended: the lock was lost", logged.output[1])

    def test_is_refused_what_makes_no_sense(self):
        for options, sentence in (({"pause": 61}, "pause is 61 s: it must be 0 to longest_pause, which is 60 s"),
                                  ({"pause": -1}, "pause is -1 s")):
            with self.assertRaisesRegex(leasehold.InvalidOption, sentence):
                leasehold.Leadership(self.lock, print, **options)

        def work(stop, token):
            with self.assertRaisesRegex(leasehold.InvalidOption, "lock 'job': run is called while it runs"):
                leadership.run()
            leadership.stop()

        leadership = self.leadership(work)
        leadership.run()
        self.assertIsNone(self.terms[0].failure)

    def test_waits_until_a_signals_handler_stops_it_or_its_provider_is_closed(self):
        leadership = leasehold.Leadership(self.lock, print)
        self.signalled(lambda *_: leadership.stop())
        leadership.run()
        leadership.run()  # it is stopped for good
        closes = threading.Timer(0.1, self.provider.close)
        closes.start()
        with self.assertRaises(leasehold.ShutDown):
            leasehold.Leadership(self.lock, print).run()
        closes.join()


class Errors(unittest.TestCase):
    def test_have_a_class_for_each_kind(self):
        named = [getattr(leasehold, name) for name in leasehold.__all__]
        kinds = {one.kind for one in named if isinstance(one, type) and issubclass(one, leasehold.Error)}
        self.assertEqual(kinds, {"?", "invalid_option", "refused", "timed_out", "cancelled", "unavailable",
                                 "unknown_outcome", "configuration", "shut_down"})
        name_of = leasehold._library.library.leasehold_kind_name
        self.assertEqual({name_of(number).decode() for number in range(1, 9)}, kinds - {"?"}, "those of the library")

    def test_have_the_servers_code(self):
        error = leasehold.errors.error_of("configuration", 13, "not authorized")
        self.assertEqual((type(error), error.code, str(error)), (leasehold.Configuration, 13, "not authorized"))

    def test_name_the_version_of_the_library(self):
        self.assertEqual(leasehold.__version__, os.environ["LEASEHOLD_VERSION"])


if __name__ == "__main__":
    unittest.main()
