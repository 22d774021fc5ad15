"""The real program, and a proxy that cuts connections."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from typing import Any

from threadkeep import AsyncThreadkeep, Threadkeep

READY_MAX_S = 60.0


class Server:
    """A server of its own, on a folder of its own."""

    def __init__(self) -> None:
        self.program = os.environ.get("THREADKEEP_BINARY", "")
        assert self.program, "THREADKEEP_BINARY names the program to test"
        self.folder = tempfile.mkdtemp(prefix="threadkeep-py-")
        self.key = ""
        self.url = ""
        self.local_key = ""
        self._run("127.0.0.1:0")
        # The local key is made anew at each start; one that was created stays.
        with Threadkeep(self.url, self.local_key) as keep:
            self.key = keep.keys.create(account="test", scope="admin").key

    def _run(self, listen: str) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": self.folder}
        command = [self.program, "serve", "--data", self.folder, "--listen", listen, "--json"]
        self.child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lines: queue.Queue[bytes] = queue.Queue()
        out = self.child.stdout
        assert out is not None
        threading.Thread(target=lambda: lines.put(out.readline()), daemon=True).start()
        ready = json.loads(lines.get(timeout=READY_MAX_S))
        self.url, self.local_key = ready["url"], ready["apiKey"]

    def client(self, url: str | None = None, key: str | None = None, **settings: Any) -> Threadkeep:
        return Threadkeep(url or self.url, key or self.key, **settings)

    def aclient(self, url: str | None = None, key: str | None = None, **settings: Any) -> AsyncThreadkeep:
        return AsyncThreadkeep(url or self.url, key or self.key, **settings)

    def crash(self) -> None:
        """Ends it as a power cut would, and starts it again at the same address."""
        self._kill()
        self._run(self.url.removeprefix("http://"))

    def _kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait(READY_MAX_S)
        if self.child.stdout is not None:
            self.child.stdout.close()

    def stop(self) -> None:
        self._kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Proxy:
    """Passes bytes on, and cuts all connections when it is told to."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._target = (host, int(port))
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target, timeout=10)
            except OSError:
                return
            far.settimeout(None)
            with self._lock:
                self._sockets |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while piece := one.recv(65536):
                other.sendall(piece)
        except OSError:
            pass
        self._end(one)
        self._end(other)

    def _end(self, one: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(one)
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()

    def cut(self) -> None:
        with self._lock:
            all_of_them = list(self._sockets)
        for one in all_of_them:
            self._end(one)

    def stop(self) -> None:
        # Closing alone does not wake the thread that accepts.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()


class Breaking:
    """Takes each request, and answers all of them alike: with nothing, unless it is told."""

    def __init__(self, answer: bytes = b"") -> None:
        self.requests: list[bytes] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            with near:
                near.settimeout(10)
                self.requests.append(near.recv(65536))
                near.sendall(self._answer)

    def stop(self) -> None:
        # Closing alone does not wake the thread that accepts.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
