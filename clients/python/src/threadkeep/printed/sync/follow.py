# Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print
"""Streams: the entries of a thread, or of many, then live; and the events of a run. They reconnect, and give each once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

from threadkeep.ask import Ask, Pauses, filled
from threadkeep.errors import BrokenOff, FateUnknown, NotFound, Refused, ThreadkeepError
from threadkeep.errors import Unavailable, Unreachable, refused
from threadkeep.printed.types import HistoryEntry, RunEventAssistant, RunEventStatus, RunEventTiming, RunEventToolCall
from threadkeep.record import read
from threadkeep.sse import Event, Reader

if TYPE_CHECKING:
    from typing import Iterator, Callable

    from threadkeep.printed.sync.way import Way
    from threadkeep.printed.sync.transport import Download
    from threadkeep.printed.types import RunEvent

_LATEST = "latest"
# A connection that ended sooner than this without any news was of no use.
_SHORT_LIVED_S = 1.0
# Places for chunks between two versions.
_CHUNKS = 1 << 20
_OVER = ("completed", "failed", "stopped")
_RUN_EVENT = ("|", *(kind.__name__ for kind in (RunEventTiming, RunEventAssistant, RunEventToolCall, RunEventStatus)))

T = TypeVar("T")


class Stream(Generic[T]):
    """A stream that goes on: it reconnects, and begins where the last item was handed over."""

    __slots__ = ("cursor", "_way", "_path", "_ends", "_was_open", "_is_over", "_here")

    def __init__(self, way: Way, path: str, ends: bool, after: int | str | None) -> None:
        self.cursor: str | None = None if after is None else str(after)
        """The place after which the next connection begins."""
        self._way = way
        self._path = path
        self._ends = ends  # Whether it ends when what it follows is gone.
        self._was_open = False
        self._is_over = False  # Whether nothing comes any more.
        self._here = 0  # Events of the last place that came on this connection.

    def _take(self, event: Event) -> T | None:
        """The item in an event; none if it was given before, or is none."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[T]:
        pauses = Pauses(self._way.retry_for_s)
        while True:
            failure: ThreadkeepError | None = None
            had_news = False
            opened: float | None = None
            try:
                answer = self._open()
                opened = time.monotonic()
                reader = Reader()
                try:
                    for piece in answer:
                        for event in reader.push(piece):
                            if event.event == "error":
                                raise _ended(event)
                            item = self._take(event)
                            if item is not None:
                                had_news = True
                                yield item
                            if self._is_over:
                                return
                finally:
                    answer.close()
            except (BrokenOff, FateUnknown, Unreachable, Unavailable) as broke:
                failure = broke
            except NotFound:
                if self._was_open and self._ends:
                    return
                raise
            if had_news or (opened is not None and time.monotonic() - opened > _SHORT_LIVED_S):
                pauses = Pauses(self._way.retry_for_s)
                continue
            pause = pauses.next(failure.retry_after if isinstance(failure, Refused) else None)
            if pause is None:
                raise failure or Unreachable(f"the stream from {self._way.server.url} ends at once")
            self._way.transport.sleep(pause)

    def _open(self) -> Download:
        headers = {"Accept": "text/event-stream"}
        if self.cursor is not None:
            headers["Last-Event-ID"] = self.cursor
        answer = self._way.attempt(Ask("GET", self._path, repeats=True, headers=headers), self._way.silence_max_s)
        self._was_open, self._here = True, 0
        # A stream that begins with the latest entry learns its place here.
        if self.cursor is None or self.cursor == _LATEST:
            self.cursor = answer.headers.get("threadkeep-cursor") or self.cursor
        return answer


class Following(Stream[HistoryEntry]):
    """The entries of threads: `for entry in following`. `cursor` is the place to go on from with `after`."""

    __slots__ = ("_on_event",)

    def __init__(
        self,
        way: Way,
        path: str,
        is_of_one_thread: bool,
        after: int | str | None,
        on_event: Callable[[Event], object] | None,
    ) -> None:
        super().__init__(way, path, is_of_one_thread, after)
        self._on_event = on_event

    def _take(self, event: Event) -> HistoryEntry | None:
        # Places in one thread are versions.
        if event.id is not None and self._ends and _version(event.id) <= _version(self.cursor):
            return None
        told = event.data
        if event.id is not None:
            # The cursor moves when the entry is handed over: one that was not is told again.
            self.cursor = event.id
            if isinstance(told, dict) and "version" in told:
                return HistoryEntry.from_json(told)
        if self._on_event is not None:
            self._on_event(event)
        return None


class RunFollowing(Stream["RunEvent"]):
    """The events of a run: `for event in following`. It ends with the run."""

    __slots__ = ("_last", "_epoch", "_last_id", "_given", "_is_timed")

    def __init__(self, way: Way, run: str) -> None:
        super().__init__(way, filled("/v1/runs/{run}/stream", {"run": run}), True, None)
        # The place of the last event: a version, and chunks after it. An entry may bring several events with one place,
        # so the next connection begins at the place before it, and events that were given are passed over.
        self._last = (-1, 0)
        self._epoch = ""
        self._last_id: str | None = None
        self._given = 0
        self._is_timed = False

    def _take(self, event: Event) -> RunEvent | None:
        told = event.data
        if not isinstance(told, dict) or not self._is_new(event.id):
            return None
        found: RunEvent = read(_RUN_EVENT, told)
        self._is_over = isinstance(found, RunEventStatus) and found.status in _OVER
        return found

    def _is_new(self, id: str | None) -> bool:
        if id is None:
            # The time of the first piece has no place.
            is_new, self._is_timed = not self._is_timed, True
            return is_new
        epoch, _, sequence = id.partition(".")
        place = divmod(int(sequence), _CHUNKS)
        if place == self._last and place[1] == 0:
            self._here += 1
            is_new = self._here > self._given
            self._given += is_new
            return is_new
        # A server that was started again counts chunks anew.
        anew = place[0] == self._last[0] and place[1] > 0 and epoch != self._epoch
        if place <= self._last and not anew:
            return False
        self.cursor = id if place[1] > 0 else self._last_id
        self._last, self._epoch, self._last_id = place, epoch, id
        self._given = self._here = 1
        return True


def _version(place: str | None) -> int:
    """The version that a place is; below all others if it is none."""
    return int(place) if place is not None and place.isdigit() else -1


def _ended(event: Event) -> Refused:
    """The server ends a stream with a problem that has no status of its own."""
    problem = event.data if isinstance(event.data, dict) else {}
    status = 503 if problem.get("code") == "unavailable" else int(problem.get("status") or 403)
    return refused(status, problem)
