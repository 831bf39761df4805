"""MOSQUITTO_JOURNAL: a program written for libmosquitto, unchanged, whose messages survive the end of its process."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from Support import smq
from Support.journal import Journal
from Support.servers import free_port

# What each of these programs begins with.
BEGINNING = """
    import ctypes, itertools, os, sys, time
    from ctypes import byref, c_bool, c_char_p, c_int, c_void_p
    library = ctypes.CDLL(sys.argv[1], use_errno=True)
    library.mosquitto_new.restype = c_void_p
    port = int(sys.argv[2])
    library.mosquitto_lib_init()

    def new(id=b"board", clean=False):
        return c_void_p(library.mosquitto_new(id, c_bool(clean), None))

    def publish(client, topic, payload, qos):
        mid = c_int()
        result = library.mosquitto_publish(client, byref(mid), topic, len(payload), payload, qos, c_bool(False))
        return result, mid.value

    PUBLISHED = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int)
    LOGGED = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_char_p)
"""


class Programs:
    """Runs them on the drop-in, with a directory for journals."""

    def __init__(self, library: Path, directory: Path):
        self.library, self.directory = library, directory

    def start(self, port: int, code: str, **environment: str) -> subprocess.Popen:
        environment = {**os.environ, "MOSQUITTO_JOURNAL": str(self.directory), **environment}
        program = textwrap.dedent(BEGINNING) + textwrap.dedent(code)
        return subprocess.Popen(
            [sys.executable, "-c", program, str(self.library), str(port)], stdout=subprocess.PIPE, env=environment)

    def run(self, port: int, code: str, **environment: str) -> list[str]:
        process = self.start(port, code, **environment)
        said = process.communicate(timeout=60)[0].decode()
        assert process.returncode == 0, said
        return said.splitlines()

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir())


@pytest.fixture
def programs(our_path: Path, tmp_path: Path) -> Programs:
    (tmp_path / "journals").mkdir()
    return Programs(our_path, tmp_path / "journals")


OFFLINE = """
    client = new()
    print(library.mosquitto_connect(client, b"127.0.0.1", port, 60))
    for number in range(6):
        print(*publish(client, b"a", str(number).encode(), number % 3))
    for _ in range(5):
        library.mosquitto_loop_misc(client)
        time.sleep(0.01)
    library.mosquitto_destroy(client)
"""

# Sends one message more, and tells of which ones it hears.
ONLINE = """
    client = new()
    lines, mids = [], []
    logged = LOGGED(lambda m, u, level, text: lines.append(text.decode()))
    published = PUBLISHED(lambda m, u, mid: mids.append(mid))
    library.mosquitto_log_callback_set(client, logged)
    library.mosquitto_publish_callback_set(client, published)
    assert library.mosquitto_connect(client, b"127.0.0.1", port, 60) == 0
    result, own = publish(client, b"a", b"last", 2)
    end = time.monotonic() + 20
    while own not in mids and time.monotonic() < end:
        library.mosquitto_loop(client, 100, 1)
    print(own, *mids)
    print([line for line in lines if "journal" in line])
    library.mosquitto_disconnect(client)
    library.mosquitto_destroy(client)
"""


def test_messages_of_an_earlier_process(programs: Programs, start_mosquitto, clients):
    said = programs.run(free_port(), OFFLINE)
    # As always: there is no connection, and QoS 1 and 2 are sent on the next one.
    assert said[0] == str(14) and [line.split()[0] for line in said[1:]] == ["4"] * 6  # MOSQ_ERR_ERRNO, MOSQ_ERR_NO_CONN
    assert programs.files == ["board.journal"]
    found = Journal((programs.directory / "board.journal").read_bytes()).messages()
    assert [message.payload for message in found] == [b"1", b"2", b"4", b"5"]
    assert [message.identifier for message in found] == [0, 0, 0, 0]
    broker = start_mosquitto()
    listener = clients(url=broker.url)
    listener.connected()
    listener.subscribed("a", qos=2)
    own, *told = programs.run(broker.port, ONLINE)[0].split()
    # The ids of the others belong to no message of this program; its own comes behind them.
    assert told == [own] and int(own) == 7
    listener.until(lambda: len([e for e in listener.events if e.type == smq.EVENT_MESSAGE]) == 5)
    payloads = [e.payload for e in listener.events if e.type == smq.EVENT_MESSAGE]
    assert sorted(payloads) == [b"1", b"2", b"4", b"5", b"last"]
    assert [p for p in payloads if p in (b"1", b"4")] == [b"1", b"4"] and [p for p in payloads if p in (b"2", b"5")] == [b"2", b"5"]
    # Nothing is left.
    assert programs.run(broker.port, ONLINE)[1] == "[]"


def test_the_log_tells(programs: Programs, start_mosquitto):
    programs.run(free_port(), OFFLINE)
    said = programs.run(start_mosquitto().port, ONLINE)
    assert said[1] == "['Client board has 4 messages of an earlier process in its journal']"


KILLED = """
    client = new()
    library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    library.mosquitto_loop_start(client)
    for number in itertools.count(int(sys.argv[3])):
        while publish(client, b"a", str(number).encode(), 1 + number % 2)[0] not in (0, 4):
            time.sleep(0.005)
        os.write(1, b"%d %d\\n" % (number, time.monotonic_ns()))
        time.sleep(0.001)
"""


def test_killed(programs: Programs, start_mosquitto, clients):
    chance, begin, safe = random.Random(5), 1, set()
    broker = start_mosquitto()
    listener = clients(url=broker.url, receive_bytes=1 << 16)
    listener.connected()
    listener.subscribed("a", qos=2)
    for _ in range(int(os.environ.get("KILLS", "8"))):
        code = KILLED.replace("int(sys.argv[3])", str(begin))
        process = programs.start(broker.port, code)
        assert process.stdout.read(1)
        time.sleep(chance.uniform(0.2, 0.5))
        process.send_signal(signal.SIGKILL)
        killed = time.monotonic_ns()
        rest = process.stdout.read()
        process.wait()
        lines = [line.split() for line in (b"0" + rest[: rest.rfind(b"\n")]).splitlines()[1:]]
        # Within a tenth of a second the loop has written it.
        safe |= {int(number) for number, at in lines if killed - int(at) > 100_000_000}
        begin = max(int(number) for number, _ in lines) + 2
        listener.run(0.02)
    programs.run(broker.port, ONLINE)
    listener.wait_event(smq.EVENT_MESSAGE, payload=b"last")
    listener.run(0.1)
    numbers = [int(e.payload) for e in listener.events if e.type == smq.EVENT_MESSAGE and e.payload != b"last"]
    assert len(safe) > 100 and not safe - set(numbers), sorted(safe - set(numbers))[:9]
    twice = {number for number in numbers if number % 2 and numbers.count(number) > 1}
    assert not twice


CONNECTS = """
    for id in {ids!r}:
        client = new(id, clean={clean})
        ctypes.set_errno(0)
        result = library.mosquitto_connect(client, b"127.0.0.1", port, 60)
        print(result, ctypes.get_errno() if result else 0)
        if {holds}:
            time.sleep(60)
        library.mosquitto_destroy(client)
"""


def connects(programs: Programs, *ids: bytes, clean: bool = False, port: int | None = None, **environment: str) -> list[str]:
    code = CONNECTS.format(ids=list(ids), clean=clean, holds=False)
    return programs.run(port or free_port(), code, **environment)


def test_names(programs: Programs):
    connects(programs, b"a/b", b"../up", b"50%", "grün".encode(), b".")
    assert programs.files == sorted(
        f"{name}.journal" for name in ("a%2Fb", "%2E%2E%2Fup", "50%25", "gr%C3%BCn", "%2E"))


def test_none_without_a_session_an_id_or_the_variable(programs: Programs):
    connects(programs, b"clean", clean=True)
    connects(programs, None, clean=True)
    connects(programs, b"board", MOSQUITTO_JOURNAL="")
    assert programs.files == []


@pytest.mark.parametrize("what, number", [
    ("damaged", errno.EBADMSG), ("another", errno.EPERM), ("directory", errno.ENOENT), ("locked", errno.EWOULDBLOCK)])
def test_refused(programs: Programs, start_mosquitto, what: str, number: int):
    port = start_mosquitto().port
    assert connects(programs, b"board", b"other", port=port) == ["0 0"] * 2
    path, more, holder = programs.directory / "board.journal", {}, None
    if what == "damaged":
        path.write_bytes(bytes(path.stat().st_size))
    elif what == "another":
        (programs.directory / "other.journal").rename(path)
    elif what == "directory":
        more = {"MOSQUITTO_JOURNAL": str(programs.directory / "none")}
    else:
        holder = programs.start(port, CONNECTS.format(ids=[b"board"], clean=False, holds=True))
        end = time.monotonic() + 20
        while b"FLOCK" not in Path("/proc/locks").read_bytes() and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.3)
    before = path.read_bytes()
    assert connects(programs, b"board", port=port, **more) == [f"14 {number}"]  # MOSQ_ERR_ERRNO
    assert path.read_bytes() == before
    if holder:
        holder.kill()
        holder.communicate()
