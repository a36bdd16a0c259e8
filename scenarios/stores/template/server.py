"""A small lock server, in place of yours: one line a question, one line an answer. It keeps on disk what it granted."""
import json, os, pathlib, socketserver, sys, threading, time

port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
mutex = threading.Lock()
state = {"token": 0, "held": {}}  # by name: [owner, lease in ms]
ends = {}  # by name: when the lease is over, by a clock that nobody moves


def keep():
    with open(folder / "state.new", "w", encoding="utf-8") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(folder / "state.new", folder / "state")


def acquire(name, owner, lease_ms):
    if name in state["held"] and time.monotonic() < ends[name]:
        return "taken"
    state["token"] += 1
    state["held"][name] = [owner, int(lease_ms)]
    ends[name] = time.monotonic() + int(lease_ms) / 1000
    keep()
    return f"granted {state['token']}"


def release(name, owner):
    if state["held"].get(name, [""])[0] != owner:
        return "not_owner"
    del state["held"][name]
    keep()
    return "released"


class Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        for line in self.rfile:
            verb, *arguments = line.decode().split()
            with mutex:
                answer = {"acquire": acquire, "release": release, "ping": lambda: "pong"}[verb](*arguments)
                print(f"{time.time():.3f} {line.decode().strip()}: {answer}", flush=True)
            self.wfile.write(answer.encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


if (folder / "state").exists():  # it was killed: each lease may have begun just before
    state = json.loads((folder / "state").read_text(encoding="utf-8"))
    ends = {name: time.monotonic() + lease_ms / 1000 for name, (_, lease_ms) in state["held"].items()}
with Server(("127.0.0.1", port), Connection) as server:
    server.serve_forever()
