"""Autobahn's fuzzing server: 247 cases of RFC 6455 that a WebSocket client goes through, one connection each.

    with Autobahn(directory) as server:
        server.get("/getCaseCount"), f"ws://127.0.0.1:{server.port}/runCase?case=1&agent=smq", …
        server.get("/updateReports?agent=smq"); server.results("smq")

pytest does not find this file by its name; named, it shows that the server works. It is a program for CPython 2.7 alone (autobahntestsuite 0.8.2; 25.10.1, for Python 3, does not import). Where that Python or
PyPI is not at hand, `python()` and `packages()` skip and say so. A client answers with the bytes and the opcode that came, so
it has to let text through in these cases, whatever MQTT says of it.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from Support.servers import Server
from Support.waiting import PATIENCE

# A later wsaccel first builds a Cython of its own.
PACKAGES = ["autobahntestsuite==0.8.2", "wsaccel==0.6.2"]
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "autobahn"
# 9 are measurements, 12 and 13 of permessage-deflate, which the client does not ask for.
EXCLUDED = ["9.*", "12.*", "13.*"]
GOOD = ("OK", "NON-STRICT", "INFORMATIONAL")


def python() -> str:
    """A CPython 2.7 with pip."""
    candidates = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/2.7*/bin/python2.7")))
    candidates += [path for name in ("python2.7", "python2", "pypy") if (path := shutil.which(name))]
    for path in candidates:
        # A shim of pyenv is there even where no version is chosen.
        done = subprocess.run([path, "-c", "import sys, pip; print(sys.version_info[:2])"], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == "(2, 7)":
            return path
    pytest.skip("Autobahn's server needs a Python 2.7 with pip, and there is none (python2.7 on PATH, ~/.pyenv, pypy)")


def packages(interpreter: str) -> Path:
    """The folder into which they are installed, once for this tree."""
    done = FOLDER / "done"
    if not done.exists():
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        command = [interpreter, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-t", str(FOLDER), *PACKAGES]
        try:
            installed = subprocess.run(command, capture_output=True, text=True, timeout=500)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{PACKAGES[0]} could not be installed from PyPI within 500 s")
        if installed.returncode:
            pytest.skip(f"{PACKAGES[0]} cannot be installed from PyPI: {installed.stderr[-300:]}")
        (FOLDER / "zope" / "__init__.py").touch()  # else zope.interface is not found
        done.touch()
    return FOLDER


class Autobahn(Server):
    def __init__(self, directory: Path, cases: list[str] | None = None):
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory)
        self.interpreter = python()
        self.packages = packages(self.interpreter)
        self.settings = directory / "settings.json"
        self.settings.write_text(
            json.dumps(
                {
                    "url": f"ws://{self.host}:{self.port}",
                    "outdir": str(directory / "out"),
                    "cases": cases or ["*"],
                    "exclude-cases": EXCLUDED,
                    "exclude-agent-cases": {},
                    "options": {"failByDrop": False},
                }
            )
        )

    def launch(self) -> subprocess.Popen:
        program = (
            "import sys; sys.argv = ['wstest', '-m', 'fuzzingserver', '-s', 'settings.json']; "
            "from autobahntestsuite.wstest import run; run()"
        )
        return self.run([self.interpreter, "-c", program], {"PYTHONPATH": str(self.packages)})

    def get(self, path: str) -> bytes:
        """What the server says, by a frame of text, to who opens this path; nothing if it only closes."""
        with socket.create_connection((self.host, self.port), timeout=PATIENCE) as connection:
            connection.sendall(
                f"GET {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
            )
            with connection.makefile("rb") as stream:
                assert b" 101 " in stream.readline()
                while stream.readline() != b"\r\n":
                    pass
                first, size = stream.read(2)
                return stream.read(size) if first == 0x81 else b""

    def results(self, agent: str) -> dict[str, dict[str, str]]:
        """By case: `behavior` and `behaviorClose`, each one of GOOD, FAILED, WRONG CODE, UNCLEAN or UNIMPLEMENTED. The client
        has asked for /updateReports before."""
        return json.loads((self.directory / "out" / "index.json").read_text())[agent]


@pytest.fixture
def autobahn(tmp_path: Path):
    with Autobahn(tmp_path) as server:
        yield server


def test_it_has_its_cases_and_reports_on_a_client_that_does_nothing(autobahn):
    assert autobahn.get("/getCaseCount") == b"247"
    assert autobahn.get("/runCase?case=1&agent=nobody") is not None
    autobahn.get("/updateReports?agent=nobody")
    assert autobahn.results("nobody")["1.1.1"]["behavior"] not in GOOD
