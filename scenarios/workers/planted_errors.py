"""The lock of pymongo_worker.py with one error planted, named as argument: for the tests alone."""
import datetime
import sys
import time

from pymongo_worker import NEVER, Lock, serve


class ReleasedByName(Lock):
    def release(self, holding):
        self.locks.update_one({"_id": holding["name"]}, [{"$set": {"owner": None, "expires": NEVER}}])
        return "released"


class ExpiryByClientsClock(Lock):
    def try_once(self, name):
        sent, now = time.monotonic(), datetime.datetime.fromtimestamp(time.time(), datetime.timezone.utc)
        expires = now + datetime.timedelta(milliseconds=self.lease_ms)
        self.locks.update_one({"_id": name}, [{"$set": {"expires": {"$ifNull": ["$expires", NEVER]}}}], upsert=True)
        won = self.locks.update_one({"_id": name, "expires": {"$lt": now}},
                                    {"$set": {"owner": str(sent), "expires": expires}})
        return {"name": name, "owner": str(sent), "until": sent + self.lease_ms / 1000} if won.modified_count else None


class HeldAfterDeadline(Lock):
    def held(self, holding):
        return True


class Hangs(Lock):
    def held(self, holding):
        self.asked = getattr(self, "asked", 0) + 1
        if self.asked > 50:
            time.sleep(3600)
        return super().held(holding)


serve({"released-by-name": ReleasedByName, "expiry-by-clients-clock": ExpiryByClientsClock,
       "held-after-deadline": HeldAfterDeadline, "hangs": Hangs}[sys.argv[1]])
