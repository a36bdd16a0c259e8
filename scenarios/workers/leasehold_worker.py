"""A worker around this library's lock in Python, by the protocol of scenarios/WORKERS.md."""
import json
import os
import sys
import threading
import time

import leasehold


def answer(id, is_, **more):
    line = json.dumps({"id": id, "is": is_, **more}) + "\n"
    os.write(1, line.encode())  # one call: threads do not mix their lines


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Worker:
    def __init__(self, uri, database, lease_ms):
        self.provider = leasehold.connect(uri, database=database)
        self.expiry, self.holdings = lease_ms / 1000, {}

    def acquire(self, id, name, timeout_ms):
        try:
            held = self.holdings[id] = self.provider.lock(name, expiry=self.expiry).acquire(timeout_ms / 1000)
        except leasehold.Refused:
            return answer(id, "refused")
        except leasehold.TimedOut:
            return answer(id, "timed_out")
        except leasehold.Error as error:
            return answer(id, "failed", why=f"{error.kind}: {error}"[:200])
        at_ns, remaining = now_ns(), held.remaining
        held_then = {"at_ns": at_ns, "remaining_ms": int(remaining * 1000)} if remaining else {}
        answer(id, "granted", token=str(held.fencing_token), **held_then)
        if held.lost.wait():
            answer(id, "lost")

    def ask(self, id):
        at_ns = now_ns()
        answer(id, "held" if self.holdings[id].held else "not_held", at_ns=at_ns)

    def release(self, id):
        answer(id, self.holdings.pop(id).release().name.lower())


def main():
    worker = None
    for line in sys.stdin:
        asked = json.loads(line)
        do = asked.pop("do")
        if do == "start":
            worker = Worker(asked["uri"], asked["database"], asked["lease_ms"])
            answer(0, "ready")
        elif do == "ask":
            worker.ask(asked["id"])
        elif do == "stop":
            break
        else:
            threading.Thread(target=getattr(worker, do), kwargs=asked, daemon=True).start()
    os._exit(0)  # acquires may still wait


if __name__ == "__main__":
    main()
