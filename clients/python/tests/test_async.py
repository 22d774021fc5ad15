"""Stories with the real program, in the async half."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, AsyncIterator

import pytest
from server import Proxy, Server
from threadkeep import NotFound, types


def test_a_conversation_is_written_forked_read_and_followed(server: Server) -> None:
    async def story() -> None:
        async with server.aclient() as keep:
            thread = await keep.threads.create(title="Tea")
            await keep.threads.append_messages(thread.id, role="user", content="Which tea?")
            await keep.threads.append_messages(thread.id, role="assistant", content="Green")
            fork = await keep.threads.fork(thread.id, message_index=0)
            assert [message.content async for message in keep.threads.list_messages(fork.id)] == ["Which tea?"]
            assert len((await keep.threads.list_messages(thread.id, limit=1).page()).items) == 1
            found = await keep.search(query="tea", thread_id=thread.id)
            assert isinstance(found, types.SearchFound)
            with pytest.raises(NotFound):
                await keep.threads.get("0123456789ab")
            many = await asyncio.gather(*(keep.threads.get(thread.id) for _ in range(20)))
            assert {one.title for one in many} == {"Tea"}

    asyncio.run(asyncio.wait_for(story(), 60))


def test_a_stream_gives_10_000_entries_once_through_100_cuts(server: Server) -> None:
    total = 10_000

    async def story() -> None:
        proxy = Proxy(server.url)
        async with server.aclient() as direct, server.aclient(url=proxy.url) as keep:
            thread = await direct.threads.create()

            async def write() -> None:
                for n in range(0, total, 100):
                    messages = [types.NewMessage(role="user", content=f"m{at}") for at in range(n, n + 100)]
                    await direct.threads.append_messages(thread.id, messages=messages)

            writing = asyncio.create_task(write())
            seen: list[Any] = []
            cuts = 0
            async for entry in keep.threads.follow(thread.id):
                if entry.kind != "message_appended":
                    continue
                seen.append(entry.data["content"])
                if len(seen) % 100 == 0 and cuts < 100:
                    cuts += 1
                    proxy.cut()
                if len(seen) == total:
                    break
            await writing
            assert cuts == 100
            assert seen == [f"m{n}" for n in range(total)]
        proxy.stop()

    asyncio.run(asyncio.wait_for(story(), 250))


def test_a_stream_ends_when_its_task_does_and_outlives_its_server(server: Server) -> None:
    async def story() -> None:
        async with server.aclient() as keep:
            thread = await keep.threads.create()
            told: asyncio.Queue[int] = asyncio.Queue()

            async def follow() -> None:
                async for entry in keep.threads.follow(thread.id, after="latest"):
                    told.put_nowait(entry.version)

            task = asyncio.create_task(follow())
            # Until the stream is open, an entry may be older than the latest.
            while told.empty():
                await keep.threads.append_messages(thread.id, role="user", content="?")
                await asyncio.sleep(0.01)
            await asyncio.to_thread(server.crash)
            version = (await keep.threads.append_messages(thread.id, role="user", content="after")).version
            while await asyncio.wait_for(told.get(), 30) != version:
                pass
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(asyncio.wait_for(story(), 120))


def test_the_stream_of_a_run_gives_each_event_once_and_ends_with_the_run(server: Server) -> None:
    steps = 30

    async def story() -> None:
        proxy = Proxy(server.url)
        async with server.aclient() as direct, server.aclient(url=proxy.url) as keep:
            thread = await direct.threads.create()
            run = (await direct.threads.start_run(thread.id, executor="caller", agent_id="counter")).id
            told: list[str] = []
            text = ""
            step = 0

            async def go_on() -> None:
                nonlocal step
                step += 1
                if step > steps:
                    await direct.runs.end(run)
                    return
                await direct.runs.send_delta(run, text=f"step {step};")
                use = types.ContentToolUse(id=f"call-{step}", name="count", input={})
                said = types.NewMessage(role="assistant", content=[types.ContentText(text=f"step {step} is done"), use])
                result = types.ContentToolResult(tool_use_id=use.id, content="ok", is_error=False)
                await direct.runs.step(run, messages=[said, types.NewMessage(role="tool", content=[result])])

            async for event in keep.runs.follow(run):
                if isinstance(event, types.RunEventToolCall):
                    told.append(f"{event.tool_name} {event.status}")
                    if step % 3 == 0:
                        proxy.cut()
                    if event.status == "completed":
                        await go_on()
                elif isinstance(event, types.RunEventAssistant):
                    if event.stream_status == "chunk":
                        text += event.content
                    else:
                        told.append(event.content)
                    if step % 2 == 0:
                        proxy.cut()
                    if step == steps // 2 and event.stream_status == "complete":
                        await asyncio.to_thread(server.crash)
                elif isinstance(event, types.RunEventStatus):
                    told.append(event.status)
                    if event.status == "running":
                        await go_on()
            each = [one for n in range(1, steps + 1) for one in (f"step {n} is done", "count executing", "count completed")]
            assert told == ["running", *each, "completed"]
            chunks = [chunk for chunk in text.split(";") if chunk]
            assert len(chunks) == len(set(chunks))
        proxy.stop()

    asyncio.run(asyncio.wait_for(story(), 120))


def test_files_come_and_go(server: Server, tmp_path: Path) -> None:
    content = bytes(n % 251 for n in range(300_000))

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(content), 1000):
            yield content[at : at + 1000]

    async def story() -> None:
        async with server.aclient() as keep:
            thread = (await keep.threads.create()).id
            files = keep.threads.files
            (tmp_path / "big").write_bytes(content)
            await files.write(thread, "big", tmp_path / "big")
            await files.write(thread, "poured", pieces())
            assert await files.read(thread, "big") == content == await files.read(thread, "poured")
            async with await files.open(thread, "big", range="bytes=0-9") as part:
                assert await part.read() == content[:10]
            assert len(await files.list(thread).all()) == 2

    asyncio.run(asyncio.wait_for(story(), 60))
