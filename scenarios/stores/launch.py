"""What scripts and tests start: a store, a replica set, and workers.

A store is a name in this folder, or the path of a script with the same verbs. Its members listen where they say that
they do, so there are no proxies. Nothing of it is left behind, also when the program is killed: a janitor ends the
members once the pipe to it is closed."""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
READY_WITHIN_S, ANSWER_WITHIN_S = 60, 30
ENDS_WITHIN_S = 5  # from the end of a pipe to the end of its process
# Reads process groups; when no more can come it ends them and removes the folder, into which a server that is being
# killed may still write.
JANITOR = """
while read -r group; do groups="$groups -$group"; done
[ -z "$groups" ] || kill -s KILL -- $groups
for _ in $(seq 50); do rm -rf "$0" && exit; sleep 0.1; done
"""


class Misbehaves(RuntimeError):
    """A worker or a store does not do what it should; the text says what."""


def processes():
    """{pid: (its parent, its processor time in s, its name)}"""
    found, tick_s = {}, 1 / os.sysconf("SC_CLK_TCK")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            name, _, fields = file.read().rpartition(")")
            fields = fields.split()
            found[int(pid)] = int(fields[1]), (int(fields[11]) + int(fields[12])) * tick_s, name.partition("(")[2]
    return found


class Worker:
    """A process of a worker, by the protocol of scenarios/WORKERS.md."""

    def __init__(self, command, **start):
        self.named, self.lost = f"worker {start['process']} ('{command}')", []
        self.process = subprocess.Popen(["sh", "-c", f"exec {command}"], start_new_session=True, bufsize=0,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        self._rest, self._heard = b"", {}  # by id: answers, with the time when they came
        self.say("start", **start)

    def say(self, do, **more):
        try:
            self.process.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
        except OSError as why:
            raise self._gone("reads no question any more") from why

    def read(self):
        """The answers that have come by now."""
        chunk = self.process.stdout.read()
        if chunk == b"":
            raise self._gone("closed its standard output")
        *lines, self._rest = (self._rest + (chunk or b"")).split(b"\n")
        try:
            return [json.loads(line) for line in lines]
        except ValueError as why:
            raise Misbehaves(f"{self.named} says {lines}: it must be JSON ({why})") from why

    def _gone(self, closed):
        """The error of a closed pipe: that the process ended says more, whichever of its pipes told first."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            closed = f"ended with {self.process.wait(ENDS_WITHIN_S)}"
        return Misbehaves(f"{self.named} {closed}")

    def hear(self, id, *wanted, seconds=ANSWER_WITHIN_S):
        """The next answer to this question, whose `is` must be one of these, and when it came (ns)."""
        until = time.monotonic() + seconds
        while not self._heard.get(id):
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                raise Misbehaves(f"{self.named} does not answer {' or '.join(wanted)} in {seconds} s")
            now = time.monotonic_ns()
            for answer in self.read():
                heard = self.lost if answer["is"] == "lost" else self._heard.setdefault(int(answer.get("id", 0)), [])
                heard.append((answer, now))
        answer, now = self._heard[id].pop(0)
        if answer["is"] not in wanted:
            raise Misbehaves(f"{self.named} answers {answer}: it must be {' or '.join(wanted)}")
        return answer, now

    def question(self, do, id, *wanted, **more):
        """The answer, and how long it took (ns)."""
        asked = time.monotonic_ns()
        self.say(do, id=id, **more)
        answer, now = self.hear(id, *wanted)
        return answer, now - asked

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class MongoSet:
    """A replica set of three members of the laboratory. It ends with the thread that started it."""

    def __enter__(self):
        self.folder, lab = tempfile.TemporaryDirectory(), f"{ROOT}/build/bin/leasehold-lab"
        self.lab = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", lab, "cluster", "up", "--state",
                                     f"{self.folder.name}/state"], text=True, stdout=subprocess.PIPE)
        said = self.lab.stdout.readline()
        if not said.startswith("up: "):
            raise RuntimeError(f"{lab} cluster up ended with {self.lab.wait()}")
        self.uri = said.split()[1]
        return self

    def servers(self):
        return [pid for pid, (parent, _, name) in processes().items() if parent == self.lab.pid and name == "mongod"]

    def __exit__(self, *_):
        self.lab.send_signal(signal.SIGTERM)
        self.lab.wait()
        self.folder.cleanup()


def free_ports(count):
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in opened]


class Launched:
    """A store that runs, from `with Launched(name) as store` on: `uri`, `layout`, and what may be done to members."""

    def __init__(self, name):
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        self.script = name if os.path.sep in name else beside
        if not os.access(self.script, os.X_OK):
            sys.exit(f"launch: the store is '{name}': it must be a script beside {__file__}, or the path of one")
        self.about = self.ask("about")
        self.processes, self.commands = {}, {}

    def try_verb(self, *verb):
        """(exit code, answer, what it says otherwise)"""
        given = "" if verb[0] == "about" else json.dumps(self.layout)
        ran = subprocess.run([self.script, *map(str, verb)], input=given, capture_output=True, text=True, check=False)
        return ran.returncode, json.loads(ran.stdout) if ran.returncode == 0 else None, ran.stderr.strip()

    def ask(self, *verb):
        code, answer, said = self.try_verb(*verb)
        if code:
            raise RuntimeError(f"{' '.join(map(str, verb))} of {self.script} ended with {code}: {said}")
        return answer

    def ready(self):
        code, _, said = self.try_verb("ready")
        if code > 1:
            raise RuntimeError(f"ready of {self.script} ended with {code}: {said}")
        return code == 0

    def until(self, condition, what, seconds=READY_WITHIN_S):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                raise RuntimeError(f"{self.about['name']}: not {what} within {seconds} s")
            time.sleep(0.1)

    def start(self, number):
        said = self.commands[number]
        with open(f"{self.layout['members'][number]['folder']}/log", "a", encoding="utf-8") as log:
            process = subprocess.Popen(
                said["command"], env={**os.environ, **said.get("environment", {})}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        self.processes[number] = process
        print(process.pid, file=self.janitor.stdin, flush=True)

    def signal(self, number, kind):
        os.killpg(self.processes[number].pid, kind)

    def kill(self, number):
        self.signal(number, signal.SIGKILL)
        self.processes[number].wait()

    def restart(self, number):
        self.commands[number] = self.ask("rejoin", number) or self.commands[number]
        self.start(number)

    def servers(self):
        return [process.pid for process in self.processes.values()]

    def __enter__(self):
        if "missing" in self.about:
            raise RuntimeError(self.about["missing"])
        folder, ports = tempfile.mkdtemp(prefix="leasehold-store-"), self.about["ports"]
        free = iter(free_ports(self.about["members"] * len(ports)))
        members = [{"folder": f"{folder}/{number}",
                    "ports": {name: dict.fromkeys(("listen", "advertise"), next(free)) for name in ports}}
                   for number in range(self.about["members"])]
        self.layout = {"folder": folder, "members": members}
        self.janitor = subprocess.Popen(
            ["sh", "-c", JANITOR, folder], text=True, start_new_session=True, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for one in members:
                os.mkdir(one["folder"])
            self.commands = dict(enumerate(self.ask("prepare")["members"]))
            for number in self.commands:
                self.start(number)
            self.until(self.ready, "ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    @property
    def uri(self):
        return self.about["uri"].format(*(
            types.SimpleNamespace(**{name: f"127.0.0.1:{one['advertise']}" for name, one in member["ports"].items()})
            for member in self.layout["members"]))

    def __exit__(self, *_):
        self.janitor.communicate()
        for process in self.processes.values():
            process.wait()
