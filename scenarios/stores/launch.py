"""Runs a command beside a store of its own, and ends the store after it:

  python3 scenarios/stores/launch.py etcd -- COMMAND...    with STORE_URI in its environment

A store is a name in this folder, or the path of a script with the same verbs. Its members listen where they say that
they do, so there are no proxies. Nothing of it is left behind, also when this program is killed: a janitor ends the
members once the pipe to it is closed."""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
READY_WITHIN_S = 60


def free_ports(count):
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in opened:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in opened]


def end(groups, folder):
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    for _ in range(50):  # a server that is being killed may still write
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.1)


def janitor(folder):
    """A pipe that takes the process groups; when it is closed, they are ended and the folder is removed."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid:
        os.close(reads)
        os.set_inheritable(writes, False)
        return pid, os.fdopen(writes, "w")
    os.setsid()
    os.close(writes)
    os.closerange(0, 3)
    with os.fdopen(reads) as pipe:
        end([int(line) for line in pipe], folder)
    os._exit(0)


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
        self.pipe.write(f"{process.pid}\n")
        self.pipe.flush()

    def signal(self, number, kind):
        os.killpg(self.processes[number].pid, kind)

    def kill(self, number):
        self.signal(number, signal.SIGKILL)
        self.processes[number].wait()

    def restart(self, number):
        self.commands[number] = self.ask("rejoin", number) or self.commands[number]
        self.start(number)

    def log(self, number):
        with open(f"{self.layout['members'][number]['folder']}/log", encoding="utf-8", errors="replace") as file:
            return file.read()

    def __enter__(self):
        if "missing" in self.about:
            raise RuntimeError(self.about["missing"])
        folder, ports = tempfile.mkdtemp(prefix="leasehold-store-"), self.about["ports"]
        free = iter(free_ports(self.about["members"] * len(ports)))
        members = [{"folder": f"{folder}/{number}",
                    "ports": {name: dict.fromkeys(("listen", "advertise"), next(free)) for name in ports}}
                   for number in range(self.about["members"])]
        self.layout = {"folder": folder, "members": members}
        self.cleaner, self.pipe = janitor(folder)
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
        class Ports:
            def __init__(self, of_member):
                for name, one in of_member["ports"].items():
                    setattr(self, name, f"127.0.0.1:{one['advertise']}")
        return self.about["uri"].format(*map(Ports, self.layout["members"]))

    def __exit__(self, *_):
        self.pipe.close()
        os.waitpid(self.cleaner, 0)
        for process in self.processes.values():
            process.wait()


def main():
    name, *command = sys.argv[1:] or [""]
    if len(command) < 2 or command[0] != "--":
        sys.exit("launch.py STORE -- COMMAND...")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with Launched(name) as store:
            ended = subprocess.run(command[1:], env={**os.environ, "STORE_URI": store.uri}, check=False).returncode
    except (RuntimeError, OSError) as why:
        sys.exit(f"launch: {why}")
    sys.exit(ended if ended >= 0 else 128 - ended)


if __name__ == "__main__":
    main()
