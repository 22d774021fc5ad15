"""Stories with the real program, in the sync half."""

from __future__ import annotations

import io
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from server import Breaking, Proxy, Server
from threadkeep import Conflict, FateUnknown, Invalid, NotFound, Threadkeep, ThreadkeepError, types
from threadkeep import Unauthorized, Unavailable, Unreachable
from threadkeep.printed import facts


def texts(keep: Threadkeep, thread: str) -> list[Any]:
    return [message.content for message in keep.threads.list_messages(thread, limit=30)]


def test_a_conversation_is_written_forked_read_and_followed(server: Server) -> None:
    keep = server.client()
    thread = keep.threads.create(title="Tea")
    keep.threads.append_messages(thread.id, role="user", content="Which tea?")
    parts = [types.ContentText(text="Green — or 抹茶?")]
    said = keep.threads.append_messages(thread.id, role="assistant", content=parts)
    assert isinstance(said.content, list) and isinstance(said.content[0], types.ContentText)
    fork = keep.threads.fork(thread.id, message_index=0)
    assert [message.content for message in keep.threads.list_messages(thread.id, limit=1)][0] == "Which tea?"
    assert texts(keep, fork.id) == ["Which tea?"]
    messages = [types.NewMessage(role="user", content=f"{n}") for n in range(3)]
    batch = keep.threads.append_messages(fork.id, messages=messages)
    assert [message.content for message in batch.messages] == ["0", "1", "2"]
    page = keep.threads.list_messages(fork.id, limit=2).page()
    assert len(page.items) == 2 and page.next_cursor is not None
    assert len(keep.threads.list_messages(fork.id, limit=2).page(page.next_cursor).items) == 2
    assert [message.content for message in keep.threads.list_messages(fork.id, limit=1, offset=1)] == ["0", "1", "2"]
    kinds = []
    for entry in keep.threads.follow(thread.id):
        kinds.append(entry.kind)
        if kinds.count("message_appended") == 2:
            break
    assert keep.threads.get_history(thread.id).items[0].version == 1


def test_errors_say_what_is_wrong_with_the_code_of_the_server(server: Server) -> None:
    keep = server.client()
    thread = keep.threads.create()
    with pytest.raises(NotFound) as missing:
        keep.threads.get("0123456789ab")
    assert missing.value.code == "thread_not_found" and missing.value.request_id and missing.value.status == 404
    with pytest.raises(Conflict) as stale:
        keep.threads.update(thread.id, title="x", expected_version=999)
    assert stale.value.code == "version_conflict" and stale.value.current_version == thread.v
    with pytest.raises(Invalid) as wrong:
        nobody: Any = "nobody"
        keep.threads.append_messages(thread.id, role=nobody, content="?")
    assert wrong.value.field
    with pytest.raises(Unauthorized) as stranger:
        server.client(key="wrong-secret").threads.get(thread.id)
    assert "wrong-secret" not in str(stranger.value) + repr(stranger.value)
    with pytest.raises(ThreadkeepError) as unfit:
        keep._way.call(facts.GET_THREAD, {"thread": thread.id}, {}, writer="1")
    assert unfit.value.code == "not_honoured"
    gone = Proxy(server.url)
    gone.stop()
    with pytest.raises(Unreachable):
        server.client(url=gone.url, retry_for_s=0).threads.get(thread.id)


def test_fields_that_are_not_given_stay_and_none_clears(server: Server) -> None:
    keep = server.client()
    thread = keep.threads.create(title="Tea", draft="Hm")
    assert keep.threads.update(thread.id, title="Coffee").draft == "Hm"
    cleared = keep.threads.update(thread.id, draft=None)
    assert (cleared.title, cleared.draft) == ("Coffee", None)


def test_fields_that_are_not_known_are_kept() -> None:
    told = {"type": "human", "name": "ann", "shoe": 43}
    actor = types.Actor.from_json(told)
    assert (actor.name, actor.extra) == ("ann", {"shoe": 43}) and actor.to_json() == told
    message = types.Message.from_json({"content": [{"type": "hologram", "size": 3}, {"type": "text", "text": "a"}]})
    assert isinstance(message.content, list) and isinstance(message.content[0], types.Unknown)
    assert message.content[0].extra == {"type": "hologram", "size": 3}
    with pytest.raises(TypeError):
        types.NewMessage(role="user", content="a", colour="red")  # type: ignore[call-arg]  # pyright: ignore


@contextmanager
def cutting(proxy: Proxy, every_s: float) -> Iterator[None]:
    """Cuts all connections again and again."""
    over = threading.Event()

    def cut() -> None:
        while not over.wait(every_s):
            proxy.cut()

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)


def test_an_append_is_made_once_however_often_the_connection_breaks(server: Server) -> None:
    proxy = Proxy(server.url)
    keep = server.client(url=proxy.url)
    thread = keep.threads.create()
    with cutting(proxy, 0.02):
        for n in range(60):
            keep.threads.append_messages(thread.id, role="user", content=f"m{n}")
    proxy.stop()
    said = [message.content for message in server.client().threads.list_messages(thread.id, limit=100)]
    assert said == [f"m{n}" for n in range(60)]


def test_a_stream_gives_10_000_entries_once_through_100_cuts(server: Server) -> None:
    proxy = Proxy(server.url)
    direct = server.client()
    thread = direct.threads.create()
    total = 10_000

    def write() -> None:
        for n in range(0, total, 100):
            messages = [types.NewMessage(role="user", content=f"m{at}") for at in range(n, n + 100)]
            direct.threads.append_messages(thread.id, messages=messages)

    writing = threading.Thread(target=write)
    writing.start()
    seen: list[Any] = []
    cuts, last = 0, 0
    for entry in server.client(url=proxy.url).threads.follow(thread.id):
        assert entry.version > last, "versions rise"
        last = entry.version
        if entry.kind != "message_appended":
            continue
        seen.append(entry.data["content"])
        if len(seen) % 100 == 0 and cuts < 100:
            cuts += 1
            proxy.cut()
        if len(seen) == total:
            break
    writing.join(60)
    proxy.stop()
    assert cuts == 100
    assert seen == [f"m{n}" for n in range(total)]


def test_a_stream_outlives_the_death_of_its_server_and_ends_with_its_thread(server: Server) -> None:
    keep = server.client()
    thread = keep.threads.create()
    keep.threads.append_messages(thread.id, role="user", content="before")
    told: list[Any] = []
    for entry in keep.threads.follow(thread.id):
        if entry.kind != "message_appended":
            continue
        told.append(entry.data["content"])
        if len(told) == 1:
            server.crash()
            keep.threads.append_messages(thread.id, role="user", content="after")
        else:
            assert keep.threads.delete(thread.id).deleted
    assert told == ["before", "after"]


def test_a_stream_begins_where_it_is_told(server: Server) -> None:
    keep = server.client()
    thread = keep.threads.create()
    keep.threads.append_messages(thread.id, role="user", content="old")
    following = keep.threads.follow(thread.id, after=keep.threads.get(thread.id).v)
    assert following.cursor == str(keep.threads.get(thread.id).v)
    keep.threads.append_messages(thread.id, role="user", content="new")
    entry = next(iter(following))
    assert entry.data["content"] == "new" and following.cursor == str(entry.version)
    many = keep.threads.follow_many(threads=[thread.id])
    first = next(iter(many))
    assert first.version == 1 and many.cursor
    again = next(iter(keep.threads.follow_many(threads=[thread.id], after=many.cursor)))
    assert again.version == 2


def test_a_stream_gives_up_on_a_server_that_never_answers(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(FateUnknown):
            list(server.client(url=url, silence_max_s=1.2, retry_for_s=1).threads.follow("0123456789ab"))


def test_files_are_written_and_read_whole_and_as_they_come(server: Server, tmp_path: Path) -> None:
    keep = server.client()
    thread = keep.threads.create().id
    files = keep.threads.files
    record = files.write(thread, "/notes/plän.md", "# Plan", mime_type="text/markdown", metadata={"by": "Zoë"})
    assert (record.path, record.mime_type, record.size) == ("/notes/plän.md", "text/markdown", 6)
    assert files.text(thread, "/notes/plän.md") == "# Plan"
    content = bytes(n % 251 for n in range(300_000))
    files.write(thread, "poured", (content[at : at + 1000] for at in range(0, len(content), 1000)))
    (tmp_path / "big").write_bytes(content)
    files.write(thread, "big", tmp_path / "big")
    files.write(thread, "opened", io.BytesIO(content))
    assert all(files.read(thread, name) == content for name in ("poured", "big", "opened"))
    assert files.read(thread, "big", range="bytes=10-19") == content[10:20]
    with files.open(thread, "big", range="bytes=-5") as part:
        assert (part.status, part.size, b"".join(part)) == (206, 5, content[-5:])
    with files.open(thread, "big") as whole:
        assert whole.save(tmp_path / "copy") == len(content)
    assert (tmp_path / "copy").read_bytes() == content
    listed = [file.path for file in files.list(thread, limit=1)]
    assert sorted(listed) == ["/big", "/notes/plän.md", "/opened", "/poured"]
    assert files.grep(thread, "plan", ignore_case=True).files[0].path == "/notes/plän.md"
    assert files.stats(thread).file_count == 4 and len(files.versions(thread, "big").all()) == 1
    assert isinstance(files.find(thread, "**/*.md"), types.Found) and files.directory(thread, below="/notes")
    files.move(thread, "big", "/huge")
    assert files.mkdir(thread, "empty").path == "/empty" and files.rmdir(thread, "empty")
    assert files.delete(thread, "huge") and not files.delete(thread, "huge")
    with pytest.raises(NotFound) as gone:
        files.read(thread, "huge")
    assert gone.value.code == "file_not_found"
    with pytest.raises(Conflict):
        files.write(thread, "/notes/plän.md", "again", if_absent=True)


def test_a_file_arrives_whole_however_often_the_connection_breaks(server: Server, tmp_path: Path) -> None:
    proxy = Proxy(server.url)
    keep = server.client(url=proxy.url)
    thread = server.client().threads.create().id
    (tmp_path / "file").write_bytes(b"0123456789" * 50_000)
    with cutting(proxy, 0.05):
        for n in range(10):
            keep.threads.files.write(thread, f"file{n}", tmp_path / "file")
            assert len(keep.threads.files.read(thread, f"file{n}")) == 500_000
    proxy.stop()
    assert all(len(server.client().threads.files.versions(thread, f"file{n}").all()) == 1 for n in range(10))


def test_values_and_their_versions(server: Server) -> None:
    keep = server.client()
    thread = keep.threads.create().id
    value = keep.threads.set_value(thread, "a/b c", {"n": [1, None]})
    assert keep.threads.get_value(thread, "a/b c").value == {"n": [1, None]}
    with pytest.raises(Conflict):
        keep.threads.set_value(thread, "a/b c", 2, if_absent=True)
    keep.threads.set_value(thread, "a/b c", False, expected_version=value.version)
    assert keep.threads.get_value(thread, "a/b c").value is False
    assert keep.threads.delete_value(thread, "a/b c").deleted


def test_a_change_whose_fate_is_unknown_is_not_sent_again_without_a_key(server: Server) -> None:
    breaking = Breaking()
    keep = server.client(url=breaking.url, retry_for_s=0.3)
    with pytest.raises(FateUnknown) as unknown:
        keep.keys.create(account="k")
    assert unknown.value.code == "fate_unknown" and len(breaking.requests) == 1
    with pytest.raises(FateUnknown):
        keep.threads.update("0123456789ab", title="x", expected_version=1)
    keys = {re.search(rb"(?i)idempotency-key: (\w+)", request) for request in breaking.requests[1:]}
    assert len({key.group(1) for key in keys if key}) == 1, "one key a call"
    sent = len(breaking.requests)
    with pytest.raises(FateUnknown):
        keep.threads.get("0123456789ab")
    assert len(breaking.requests) > sent + 1, "a read is sent again"
    sent = len(breaking.requests)
    with pytest.raises(FateUnknown):
        keep.threads.files.write("0123456789ab", "a", iter([b"once"]))
    assert len(breaking.requests) == sent + 1, "what can be read once is sent once"
    breaking.stop()


def test_a_server_that_asks_for_time_gets_it_unless_that_is_too_long(server: Server) -> None:
    busy = Breaking(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(Unavailable) as told:
        server.client(url=busy.url).keys.create(account="k")
    assert (told.value.status, told.value.retry_after, len(busy.requests)) == (429, 3600, 1)
    busy.stop()
    away = Breaking(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(Unavailable):
        server.client(url=away.url, retry_for_s=0.3).keys.create(account="k")
    assert len(away.requests) == 1, "it may have been carried out"
    away.stop()


def test_the_file_of_a_server_says_where_it_is_and_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    try:
        for name in ("THREADKEEP_SERVER", "THREADKEEP_KEY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("THREADKEEP_DATA", server.folder)
        keep = Threadkeep()
        assert keep.url == server.url
        thread = keep.threads.create(title="Tea")
        server.crash()
        assert keep.threads.get(thread.id).title == "Tea", "the new key was found"
        monkeypatch.setenv("THREADKEEP_SERVER", "http://keep.example")
        assert Threadkeep().url == "http://keep.example"
    finally:
        server.stop()


def test_an_export_a_backup_and_an_import(server: Server, tmp_path: Path) -> None:
    keep = server.client()
    thread = keep.threads.create(title="Kept")
    with keep.admin.export() as export:
        export.save(tmp_path / "export.jsonl")
    lines = (tmp_path / "export.jsonl").read_text().splitlines()
    assert any(thread.id in line for line in lines) and json.loads(lines[-1])
    with keep.admin.back_up() as backup:
        assert next(iter(backup)).startswith(b"SQLite format 3")
    other = Server()
    try:
        assert other.client().admin.import_export(tmp_path / "export.jsonl").threads >= 1
    finally:
        other.stop()
    assert keep.account.get().account == "test" and keep.sign_in().url


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import sys; from threadkeep import AsyncThreadkeep, Threadkeep, types; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    heavy = {"httpx2", "httpcore2", "anyio", "asyncio", "ssl", "pydantic", "dataclasses", "inspect", "email"}
    assert heavy.isdisjoint(done.stdout.split())
