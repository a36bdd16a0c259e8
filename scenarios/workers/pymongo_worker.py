"""A small sound lock on PyMongo and its worker, by the protocol of scenarios/WORKERS.md."""
import datetime
import os
import sys
import threading
import time
import uuid

import pymongo

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../others/python"))
from serve import serve  # noqa: E402

NEVER = datetime.datetime(1970, 1, 1)
MARGIN_MS = 1000  # by so much the clocks of two primaries may differ


class Lock:
    """One document a name, whose token counts its holders. The lease counts from before the request here, and by
    the primary's clock, which needs the margin: the next primary has another one."""
    tells_loss = True
    errors = pymongo.errors.PyMongoError

    def __init__(self, uri, database, lease_ms, **_):
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

    def acquire(self, name, timeout_s, lost):
        end = time.monotonic() + timeout_s
        while not (holding := self.try_once(name)):
            if time.monotonic() >= end:
                return None
            time.sleep(0.1)
        timer = holding["timer"] = threading.Timer(holding["until"] - time.monotonic(), lost)
        timer.daemon = True
        if self.tells_loss:
            timer.start()
        return holding

    def granted(self, holding):
        return {"token": holding["token"]}

    def held(self, holding):
        return time.monotonic() < holding["until"]

    def release(self, holding):
        holding["timer"].cancel()
        mine = {"_id": holding["name"], "owner": holding["owner"]}
        freed = self.locks.update_one(mine, [{"$set": {"owner": None, "expires": NEVER}}])
        return "released" if freed.modified_count else "not_owner"


if __name__ == "__main__":
    serve(Lock)
