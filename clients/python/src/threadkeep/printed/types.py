# Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print
"""The types of calls. Fields that this version does not know are in `extra`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal

from threadkeep.record import Page, Record, Unknown

if TYPE_CHECKING:
    from typing import Mapping, Sequence

    from typing import TypeAlias


class Actor(Record):
    """An actor: a person, an agent or Threadkeep itself."""

    __slots__ = ("type", "name")
    _fields = {
        "type": ("type", None),
        "name": ("name", None),
    }
    _required = ("type", "name")
    type: ActorKind
    """Human, agent or system."""
    name: str
    """The actor's name within its account."""


class Adopted(Record):
    """The result of an adoption."""

    __slots__ = ("adopted",)
    _fields = {
        "adopted": ("adopted", None),
    }
    _required = ("adopted",)
    adopted: int
    """The number of effects that were adopted."""


class AppendedMessages(Record):
    """The messages that a batch added."""

    __slots__ = ("messages",)
    _fields = {
        "messages": ("messages", ("[", "Message")),
    }
    _required = ("messages",)
    messages: List[Message]
    """The messages that were appended."""


class Approval(Record):
    """A request to be allowed something."""

    __slots__ = (
        "id",
        "thread_id",
        "scope",
        "reason",
        "state",
        "asked_by",
        "asked_at",
        "timeout_at",
        "fallback",
        "can_revoke",
        "call",
        "overdue",
        "holds",
        "answered_by",
        "answered_at",
        "answer_reason",
        "timed_out",
    )
    _fields = {
        "id": ("id", None),
        "threadId": ("thread_id", None),
        "scope": ("scope", None),
        "reason": ("reason", None),
        "state": ("state", None),
        "askedBy": ("asked_by", "Actor"),
        "askedAt": ("asked_at", None),
        "timeoutAt": ("timeout_at", None),
        "fallback": ("fallback", None),
        "canRevoke": ("can_revoke", None),
        "call": ("call", "AskedCall"),
        "overdue": ("overdue", None),
        "holds": ("holds", None),
        "answeredBy": ("answered_by", "Actor"),
        "answeredAt": ("answered_at", None),
        "answerReason": ("answer_reason", None),
        "timedOut": ("timed_out", None),
    }
    _required = (
        "id",
        "threadId",
        "scope",
        "state",
        "askedBy",
        "askedAt",
        "fallback",
        "canRevoke",
        "overdue",
        "holds",
    )
    id: Uuid
    """The id of the approval, under which it is answered."""
    thread_id: ThreadId
    """The thread it is about."""
    scope: List[Capability]
    """The capabilities that were asked for."""
    reason: str | None
    """Why it was asked for, in words."""
    state: ApprovalState
    """The state: pending, or the answer."""
    asked_by: Actor
    """The actor that asked."""
    asked_at: Timestamp
    """When it was asked for."""
    timeout_at: Timestamp | None
    """When it times out."""
    fallback: Fallback
    """The outcome if the time runs out."""
    can_revoke: bool
    """Whether it can be taken back after it was approved."""
    call: AskedCall | None
    """The one call of a tool that it allows, with its arguments."""
    overdue: bool
    """Whether it is pending past its time-out."""
    holds: bool
    """Whether the entry that asked for it is in view: a rollback undoes it, and an undo brings it
    back.
    """
    answered_by: Actor | None
    """The actor that answered."""
    answered_at: Timestamp | None
    """When it was answered."""
    answer_reason: str | None
    """Why it was answered so, in words."""
    timed_out: bool | None
    """Whether the time-out answered."""


class ArtifactVersion(Record):
    """One file, as it was at a version."""

    __slots__ = ("path", "version")
    _fields = {
        "path": ("path", None),
        "version": ("version", None),
    }
    _required = ("path", "version")
    path: FilePath
    """The path of the file."""
    version: Version
    """The version of the thread at which it was so."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            path: FilePath,
            version: Version,
        ) -> None: ...


class AskedCall(Record):
    """A call of a tool that needs an approval."""

    __slots__ = ("tool", "args", "used")
    _fields = {
        "tool": ("tool", None),
        "args": ("args", None),
        "used": ("used", None),
    }
    _required = ("tool", "args")
    tool: str
    """The name of the tool."""
    args: Dict[str, Any]
    """Its arguments: a JSON object."""
    used: str | None
    """The id of the call that used the approval up."""


class Attachment(Record):
    """A file that belongs to a message. The blob store holds its bytes, and equal bytes only once."""

    __slots__ = ("id", "name", "mime_type", "size", "path")
    _fields = {
        "id": ("id", None),
        "name": ("name", None),
        "mimeType": ("mime_type", None),
        "size": ("size", None),
        "path": ("path", None),
    }
    _required = ("id", "name", "mimeType", "size")
    id: BlobId
    """The hash of its bytes."""
    name: str
    """The name of the file."""
    mime_type: str
    """Its media type, such as `image/png`."""
    size: int
    """Its size in bytes."""
    path: FilePath | None
    """Its path among the files of the thread, if it has one."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            id: BlobId,
            name: str,
            mime_type: str,
            size: int,
            path: FilePath | None = None,
        ) -> None: ...


class Backfilled(Record):
    """The result of a backfill."""

    __slots__ = ("embedded", "cleaned")
    _fields = {
        "embedded": ("embedded", None),
        "cleaned": ("cleaned", None),
    }
    _required = ("embedded", "cleaned")
    embedded: int
    """Messages that were not in the index, and now are."""
    cleaned: int
    """Messages that were dropped from it, because no thread is left that shows them."""


class Changed(Record):
    """How many were added, changed and removed."""

    __slots__ = ("added", "changed", "removed")
    _fields = {
        "added": ("added", None),
        "changed": ("changed", None),
        "removed": ("removed", None),
    }
    _required = ("added", "changed", "removed")
    added: int
    """Number of new ones."""
    changed: int
    """Ones that are different now."""
    removed: int
    """Ones that are gone."""


class Checkpoint(Record):
    """A version with a name."""

    __slots__ = ("name", "version", "created_at")
    _fields = {
        "name": ("name", None),
        "version": ("version", None),
        "createdAt": ("created_at", None),
    }
    _required = ("name", "version", "createdAt")
    name: str
    """The name of the checkpoint."""
    version: Version
    """The version it names."""
    created_at: Timestamp
    """When the name was set."""


class Child(Record):
    """The thread of a subagent, as its parent's registry knows it."""

    __slots__ = (
        "reference",
        "name",
        "title",
        "description",
        "resumable",
        "blocking",
        "thread_name",
        "spawn_group_id",
        "created_at",
        "status",
        "parent_communication",
    )
    _fields = {
        "reference": ("reference", None),
        "name": ("name", None),
        "title": ("title", None),
        "description": ("description", None),
        "resumable": ("resumable", None),
        "blocking": ("blocking", None),
        "threadName": ("thread_name", None),
        "spawnGroupId": ("spawn_group_id", None),
        "createdAt": ("created_at", None),
        "status": ("status", None),
        "parentCommunication": ("parent_communication", None),
    }
    _required = ("reference", "name", "description", "createdAt", "status")
    reference: ThreadId
    """The thread of the subagent."""
    name: str
    """The name of the subagent."""
    title: str | None
    """A title for people."""
    description: str
    """The task of the subagent."""
    resumable: bool | None
    """Whether the subagent can be resumed after its work."""
    blocking: bool | None
    """Whether its parent waits for it."""
    thread_name: str | None
    """A name for the thread."""
    spawn_group_id: str | None
    """Shared by the children that one message made."""
    created_at: Timestamp
    """When the thread was registered."""
    status: str
    """Its activity, in its own words."""
    parent_communication: ParentCommunication | None
    """Whether it reports to its parent by itself."""


class Choice(Record):
    """A choice for one conflict: of a file, a value or a question."""

    __slots__ = ("path", "key", "question", "take", "content", "value")
    _fields = {
        "path": ("path", None),
        "key": ("key", None),
        "question": ("question", None),
        "take": ("take", None),
        "content": ("content", None),
        "value": ("value", None),
    }
    path: FilePath | None
    """The path of the file in conflict."""
    key: ValueKey | None
    """Or the key of the value in conflict."""
    question: str | None
    """Or the question that has two answers."""
    take: Take | None
    """The side to take."""
    content: str | None
    """Or the text of the file, or the answer to the question."""
    value: Json | None
    """Or the new value."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            path: FilePath | None = None,
            key: ValueKey | None = None,
            question: str | None = None,
            take: Take | None = None,
            content: str | None = None,
            value: Json | None = None,
        ) -> None: ...


class CodeError(Record):
    """The error of a run. Positions are those of the source as it was sent."""

    __slots__ = ("name", "message", "stack", "line", "column", "filename")
    _fields = {
        "name": ("name", None),
        "message": ("message", None),
        "stack": ("stack", None),
        "line": ("line", None),
        "column": ("column", None),
        "filename": ("filename", None),
    }
    _required = ("name", "message")
    name: str
    """The name of the error, such as `TypeError`; `code_timeout` at the time limit."""
    message: str
    """Its message."""
    stack: str | None
    """The calls that led to it."""
    line: int | None
    """The line, from 1."""
    column: int | None
    """The column, from 1."""
    filename: str | None
    """The module."""


class CodeLog(Record):
    """A line of the console."""

    __slots__ = ("level", "message")
    _fields = {
        "level": ("level", None),
        "message": ("message", None),
    }
    _required = ("level", "message")
    level: str
    """The method of `console`, such as `log` or `warn`."""
    message: str
    """Its arguments as text."""


class CodeOutcome(Record):
    """The outcome of a run of code."""

    __slots__ = ("status", "result", "reports", "logs", "duration_ms", "error")
    _fields = {
        "status": ("status", None),
        "result": ("result", None),
        "reports": ("reports", None),
        "logs": ("logs", ("[", "CodeLog")),
        "durationMs": ("duration_ms", None),
        "error": ("error", "CodeError"),
    }
    _required = ("status", "reports", "logs", "durationMs")
    status: Literal["success", "error", "link_error", "memory", "terminated"]
    """How it ended."""
    result: Any
    """The result as JSON; absent for `undefined`. A bigint, a `Date` and bytes are text, a `Map` and a
    `Set` are arrays.
    """
    reports: List[Any]
    """The values that the code reported, in order."""
    logs: List[CodeLog]
    """The console, in order, up to 1 MiB."""
    duration_ms: float
    """Time from the start of the code to its end, in milliseconds."""
    error: CodeError | None
    """What went wrong."""


class CodeTerminated(Record):
    """Whether a run was open and is killed now."""

    __slots__ = ("terminated",)
    _fields = {
        "terminated": ("terminated", None),
    }
    _required = ("terminated",)
    terminated: bool
    """Whether there was such a run."""


class ConflictStrategy(Record):
    """How each type of conflict is resolved."""

    __slots__ = ("file", "decision", "state")
    _fields = {
        "file": ("file", None),
        "decision": ("decision", None),
        "state": ("state", None),
    }
    file: FileStrategy | None
    """For files that both sides changed."""
    decision: DecisionStrategy | None
    """For questions that both sides answered differently."""
    state: StateStrategy | None
    """For values that both sides changed."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            file: FileStrategy | None = None,
            decision: DecisionStrategy | None = None,
            state: StateStrategy | None = None,
        ) -> None: ...


class ContentFile(Record):
    """A file, by its path."""

    __slots__ = ("type", "path", "mime_type", "name")
    _fields = {
        "type": ("type", None),
        "path": ("path", None),
        "mimeType": ("mime_type", None),
        "name": ("name", None),
    }
    _required = ("type", "path", "mimeType")
    _constant = ("type", "file")
    type: Literal["file"]
    path: str
    """The path of the file."""
    mime_type: str
    """The media type of the file."""
    name: str | None
    """A name to show instead of the path."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            path: str,
            mime_type: str,
            name: str | None = None,
        ) -> None: ...


class ContentImage(Record):
    """An image, by its path."""

    __slots__ = ("type", "path", "mime_type", "name")
    _fields = {
        "type": ("type", None),
        "path": ("path", None),
        "mimeType": ("mime_type", None),
        "name": ("name", None),
    }
    _required = ("type", "path", "mimeType")
    _constant = ("type", "image")
    type: Literal["image"]
    path: str
    """The path of the file."""
    mime_type: str
    """The media type of the file."""
    name: str | None
    """A name to show instead of the path."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            path: str,
            mime_type: str,
            name: str | None = None,
        ) -> None: ...


class ContentText(Record):
    """Text."""

    __slots__ = ("type", "text")
    _fields = {
        "type": ("type", None),
        "text": ("text", None),
    }
    _required = ("type", "text")
    _constant = ("type", "text")
    type: Literal["text"]
    text: str

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            text: str,
        ) -> None: ...


class ContentThinking(Record):
    """Reasoning of a model before its answer."""

    __slots__ = ("type", "text", "provider", "signature", "data")
    _fields = {
        "type": ("type", None),
        "text": ("text", None),
        "provider": ("provider", None),
        "signature": ("signature", None),
        "data": ("data", None),
    }
    _required = ("type", "text")
    _constant = ("type", "thinking")
    type: Literal["thinking"]
    text: str
    provider: str | None
    """The provider that made it."""
    signature: str | None
    """The provider's signature of the text."""
    data: str | None
    """Hidden reasoning, encrypted by the provider."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            text: str,
            provider: str | None = None,
            signature: str | None = None,
            data: str | None = None,
        ) -> None: ...


class ContentToolResult(Record):
    """The answer to a call of a tool."""

    __slots__ = ("type", "tool_use_id", "content", "is_error")
    _fields = {
        "type": ("type", None),
        "toolUseId": ("tool_use_id", None),
        "content": ("content", ("[", ("|", "ContentText", "ContentImage", "ContentFile", "ContentToolUse", "ContentToolResult", "ContentThinking"))),
        "isError": ("is_error", None),
    }
    _required = ("type", "toolUseId", "content")
    _constant = ("type", "tool_result")
    type: Literal["tool_result"]
    tool_use_id: str
    """The id of the call."""
    content: str | List[ContentText | ContentImage | ContentFile | ContentToolUse | ContentToolResult | ContentThinking | Unknown]
    is_error: bool | None
    """Whether the tool failed."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            tool_use_id: str,
            content: str | Sequence[ContentText | ContentImage | ContentFile | ContentToolUse | ContentToolResult | ContentThinking | Unknown],
            is_error: bool | None = None,
        ) -> None: ...


class ContentToolUse(Record):
    """A call of a tool."""

    __slots__ = ("type", "id", "name", "input")
    _fields = {
        "type": ("type", None),
        "id": ("id", None),
        "name": ("name", None),
        "input": ("input", None),
    }
    _required = ("type", "id", "name", "input")
    _constant = ("type", "tool_use")
    type: Literal["tool_use"]
    id: str
    """The id of the call."""
    name: str
    """The name of the tool."""
    input: Any
    """The arguments: any JSON."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            id: str,
            name: str,
            input: Any,
        ) -> None: ...


class Context(Record):
    """What a model is given of a thread."""

    __slots__ = (
        "version",
        "model",
        "budget",
        "estimated",
        "summary",
        "cut",
        "cuts_next",
        "memories",
        "messages",
        "tokens",
    )
    _fields = {
        "version": ("version", None),
        "model": ("model", None),
        "budget": ("budget", None),
        "estimated": ("estimated", None),
        "summary": ("summary", "ContextSummary"),
        "cut": ("cut", None),
        "cutsNext": ("cuts_next", None),
        "memories": ("memories", ("[", "Memory")),
        "messages": ("messages", ("[", "ContextMessage")),
        "tokens": ("tokens", "ContextTokens"),
    }
    _required = (
        "version",
        "budget",
        "estimated",
        "cut",
        "cutsNext",
        "memories",
        "messages",
        "tokens",
    )
    version: Version
    """The version of the thread that is read."""
    model: str | None
    """The model, where the thread's agent is defined here or the run tells it."""
    budget: int
    """Tokens that fit, the answer aside."""
    estimated: bool
    """Whether tokens are estimates."""
    summary: ContextSummary | None
    """The summary of the messages that were cut."""
    cut: int
    """The messages that were cut: they are before the first one that is given. They stay in the
    thread.
    """
    cuts_next: bool
    """Whether the next request cuts more, and makes a new summary first."""
    memories: List[Memory]
    """Memories that fit the last message of the user, the best first."""
    messages: List[ContextMessage]
    """The messages, oldest first."""
    tokens: ContextTokens
    """Tokens of each part."""


class ContextMessage(Record):
    """A message that a model is given."""

    __slots__ = ("id", "index", "role", "tokens")
    _fields = {
        "id": ("id", None),
        "index": ("index", None),
        "role": ("role", None),
        "tokens": ("tokens", None),
    }
    _required = ("role", "tokens")
    id: MessageId | None
    """The message of the thread; absent for one that only answers calls."""
    index: int | None
    """Its index in the default list; absent for silent messages."""
    role: Role
    """The role of the speaker, as this model sees it."""
    tokens: int
    """Tokens of the message."""


class ContextSummary(Record):
    """A summary of the older part of a conversation."""

    __slots__ = ("covers", "text", "model", "version", "tokens")
    _fields = {
        "covers": ("covers", "Covered"),
        "text": ("text", None),
        "model": ("model", None),
        "version": ("version", None),
        "tokens": ("tokens", None),
    }
    _required = ("covers", "text", "tokens")
    covers: Covered
    """The messages that it stands for."""
    text: str
    """The summary itself."""
    model: str | None
    """The model that wrote it; absent if it was picked from the messages without one."""
    version: Version | None
    """The version of the thread that brought it; absent if it is not kept yet."""
    tokens: int
    """Tokens of the text."""


class ContextTokens(Record):
    """Tokens of the parts of a request."""

    __slots__ = ("system", "tools", "skills", "summary", "memories", "messages", "total")
    _fields = {
        "system": ("system", None),
        "tools": ("tools", None),
        "skills": ("skills", None),
        "summary": ("summary", None),
        "memories": ("memories", None),
        "messages": ("messages", None),
        "total": ("total", None),
    }
    _required = ("system", "tools", "skills", "summary", "memories", "messages", "total")
    system: int
    """The system prompt."""
    tools: int
    """The tools that the model may call."""
    skills: int
    """The skills that are active."""
    summary: int
    """The summary of what was cut."""
    memories: int
    """The memories."""
    messages: int
    """The messages."""
    total: int
    """All parts together."""


class Covered(Record):
    """Messages from one to another, both included."""

    __slots__ = ("first", "last", "count")
    _fields = {
        "first": ("first", None),
        "last": ("last", None),
        "count": ("count", None),
    }
    _required = ("first", "last", "count")
    first: MessageId
    """The first message of the thread that is covered."""
    last: MessageId
    """The last one. Messages after it are sent as they are."""
    count: int
    """Number of messages."""


class CreatedKey(Record):
    """A key that was just made, with its secret, which is told this once."""

    __slots__ = (
        "key",
        "id",
        "account",
        "name",
        "type",
        "scope",
        "created_at",
        "expires_at",
        "revoked_at",
    )
    _fields = {
        "key": ("key", None),
        "id": ("id", None),
        "account": ("account", None),
        "name": ("name", None),
        "type": ("type", None),
        "scope": ("scope", None),
        "createdAt": ("created_at", None),
        "expiresAt": ("expires_at", None),
        "revokedAt": ("revoked_at", None),
    }
    _required = ("key", "id", "account", "name", "type", "scope", "createdAt")
    key: str
    """The secret, as requests carry it."""
    id: str
    """Its id, which is no secret."""
    account: Account
    """The account it speaks for."""
    name: str
    """The name of the person or program that uses it."""
    type: ActorKind
    """Whether a human or an agent does."""
    scope: Scope
    """The rights of the key."""
    created_at: Timestamp
    """When it was made."""
    expires_at: Timestamp | None
    """When it ends by itself."""
    revoked_at: Timestamp | None
    """When it was revoked."""


class Decision(Record):
    """An answer that counts."""

    __slots__ = ("question", "answer", "reason", "actor", "created_at", "version")
    _fields = {
        "question": ("question", None),
        "answer": ("answer", None),
        "reason": ("reason", None),
        "actor": ("actor", "Actor"),
        "createdAt": ("created_at", None),
        "version": ("version", None),
    }
    _required = ("question", "answer", "actor", "createdAt", "version")
    question: str
    """The question, as it was last asked."""
    answer: str
    """The answer that was given."""
    reason: str | None
    """The reason for the answer."""
    actor: Actor
    """The actor that decided."""
    created_at: Timestamp
    """When it was decided."""
    version: Version
    """The version of the thread after it."""


class Definition(Record):
    """A definition."""

    __slots__ = ("kind", "name", "file", "definition", "problems")
    _fields = {
        "kind": ("kind", None),
        "name": ("name", None),
        "file": ("file", None),
        "definition": ("definition", None),
        "problems": ("problems", ("[", "DefinitionProblem")),
    }
    _required = ("kind", "name", "file")
    kind: Literal["agents", "prompts", "models", "mcp", "tools", "effects", "hooks", "api", "skills", "vendor"]
    """The folder that it is in."""
    name: str
    """Its name: `NAME`, or `PACKAGE/NAME`."""
    file: str
    """Its file, from the folder of definitions."""
    definition: Any
    """The content of its file as JSON, where one definition is asked for. Code, and the values of
    variables and
    headers, are left out.
    """
    problems: List[DefinitionProblem] | None
    """Mistakes in its file. Definitions that name it cannot be used either."""


class DefinitionList(Record):
    """All definitions of a server."""

    __slots__ = ("hash", "items", "problems")
    _fields = {
        "hash": ("hash", None),
        "items": ("items", ("[", "Definition")),
        "problems": ("problems", ("[", "DefinitionProblem")),
    }
    _required = ("hash", "items", "problems")
    hash: str
    """The hash of all files: it changes with each of them."""
    items: List[Definition]
    """The definitions, by kind and name."""
    problems: List[DefinitionProblem]
    """Every mistake in the folder, also those of files that are no definition."""


class DefinitionProblem(Record):
    """A mistake in a file of definitions."""

    __slots__ = ("file", "line", "column", "rule")
    _fields = {
        "file": ("file", None),
        "line": ("line", None),
        "column": ("column", None),
        "rule": ("rule", None),
    }
    _required = ("file", "line", "column", "rule")
    file: str
    """The file, from the folder of definitions."""
    line: int
    """The line, from 1."""
    column: int
    """The column, from 1."""
    rule: str
    """The rule that it breaks."""


class Delegation(Record):
    """A permission for agents to act on a thread without asking."""

    __slots__ = (
        "id",
        "thread_id",
        "scope",
        "to",
        "reason",
        "until",
        "can_revoke",
        "given_by",
        "given_at",
        "holds",
    )
    _fields = {
        "id": ("id", None),
        "threadId": ("thread_id", None),
        "scope": ("scope", None),
        "to": ("to", None),
        "reason": ("reason", None),
        "until": ("until", None),
        "canRevoke": ("can_revoke", None),
        "givenBy": ("given_by", "Actor"),
        "givenAt": ("given_at", None),
        "holds": ("holds", None),
    }
    _required = ("id", "threadId", "scope", "canRevoke", "givenBy", "givenAt", "holds")
    id: Uuid
    """The id of the delegation, under which it is revoked."""
    thread_id: ThreadId
    """The thread on which it holds."""
    scope: List[Capability]
    """The capabilities that it gives."""
    to: str | None
    """The agent, by its name; absent for every agent."""
    reason: str | None
    """The reason, for people to read."""
    until: Timestamp | None
    """When it expires. Absent if it is valid until it is revoked."""
    can_revoke: bool
    """Whether it can be revoked before that."""
    given_by: Actor
    """The human who gave it."""
    given_at: Timestamp
    """When it was given."""
    holds: bool
    """Whether it holds now."""


class Deleted(Record):
    """`{"deleted": …}`: whether there was something to delete."""

    __slots__ = ("deleted",)
    _fields = {
        "deleted": ("deleted", None),
    }
    _required = ("deleted",)
    deleted: bool
    """Whether something was deleted."""


class Deliver(Record):
    """Where events go: one of the two."""

    __slots__ = ("thread", "webhook")
    _fields = {
        "thread": ("thread", None),
        "webhook": ("webhook", None),
    }
    thread: bool | None
    """To the thread that observes, as an injection."""
    webhook: str | None
    """To this address, as a signed POST."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            thread: bool | None = None,
            webhook: str | None = None,
        ) -> None: ...


class DeltaTold(Record):
    """How a delta was taken."""

    __slots__ = ("sequence", "stop_requested")
    _fields = {
        "sequence": ("sequence", None),
        "stopRequested": ("stop_requested", None),
    }
    _required = ("sequence", "stopRequested")
    sequence: int
    """Number of chunks that the step has in the stream."""
    stop_requested: bool
    """Whether somebody asked to stop the run. The executor then ends it."""


class DiffStats(Record):
    """Counts of the changes that a thread made to its files."""

    __slots__ = ("files", "lines")
    _fields = {
        "files": ("files", "Changed"),
        "lines": ("lines", "Changed"),
    }
    _required = ("files", "lines")
    files: Changed
    """Counts of whole files."""
    lines: Changed
    """Counts of lines of files."""


class Directory(Record):
    """What is directly in a directory."""

    __slots__ = ("entries",)
    _fields = {
        "entries": ("entries", ("[", "FileRecord")),
    }
    _required = ("entries",)
    entries: List[FileRecord]
    """Directories first, then by name."""


class Doctor(Record):
    """The report of the doctor."""

    __slots__ = (
        "healthy",
        "repaired",
        "threads",
        "entries",
        "blobs",
        "changed",
        "derived",
        "damage",
    )
    _fields = {
        "healthy": ("healthy", None),
        "repaired": ("repaired", None),
        "threads": ("threads", None),
        "entries": ("entries", None),
        "blobs": ("blobs", None),
        "changed": ("changed", None),
        "derived": ("derived", None),
        "damage": ("damage", None),
    }
    _required = (
        "healthy",
        "repaired",
        "threads",
        "entries",
        "blobs",
        "changed",
        "derived",
        "damage",
    )
    healthy: bool
    """Whether no problem was found, or all were repaired."""
    repaired: bool
    """Whether derived data was rebuilt."""
    threads: int
    """Threads that were looked at."""
    entries: int
    """Entries that were looked at."""
    blobs: int
    """Blobs that were looked at."""
    changed: int
    """Threads that were written to or deleted meanwhile. Each was compared at one version of its own."""
    derived: List[str]
    """Derived data that differs from the log; a repair rebuilds it."""
    damage: List[str]
    """Damage to the log or to blobs, which nothing can rebuild."""


class Effect(Record):
    """An effect that has not ended."""

    __slots__ = (
        "id",
        "name",
        "args",
        "scheduled_at",
        "created_at",
        "state",
        "attempt",
        "actor",
    )
    _fields = {
        "id": ("id", None),
        "name": ("name", None),
        "args": ("args", None),
        "scheduledAt": ("scheduled_at", None),
        "createdAt": ("created_at", None),
        "state": ("state", None),
        "attempt": ("attempt", None),
        "actor": ("actor", "Actor"),
    }
    _required = ("id", "name", "args", "scheduledAt", "createdAt", "state", "attempt", "actor")
    id: Uuid
    """The id of the effect, under which it is removed."""
    name: EffectName
    """The name of the effect."""
    args: Json
    """The arguments for the handler."""
    scheduled_at: Timestamp
    """When it is due."""
    created_at: Timestamp
    """When it was scheduled."""
    state: Literal["pending", "running", "foreign"]
    """Pending, running or foreign."""
    attempt: int
    """The number of the claim under which it runs, from 1 on; 0 before the first."""
    actor: Actor
    """The actor for whom its handler acts."""


class EmitTold(Record):
    """How many subscribers heard an event."""

    __slots__ = ("listeners",)
    _fields = {
        "listeners": ("listeners", None),
    }
    _required = ("listeners",)
    listeners: int
    """Subscribers that listened at that moment."""


class EnvVariable(Record):
    """A variable, as a thread or an account sees it."""

    __slots__ = ("name", "type", "layer", "thread_id", "value", "warnings")
    _fields = {
        "name": ("name", None),
        "type": ("type", None),
        "layer": ("layer", None),
        "threadId": ("thread_id", None),
        "value": ("value", None),
        "warnings": ("warnings", None),
    }
    _required = ("name", "type", "layer")
    name: EnvName
    """The name of the variable."""
    type: EnvType
    """Whether the value may be shown. A thread sees variables of the account and the instance as
    secrets.
    """
    layer: Literal["thread", "account", "instance"]
    """Where it is set."""
    thread_id: ThreadId | None
    """The thread on which it is set."""
    value: str | None
    """The value. Lists leave out the values of secrets."""
    warnings: List[str] | None
    """What its writer should know, such as that it is too short to be redacted."""


class ExecuteCode(Record):
    """A call of a function that the code exports."""

    __slots__ = ("fn", "args")
    _fields = {
        "fn": ("fn", None),
        "args": ("args", None),
    }
    fn: str | None
    """The name of the export."""
    args: List[Any] | None
    """Its arguments."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            fn: str | None = None,
            args: Sequence[Any] | None = None,
        ) -> None: ...


class ExecutionState(Record):
    """The open run of a thread, as `ThreadState` has it."""

    __slots__ = (
        "flow_id",
        "current_side",
        "step_count",
        "side_a_step_count",
        "side_b_step_count",
        "stopped",
        "stop_requested_at",
        "forced_side",
        "prompt_path",
    )
    _fields = {
        "flowId": ("flow_id", None),
        "currentSide": ("current_side", None),
        "stepCount": ("step_count", None),
        "sideAStepCount": ("side_a_step_count", None),
        "sideBStepCount": ("side_b_step_count", None),
        "stopped": ("stopped", None),
        "stopRequestedAt": ("stop_requested_at", None),
        "forcedSide": ("forced_side", None),
        "promptPath": ("prompt_path", None),
    }
    _required = (
        "flowId",
        "currentSide",
        "stepCount",
        "sideAStepCount",
        "sideBStepCount",
        "stopped",
        "promptPath",
    )
    flow_id: Uuid
    """The id of the run."""
    current_side: RunSide
    """The side whose turn it is. An agent of the type `ai_human` has one side, `a`."""
    step_count: int
    """Number of steps: questions to a model."""
    side_a_step_count: int
    """Number of steps of side `a`."""
    side_b_step_count: int
    """Number of steps of side `b`."""
    stopped: bool
    """Whether somebody asked to stop it."""
    stop_requested_at: Timestamp | None
    """When somebody asked to stop it."""
    forced_side: RunSide | None
    """The side that was asked to speak next, until the executor takes this up."""
    prompt_path: List[str]
    """The prompts that work, the outermost first. Empty where the agent is not defined."""


class Family(Record):
    """A thread with all it is related to, directly or not: a page of it."""

    __slots__ = (
        "thread_id",
        "threads",
        "relations",
        "subagents",
        "merges",
        "cut_off",
        "more",
        "next_cursor",
    )
    _fields = {
        "threadId": ("thread_id", None),
        "threads": ("threads", ("[", "Thread")),
        "relations": ("relations", ("[", "Relation")),
        "subagents": ("subagents", ("[", "Subagent")),
        "merges": ("merges", ("[", "FamilyMerge")),
        "cutOff": ("cut_off", None),
        "more": ("more", ("[", "MoreRelatives")),
        "nextCursor": ("next_cursor", None),
    }
    _required = (
        "threadId",
        "threads",
        "relations",
        "subagents",
        "merges",
        "cutOff",
        "more",
        "nextCursor",
    )
    thread_id: ThreadId
    """The thread that was asked for."""
    threads: List[Thread]
    """The threads, that one first, then the nearest."""
    relations: List[Relation]
    """The relations among them, and with threads of earlier pages."""
    subagents: List[Subagent]
    """The subagents among them, as the registry of the thread they work for knows them."""
    merges: List[FamilyMerge]
    """The merges into threads of this page, from threads of this page and earlier ones."""
    cut_off: bool
    """Whether there are more threads than on this page and those before it."""
    more: List[MoreRelatives]
    """The threads of this page that have more relatives: later pages show them, unless `depth` or
    `breadth` leave them
    out.
    """
    next_cursor: str | None
    """Goes on where this page ends; null at the end."""


class FamilyMerge(Record):
    """A merge that happened between two threads of a family."""

    __slots__ = ("merge_id", "source_id", "source_version", "target_id", "version")
    _fields = {
        "mergeId": ("merge_id", None),
        "sourceId": ("source_id", None),
        "sourceVersion": ("source_version", None),
        "targetId": ("target_id", None),
        "version": ("version", None),
    }
    _required = ("mergeId", "sourceId", "sourceVersion", "targetId", "version")
    merge_id: Uuid
    """The id of the merge."""
    source_id: ThreadId
    """The thread that was merged."""
    source_version: Version
    """The version of it that was merged."""
    target_id: ThreadId
    """The thread that it was merged into."""
    version: Version
    """The version of the target that the merge made."""


class FileMatches(Record):
    """The lines of a file that match."""

    __slots__ = ("path", "matches")
    _fields = {
        "path": ("path", None),
        "matches": ("matches", ("[", "LineMatch")),
    }
    _required = ("path", "matches")
    path: FilePath
    """The path of the file."""
    matches: List[LineMatch]
    """The matching lines, in order."""


class FileOrigin(Record):
    """A version of a file in a source thread."""

    __slots__ = ("thread_id", "version")
    _fields = {
        "threadId": ("thread_id", None),
        "version": ("version", None),
    }
    _required = ("threadId",)
    thread_id: ThreadId
    """The id of the source."""
    version: Version | None
    """The version that wrote the file there; none if the file was removed there."""


class FileRecord(Record):
    """A file or a directory. A directory that is there only because of what is below it has no times
    and no version.
    """

    __slots__ = (
        "path",
        "name",
        "is_directory",
        "size",
        "mime_type",
        "hash",
        "width",
        "height",
        "metadata",
        "created_at",
        "updated_at",
        "version",
    )
    _fields = {
        "path": ("path", None),
        "name": ("name", None),
        "isDirectory": ("is_directory", None),
        "size": ("size", None),
        "mimeType": ("mime_type", None),
        "hash": ("hash", None),
        "width": ("width", None),
        "height": ("height", None),
        "metadata": ("metadata", None),
        "createdAt": ("created_at", None),
        "updatedAt": ("updated_at", None),
        "version": ("version", None),
    }
    _required = ("path", "name", "isDirectory", "size")
    path: FilePath
    """Its path from the root of the thread."""
    name: str
    """The last part of its path."""
    is_directory: bool
    """Whether it is a directory."""
    size: int
    """Its size in bytes; 0 for a directory."""
    mime_type: str | None
    """The media type of a file, such as `text/plain`."""
    hash: BlobId | None
    """The hash of its content."""
    width: int | None
    """The width of an image, in pixels."""
    height: int | None
    """The height of an image, in pixels."""
    metadata: Dict[str, Any] | None
    """Metadata that its writer gave it."""
    created_at: Timestamp | None
    """When it was made."""
    updated_at: Timestamp | None
    """When it last changed."""
    version: Version | None
    """The version of the thread with which it last changed."""


class FileStats(Record):
    """The size of the result."""

    __slots__ = ("file_count", "directory_count", "total_size")
    _fields = {
        "fileCount": ("file_count", None),
        "directoryCount": ("directory_count", None),
        "totalSize": ("total_size", None),
    }
    _required = ("fileCount", "directoryCount", "totalSize")
    file_count: int
    """How many files the thread has."""
    directory_count: int
    """Directories, those included that are there because of what is below them."""
    total_size: int
    """Bytes of all files."""


class FileVersion(Record):
    """A version of a file: one entry that wrote or removed it."""

    __slots__ = ("version", "created_at", "actor", "deleted", "size", "mime_type", "hash")
    _fields = {
        "version": ("version", None),
        "createdAt": ("created_at", None),
        "actor": ("actor", "Actor"),
        "deleted": ("deleted", None),
        "size": ("size", None),
        "mimeType": ("mime_type", None),
        "hash": ("hash", None),
    }
    _required = ("version", "createdAt", "actor", "deleted")
    version: Version
    """The version of the thread that the entry made."""
    created_at: Timestamp
    """When the entry was committed."""
    actor: Actor
    """The actor. Visitors of a public thread see no names."""
    deleted: bool
    """Whether the file was removed."""
    size: int | None
    """Its size in bytes from then on."""
    mime_type: str | None
    """Its media type from then on."""
    hash: BlobId | None
    """The hash of its content from then on."""


class Found(Record):
    """Files by their names."""

    __slots__ = ("paths", "truncated")
    _fields = {
        "paths": ("paths", None),
        "truncated": ("truncated", None),
    }
    _required = ("paths", "truncated")
    paths: List[FilePath]
    """Where they are, in order."""
    truncated: bool
    """Whether there may be more."""


class FoundMemory(Record):
    """A memory that matches."""

    __slots__ = ("memory", "score")
    _fields = {
        "memory": ("memory", "Memory"),
        "score": ("score", None),
    }
    _required = ("memory", "score")
    memory: Memory
    """The memory."""
    score: float
    """How well it matches, compared with the other results: at most 1."""


class Gc(Record):
    """The result of a garbage collection."""

    __slots__ = ("segments", "entries", "blobs", "bytes")
    _fields = {
        "segments": ("segments", None),
        "entries": ("entries", None),
        "blobs": ("blobs", None),
        "bytes": ("bytes", None),
    }
    _required = ("segments", "entries", "blobs", "bytes")
    segments: int
    """Number of freed segments."""
    entries: int
    """Number of freed entries."""
    blobs: int
    """Number of freed blobs."""
    bytes: int
    """Bytes given back to the file system."""


class Grepped(Record):
    """Files with lines that match."""

    __slots__ = ("files", "truncated")
    _fields = {
        "files": ("files", ("[", "FileMatches")),
        "truncated": ("truncated", None),
    }
    _required = ("files", "truncated")
    files: List[FileMatches]
    """The files, in the order of their paths."""
    truncated: bool
    """Whether there may be more."""


class Health(Record):
    """The state of the server."""

    __slots__ = ("status",)
    _fields = {
        "status": ("status", None),
    }
    _required = ("status",)
    status: str
    """`ok` if it lives, `ready` if it can serve."""


class HistoryEntry(Record):
    """An entry of a thread's history. `data` is the body as the log keeps it, to the letter."""

    __slots__ = (
        "thread_id",
        "version",
        "kind",
        "time",
        "account",
        "actor",
        "cause",
        "message_id",
        "data",
    )
    _fields = {
        "threadId": ("thread_id", None),
        "version": ("version", None),
        "kind": ("kind", None),
        "time": ("time", None),
        "account": ("account", None),
        "actor": ("actor", "Actor"),
        "cause": ("cause", None),
        "messageId": ("message_id", None),
        "data": ("data", None),
    }
    _required = ("threadId", "version", "kind", "time", "actor", "data")
    thread_id: ThreadId
    """The thread whose history it is."""
    version: Version
    """Its position in the history of the thread."""
    kind: str
    """The kind of the entry, such as `message_appended`."""
    time: Timestamp
    """When the entry was committed."""
    account: Account | None
    """The account that answers for it; visitors are not told."""
    actor: Actor
    """The actor that wrote it."""
    cause: str | None
    """The cause that its writer named."""
    message_id: MessageId | None
    """The id of the message that it brought."""
    data: Json
    """The body of the entry."""


class ImportReport(Record):
    """What an import of another agent's conversations did."""

    __slots__ = (
        "sessions",
        "threads",
        "branches",
        "messages",
        "edited",
        "known",
        "unchanged",
        "deleted",
        "skipped",
        "problems",
    )
    _fields = {
        "sessions": ("sessions", None),
        "threads": ("threads", None),
        "branches": ("branches", None),
        "messages": ("messages", None),
        "edited": ("edited", None),
        "known": ("known", None),
        "unchanged": ("unchanged", None),
        "deleted": ("deleted", None),
        "skipped": ("skipped", None),
        "problems": ("problems", None),
    }
    _required = (
        "sessions",
        "threads",
        "branches",
        "messages",
        "edited",
        "known",
        "unchanged",
        "deleted",
        "skipped",
    )
    sessions: int
    """Sessions that were read."""
    threads: int
    """Threads that were made for sessions."""
    branches: int
    """Forks that were made for branches of sessions."""
    messages: int
    """Messages that were added."""
    edited: int
    """Messages that changed at the source, and were edited."""
    known: int
    """Messages that were here already."""
    unchanged: int
    """Files that did not change since the last import, and were not read."""
    deleted: int
    """Sessions whose thread was deleted here: they stay deleted."""
    skipped: int
    """Records and files that could not be read."""
    problems: List[str] | None
    """Where the first of them are, and why they were skipped."""


class Imported(Record):
    """The result of an import: `{"threads": …, "known": …}`."""

    __slots__ = ("threads", "known")
    _fields = {
        "threads": ("threads", None),
        "known": ("known", None),
    }
    _required = ("threads", "known")
    threads: int
    """Number of threads that are new here."""
    known: int
    """Number of threads that were here already, and were left as they are."""


class Injected(Record):
    """The injection that was made."""

    __slots__ = ("injection_id",)
    _fields = {
        "injectionId": ("injection_id", None),
    }
    _required = ("injectionId",)
    injection_id: Uuid
    """The id of the injection."""


class Injection(Record):
    """Something that was injected."""

    __slots__ = (
        "id",
        "type",
        "content",
        "urgency",
        "state",
        "actor",
        "created_at",
        "version",
        "taken_by",
        "taken_at",
        "run_id",
    )
    _fields = {
        "id": ("id", None),
        "type": ("type", None),
        "content": ("content", None),
        "urgency": ("urgency", None),
        "state": ("state", None),
        "actor": ("actor", "Actor"),
        "createdAt": ("created_at", None),
        "version": ("version", None),
        "takenBy": ("taken_by", "Actor"),
        "takenAt": ("taken_at", None),
        "runId": ("run_id", None),
    }
    _required = ("id", "type", "content", "urgency", "state", "actor", "createdAt", "version")
    id: Uuid
    """The id of the injection."""
    type: InjectionType
    """The type of the injection."""
    content: Json
    """The content: any JSON."""
    urgency: Urgency
    """How soon it is delivered."""
    state: InjectionState
    """Whether it was taken up: `waiting` or `taken`."""
    actor: Actor
    """The actor that injected it."""
    created_at: Timestamp
    """When it was injected."""
    version: Version
    """The version of the thread after it."""
    taken_by: Actor | None
    """The executor that received it."""
    taken_at: Timestamp | None
    """When it was delivered."""
    run_id: Uuid | None
    """The run that took it up; absent if it was acknowledged by hand."""


class Key(Record):
    """A key: `{id, account, name, type, scope, createdAt, expiresAt?, revokedAt?}`, never its secret."""

    __slots__ = (
        "id",
        "account",
        "name",
        "type",
        "scope",
        "created_at",
        "expires_at",
        "revoked_at",
    )
    _fields = {
        "id": ("id", None),
        "account": ("account", None),
        "name": ("name", None),
        "type": ("type", None),
        "scope": ("scope", None),
        "createdAt": ("created_at", None),
        "expiresAt": ("expires_at", None),
        "revokedAt": ("revoked_at", None),
    }
    _required = ("id", "account", "name", "type", "scope", "createdAt")
    id: str
    """Its id, which is no secret."""
    account: Account
    """The account it speaks for."""
    name: str
    """The name of the person or program that uses it."""
    type: ActorKind
    """Whether a human or an agent does."""
    scope: Scope
    """The rights of the key."""
    created_at: Timestamp
    """When it was made."""
    expires_at: Timestamp | None
    """When it ends by itself."""
    revoked_at: Timestamp | None
    """When it was revoked."""


class LineMatch(Record):
    """A line that matches."""

    __slots__ = ("line", "column", "text")
    _fields = {
        "line": ("line", None),
        "column": ("column", None),
        "text": ("text", None),
    }
    _required = ("line", "column", "text")
    line: int
    """Which line, counted from 1."""
    column: int
    """At which character of the line the first match begins, counted from 1."""
    text: str
    """The line; of a long one, what is around the match."""


class Logged(Record):
    """`{"version": …}`: where something was logged."""

    __slots__ = ("version",)
    _fields = {
        "version": ("version", None),
    }
    _required = ("version",)
    version: Version
    """The version of the thread after it."""


class LoggedEvent(Record):
    """A message or another event: `{type, version, createdAt, data}`."""

    __slots__ = ("type", "version", "created_at", "data")
    _fields = {
        "type": ("type", None),
        "version": ("version", None),
        "createdAt": ("created_at", None),
        "data": ("data", None),
    }
    _required = ("type", "version", "createdAt", "data")
    type: str
    """`message`, `tool_use`, `assistant_text` or `result`."""
    version: Version
    """Its version in the log."""
    created_at: Timestamp
    """When it was logged."""
    data: Json
    """A whole message, or what the event carries."""


class Me(Record):
    """The caller, as its key tells."""

    __slots__ = ("account", "actor", "scope", "version")
    _fields = {
        "account": ("account", None),
        "actor": ("actor", "Actor"),
        "scope": ("scope", None),
        "version": ("version", None),
    }
    _required = ("account", "actor", "scope", "version")
    account: Account
    """The account that the key belongs to."""
    actor: Actor
    """The actor that the log names for changes with this key."""
    scope: Scope
    """The rights of the key."""
    version: str
    """The version of the server."""


class MemoriesFound(Record):
    """The results of a search among memories."""

    __slots__ = ("results",)
    _fields = {
        "results": ("results", ("[", "FoundMemory")),
    }
    _required = ("results",)
    results: List[FoundMemory]
    """Memories, the best first; none if nothing matches."""


class Memory(Record):
    """A text that is remembered across threads."""

    __slots__ = (
        "id",
        "text",
        "scope",
        "project_id",
        "sources",
        "thread_id",
        "created_at",
        "updated_at",
        "edited",
    )
    _fields = {
        "id": ("id", None),
        "text": ("text", None),
        "scope": ("scope", None),
        "projectId": ("project_id", None),
        "sources": ("sources", None),
        "threadId": ("thread_id", None),
        "createdAt": ("created_at", None),
        "updatedAt": ("updated_at", None),
        "edited": ("edited", None),
    }
    _required = ("id", "text", "scope", "sources", "createdAt", "updatedAt", "edited")
    id: Uuid
    """Its id."""
    text: str
    """What is remembered."""
    scope: Literal["account", "project"]
    """Where it holds."""
    project_id: str | None
    """The project in whose threads it holds, if that is its scope."""
    sources: List[MessageName]
    """The messages that it was taken from. It is forgotten when the last of them is deleted, unless a
    person edited it.
    """
    thread_id: ThreadId | None
    """The thread that shows the sources."""
    created_at: Timestamp
    """When it was made."""
    updated_at: Timestamp
    """When its text or its sources changed last."""
    edited: bool
    """Whether a person edited the text. Then it outlives its sources."""


class MergeBaseBirth(Record):
    """The version at which one of them was made from the other."""

    __slots__ = ("type", "thread_id", "version")
    _fields = {
        "type": ("type", None),
        "threadId": ("thread_id", None),
        "version": ("version", None),
    }
    _required = ("type", "threadId", "version")
    _constant = ("type", "birth")
    type: Literal["birth"]
    thread_id: ThreadId
    """The thread that was made from the other."""
    version: Version
    """Its version at that time."""


class MergeBaseEmpty(Record):
    """An empty thread: the two share no history."""

    __slots__ = ("type",)
    _fields = {
        "type": ("type", None),
    }
    _required = ("type",)
    _constant = ("type", "empty")
    type: Literal["empty"]


class MergeBaseHistory(Record):
    """The version where their histories part."""

    __slots__ = ("type", "files", "values")
    _fields = {
        "type": ("type", None),
        "files": ("files", None),
        "values": ("values", None),
    }
    _required = ("type", "files", "values")
    _constant = ("type", "history")
    type: Literal["history"]
    files: Version
    """Up to this position both see the same files."""
    values: Version
    """Up to this position both see the same values."""


class MergeBaseMerge(Record):
    """The version that an earlier merge of the two took."""

    __slots__ = ("type", "merge_id", "thread_id", "version")
    _fields = {
        "type": ("type", None),
        "mergeId": ("merge_id", None),
        "threadId": ("thread_id", None),
        "version": ("version", None),
    }
    _required = ("type", "mergeId", "threadId", "version")
    _constant = ("type", "merge")
    type: Literal["merge"]
    merge_id: Uuid
    """The id of the earlier merge."""
    thread_id: ThreadId
    """The thread that it merged."""
    version: Version
    """The version that it merged."""


class MergeConflict(Record):
    """A conflict: a file, a value or a decision that both sides changed."""

    __slots__ = (
        "type",
        "detail",
        "source",
        "path",
        "key",
        "question",
        "base",
        "ours",
        "theirs",
        "merged",
        "resolved",
    )
    _fields = {
        "type": ("type", None),
        "detail": ("detail", None),
        "source": ("source", None),
        "path": ("path", None),
        "key": ("key", None),
        "question": ("question", None),
        "base": ("base", None),
        "ours": ("ours", None),
        "theirs": ("theirs", None),
        "merged": ("merged", None),
        "resolved": ("resolved", None),
    }
    _required = ("type",)
    type: ConflictType
    """The type of the conflict."""
    detail: FileConflict | None
    """For a file: how the two sides conflict."""
    source: ThreadId | None
    """The source thread that brought it."""
    path: FilePath | None
    """The path of the file."""
    key: ValueKey | None
    """The key of the value."""
    question: str | None
    """The question that was answered twice."""
    base: Json | None
    """The common base: a hash, a value or an answer."""
    ours: Json | None
    """The same in the target; none if it was removed there."""
    theirs: Json | None
    """The same in the source; none if it was removed there."""
    merged: str | None
    """Both texts with conflict markers, unless that is too long. A choice can send it back, edited."""
    resolved: Resolved | None
    """How it was resolved; none if it is open."""


class MergeSource(Record):
    """A thread that was merged, at one of its versions."""

    __slots__ = ("thread_id", "version", "base")
    _fields = {
        "threadId": ("thread_id", None),
        "version": ("version", None),
        "base": ("base", ("|", "MergeBaseEmpty", "MergeBaseHistory", "MergeBaseBirth", "MergeBaseMerge")),
    }
    _required = ("threadId", "version", "base")
    thread_id: ThreadId
    """The thread that was merged."""
    version: Version
    """Its version that was merged."""
    base: MergeBase
    """The base that both sides were compared with."""


class MergeTold(Record):
    """A merge and its state."""

    __slots__ = (
        "merge_id",
        "status",
        "sources",
        "files",
        "values",
        "conflicts",
        "validation",
        "approval_id",
        "by",
        "version",
        "created_at",
    )
    _fields = {
        "mergeId": ("merge_id", None),
        "status": ("status", None),
        "sources": ("sources", ("[", "MergeSource")),
        "files": ("files", ("[", "MergedFile")),
        "values": ("values", ("[", "MergedValue")),
        "conflicts": ("conflicts", ("[", "MergeConflict")),
        "validation": ("validation", "ValidationResult"),
        "approvalId": ("approval_id", None),
        "by": ("by", "Actor"),
        "version": ("version", None),
        "createdAt": ("created_at", None),
    }
    _required = ("status", "sources", "files", "values", "conflicts", "by")
    merge_id: Uuid | None
    """Its identity; absent for a dry run."""
    status: MergeStatus
    """The state of the merge. Nothing changed unless it is `merged`."""
    sources: List[MergeSource]
    """The merged threads, each with its version and the base of the comparison."""
    files: List[MergedFile]
    """The files that changed, or would have."""
    values: List[MergedValue]
    """The values that changed, or would have."""
    conflicts: List[MergeConflict]
    """The changes that both sides made, and how each was resolved."""
    validation: ValidationResult | None
    """The result of the check."""
    approval_id: Uuid | None
    """The approval it waits for, or waited for."""
    by: Actor
    """Who asked for it."""
    version: Version | None
    """The version of the thread with which this was recorded; absent for a dry run."""
    created_at: Timestamp | None
    """When this was recorded; absent for a dry run."""


class MergedFile(Record):
    """A file that a merge changed, and where its content comes from."""

    __slots__ = ("path", "action", "from_", "hash")
    _fields = {
        "path": ("path", None),
        "action": ("action", None),
        "from": ("from_", ("[", "FileOrigin")),
        "hash": ("hash", None),
    }
    _required = ("path", "action", "from")
    path: FilePath
    """The path in the target."""
    action: MergeAction
    """How the merge changed the file."""
    from_: List[FileOrigin]
    """The source threads it comes from, each with the version that wrote it there."""
    hash: BlobId | None
    """The hash of its content now; none if it was removed."""


class MergedValue(Record):
    """A value that a merge changed."""

    __slots__ = ("key", "action", "thread_id")
    _fields = {
        "key": ("key", None),
        "action": ("action", None),
        "threadId": ("thread_id", None),
    }
    _required = ("key", "action", "threadId")
    key: ValueKey
    """The key of the value."""
    action: MergeAction
    """How the merge changed the value."""
    thread_id: ThreadId
    """The source thread it comes from."""


class Message(Record):
    """A message. Content and metadata are the body's, to the letter: borrowed from it, or owned by one
    that was read.
    """

    __slots__ = (
        "id",
        "number",
        "index",
        "role",
        "name",
        "content",
        "metadata",
        "silent",
        "depth",
        "parent_id",
        "status",
        "actor",
        "created_at",
        "version",
        "attachments",
    )
    _fields = {
        "id": ("id", None),
        "number": ("number", None),
        "index": ("index", None),
        "role": ("role", None),
        "name": ("name", None),
        "content": ("content", ("[", ("|", "ContentText", "ContentImage", "ContentFile", "ContentToolUse", "ContentToolResult", "ContentThinking"))),
        "metadata": ("metadata", None),
        "silent": ("silent", None),
        "depth": ("depth", None),
        "parentId": ("parent_id", None),
        "status": ("status", None),
        "actor": ("actor", "Actor"),
        "createdAt": ("created_at", None),
        "version": ("version", None),
        "attachments": ("attachments", ("[", "Attachment")),
    }
    _required = (
        "id",
        "number",
        "role",
        "content",
        "metadata",
        "silent",
        "depth",
        "status",
        "actor",
        "createdAt",
        "version",
    )
    id: MessageName
    """The same in every fork. A message that waited in a queue keeps the name it had there."""
    number: int
    """Counts up within a thread; gaps are fine."""
    index: int | None
    """Its index: its place in the default list, counted from 0. Pages of that list tell it."""
    role: Role
    """The role it plays."""
    name: str | None
    """The name of the speaker or the tool."""
    content: Content
    """The content: a string, or typed parts."""
    metadata: Dict[str, Any]
    """Metadata of the writer: a JSON object."""
    silent: bool
    """Whether lists hide it."""
    depth: int
    """How far below the conversation it hangs."""
    parent_id: MessageId | None
    """The message it hangs under."""
    status: MessageStatus
    """Whether it is whole."""
    actor: Actor
    """The actor that wrote it."""
    created_at: Timestamp
    """When it entered the log."""
    version: Version
    """The thread's version at which it got its present form."""
    attachments: List[Attachment] | None
    """Files that belong to it."""


class MessageBody(Record):
    """A message as it is handed in and as the log keeps it."""

    __slots__ = (
        "role",
        "name",
        "content",
        "metadata",
        "silent",
        "depth",
        "parent_id",
        "status",
        "attachments",
    )
    _fields = {
        "role": ("role", None),
        "name": ("name", None),
        "content": ("content", ("[", ("|", "ContentText", "ContentImage", "ContentFile", "ContentToolUse", "ContentToolResult", "ContentThinking"))),
        "metadata": ("metadata", None),
        "silent": ("silent", None),
        "depth": ("depth", None),
        "parentId": ("parent_id", None),
        "status": ("status", None),
        "attachments": ("attachments", ("[", "Attachment")),
    }
    _required = ("role", "content")
    role: Role
    """The role of the message."""
    name: str | None
    """The name of the speaker or the tool."""
    content: Content
    """The content: text or typed parts."""
    metadata: Dict[str, Any] | None
    """A free-form JSON object."""
    silent: bool | None
    """Hidden from lists by default, still part of the conversation."""
    depth: int | None
    """Its level below the conversation; 0 is the conversation itself."""
    parent_id: MessageId | None
    """The message above it."""
    status: MessageStatus | None
    """Whether it is complete."""
    attachments: List[Attachment] | None
    """Files that belong to it."""


class ModelCall(Record):
    """What a model was given in a step, and what that took."""

    __slots__ = (
        "model",
        "as_of",
        "first_message",
        "messages",
        "prompt",
        "side",
        "usage",
        "first_response_ms",
        "duration_ms",
    )
    _fields = {
        "model": ("model", None),
        "asOf": ("as_of", None),
        "firstMessage": ("first_message", None),
        "messages": ("messages", None),
        "prompt": ("prompt", None),
        "side": ("side", None),
        "usage": ("usage", "Usage"),
        "firstResponseMs": ("first_response_ms", None),
        "durationMs": ("duration_ms", None),
    }
    _required = ("model",)
    model: str
    """The name of the model."""
    as_of: Version | None
    """The version of the thread that was read for it."""
    first_message: MessageId | None
    """The first message that was sent. All later ones that a model sees were sent too."""
    messages: int | None
    """Number of messages that were sent."""
    prompt: str | None
    """The prompt that was used."""
    side: str | None
    """The side that spoke, of an agent with two: `a` or `b`."""
    usage: Usage | None
    """Tokens and cost."""
    first_response_ms: int | None
    """Time until the first piece of the answer, in milliseconds."""
    duration_ms: int | None
    """Time until the last piece of the answer, in milliseconds."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            model: str,
            as_of: Version | None = None,
            first_message: MessageId | None = None,
            messages: int | None = None,
            prompt: str | None = None,
            side: str | None = None,
            usage: Usage | None = None,
            first_response_ms: int | None = None,
            duration_ms: int | None = None,
        ) -> None: ...


class ModelMessage(Record):
    """A message as a model is given it."""

    __slots__ = ("id", "role", "name", "content")
    _fields = {
        "id": ("id", None),
        "role": ("role", None),
        "name": ("name", None),
        "content": ("content", ("[", ("|", "ContentText", "ContentImage", "ContentFile", "ContentToolUse", "ContentToolResult", "ContentThinking"))),
    }
    _required = ("role", "content")
    id: MessageId | None
    """The message of the thread it is; absent for one that only answers calls."""
    role: Role
    """The role of the speaker."""
    name: str | None
    """The name of the speaker or the tool."""
    content: Content
    """The content: a string, or typed parts."""


class MoreRelatives(Record):
    """The relatives of a thread that are not shown."""

    __slots__ = ("thread_id", "count")
    _fields = {
        "threadId": ("thread_id", None),
        "count": ("count", None),
    }
    _required = ("threadId", "count")
    thread_id: ThreadId
    """A thread of this page."""
    count: int
    """How many of its direct relatives are neither on this page nor on one before it."""


class Moved(Record):
    """The result of a move."""

    __slots__ = ("path", "files")
    _fields = {
        "path": ("path", None),
        "files": ("files", None),
    }
    _required = ("path", "files")
    path: FilePath
    """Where it is now."""
    files: int
    """Number of moved files."""


class NewEffect(Record):
    """Schedules an effect: its handler runs once the delay has passed, also after a restart."""

    __slots__ = ("name", "args", "delay")
    _fields = {
        "name": ("name", None),
        "args": ("args", None),
        "delay": ("delay", None),
    }
    _required = ("name",)
    name: EffectName
    """The name of the effect: that of its handler."""
    args: Dict[str, Any] | None
    """The arguments for the handler: an object of at most 256 KiB."""
    delay: int | None
    """How long it waits, in milliseconds. Default: 0."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            name: EffectName,
            args: Mapping[str, Any] | None = None,
            delay: int | None = None,
        ) -> None: ...


class NewEventAssistantText(Record):
    """A fragment of what the assistant said."""

    __slots__ = ("type", "data")
    _fields = {
        "type": ("type", None),
        "data": ("data", None),
    }
    _required = ("type", "data")
    _constant = ("type", "assistant_text")
    type: Literal["assistant_text"]
    data: Dict[str, Any]

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            data: Mapping[str, Any],
        ) -> None: ...


class NewEventMessage(Record):
    """Something a user or an assistant said."""

    __slots__ = ("type", "data")
    _fields = {
        "type": ("type", None),
        "data": ("data", "Said"),
    }
    _required = ("type", "data")
    _constant = ("type", "message")
    type: Literal["message"]
    data: Said

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            data: Said,
        ) -> None: ...


class NewEventResult(Record):
    """How a piece of work ended."""

    __slots__ = ("type", "data")
    _fields = {
        "type": ("type", None),
        "data": ("data", None),
    }
    _required = ("type", "data")
    _constant = ("type", "result")
    type: Literal["result"]
    data: Dict[str, Any]

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            data: Mapping[str, Any],
        ) -> None: ...


class NewEventToolUse(Record):
    """A tool was called."""

    __slots__ = ("type", "data")
    _fields = {
        "type": ("type", None),
        "data": ("data", None),
    }
    _required = ("type", "data")
    _constant = ("type", "tool_use")
    type: Literal["tool_use"]
    data: Dict[str, Any]

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            data: Mapping[str, Any],
        ) -> None: ...


class NewMessage(Record):
    """A message as it is handed in and as the log keeps it."""

    __slots__ = (
        "role",
        "name",
        "content",
        "metadata",
        "silent",
        "depth",
        "parent_id",
        "status",
        "attachments",
    )
    _fields = {
        "role": ("role", None),
        "name": ("name", None),
        "content": ("content", ("[", ("|", "ContentText", "ContentImage", "ContentFile", "ContentToolUse", "ContentToolResult", "ContentThinking"))),
        "metadata": ("metadata", None),
        "silent": ("silent", None),
        "depth": ("depth", None),
        "parentId": ("parent_id", None),
        "status": ("status", None),
        "attachments": ("attachments", ("[", "Attachment")),
    }
    _required = ("role", "content")
    role: Role
    """The role of the message."""
    name: str | None
    """The name of the speaker or the tool."""
    content: Content
    """The content: text or typed parts."""
    metadata: Dict[str, Any] | None
    """A free-form JSON object."""
    silent: bool | None
    """Hidden from lists by default, still part of the conversation."""
    depth: int | None
    """Its level below the conversation; 0 is the conversation itself."""
    parent_id: MessageId | None
    """The message above it."""
    status: MessageStatus | None
    """Whether it is complete."""
    attachments: List[Attachment] | None
    """Files that belong to it."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            role: Role,
            content: Content,
            name: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            silent: bool | None = None,
            depth: int | None = None,
            parent_id: MessageId | None = None,
            status: MessageStatus | None = None,
            attachments: Sequence[Attachment] | None = None,
        ) -> None: ...


class Notified(Record):
    """The result of a message to the parent: it waits there, or there is no parent."""

    __slots__ = ("notified", "queued")
    _fields = {
        "notified": ("notified", None),
        "queued": ("queued", "Queued"),
    }
    _required = ("notified",)
    notified: bool
    """Whether there was a parent to tell."""
    queued: Queued | None
    """The message that waits there."""


class Observer(Record):
    """An observer: events of one thread that go to another thread or to a webhook."""

    __slots__ = (
        "id",
        "thread_id",
        "target",
        "events",
        "deliver",
        "secret",
        "created_by",
        "created_at",
        "holds",
    )
    _fields = {
        "id": ("id", None),
        "threadId": ("thread_id", None),
        "target": ("target", None),
        "events": ("events", None),
        "deliver": ("deliver", "Deliver"),
        "secret": ("secret", None),
        "createdBy": ("created_by", "Actor"),
        "createdAt": ("created_at", None),
        "holds": ("holds", None),
    }
    _required = (
        "id",
        "threadId",
        "target",
        "events",
        "deliver",
        "createdBy",
        "createdAt",
        "holds",
    )
    id: Uuid
    """The id of the observer, under which it is removed."""
    thread_id: ThreadId
    """The thread that is told."""
    target: ThreadId
    """The thread that is observed."""
    events: List[str]
    """The events it is told of."""
    deliver: Deliver
    """The destination of the events."""
    secret: str | None
    """The secret that signs posts to a webhook. Shown once, when the observer is made."""
    created_by: Actor
    """Who asked for it."""
    created_at: Timestamp
    """When it was asked for."""
    holds: bool
    """Whether the entry that asked for it is in view: a rollback undoes it, and an undo brings it
    back.
    """


class Place(Record):
    """Where a message is placed."""

    __slots__ = ("before",)
    _fields = {
        "before": ("before", None),
    }
    _required = ("before",)
    before: MessageName
    """The message before which it is inserted."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            before: MessageName,
        ) -> None: ...


class Progressed(Record):
    """A run after a start, a step or an end."""

    __slots__ = (
        "id",
        "thread_id",
        "agent_id",
        "executor",
        "status",
        "reason",
        "by",
        "attempt",
        "step_count",
        "started_at",
        "expires_at",
        "completed_at",
        "stop_requested_at",
        "waits",
        "usage",
        "sides",
        "version",
        "delivered",
        "injections",
        "messages",
    )
    _fields = {
        "id": ("id", None),
        "threadId": ("thread_id", None),
        "agentId": ("agent_id", None),
        "executor": ("executor", None),
        "status": ("status", None),
        "reason": ("reason", None),
        "by": ("by", None),
        "attempt": ("attempt", None),
        "stepCount": ("step_count", None),
        "startedAt": ("started_at", None),
        "expiresAt": ("expires_at", None),
        "completedAt": ("completed_at", None),
        "stopRequestedAt": ("stop_requested_at", None),
        "waits": ("waits", ("[", ("|", "WaitApproval", "WaitChild", "WaitHuman"))),
        "usage": ("usage", "Usage"),
        "sides": ("sides", "Sides"),
        "version": ("version", None),
        "delivered": ("delivered", ("[", "Message")),
        "injections": ("injections", ("[", "Injection")),
        "messages": ("messages", ("[", "ModelMessage")),
    }
    _required = (
        "id",
        "threadId",
        "executor",
        "status",
        "by",
        "attempt",
        "stepCount",
        "startedAt",
        "usage",
        "version",
        "delivered",
        "injections",
    )
    id: Uuid
    """The id of the run."""
    thread_id: ThreadId
    """The thread that it works on."""
    agent_id: str | None
    """The agent that works."""
    executor: Executor
    """The program that works on it."""
    status: RunStatus
    """The status of the run."""
    reason: str | None
    """The code of the reason, of a run that waits or ended."""
    by: str
    """The name of the actor that started it."""
    attempt: int
    """Which attempt works on it. Steps, deltas and the end name it."""
    step_count: int
    """Number of steps."""
    started_at: Timestamp
    """When the run started."""
    expires_at: Timestamp | None
    """When another executor may take over from a caller, unless a step renews it."""
    completed_at: Timestamp | None
    """When the run ended."""
    stop_requested_at: Timestamp | None
    """When somebody asked to stop it."""
    waits: List[Wait] | None
    """The answers that it waits for."""
    usage: Usage
    """Tokens and cost of all its steps."""
    sides: Sides | None
    """Whose turn it is, where the agent has two sides."""
    version: Version
    """The version of the thread."""
    delivered: List[Message]
    """The messages that were appended to the conversation, in order."""
    injections: List[Injection]
    """The injections that were delivered, immediate ones first. They are not part of the conversation."""
    messages: List[ModelMessage] | None
    """The conversation as a model is given it, for a caller that starts."""


class Project(Record):
    """A project, as its owner sees it."""

    __slots__ = ("id", "name", "icon_name", "sandbox", "created_at")
    _fields = {
        "id": ("id", None),
        "name": ("name", None),
        "iconName": ("icon_name", None),
        "sandbox": ("sandbox", "Sandbox"),
        "createdAt": ("created_at", None),
    }
    _required = ("id", "name", "createdAt")
    id: str
    """Its id within the account."""
    name: str
    """A name for people."""
    icon_name: str | None
    """The name of an icon."""
    sandbox: Sandbox | None
    """The sandbox that its threads work in."""
    created_at: Timestamp
    """When it was made."""


class Queued(Record):
    """A message that waits."""

    __slots__ = ("id", "number", "queued_message", "actor", "created_at")
    _fields = {
        "id": ("id", None),
        "number": ("number", None),
        "queuedMessage": ("queued_message", "MessageBody"),
        "actor": ("actor", "Actor"),
        "createdAt": ("created_at", None),
    }
    _required = ("id", "number", "queuedMessage", "actor", "createdAt")
    id: QueuedId
    """Its name, which it keeps when it is delivered."""
    number: int
    """Its number, which it keeps too."""
    queued_message: MessageBody
    """The message that waits."""
    actor: Actor
    """The actor that queued it."""
    created_at: Timestamp
    """When it was queued, or last edited."""


class QueuedTool(Record):
    """A tool that waits for a run."""

    __slots__ = ("id", "tool", "args", "actor", "created_at")
    _fields = {
        "id": ("id", None),
        "tool": ("tool", None),
        "args": ("args", None),
        "actor": ("actor", "Actor"),
        "createdAt": ("created_at", None),
    }
    _required = ("id", "tool", "args", "actor", "createdAt")
    id: QueuedId
    """Its name in the queue."""
    tool: str
    """The name of the tool, or of an agent to hand off to."""
    args: Dict[str, Any]
    """Its arguments."""
    actor: Actor
    """The actor that queued it, and whose authority holds."""
    created_at: Timestamp
    """When it was queued."""


class Ready(Record):
    """Whether the server is ready, and for what."""

    __slots__ = ("status", "sandbox")
    _fields = {
        "status": ("status", None),
        "sandbox": ("sandbox", None),
    }
    _required = ("status", "sandbox")
    status: str
    """The word `ready`, if it is."""
    sandbox: str
    """`ready` if code of requests runs, else why it does not."""


class Reference(Record):
    """A reference: one thread reads another one."""

    __slots__ = (
        "ref_id",
        "thread_id",
        "target",
        "scope",
        "binding",
        "snapshot_version",
        "created_by",
        "created_at",
        "holds",
    )
    _fields = {
        "refId": ("ref_id", None),
        "threadId": ("thread_id", None),
        "target": ("target", None),
        "scope": ("scope", None),
        "binding": ("binding", None),
        "snapshotVersion": ("snapshot_version", None),
        "createdBy": ("created_by", "Actor"),
        "createdAt": ("created_at", None),
        "holds": ("holds", None),
    }
    _required = (
        "refId",
        "threadId",
        "target",
        "scope",
        "binding",
        "snapshotVersion",
        "createdBy",
        "createdAt",
        "holds",
    )
    ref_id: Uuid
    """The id of the reference."""
    thread_id: ThreadId
    """The thread that reads."""
    target: ThreadId
    """The thread that is read."""
    scope: List[ReferenceScope]
    """The parts that are read."""
    binding: Binding
    """Whether it is frozen, or follows the target."""
    snapshot_version: Version
    """The version of the target when the reference was made. A frozen reference shows this version."""
    created_by: Actor
    """The actor that made it."""
    created_at: Timestamp
    """When it was made."""
    holds: bool
    """Whether the entry that made it is in view: a rollback undoes it, and an undo brings it back."""


class References(Record):
    """The references of a thread that hold, from both sides."""

    __slots__ = ("outgoing", "incoming")
    _fields = {
        "outgoing": ("outgoing", ("[", "Reference")),
        "incoming": ("incoming", ("[", "Reference")),
    }
    _required = ("outgoing", "incoming")
    outgoing: List[Reference]
    """The references that this thread made."""
    incoming: List[Reference]
    """The references to this thread that the caller may see."""


class Relation(Record):
    """A relation, seen from neither end."""

    __slots__ = ("parent_id", "child_id", "type", "message_index", "created_at", "comment")
    _fields = {
        "parentId": ("parent_id", None),
        "childId": ("child_id", None),
        "type": ("type", None),
        "messageIndex": ("message_index", None),
        "createdAt": ("created_at", None),
        "comment": ("comment", None),
    }
    _required = ("parentId", "childId", "type", "createdAt")
    parent_id: ThreadId
    """The thread it was made on."""
    child_id: ThreadId
    """The thread at the other end."""
    type: RelationKind
    """The kind of relation."""
    message_index: int | None
    """The index of the message where it was made."""
    created_at: Timestamp
    """When it was made."""
    comment: str | None
    """A comment of the actor that made it."""


class Relationship(Record):
    """A relation as one of its two threads sees it."""

    __slots__ = ("thread_id", "type", "role", "message_index", "created_at", "comment")
    _fields = {
        "threadId": ("thread_id", None),
        "type": ("type", None),
        "role": ("role", None),
        "messageIndex": ("message_index", None),
        "createdAt": ("created_at", None),
        "comment": ("comment", None),
    }
    _required = ("threadId", "type", "role", "createdAt")
    thread_id: ThreadId
    """The thread at the other end."""
    type: RelationKind
    """The kind of relation."""
    role: RelationRole
    """The role of the thread that sees it: `parent` or `child`."""
    message_index: int | None
    """The index of the message where it was made."""
    created_at: Timestamp
    """When it was made."""
    comment: str | None
    """A comment of the actor that made it."""


class Released(Record):
    """`{"released": …}`: whether a lease was still held."""

    __slots__ = ("released",)
    _fields = {
        "released": ("released", None),
    }
    _required = ("released",)
    released: bool
    """Whether a lease was still held, and is released now."""


class RequiredVariable(Record):
    """A variable that an agent requires."""

    __slots__ = ("name", "type", "description")
    _fields = {
        "name": ("name", None),
        "type": ("type", None),
        "description": ("description", None),
    }
    _required = ("name", "type")
    name: EnvName
    """The name of the variable."""
    type: EnvType
    """Whether the value may be shown."""
    description: str | None
    """Its purpose, for people."""


class RequiredVariables(Record):
    """The variables that a subagent requires."""

    __slots__ = ("required", "missing")
    _fields = {
        "required": ("required", ("[", "RequiredVariable")),
        "missing": ("missing", None),
    }
    _required = ("required", "missing")
    required: List[RequiredVariable]
    """Those that its agent requires and takes from no caller, by name."""
    missing: List[EnvName]
    """The names of those that it lacks. It starts once there are none."""


class Revoked(Record):
    """Whether a key was revoked."""

    __slots__ = ("revoked",)
    _fields = {
        "revoked": ("revoked", None),
    }
    _required = ("revoked",)
    revoked: bool
    """False if there was no such key, or it was revoked already."""


class Run(Record):
    """A run."""

    __slots__ = (
        "id",
        "thread_id",
        "agent_id",
        "executor",
        "status",
        "reason",
        "by",
        "attempt",
        "step_count",
        "started_at",
        "expires_at",
        "completed_at",
        "stop_requested_at",
        "waits",
        "usage",
        "sides",
    )
    _fields = {
        "id": ("id", None),
        "threadId": ("thread_id", None),
        "agentId": ("agent_id", None),
        "executor": ("executor", None),
        "status": ("status", None),
        "reason": ("reason", None),
        "by": ("by", None),
        "attempt": ("attempt", None),
        "stepCount": ("step_count", None),
        "startedAt": ("started_at", None),
        "expiresAt": ("expires_at", None),
        "completedAt": ("completed_at", None),
        "stopRequestedAt": ("stop_requested_at", None),
        "waits": ("waits", ("[", ("|", "WaitApproval", "WaitChild", "WaitHuman"))),
        "usage": ("usage", "Usage"),
        "sides": ("sides", "Sides"),
    }
    _required = (
        "id",
        "threadId",
        "executor",
        "status",
        "by",
        "attempt",
        "stepCount",
        "startedAt",
        "usage",
    )
    id: Uuid
    """The id of the run."""
    thread_id: ThreadId
    """The thread that it works on."""
    agent_id: str | None
    """The agent that works."""
    executor: Executor
    """The program that works on it."""
    status: RunStatus
    """The status of the run."""
    reason: str | None
    """The code of the reason, of a run that waits or ended."""
    by: str
    """The name of the actor that started it."""
    attempt: int
    """Which attempt works on it. Steps, deltas and the end name it."""
    step_count: int
    """Number of steps."""
    started_at: Timestamp
    """When the run started."""
    expires_at: Timestamp | None
    """When another executor may take over from a caller, unless a step renews it."""
    completed_at: Timestamp | None
    """When the run ended."""
    stop_requested_at: Timestamp | None
    """When somebody asked to stop it."""
    waits: List[Wait] | None
    """The answers that it waits for."""
    usage: Usage
    """Tokens and cost of all its steps."""
    sides: Sides | None
    """Whose turn it is, where the agent has two sides."""


class RunEventAssistant(Record):
    """Text of the agent. A complete text replaces the chunks of its step; discarded chunks do not
    count.
    """

    __slots__ = ("type", "content", "run", "step", "stream_status", "message_id")
    _fields = {
        "type": ("type", None),
        "content": ("content", None),
        "run": ("run", None),
        "step": ("step", None),
        "stream_status": ("stream_status", None),
        "message_id": ("message_id", None),
    }
    _required = ("type", "content", "run", "step", "stream_status")
    _constant = ("type", "assistant")
    type: Literal["assistant"]
    content: str
    """The text: a chunk, or all of it."""
    run: Uuid
    """The id of the run."""
    step: int
    """The number of the step, counted from 1."""
    stream_status: Literal["chunk", "complete", "discarded"]
    """Whether it is a chunk, or all of the text."""
    message_id: MessageId | None
    """The message in the log, of a complete text."""


class RunEventStatus(Record):
    """The status of the run changed."""

    __slots__ = ("type", "status", "message")
    _fields = {
        "type": ("type", None),
        "status": ("status", None),
        "message": ("message", None),
    }
    _required = ("type", "status", "message")
    _constant = ("type", "status")
    type: Literal["status"]
    status: str
    """`queued`, `running`, `retrying`, `waiting`, `stopping`, `completed`, `failed` or `stopped`;
    `degraded` if text of
    other servers is not shown as it is made.
    """
    message: str
    """The same in words."""


class RunEventTiming(Record):
    """The first piece of an answer came."""

    __slots__ = ("type", "first_response_ms", "pipeline")
    _fields = {
        "type": ("type", None),
        "first_response_ms": ("first_response_ms", None),
        "pipeline": ("pipeline", None),
    }
    _required = ("type", "first_response_ms", "pipeline")
    _constant = ("type", "timing")
    type: Literal["timing"]
    first_response_ms: float
    """Time from the start of the run to the first piece, in milliseconds."""
    pipeline: Literal["stateless", "caller"]
    """The way of the answer."""


class RunEventToolCall(Record):
    """A tool was called, or gave its result."""

    __slots__ = ("type", "tool_name", "status")
    _fields = {
        "type": ("type", None),
        "tool_name": ("tool_name", None),
        "status": ("status", None),
    }
    _required = ("type", "tool_name", "status")
    _constant = ("type", "tool_call")
    type: Literal["tool_call"]
    tool_name: str
    """The name of the tool."""
    status: Literal["executing", "completed", "failed"]
    """Whether it runs, or how it ended."""


class RunStep(Record):
    """A step of a run."""

    __slots__ = ("number", "attempt", "version", "at", "continues", "model")
    _fields = {
        "number": ("number", None),
        "attempt": ("attempt", None),
        "version": ("version", None),
        "at": ("at", None),
        "continues": ("continues", None),
        "model": ("model", "ModelCall"),
    }
    _required = ("number", "attempt", "version", "at")
    number: int
    """The number of the step, counted from 1."""
    attempt: int
    """The attempt that made it."""
    version: Version
    """The version of the thread after it began to be stored."""
    at: Timestamp
    """When it was stored."""
    continues: bool | None
    """Whether it goes on with the step before, such as with the result of a call."""
    model: ModelCall | None
    """The model that was asked, what it was given, and what that took."""


class RunTold(Record):
    """A run with its steps."""

    __slots__ = (
        "id",
        "thread_id",
        "agent_id",
        "executor",
        "status",
        "reason",
        "by",
        "attempt",
        "step_count",
        "started_at",
        "expires_at",
        "completed_at",
        "stop_requested_at",
        "waits",
        "usage",
        "sides",
        "steps",
    )
    _fields = {
        "id": ("id", None),
        "threadId": ("thread_id", None),
        "agentId": ("agent_id", None),
        "executor": ("executor", None),
        "status": ("status", None),
        "reason": ("reason", None),
        "by": ("by", None),
        "attempt": ("attempt", None),
        "stepCount": ("step_count", None),
        "startedAt": ("started_at", None),
        "expiresAt": ("expires_at", None),
        "completedAt": ("completed_at", None),
        "stopRequestedAt": ("stop_requested_at", None),
        "waits": ("waits", ("[", ("|", "WaitApproval", "WaitChild", "WaitHuman"))),
        "usage": ("usage", "Usage"),
        "sides": ("sides", "Sides"),
        "steps": ("steps", ("[", "RunStep")),
    }
    _required = (
        "id",
        "threadId",
        "executor",
        "status",
        "by",
        "attempt",
        "stepCount",
        "startedAt",
        "usage",
        "steps",
    )
    id: Uuid
    """The id of the run."""
    thread_id: ThreadId
    """The thread that it works on."""
    agent_id: str | None
    """The agent that works."""
    executor: Executor
    """The program that works on it."""
    status: RunStatus
    """The status of the run."""
    reason: str | None
    """The code of the reason, of a run that waits or ended."""
    by: str
    """The name of the actor that started it."""
    attempt: int
    """Which attempt works on it. Steps, deltas and the end name it."""
    step_count: int
    """Number of steps."""
    started_at: Timestamp
    """When the run started."""
    expires_at: Timestamp | None
    """When another executor may take over from a caller, unless a step renews it."""
    completed_at: Timestamp | None
    """When the run ended."""
    stop_requested_at: Timestamp | None
    """When somebody asked to stop it."""
    waits: List[Wait] | None
    """The answers that it waits for."""
    usage: Usage
    """Tokens and cost of all its steps."""
    sides: Sides | None
    """Whose turn it is, where the agent has two sides."""
    steps: List[RunStep]
    """The steps, in order."""


class Said(Record):
    """Something a user or an assistant said."""

    __slots__ = ("role", "content")
    _fields = {
        "role": ("role", None),
        "content": ("content", ("[", ("|", "ContentText", "ContentImage", "ContentFile", "ContentToolUse", "ContentToolResult", "ContentThinking"))),
    }
    _required = ("role", "content")
    role: Speaker
    """The role of the speaker."""
    content: Content
    """The content of the message."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            role: Speaker,
            content: Content,
        ) -> None: ...


class Sandbox(Record):
    """A sandbox, as its operator knows it."""

    __slots__ = ("external_id", "config")
    _fields = {
        "externalId": ("external_id", None),
        "config": ("config", None),
    }
    _required = ("externalId",)
    external_id: str
    """The id of the sandbox at its operator."""
    config: Json | None
    """How it is reached and set up. It may hold passwords: only the owner of the project sees it."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            external_id: str,
            config: Json | None = None,
        ) -> None: ...


class SearchFound(Record):
    """The results of a search."""

    __slots__ = ("results", "took_ms")
    _fields = {
        "results": ("results", ("[", "SearchResult")),
        "tookMs": ("took_ms", None),
    }
    _required = ("results", "tookMs")
    results: List[SearchResult]
    """Threads, the best first, each once; none if nothing matches."""
    took_ms: float
    """How long the search took, in milliseconds."""


class SearchMessage(Record):
    """A message of a hit."""

    __slots__ = ("message_id", "role", "text", "timestamp", "match", "highlights")
    _fields = {
        "messageId": ("message_id", None),
        "role": ("role", None),
        "text": ("text", None),
        "timestamp": ("timestamp", None),
        "match": ("match", None),
        "highlights": ("highlights", None),
    }
    _required = ("messageId", "role", "text", "timestamp", "match")
    message_id: MessageId
    """The id of the message."""
    role: Role
    """The role of the speaker."""
    text: str
    """The content as plain text."""
    timestamp: Timestamp
    """When it was said."""
    match: bool
    """Whether this message is the hit. The others surround it."""
    highlights: List[List[int]] | None
    """The parts of the text that say what was asked, each from where to where (exclusive), in UTF-16
    code units, as
    JavaScript counts: `text.slice(start, end)`. Only the message that answers has some.
    """


class SearchResult(Record):
    """A thread that matches, opened at its best message."""

    __slots__ = (
        "thread_id",
        "thread_title",
        "message_id",
        "timestamp",
        "score",
        "why",
        "also_in",
        "superseded",
        "messages",
    )
    _fields = {
        "threadId": ("thread_id", None),
        "threadTitle": ("thread_title", None),
        "messageId": ("message_id", None),
        "timestamp": ("timestamp", None),
        "score": ("score", None),
        "why": ("why", "SearchWhy"),
        "alsoIn": ("also_in", None),
        "superseded": ("superseded", None),
        "messages": ("messages", ("[", "SearchMessage")),
    }
    _required = (
        "threadId",
        "messageId",
        "timestamp",
        "score",
        "why",
        "alsoIn",
        "superseded",
        "messages",
    )
    thread_id: ThreadId
    """The thread. A message that several threads share is reported under the one that wrote it, if it
    is the caller's and
    passes the filters, else under the oldest that does.
    """
    thread_title: str | None
    """The title of the thread."""
    message_id: MessageId
    """The message that answers best."""
    timestamp: Timestamp
    """When that was said."""
    score: float
    """How well the thread matches, compared with the other results: at most 1."""
    why: SearchWhy
    """The two parts of the score of the message."""
    also_in: int
    """How many other threads of the caller show the message."""
    superseded: bool
    """Whether the thread does not show it any more."""
    messages: List[SearchMessage]
    """The message, and those around it, in their order."""


class SearchStatus(Record):
    """The state of the search index."""

    __slots__ = (
        "caught_up",
        "behind",
        "lag_seconds",
        "following",
        "messages",
        "embedded",
        "bytes",
        "text_bytes",
        "volumes",
        "model",
        "dimensions",
    )
    _fields = {
        "caughtUp": ("caught_up", None),
        "behind": ("behind", None),
        "lagSeconds": ("lag_seconds", None),
        "following": ("following", None),
        "messages": ("messages", None),
        "embedded": ("embedded", None),
        "bytes": ("bytes", None),
        "textBytes": ("text_bytes", None),
        "volumes": ("volumes", None),
        "model": ("model", None),
        "dimensions": ("dimensions", None),
    }
    _required = (
        "caughtUp",
        "behind",
        "lagSeconds",
        "following",
        "messages",
        "embedded",
        "bytes",
        "textBytes",
        "volumes",
        "model",
        "dimensions",
    )
    caught_up: bool
    """Whether every entry is indexed."""
    behind: int
    """Entries of the log that are not indexed yet. 1,000 means 1,000 or more."""
    lag_seconds: int
    """Age of the oldest of them in seconds; 0 if there is none."""
    following: bool
    """Whether it follows the log by itself; if not, it is brought up to date by a backfill."""
    messages: int
    """Messages of this account in the index."""
    embedded: int
    """Messages among them that have vectors of the present embedder; the others are found by their
    words.
    """
    bytes: int
    """Bytes of the index, for this account."""
    text_bytes: int
    """Bytes of the texts that it was made of."""
    volumes: int
    """Number of volumes of the index."""
    model: str
    """The id of the model that makes vectors."""
    dimensions: int
    """How long its vectors are."""


class SearchWhy(Record):
    """The two parts of the score of a message. Each is 1 for the best candidate."""

    __slots__ = ("keyword", "vector")
    _fields = {
        "keyword": ("keyword", None),
        "vector": ("vector", None),
    }
    _required = ("keyword", "vector")
    keyword: float
    """How well the words match."""
    vector: float
    """How well the meaning matches."""


class Sides(Record):
    """The turns of a run whose agent has two sides."""

    __slots__ = ("turn", "steps_a", "steps_b", "asked", "forced")
    _fields = {
        "turn": ("turn", None),
        "stepsA": ("steps_a", None),
        "stepsB": ("steps_b", None),
        "asked": ("asked", None),
        "forced": ("forced", None),
    }
    _required = ("turn", "stepsA", "stepsB")
    turn: RunSide
    """The side whose turn it is."""
    steps_a: int
    """Number of steps of the first side."""
    steps_b: int
    """Number of steps of the second side."""
    asked: RunSide | None
    """The side that somebody asked to speak next. The executor has not taken it up yet."""
    forced: bool | None
    """Whether the turn comes from such a request. The next step uses it up."""


class SignIn(Record):
    """A link that signs a browser in, once."""

    __slots__ = ("url", "expires_at")
    _fields = {
        "url": ("url", None),
        "expiresAt": ("expires_at", None),
    }
    _required = ("url", "expiresAt")
    url: str
    """The address that signs a browser in, once."""
    expires_at: Timestamp
    """When it expires."""


class Skill(Record):
    """A skill that was activated on a thread."""

    __slots__ = ("name", "arguments")
    _fields = {
        "name": ("name", None),
        "arguments": ("arguments", None),
    }
    _required = ("name",)
    name: str
    """The name of the skill."""
    arguments: Dict[str, Any] | None
    """The arguments of its activation, a JSON object."""


class Spawned(Record):
    """A thread that was spawned."""

    __slots__ = ("thread_id", "parent_id")
    _fields = {
        "threadId": ("thread_id", None),
        "parentId": ("parent_id", None),
    }
    _required = ("threadId", "parentId")
    thread_id: ThreadId
    """The id of the new thread."""
    parent_id: ThreadId
    """The thread it was spawned from."""


class StatusSet(Record):
    """The result of a new status."""

    __slots__ = ("set",)
    _fields = {
        "set": ("set", None),
    }
    _required = ("set",)
    set: bool
    """Whether there was a parent to tell; nothing changed if not."""


class Subagent(Record):
    """A subagent, and the thread it works for."""

    __slots__ = (
        "parent_id",
        "reference",
        "name",
        "title",
        "description",
        "resumable",
        "blocking",
        "thread_name",
        "spawn_group_id",
        "created_at",
        "status",
        "parent_communication",
    )
    _fields = {
        "parentId": ("parent_id", None),
        "reference": ("reference", None),
        "name": ("name", None),
        "title": ("title", None),
        "description": ("description", None),
        "resumable": ("resumable", None),
        "blocking": ("blocking", None),
        "threadName": ("thread_name", None),
        "spawnGroupId": ("spawn_group_id", None),
        "createdAt": ("created_at", None),
        "status": ("status", None),
        "parentCommunication": ("parent_communication", None),
    }
    _required = ("parentId", "reference", "name", "description", "createdAt", "status")
    parent_id: ThreadId
    """The thread it works for."""
    reference: ThreadId
    """The thread of the subagent."""
    name: str
    """The name of the subagent."""
    title: str | None
    """A title for people."""
    description: str
    """The task of the subagent."""
    resumable: bool | None
    """Whether the subagent can be resumed after its work."""
    blocking: bool | None
    """Whether its parent waits for it."""
    thread_name: str | None
    """A name for the thread."""
    spawn_group_id: str | None
    """Shared by the children that one message made."""
    created_at: Timestamp
    """When the thread was registered."""
    status: str
    """Its activity, in its own words."""
    parent_communication: ParentCommunication | None
    """Whether it reports to its parent by itself."""


class SubagentThread(Record):
    """The thread of a new subagent, and the files it was given."""

    __slots__ = (
        "id",
        "short_id",
        "account_id",
        "v",
        "created",
        "updated",
        "title",
        "archived",
        "message_count",
        "next_message_id",
        "last_user_interaction_at",
        "lifecycle",
        "visibility",
        "terminated",
        "metadata",
        "draft",
        "auto_submit_draft",
        "agent_mode",
        "max_tokens",
        "agent_id",
        "task_id",
        "project_id",
        "user_id",
        "intent",
        "status",
        "env",
        "origin_thread_id",
        "fork_point_index",
        "main_thread_id",
        "parent_id",
        "activated_skills",
        "run",
        "attachments",
    )
    _fields = {
        "id": ("id", None),
        "shortId": ("short_id", None),
        "accountId": ("account_id", None),
        "v": ("v", None),
        "created": ("created", None),
        "updated": ("updated", None),
        "title": ("title", None),
        "archived": ("archived", None),
        "messageCount": ("message_count", None),
        "nextMessageId": ("next_message_id", None),
        "lastUserInteractionAt": ("last_user_interaction_at", None),
        "lifecycle": ("lifecycle", None),
        "visibility": ("visibility", None),
        "terminated": ("terminated", None),
        "metadata": ("metadata", None),
        "draft": ("draft", None),
        "autoSubmitDraft": ("auto_submit_draft", None),
        "agentMode": ("agent_mode", None),
        "maxTokens": ("max_tokens", None),
        "agentId": ("agent_id", None),
        "taskId": ("task_id", None),
        "projectId": ("project_id", None),
        "userId": ("user_id", None),
        "intent": ("intent", None),
        "status": ("status", None),
        "env": ("env", None),
        "originThreadId": ("origin_thread_id", None),
        "forkPointIndex": ("fork_point_index", None),
        "mainThreadId": ("main_thread_id", None),
        "parentId": ("parent_id", None),
        "activatedSkills": ("activated_skills", ("[", "Skill")),
        "run": ("run", "Run"),
        "attachments": ("attachments", ("[", "Attachment")),
    }
    _required = (
        "id",
        "shortId",
        "v",
        "created",
        "updated",
        "title",
        "archived",
        "messageCount",
        "nextMessageId",
        "lastUserInteractionAt",
        "lifecycle",
        "visibility",
        "terminated",
        "autoSubmitDraft",
    )
    id: ThreadId
    """The full id of the thread."""
    short_id: ShortId
    """Its short id: the same identity."""
    account_id: Account | None
    """The account that owns it; visitors are not told."""
    v: Version
    """The version of the thread."""
    created: Timestamp
    """When it was made."""
    updated: Timestamp
    """When it last changed."""
    title: str | None
    """Its name for people, or null."""
    archived: bool
    """Whether the main list hides it."""
    message_count: int
    """How many messages it shows."""
    next_message_id: int
    """The least number its next message can have."""
    last_user_interaction_at: Timestamp | None
    """When the user last said something, or null."""
    lifecycle: Lifecycle
    """The state of its lifecycle."""
    visibility: Visibility
    """Who may read it, apart from its account."""
    terminated: Timestamp | None
    """When it was terminated, or null."""
    metadata: Dict[str, Any] | None
    """Metadata of the user: a JSON object."""
    draft: str | None
    """Text that is not sent yet."""
    auto_submit_draft: bool
    """Whether the draft is sent by itself."""
    agent_mode: str | None
    """The mode the agent works in."""
    max_tokens: int | None
    """A cap for output."""
    agent_id: str | None
    """The agent it belongs to."""
    task_id: str | None
    """The task it belongs to."""
    project_id: str | None
    """The project it belongs to."""
    user_id: str | None
    """The user it belongs to."""
    intent: str | None
    """The purpose of the thread."""
    status: str | None
    """The status that its agent gave, in free words."""
    env: Dict[str, Any] | None
    """The workspace it began in."""
    origin_thread_id: ThreadId | None
    """The thread it was forked from."""
    fork_point_index: int | None
    """The index of the last message it shared at the fork."""
    main_thread_id: ThreadId | None
    """The main thread, for a subagent's thread."""
    parent_id: ThreadId | None
    """The thread it was spawned from."""
    activated_skills: List[Skill] | None
    """The skills that are active, in the order they were activated."""
    run: Run | None
    """The run that is open."""
    attachments: List[Attachment] | None
    """The files it was given, in the order in which they were named, by their paths in that thread."""


class Summary(Record):
    """The built-in summary of a thread."""

    __slots__ = ("summary",)
    _fields = {
        "summary": ("summary", None),
    }
    _required = ("summary",)
    summary: str
    """The text of the summary."""


class Thread(Record):
    """A thread. Fields with a default are always present, optional fields only if they are set."""

    __slots__ = (
        "id",
        "short_id",
        "account_id",
        "v",
        "created",
        "updated",
        "title",
        "archived",
        "message_count",
        "next_message_id",
        "last_user_interaction_at",
        "lifecycle",
        "visibility",
        "terminated",
        "metadata",
        "draft",
        "auto_submit_draft",
        "agent_mode",
        "max_tokens",
        "agent_id",
        "task_id",
        "project_id",
        "user_id",
        "intent",
        "status",
        "env",
        "origin_thread_id",
        "fork_point_index",
        "main_thread_id",
        "parent_id",
        "activated_skills",
        "run",
    )
    _fields = {
        "id": ("id", None),
        "shortId": ("short_id", None),
        "accountId": ("account_id", None),
        "v": ("v", None),
        "created": ("created", None),
        "updated": ("updated", None),
        "title": ("title", None),
        "archived": ("archived", None),
        "messageCount": ("message_count", None),
        "nextMessageId": ("next_message_id", None),
        "lastUserInteractionAt": ("last_user_interaction_at", None),
        "lifecycle": ("lifecycle", None),
        "visibility": ("visibility", None),
        "terminated": ("terminated", None),
        "metadata": ("metadata", None),
        "draft": ("draft", None),
        "autoSubmitDraft": ("auto_submit_draft", None),
        "agentMode": ("agent_mode", None),
        "maxTokens": ("max_tokens", None),
        "agentId": ("agent_id", None),
        "taskId": ("task_id", None),
        "projectId": ("project_id", None),
        "userId": ("user_id", None),
        "intent": ("intent", None),
        "status": ("status", None),
        "env": ("env", None),
        "originThreadId": ("origin_thread_id", None),
        "forkPointIndex": ("fork_point_index", None),
        "mainThreadId": ("main_thread_id", None),
        "parentId": ("parent_id", None),
        "activatedSkills": ("activated_skills", ("[", "Skill")),
        "run": ("run", "Run"),
    }
    _required = (
        "id",
        "shortId",
        "v",
        "created",
        "updated",
        "title",
        "archived",
        "messageCount",
        "nextMessageId",
        "lastUserInteractionAt",
        "lifecycle",
        "visibility",
        "terminated",
        "autoSubmitDraft",
    )
    id: ThreadId
    """The full id of the thread."""
    short_id: ShortId
    """Its short id: the same identity."""
    account_id: Account | None
    """The account that owns it; visitors are not told."""
    v: Version
    """The version of the thread."""
    created: Timestamp
    """When it was made."""
    updated: Timestamp
    """When it last changed."""
    title: str | None
    """Its name for people, or null."""
    archived: bool
    """Whether the main list hides it."""
    message_count: int
    """How many messages it shows."""
    next_message_id: int
    """The least number its next message can have."""
    last_user_interaction_at: Timestamp | None
    """When the user last said something, or null."""
    lifecycle: Lifecycle
    """The state of its lifecycle."""
    visibility: Visibility
    """Who may read it, apart from its account."""
    terminated: Timestamp | None
    """When it was terminated, or null."""
    metadata: Dict[str, Any] | None
    """Metadata of the user: a JSON object."""
    draft: str | None
    """Text that is not sent yet."""
    auto_submit_draft: bool
    """Whether the draft is sent by itself."""
    agent_mode: str | None
    """The mode the agent works in."""
    max_tokens: int | None
    """A cap for output."""
    agent_id: str | None
    """The agent it belongs to."""
    task_id: str | None
    """The task it belongs to."""
    project_id: str | None
    """The project it belongs to."""
    user_id: str | None
    """The user it belongs to."""
    intent: str | None
    """The purpose of the thread."""
    status: str | None
    """The status that its agent gave, in free words."""
    env: Dict[str, Any] | None
    """The workspace it began in."""
    origin_thread_id: ThreadId | None
    """The thread it was forked from."""
    fork_point_index: int | None
    """The index of the last message it shared at the fork."""
    main_thread_id: ThreadId | None
    """The main thread, for a subagent's thread."""
    parent_id: ThreadId | None
    """The thread it was spawned from."""
    activated_skills: List[Skill] | None
    """The skills that are active, in the order they were activated."""
    run: Run | None
    """The run that is open."""


class ThreadSummary(Record):
    """A thread in a list. Fields with a default are always present, optional fields only if they are
    set.
    """

    __slots__ = (
        "id",
        "short_id",
        "account_id",
        "v",
        "created",
        "updated",
        "title",
        "archived",
        "message_count",
        "next_message_id",
        "last_user_interaction_at",
        "lifecycle",
        "visibility",
        "terminated",
        "metadata",
        "draft",
        "auto_submit_draft",
        "agent_mode",
        "max_tokens",
        "agent_id",
        "task_id",
        "project_id",
        "project_name",
        "icon_name",
        "sandbox",
        "user_id",
        "intent",
        "status",
        "env",
        "origin_thread_id",
        "fork_point_index",
        "main_thread_id",
        "parent_id",
        "activated_skills",
        "run",
        "user_last_interacted_at",
        "diff_stats",
        "parent_relationships",
    )
    _fields = {
        "id": ("id", None),
        "shortId": ("short_id", None),
        "accountId": ("account_id", None),
        "v": ("v", None),
        "created": ("created", None),
        "updated": ("updated", None),
        "title": ("title", None),
        "archived": ("archived", None),
        "messageCount": ("message_count", None),
        "nextMessageId": ("next_message_id", None),
        "lastUserInteractionAt": ("last_user_interaction_at", None),
        "lifecycle": ("lifecycle", None),
        "visibility": ("visibility", None),
        "terminated": ("terminated", None),
        "metadata": ("metadata", None),
        "draft": ("draft", None),
        "autoSubmitDraft": ("auto_submit_draft", None),
        "agentMode": ("agent_mode", None),
        "maxTokens": ("max_tokens", None),
        "agentId": ("agent_id", None),
        "taskId": ("task_id", None),
        "projectId": ("project_id", None),
        "projectName": ("project_name", None),
        "iconName": ("icon_name", None),
        "sandbox": ("sandbox", "Sandbox"),
        "userId": ("user_id", None),
        "intent": ("intent", None),
        "status": ("status", None),
        "env": ("env", None),
        "originThreadId": ("origin_thread_id", None),
        "forkPointIndex": ("fork_point_index", None),
        "mainThreadId": ("main_thread_id", None),
        "parentId": ("parent_id", None),
        "activatedSkills": ("activated_skills", ("[", "Skill")),
        "run": ("run", "Run"),
        "userLastInteractedAt": ("user_last_interacted_at", None),
        "diffStats": ("diff_stats", "DiffStats"),
        "parentRelationships": ("parent_relationships", ("[", "Relationship")),
    }
    _required = (
        "id",
        "shortId",
        "accountId",
        "v",
        "created",
        "updated",
        "title",
        "archived",
        "messageCount",
        "nextMessageId",
        "lastUserInteractionAt",
        "lifecycle",
        "visibility",
        "terminated",
        "autoSubmitDraft",
        "userLastInteractedAt",
        "diffStats",
        "parentRelationships",
    )
    id: ThreadId
    """The full id of the thread."""
    short_id: ShortId
    """Its short id: the same identity."""
    account_id: Account
    """The account that owns it."""
    v: Version
    """The version of the thread."""
    created: Timestamp
    """When it was made."""
    updated: Timestamp
    """When it last changed."""
    title: str | None
    """Its name for people, or null."""
    archived: bool
    """Whether the main list hides it."""
    message_count: int
    """How many messages it shows."""
    next_message_id: int
    """The least number its next message can have."""
    last_user_interaction_at: Timestamp | None
    """When the user last said something, or null."""
    lifecycle: Lifecycle
    """The state of its lifecycle."""
    visibility: Visibility
    """Who may read it, apart from its account."""
    terminated: Timestamp | None
    """When it was terminated, or null."""
    metadata: Dict[str, Any] | None
    """Metadata of the user: a JSON object."""
    draft: str | None
    """Text that is not sent yet."""
    auto_submit_draft: bool
    """Whether the draft is sent by itself."""
    agent_mode: str | None
    """The mode the agent works in."""
    max_tokens: int | None
    """A cap for output."""
    agent_id: str | None
    """The agent it belongs to."""
    task_id: str | None
    """The task it belongs to."""
    project_id: str | None
    """The project it belongs to."""
    project_name: str | None
    """The project's name, where projects are kept."""
    icon_name: str | None
    """The project's icon, where projects are kept."""
    sandbox: Sandbox | None
    """The project's sandbox, where projects are kept."""
    user_id: str | None
    """The user it belongs to."""
    intent: str | None
    """The purpose of the thread."""
    status: str | None
    """The status that its agent gave, in free words."""
    env: Dict[str, Any] | None
    """The workspace it began in."""
    origin_thread_id: ThreadId | None
    """The thread it was forked from."""
    fork_point_index: int | None
    """The index of the last message it shared at the fork."""
    main_thread_id: ThreadId | None
    """The main thread, for a subagent's thread."""
    parent_id: ThreadId | None
    """The thread it was spawned from."""
    activated_skills: List[Skill] | None
    """The skills that are active, in the order they were activated."""
    run: Run | None
    """The run that is open."""
    user_last_interacted_at: Timestamp
    """When the user last said something; when the thread was born, if never."""
    diff_stats: DiffStats
    """The changes that the thread made to its files."""
    parent_relationships: List[Relationship]
    """The relations in which it is the child."""


class Ticket(Record):
    """A ticket for one opening of one stream."""

    __slots__ = ("ticket", "path", "expires_at")
    _fields = {
        "ticket": ("ticket", None),
        "path": ("path", None),
        "expiresAt": ("expires_at", None),
    }
    _required = ("ticket", "path", "expiresAt")
    ticket: str
    """To be sent as `?ticket=`."""
    path: str
    """The path it opens."""
    expires_at: Timestamp
    """When it expires."""


class ToolFile(Record):
    """A file that came with the result of a tool."""

    __slots__ = ("path", "name", "mime_type", "size")
    _fields = {
        "path": ("path", None),
        "name": ("name", None),
        "mimeType": ("mime_type", None),
        "size": ("size", None),
    }
    _required = ("path", "name", "mimeType", "size")
    path: str
    """Its path in the thread."""
    name: str
    """Its name."""
    mime_type: str
    """Its media type."""
    size: int
    """Its size in bytes."""


class ToolTold(Record):
    """The result of a tool."""

    __slots__ = ("status", "result", "error", "attachments")
    _fields = {
        "status": ("status", None),
        "result": ("result", None),
        "error": ("error", None),
        "attachments": ("attachments", ("[", "ToolFile")),
    }
    _required = ("status",)
    status: Literal["success", "error"]
    """How it ended."""
    result: Any
    """What it gives, if it succeeded. A result over 256 KiB is a file: then this names the file."""
    error: str | None
    """Why it failed."""
    attachments: List[ToolFile] | None
    """Files of the thread that came with the result."""


class Transferred(Record):
    """The result of a transfer: an approval or a delegation, as its direction says."""

    __slots__ = ("approval_id", "delegation_id")
    _fields = {
        "approvalId": ("approval_id", None),
        "delegationId": ("delegation_id", None),
    }
    approval_id: Uuid | None
    """The approval that waits for an answer."""
    delegation_id: Uuid | None
    """The delegation that holds."""


class Usage(Record):
    """Tokens and cost."""

    __slots__ = (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost_micros",
    )
    _fields = {
        "inputTokens": ("input_tokens", None),
        "outputTokens": ("output_tokens", None),
        "cacheReadTokens": ("cache_read_tokens", None),
        "cacheWriteTokens": ("cache_write_tokens", None),
        "costMicros": ("cost_micros", None),
    }
    _required = ("inputTokens", "outputTokens")
    input_tokens: int
    """Tokens that were sent, cached ones included."""
    output_tokens: int
    """Tokens that were made."""
    cache_read_tokens: int | None
    """Tokens that the provider read from its cache."""
    cache_write_tokens: int | None
    """Tokens that the provider wrote to its cache."""
    cost_micros: int | None
    """The cost, in millionths of the currency of the prices."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            input_tokens: int,
            output_tokens: int,
            cache_read_tokens: int | None = None,
            cache_write_tokens: int | None = None,
            cost_micros: int | None = None,
        ) -> None: ...


class ValidationResult(Record):
    """The outcome of a validation."""

    __slots__ = ("validation", "passed", "exit_code", "output", "timed_out")
    _fields = {
        "validation": ("validation", None),
        "passed": ("passed", None),
        "exitCode": ("exit_code", None),
        "output": ("output", None),
        "timedOut": ("timed_out", None),
    }
    _required = ("validation", "passed", "output")
    validation: Validation
    """The validation that ran."""
    passed: bool
    """Whether the result passed."""
    exit_code: int | None
    """The exit code of the command; none if it was stopped."""
    output: str
    """The end of the command's output."""
    timed_out: bool | None
    """Whether the command ran into its time limit."""


class Value(Record):
    """The value under a key. A missing key has the value null and version 0."""

    __slots__ = ("key", "value", "version", "updated_at")
    _fields = {
        "key": ("key", None),
        "value": ("value", None),
        "version": ("version", None),
        "updatedAt": ("updated_at", None),
    }
    _required = ("key", "value", "version")
    key: ValueKey
    """The key of the value."""
    value: Json
    """The JSON, exactly as it was set."""
    version: Version
    """The version of the thread with which it was set: what `If-Match` compares."""
    updated_at: Timestamp | None
    """When it was set."""


class WaitApproval(Record):
    """The answer to an approval."""

    __slots__ = ("for_", "approval_id")
    _fields = {
        "for": ("for_", None),
        "approvalId": ("approval_id", None),
    }
    _required = ("for", "approvalId")
    _constant = ("for", "approval")
    for_: Literal["approval"]
    approval_id: Uuid
    """The id of the approval."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            approval_id: Uuid,
        ) -> None: ...


class WaitChild(Record):
    """The end of a subagent's work."""

    __slots__ = ("for_", "thread_id")
    _fields = {
        "for": ("for_", None),
        "threadId": ("thread_id", None),
    }
    _required = ("for", "threadId")
    _constant = ("for", "child")
    for_: Literal["child"]
    thread_id: ThreadId
    """The thread of the subagent."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            thread_id: ThreadId,
        ) -> None: ...


class WaitHuman(Record):
    """A message of a human."""

    __slots__ = ("for_",)
    _fields = {
        "for": ("for_", None),
    }
    _required = ("for",)
    _constant = ("for", "human")
    for_: Literal["human"]


class Writer(Record):
    """The lease of a thread's exclusive writer: `{token?, holder, expiresAt}`."""

    __slots__ = ("token", "holder", "expires_at")
    _fields = {
        "token": ("token", None),
        "holder": ("holder", None),
        "expiresAt": ("expires_at", None),
    }
    _required = ("holder", "expiresAt")
    token: str | None
    """The token that writes under the lease carry; only the holder sees it."""
    holder: str
    """Who holds it, in words for people."""
    expires_at: Timestamp
    """When it ends unless it is renewed."""


Account: TypeAlias = str
"""An account, by its name."""

ActorKind: TypeAlias = Literal["human", "agent", "system"]
"""The types of actors."""

Appended: TypeAlias = "Message | AppendedMessages"
"""The two shapes of the answer."""

ApprovalState: TypeAlias = Literal["pending", "approved", "denied", "revoked"]
"""The state of an approval."""

Binding: TypeAlias = Literal["frozen", "live"]
"""Whether a reference shows its target as it was, or as it is."""

BlobId: TypeAlias = str
"""The BLAKE3 hash of some bytes, in hex digits."""

Capability: TypeAlias = str
"""A capability of an agent: one of the standard list, or `tool:` and the name of a tool."""

ConflictType: TypeAlias = Literal["file", "decision", "code_dependency", "state"]
"""The type of a conflict."""

Content: TypeAlias = "str | Sequence[ContentText | ContentImage | ContentFile | ContentToolUse | ContentToolResult | ContentThinking | Unknown]"
"""The content of a message: a string, or typed parts."""

DecisionStrategy: TypeAlias = Literal["human", "ours", "theirs"]
"""How a question that both sides answered differently is resolved."""

Direction: TypeAlias = Literal["request_approval", "delegate"]
"""The direction of authority: from a human on request, or to agents in advance."""

EffectName: TypeAlias = str
"""The name of an effect; `package/name` for one of a package."""

EnvName: TypeAlias = str
"""The name of a variable."""

EnvType: TypeAlias = Literal["text", "secret"]
"""Whether the value of a variable may be shown."""

Executor: TypeAlias = Literal["runtime", "caller"]
"""The kind of program that works on a run."""

Fallback: TypeAlias = Literal["skip", "block", "auto_approve"]
"""The outcome of an approval that was not answered in time."""

FileConflict: TypeAlias = Literal["both_changed", "both_added", "deleted_here", "deleted_there", "type_changed", "binary"]
"""How the two sides of a file conflict."""

FilePath: TypeAlias = str
"""The path of a file or a directory, from the root of the thread's files."""

FileStrategy: TypeAlias = Literal["three_way", "ours", "theirs", "union", "manual"]
"""How a file that both sides changed is merged."""

Inherit: TypeAlias = Literal["full", "partial", "none"]
"""How much a spawned thread inherits."""

InjectionState: TypeAlias = Literal["waiting", "taken", "all"]
"""Whether an injection was delivered."""

InjectionType: TypeAlias = Literal["data", "constraint", "feedback", "priority"]
"""The type of an injection."""

Json: TypeAlias = Any
"""Any JSON, kept to the letter. It nests at most 128 deep."""

Lifecycle: TypeAlias = Literal["active", "suspended", "completed", "cancelled", "archived"]
"""The state of a thread's lifecycle."""

LifecycleAction: TypeAlias = Literal["done", "archive", "cancel", "suspend", "resume"]
"""An action that moves a thread from one state to another."""

ListedState: TypeAlias = Literal["pending", "approved", "denied", "revoked", "all"]
"""The state of approvals that are listed."""

MergeAction: TypeAlias = Literal["added", "taken", "merged", "removed"]
"""How a merge changed a file or a value."""

MergeBase: TypeAlias = "MergeBaseEmpty | MergeBaseHistory | MergeBaseBirth | MergeBaseMerge | Unknown"
"""The common base that both sides of a merge are compared with."""

MergeStatus: TypeAlias = Literal["clean", "conflicted", "failed", "pending_approval", "rejected", "merged"]
"""The state of a merge."""

MessageId: TypeAlias = str
"""The identity of a message, the same in every fork: `M-` and hex digits."""

MessageName: TypeAlias = str
"""A message, by its id or by the id it had in the queue."""

MessageStatus: TypeAlias = Literal["pending", "completed", "failed"]
"""Whether a message is complete."""

NewEvent: TypeAlias = "NewEventMessage | NewEventToolUse | NewEventAssistantText | NewEventResult | Unknown"
"""An event to log."""

ObservedEvent: TypeAlias = Literal["status_changed", "artifact_created", "artifact_updated", "error_occurred", "approval_requested", "done"]
"""The events of a thread that an observer can ask for."""

ParentCommunication: TypeAlias = Literal["implicit", "explicit"]
"""Whether a subagent reports to its parent by itself."""

QueuedId: TypeAlias = str
"""A message that is or was in the queue: `queued-` and a uuid of version 8."""

ReferenceScope: TypeAlias = str
"""The part of a thread that is read: `all`, `messages`, `files`, `kv`, or a pattern for paths of
files.
"""

RelationKind: TypeAlias = Literal["fork", "handoff", "mention", "spawn", "reference"]
"""The type of a relation between two threads."""

RelationRole: TypeAlias = Literal["parent", "child"]
"""The end of a relation at which a thread is."""

Resolved: TypeAlias = Literal["ours", "theirs", "union", "content"]
"""How a conflict was resolved."""

Role: TypeAlias = Literal["user", "assistant", "info", "tool", "system"]
"""The role a message plays in the conversation."""

RunEvent: TypeAlias = "RunEventTiming | RunEventAssistant | RunEventToolCall | RunEventStatus | Unknown"
"""An event in the stream of a run."""

RunOutcome: TypeAlias = Literal["completed", "failed", "stopped"]
"""How a run ended."""

RunSide: TypeAlias = Literal["a", "b"]
"""A side of an agent. Only an agent of the type `dual_ai` has a second one."""

RunStatus: TypeAlias = Literal["queued", "running", "waiting", "completed", "failed", "stopped"]
"""The status of a run."""

Scope: TypeAlias = Literal["read", "write", "admin"]
"""The rights of a key. Each scope includes the ones before it."""

ShortId: TypeAlias = str
"""The last group of a thread's uuid: the same identity, shorter."""

Speaker: TypeAlias = Literal["user", "assistant"]
"""Who speaks in an event."""

StateStrategy: TypeAlias = Literal["human", "latest", "ours", "theirs"]
"""How a value that both sides changed is resolved."""

StepName: TypeAlias = "int | MessageName"
"""A step: a message of the assistant, by its index or its id."""

Take: TypeAlias = Literal["ours", "theirs", "union"]
"""The side that a choice takes."""

ThreadId: TypeAlias = str
"""The identity of a thread: `T-` and a uuid."""

ThreadName: TypeAlias = str
"""A thread, by its full id or by its short one."""

Timestamp: TypeAlias = str
"""A time in RFC 3339; answers are in UTC, with microseconds."""

Urgency: TypeAlias = Literal["immediate", "next_step"]
"""How soon an injection is delivered."""

Uuid: TypeAlias = str
"""A uuid, in hex digits."""

Validation: TypeAlias = Literal["none", "compile", "test"]
"""How the result of a merge is validated."""

ValueKey: TypeAlias = str
"""The key of a value."""

Version: TypeAlias = int
"""The version of a thread: the number of its last entry."""

Visibility: TypeAlias = Literal["private", "public"]
"""Who may read a thread."""

Wait: TypeAlias = "WaitApproval | WaitChild | WaitHuman | Unknown"
"""An answer that a run waits for."""

__all__ = [
    "Account",
    "Actor",
    "ActorKind",
    "Adopted",
    "Appended",
    "AppendedMessages",
    "Approval",
    "ApprovalState",
    "ArtifactVersion",
    "AskedCall",
    "Attachment",
    "Backfilled",
    "Binding",
    "BlobId",
    "Capability",
    "Changed",
    "Checkpoint",
    "Child",
    "Choice",
    "CodeError",
    "CodeLog",
    "CodeOutcome",
    "CodeTerminated",
    "ConflictStrategy",
    "ConflictType",
    "Content",
    "ContentFile",
    "ContentImage",
    "ContentText",
    "ContentThinking",
    "ContentToolResult",
    "ContentToolUse",
    "Context",
    "ContextMessage",
    "ContextSummary",
    "ContextTokens",
    "Covered",
    "CreatedKey",
    "Decision",
    "DecisionStrategy",
    "Definition",
    "DefinitionList",
    "DefinitionProblem",
    "Delegation",
    "Deleted",
    "Deliver",
    "DeltaTold",
    "DiffStats",
    "Direction",
    "Directory",
    "Doctor",
    "Effect",
    "EffectName",
    "EmitTold",
    "EnvName",
    "EnvType",
    "EnvVariable",
    "ExecuteCode",
    "ExecutionState",
    "Executor",
    "Fallback",
    "Family",
    "FamilyMerge",
    "FileConflict",
    "FileMatches",
    "FileOrigin",
    "FilePath",
    "FileRecord",
    "FileStats",
    "FileStrategy",
    "FileVersion",
    "Found",
    "FoundMemory",
    "Gc",
    "Grepped",
    "Health",
    "HistoryEntry",
    "ImportReport",
    "Imported",
    "Inherit",
    "Injected",
    "Injection",
    "InjectionState",
    "InjectionType",
    "Json",
    "Key",
    "Lifecycle",
    "LifecycleAction",
    "LineMatch",
    "ListedState",
    "Logged",
    "LoggedEvent",
    "Me",
    "MemoriesFound",
    "Memory",
    "MergeAction",
    "MergeBase",
    "MergeBaseBirth",
    "MergeBaseEmpty",
    "MergeBaseHistory",
    "MergeBaseMerge",
    "MergeConflict",
    "MergeSource",
    "MergeStatus",
    "MergeTold",
    "MergedFile",
    "MergedValue",
    "Message",
    "MessageBody",
    "MessageId",
    "MessageName",
    "MessageStatus",
    "ModelCall",
    "ModelMessage",
    "MoreRelatives",
    "Moved",
    "NewEffect",
    "NewEvent",
    "NewEventAssistantText",
    "NewEventMessage",
    "NewEventResult",
    "NewEventToolUse",
    "NewMessage",
    "Notified",
    "ObservedEvent",
    "Observer",
    "Page",
    "ParentCommunication",
    "Place",
    "Progressed",
    "Project",
    "Queued",
    "QueuedId",
    "QueuedTool",
    "Ready",
    "Record",
    "Reference",
    "ReferenceScope",
    "References",
    "Relation",
    "RelationKind",
    "RelationRole",
    "Relationship",
    "Released",
    "RequiredVariable",
    "RequiredVariables",
    "Resolved",
    "Revoked",
    "Role",
    "Run",
    "RunEvent",
    "RunEventAssistant",
    "RunEventStatus",
    "RunEventTiming",
    "RunEventToolCall",
    "RunOutcome",
    "RunSide",
    "RunStatus",
    "RunStep",
    "RunTold",
    "Said",
    "Sandbox",
    "Scope",
    "SearchFound",
    "SearchMessage",
    "SearchResult",
    "SearchStatus",
    "SearchWhy",
    "ShortId",
    "Sides",
    "SignIn",
    "Skill",
    "Spawned",
    "Speaker",
    "StateStrategy",
    "StatusSet",
    "StepName",
    "Subagent",
    "SubagentThread",
    "Summary",
    "Take",
    "Thread",
    "ThreadId",
    "ThreadName",
    "ThreadSummary",
    "Ticket",
    "Timestamp",
    "ToolFile",
    "ToolTold",
    "Transferred",
    "Unknown",
    "Urgency",
    "Usage",
    "Uuid",
    "Validation",
    "ValidationResult",
    "Value",
    "ValueKey",
    "Version",
    "Visibility",
    "Wait",
    "WaitApproval",
    "WaitChild",
    "WaitHuman",
    "Writer",
]
