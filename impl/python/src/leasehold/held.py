"""A lock that is held."""
import asyncio
import contextlib
import ctypes
import enum
import threading
import weakref
from typing import Optional, Tuple, TypeVar

from . import _arguments as arguments
from ._arguments import Duration
from ._library import ErrorStruct, library, raise_if
from ._polling import Flag, any_ready


class ReleaseResult(enum.Enum):
    """What a release found. None of them leaves the lock ours."""

    RELEASED = 0  #: it was ours and is free, acknowledged by a majority
    NOT_OWNER = 1  #: it was no longer ours; nobody's lock was touched
    UNKNOWN = 2  #: no reply in time; it is repeated in the background


def _free(box: ctypes.c_void_p) -> None:
    library.leasehold_free(ctypes.byref(box))


class Handle:
    """Owns the library's handle: freed when nobody needs it any more, at the latest at exit."""

    def __init__(self) -> None:
        self.box = ctypes.c_void_p()
        weakref.finalize(self, _free, self.box)


class Lost:
    """Whether the lock was lost, like a threading.Event: set by the deadline, even if every server hangs, and never by
    a release. `fileno()` is for select, and for `loop.add_reader`. Thread safety: all calls."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        error = ErrorStruct()
        self._fd = library.leasehold_lost_fd(handle.box, error)
        raise_if(self._fd < 0, error)
        self._released = Flag()  # ends the waiting of all

    def fileno(self) -> int:
        """A file descriptor that is readable, and stays so, once the lock is lost. Only ever poll it."""
        return int(self._fd)

    def is_set(self) -> bool:
        return any_ready((self,), 0)

    def wait(self, timeout: Optional[Duration] = None) -> bool:
        """True once the lock is lost; False when it was released, or after `timeout` (seconds or a timedelta)."""
        any_ready((self, self._released), arguments.timeout_ms(timeout))
        return self.is_set()


_Self = TypeVar("_Self", bound="Held")


class Held:
    """Proof that this process holds a lock; extended in the background until it is released or lost.

    Leaving its `with` block releases it, also by an exception. If nobody refers to it any more it is released too, in
    the background. Thread safety: all calls from any thread.
    """

    def __init__(self, handle: Handle, name: str) -> None:
        self._handle = handle
        self._guard = threading.RLock()  # protects the next two; a signal may come amid it
        self._lost: Optional[Lost] = None
        self._released = False
        self.name = name

    @property
    def held(self) -> bool:
        """Whether the lease certainly still runs. Compares the clock at each call."""
        return bool(library.leasehold_held(self._handle.box))

    @property
    def remaining(self) -> float:
        """For how many seconds `held` will stay true without a further extension; 0 when it is false."""
        return float(library.leasehold_remaining_ns(self._handle.box) / 1e9)

    @property
    def shared(self) -> bool:
        """Whether it is held to read, with others that share it."""
        return bool(library.leasehold_shared(self._handle.box))

    @property
    def fencing_token(self) -> int:
        """Higher for each later holder. Give it to the resource, which refuses lower ones. The same for ever."""
        return int(library.leasehold_fencing_token(self._handle.box, None))

    @property
    def timestamp(self) -> Tuple[int, int]:
        """The token as the database has it: `bson.Timestamp(*held.timestamp)`. The same order."""
        packed = ctypes.c_uint64()
        library.leasehold_fencing_token(self._handle.box, packed)
        return packed.value >> 32, packed.value & 0xFFFFFFFF

    @property
    def lost(self) -> Lost:
        """Is set when the lock is lost."""
        with self._guard:
            if self._lost is None:
                self._lost = Lost(self._handle)
                if self._released:
                    self._lost._released.set()
            return self._lost

    def downgrade(self) -> "Held":
        """Goes on to read, with a token of its own; nobody writes in between. This one is held no more."""
        reader, error = Handle(), ErrorStruct()
        kind = library.leasehold_downgrade(self._handle.box, reader.box, error)
        self._ended()
        raise_if(kind != 0, error)
        return Held(reader, self.name)

    def _ended(self) -> None:
        with self._guard:
            if self._lost is not None and not self._released:
                self._lost._released.set()
            self._released = True

    def release(self) -> ReleaseResult:
        """Frees the lock and says what was found; again, the same. `held` is false before the first byte is sent."""
        error = ErrorStruct()
        outcome = library.leasehold_release(self._handle.box, error)
        raise_if(outcome < 0, error)
        self._ended()
        return ReleaseResult(outcome)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        # Begun before anything that a cancellation may end, and on no executor that is busy with other things.
        failure = ErrorStruct()
        raise_if(library.leasehold_release_begin(self._handle.box, failure) != 0, failure)
        loop, released = asyncio.get_running_loop(), asyncio.Event()

        def wait() -> None:
            self.release()
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(released.set)

        # No daemon: the interpreter would end under it while the delete is on its way.
        threading.Thread(target=wait, name="leasehold release").start()
        await released.wait()

    def __repr__(self) -> str:
        state = f"held for {self.remaining:.1f} s" if self.held else "not held"
        return f"<leasehold.{type(self).__name__} {self.name!r} token {self.fencing_token}, {state}>"


class Permit(Held):
    """One of the places of a semaphore, held as a lock is."""

    @property
    def slot(self) -> int:
        """0 to `permits` - 1: no other holder has the same one, as long as it is held."""
        return int(library.leasehold_slot(self._handle.box))
