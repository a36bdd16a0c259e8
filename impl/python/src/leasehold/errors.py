"""One class for each kind of error. The message names the thing, the value and the rule."""
import re
from typing import ClassVar


class Error(Exception):
    """Why a call gave no lock, or could not be made. `code` is the server's error code, or 0."""

    kind: ClassVar[str] = "?"
    code: int = 0


class InvalidOption(Error, ValueError):
    """An argument breaks a rule; nothing was sent."""


class Refused(Error):
    """A single attempt found the lock held by another."""


class TimedOut(Error, TimeoutError):
    """The wait ended at the time it was given."""


class Cancelled(Error):
    """The call was ended before it had the lock."""


class Unavailable(Error):
    """No server could be reached, or none that takes writes."""


class UnknownOutcome(Error):
    """A single attempt whose reply was lost; what it may have won is being deleted."""


class Configuration(Error):
    """Retrying cannot help: authentication, permission, wrong kind of server."""


class ShutDown(Error):
    """The provider was closed while the call waited, or belongs to the parent of this process."""


# By what the library calls the kind: UnknownOutcome is "unknown_outcome".
_CLASSES = {re.sub(r"\B(?=[A-Z])", "_", one.__name__).lower(): one for one in Error.__subclasses__()}
for _kind, _class in _CLASSES.items():
    _class.kind = _kind


def error_of(kind: str, code: int, message: str) -> Error:
    error = _CLASSES.get(kind, Error)(message)
    error.code = code
    return error
