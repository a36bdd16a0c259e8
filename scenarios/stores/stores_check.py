"""Whether each store does what its verbs say, and each lock of scripts/others what the protocol of workers asks for,
without the laboratory: stores_check.py [STORE...]. Exit code 1: something did not; 77: none of these is installed."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from launch import ROOT, Launched, Misbehaves, Worker  # noqa: E402

sys.path.append(f"{ROOT}/scripts")
from verdicts import SERVICES  # noqa: E402

FOLDER = f"{ROOT}/scenarios/stores"
STORES = ["redis", "redis5", "redis-sentinel", "etcd", "zookeeper", "postgres", "postgres-sync"]
VERB_WITHIN_S = 3  # the laboratory gives them 5
LEASE_MS = 2000
HANDED_OVER_WITHIN_S = 1  # less than what is left of a lease then


def expect(condition, what):
    if not condition:
        raise Misbehaves(what)


class Asked(Worker):
    def __init__(self, command, uri, database):
        super().__init__(command, process="p0.1", uri=uri, database=database, lease_ms=LEASE_MS)
        self.hear(0, "ready")

    def acquire(self, id, name, timeout_ms, *wanted):
        """The token of its grant."""
        answer, _ = self.question("acquire", id, *wanted, name=name, timeout_ms=timeout_ms)
        return answer.get("token", 0)


def check_lock(store, lock, command, promises):
    """Acquires, is refused, waits, asks, releases, and gets a dead holder's lock."""
    polls = promises["waits"] != "none"
    first, second = (Asked(command, store.uri, f"check-{lock}") for _ in range(2))
    try:
        tokens = [first.acquire(1, "a", 0, "granted")]
        first.question("ask", 1, "held")
        second.acquire(1, "a", 0, "refused")
        second.acquire(2, "b", 0, "granted")
        second.question("release", 2, "released")
        if polls:
            second.acquire(3, "a", 150, "timed_out")
            second.say("acquire", id=4, name="a", timeout_ms=10_000)
        first.question("release", 1, "released")
        expect(not first.lost, f"it says that a lock is lost which was held until its release: {first.lost}")
        released = time.monotonic()
        if not polls:
            second.say("acquire", id=4, name="a", timeout_ms=0)
        tokens.append(second.hear(4, "granted")[0].get("token", 0))
        after = time.monotonic() - released
        expect(after < HANDED_OVER_WITHIN_S, f"a released lock is free after {after:.1f} s")
        second.question("ask", 4, "held")
        second.end()
        died, leases = time.monotonic(), promises["passes_on_after"]
        within_s = LEASE_MS / 1000 * (1 if leases == "lease" else leases) + 1
        first.say("acquire", id=5, name="a", timeout_ms=20_000)
        while (answer := first.hear(5, "granted", "refused")[0])["is"] == "refused":
            expect(time.monotonic() < died + within_s, f"a dead holder's lock is not free after {within_s} s")
            time.sleep(0.1)
            first.say("acquire", id=5, name="a", timeout_ms=0)
        after = time.monotonic() - died
        expect(after < within_s, f"a dead holder's lock is free after {after:.1f} s: it must be within {within_s} s")
        tokens.append(answer.get("token", 0))
        if promises["tokens"] == "rising":
            expect(0 < tokens[0] < tokens[1] < tokens[2], f"the tokens are {tokens}: they must rise")
        first.say("stop")
        expect(first.process.wait(5) == 0, "the worker did not end when it was asked to")
        return f"free {after:.1f} s after its holder's death" + (f", tokens {tokens}" if tokens[0] else "")
    finally:
        first.end()
        second.end()


def timed(store, *verb):
    began = time.monotonic()
    code, answer, said = store.try_verb(*verb)
    took = time.monotonic() - began
    expect(took < VERB_WITHIN_S, f"{verb[0]} took {took:.1f} s")
    expect(code <= 1, f"{verb[0]} ended with {code}: {said}")
    return answer if verb[0] == "leader" else code == 0


def check_groups(store):
    """A fault hits a process group: all processes of a member have to be in it."""
    for number, of in enumerate(store.layout["members"]):
        for process in processes_of(of["folder"]):
            group = os.getpgid(process)
            expect(group == store.processes[number].pid, f"process {process} of member {number} is in group {group}")


def check_verbs(store):
    check_groups(store)
    members, faults = store.about["members"], store.about["faults"]
    leader = timed(store, "leader")["leader"]
    expect(leader in range(members) or members == 5 and leader == -1, f"the leader is {leader}")
    code, _, said = store.try_verb("lead", members)
    expect(code and len(said.splitlines()) == 1, f"lead {members} ended with {code} and says: {said}")
    one = max(0, leader)
    store.signal(one, signal.SIGSTOP)
    timed(store, "leader")
    stopped_ready = timed(store, "ready")
    store.signal(one, signal.SIGCONT)
    expect(members > 2 or not stopped_ready, "it is ready while the one that takes writes is stopped")
    store.until(store.ready, "ready after a stop")
    one = max(0, timed(store, "leader")["leader"])
    store.kill(one)
    timed(store, "leader")
    if members > 2:
        store.until(store.ready, "ready with a member less", 45)  # a sentinel that was stopped waits for 30 s
        expect(members == 5 or store.ask("leader")["leader"] != one, "a dead member leads")
    else:
        expect(not timed(store, "ready"), "it is ready while the one that takes writes is dead")
    store.restart(one)
    store.until(store.ready, "ready after a restart", 30)
    if "step-up" in faults:
        for _ in range(2):
            wanted = (timed(store, "leader")["leader"] + 1) % members
            began = time.monotonic()
            code, _, said = store.try_verb("lead", wanted)
            took = time.monotonic() - began
            expect(code == 0, f"lead {wanted} ended with {code}: {said}")
            expect(took < 6, f"lead took {took:.1f} s")
            expect(timed(store, "leader")["leader"] == wanted, f"member {wanted} does not lead")
            store.until(store.ready, "ready after another leads")
    if "kill-all" in faults:
        for number in range(members):
            store.kill(number)
        expect(not timed(store, "ready"), "it is ready while all are dead")
        for number in range(members):
            store.restart(number)
        store.until(store.ready, "ready after all were dead")


def processes_of(folder):
    """Those that name this folder, or are in it."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            if folder in file.read() + os.readlink(f"/proc/{pid}/cwd"):
                found.append(int(pid))
    return found


def expect_gone(folder, after):
    """Soon: a server that was killed may have a child, which dies a little later."""
    until = time.monotonic() + 5
    while left := [*map(str, processes_of(folder)), *(os.listdir(folder) if os.path.exists(folder) else [])]:
        expect(time.monotonic() < until, f"after {after} these are left: {', '.join(left)}")
        time.sleep(0.1)


def check_nothing_left(name):
    """When the program is killed."""
    with tempfile.TemporaryDirectory(prefix="leasehold-check-") as folder:
        os.chmod(folder, 0o711)
        with_store = f"import launch\nwith launch.Launched({name!r}):\n    print('started', flush=True)\n    input()"
        program = subprocess.Popen(
            [sys.executable, "-B", "-c", with_store], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True, env={**os.environ, "PYTHONPATH": FOLDER, "TMPDIR": folder})
        expect(program.stdout.readline() == "started\n", "a program did not start its store")
        expect(processes_of(folder), "no process of the store names its folder")
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        expect_gone(folder, "a kill of a program with a store")


def check(name):
    """What was left out; throws what is wrong."""
    left_out = []
    with Launched(name) as store:
        for lock, (language, command, stores) in SERVICES.items():
            if name not in stores:
                continue
            with open(f"{ROOT}/scenarios/others/{lock}.json", encoding="utf-8") as file:
                promises = json.load(file)
            built = {"go": "worker", "node": "node_modules"}.get(language, "lib")
            if not os.path.exists(f"{ROOT}/build/others/{language}/{built}"):
                left_out.append(f"{lock}: scripts/others --install {lock}")
                continue
            print(f"{name}: {lock}: {check_lock(store, lock, command, promises)}", flush=True)
        check_verbs(store)
    expect_gone(store.layout["folder"], "its end")
    expect(not os.path.exists(store.layout["folder"]), "its folder is left")
    check_nothing_left(name)
    return left_out


def main():
    os.chdir(ROOT)  # the commands of workers are from there
    failed, checked = [], []
    for name in sys.argv[1:] or STORES:
        about = json.loads(subprocess.run([f"{FOLDER}/{name}", "about"], capture_output=True, check=True).stdout)
        left_out = [about["missing"]] if "missing" in about else []
        began = time.monotonic()
        try:
            if not left_out:
                left_out = check(name)
                checked.append(name)
                print(f"{name}: does what it says ({about['name']}, {time.monotonic() - began:.1f} s)", flush=True)
        except (RuntimeError, OSError) as why:
            failed.append(name)
            print(f"{name}: {why}", flush=True)
        if left_out:
            print(f"stores_check.py: Skipped\n{', '.join(left_out)}", flush=True)  # as GoogleTest says it
    sys.exit(1 if failed else 0 if checked else 77)


if __name__ == "__main__":
    main()
