"""The functions of <leasehold/leasehold.h>, by ctypes."""
import ctypes
import logging
import os
import pathlib
import weakref
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Callable, Optional

from .errors import error_of

NONE = -1  # LEASEHOLD_NONE
_NAME = "libleasehold_c.so.1"


_WARNED = ctypes.CFUNCTYPE(None, c_char_p, c_void_p)


class ErrorStruct(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("code", ctypes.c_int32), ("message", ctypes.c_char * 1016)]


class ProviderOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("database", c_char_p), ("collection", c_char_p), ("holder", c_char_p),
                ("workers", c_int64), ("server_selection_timeout_ms", c_int64), ("on_warning", _WARNED),
                ("warning_context", c_void_p)]


class LockOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("expiry_ms", c_int64), ("extension_cadence_ms", c_int64),
                ("clock_margin_ms", c_int64), ("operation_timeout_ms", c_int64), ("max_holding_ms", c_int64),
                ("hand_overs_in_a_row", c_int64), ("max_drift", c_double), ("waiting", c_char_p),
                ("permits", c_int64), ("shared", c_int64)]


class SeenHolder(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("is_there", c_int64), ("since_ms", c_int64), ("until_ms", c_int64),
                ("left_ms", c_int64), ("lease_ms", c_int64), ("token_at_least", c_int64),
                ("holder", ctypes.c_char * 264), ("readers", c_int64)]


def _load() -> ctypes.CDLL:
    """The library that the wheel carries, or else the system's."""
    carried = pathlib.Path(__file__).with_name(_NAME)
    # libmongoc puts its counters into /dev/shm while it is loaded, and dies by SIGBUS if that is full.
    set_here = "MONGOC_DISABLE_SHM" not in os.environ
    os.environ.setdefault("MONGOC_DISABLE_SHM", "1")
    try:
        return ctypes.CDLL(str(carried) if carried.exists() else _NAME)
    except OSError as why:
        raise ImportError(f"leasehold needs {_NAME} and libmongoc-1.0 (Debian: apt install libmongoc-1.0-0; in a "
                          f"program that is frozen by PyInstaller: --collect-data leasehold): {why}",
                          name="leasehold") from why
    finally:
        if set_here:
            del os.environ["MONGOC_DISABLE_SHM"]


# A pointer to an object is a box, a c_void_p: the library fills it in before Python can be interrupted, and
# empties it when it frees the object. So a signal's exception after a call loses nothing and frees nothing twice.
# (One inside a finalizer is swallowed by Python, which may leave the object until the process ends.)
_BOX, _ERROR = POINTER(c_void_p), POINTER(ErrorStruct)
_FUNCTIONS = {
    "connect": (c_int, [c_char_p, POINTER(ProviderOptions), _BOX, _ERROR]),
    "close": (None, [_BOX]),
    "check": (c_int, [c_char_p, POINTER(LockOptions), _ERROR]),
    "acquire_begin": (c_int, [c_void_p, c_char_p, POINTER(LockOptions), c_int64, _BOX, _ERROR]),
    "call_fd": (c_int, [c_void_p]),
    "call_end": (c_int, [_BOX, _BOX, _ERROR]),
    "inspect": (c_int, [c_void_p, c_char_p, c_int64, POINTER(SeenHolder), _ERROR]),
    "held": (c_int, [c_void_p]),
    "remaining_ns": (c_int64, [c_void_p]),
    "fencing_token": (c_int64, [c_void_p, POINTER(c_uint64)]),
    "shared": (c_int, [c_void_p]),
    "slot": (c_int, [c_void_p]),
    "lost_fd": (c_int, [c_void_p, _ERROR]),
    "downgrade": (c_int, [c_void_p, _BOX, _ERROR]),
    "release_begin": (c_int, [c_void_p, _ERROR]),
    "release": (c_int, [c_void_p, _ERROR]),
    "free": (None, [_BOX]),
    "kind_name": (c_char_p, [c_int]),
    "version": (c_char_p, []),
}
library = _load()
for _function, (_result, _arguments) in _FUNCTIONS.items():
    _declared = getattr(library, f"leasehold_{_function}")
    _declared.restype, _declared.argtypes = _result, _arguments


class Hook:
    """A user's function for warnings. The library knows its address alone, and its provider keeps it."""

    def __init__(self, call: Callable[[str], object]) -> None:
        self.call = call


hooks: "weakref.WeakValueDictionary[int, Hook]" = weakref.WeakValueDictionary()


def _warn(message: bytes, context: Optional[int]) -> None:
    said, logger = message.decode(errors="replace"), logging.getLogger("leasehold")
    hook = None if context is None else hooks.get(context)
    if hook is None:
        logger.warning("%s", said)
        return
    try:
        hook.call(said)
    except Exception:
        logger.exception("on_warning raised an exception at: %s", said)


# A thread of the library calls it. One that did so while the interpreter ends would be killed amid C++, which aborts
# the process; so finalizers close each provider before, and closing ends the calls.
warn = _WARNED(_warn)


def raise_if(failed: bool, error: ErrorStruct) -> None:
    if failed:
        kind = library.leasehold_kind_name(error.kind).decode()
        raise error_of(kind, error.code, error.message.decode(errors="replace"))


def version() -> str:
    return str(library.leasehold_version().decode())
