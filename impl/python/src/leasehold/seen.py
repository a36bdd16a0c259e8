"""What a lock's document says."""
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ._library import SeenHolder as Struct

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class SeenHolder:
    """The holder of a lock, as the lock's document said at one moment. Dates are in UTC, by the server's clock."""

    holder: str  #: the `holder` of its `connect`; empty if it does not say
    since: datetime  #: when it was granted
    until: datetime  #: when it ends unless it is extended; includes `clock_margin`, on which no holder relies
    left: float  #: seconds to `until` when it was read; not positive: it is over
    lease: float  #: its expiry, in seconds; 0: of other software
    token_at_least: int  #: the holder's own may be higher, no earlier one's is
    readers: int = 0  #: how many share it; 0: its holder shares it with nobody


def _date(since_1970_ms: int) -> datetime:
    """The nearest that Python has: other software may write any."""
    try:
        return _EPOCH + timedelta(milliseconds=since_1970_ms)
    except OverflowError:
        return (datetime.max if since_1970_ms > 0 else datetime.min).replace(tzinfo=timezone.utc)


def seen_holder(seen: Struct) -> SeenHolder:
    return SeenHolder(seen.holder.decode(errors="replace"), _date(seen.since_ms), _date(seen.until_ms),
                      seen.left_ms / 1000, seen.lease_ms / 1000, seen.token_at_least, seen.readers)
