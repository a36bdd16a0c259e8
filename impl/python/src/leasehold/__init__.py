"""A distributed lock that needs nothing but MongoDB.

    import leasehold

    with leasehold.connect("mongodb://db1,db2,db3/app?replicaSet=rs") as provider:
        with provider.lock("nightly-report").acquire(timeout=30) as held:
            write_report(held.fencing_token)
"""
from ._library import version
from .errors import (Cancelled, Configuration, Error, InvalidOption, Refused, ShutDown, TimedOut, Unavailable,
                     UnknownOutcome)
from .held import Held, Lost, Permit, ReleaseResult
from .leadership import Leadership, Stop, Term
from .lock import Lock, Provider, Semaphore, connect
from .seen import SeenHolder

__version__ = version()
__all__ = ["Cancelled", "Configuration", "Error", "Held", "InvalidOption", "Leadership", "Lock", "Lost", "Permit",
           "Provider", "Refused", "ReleaseResult", "SeenHolder", "Semaphore", "ShutDown", "Stop", "Term", "TimedOut",
           "Unavailable", "UnknownOutcome", "connect"]
