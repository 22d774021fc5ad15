"""What is sent as the content of a file."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any, AsyncIterable, Iterable, Union

from threadkeep.errors import ThreadkeepError

if TYPE_CHECKING:
    from typing import Callable

Content = Union[str, bytes, "os.PathLike[str]", IO[bytes], Iterable[bytes], AsyncIterable[bytes]]
"""A text, bytes, the path of a local file, an open file, or pieces as they come."""


class Source:
    """Content that is sent, and whether it can be sent again."""

    __slots__ = ("content", "again", "_pieces", "_start", "_opened")

    def __init__(self, content: Content, pieces: Callable[[IO[bytes]], Any] | None = None) -> None:
        self.content: Any = content.encode() if isinstance(content, str) else content
        self._pieces = pieces
        self._start: int | None = None
        self._opened: IO[bytes] | None = None
        self.again = isinstance(self.content, (bytes, os.PathLike))
        """Whether it can be read again, from its beginning."""
        file: Any = content
        if hasattr(file, "seekable") and file.seekable():
            self._start = file.tell()
            self.again = True

    def body(self) -> Any:
        """The body of one attempt."""
        file: Any = self.content
        if isinstance(file, os.PathLike):
            self.close()
            try:
                self._opened = file = open(file, "rb")
            except OSError as cause:
                raise ThreadkeepError(f"{self.content} cannot be read: {cause}", "invalid_parameter") from cause
        elif self._start is not None:
            file.seek(self._start)
        return self._pieces(file) if self._pieces is not None and hasattr(file, "read") else file

    def close(self) -> None:
        """Closes what was opened."""
        if self._opened is not None:
            self._opened.close()
