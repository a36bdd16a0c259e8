"""What the package does without a server."""
import asyncio
import concurrent.futures
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from datetime import timedelta
from unittest import mock

import leasehold
from leasehold import _library

NOBODY = "mongodb://127.0.0.1:1/?replicaSet=rs"


def descriptors_to_poll():
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return sum(os.path.islink(link) and "eventfd" in os.readlink(link) for link in links)


class Arguments(unittest.TestCase):
    def setUp(self):
        self.provider = leasehold.connect(NOBODY, server_selection_timeout=0.1)
        self.addCleanup(self.provider.close)

    def refused(self, sentence, call, *args, **options):
        with self.assertRaises(leasehold.InvalidOption) as raised:
            call(*args, **options)
        self.assertIn(sentence, str(raised.exception))
        self.assertIsInstance(raised.exception, ValueError)
        self.assertEqual(raised.exception.kind, "invalid_option")

    def test_of_the_library_are_refused_with_its_sentence(self):
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

    def test_that_c_would_take_for_something_else_are_refused(self):
        self.refused("expiry is 0 s", self.provider.lock, "job", expiry=0)
        self.refused("clock_margin is -0.001 s", self.provider.lock, "job", clock_margin=-0.001)
        self.refused("hand_overs_in_a_row is -1", self.provider.lock, "job", hand_overs_in_a_row=-1)
        self.refused("max_drift is nan", self.provider.lock, "job", max_drift=float("nan"))
        self.refused("workers is 0", leasehold.connect, NOBODY, workers=0)
        self.refused("permits is 0", self.provider.semaphore, "job", 0)
        for name in ("a\0b", "\ud800", b"job", 7):
            self.refused(f"name is {name!r}", self.provider.lock, name)
        for timeout in (-1, float("nan"), timedelta(seconds=-1), 1e300):
            self.refused(f"timeout is {timeout} s", self.provider.lock("job").acquire, timeout)

    def test_that_mean_the_same_are_the_same(self):
        lock = self.provider.lock("job", operation_timeout=0.2)
        for timeout in (0.05, timedelta(milliseconds=50)):
            began = time.monotonic()
            with self.assertRaises(leasehold.TimedOut) as raised:
                lock.acquire(timeout)
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

    def test_need_a_function(self):
        with self.assertRaisesRegex(leasehold.InvalidOption, "on_warning is 7: it must be callable"):
            leasehold.connect(NOBODY, on_warning=7)

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
            for state, code, said in pool.map(runs, ("idle", "waits", "begun", "ended", "closed") * rounds):
                self.assertEqual(code, 0, f"{state}: {said}")


class Waiting(unittest.TestCase):
    def setUp(self):
        self.provider = leasehold.connect(NOBODY, server_selection_timeout=0.1)
        self.addCleanup(self.provider.close)
        self.lock = self.provider.lock("job", operation_timeout=0.2)

    def test_for_ever_ends_by_a_signal(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
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


class Inspecting(unittest.TestCase):
    def setUp(self):
        self.provider = leasehold.connect(NOBODY, server_selection_timeout=0.1)
        self.addCleanup(self.provider.close)

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

    def test_is_waited_for_by_closing(self):
        asked, said = threading.Event(), []

        def inspect(*_):
            asked.set()
            time.sleep(0.1)
            said.append("inspected")
            return 0

        fake = mock.Mock(leasehold_inspect=inspect, leasehold_close=lambda box: said.append("closed"))
        with mock.patch.object(leasehold.lock, "library", fake):
            inspects = threading.Thread(target=self.provider.inspect, args=("job",))
            inspects.start()
            asked.wait()
            self.provider.close()
            inspects.join()
        self.assertEqual(said, ["inspected", "closed"])

    def test_has_the_nearest_date(self):
        date = leasehold.seen._date
        self.assertEqual(date(1500).timestamp(), 1.5)
        self.assertEqual([date(2**62).year, date(-2**62).year], [9999, 1])


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
