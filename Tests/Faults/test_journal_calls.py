"""What a journal asks of the system, in which order: nothing is told to be stored that was not synced. Both libraries do the
same."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CALLS = "openat,ftruncate,pwrite64,pwritev,pwritev2,fdatasync,fsync,rename,renameat,renameat2,flock,unlink,unlinkat,write"

# Each makes a client, and says how it stores a message.
CLIENTS = {
    "swiftmqtt": """
        from Support import smq
        client = smq.Client(url="mqtt://127.0.0.1:1", protocol=5, client_id="keeper", flags=smq.OPTION_KEEP_SESSION,
            outbox_messages=64, **options)
        send = lambda payload: client.publish("a", payload, qos=1)
        sync = lambda: smq.library.smq_sync(client.handle, 5000)
    """,
    "swiftstomp": """
        from Support import sst
        client = sst.Client(url="stomp://127.0.0.1:1", outbox_frames=64, **options)
        send = lambda body: client.send("a", body, flags=sst.SEND_STORE)
        sync = lambda: client.sync(5000)
    """,
}
BEGIN = """
    import os, sys
    sys.path.insert(0, sys.argv[1])
    options = dict(
        outbox_bytes=8192, journal_delay_ms=1, journal=sys.argv[2], journal_flags=int(sys.argv[3]), journal_bytes=int(sys.argv[4]))
"""
# Says on descriptor 1 what is stored, so that the trace has it between the calls.
SEND = """
    os.write(1, b"is open\\n")
    for number in range(5):
        for _ in range(3):
            assert send(bytes(10 * number)) == 0
        assert sync() == 1
        os.write(1, b"is stored\\n")
    client.close()
"""


@pytest.fixture(params=CLIENTS)
def program(request: pytest.FixtureRequest) -> str:
    return "".join(map(textwrap.dedent, (BEGIN, CLIENTS[request.param], SEND)))


def traced(program: str, path: Path, flags: int = 0, size: int = 262144, more: str = "") -> list[str]:
    """The calls that concern the journal, each a word, and what the program says."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    trace = path.with_suffix(".trace")
    code = [sys.executable, "-c", program, str(Path(__file__).parents[1]), str(path), str(flags), str(size)]
    command = ["strace", "-f", "-qq", "-y", "-e", "signal=none", "-e", f"trace={CALLS}{more}", "-o", str(trace), *code]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
    if "PTRACE" in done.stderr or "ptrace" in done.stderr:
        pytest.skip("nothing can be traced here")
    assert done.returncode == 0, done.stderr
    found, directory = [], re.escape(str(path.parent))
    # A call in the middle of which another thread made one has two lines.
    text = re.sub(r"^\d+ +", "", trace.read_text(), flags=re.M)
    for line in text.splitlines():
        if "<unfinished" in line:
            continue
        name = re.match(r"(?:<\.\.\. )?(\w+)", line)[1]
        if name == "write":
            if said := re.search(r'"(is \w+)', line):
                found.append(said[1])
        elif re.search(rf"<{directory}>", line):
            found.append(f"{name} directory")
        elif str(path) in line or (line.startswith("<...") and name in ("fdatasync", "fsync")):
            found.append(name)
    return [word for word in found if word not in ("openat", "openat directory")]


def test_a_new_file(program: str, tmp_path: Path):
    calls = traced(program, tmp_path / "journal", flags=2)
    creation = calls[: calls.index("is open")]
    # The pieces that the zeros are written in do not matter.
    assert [word for word in creation if not word.startswith("pwrite")] == ["flock", "ftruncate", "fsync", "rename", "fsync directory"]
    assert creation.index("fsync") == 2 + sum(word.startswith("pwrite") for word in creation)
    # A commit is one write and one sync.
    assert calls[len(creation) + 1 :] == ["pwrite64", "fdatasync", "is stored"] * 5


def test_a_thread_does_the_same(program: str, tmp_path: Path):
    calls = traced(program, tmp_path / "journal")
    rest = calls[calls.index("is open") + 1 :]
    assert [word for word in rest if word != "is stored"] == ["pwrite64", "fdatasync"] * 5
    for number in range(5):
        end = [at for at, word in enumerate(rest) if word == "is stored"][number]
        assert rest[:end].count("fdatasync") >= number + 1, rest


def test_a_file_of_an_earlier_process_and_another_size(program: str, tmp_path: Path):
    traced(program, tmp_path / "journal")
    calls = traced(program, tmp_path / "journal", flags=2)
    # What that process has written may have failed to become durable.
    assert calls[: calls.index("is open")] == ["flock", "fdatasync"]
    calls = traced(program, tmp_path / "journal", flags=2, size=524288)
    begin = [word for word in calls[: calls.index("is open")] if not word.startswith("pwrite")]
    assert begin == ["flock", "fdatasync", "flock", "ftruncate", "fsync", "rename", "fsync directory"]


def test_the_old_file_is_locked_until_the_new_one_has_its_name(program: str, tmp_path: Path):
    """Another process would take up the old one in between, and nobody would read what it stores there."""
    traced(program, tmp_path / "journal")
    calls = traced(program, tmp_path / "journal", flags=2, size=524288, more=",close")
    begin = calls[: calls.index("is open")]
    assert begin.count("close") == 1 and begin.index("rename") < begin.index("close")
