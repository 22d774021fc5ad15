# Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print
"""The client: rooms of calls, and what is written by hand beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadkeep.printed.sync.files import Files
from threadkeep.printed.sync.follow import Following, RunFollowing
from threadkeep.printed.sync.way import Way
from threadkeep.ask import Ask, conditions, filled, query
from threadkeep.content import Source
from threadkeep.printed.sync import calls
from threadkeep.printed.types import Imported, ImportReport, SignIn
from threadkeep.settings import Server

if TYPE_CHECKING:
    from typing import Callable, Mapping, Sequence

    from threadkeep.printed.sync.transport import Download
    from threadkeep.content import Content
    from threadkeep.sse import Event


class Threads(calls.ThreadsCalls):
    """The calls of threads, their streams and their files."""

    __slots__ = ("files",)

    def __init__(self, way: Way) -> None:
        super().__init__(way)
        self.files = Files(way)
        """The files of threads."""

    def follow(
        self, thread: str, *, after: int | str | None = None, on_event: Callable[[Event], object] | None = None
    ) -> Following:
        """Follows a thread: its entries from the first one, or after `after`, then live; each entry once.

        It ends when the thread is deleted.

        Args:
            after: A version, or `latest` for new entries only.
            on_event: Is called with events that are no entries.
        """
        path = filled("/v1/threads/{thread}/stream", {"thread": thread})
        return Following(self._way, path, True, after, on_event)

    def follow_many(
        self,
        *,
        threads: Sequence[str] | None = None,
        project_id: str | None = None,
        after: str | None = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> Following:
        """Follows these threads, or all threads of a project.

        Args:
            after: The `cursor` of an earlier stream, or `latest` for new entries only.
            on_event: Is called with events that are no entries.
        """
        which = {"threads": ",".join(threads) if threads is not None else None, "projectId": project_id}
        return Following(self._way, f"/v1/stream{query(which)}", False, after, on_event)

    def ask_endpoint(
        self,
        thread: str,
        endpoint: str,
        *,
        method: str = "GET",
        query_params: Mapping[str, object] | None = None,
        content: Content | None = None,
        mime_type: str | None = None,
        actor: str | None = None,
    ) -> Download:
        """Asks an endpoint of the folder of definitions. It is sent once: what it does is not known here."""
        path = filled("/v1/threads/{thread}/api/{endpoint}", {"thread": thread, "endpoint": endpoint})
        headers = {"Accept": "*/*", **conditions(actor=actor)}
        if mime_type is not None:
            headers["Content-Type"] = mime_type
        source = None if content is None else self._way.source(content)
        ask = Ask(method, path + query(query_params), repeats=False, headers=headers, source=source, unhurried=True)
        return self._way.open(ask)


class Runs(calls.RunsCalls):
    """The calls of runs, and their streams."""

    __slots__ = ()

    def follow(self, run: str) -> RunFollowing:
        """Follows a run from its start: text as it is made, calls of tools, its status; each event once.

        A complete text replaces the chunks of its step. It ends with the run.
        """
        return RunFollowing(self._way, run)


class Admin(calls.AdminCalls):
    """Upkeep, for keys with scope `admin`."""

    __slots__ = ()

    def export(self) -> Download:
        """Every thread of every account, as JSON lines."""
        headers = {"Accept": "application/x-ndjson"}
        return self._way.open(Ask("GET", "/v1/admin/export", repeats=True, headers=headers))

    def back_up(self) -> Download:
        """A verified backup of everything as of one moment: a store in one file."""
        headers = {"Accept": "application/vnd.sqlite3", "Content-Type": "application/json"}
        ask = Ask("POST", "/v1/admin/backup", repeats=True, headers=headers, unhurried=True, source=Source(b"{}"))
        return self._way.open(ask)

    def import_export(self, content: Content) -> Imported:
        """Imports an export: all of its threads, or none."""
        headers = {"Content-Type": "application/x-ndjson"}
        source = self._way.source(content)
        ask = Ask("POST", "/v1/admin/import", repeats=False, headers=headers, source=source, unhurried=True)
        return Imported.from_json(self._way.json(ask))


class Threadkeep:
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
        way = Way(Server(url, key), actor, retry_for_s, answer_max_s, silence_max_s)
        self._way = way
        self.threads = Threads(way)
        self.runs = Runs(way)
        self.memories = calls.MemoriesCalls(way)
        self.approvals = calls.ApprovalsCalls(way)
        self.delegations = calls.DelegationsCalls(way)
        self.references = calls.ReferencesCalls(way)
        self.projects = calls.ProjectsCalls(way)
        self.keys = calls.KeysCalls(way)
        self.account = calls.AccountCalls(way)
        self.env = calls.EnvCalls(way)
        """Variables and secrets of the account; those of a thread are among the calls of threads."""
        self.definitions = calls.DefinitionsCalls(way)
        """Agents, prompts, models and tools of the server."""
        self.searching = calls.SearchingCalls(way)
        self.search = self.searching.search
        """Searches the messages of all threads."""
        self.tickets = calls.TicketsCalls(way)
        self.admin = Admin(way)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._way.server.url

    def sign_in(self) -> SignIn:
        """A link that signs a browser in with this key, once."""
        headers = {"Content-Type": "application/json"}
        ask = Ask("POST", "/v1/sign-in", repeats=True, headers=headers, source=Source(b"{}"))
        return SignIn.from_json(self._way.json(ask))

    def import_sessions(
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
        return ImportReport.from_json(self._way.json(ask))

    def close(self) -> None:
        """Closes its connections."""
        self._way.transport.close()

    def __enter__(self) -> Threadkeep:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
