"""A worker in Python, by the protocol of scenarios/WORKERS.md: your own lock goes between the marks."""
import json, sys, threading, time, uuid

import pymongo

# >>> YOUR LOCK: connects; makes one attempt; says whether it is held; releases
class Lock:
    def __init__(self, uri, database, lease_ms):
        limits = {"socketTimeoutMS": 2000, "serverSelectionTimeoutMS": 2000}
        self.locks = pymongo.MongoClient(uri, w="majority", **limits)[database]["python.locks"]
        self.lease_ms = lease_ms

    def attempt(self, name):  # None: somebody else has it
        owner, until = uuid.uuid4().hex, time.monotonic() + self.lease_ms / 1000
        free = {"$lt": ["$expires", "$$NOW"]}  # or there is none
        mine = {"_id": "$_id", "owner": owner, "expires": {"$add": ["$$NOW", self.lease_ms]}}
        found = self.locks.find_one_and_update(
            {"_id": name}, [{"$replaceWith": {"$cond": [free, mine, "$$ROOT"]}}],
            upsert=True, return_document=pymongo.ReturnDocument.AFTER)
        return (name, owner, until) if found["owner"] == owner else None

    def held(self, holding):
        return time.monotonic() < holding[2]

    def release(self, holding):
        freed = self.locks.delete_one({"_id": holding[0], "owner": holding[1]})
        return "released" if freed.deleted_count else "not_owner"
# <<< YOUR LOCK


def acquire(id, name, timeout_ms):
    end = time.monotonic() + timeout_ms / 1000
    while not (won := lock.attempt(name)) and time.monotonic() < end:
        time.sleep(0.1)
    holdings[id] = won
    return "granted" if won else "timed_out" if timeout_ms else "refused"


def answer(id, asked):
    at_ns, why = time.monotonic_ns(), ""
    try:
        is_ = {"acquire": lambda: acquire(id, asked["name"], asked["timeout_ms"]),
               "ask": lambda: "held" if lock.held(holdings[id]) else "not_held",
               "release": lambda: lock.release(holdings[id])}[asked["do"]]()
    except pymongo.errors.PyMongoError as error:
        is_, why = "unknown" if asked["do"] == "release" else "failed", str(error)[:200]
    sys.stdout.write(json.dumps({"id": id, "is": is_, "at_ns": at_ns, "why": why}) + "\n")
    sys.stdout.flush()


holdings = {}
for asked in map(json.loads, sys.stdin):
    if asked["do"] == "stop":
        break
    if asked["do"] == "start":
        lock = Lock(asked["uri"], asked["database"], asked["lease_ms"])
        print('{"is": "ready"}', flush=True)
    else:
        threading.Thread(target=answer, args=(asked["id"], asked), daemon=True).start()
