"""Waiting for file descriptors."""
import contextlib
import os
import select
import weakref
from typing import Iterable, Protocol


class Waitable(Protocol):
    def fileno(self) -> int: ...


class Flag:
    """Is readable from the first `set` on. A handler of a signal may set it. Thread safety: all calls."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            weakref.finalize(self, os.close, end)
        os.set_blocking(self._write, False)

    def fileno(self) -> int:
        return self._read

    def set(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is full
            os.write(self._write, b".")


def any_ready(descriptors: Iterable[Waitable], timeout_ms: int) -> bool:
    """Whether one is readable, at the latest after the timeout; below 0: waits for ever."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(timeout_ms if timeout_ms < 2**31 else None))  # a month is as good as for ever
