# Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print
"""Files of threads: written, read, listed."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from threadkeep.printed.sync.way import Paged
from threadkeep.ask import Ask, conditions, filled, fresh_key, query
from threadkeep.printed.types import Directory, FileRecord, FileStats, Found, Grepped, Page
from threadkeep.record import read_page

if TYPE_CHECKING:
    from typing import Any, Literal, Mapping, TypedDict

    from typing_extensions import Unpack

    from threadkeep.printed.sync.transport import Download
    from threadkeep.printed.sync.way import Way
    from threadkeep.ask import Conditions
    from threadkeep.content import Content
    from threadkeep.printed.types import FileVersion

    class TreeAt(TypedDict, total=False):
        """Which state of the files is read: the present one, unless named; and who reads."""

        as_of: int | None
        actor: str | None

    class FileAt(TreeAt, total=False):
        """Which state of a file is read: the present one, unless named."""

        version: int | None


_FILES = "/v1/threads/{thread}/files"
_FILE = "/v1/threads/{thread}/files/{path}"


class Files:
    """The files of threads."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def write(
        self,
        thread: str,
        path: str,
        content: Content,
        *,
        mime_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        width: int | None = None,
        height: int | None = None,
        thumbnail: bytes | None = None,
        if_absent: bool = False,
        **given: Unpack[Conditions],
    ) -> FileRecord:
        """Writes a file, whole or not at all. Content that can be read once is sent once."""
        headers = conditions(if_absent=if_absent, **given)
        if mime_type is not None:
            headers["Content-Type"] = mime_type
        if metadata is not None:
            headers["Threadkeep-Metadata"] = json.dumps(metadata)
        if thumbnail is not None:
            headers["Threadkeep-Thumbnail"] = base64.b64encode(thumbnail).decode()
        source = self._way.source(content)
        if source.again:
            headers.setdefault("Idempotency-Key", fresh_key())
        at = _at(thread, path, width=width, height=height)
        ask = Ask("PUT", at, repeats=source.again, headers=headers, source=source)
        return FileRecord.from_json(self._way.json(ask))

    def read(self, thread: str, path: str, *, range: str | None = None, **at: Unpack[FileAt]) -> bytes:
        """The content of a file, or a part of it, such as `bytes=0-99`."""
        return self._way.whole(_reads(_FILE, {"thread": thread, "path": path}, range, **at))

    def text(self, thread: str, path: str, **at: Unpack[FileAt]) -> str:
        """The content of a file as text."""
        return (self.read(thread, path, **at)).decode()

    def open(self, thread: str, path: str, *, range: str | None = None, **at: Unpack[FileAt]) -> Download:
        """The content of a file as it comes. `range` is a part of it, such as `bytes=0-99`."""
        return self._way.open(_reads(_FILE, {"thread": thread, "path": path}, range, **at))

    def stat(self, thread: str, path: str, **at: Unpack[FileAt]) -> FileRecord:
        """What is known of a file or a directory."""
        ask = _reads(_FILE, {"thread": thread, "path": path}, None, stat=True, **at)
        return FileRecord.from_json(self._way.json(ask))

    def read_referred(
        self, reference: str, path: str, *, range: str | None = None, actor: str | None = None
    ) -> bytes:
        """The content of a file that a reference shows, or a part of it."""
        at = "/v1/references/{reference}/files/{path}"
        return self._way.whole(_reads(at, {"reference": reference, "path": path}, range, actor))

    def thumbnail(self, thread: str, path: str, *, edge: int = 256, actor: str | None = None) -> bytes:
        """A small picture of a file. Its longer edge has at most `edge` pixels."""
        return self._way.whole(_reads(_FILE, {"thread": thread, "path": path}, None, actor, thumbnail=edge))

    def diff(self, thread: str, path: str, *, since: int, actor: str | None = None) -> str:
        """The changes of a file since this version of the thread, as a unified diff."""
        ask = _reads(_FILE, {"thread": thread, "path": path}, None, actor, diff=since)
        return (self._way.whole(ask)).decode()

    def versions(
        self, thread: str, path: str, *, limit: int | None = None, actor: str | None = None
    ) -> Paged[FileVersion]:
        """The versions of a file, newest first."""

        def page(cursor: str | None) -> Page[FileVersion]:
            which: Mapping[str, Any] = {"versions": True, "limit": limit, "cursor": cursor}
            ask = _reads(_FILE, {"thread": thread, "path": path}, None, actor, **which)
            return read_page("FileVersion", self._way.json(ask))

        return Paged(page)

    def list(
        self, thread: str, *, below: str | None = None, limit: int | None = None, **at: Unpack[TreeAt]
    ) -> Paged[FileRecord]:
        """All files below a directory; those of the whole thread without one."""

        def page(cursor: str | None) -> Page[FileRecord]:
            return read_page("FileRecord", self._tree(thread, at, below=below, limit=limit, cursor=cursor))

        return Paged(page)

    def directory(self, thread: str, *, below: str | None = None, **at: Unpack[TreeAt]) -> Directory:
        """What is directly in a directory."""
        return Directory.from_json(self._tree(thread, at, list=True, below=below))

    def find(self, thread: str, glob: str, *, limit: int | None = None, **at: Unpack[TreeAt]) -> Found:
        """Files whose paths a glob matches."""
        return Found.from_json(self._tree(thread, at, find=glob, limit=limit))

    def grep(
        self,
        thread: str,
        pattern: str,
        *,
        regex: bool = False,
        glob: str | None = None,
        ignore_case: bool | Literal["smart"] = False,
        limit: int | None = None,
        **at: Unpack[TreeAt],
    ) -> Grepped:
        """Lines that hold a text, or that a regular expression matches."""
        how = {"regex": regex, "glob": glob, "ignoreCase": ignore_case, "limit": limit}
        return Grepped.from_json(self._tree(thread, at, grep=pattern, **how))

    def stats(self, thread: str, **at: Unpack[TreeAt]) -> FileStats:
        """Counts and sizes."""
        return FileStats.from_json(self._tree(thread, at, stats=True))

    def delete(self, thread: str, path: str, **given: Unpack[Conditions]) -> bool:
        """Deletes a file; false if there is none."""
        return bool((self._change("DELETE", _at(thread, path), given))["deleted"])

    def rmdir(self, thread: str, path: str, **given: Unpack[Conditions]) -> bool:
        """Removes an empty directory; false if there is none."""
        return bool((self._change("DELETE", _at(thread, path, rmdir=True), given))["deleted"])

    def mkdir(self, thread: str, path: str, **given: Unpack[Conditions]) -> FileRecord:
        """Makes a directory, and those above it."""
        return FileRecord.from_json(self._change("POST", _at(thread, path, mkdir=True), given))

    def move(self, thread: str, path: str, to: str, **given: Unpack[Conditions]) -> None:
        """Moves a file or a directory."""
        self._change("POST", _at(thread, path, moveTo=to), given)

    def _tree(self, thread: str, at: TreeAt, **params: Any) -> Any:
        path = filled(_FILES, {"thread": thread}) + query({**params, "asOf": at.get("as_of")})
        return self._way.json(Ask("GET", path, repeats=True, headers=conditions(actor=at.get("actor"))))

    def _change(self, method: str, path: str, given: Conditions) -> Any:
        headers = conditions(**given)
        headers.setdefault("Idempotency-Key", fresh_key())
        return self._way.json(Ask(method, path, repeats=True, headers=headers))


def _at(thread: str, path: str, **params: Any) -> str:
    return filled(_FILE, {"thread": thread, "path": path}) + query(params)


def _reads(
    path: str, parts: Mapping[str, str], range: str | None, actor: str | None = None,
    as_of: int | None = None, **params: Any,
) -> Ask:
    # A file comes as it is kept: its size is the one that was asked for.
    headers = {"Accept": "*/*", "Accept-Encoding": "identity", **conditions(actor=actor)}
    if range is not None:
        headers["Range"] = range
    return Ask("GET", filled(path, parts) + query({**params, "asOf": as_of}), repeats=True, headers=headers)
