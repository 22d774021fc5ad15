"""Where the server is, and with which key: given, from the environment, or from the file of a server that runs here."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Tuple

_DEFAULT_URL = "http://127.0.0.1:8473"
_DATA_FOLDER = "threadkeep-data"
_SERVER_FILE = "server.json"


class Server:
    """The address of a server and the key for it."""

    __slots__ = ("url", "key", "_file", "_own_key")

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        url = url or os.environ.get("THREADKEEP_SERVER") or None
        key = key or os.environ.get("THREADKEEP_KEY") or None
        self._own_key = key is None
        folder = os.environ.get("THREADKEEP_DATA") or _DATA_FOLDER
        self._file = os.path.join(folder, _SERVER_FILE) if url is None else None
        said = self._said()
        self.url = (url or said[0] or _DEFAULT_URL).rstrip("/")
        self.key = key or said[1]

    def _said(self) -> Tuple[str | None, str | None]:
        """What the file says: the address and the local key."""
        if self._file is None:
            return None, None
        try:
            with open(self._file, encoding="utf-8") as file:
                said = json.load(file)
            return said.get("url"), said.get("apiKey")
        except (OSError, ValueError, AttributeError):
            return None, None

    def look_again(self) -> bool:
        """Reads the file anew; whether it says something else. A server that is started again has another key."""
        url, key = self._said()
        before = (self.url, self.key)
        self.url = (url or self.url).rstrip("/")
        self.key = key if self._own_key and key else self.key
        return before != (self.url, self.key)
