# Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print
"""The way to the server: requests, retries, pages. Everything else uses this file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Generic, TypeVar

from threadkeep.printed.sync.transport import Transport
from threadkeep.ask import Pauses, asked
from threadkeep.content import Source
from threadkeep.errors import Broke, BrokenOff, FateUnknown, NotSent, Refused, ThreadkeepError
from threadkeep.errors import Unauthorized, Unavailable, Unreachable, refused
from threadkeep.record import Page, read, read_page

if TYPE_CHECKING:
    from typing import Any, Iterator, Callable, Dict, List, Mapping, Tuple

    from threadkeep.ask import Ask, Facts
    from threadkeep.content import Content
    from threadkeep.settings import Server
    from threadkeep.printed.sync.transport import Download

T = TypeVar("T")


class Paged(Generic[T]):
    """A list: `for item in paged`, or page by page."""

    __slots__ = ("_read", "_begin")

    def __init__(self, read: Callable[[str | None], Page[T]], begin: str | None = None) -> None:
        self._read = read
        self._begin = begin

    def page(self, cursor: str | None = None) -> Page[T]:
        """One page: the first, or the one at `cursor`."""
        return self._read(cursor or self._begin)

    def all(self) -> List[T]:
        """All items."""
        return [item for item in self]

    def __iter__(self) -> Iterator[T]:
        cursor = self._begin
        while True:
            page = self._read(cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor


class Way:
    """Sends requests to one server."""

    __slots__ = ("server", "transport", "actor", "retry_for_s", "answer_max_s", "silence_max_s")

    def __init__(
        self, server: Server, actor: str | None, retry_for_s: float, answer_max_s: float, silence_max_s: float
    ) -> None:
        self.server = server
        self.transport = Transport()
        self.actor = actor
        self.retry_for_s = retry_for_s
        self.answer_max_s = answer_max_s
        self.silence_max_s = silence_max_s

    def call(self, facts: Facts, path: Mapping[str, str], given: Any, **options: Any) -> Any:
        """Carries out a call of the table."""
        return read(facts.answer, self.json(asked(facts, path, given, self.retry_for_s > 0, **options)))

    def pages(self, facts: Facts, path: Mapping[str, str], given: Mapping[str, Any], **options: Any) -> Paged[Any]:
        """A list, page by page."""

        def page(cursor: str | None) -> Page[Any]:
            # A cursor knows where its page begins, so what named the first page does not go with it.
            which = given if cursor is None else {**given, "offset": None, "around": None, "cursor": cursor}
            ask = asked(facts, path, which, self.retry_for_s > 0, **options)
            return read_page(facts.answer, self.json(ask))

        return Paged(page, given.get("cursor"))

    def source(self, content: Content) -> Source:
        """Content to send."""
        return Source(content, self.transport.pieces)

    def json(self, ask: Ask) -> Any:
        """Sends a request, and reads its answer as JSON; None if it is empty."""
        content = self.whole(ask)
        try:
            return json.loads(content) if content else None
        except ValueError as cause:
            raise ThreadkeepError(f"{self.server.url} answered with what is not JSON", "not_understood") from cause

    def whole(self, ask: Ask) -> bytes:
        """Sends a request, and reads its answer whole."""
        return (self._again(ask, True))[1]

    def open(self, ask: Ask) -> Download:
        """Sends a request, and gives its answer as soon as its head has arrived."""
        return (self._again(ask, False))[0]

    def _again(self, ask: Ask, is_whole: bool) -> Tuple[Download, bytes]:
        """Sends a request until it is answered, refused for good, or there is no time left."""
        # Content that can be read once is sent once.
        pauses = Pauses(self.retry_for_s if ask.source is None or ask.source.again else 0.0)
        while True:
            try:
                answer = self.attempt(ask)
                return answer, self._read(answer) if is_whole else b""
            except Refused as refusal:
                # 429 says that nothing was done. After a 503 something may have been.
                may = isinstance(refusal, Unavailable) and (ask.repeats or refusal.status == 429)
                pause = pauses.next(refusal.retry_after) if may else None
                failure: ThreadkeepError = refusal
            except Unreachable as unreachable:
                pause, failure = pauses.next(), unreachable
            except FateUnknown as unknown:
                pause, failure = pauses.next() if ask.repeats else None, unknown
            if pause is None:
                raise failure
            self.transport.sleep(pause)

    def attempt(self, ask: Ask, silence_max_s: float | None = None) -> Download:
        """One attempt, until the head of a good answer."""
        headers: Dict[str, str] = {"Accept": "application/json"}
        if self.server.key is not None:
            headers["Authorization"] = f"Bearer {self.server.key}"
        if self.actor is not None:
            headers["Threadkeep-Actor"] = self.actor
        headers.update(ask.headers)
        content = None if ask.source is None else ask.source.body()
        silence_max_s = silence_max_s or (None if ask.unhurried else self.answer_max_s)
        url = self.server.url
        try:
            answer = self.transport.exchange(ask.method, url + ask.path, headers, content, silence_max_s)
        except NotSent as cause:
            self.server.look_again()
            raise Unreachable(f"the server at {url} cannot be reached: {cause}") from cause
        except Broke as cause:
            raise self._unknown(cause) from cause
        finally:
            if ask.source is not None:
                ask.source.close()
        if 200 <= answer.status < 300:
            return answer
        refusal = self._refused(answer, self._read(answer))
        if isinstance(refusal, Unauthorized) and self.server.look_again():
            raise Unreachable(f"the server at {url} was started again") from refusal
        raise refusal

    def _read(self, answer: Download) -> bytes:
        try:
            return answer.read()
        except BrokenOff as cause:
            raise self._unknown(cause) from cause

    def _unknown(self, cause: Exception) -> FateUnknown:
        return FateUnknown(f"the connection to {self.server.url} broke ({cause}); whether it was done is not known")

    def _refused(self, answer: Download, content: bytes) -> Refused:
        try:
            problem = json.loads(content)
        except ValueError:
            problem = None
        if not isinstance(problem, dict):
            problem = {"detail": f"{self.server.url} answered {answer.status} with something that is not Threadkeep's"}
        after = answer.headers.get("retry-after", "")
        return refused(answer.status, problem, float(after) if after.isdigit() else None)
