"""The protocol of scenarios/WORKERS.md for a lock whose calls block: each question but `ask` has a thread of its own."""
import json
import os
import sys
import threading
import time


def say(id, is_, **more):
    os.write(1, (json.dumps({"id": id, "is": is_, **more}) + "\n").encode())  # one call: threads do not mix their lines


class Serve:
    """`lock` has `errors`, what its calls may throw, and:
      acquire(name, timeout_s, lost)  a holding, or None if another has it; `lost` may be called once, after a loss;
                                      a lock that shares gets `shared`, too
      held(holding)                   what its user would hear now, without asking a server
      release(holding)                "released", "not_owner" or "unknown"
    and may have granted(holding): more members of that answer."""

    def __init__(self, lock):
        self.lock, self.holdings = lock, {}

    def acquire(self, id, name, timeout_ms, **shared):
        granted = threading.Event()

        def lost():  # it is said after the grant
            threading.Thread(target=lambda: granted.wait() and say(id, "lost"), daemon=True).start()

        try:
            holding = self.lock.acquire(name, timeout_ms / 1000, lost, **shared)
        except self.lock.errors as error:
            return say(id, "failed", why=f"{type(error).__name__}: {error}"[:200])
        if holding is None:
            return say(id, "timed_out" if timeout_ms else "refused")
        self.holdings[id] = holding
        more = self.lock.granted(holding) if hasattr(self.lock, "granted") else {}
        say(id, "granted", **more)
        granted.set()

    def ask(self, id):
        at_ns = time.monotonic_ns()
        say(id, "held" if self.lock.held(self.holdings[id]) else "not_held", at_ns=at_ns)

    def release(self, id):
        try:
            say(id, self.lock.release(self.holdings.pop(id)))
        except self.lock.errors as error:
            say(id, "unknown", why=f"{type(error).__name__}: {error}"[:200])


def serve(make_lock):
    """`make_lock` gets the members of `start`, but for `do`, by name."""
    order = json.loads(sys.stdin.readline())
    order.pop("do")
    serves = Serve(make_lock(**order))
    say(0, "ready")
    for asked in map(json.loads, sys.stdin):
        do = asked.pop("do")
        if do == "stop":
            break
        if do == "ask":
            serves.ask(**asked)
        else:
            threading.Thread(target=getattr(serves, do), kwargs=asked, daemon=True).start()
    os._exit(0)  # acquires may still wait
