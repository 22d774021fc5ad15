"""The client of Threadkeep.

    from threadkeep import Threadkeep

    keep = Threadkeep()
    thread = keep.threads.create(title="Tea")
    keep.threads.append_messages(thread.id, role="user", content="Hello")
    for entry in keep.threads.follow(thread.id):
        print(entry.kind)

`AsyncThreadkeep` has the same names, to await.
"""

from typing import TYPE_CHECKING, Any

from threadkeep.errors import BrokenOff, Conflict, FateUnknown, Forbidden, Invalid, NotFound, Refused
from threadkeep.errors import ThreadkeepError, Unauthorized, Unavailable, Unreachable
from threadkeep.record import OMIT, Omit, Page, Record, Unknown
from threadkeep.sse import Event

if TYPE_CHECKING:
    from threadkeep import types
    from threadkeep.aio.client import AsyncThreadkeep
    from threadkeep.aio.follow import AsyncFollowing, AsyncRunFollowing
    from threadkeep.aio.transport import AsyncDownload
    from threadkeep.aio.way import AsyncPaged
    from threadkeep.printed.sync.client import Threadkeep
    from threadkeep.printed.sync.follow import Following, RunFollowing
    from threadkeep.printed.sync.transport import Download
    from threadkeep.printed.sync.way import Paged

# Each half is read when it is asked for: few programs use both.
_LATER = {"Threadkeep": "client", "Download": "transport", "Following": "follow", "RunFollowing": "follow", "Paged": "way"}

__version__ = "0.1.0"

__all__ = [
    "OMIT", "AsyncDownload", "AsyncFollowing", "AsyncPaged", "AsyncRunFollowing", "AsyncThreadkeep", "BrokenOff", "Conflict",
    "Download", "Event", "FateUnknown", "Following", "Forbidden", "Invalid", "NotFound", "Omit", "Page",
    "Paged", "Record", "Refused", "RunFollowing", "Threadkeep", "ThreadkeepError", "Unauthorized", "Unavailable", "Unknown",
    "Unreachable", "types",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "types":
        return importlib.import_module("threadkeep.types")
    file = _LATER.get(name.removeprefix("Async"))
    if file is None:
        raise AttributeError(f"module 'threadkeep' has no attribute {name!r}")
    half = "aio" if name.startswith("Async") else "printed.sync"
    globals()[name] = found = getattr(importlib.import_module(f"threadkeep.{half}.{file}"), name)
    return found
