"""Every call of the table is sent once, with the example of its documentation, in both halves."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from server import Server
from threadkeep import AsyncThreadkeep, Paged, Refused, Threadkeep
from threadkeep.ask import Facts
from threadkeep.printed import facts

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = json.loads((ROOT / "spec/openapi.json").read_text())
OPERATIONS = {one["operationId"]: one for verbs in DOCUMENT["paths"].values() for one in verbs.values()}

# Refusals that say that the client sent the wrong thing.
MISTAKES = ("route_not_found", "method_not_allowed", "invalid_body", "invalid_parameter", "not_understood")
SOME_ID = "019a1b2c-3d4e-7f56-8a9b-0c1d2e3f4a5b"

# Calls that are written by hand, with their methods. A new call has to be among them or be printed.
BY_HAND = {
    "listFiles": "threads.files.list",
    "readFile": "threads.files.read",
    "writeFile": "threads.files.write",
    "changeTree": "threads.files.move",
    "deleteFile": "threads.files.delete",
    "readReferredFile": "threads.files.read_referred",
    "getEndpoint": "threads.ask_endpoint",
    "postEndpoint": "threads.ask_endpoint",
    "putEndpoint": "threads.ask_endpoint",
    "patchEndpoint": "threads.ask_endpoint",
    "deleteEndpoint": "threads.ask_endpoint",
    "streamThread": "threads.follow",
    "streamThreads": "threads.follow_many",
    "streamRun": "runs.follow",
    "exportStore": "admin.export",
    "importStore": "admin.import_export",
    "backUpStore": "admin.back_up",
    "importSessions": "import_sessions",
    "createSignIn": "sign_in",
}
# For browsers: the streams of this client are server-sent events.
NOT_HERE = {"openSocket", "openAccountSocket", "openRunSocket"}


def snake(name: str) -> str:
    name = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
    return f"{name}_" if name in ("from", "for") else name


def method_of(keep: object, one: Facts) -> Any:
    """The method that sends this call."""
    for room in vars(keep).values():
        for name, method in inspect.getmembers(type(room), inspect.isfunction):
            if f"facts.{snake(one.id).upper()}," in inspect.getsource(method):
                return getattr(room, name)
    raise AssertionError(f"{one.id} has no method")


def given(keep: Threadkeep, one: Facts) -> tuple[list[Any], dict[str, Any]]:
    """What a call is given: names in its path, and the example of its body."""
    thread = keep.threads.create().id
    message = keep.threads.append_messages(thread, role="user", content="Hello")
    parts = {
        "thread": thread,
        "message": message.id,
        "valueKey": "plan",
        "name": "REGION",
        "codeRun": "nightly",
        "tool": "skill",
        "kind": "skills",
        "definition": "review",
        "project": "demo",
        "key": "k_0123456789abcdef",
    }
    named = [parts.get(name, SOME_ID) for name in re.findall(r"\{(\w+)\}", one.path)]
    content = OPERATIONS[one.id].get("requestBody", {}).get("content", {})
    example = content.get("application/json", {}).get("example", {})
    options = {"writer": "0123456789abcdef"} if "writer" in one.honours and one.path.endswith("/writer") else {}
    if one.body == "whole":
        return [*named, example], options
    return named, {snake(name): value for name, value in example.items()} | options


@pytest.mark.parametrize("one", facts.ALL, ids=[one.id for one in facts.ALL])
def test_every_call_reaches_its_route(server: Server, one: Facts) -> None:
    keep = server.client()
    for half in (keep, server.aclient()):
        positional, named = given(keep, one)
        try:
            answer = method_of(half, one)(*positional, **named)
            if isinstance(half, AsyncThreadkeep):
                asyncio.run(awaited(half, answer))
            elif isinstance(answer, Paged):
                answer.page()
        except Refused as refusal:
            assert refusal.code not in MISTAKES, f"{one.id}: {refusal.code} {refusal}"
            assert refusal.request_id


async def awaited(keep: AsyncThreadkeep, answer: Any) -> None:
    async with keep:
        await (answer if inspect.isawaitable(answer) else answer.page())


def test_every_call_of_the_document_has_a_method() -> None:
    paths = [verbs for path, verbs in DOCUMENT["paths"].items() if path.startswith("/v1/")]
    calls = {one["operationId"] for verbs in paths for one in verbs.values()}
    printed = {one.id for one in facts.ALL}
    assert calls - printed == BY_HAND.keys() | NOT_HERE
    for half in (Threadkeep("http://127.0.0.1:1"), AsyncThreadkeep("http://127.0.0.1:1")):
        for way in BY_HAND.values():
            found: Any = half
            for name in way.split("."):
                found = getattr(found, name)
            assert callable(found)
