"""PostgreSQL, alone or with a synchronous standby. `fsync` and `synchronous_commit` are on, as they come.

A server refuses to run as root, so root starts it as the user `postgres` of Debian's package, to whom the data belongs.
Its processes make a session each, and would leave the process group that the laboratory stops and kills: a filter
answers that system call without executing it."""
import contextlib
import ctypes
import glob
import os
import pathlib
import platform
import shutil
import signal
import struct
import subprocess
import sys
import time

from store import CLOCKS, LINKS, Store, member, port, program, write

OWNER = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
SETSID = {"x86_64": 112, "aarch64": 157}
ASKED_FOR_S = 2  # psql starts slowly on a busy machine
SETTINGS = [
    "listen_addresses = '127.0.0.1'", "unix_socket_directories = ''", "max_connections = 400", "shared_buffers = 32MB",
    "jit = off", "autovacuum = off", "log_checkpoints = off", "max_wal_size = 256MB",
    "wal_retrieve_retry_interval = 200ms"]


def tool(name):
    newest = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda folder: int(folder.split("/")[4]))
    found = shutil.which(name, path=newest[-1]) if newest else None
    return found or program(name, "postgresql")


def ran(*command, seconds=60):
    """Its output; an OSError with what it said if it fails or takes longer."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              text=True, timeout=seconds, check=False, cwd="/", **OWNER)
    except subprocess.TimeoutExpired:
        raise OSError(f"{os.path.basename(command[0])} took longer than {seconds} s") from None
    if done.returncode:
        raise OSError(f"{os.path.basename(command[0])}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout.strip()


def queried(of_member, statement):
    """Its answer; None if it does not."""
    try:
        return ran(tool("psql"), "-h", "127.0.0.1", "-p", str(port(of_member)), "-U", "postgres", "-AtXqc", statement,
                   "postgres", seconds=ASKED_FOR_S)
    except OSError:
        return None


def stay_in_group():
    """From here on setsid() of this process and its children answers 0 and does nothing."""
    if platform.machine() not in SETSID:
        return
    libc, (load, equal, give) = ctypes.CDLL(None, use_errno=True), (0x20, 0x15, 0x06)
    rules = ((load, 0, 0, 0), (equal, 0, 1, SETSID[platform.machine()]), (give, 0, 0, 0x00050000),
             (give, 0, 0, 0x7FFF0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    program_of = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program_of), 0, 0):  # NO_NEW_PRIVS, SECCOMP
        raise OSError(ctypes.get_errno(), "the filter for system calls is refused")


def give_to_owner(folder):
    """A member's folder; it has to be reached, too."""
    if not OWNER:
        return
    shutil.chown(folder, OWNER["user"], OWNER["group"])
    os.chmod(os.path.dirname(folder), os.stat(os.path.dirname(folder)).st_mode | 0o711)
    try:
        ran("/usr/bin/test", "-x", folder)
    except OSError:
        raise OSError(f"the folder is '{folder}': the user postgres must be able to enter it") from None


class Postgres(Store):
    name = "PostgreSQL"
    faults = ["kill-member", "stop-member", *LINKS, *CLOCKS]
    uri = "postgresql://postgres@{0.client}/postgres"

    def version(self):
        tool("initdb")
        words = subprocess.run([tool("postgres"), "--version"], capture_output=True, text=True, check=True)
        return words.stdout.split()[2]

    def make_data(self, of_member):
        data = f"{of_member['folder']}/data"
        give_to_owner(of_member["folder"])
        ran(tool("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        with open(f"{data}/postgresql.conf", "a", encoding="utf-8") as file:
            file.write("\n".join(SETTINGS) + "\n")
        return data

    def settings_of(self, layout, number):
        return [f"port={port(layout['members'][number])}"]

    def prepare(self, layout):
        self.make_data(layout["members"][0])
        return [self.command(layout, 0)]

    def command(self, layout, number):
        return member(sys.executable, os.path.abspath(__file__), f"{layout['members'][number]['folder']}/data",
                      *self.settings_of(layout, number))

    def primary(self, _):
        return 0

    def leader(self, layout):
        primary = self.primary(layout)
        return primary if queried(layout["members"][primary], "SELECT pg_is_in_recovery()") == "f" else -1

    def ready(self, layout):
        """A commit, which waits for the standby."""
        return bool(queried(layout["members"][self.primary(layout)],
                            "SELECT pg_logical_emit_message(true, '', '') WHERE NOT pg_is_in_recovery()"))


class Standby(Postgres):
    """Member 0 is the primary to begin with; the file `primary` says which one is. Nothing promotes a standby but
    `lead`, which first ends the primary: "you must have a mechanism for informing the old primary that it is no longer
    the primary" (manual, Failover)."""
    name = "PostgreSQL with a synchronous standby"
    members = 2
    faults = [*Postgres.faults, "kill-all", "split-members", "step-up"]
    uri = "postgresql://postgres@{0.client},{1.client}/postgres?target_session_attrs=read-write"
    recovers_ms = 5000  # a standby that is built anew

    def settings_of(self, layout, number):
        other = port(layout["members"][1 - number], "client", "advertise")
        # By its name, because the copy for a standby that is built anew would do for '*'.
        return [*super().settings_of(layout, number), "synchronous_standby_names=standby",
                f"primary_conninfo=host=127.0.0.1 port={other} user=postgres application_name=standby"]

    def prepare(self, layout):
        data = self.make_data(layout["members"][0])
        copy = f"{layout['members'][1]['folder']}/data"
        give_to_owner(layout["members"][1]["folder"])
        subprocess.run(["cp", "-a", data, copy], check=True)
        write(f"{copy}/standby.signal", [])
        self.name_primary(layout, 0)
        return [self.command(layout, number) for number in range(2)]

    def command(self, layout, number):
        made = super().command(layout, number)
        made["environment"] = {"LEASEHOLD_PRIMARY": f"{layout['folder']}/primary", "LEASEHOLD_MEMBER": str(number)}
        return made

    def name_primary(self, layout, number):
        write(f"{layout['folder']}/primary.new", [str(number)])
        os.replace(f"{layout['folder']}/primary.new", f"{layout['folder']}/primary")

    def primary(self, layout):
        return int(pathlib.Path(layout["folder"], "primary").read_text())

    def lead(self, layout, number):
        if self.leader(layout) == number or queried(layout["members"][number], "SELECT 1") is None:
            return
        self.name_primary(layout, number)
        end_servers(f"{layout['members'][1 - number]['folder']}/data")
        queried(layout["members"][number], "SELECT pg_promote(false)")


def server_on(data):
    """The process that runs on this data; none if it is dead, also if nothing has waited for its end yet."""
    try:
        server = int(pathlib.Path(data, "postmaster.pid").read_text().partition("\n")[0])
        return server if data in pathlib.Path(f"/proc/{server}/cmdline").read_text().split("\0") else None
    except (OSError, ValueError):
        return None


def forget_the_dead(data):
    """A killed server has its number until something waits for its end, and another one refuses to start so long."""
    if not server_on(data) and os.path.exists(f"{data}/postmaster.pid"):
        os.remove(f"{data}/postmaster.pid")


def end_servers(data):
    """SIGKILL to the server on this data and to its processes; its member goes on in `serve`."""
    server = server_on(data)
    if not server:
        return
    children = pathlib.Path(f"/proc/{server}/task/{server}/children").read_text().split()
    for process in (server, *map(int, children)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def is_primary():
    return pathlib.Path(os.environ["LEASEHOLD_PRIMARY"]).read_text().strip() == os.environ["LEASEHOLD_MEMBER"]


def rebuild(data, settings):
    """A former primary becomes a standby: its data is thrown away, and copied from the primary when that answers."""
    conninfo = next(one.split("=", 1)[1] for one in settings if one.startswith("primary_conninfo="))
    new = f"{data}.new"
    while not is_primary():
        shutil.rmtree(new, ignore_errors=True)
        try:
            ran(tool("pg_basebackup"), "-D", new, "-d", conninfo.replace("=standby", "=copy"), "--checkpoint=fast",
                "--no-sync")
            write(f"{new}/standby.signal", [])
            shutil.rmtree(data)
            os.rename(new, data)
            return
        except OSError:
            time.sleep(0.2)


def serve(data, *settings):
    """The program of a member: a server; with a standby another one when it is no longer the primary."""
    stay_in_group()
    if OWNER:
        import pwd
        owner = pwd.getpwnam("postgres")
        os.setgroups([])
        os.setgid(owner.pw_gid)
        os.setuid(owner.pw_uid)
        OWNER.clear()
    command = [tool("postgres"), "-D", data, *(word for one in settings for word in ("-c", one))]
    if "LEASEHOLD_PRIMARY" not in os.environ:
        forget_the_dead(data)
        os.execv(command[0], command)
    while True:
        if not is_primary() and not os.path.exists(f"{data}/standby.signal"):
            rebuild(data, settings)
        forget_the_dead(data)
        ended = subprocess.run(command, check=False).returncode
        if is_primary() or os.path.exists(f"{data}/standby.signal"):
            sys.exit(ended if ended >= 0 else 128 - ended)


if __name__ == "__main__":
    serve(*sys.argv[1:])
