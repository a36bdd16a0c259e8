"""What the package does with a replica set, LEASEHOLD_URI."""
import asyncio
import concurrent.futures
import gc
import os
import select
import signal
import subprocess
import sys
import threading
import unittest
from datetime import datetime, timedelta, timezone

import bson
import pymongo

import leasehold

URI = os.environ["LEASEHOLD_URI"]


class Live(unittest.TestCase):
    def setUp(self):
        self.provider = leasehold.connect(URI, database="python_live", holder="python")
        self.addCleanup(self.provider.close)

    def lock(self, **options):
        return self.provider.lock(self.id(), **options)

    def documents(self):
        collection = pymongo.MongoClient(URI)["python_live"]["distributed.locks"]
        return list(collection.find({"_id": self.id()}))

    def test_a_lock_is_held_inside_the_block_alone(self):
        with self.lock().acquire(timeout=timedelta(seconds=10)) as held:
            self.assertTrue(held.held)
            self.assertTrue(20 < held.remaining <= 30)
            self.assertTrue(self.documents()[0]["lockId"].endswith(".python"))
            with self.assertRaises(leasehold.Refused):
                self.lock().acquire(timeout=0)
        self.assertFalse(held.held)
        self.assertEqual(held.remaining, 0)
        self.assertEqual(self.documents(), [])
        self.assertEqual(held.release(), leasehold.ReleaseResult.RELEASED, "the first answer again")

    def test_an_exception_in_the_block_releases_and_is_raised(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            with self.lock().acquire(10):
                1 / 0
        self.assertEqual(self.documents(), [])

    def test_tokens_rise_in_both_forms_and_the_timestamp_is_the_oplogs(self):
        before = None
        for _ in range(5):
            with self.lock().acquire(10) as held:
                now = (held.fencing_token, bson.Timestamp(*held.timestamp))
                admin = pymongo.MongoClient(URI).admin
                self.assertLessEqual(now[1], admin.command("ping")["operationTime"])
            self.assertTrue(before is None or (before[0] < now[0] and before[1] < now[1]))
            before = now

    def test_a_loss_is_noticed_by_those_who_wait_for_it(self):
        held = self.lock(max_holding=0.3).acquire(10)
        self.assertFalse(held.lost.is_set())
        self.assertFalse(held.lost.wait(timedelta(milliseconds=1)))
        with self.assertRaises(leasehold.InvalidOption):
            held.lost.wait(-1)
        self.assertTrue(held.lost.wait(10))
        self.assertTrue(held.lost.is_set())
        self.assertFalse(held.held)
        self.assertIn("not held", repr(held))

    def test_a_release_is_no_loss_and_wakes_those_who_wait(self):
        held, heard = self.lock().acquire(10), []
        watcher = threading.Thread(target=lambda lost: heard.append(lost.wait()), args=(held.lost,))
        watcher.start()
        held.release()
        watcher.join(10)
        self.assertEqual(heard, [False])

    def test_one_that_nobody_refers_to_is_released(self):
        held = self.lock().acquire(10)
        del held
        gc.collect()
        self.lock().acquire(10).release()

    def test_a_call_that_is_left_by_an_exception_gives_back_what_it_won(self):
        with self.assertRaises(ZeroDivisionError):
            with self.lock()._call(10) as call:  # as acquire does; a signal may come at any moment
                self.assertTrue(select.select([call], [], [], 10)[0])
                1 / 0
        self.lock().acquire(10).release()

    def test_readers_share_the_lock_and_a_writer_waits_for_them(self):
        other = leasehold.connect(URI, database="python_live")
        self.addCleanup(other.close)
        with self.lock().acquire(10, shared=True) as mine, other.lock(self.id()).acquire(10, shared=True) as theirs:
            self.assertTrue(mine.shared and theirs.shared)
            self.assertNotEqual(mine.fencing_token, theirs.fencing_token)
            self.assertEqual(other.inspect(self.id()).readers, 2)
            with self.assertRaises(leasehold.Refused):
                other.lock(self.id()).acquire(0)
        with self.lock().acquire(10) as writer:
            self.assertFalse(writer.shared)
            self.assertEqual(other.inspect(self.id()).readers, 0)
            with self.assertRaises(leasehold.TimedOut):
                asyncio.run(other.lock(self.id()).acquire_async(0.2, shared=True))
            with writer.downgrade() as reading, other.lock(self.id()).acquire(10, shared=True):
                self.assertTrue(reading.held and reading.shared and not writer.held)
                self.assertGreater(reading.fencing_token, writer.fencing_token)

    def test_a_timeout_is_kept_while_another_holds(self):
        with self.lock().acquire(10), self.assertRaises(leasehold.TimedOut):
            self.lock().acquire(0.1)

    def test_asyncio_waits_without_a_thread_and_cancels(self):
        async def compete():
            async with await self.lock().acquire_async(10) as first:
                threads = threading.active_count()
                waiting = asyncio.ensure_future(self.lock().acquire_async(10))
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(self.lock().acquire_async(), 0.1)
                self.assertLessEqual(threading.active_count(), threads)
            second = await waiting
            self.assertGreater(second.fencing_token, first.fencing_token)
            second.release()

        asyncio.run(compete())

    def test_leaving_an_async_block_releases_whatever_the_executor_does_and_if_it_is_cancelled(self):
        async def leave():
            loop, busy = asyncio.get_running_loop(), threading.Event()
            loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
            loop.run_in_executor(None, busy.wait)
            async with await self.lock().acquire_async(10) as held:
                pass
            self.assertEqual(self.documents(), [])

            async def hold(entered):
                async with await self.lock().acquire_async(10) as held:
                    entered.set_result(held)

            for _ in range(int(os.environ.get("LEASEHOLD_ROUNDS", "5"))):
                entered = loop.create_future()
                task = asyncio.ensure_future(hold(entered))
                held = await entered
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                self.assertFalse(held.held)
                self.assertEqual(held.release(), leasehold.ReleaseResult.RELEASED)
            busy.set()

        asyncio.run(leave())

    def test_a_semaphore_has_so_many_slots_at_once(self):
        semaphore = self.provider.semaphore(self.id(), 2, expiry=20)
        with semaphore.acquire(10) as first, semaphore.acquire(0) as second:
            self.assertEqual({first.slot, second.slot}, {0, 1})
            self.assertEqual(self.provider.inspect(self.id()).readers, 2)
            with self.assertRaisesRegex(leasehold.Refused, "all 2 permits are taken"):
                semaphore.acquire(0)
            with self.assertRaisesRegex(leasehold.Configuration, "all must give the same number"):
                self.provider.semaphore(self.id(), 3, expiry=20).acquire(0)
            second.release()

            async def wait():
                async with await semaphore.acquire_async(10) as third:
                    return third.slot

            self.assertEqual(asyncio.run(wait()), second.slot)
            self.assertIn(f"Permit '{self.id()}' token {first.fencing_token}, held", repr(first))

    def test_leaders_lead_one_after_the_other_and_pass_the_lock_on(self):
        guard, now, tokens, ended = threading.Lock(), [], [], []

        def work(stop, token):
            with guard:
                now.append(token)
                self.assertEqual(now, [token], "one leads")
                tokens.append(token)
            stop.wait(0.05)
            with guard:
                now.remove(token)

        # Pauses are shorter than the waiting of a call that polls, and the queue is served by turns nevertheless.
        leaderships = [leasehold.Leadership(self.lock(), work, on_ended=lambda term, i=i: ended.append((i, term)), pause=0.01)
                       for i in range(3)]
        threads = [threading.Thread(target=one.run) for one in leaderships]
        for thread in threads:
            thread.start()
        while len(ended) < 9:
            threading.Event().wait(0.01)
        for one in leaderships:
            one.stop()
        for thread in threads:
            thread.join()
        self.assertEqual(tokens, sorted(set(tokens)))
        self.assertEqual({i for i, _ in ended}, {0, 1, 2})
        self.assertEqual({(term.lost, term.failure) for _, term in ended}, {(False, None)})
        self.provider.close()  # waits for what calls had under way that were stopped
        with leasehold.connect(URI, database="python_live") as other:
            self.assertIsNone(other.inspect(self.id()))

    def test_a_leader_whose_lock_is_stolen_is_told(self):
        def work(stop, token):
            collection = pymongo.MongoClient(URI)["python_live"]["distributed.locks"]
            collection.delete_one({"_id": self.id()})
            self.assertTrue(stop.wait(10))
            leadership.stop()

        def hear(term):
            self.assertIsNone(term.failure)
            ended.append(term)

        ended = []
        leadership = leasehold.Leadership(self.lock(expiry=1), work, on_ended=hear)
        leadership.run()
        self.assertEqual((ended[0].lost, ended[0].release), (True, leasehold.ReleaseResult.NOT_OWNER))

    def test_a_term_goes_on_when_its_provider_is_closed(self):
        def work(stop, token):
            self.provider.close()
            self.assertEqual(leadership.leading, token)
            self.assertFalse(stop.is_set())

        leadership = leasehold.Leadership(self.lock(), work, pause=0, on_ended=lambda term: self.assertIsNone(term.failure))
        with self.assertRaises(leasehold.ShutDown):
            leadership.run()
        self.assertEqual(self.documents(), [])

    def test_an_inspection_says_who_holds(self):
        self.assertIsNone(self.provider.inspect(self.id()))
        with self.lock(expiry=20, clock_margin=15).acquire(10) as held:
            seen = self.provider.inspect(self.id(), timedelta(seconds=10))
            self.assertEqual((seen.holder, seen.lease), ("python", 20))
            self.assertLessEqual(seen.token_at_least, held.fencing_token)
            self.assertGreater(seen.token_at_least, held.fencing_token - 2**32)  # of its second
            self.assertLess(abs(seen.since - datetime.now(timezone.utc)), timedelta(minutes=1))
            self.assertEqual(seen.until - seen.since, timedelta(seconds=35))
            self.assertTrue(25 < seen.left <= 35)
        self.assertIsNone(self.provider.inspect(self.id()))

    def test_a_corrupt_document_is_warned_of_by_logging(self):
        collection = pymongo.MongoClient(URI)["python_live"]["distributed.locks"]
        collection.insert_one({"_id": self.id(), "lockId": 7})
        self.addCleanup(collection.delete_one, {"_id": self.id()})
        with self.assertLogs("leasehold", "WARNING") as logged:
            with self.assertRaises(leasehold.Refused):
                self.lock().acquire(0)
            self.provider.close()  # waits for callbacks
        self.assertIn("counts as held until it is deleted by hand", logged.output[0])

    def test_an_interpreter_that_ends_amid_a_warning_ends_well(self):
        collection = pymongo.MongoClient(URI)["python_live"]["other_index"]
        collection.create_index("expiresAt", expireAfterSeconds=77)  # so ours cannot be made
        self.addCleanup(collection.drop)
        program = f"""
import threading, time, leasehold
warned = threading.Event()
def hear(said):
    warned.set()
    for _ in range(1000):
        time.sleep(0.0001)  # and take the interpreter again
    print(said, flush=True)
provider = leasehold.connect({URI!r}, database="python_live", collection="other_index", on_warning=hear)
held = provider.lock("lock").acquire(10)
warned.wait()
"""
        for _ in range(int(os.environ.get("LEASEHOLD_ROUNDS", "3"))):
            ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn(b"index", ran.stdout)

    def test_a_warning_may_take_locks_and_hang_for_ever_without_delaying_others_or_the_exit(self):
        collection = pymongo.MongoClient(URI)["python_live"]["other_index"]
        collection.create_index("expiresAt", expireAfterSeconds=77)  # so ours cannot be made
        self.addCleanup(collection.drop)
        program = f"""
import asyncio, threading, leasehold
warned = threading.Event()
def hear(said):
    with provider.lock("log").acquire(timeout=20):
        print("logged", flush=True)
    warned.set()
    threading.Event().wait()
provider = leasehold.connect({URI!r}, database="python_live", collection="other_index", on_warning=hear)
held = provider.lock("lock").acquire(20)
assert warned.wait(60)
async def others():
    with provider.semaphore("slots", 2).acquire(20):
        pass
    async with await provider.lock("free").acquire_async(20):
        waits = asyncio.create_task(provider.lock("lock").acquire_async())
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.wait((waits,))
        assert waits.cancelled()
asyncio.run(others())
"""
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
        self.assertEqual((ran.returncode, ran.stdout), (0, b"logged\n"), ran.stderr)

    def test_a_process_that_ends_or_forks_leaves_no_lock_behind_and_takes_none(self):
        program = f"""
import os, leasehold
held = leasehold.connect({URI!r}, database="python_live").lock({self.id()!r}).acquire(10)
child = os.fork()
if child == 0:
    os._exit(held.held)
assert os.waitpid(child, 0)[1] == 0, "the lock is the parent's"
assert held.held
"""
        subprocess.run([sys.executable, "-c", program], check=True)
        self.assertEqual(self.documents(), [])

    def test_a_killed_process_loses_its_lock_to_one_that_waits(self):
        program = f"""
import leasehold
held = leasehold.connect({URI!r}, database="python_live").lock({self.id()!r}, expiry=1).acquire(10)
print(held.fencing_token, flush=True)
input()
"""
        holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        token = int(holder.stdout.readline())
        holder.send_signal(signal.SIGKILL)
        with holder, self.lock(expiry=1).acquire(10) as held:
            self.assertGreater(held.fencing_token, token)


if __name__ == "__main__":
    unittest.main()
