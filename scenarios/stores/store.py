"""What all stores share: the six verbs by which the laboratory runs a lock service that it knows nothing of.

  STORE about            what it is: its name, members, ports, the faults that it can have, the URI that workers get
  STORE prepare          makes the members' files; answers the command of each member
  STORE ready            exit code 0: it has a leader and takes writes; 1: not yet
  STORE leader           {"leader":N}; -1: none, or there is no such thing
  STORE lead N           makes member N the leader; 1: it did not become it within 5 s
  STORE rejoin N         before a killed member is started again: {}, or another command

All but `about` read the layout on standard input: {"folder":F,"members":[{"folder":F,"ports":{NAME:{"listen":P,
"advertise":P}}},...]}. A member listens on `listen` of 127.0.0.1 and names `advertise` to all others, where the
laboratory has a proxy. Each verb prints one JSON object, or ends with another exit code and one line that says why.
The laboratory starts and ends the members; it kills and stops the whole process group of one."""
import concurrent.futures
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

LINKS = ["cut-link", "refuse-link", "slow-link", "lost-replies", "late-requests"]
CLOCKS = ["clock-jump", "clock-drift"]  # of servers that ask libc for the time
ANSWERS_WITHIN_S = 0.6  # a member that is asked: it may be stopped, or the machine busy
LEADS_WITHIN_S = 5


class Missing(Exception):
    """What has to be installed."""


class Store:
    """A store says these of itself, overrides what differs, and has besides

      version()             of what is installed; raises Missing if it cannot run here
      prepare(layout)       the members, as `member` makes them
      ready(layout)
      lead(layout, number)  with "step-up": asks for it once; `main` looks whether it came true"""
    name = ""
    members = 1
    ports = ["client"]
    faults = ["kill-member", "stop-member", *LINKS]
    uri = ""
    recovers_ms = 3000  # after a fault, until waits are usual again

    def leader(self, layout):
        return -1

    def rejoin(self, layout, number):
        return {}


def member(*command, **environment):
    return {"command": [str(word) for word in command], "environment": environment}


def program(name, package):
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")
    if not found:
        raise Missing(f"install the package {package}")
    return found


def version_of(command):
    """The first number with a dot that it says of its version."""
    said = subprocess.run([command, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
    return re.search(r"\d+(\.\d+)+", said.decode())[0]


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def port(of_member, name="client", kind="listen"):
    return of_member["ports"][name][kind]


def asked_at_once(ask, layout):
    """What each member answers; None of one that does not."""
    def one(of_member):
        try:
            return ask(of_member)
        except (OSError, ValueError):
            return None
    members = layout["members"]
    with concurrent.futures.ThreadPoolExecutor(len(members)) as pool:
        return list(pool.map(one, members))


def connected(to_port, seconds=ANSWERS_WITHIN_S):
    opened = socket.create_connection(("127.0.0.1", to_port), timeout=seconds)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def about(store):
    said = {"name": store.name, "members": store.members, "ports": store.ports, "faults": store.faults,
            "uri": store.uri, "recovers_ms": store.recovers_ms}
    try:
        said["name"] += f" {store.version()}"
    except Missing as missing:
        said["missing"] = f"{store.name}: {missing}"
    return said


def lead(store, layout, number):
    store.lead(layout, number)
    until = time.monotonic() + LEADS_WITHIN_S
    while store.leader(layout) != number:
        if time.monotonic() > until:
            sys.exit(1)
        time.sleep(0.05)
    return {}


VERBS = {
    "about": about,
    "prepare": lambda store, layout: store.version() and {"members": store.prepare(layout)},
    "ready": lambda store, layout: {} if store.ready(layout) else sys.exit(1),
    "leader": lambda store, layout: {"leader": store.leader(layout)},
    "lead": lead,
    "rejoin": lambda store, layout, number: store.rejoin(layout, number)}


def asked_for(store, arguments):
    """(verb, the member if it has one); an exit with one line if they are none."""
    verb, *more = arguments or [""]
    if verb not in VERBS:
        sys.exit(f"{sys.argv[0]}: the verb is '{verb}': it must be about, prepare, ready, leader, lead or rejoin")
    if verb not in ("lead", "rejoin"):
        return verb, []
    if verb == "lead" and "step-up" not in store.faults:
        sys.exit(f"{sys.argv[0]}: lead: no member of {store.name} can be made the leader")
    if len(more) != 1 or not more[0].isdecimal() or int(more[0]) >= store.members:
        sys.exit(f"{sys.argv[0]}: {verb} has '{' '.join(more)}': it must be a member, 0 to {store.members - 1}")
    return verb, [int(more[0])]


def read_layout():
    try:
        layout = json.load(sys.stdin)
        for one in layout["members"]:
            ports = [port(one, name, kind) for name in one["ports"] for kind in ("listen", "advertise")]
            os.path.join(layout["folder"], one["folder"], *map(str, ports))
        return layout
    except (ValueError, LookupError, TypeError) as why:
        raise ValueError(f"what standard input has is no layout: {type(why).__name__}: {why}") from None


def main(store):
    verb, number = asked_for(store, sys.argv[1:])
    try:
        layout = [] if verb == "about" else [read_layout()]
        print(json.dumps(VERBS[verb](store, *layout, *number)))
    except (Missing, OSError, ValueError) as why:
        print(f"{store.name}: {verb}: {why}", file=sys.stderr)
        sys.exit(2)  # 1 says "not yet"
