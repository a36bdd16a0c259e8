"""Providers, locks, and the call that acquires one."""
import asyncio
import contextlib
import ctypes
import os
import threading
import weakref
from typing import Callable, Generic, Iterator, Optional, Type, TypeVar

from . import _arguments as arguments
from ._arguments import Duration
from ._library import ErrorStruct, Hook, LockOptions, ProviderOptions
from ._library import SeenHolder as SeenStruct
from ._library import hooks, library, raise_if, warn
from ._polling import any_ready
from .errors import InvalidOption, ShutDown
from .held import Handle, Held, Permit
from .seen import SeenHolder, seen_holder


def _abandon(box: ctypes.c_void_p) -> None:
    handle = Handle()  # lives until after the call, and frees what that gave
    library.leasehold_call_end(box, handle.box, None)


class _Call:
    """An acquire that is under way. One that is left by an exception gives back what it wins."""

    def __init__(self, provider: "Provider", name: str, options: LockOptions, timeout: Optional[Duration]) -> None:
        encoded, timeout_ms = name.encode(), arguments.timeout_ms(timeout)
        self._box = ctypes.c_void_p()
        weakref.finalize(self, _abandon, self._box)
        error = ErrorStruct()
        with provider._open() as opened:
            kind = library.leasehold_acquire_begin(opened, encoded, options, timeout_ms, self._box, error)
        raise_if(kind != 0, error)

    def fileno(self) -> int:
        return int(library.leasehold_call_fd(self._box))

    def end(self) -> Handle:
        handle, error = Handle(), ErrorStruct()
        kind = library.leasehold_call_end(self._box, handle.box, error)
        raise_if(kind != 0, error)
        return handle

    def __enter__(self) -> "_Call":
        return self

    def __exit__(self, *_: object) -> None:
        _abandon(self._box)


_Granted = TypeVar("_Granted", bound=Held)


class _Source(Generic[_Granted]):
    """A name bound to a provider and its options; holds nothing. Not reentrant. Thread safety: all calls."""

    _granted: Type[_Granted]

    def __init__(self, provider: "Provider", name: str, options: LockOptions) -> None:
        error = ErrorStruct()
        raise_if(library.leasehold_check(arguments.text("name", name), options, error) != 0, error)
        self._provider, self.name, self._options = provider, name, options

    def acquire(self, timeout: Optional[Duration] = None) -> _Granted:
        """Waits until the lock, or a permit of the semaphore, is ours, for at most `timeout` (seconds or a timedelta); None: for ever, 0: one
        attempt. Raises an Error, TimedOut for instance. Ctrl-C ends the waiting.

            with lock.acquire(timeout=30) as held:
                write_report(held.fencing_token)
        """
        return self._wait(self._call(timeout))

    async def acquire_async(self, timeout: Optional[Duration] = None) -> _Granted:
        """The same in asyncio, without a thread; cancelling the task ends the waiting.

            async with await lock.acquire_async(timeout=30) as held:
        """
        return await self._wait_async(self._call(timeout))

    def _wait(self, begun: _Call) -> _Granted:
        with begun as call:
            any_ready((call,), -1)
            return self._granted(call.end(), self.name)

    async def _wait_async(self, begun: _Call) -> _Granted:
        with begun as call:
            loop, answered = asyncio.get_running_loop(), asyncio.Event()
            loop.add_reader(call, answered.set)
            try:
                await answered.wait()
            finally:
                loop.remove_reader(call)
            return self._granted(call.end(), self.name)

    def _call(self, timeout: Optional[Duration], shared: bool = False) -> _Call:
        options = self._options
        if shared:
            options = LockOptions.from_buffer_copy(options)
            options.shared = 1
        return _Call(self._provider, self.name, options, timeout)


class Lock(_Source[Held]):
    """A lock of one name and its options. Made by `Provider.lock`."""

    _granted = Held

    def acquire(self, timeout: Optional[Duration] = None, shared: bool = False) -> Held:
        """Waits until the lock is ours, for at most `timeout` (seconds or a timedelta); None: for ever, 0: one attempt.
        With `shared` it is held to read, together with all others that share it; without, it excludes them. Raises an
        Error, TimedOut for instance. Ctrl-C ends the waiting.

            with lock.acquire(timeout=30) as held:
                write_report(held.fencing_token)
        """
        return self._wait(self._call(timeout, shared))

    async def acquire_async(self, timeout: Optional[Duration] = None, shared: bool = False) -> Held:
        """The same in asyncio, without a thread; cancelling the task ends the waiting.

            async with await lock.acquire_async(timeout=30) as held:
        """
        return await self._wait_async(self._call(timeout, shared))


class Semaphore(_Source[Permit]):
    """Up to N holders at once, of all processes that use the same name; `create_semaphore` in
    <leasehold/lock_provider.hpp> says what is promised. Made by `Provider.semaphore`."""

    _granted = Permit


def _lock_options(permits: int, expiry: Optional[Duration], extension_cadence: Optional[Duration],
                  clock_margin: Optional[Duration], operation_timeout: Optional[Duration],
                  max_holding: Optional[Duration], hand_overs_in_a_row: Optional[int], max_drift: Optional[float],
                  waiting: Optional[str]) -> LockOptions:
    margin_ms = None if clock_margin is None else arguments.milliseconds("clock_margin", clock_margin)
    return LockOptions(
        size=ctypes.sizeof(LockOptions), expiry_ms=arguments.positive_ms("expiry", expiry),
        extension_cadence_ms=arguments.positive_ms("extension_cadence", extension_cadence),
        clock_margin_ms=int(arguments.or_none("clock_margin", margin_ms)),
        operation_timeout_ms=arguments.positive_ms("operation_timeout", operation_timeout),
        max_holding_ms=arguments.positive_ms("max_holding", max_holding),
        hand_overs_in_a_row=int(arguments.or_none("hand_overs_in_a_row", hand_overs_in_a_row)),
        max_drift=arguments.or_none("max_drift", max_drift), waiting=arguments.text("waiting", waiting),
        permits=permits)


class _Opened:
    """The library's provider, which `Provider.close`, the end of the Provider or the exit of Python closes."""

    def __init__(self) -> None:
        self.box, self.closed = ctypes.c_void_p(), False
        self.guard = threading.RLock()  # protects `closed` and the next; a signal may come amid it
        self.reads: "weakref.WeakSet[threading.RLock]" = weakref.WeakSet()  # each holds its own
        self._finishing, self._process = threading.Lock(), os.getpid()

    def finish(self) -> None:
        """Returns once it is closed, by another thread perhaps, and on_warning is over. Does nothing in the child of a
        fork, where another thread may seem to be at it for ever."""
        if os.getpid() == self._process:
            with self.guard:
                self.closed = True
            for read in list(self.reads):
                with read:
                    pass
            with self._finishing:
                library.leasehold_close(ctypes.byref(self.box))


class Provider:
    """Locks of one collection of one replica set; one for a process is enough. Made by `connect`.

    Leaving its `with` block closes it. Thread safety: all calls.
    """

    def __init__(self, opened: _Opened, hook: Optional[Hook]) -> None:
        self._opened, self._hook = opened, hook
        weakref.finalize(self, opened.finish)

    @contextlib.contextmanager
    def _open(self) -> Iterator[ctypes.c_void_p]:
        """The library's provider, which is not closed meanwhile."""
        with self._opened.guard:
            if self._opened.closed:
                raise ShutDown("the provider is closed")
            yield self._opened.box

    def lock(self, name: str, *, expiry: Optional[Duration] = None, extension_cadence: Optional[Duration] = None,
             clock_margin: Optional[Duration] = None, operation_timeout: Optional[Duration] = None,
             max_holding: Optional[Duration] = None, hand_overs_in_a_row: Optional[int] = None,
             max_drift: Optional[float] = None, waiting: Optional[str] = None) -> Lock:
        """The lock of this name. Durations are in seconds or timedeltas; None is the default; what they mean is said of
        `LockOptions` in <leasehold/lock_options.hpp>. `waiting` is "queue" (the default), "adaptive" or
        "uniform"."""
        return Lock(self, name, _lock_options(0, expiry, extension_cadence, clock_margin, operation_timeout, max_holding,
                                              hand_overs_in_a_row, max_drift, waiting))

    def semaphore(self, name: str, permits: int, *, expiry: Optional[Duration] = None,
                  extension_cadence: Optional[Duration] = None, clock_margin: Optional[Duration] = None,
                  operation_timeout: Optional[Duration] = None, max_holding: Optional[Duration] = None,
                  hand_overs_in_a_row: Optional[int] = None, max_drift: Optional[float] = None,
                  waiting: Optional[str] = None) -> Semaphore:
        """The semaphore of this name, for 1 to 1000 holders at once; options as of a lock. All processes have to give the
        same `permits`: while some are held, a call for another number fails.

            with provider.semaphore("exports", 3).acquire(timeout=5) as permit:
                export_to(directories[permit.slot])
        """
        of_permits = arguments.positive("permits", permits)
        return Semaphore(self, name, _lock_options(of_permits, expiry, extension_cadence, clock_margin, operation_timeout,
                                                   max_holding, hand_overs_in_a_row, max_drift, waiting))

    def inspect(self, name: str, timeout: Duration = 5) -> Optional[SeenHolder]:
        """The holder of the lock of this name: for people, logs and pages. None: it is free. One read, true at some
        moment of the call; decide nothing by it: to have a lock, acquire it. A dead holder is seen until its document is
        gone. Raises an Error without an answer within `timeout` (seconds or a timedelta). Closing waits for it."""
        seen, error, read = SeenStruct(size=ctypes.sizeof(SeenStruct)), ErrorStruct(), threading.RLock()
        encoded, timeout_ms = arguments.text("name", name), arguments.positive_ms("timeout", timeout)
        with read:
            with self._open() as opened:
                self._opened.reads.add(read)
            kind = library.leasehold_inspect(opened, encoded, timeout_ms, seen, error)
        raise_if(kind != 0, error)
        return seen_holder(seen) if seen.is_there else None

    def close(self) -> None:
        """Ends acquires that wait in other threads with ShutDown. What is held stays so until it is released. Waits for
        what is deleted in the background, for the longest operation timeout in use at most."""
        with self._opened.guard:  # for a moment only: closing may take its time
            closed, self._opened.closed = self._opened.closed, True
        if not closed:
            self._opened.finish()

    def __enter__(self) -> "Provider":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(uri: str, *, database: Optional[str] = None, collection: Optional[str] = None,
            holder: Optional[str] = None, workers: Optional[int] = None,
            server_selection_timeout: Optional[Duration] = None,
            on_warning: Optional[Callable[[str], object]] = None) -> Provider:
    """Checks the URI and the options; contacts nobody. What the options mean is said of `ProviderOptions` in
    <leasehold/lock_provider.hpp>; `holder=""` stores no name.

    `on_warning` gets each warning as a text, on a thread of the library, until the provider is closed; Python's exit
    closes it, too. Be brief. An exception of it goes to the logger "leasehold", as all warnings do without it. What a
    Held has to say after its provider was closed, or is gone, goes to standard error.
    """
    if on_warning is not None and not callable(on_warning):
        raise InvalidOption(f"on_warning is {on_warning!r}: it must be callable")
    hook = None if on_warning is None else Hook(on_warning)
    if hook is not None:
        hooks[id(hook)] = hook
    options = ProviderOptions(
        size=ctypes.sizeof(ProviderOptions), database=arguments.text("database", database),
        collection=arguments.text("collection", collection), holder=arguments.text("holder", holder),
        workers=arguments.positive("workers", workers),
        server_selection_timeout_ms=arguments.positive_ms("server_selection_timeout", server_selection_timeout),
        on_warning=warn, warning_context=None if hook is None else id(hook))
    opened, error = _Opened(), ErrorStruct()
    provider = Provider(opened, hook)
    kind = library.leasehold_connect(arguments.text("uri", uri), options, opened.box, error)
    raise_if(kind != 0, error)
    return provider
