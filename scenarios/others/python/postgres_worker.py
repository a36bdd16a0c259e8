"""Advisory locks of PostgreSQL by psycopg, by the protocol of scenarios/WORKERS.md: postgres_worker.py session|transaction.

Each holding has a connection, because a session gets a lock that it has already. A session's end is all that its user
can hear of a loss: he looks, without a request, whether the server closed the connection."""
import hashlib
import queue
import select
import sys
import urllib.parse

import psycopg
from serve import serve

LOCKS = {  # how it is acquired: waiting, trying once
    "session": ("pg_advisory_lock", "pg_try_advisory_lock"),
    "transaction": ("pg_advisory_xact_lock", "pg_try_advisory_xact_lock")}


class AdvisoryLock:
    errors = psycopg.Error

    def __init__(self, uri, database, **_):
        more = urllib.parse.urlencode({"connect_timeout": 2, "application_name": database})
        self.uri, self.database = f"{uri}{'&' if '?' in uri else '?'}{more}", database
        self.level, self.idle = sys.argv[1], queue.SimpleQueue()

    def connection(self):
        while True:
            try:
                connection = self.idle.get_nowait()
            except queue.Empty:
                return psycopg.connect(self.uri, autocommit=True)
            if open_still(connection):
                return connection
            connection.close()

    def acquire(self, name, timeout_s, _, shared=False):
        connection, kind = self.connection(), "_shared" * shared
        try:
            if self.take(connection, self.key(name), timeout_s, kind):
                return connection, name, kind
        except psycopg.errors.LockNotAvailable:  # the end of lock_timeout
            pass
        except BaseException:
            connection.close()
            raise
        self.give_back(connection)
        return None

    def key(self, name):
        return int.from_bytes(hashlib.sha256(f"{self.database}/{name}".encode()).digest()[:8], signed=True)

    def take(self, connection, key, timeout_s, kind):
        waiting, trying = LOCKS[self.level]
        if self.level == "transaction":
            connection.execute("BEGIN")
        if not timeout_s:
            return connection.execute(f"SELECT {trying}{kind}(%s)", (key,)).fetchone()[0]
        connection.execute(f"SET lock_timeout = {max(1, round(timeout_s * 1000))}")
        connection.execute(f"SELECT {waiting}{kind}(%s)", (key,))
        return True

    def give_back(self, connection):
        if self.level == "transaction":
            connection.execute("ROLLBACK")
        self.idle.put(connection)

    def held(self, holding):
        return open_still(holding[0])

    def release(self, holding):
        connection, name, kind = holding
        try:
            if self.level == "transaction":
                connection.execute("COMMIT")
                freed = True
            else:
                freed = connection.execute(f"SELECT pg_advisory_unlock{kind}(%s)", (self.key(name),)).fetchone()[0]
        except psycopg.Error:
            connection.close()
            raise
        self.idle.put(connection)
        return "released" if freed else "not_owner"


def open_still(connection):
    """Reads all that has arrived: a last message may stand before the end, which libpq notes when it reads it."""
    try:
        while not connection.closed and select.select([connection.fileno()], [], [], 0)[0]:
            connection.pgconn.consume_input()
    except psycopg.OperationalError:
        return False
    return not connection.closed


serve(AdvisoryLock)
