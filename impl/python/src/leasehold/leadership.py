"""A leader among processes, elected by a lock."""
import contextlib
import logging
import threading
import time
from dataclasses import dataclass
from typing import Callable, Optional, Tuple

from . import _arguments as arguments
from ._arguments import Duration
from ._polling import READABLE, Flag, Waitable, any_ready, new_epoll
from .errors import Error, InvalidOption
from .held import Held, ReleaseResult
from .lock import Lock


class Stop:
    """Tells the work of a leader to end, like a threading.Event that is set for good. `fileno()` is for select, and for
    `loop.add_reader`. Thread safety: all calls."""

    def __init__(self, *reasons: Waitable) -> None:
        self._reasons, self._any = reasons, new_epoll()
        for reason in reasons:
            self._any.register(reason, READABLE)

    def fileno(self) -> int:
        """A file descriptor that is readable, and stays so, once the work should end. Only ever poll it."""
        return self._any.fileno()

    def is_set(self) -> bool:
        return any_ready((self,), 0)

    def wait(self, timeout: Optional[Duration] = None) -> bool:
        """True once the work should end; False after `timeout` (seconds or a timedelta)."""
        return any_ready((self,), arguments.timeout_ms(timeout))


@dataclass(frozen=True)
class Term:
    """One time as the leader, from its beginning to its end."""

    token: int
    lasted: float  #: seconds, from the call of the work until it had returned
    lost: bool  #: the lock was lost before the work had returned
    failure: Optional[Exception]  #: what the work raised
    release: ReleaseResult


class Leadership:
    """At most one of all processes that stand for election with the same lock leads: it calls `work(stop, token)`, with
    a Stop and the term's fencing token. When the work has returned, the lock is released and, after a pause, the process
    stands for election again. Python and C++ may compete.

    The Stop is set when the lock is lost, by its deadline; by `resign`; by `stop`; and once the work has returned. The
    work should then return soon. While it does not return it keeps the lock, if that was not lost, and `run` waits for
    it: this process leads no second time beside it. A leader that crashes keeps the lock until its expiry.

    `on_ended` gets each term that is over, after the release; what it raises, `run` raises. None: a warning of the logger
    "leasehold" for a term that was lost or ended by an exception. `pause` (seconds or a timedelta) follows a term that
    the work itself or `resign` ended, so that another process leads next; none follows a loss, unless the work raised.
    It doubles with each term in a row that an exception of the work ended, up to `longest_pause`. Thread
    safety: all calls; `run` once at a time.

        def work(stop, token):
            while not stop.wait(1):
                write_next(token)

        leadership = leasehold.Leadership(provider.lock("writer"), work)
        signal.signal(signal.SIGTERM, lambda *_: leadership.stop())
        leadership.run()
    """

    def __init__(self, lock: Lock, work: Callable[[Stop, int], object], *,
                 on_ended: Optional[Callable[[Term], object]] = None, pause: Duration = 1,
                 longest_pause: Duration = 60) -> None:
        self._lock, self._work, self._on_ended = lock, work, on_ended or self._log
        self._pause_ms = arguments.milliseconds("pause", pause)
        self._longest_ms = arguments.milliseconds("longest_pause", longest_pause)
        if self._pause_ms > self._longest_ms:
            raise InvalidOption(f"pause is {pause} s: it must be 0 to longest_pause, which is {longest_pause} s")
        self._stopped, self._running = Flag(), threading.Lock()
        self._changed = threading.Condition()  # protects the next two
        self._now: Optional[Tuple[Held, Flag, int]] = None  # a term under way, and its thread
        self._terms_over = 0

    def run(self) -> None:
        """Stands for election and leads, again and again, on this thread, until `stop` is called. Raises the Error that
        no further try can mend: ShutDown, Configuration; InvalidOption if it runs already. An exception of the work that
        is no Exception, such as KeyboardInterrupt, is raised after the release."""
        if not self._running.acquire(blocking=False):
            raise InvalidOption(f"lock {self._lock.name!r}: run is called while it runs")
        try:
            failures = 0
            while (held := self._elected()) is not None:
                term = self._lead(held)
                self._on_ended(term)
                failures = 0 if term.failure is None else failures + 1
                if failures > 0 or not term.lost:
                    doubled = self._pause_ms << min(max(failures - 1, 0), 40)
                    any_ready((self._stopped,), min(doubled, self._longest_ms))
        finally:
            self._running.release()

    def stop(self) -> None:
        """Asks the work to end and `run` to return, for good. Does not wait; a handler of a signal may call it."""
        self._stopped.set()

    @property
    def leading(self) -> Optional[int]:
        """The token of the term if this process leads now: by `Held.held`, asked at each call."""
        now = self._now
        return now[0].fencing_token if now is not None and now[0].held else None

    def resign(self, timeout: Duration = 0) -> bool:
        """Asks the work of this term to end, and waits until it has returned and the lock is free, at most for `timeout`
        (seconds or a timedelta). False: the work still runs, and still leads unless the lock is lost; the request stands.
        True: that term is over, or there was none. If the work itself calls this, it does not wait."""
        limit_s = min(arguments.milliseconds("timeout", timeout) / 1000, threading.TIMEOUT_MAX)
        with self._changed:
            if self._now is None:
                return True
            _, ends, thread = self._now
            over = self._terms_over
            ends.set()
            return thread != threading.get_ident() and self._changed.wait_for(lambda: self._terms_over != over, limit_s)

    def _elected(self) -> Optional[Held]:
        """None once it is stopped. What was won by then is released."""
        if self._stopped_now():
            return None
        with self._lock._call(None) as call:
            any_ready((call, self._stopped), -1)
            if not self._stopped_now():
                return Held(call.end(), self._lock.name)
            with contextlib.suppress(Error):  # Cancelled, as a rule
                Held(call.end(), self._lock.name).release()
            return None

    def _stopped_now(self) -> bool:
        return any_ready((self._stopped,), 0)

    def _lead(self, held: Held) -> Term:
        with held:
            ends, failure, began = Flag(), None, time.clock_gettime(time.CLOCK_BOOTTIME)
            stop = Stop(held.lost, ends, self._stopped)
            self._now = (held, ends, threading.get_ident())
            try:
                self._work(stop, held.fencing_token)
            except Exception as error:
                failure = error
            finally:
                lasted, lost = time.clock_gettime(time.CLOCK_BOOTTIME) - began, not held.held
                ends.set()
                released = held.release()
                with self._changed:  # a term is over only once the lock is free
                    self._now = None
                    self._terms_over += 1
                    self._changed.notify_all()
            return Term(held.fencing_token, lasted, lost, failure, released)

    def _log(self, term: Term) -> None:
        if term.lost or term.failure is not None:
            logging.getLogger("leasehold").warning(
                "leadership of lock %r: term %d ended: %s", self._lock.name, term.token,
                "the lock was lost" if term.failure is None else "its work raised", exc_info=term.failure)
