"""A worker around this library's lock in Python, by the protocol of scenarios/WORKERS.md."""
import os
import sys
import threading
import time

import leasehold

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../others/python"))
from serve import serve  # noqa: E402


class Lock:
    errors = leasehold.Error

    def __init__(self, uri, database, lease_ms, **_):
        self.provider, self.expiry = leasehold.connect(uri, database=database), lease_ms / 1000

    def acquire(self, name, timeout_s, lost):
        try:
            held = self.provider.lock(name, expiry=self.expiry).acquire(timeout_s)
        except (leasehold.Refused, leasehold.TimedOut):
            return None
        threading.Thread(target=lambda: held.lost.wait() and lost(), daemon=True).start()
        return held

    def granted(self, held):
        at_ns, remaining = time.monotonic_ns(), held.remaining
        held_then = {"at_ns": at_ns, "remaining_ms": int(remaining * 1000)} if remaining else {}
        return {"token": str(held.fencing_token), **held_then}

    def held(self, held):
        return held.held

    def release(self, held):
        return held.release().name.lower()


serve(Lock)
