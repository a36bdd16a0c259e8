"""The Lock of kazoo on ZooKeeper, by the protocol of scenarios/WORKERS.md. As its page advises, a listener watches the
connection: "A client should not assume that locks are valid" while it is SUSPENDED, so that is a loss here, as LOST is.
The session's time-out is the lease; the server may make it longer."""
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, LockTimeout
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState
from serve import serve


class Holding:
    def __init__(self, lock, lost):
        self.lock, self.lost, self.over = lock, lost, False


class ZooKeeperLock:
    errors = (KazooException, KazooTimeoutError)

    def __init__(self, uri, database, lease_ms, **_):
        self.client = KazooClient(uri.removeprefix("zookeeper://"), timeout=lease_ms / 1000)
        self.client.add_listener(self.connection)
        self.path, self.mutex, self.holdings = f"/{database}", threading.Lock(), set()
        self.client.start(timeout=30)

    def connection(self, state):
        """Runs in the thread of the connection, which must not be kept."""
        if state == KazooState.CONNECTED:
            return
        with self.mutex:
            lost, self.holdings = self.holdings, set()
            for holding in lost:
                self.lose(holding)

    @staticmethod
    def lose(holding):
        holding.over = True
        holding.lost()

    def acquire(self, name, timeout_s, lost):
        lock = self.client.Lock(f"{self.path}/{name}")
        try:
            won = lock.acquire(blocking=timeout_s > 0, timeout=timeout_s or None)
        except LockTimeout:
            won = False
        if not won:
            return None
        holding = Holding(lock, lost)
        with self.mutex:
            if self.client.state == KazooState.CONNECTED:
                self.holdings.add(holding)
            else:
                self.lose(holding)
        return holding

    def held(self, holding):
        return not holding.over

    def release(self, holding):
        with self.mutex:
            self.holdings.discard(holding)
        holding.lock.release()
        return "not_owner" if holding.over else "released"


serve(ZooKeeperLock)
