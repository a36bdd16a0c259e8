"""PyPI mongolock 1.3.4, by the protocol of scenarios/WORKERS.md. It waits by itself, each holding has an owner of its
own, and its user counts `expire` by himself, from the attempt that won."""
import json
import sys
import threading
import time

import mongolock
import pymongo

LIMITS = {"socketTimeoutMS": 2000, "serverSelectionTimeoutMS": 2000}


class Lock(mongolock.MongoLock):
    """Notes when the attempt that won was sent: the one of `lock` itself, or the last."""

    def lock(self, *arguments, **options):
        self.sent = time.monotonic()
        return super().lock(*arguments, **options)

    def _try_get_lock(self, *arguments):
        self.sent = time.monotonic()
        return super()._try_get_lock(*arguments)


class Worker:
    def __init__(self, order):
        self.process, self.lease_s = order["process"], order["lease_ms"] / 1000
        self.collection = pymongo.MongoClient(order["uri"], **LIMITS)[order["database"]]["lock"]
        self.holdings = {}

    def acquire(self, id, asked):
        lock, owner = Lock(collection=self.collection), f"{self.process}/{id}"
        timeout_s = asked["timeout_ms"] / 1000
        if not lock.lock(asked["name"], owner, timeout=timeout_s or None, expire=self.lease_s):
            return "timed_out" if timeout_s else "refused"
        self.holdings[id] = (lock, asked["name"], owner)
        return "granted"

    def ask(self, id, _):
        return "held" if time.monotonic() < self.holdings[id][0].sent + self.lease_s else "not_held"

    def release(self, id, _):
        lock, name, owner = self.holdings[id]
        lock.release(name, owner)  # it does not say whether it still was the owner
        return "released"

    def answer(self, id, asked):
        said = {"id": id, "at_ns": time.monotonic_ns()}
        try:
            said["is"] = getattr(self, asked["do"])(id, asked)
        except pymongo.errors.PyMongoError as error:
            said["is"] = "unknown" if asked["do"] == "release" else "failed"
            said["why"] = str(error)[:200]
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def main():
    worker = Worker(json.loads(sys.stdin.readline()))
    print('{"is": "ready"}', flush=True)
    for asked in map(json.loads, sys.stdin):
        if asked["do"] == "stop":
            return
        threading.Thread(target=worker.answer, args=(asked["id"], asked), daemon=True).start()


main()
