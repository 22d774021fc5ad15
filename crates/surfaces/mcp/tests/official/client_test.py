"""The official Python client, in both revisions, on stdio and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import warnings

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

BINARY = os.environ["THREADKEEP_BINARY"]
MODES = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
warnings.filterwarnings("ignore")


@contextlib.contextmanager
def server():
    with tempfile.TemporaryDirectory() as data:
        command = [BINARY, "serve", "--data", data, "--listen", "127.0.0.1:0", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                yield data, json.loads(process.stdout.readline())
            finally:
                process.terminate()


async def call(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    assert not result.is_error, (name, result.content)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def story(client, way, revision):
    assert client.protocol_version == revision, client.protocol_version
    tools = (await client.list_tools()).tools
    assert len(tools) == 26, len(tools)
    thread = (await call(client, "create", title=f"Python {way} {revision}"))["id"]
    await call(client, "append", thread=thread, role="user", content="Hello!")
    fork = (await call(client, "fork", thread=thread))["id"]
    assert len((await call(client, "read_messages", thread=fork))["items"]) == 1
    refused = await client.call_tool("write_file", {"thread": fork, "path": "a.txt", "content": "x"})
    assert refused.is_error and refused.content[0].text.startswith("approval_required: "), refused.content
    assert "threadkeep approvals approve" in refused.content[0].text
    shown = await client.read_resource(f"threadkeep://thread/{fork}")
    assert "Hello!" in shown.contents[0].text
    prompt = await client.get_prompt("summarise_thread", {"thread": fork})
    assert "Hello!" in prompt.messages[0].content.text


async def main():
    with server() as (data, ready):
        for revision, mode in MODES.items():
            program = StdioServerParameters(command=BINARY, args=["--data", data, "mcp"])
            async with Client(program, mode=mode) as client:
                await story(client, "stdio", revision)
            headers = {"authorization": f"Bearer {ready['apiKey']}"}
            async with httpx2.AsyncClient(headers=headers) as http:
                transport = streamable_http_client(f"{ready['url']}/mcp", http_client=http)
                async with Client(transport, mode=mode) as client:
                    await story(client, "http", revision)
        # The usual mode probes for the newer revision.
        program = StdioServerParameters(command=BINARY, args=["--data", data, "mcp"])
        async with Client(program) as client:
            assert client.protocol_version == "2026-07-28", client.protocol_version
            thread = (await call(client, "create", title="Watched"))["id"]
            uri = f"threadkeep://thread/{thread}"
            async with client.listen(resource_subscriptions=[uri]) as changes:
                await call(client, "append", thread=thread, role="user", content="news")
                async for change in changes:
                    assert change.uri == uri, change
                    break
    # Without a server, the store itself is opened.
    with tempfile.TemporaryDirectory() as data:
        program = StdioServerParameters(command=BINARY, args=["--data", data, "mcp"])
        async with Client(program) as client:
            await story(client, "store", "2026-07-28")
    print("ok: the official Python client")


asyncio.run(asyncio.wait_for(main(), 300))
sys.stdout.flush()
