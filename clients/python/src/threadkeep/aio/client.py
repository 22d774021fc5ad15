"""The client: rooms of calls, and what is written by hand beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.aio.files import AsyncFiles
from threadkeep.aio.follow import AsyncFollowing, AsyncRunFollowing
from threadkeep.aio.way import AsyncWay
from threadkeep.ask import Ask, conditions, filled, query
from threadkeep.content import Source
from threadkeep.printed.aio import calls
from threadkeep.printed.types import Imported, ImportReport, SignIn
from threadkeep.settings import Server

if TYPE_CHECKING:
    from typing import Callable, Mapping, Sequence

    from threadkeep.aio.transport import AsyncDownload
    from threadkeep.content import Content
    from threadkeep.sse import Event


class AsyncThreads(calls.AsyncThreadsCalls):
    """The calls of threads, their streams and their files."""

    __slots__ = ("files",)

    def __init__(self, way: AsyncWay) -> None:
        super().__init__(way)
        self.files = AsyncFiles(way)
        """The files of threads."""

    def follow(
        self, thread: str, *, after: int | str | None = None, on_event: Callable[[Event], object] | None = None
    ) -> AsyncFollowing:
        """Follows a thread: its entries from the first one, or after `after`, then live; each entry once.

        It ends when the thread is deleted.

        Args:
            after: A version, or `latest` for new entries only.
            on_event: Is called with events that are no entries.
        """
        path = filled("/v1/threads/{thread}/stream", {"thread": thread})
        return AsyncFollowing(self._way, path, True, after, on_event)

    def follow_many(
        self,
        *,
        threads: Sequence[str] | None = None,
        project_id: str | None = None,
        after: str | None = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> AsyncFollowing:
        """Follows these threads, or all threads of a project.

        Args:
            after: The `cursor` of an earlier stream, or `latest` for new entries only.
            on_event: Is called with events that are no entries.
        """
        which = {"threads": ",".join(threads) if threads is not None else None, "projectId": project_id}
        return AsyncFollowing(self._way, f"/v1/stream{query(which)}", False, after, on_event)

    async def ask_endpoint(
        self,
        thread: str,
        endpoint: str,
        *,
        method: str = "GET",
        query_params: Mapping[str, object] | None = None,
        content: Content | None = None,
        mime_type: str | None = None,
        actor: str | None = None,
    ) -> AsyncDownload:
        """Asks an endpoint of the folder of definitions. It is sent once: what it does is not known here."""
        path = filled("/v1/threads/{thread}/api/{endpoint}", {"thread": thread, "endpoint": endpoint})
        headers = {"Accept": "*/*", **conditions(actor=actor)}
        if mime_type is not None:
            headers["Content-Type"] = mime_type
        source = None if content is None else self._way.source(content)
        ask = Ask(method, path + query(query_params), repeats=False, headers=headers, source=source, unhurried=True)
        return await self._way.open(ask)


class AsyncRuns(calls.AsyncRunsCalls):
    """The calls of runs, and their streams."""

    __slots__ = ()

    def follow(self, run: str) -> AsyncRunFollowing:
        """Follows a run from its start: text as it is made, calls of tools, its status; each event once.

        A complete text replaces the chunks of its step. It ends with the run.
        """
        return AsyncRunFollowing(self._way, run)


class AsyncAdmin(calls.AsyncAdminCalls):
    """Upkeep, for keys with scope `admin`."""

    __slots__ = ()

    async def export(self) -> AsyncDownload:
        """Every thread of every account, as JSON lines."""
        headers = {"Accept": "application/x-ndjson"}
        return await self._way.open(Ask("GET", "/v1/admin/export", repeats=True, headers=headers))

    async def back_up(self) -> AsyncDownload:
        """A verified backup of everything as of one moment: a store in one file."""
        headers = {"Accept": "application/vnd.sqlite3", "Content-Type": "application/json"}
        ask = Ask("POST", "/v1/admin/backup", repeats=True, headers=headers, unhurried=True, source=Source(b"{}"))
        return await self._way.open(ask)

    async def import_export(self, content: Content) -> Imported:
        """Imports an export: all of its threads, or none."""
        headers = {"Content-Type": "application/x-ndjson"}
        source = self._way.source(content)
        ask = Ask("POST", "/v1/admin/import", repeats=False, headers=headers, source=source, unhurried=True)
        return Imported.from_json(await self._way.json(ask))


class AsyncThreadkeep:
    """A Threadkeep server.

    Without settings, `THREADKEEP_SERVER` and `THREADKEEP_KEY` say where the server is and with which key it is opened;
    else the file `server.json` of a server that runs on the data folder (`THREADKEEP_DATA`, or `threadkeep-data`).

    Args:
        url: The address of the server, such as `http://127.0.0.1:8473`.
        key: The key.
        actor: Who acts, such as `agent reviewer`; for keys that may say so.
        retry_for_s: The seconds after which a call is not tried again. 0 never tries again.
        answer_max_s: The seconds for which a server may be silent before it answers.
        silence_max_s: The seconds of silence after which a stream is opened anew.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        actor: str | None = None,
        retry_for_s: float = 15.0,
        answer_max_s: float = 60.0,
        silence_max_s: float = 45.0,
    ) -> None:
        way = AsyncWay(Server(url, key), actor, retry_for_s, answer_max_s, silence_max_s)
        self._way = way
        self.threads = AsyncThreads(way)
        self.runs = AsyncRuns(way)
        self.memories = calls.AsyncMemoriesCalls(way)
        self.approvals = calls.AsyncApprovalsCalls(way)
        self.delegations = calls.AsyncDelegationsCalls(way)
        self.references = calls.AsyncReferencesCalls(way)
        self.projects = calls.AsyncProjectsCalls(way)
        self.keys = calls.AsyncKeysCalls(way)
        self.account = calls.AsyncAccountCalls(way)
        self.env = calls.AsyncEnvCalls(way)
        """Variables and secrets of the account; those of a thread are among the calls of threads."""
        self.definitions = calls.AsyncDefinitionsCalls(way)
        """Agents, prompts, models and tools of the server."""
        self.searching = calls.AsyncSearchingCalls(way)
        self.search = self.searching.search
        """Searches the messages of all threads."""
        self.tickets = calls.AsyncTicketsCalls(way)
        self.admin = AsyncAdmin(way)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._way.server.url

    async def sign_in(self) -> SignIn:
        """A link that signs a browser in with this key, once."""
        headers = {"Content-Type": "application/json"}
        ask = Ask("POST", "/v1/sign-in", repeats=True, headers=headers, source=Source(b"{}"))
        return SignIn.from_json(await self._way.json(ask))

    async def import_sessions(
        self, content: Content, *, source: str, name: str, actor: str | None = None
    ) -> ImportReport:
        """Imports a file of another agent's conversations. Sending it again adds only what is new.

        Args:
            source: The agent that wrote it, such as `claude-code`, `codex` or `chatgpt`.
            name: The name of the file. Its ending tells the format where an agent has several.
        """
        body = self._way.source(content)
        headers = {"Content-Type": "application/x-ndjson", **conditions(actor=actor)}
        path = f"/v1/import{query({'source': source, 'name': name})}"
        ask = Ask("POST", path, repeats=True, headers=headers, source=body, unhurried=True)
        return ImportReport.from_json(await self._way.json(ask))

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._way.transport.aclose()

    async def __aenter__(self) -> AsyncThreadkeep:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()
