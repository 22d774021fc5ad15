"""Server-sent events from bytes that are cut anywhere."""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Iterator, List


class Event:
    """An event of a stream."""

    __slots__ = ("id", "event", "text")

    def __init__(self, id: str | None, event: str, text: str) -> None:
        self.id = id
        """The place in the stream; none for events that are not logged."""
        self.event = event
        """The name of the event."""
        self.text = text

    @property
    def data(self) -> Any:
        """The data of the event; as text, if they are no JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return self.text


class Reader:
    """Puts events together."""

    __slots__ = ("_decoder", "_text", "_id", "_event", "_data")

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._begin()

    def _begin(self) -> None:
        self._id: str | None = None
        self._event = "message"
        self._data: List[str] = []

    def push(self, piece: bytes) -> Iterator[Event]:
        """Takes the next bytes, and gives the events that are whole now."""
        text = self._text + self._decoder.decode(piece)
        # A carriage return at the end may be half of a line end.
        held = "\r" if text.endswith("\r") else ""
        lines = text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._text = lines.pop() + held
        for line in lines:
            if line == "":
                if self._data:
                    yield Event(self._id, self._event, "\n".join(self._data))
                self._begin()
                continue
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "id":
                self._id = value
            elif name == "event":
                self._event = value
            elif name == "data":
                self._data.append(value)
