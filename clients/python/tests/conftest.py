"""One server for all tests of a file, and a deadline for each test."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from server import Server

TEST_MAX_S = 300


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """A test that hangs fails, and its server is stopped."""

    def over(*_: object) -> None:
        raise TimeoutError(f"the test took longer than {TEST_MAX_S} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(TEST_MAX_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
