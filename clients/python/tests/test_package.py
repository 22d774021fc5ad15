"""The package as its users get it: the wheel, the example, and the type checker."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from server import Server

CLIENT = Path(__file__).resolve().parents[1]
EXAMPLE = CLIENT / "../../examples/python/tea.py"
STEP_MAX_S = 200


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    kept = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PIP_DISABLE_PIP_VERSION_CHECK": "1", **env}
    words = list(map(str, command))
    done = subprocess.run(words, cwd=cwd, env=kept, capture_output=True, text=True, timeout=STEP_MAX_S)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_wheel_works_in_an_empty_folder(server: Server, tmp_path: Path) -> None:
    wheels = os.environ["THREADKEEP_WHEELS"]
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, CLIENT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--no-index", "--find-links", wheels, wheel, "mypy", cwd=tmp_path)
    (tmp_path / "tea.py").write_text(EXAMPLE.read_text())
    assert "Success" in run(python, "-m", "mypy", "--strict", "tea.py", cwd=tmp_path)
    told = run(python, "tea.py", cwd=tmp_path, THREADKEEP_SERVER=server.url, THREADKEEP_KEY=server.key)
    assert told.splitlines()[:3] == ["user Which tea in the evening?", "assistant Lemon balm.", "# Buy lemon balm"]
    wrong = "from threadkeep import Threadkeep\nThreadkeep().threads.fork('T', message_index='0')\n"
    (tmp_path / "wrong.py").write_text(wrong)
    check = [str(python), "-m", "mypy", "--strict", "wrong.py"]
    refused = subprocess.run(check, cwd=tmp_path, capture_output=True, timeout=STEP_MAX_S)
    assert refused.returncode == 1 and b"call-overload" in refused.stdout


def test_the_example_is_short_and_finds_the_server_of_its_folder(server: Server, tmp_path: Path) -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 40
    told = run(sys.executable, EXAMPLE, cwd=tmp_path, THREADKEEP_DATA=server.folder, PYTHONPATH=str(CLIENT / "src"))
    assert "message_appended" in told


def test_what_is_written_by_hand_stays_small() -> None:
    by_hand = [*(CLIENT / "src/threadkeep").glob("*.py"), *(CLIENT / "src/threadkeep/aio").glob("*.py")]
    assert sum(len(path.read_text().splitlines()) for path in by_hand) <= 1600
