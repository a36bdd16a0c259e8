"""The lock of pymongo_worker.py with one error planted, named as argument: for the tests alone.
planted_errors_check.py runs each until it is noticed, and wants it to be by one of these:

| error                   | must be noticed by                                                            |
|-------------------------|-------------------------------------------------------------------------------|
| released-by-name        | G6: a late release frees the next holder's lock; G2: a third gets it          |
| no-expiry               | G7: nobody gets a dead holder's lock                                          |
| expiry-by-clients-clock | G1, G2: a process whose clock is ahead takes a lock that is held              |
| token-per-process       | G4: tokens fall, or come twice, when another process has the lock             |
| lost-never-told         | G5: another has the lock, and its holder was told nothing                     |
| retry-takes-twice       | G2: an attempt without an answer is made again, whoever holds the lock        |
| held-after-deadline     | G2: it answers "held" when another has the lock; G5: and after it said "lost" |
| hangs                   | protocol: a question has no answer                                            |
"""
import datetime
import itertools
import sys
import time

import pymongo
from pymongo_worker import NEVER, Lock, serve


class ReleasedByName(Lock):
    def release(self, holding):
        self.locks.update_one({"_id": holding["name"]}, [{"$set": {"owner": None, "expires": NEVER}}])
        return "released"


class NoExpiry(Lock):
    def try_once(self, name):
        return self.take(name, {"expires": NEVER})


class ExpiryByClientsClock(Lock):
    def try_once(self, name):
        sent, now = time.monotonic(), datetime.datetime.fromtimestamp(time.time(), datetime.timezone.utc)
        expires = now + datetime.timedelta(milliseconds=self.lease_ms)
        self.locks.update_one({"_id": name}, [{"$set": {"expires": {"$ifNull": ["$expires", NEVER]}}}], upsert=True)
        won = self.locks.find_one_and_update(
            {"_id": name, "expires": {"$lt": now}},
            {"$set": {"owner": str(sent), "expires": expires}, "$inc": {"token": 1}}, return_document=True)
        return won and {"name": name, "owner": str(sent), "until": sent + self.lease_ms / 1000, "token": won["token"]}


class TokenPerProcess(Lock):
    tokens = itertools.count(1)

    def try_once(self, name):
        won = super().try_once(name)
        return won and {**won, "token": next(self.tokens)}


class LostNeverTold(Lock):
    tells_loss = False


class RetryTakesTwice(Lock):
    def try_once(self, name):
        try:
            return super().try_once(name)
        except pymongo.errors.PyMongoError:
            return self.take(name, {})


class HeldAfterDeadline(Lock):
    def held(self, holding):
        return True


class Hangs(Lock):
    def held(self, holding):
        self.asked = getattr(self, "asked", 0) + 1
        if self.asked > 50:
            time.sleep(3600)
        return super().held(holding)


serve({"released-by-name": ReleasedByName, "no-expiry": NoExpiry, "expiry-by-clients-clock": ExpiryByClientsClock,
       "token-per-process": TokenPerProcess, "lost-never-told": LostNeverTold, "retry-takes-twice": RetryTakesTwice,
       "held-after-deadline": HeldAfterDeadline, "hangs": Hangs}[sys.argv[1]])
