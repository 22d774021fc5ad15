# Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print
"""How requests travel: all that this client has of httpx2. It is imported when the first client is made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from threadkeep.errors import BrokenOff, Broke, NotSent

if TYPE_CHECKING:
    from typing import IO, Any, Iterator, Mapping, Tuple

    import httpx2

_CONNECT_MAX_S = 10.0
_CHUNK_BYTES = 64 << 10


class Download:
    """The answer to a request, whose content comes as it is read: `async with` it, and `async for` its pieces."""

    __slots__ = ("_response",)

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        """200, or 206 for a part."""
        return self._response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer, such as `content-range`."""
        return self._response.headers

    @property
    def mime_type(self) -> str | None:
        """The media type of the content."""
        return self.headers.get("content-type")

    @property
    def size(self) -> int | None:
        """The bytes to come, if the server said so."""
        length = self.headers.get("content-length", "")
        return int(length) if length.isdigit() else None

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._response.iter_bytes():
                yield chunk
        except _failures()[1] as cause:
            why = str(cause) or type(cause).__name__
            raise BrokenOff(f"the content from {self._response.url.host} broke off: {why}") from cause
        finally:
            self._response.close()

    def read(self) -> bytes:
        """All of it."""
        return b"".join([chunk for chunk in self])

    def save(self, to: str | os.PathLike[str]) -> int:
        """Writes it to a local file, once all of it is here. Returns the number of bytes."""
        size = 0
        part = f"{os.fspath(to)}.part"
        with open(part, "wb") as file:
            for chunk in self:
                size += file.write(chunk)
        os.replace(part, to)
        return size

    def close(self) -> None:
        """Ends it."""
        self._response.close()

    def __enter__(self) -> Download:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class Transport:
    """Sends requests, and sleeps."""

    __slots__ = ("_client",)

    def __init__(self) -> None:
        import httpx2

        self._client = httpx2.Client(limits=httpx2.Limits(max_connections=None))

    def exchange(
        self, method: str, url: str, headers: Mapping[str, str], content: Any, silence_max_s: float | None
    ) -> Download:
        """Sends a request, and returns the answer as soon as its head has arrived."""
        import httpx2

        before, failed = _failures()
        timeout = httpx2.Timeout(silence_max_s, connect=_CONNECT_MAX_S)
        request = self._client.build_request(method, url, headers=headers, content=content, timeout=timeout)
        try:
            return Download(self._client.send(request, stream=True))
        except before as cause:
            raise NotSent(str(cause)) from cause
        except failed as cause:
            raise Broke(str(cause) or type(cause).__name__) from cause

    def sleep(self, seconds: float) -> None:
        import time

        time.sleep(seconds)

    def pieces(self, file: IO[bytes]) -> Iterator[bytes]:
        """The rest of a file, without holding up others."""
        while piece := file.read(_CHUNK_BYTES):
            yield piece

    def close(self) -> None:
        self._client.close()


def _failures() -> Tuple[Any, Any]:
    """Failures before anything went out, and all failures."""
    import httpx2

    slow = (httpx2.ConnectTimeout, httpx2.PoolTimeout)
    return (httpx2.ConnectError, httpx2.UnsupportedProtocol, httpx2.ProxyError, *slow), httpx2.TransportError
