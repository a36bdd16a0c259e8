"""What Python's arguments are in C, and which cannot be."""
import math
from datetime import timedelta
from typing import Optional, Union

from ._library import NONE
from .errors import InvalidOption

Duration = Union[float, timedelta]  # a number is in seconds


def text(name: str, value: Optional[str]) -> Optional[bytes]:
    if value is None:
        return None
    try:
        encoded = value.encode() if isinstance(value, str) else b"\0"
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise InvalidOption(f"{name} is {value!r}: it must be text that UTF-8 can write, without NUL")
    return encoded


def milliseconds(name: str, value: Duration) -> int:
    """Rounded up, so that what is positive stays so."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if math.isnan(seconds) or seconds < 0 or seconds * 1000 >= 2**53 and not math.isinf(seconds):
        raise InvalidOption(f"{name} is {value} s: it must be 0 to {2**53 // 1000} s")
    return 2**53 if math.isinf(seconds) else math.ceil(seconds * 1000)


def timeout_ms(value: Optional[Duration]) -> int:
    """None and infinity are for ever."""
    return -1 if value is None else milliseconds("timeout", value)


def positive_ms(name: str, value: Optional[Duration]) -> int:
    """Zero stands for the default in C, so it cannot be asked for."""
    if value is None:
        return 0
    duration_ms = milliseconds(name, value)
    if duration_ms == 0:
        raise InvalidOption(f"{name} is 0 s: it must be longer")
    return duration_ms


def positive(name: str, value: Optional[int]) -> int:
    """The same for what is no duration."""
    if value == 0:
        raise InvalidOption(f"{name} is 0: it must be above 0")
    return value or 0


def or_none(name: str, value: Optional[float]) -> float:
    """Zero is LEASEHOLD_NONE; None is the default."""
    if value is None:
        return 0
    if not value >= 0:
        raise InvalidOption(f"{name} is {value}: it must be 0 or more")
    return value or NONE
