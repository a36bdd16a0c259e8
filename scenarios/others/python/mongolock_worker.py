"""PyPI mongolock 1.3.4, by the protocol of scenarios/WORKERS.md. It waits by itself, each holding has an owner of its
own, and its user counts `expire` by himself, from the attempt that won."""
import itertools
import time

import mongolock
import pymongo
from serve import serve

LIMITS = {"socketTimeoutMS": 2000, "serverSelectionTimeoutMS": 2000}


class Noted(mongolock.MongoLock):
    """Notes when the attempt that won was sent: the one of `lock` itself, or the last."""

    def lock(self, *arguments, **options):
        self.sent = time.monotonic()
        return super().lock(*arguments, **options)

    def _try_get_lock(self, *arguments):
        self.sent = time.monotonic()
        return super()._try_get_lock(*arguments)


class Lock:
    errors = pymongo.errors.PyMongoError

    def __init__(self, uri, database, lease_ms, process):
        self.collection = pymongo.MongoClient(uri, **LIMITS)[database]["lock"]
        self.process, self.lease_s, self.count = process, lease_ms / 1000, itertools.count()

    def acquire(self, name, timeout_s, _):
        lock, owner = Noted(collection=self.collection), f"{self.process}/{next(self.count)}"
        won = lock.lock(name, owner, timeout=timeout_s or None, expire=self.lease_s)
        return (lock, name, owner) if won else None

    def held(self, holding):
        return time.monotonic() < holding[0].sent + self.lease_s

    def release(self, holding):
        lock, name, owner = holding
        lock.release(name, owner)  # it does not say whether it still was the owner
        return "released"


serve(Lock)
