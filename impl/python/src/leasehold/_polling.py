"""Waiting for file descriptors."""
import contextlib
import os
import select
import sys
import weakref
from typing import Iterable, Protocol


READABLE = 1  # EPOLLIN, a name that eventlet takes away


class Waitable(Protocol):
    def fileno(self) -> int: ...


class Flag:
    """Is readable from the first `set` on. A handler of a signal may set it. A child that was forked from its process
    sets nothing, because it shares the pipe. Thread safety: all calls."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            weakref.finalize(self, os.close, end)
        os.set_blocking(self._write, False)

    def fileno(self) -> int:
        return self._read

    def set(self) -> None:
        if os.getpid() != self._owner:
            return
        with contextlib.suppress(BlockingIOError):  # it is full
            os.write(self._write, b".")


def any_ready(descriptors: Iterable[Waitable], timeout_ms: int) -> bool:
    """Whether one is readable, at the latest after the timeout; below 0: waits for ever."""
    timeout = timeout_ms if timeout_ms < 2**31 else None  # a month is as good as for ever
    if not hasattr(select, "poll"):  # eventlet leaves select alone, which lets its other threads run
        seconds = None if timeout is None or timeout < 0 else timeout / 1000
        return bool(select.select(list(descriptors), [], [], seconds)[0])
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(timeout))


def new_epoll() -> "select.epoll":
    """eventlet takes this name away, too; only what waits needs its own."""
    if hasattr(select, "epoll"):
        return select.epoll()
    epoll: "select.epoll" = sys.modules["eventlet.patcher"].original("select").epoll()
    return epoll
