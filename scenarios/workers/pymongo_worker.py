"""A small sound lock on PyMongo and its worker, by the protocol of scenarios/WORKERS.md."""
import datetime
import json
import sys
import threading
import time
import uuid

import pymongo

NEVER = datetime.datetime(1970, 1, 1)
MARGIN_MS = 1000  # by so much the clocks of two primaries may differ


class Lock:
    """One document a name, whose token counts its holders. The lease counts from before the request here, and by
    the primary's clock, which needs the margin: the next primary has another one."""
    tells_loss = True

    def __init__(self, uri, database, lease_ms):
        client = pymongo.MongoClient(uri, w="majority", socketTimeoutMS=2000, serverSelectionTimeoutMS=2000)
        self.locks, self.lease_ms = client[database]["python.locks"], lease_ms

    def try_once(self, name):
        return self.take(name, {"$expr": {"$lt": ["$expires", "$$NOW"]}})

    def take(self, name, free):
        owner, sent = uuid.uuid4().hex, time.monotonic()
        self.locks.update_one({"_id": name}, [{"$set": {"expires": {"$ifNull": ["$expires", NEVER]}}}], upsert=True)
        won = self.locks.find_one_and_update(
            {"_id": name, **free},
            [{"$set": {"owner": owner, "expires": {"$add": ["$$NOW", self.lease_ms + MARGIN_MS]},
                       "token": {"$add": [{"$ifNull": ["$token", 0]}, 1]}}}], return_document=True)
        return won and {"name": name, "owner": owner, "until": sent + self.lease_ms / 1000, "token": won["token"]}

    def acquire(self, name, timeout_ms):
        end = time.monotonic() + timeout_ms / 1000
        while not (holding := self.try_once(name)) and time.monotonic() < end:
            time.sleep(0.1)
        return holding

    def held(self, holding):
        return time.monotonic() < holding["until"]

    def release(self, holding):
        mine = {"_id": holding["name"], "owner": holding["owner"]}
        freed = self.locks.update_one(mine, [{"$set": {"owner": None, "expires": NEVER}}])
        return "released" if freed.modified_count else "not_owner"


def serve(make_lock):
    lock, holdings = None, {}

    def answer(id, is_, **more):
        sys.stdout.write(json.dumps({"id": id, "is": is_, **more}) + "\n")
        sys.stdout.flush()

    def acquire(id, name, timeout_ms):
        try:
            if not (holding := lock.acquire(name, timeout_ms)):
                return answer(id, "timed_out" if timeout_ms else "refused")
            timer = holding["timer"] = threading.Timer(holding["until"] - time.monotonic(), lost, (id,))
            timer.daemon, holdings[id] = True, holding
            answer(id, "granted", token=holding["token"])
            timer.start()
        except pymongo.errors.PyMongoError as error:
            answer(id, "failed", why=str(error)[:200])

    def lost(id):
        if lock.tells_loss:
            answer(id, "lost")

    def release(id):
        try:
            holding = holdings.pop(id)
            holding["timer"].cancel()
            answer(id, lock.release(holding))
        except pymongo.errors.PyMongoError:
            answer(id, "unknown")

    for line in sys.stdin:
        asked = json.loads(line)
        do, id = asked["do"], asked.get("id")
        if do == "start":
            lock = make_lock(asked["uri"], asked["database"], asked["lease_ms"])
            answer(0, "ready")
        elif do == "acquire":
            threading.Thread(target=acquire, args=(id, asked["name"], asked["timeout_ms"]), daemon=True).start()
        elif do == "ask":
            at_ns = time.monotonic_ns()
            answer(id, "held" if lock.held(holdings[id]) else "not_held", at_ns=at_ns)
        elif do == "release":
            threading.Thread(target=release, args=(id,), daemon=True).start()
        elif do == "stop":
            return


if __name__ == "__main__":
    serve(Lock)
