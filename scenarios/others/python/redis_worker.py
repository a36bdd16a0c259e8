"""The Lock of redis-py, by the protocol of scenarios/WORKERS.md, on one server or behind sentinels. Its `timeout` is "a
maximum life for the lock", and its user counts it by himself, from the attempt that won."""
import time
import urllib.parse

import redis
from redis.lock import Lock
from redis.sentinel import Sentinel
from serve import serve

LIMITS = {"socket_timeout": 2, "socket_connect_timeout": 2}


class Noted(Lock):
    """Notes when the last attempt was sent."""

    def do_acquire(self, token):
        self.sent = time.monotonic()
        return super().do_acquire(token)


class RedisLock:
    errors = redis.RedisError

    def __init__(self, uri, database, lease_ms, **_):
        parts = urllib.parse.urlsplit(uri)
        hosts = [(host, int(port)) for host, port in (one.split(":") for one in parts.netloc.split(","))]
        if parts.scheme == "redis-sentinel":
            self.client = Sentinel(hosts, **LIMITS).master_for(parts.path[1:], **LIMITS)
        else:
            self.client = redis.Redis(*hosts[0], **LIMITS)
        self.database, self.lease_s = database, lease_ms / 1000

    def acquire(self, name, timeout_s, _):
        # A thread of its own acquires, and another one releases.
        lock = self.client.lock(f"{self.database}/{name}", timeout=self.lease_s, thread_local=False, lock_class=Noted)
        won = lock.acquire(blocking_timeout=timeout_s) if timeout_s else lock.acquire(blocking=False)
        return lock if won else None

    def held(self, lock):
        return time.monotonic() < lock.sent + self.lease_s

    def release(self, lock):
        try:
            lock.release()
            return "released"
        except redis.exceptions.LockNotOwnedError:
            return "not_owner"


serve(RedisLock)
