"""One class for each kind of error. The message names the thing, the value and the rule."""
from typing import ClassVar


class Error(Exception):
    """Why a call gave no lock, or could not be made. `code` is the server's error code, or 0."""

    kind: ClassVar[str] = "?"
    code: int = 0


class InvalidOption(Error, ValueError):
    """An argument breaks a rule; nothing was sent."""

    kind = "invalid_option"


class Refused(Error):
    """A single attempt found the lock held by another."""

    kind = "refused"


class TimedOut(Error, TimeoutError):
    """The wait ended at the time it was given."""

    kind = "timed_out"


class Cancelled(Error):
    """The call was ended before it had the lock."""

    kind = "cancelled"


class Unavailable(Error):
    """No server could be reached, or none that takes writes."""

    kind = "unavailable"


class UnknownOutcome(Error):
    """A single attempt whose reply was lost; what it may have won is being deleted."""

    kind = "unknown_outcome"


class Configuration(Error):
    """Retrying cannot help: authentication, permission, wrong kind of server."""

    kind = "configuration"


class ShutDown(Error):
    """The provider was closed while the call waited, or belongs to the parent of this process."""

    kind = "shut_down"


_CLASSES = {kind.kind: kind for kind in Error.__subclasses__()}


def error_of(kind: str, code: int, message: str) -> Error:
    error = _CLASSES.get(kind, Error)(message)
    error.code = code
    return error
