"""Servers of Redis, alone or watched by sentinels.

Each write is on disk before it is answered (`appendonly yes`, `appendfsync always`), because the page of Redis on locks
says: "If we want to guarantee the lock safety in the face of any kind of instance restart, we need to enable
fsync=always in our persistence settings" (redis.io, Distributed Locks with Redis, Performance, Crash Recovery and
fsync)."""
import hashlib

from store import CLOCKS, LINKS, Store, asked_at_once, connected, member, port, program, version_of, write

DURABLE = ["appendonly yes", "appendfsync always", 'save ""']


def answer(stream):
    """One answer of its protocol; an error of the server is a ValueError."""
    kind, said = stream.read(1), stream.readline()[:-2]
    if not kind:
        raise OSError("the connection ended")
    if kind == b"-":
        raise ValueError(said.decode())
    if kind == b"$":
        return stream.read(int(said) + 2)[:-2].decode() if int(said) >= 0 else None
    if kind == b"*":
        return [answer(stream) for _ in range(int(said))]
    return int(said) if kind == b":" else said.decode()


def asked(to_port, *words):
    with connected(to_port) as opened, opened.makefile("rwb") as stream:
        stream.write(b"*%d\r\n" % len(words))
        for word in (str(word).encode() for word in words):
            stream.write(b"$%d\r\n%s\r\n" % (len(word), word))
        stream.flush()
        return answer(stream)


def takes_writes(of_member):
    return asked(port(of_member), "SET", "leasehold.ready", "", "PX", 1) == "OK"


class Redis(Store):
    name = "Redis"
    faults = ["kill-member", "stop-member", *LINKS, *CLOCKS]

    def __init__(self, members=1):
        self.members = members
        self.uri = "redis://" + ",".join(f"{{{n}.client}}" for n in range(members))
        if members > 1:
            self.name = f"{members} of Redis"
            self.faults = [*self.faults, "kill-two", "kill-all"]

    def version(self):
        return version_of(program("redis-server", "redis-server"))

    def settings(self, of_member):
        return ["bind 127.0.0.1", f"port {port(of_member)}", f"dir {of_member['folder']}", *DURABLE]

    def prepare(self, layout):
        for of in layout["members"]:
            write(f"{of['folder']}/redis.conf", self.settings(of))
        return [member(program("redis-server", "redis-server"), f"{of['folder']}/redis.conf")
                for of in layout["members"]]

    def leader(self, layout):
        return 0 if self.members == 1 and self.ready(layout) else -1

    def ready(self, layout):
        return sum(map(bool, asked_at_once(takes_writes, layout))) > self.members // 2


class Sentinel(Redis):
    """A member is a server and a sentinel, in one process group: a fault hits both, as that of a machine does."""
    recovers_ms = 6000  # a failover
    GROUP = "lock"  # what sentinels call the servers that they watch

    def __init__(self):
        super().__init__(3)
        self.name = "Redis with sentinels"
        self.ports = ["client", "sentinel"]
        self.faults = [*self.faults, "split-members"]  # no step-up: sentinels choose the next master by themselves
        self.uri = f"redis-sentinel://{{0.sentinel}},{{1.sentinel}},{{2.sentinel}}/{self.GROUP}"

    def version(self):
        program("redis-sentinel", "redis-sentinel")
        return super().version()

    def settings(self, of_member):
        # As the page on sentinels advises, so that a master without replicas takes no writes.
        return [*super().settings(of_member), "replica-announce-ip 127.0.0.1",
                f"replica-announce-port {port(of_member, 'client', 'advertise')}",
                "min-replicas-to-write 1", "min-replicas-max-lag 10", "repl-diskless-sync-delay 0"]

    def prepare(self, layout):
        super().prepare(layout)
        both, members = [], layout["members"]
        first, *replicas = (port(of, "client", "advertise") for of in members)
        # What sentinels would learn of each other in their first ten seconds, as they write it down themselves.
        known = [f"sentinel known-replica {self.GROUP} 127.0.0.1 {one}" for one in replicas]
        ids = [hashlib.sha1(of["folder"].encode()).hexdigest() for of in members]
        others = [f"sentinel known-sentinel {self.GROUP} 127.0.0.1 {port(of, 'sentinel', 'advertise')} {id}"
                  for of, id in zip(members, ids)]
        for number, of in enumerate(members):
            if number:
                with open(f"{of['folder']}/redis.conf", "a", encoding="utf-8") as file:
                    file.write(f"replicaof 127.0.0.1 {first}\n")
            write(f"{of['folder']}/sentinel.conf", [
                "bind 127.0.0.1", f"port {port(of, 'sentinel')}", f"dir {of['folder']}",
                f"sentinel myid {ids[number]}",
                "sentinel announce-ip 127.0.0.1", f"sentinel announce-port {port(of, 'sentinel', 'advertise')}",
                f"sentinel monitor {self.GROUP} 127.0.0.1 {first} 2",
                f"sentinel down-after-milliseconds {self.GROUP} 1000",
                f"sentinel failover-timeout {self.GROUP} 2000",
                *known, *others[:number], *others[number + 1:]])
            both.append(member(
                "/bin/sh", "-c", '"$0" "$2/redis.conf" & exec "$1" "$2/sentinel.conf"',
                program("redis-server", "redis-server"), program("redis-sentinel", "redis-sentinel"), of["folder"]))
        return both

    def leader(self, layout):
        """The one that most sentinels name, if it says so itself."""
        def named(of_member):
            return int(asked(port(of_member, "sentinel"), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.GROUP)[1])
        names = [name for name in asked_at_once(named, layout) if name]
        most = max(names, key=names.count, default=0)
        roles = asked_at_once(lambda of: asked(port(of), "ROLE"), layout)
        return next((n for n, of in enumerate(layout["members"])
                     if port(of, "client", "advertise") == most and roles[n] and roles[n][0] == "master"), -1)

    def ready(self, layout):
        """Sentinels could elect a replica that follows this master."""
        leader = self.leader(layout)
        if leader < 0:
            return False

        def able(of_member):
            asked(port(of_member, "sentinel"), "SENTINEL", "CKQUORUM", self.GROUP)
            listed = asked(port(of_member, "sentinel"), "SENTINEL", "REPLICAS", self.GROUP)
            return any(dict(zip(one[::2], one[1::2]))["master-link-status"] == "ok" for one in listed)
        return asked_at_once(able, layout).count(True) > 1 and \
            bool(asked_at_once(takes_writes, {"members": [layout["members"][leader]]})[0])
