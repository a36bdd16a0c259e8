"""A worker for the template's server, by the protocol of scenarios/WORKERS.md: your own client goes between the marks."""
import json, socket, sys, threading, time, uuid


# >>> YOUR LOCK: connects; makes one attempt; says whether it is held; releases
class Lock:
    def __init__(self, uri, database, lease_ms):
        self.host, self.port = uri.removeprefix("lock://").split(":")
        self.database, self.lease_ms, self.idle = database, lease_ms, []

    def ask(self, *words):  # on a connection that no other question waits on
        try:
            opened = self.idle.pop()
        except IndexError:
            opened = socket.create_connection((self.host, int(self.port)), 2)
        try:
            opened.sendall(" ".join(words).encode() + b"\n")
            said = opened.recv(1000)  # an answer is one small packet
            if not said:
                raise ConnectionError("the server ended")
        except OSError:
            opened.close()  # its answer may come later
            raise
        self.idle.append(opened)
        return said.decode().split()

    def attempt(self, name):  # None: another has it
        owner, until = uuid.uuid4().hex, time.monotonic() + self.lease_ms / 1000
        said, *token = self.ask("acquire", f"{self.database}.{name}", owner, str(self.lease_ms))
        return (name, owner, until, token[0]) if said == "granted" else None

    def held(self, holding):
        return time.monotonic() < holding[2]

    def release(self, holding):
        return self.ask("release", f"{self.database}.{holding[0]}", holding[1])[0]
# <<< YOUR LOCK


def acquire(id, name, timeout_ms):
    end = time.monotonic() + timeout_ms / 1000
    while not (won := lock.attempt(name)) and time.monotonic() < end:
        time.sleep(0.1)
    if not won:
        return {"is": "timed_out" if timeout_ms else "refused"}
    holdings[id] = won
    return {"is": "granted", "token": won[3]}


def answer(id, asked):
    at_ns = time.monotonic_ns()
    try:
        said = {"acquire": lambda: acquire(id, asked["name"], asked["timeout_ms"]),
                "ask": lambda: {"is": "held" if lock.held(holdings[id]) else "not_held"},
                "release": lambda: {"is": lock.release(holdings[id])}}[asked["do"]]()
    except OSError as error:
        said = {"is": "unknown" if asked["do"] == "release" else "failed", "why": str(error)[:200]}
    sys.stdout.write(json.dumps({"id": id, "at_ns": at_ns, **said}) + "\n")
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
