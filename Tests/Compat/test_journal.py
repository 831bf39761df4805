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
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from Support import smq
from Support.journal import Journal
from Support.servers import free_port
from Support.waiting import wait_for

# What each of these programs begins with.
BEGINNING = """
    import ctypes, itertools, os, select, sys, threading, time
    from ctypes import byref, c_bool, c_char_p, c_int, c_void_p
    library = ctypes.CDLL(sys.argv[1], use_errno=True)
    library.mosquitto_new.restype = c_void_p
    library.mosquitto_want_write.restype = c_bool
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

    def turn(client, longest):  # of a loop of the program's own
        socket, writes = library.mosquitto_socket(client), library.mosquitto_want_write(client)
        if socket < 0:
            time.sleep(0.01)
            library.mosquitto_reconnect(client)
        else:
            readable, writable, _ = select.select([socket], [socket] if writes else [], [], longest)
            if readable:
                library.mosquitto_loop_read(client, 1)
            if writable:
                library.mosquitto_loop_write(client, 1)
        library.mosquitto_loop_misc(client)
"""


class Programs:
    """Runs them on the drop-in, with a directory for journals."""

    def __init__(self, library: Path, directory: Path):
        self.library, self.directory, self.started = library, directory, []

    def start(self, port: int, code: str, *more: str, stdin: int | None = None, **environment: str) -> subprocess.Popen:
        environment = {**os.environ, "MOSQUITTO_JOURNAL": str(self.directory), **environment}
        program = textwrap.dedent(BEGINNING) + textwrap.dedent(code)
        self.started.append(subprocess.Popen(
            [sys.executable, "-c", program, str(self.library), str(port), *more], stdin=stdin, stdout=subprocess.PIPE,
            env=environment))
        return self.started[-1]

    def run(self, port: int, code: str, **environment: str) -> list[str]:
        process = self.start(port, code, **environment)
        said = process.communicate(timeout=60)[0].decode()
        assert process.returncode == 0, said
        return said.splitlines()

    def waiting(self, id: str = "board") -> list[bytes]:
        """The payloads that a process which began now would find."""
        path = self.directory / f"{id}.journal"
        if not path.exists():
            return []
        return [message.payload for message in Journal(path.read_bytes(), may_be_torn=True).waiting()]

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir())


@pytest.fixture
def programs(our_path: Path, tmp_path: Path) -> Iterator[Programs]:
    (tmp_path / "journals").mkdir()
    programs = Programs(our_path, tmp_path / "journals")
    yield programs
    for process in programs.started:
        process.kill()
        process.wait()


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
    # The ids of the others belong to no message of this program; its own comes behind them. No server knows ids of the
    # others, so they have new ones.
    assert told == [own] and int(own) == 5
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


# Loops that the program is killed in. None waits longer than a tenth of a second for anything but the disk.
LOOPS = {
    "thread": "library.mosquitto_loop_start(client)",
    "own": "threading.Thread(target=lambda: [turn(client, 0.01) for _ in itertools.count()], daemon=True).start()",
    "offline": "library.mosquitto_loop_start(client)",
}

KILLED = """
    client = new()
    library.mosquitto_threaded_set(client, c_bool(True))
    library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    library.mosquitto_threaded_set(client, c_bool(False))
    {loop}
    for number in itertools.count({begin}):
        while publish(client, b"a", str(number).encode(), 1 + number % 2)[0] not in (0, 4):
            time.sleep(0.005)
        os.write(1, b"%d\\n" % number)
        time.sleep(0.001)
"""


@pytest.mark.parametrize("loop", LOOPS)
def test_killed(programs: Programs, start_mosquitto, clients, loop: str):
    """What is in the file comes, with all that was published before it, and nothing of QoS 2 twice. That a loop writes soon
    is what the tests below see."""
    chance, begin, safe, dead, lasts = random.Random(loop), 1, set(), free_port(), 1
    broker = start_mosquitto()
    listener = clients(url=broker.url, receive_bytes=1 << 16)
    listener.connected()
    listener.subscribed("a", qos=2)
    for round in range(int(os.environ.get("KILLS", "15"))):
        code = KILLED.format(loop=LOOPS[loop], begin=begin)
        process = programs.start(dead if loop == "offline" else broker.port, code)
        assert process.stdout.read(1)
        time.sleep(chance.uniform(0.15, 0.4))
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
        process.wait()
        numbers = list(map(int, (b"0" + rest[: rest.rfind(b"\n")]).splitlines()[1:]))
        last = max((int(payload) for payload in programs.waiting() if payload != b"last"), default=0)
        safe |= {number for number in numbers if number <= last}
        begin = max(numbers, default=begin) + 2
        listener.run(0.02)
        if loop == "offline" and round % 10 == 9:  # before the outbox is full
            programs.run(broker.port, ONLINE)
            lasts += 1
    programs.run(broker.port, ONLINE)
    listener.until(lambda: payloads(listener).count(b"last") == lasts)
    listener.run(0.1)
    numbers = [int(payload) for payload in payloads(listener) if payload != b"last"]
    assert len(safe) > 100 and not safe - set(numbers), sorted(safe - set(numbers))[:9]
    twice = {number for number, count in Counter(numbers).items() if number % 2 and count > 1}
    assert not twice


# Each goes on until it is killed, and the test sees in the file that it has written what it published.
WITHOUT_CONNECTION = {
    "loop": "while True: library.mosquitto_loop(client, 100, 1); time.sleep(0.001)",
    "loop_misc": "while True: library.mosquitto_loop_misc(client); time.sleep(0.001)",
    "reconnect": "while True: library.mosquitto_reconnect(client); time.sleep(0.001)",
    "disconnect": "library.mosquitto_disconnect(client); time.sleep(100)",
    "loop_forever": "library.mosquitto_loop_forever(client, -1, 1)",
}


@pytest.mark.parametrize("loop", WITHOUT_CONNECTION)
def test_a_loop_writes_without_a_connection(programs: Programs, loop: str):
    process = programs.start(free_port(), f"""
    client = new()
    library.mosquitto_reconnect_delay_set(client, 3600, 3600, c_bool(False))
    library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    library.mosquitto_loop(client, 0, 1)
    print(*publish(client, b"a", b"1", 1), flush=True)
    {WITHOUT_CONNECTION[loop]}
    """)
    try:
        assert process.stdout.readline() == b"4 1\n"  # MOSQ_ERR_NO_CONN
        wait_for(lambda: programs.waiting() == [b"1"], timeout=20)
    finally:
        process.kill()
        process.communicate()


def test_a_thread_that_waits_for_its_next_attempt_writes(programs: Programs):
    process = programs.start(free_port(), """
    client = new()
    library.mosquitto_reconnect_delay_set(client, 3600, 3600, c_bool(False))
    library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    library.mosquitto_loop_start(client)
    for number in itertools.count():
        publish(client, b"a", b"%d" % number, 1)
        print(flush=True)
        sys.stdin.readline()
    """, stdin=subprocess.PIPE)
    try:
        for number in range(3):
            process.stdout.readline()
            wait_for(lambda: len(programs.waiting()) == number + 1, timeout=20)
            process.stdin.write(b"\n")
            process.stdin.flush()
    finally:
        process.kill()
        process.communicate()


def test_a_thread_is_told_while_the_broker_is_silent(programs: Programs, start_mosquitto):
    """Neither an acknowledgement nor anything else wakes the thread, which waits for Keep Alive."""
    broker = start_mosquitto()
    process = programs.start(broker.port, """
    client = new()
    connected = []
    function = PUBLISHED(lambda m, u, code: connected.append(code))
    library.mosquitto_connect_callback_set(client, function)
    library.mosquitto_connect(client, b"127.0.0.1", port, 0)
    library.mosquitto_loop_start(client)
    while not connected:
        time.sleep(0.01)
    print(flush=True)
    sys.stdin.readline()
    publish(client, b"a", b"1", 1)
    # A disk that has much else to do takes more than a tenth of a second, and the thread waits longer than this.
    time.sleep(3)
    os._exit(0)
    """, stdin=subprocess.PIPE)
    process.stdout.readline()
    broker.process.send_signal(signal.SIGSTOP)
    try:
        process.communicate(b"\n", timeout=20)
        assert programs.waiting() == [b"1"]
    finally:
        broker.process.send_signal(signal.SIGCONT)


ONE_BY_ONE = """
    client, seen, calls = new(), [], 0
    published = PUBLISHED(lambda m, u, mid: seen.append(mid))
    library.mosquitto_publish_callback_set(client, published)
    assert library.mosquitto_connect(client, b"127.0.0.1", port, 60) == 0
    {begin}
    start = time.monotonic()
    for number in range(8):
        publish(client, b"a", b"1", 2)
        while len(seen) == number:
            {turn}
            calls += 1
    print(int(time.monotonic() - start), calls)
    library.mosquitto_destroy(client)
"""


@pytest.mark.parametrize("begin, turn, most", [
    ("library.mosquitto_loop_start(client)", "time.sleep(0.001)", 1e9),
    ("", "turn(client, 3)", 160),
    ("", "library.mosquitto_loop(client, 1000, 1)", 160),
], ids=["thread", "own", "loop"])
def test_a_message_of_qos_2_waits_for_the_journal_and_nothing_else(
        programs: Programs, start_mosquitto, begin: str, turn: str, most: float):
    """And no loop goes round and round meanwhile."""
    code = ONE_BY_ONE.format(begin=begin, turn=turn)
    seconds, calls = programs.run(start_mosquitto().port, code)[0].split()
    assert int(seconds) < 5 and int(calls) < most


def payloads(listener) -> list[bytes]:
    return [event.payload for event in listener.events if event.type == smq.EVENT_MESSAGE]


def test_published_before_the_first_connection(programs: Programs, start_mosquitto, clients):
    """The program was told ids that messages of an earlier process have: it hears of its own, with these."""
    programs.run(free_port(), OFFLINE)
    broker = start_mosquitto()
    listener = clients(url=broker.url)
    listener.connected()
    listener.subscribed("a", qos=2)
    said = programs.run(broker.port, """
    client, seen = new(), []
    published = PUBLISHED(lambda m, u, mid: seen.append(mid))
    library.mosquitto_publish_callback_set(client, published)
    told = [publish(client, b"a", b"early%d" % number, 1 + number % 2) for number in range(5)]
    assert library.mosquitto_connect(client, b"127.0.0.1", port, 60) == 0
    told += [publish(client, b"a", b"late%d" % number, 1 + number % 2) for number in range(5)]
    end = time.monotonic() + 20
    while len(seen) < 10 and time.monotonic() < end:
        library.mosquitto_loop(client, 100, 1)
    print(*(mid for _, mid in told))
    print(*sorted(seen))
    library.mosquitto_disconnect(client)
    library.mosquitto_destroy(client)
    """)
    told = [int(mid) for mid in said[0].split()]
    assert told[:5] == [1, 2, 3, 4, 5] and len(set(told)) == 10
    assert [int(mid) for mid in said[1].split()] == sorted(told)
    wanted = [b"1", b"2", b"4", b"5", *(b"%s%d" % (word, number) for word in (b"early", b"late") for number in range(5))]
    listener.until(lambda: len(payloads(listener)) >= len(wanted))
    assert sorted(payloads(listener)) == sorted(wanted)
    assert programs.waiting() == []


def test_published_before_a_first_connection_that_fails(programs: Programs):
    """The call that fails has made the client, so what waited for it is written, and what comes behind that."""
    process = programs.start(free_port(), """
    client = new()
    library.mosquitto_reconnect_delay_set(client, 3600, 3600, c_bool(False))
    publish(client, b"a", b"1", 1)
    print(library.mosquitto_connect(client, b"127.0.0.1", port, 60), publish(client, b"a", b"2", 2)[0], flush=True)
    library.mosquitto_loop_forever(client, -1, 1)
    """)
    assert process.stdout.readline() == b"14 4\n"
    wait_for(lambda: programs.waiting() == [b"1", b"2"], timeout=20)


def test_another_version_sends_nothing_again(programs: Programs, start_mosquitto, clients):
    """The client is made anew, and takes up its own journal: it says that what was acknowledged has ended."""
    broker = start_mosquitto()
    listener = clients(url=broker.url)
    listener.connected()
    listener.subscribed("a", qos=2)
    said = programs.run(broker.port, """
    client, seen = new(), []
    published = PUBLISHED(lambda m, u, mid: seen.append(mid))
    library.mosquitto_publish_callback_set(client, published)
    library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    for version in 5, 4, 5:
        publish(client, b"a", b"stored", 1)
        time.sleep(0.05)  # it is written before it is sent
        while not seen:
            library.mosquitto_loop(client, 100, 1)
        seen.clear()
        library.mosquitto_disconnect(client)
        library.mosquitto_int_option(client, 1, version)
        assert library.mosquitto_connect(client, b"127.0.0.1", port, 60) == 0
    library.mosquitto_destroy(client)
    """)
    assert said == [] and programs.waiting() == []
    programs.run(broker.port, ONLINE)
    listener.until(lambda: b"last" in payloads(listener))
    assert payloads(listener) == [b"stored"] * 3 + [b"last"]


def test_ids_near_the_end_of_their_range(programs: Programs, start_mosquitto, clients):
    """Those that the program was told are not told again, although the earlier ones end where the count comes round."""
    broker = start_mosquitto()
    listener = clients(url=broker.url)
    listener.connected()
    listener.subscribed("a", qos=2)
    process = programs.start(broker.port, """
    client, connected = new(), []
    for number in range(65_528):
        publish(client, b"a", b"0", 0)  # there is no connection: each takes an id, and nothing else
    function = PUBLISHED(lambda m, u, code: connected.append(code))
    library.mosquitto_connect_callback_set(client, function)
    library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    library.mosquitto_loop_start(client)
    while not connected:
        time.sleep(0.01)
    print(flush=True)
    sys.stdin.readline()
    print([publish(client, b"a", b"old%d" % number, 2)[1] for number in range(2)], flush=True)
    sys.stdin.readline()
    """, stdin=subprocess.PIPE)
    process.stdout.readline()
    # The server falls silent, so that the messages keep their ids.
    broker.process.send_signal(signal.SIGSTOP)
    try:
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"[65529, 65530]\n"
        wait_for(lambda: programs.waiting() == [b"old0", b"old1"], timeout=20)
        process.kill()
        process.communicate()
    finally:
        broker.process.send_signal(signal.SIGCONT)
    said = programs.run(broker.port, """
    client, seen = new(), []
    published = PUBLISHED(lambda m, u, mid: seen.append(mid))
    library.mosquitto_publish_callback_set(client, published)
    told = [publish(client, b"a", b"early%d" % number, 2) for number in range(3)]
    assert library.mosquitto_connect(client, b"127.0.0.1", port, 60) == 0
    told += [publish(client, b"a", b"late%d" % number, 2) for number in range(9)]
    end = time.monotonic() + 20
    while len(seen) < 12 and time.monotonic() < end:
        library.mosquitto_loop(client, 100, 1)
    print(*(mid for _, mid in told))
    print(*sorted(seen))
    library.mosquitto_destroy(client)
    """)
    told = [int(mid) for mid in said[0].split()]
    assert told[:3] == [1, 2, 3] and len(set(told)) == 12 and [int(mid) for mid in said[1].split()] == sorted(told)
    listener.until(lambda: len(payloads(listener)) >= 14)
    assert len(set(payloads(listener))) == len(payloads(listener)) == 14
    # The server may have seen those of the earlier process: they came again with their identifiers.
    log = broker.log.read_text()
    assert all(f"Received PUBLISH from board (d1, q2, r0, m{mid}, 'a'" in log for mid in (65529, 65530))


def test_a_journal_of_our_own_api(programs: Programs, start_mosquitto, clients):
    """Its cookies are the program's, and say nothing of Packet Identifiers."""
    path = str(programs.directory / "board.journal")
    other = clients(url=f"mqtt://127.0.0.1:{free_port()}", client_id="board", flags=smq.OPTION_KEEP_SESSION, journal=path)
    for number in range(4):
        other.publish("a", b"%d" % number, qos=1 + number % 2, cookie=0xFFFF_FFFF_0000_0000 * (number % 2))
    assert smq.library.smq_sync(other.handle, 10_000) == 1
    other.close()
    broker = start_mosquitto()
    listener = clients(url=broker.url)
    listener.connected()
    listener.subscribed("a", qos=2)
    own, *told = programs.run(broker.port, ONLINE)[0].split()
    assert told == [own]
    listener.until(lambda: len(payloads(listener)) >= 5)
    assert sorted(payloads(listener)) == [b"0", b"1", b"2", b"3", b"last"] and programs.waiting() == []


def test_too_large(programs: Programs):
    """259,034 bytes with topic and all fit into a commit; nothing is taken that would be dropped later."""
    said = programs.run(free_port(), """
    client = new()
    for _ in range(2):
        print(publish(client, b"a", b"x" * 259_100, 1)[0], publish(client, b"a", b"x" * 259_000, 1)[0])
        library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    library.mosquitto_destroy(client)
    """)
    assert said == ["25 4", "25 4"]  # MOSQ_ERR_OVERSIZE_PACKET, MOSQ_ERR_NO_CONN
    assert [len(payload) for payload in programs.waiting()] == [259_000] * 2


def test_options_that_change_meanwhile(programs: Programs):
    """CONNECT says something else next time. That is no reason to keep a message in memory alone."""
    said = programs.run(free_port(), """
    client = new()
    library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    library.mosquitto_username_pw_set(client, b"user", b"password")
    print(*publish(client, b"a", b"1", 1))
    library.mosquitto_int_option(client, 1, 5)  # another version: it waits for another client
    print(*publish(client, b"a", b"2", 1))
    library.mosquitto_destroy(client)
    """)
    assert said == ["4 1", "4 2"] and programs.waiting() == [b"1", b"2"]


def test_published_behind_disconnect(programs: Programs, start_mosquitto):
    broker = start_mosquitto()
    process = programs.start(broker.port, """
    client, connected = new(), []
    function = PUBLISHED(lambda m, u, code: connected.append(code))
    library.mosquitto_connect_callback_set(client, function)
    library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    library.mosquitto_loop_start(client)
    while not connected:
        time.sleep(0.01)
    print(flush=True)
    sys.stdin.readline()
    publish(client, b"a", b"1", 1)
    print(library.mosquitto_disconnect(client), *publish(client, b"a", b"2", 1))
    library.mosquitto_loop_stop(client, c_bool(True))
    library.mosquitto_destroy(client)
    """, stdin=subprocess.PIPE)
    process.stdout.readline()
    broker.process.send_signal(signal.SIGSTOP)
    try:
        assert process.communicate(b"\n", timeout=30)[0] == b"0 4 2\n"
    finally:
        broker.process.send_signal(signal.SIGCONT)
    assert programs.waiting() == [b"1", b"2"]


def test_a_disk_that_fails(programs: Programs):
    said = programs.run(free_port(), """
    client, lines = new(), []
    logged = LOGGED(lambda m, u, level, text: lines.append((level, text.decode())))
    library.mosquitto_log_callback_set(client, logged)
    library.mosquitto_connect(client, b"127.0.0.1", port, 60)
    fd = next(int(fd) for fd in os.listdir("/proc/self/fd") if os.readlink(f"/proc/self/fd/{fd}").endswith(".journal"))
    saved, full = os.dup(fd), os.open("/dev/full", os.O_RDWR)

    def until(count):
        end = time.monotonic() + 20
        while len([line for line in lines if "journal" in line[1]]) < count and time.monotonic() < end:
            library.mosquitto_loop(client, 10, 1)
            time.sleep(0.001)

    os.dup2(full, fd)
    publish(client, b"a", b"1", 1)
    until(1)
    publish(client, b"a", b"2", 1)
    for _ in range(500):
        library.mosquitto_loop(client, 10, 1)
        time.sleep(0.001)
    os.dup2(saved, fd)
    until(2)
    print([line for line in lines if "journal" in line[1]])
    library.mosquitto_destroy(client)
    """)
    assert said == [str([(4, f"Client board cannot write its journal: {os.strerror(errno.ENOSPC)}"),
                         (2, "Client board has everything in its journal again")])]  # MOSQ_LOG_WARNING, _NOTICE
    assert programs.waiting() == [b"1", b"2"]


def test_two_processes_and_two_ids(programs: Programs, start_mosquitto):
    port = start_mosquitto().port
    code = """
    client = new(b"{id}")
    assert library.mosquitto_connect(client, b"127.0.0.1", port, 60) == 0
    print(flush=True)
    sys.stdin.readline()
    publish(client, b"a", b"{id}", 2)
    library.mosquitto_destroy(client)
    """
    processes = [programs.start(port, code.format(id=id), stdin=subprocess.PIPE) for id in ("one", "two")]
    for process in processes:
        assert process.stdout.readline()
    for process in processes:
        process.communicate(b"\n", timeout=20)
    assert programs.files == ["one.journal", "two.journal"]
    assert programs.waiting("one") == [b"one"] and programs.waiting("two") == [b"two"]


CONNECTS = """
    for id in {ids!r}:
        client = new(id, clean={clean})
        ctypes.set_errno(0)
        result = library.mosquitto_connect(client, b"127.0.0.1", port, 60)
        print(result, ctypes.get_errno() if result else 0, flush=True)
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


REFUSED = """
    client, lines = new({id!r}), []
    logged = LOGGED(lambda m, u, level, text: lines.append((level, text.decode())))
    library.mosquitto_log_callback_set(client, logged)
    if {less}:
        os.setresuid(65534, 65534, 65534)
    for connect in library.mosquitto_connect, library.mosquitto_connect_async:
        ctypes.set_errno(0)
        print(connect(client, b"127.0.0.1", port, 60), ctypes.get_errno(), publish(client, b"a", b"1", 1)[0])
    ctypes.set_errno(0)
    print(library.mosquitto_reconnect(client), ctypes.get_errno())
    print(*(line for line in lines if "journal" in line[1]), sep="\\n")
    library.mosquitto_destroy(client)
"""


@pytest.mark.parametrize("what, number, words", [
    ("damaged", errno.EBADMSG, "it is damaged, or no journal"),
    ("another", errno.EPERM, "it belongs to another client id, or a newer library has written it"),
    ("full", errno.EFBIG, "it has more than this client has room for (MOSQUITTO_OUTBOX_BYTES, _MESSAGES)"),
    ("directory", errno.ENOENT, os.strerror(errno.ENOENT)),
    ("name", errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG)),
    ("path", errno.ENAMETOOLONG, "its path would be too long"),
    ("rights", errno.EACCES, os.strerror(errno.EACCES)),
    ("locked", errno.EWOULDBLOCK, "another process, or another client, has it open")])
def test_refused(programs: Programs, start_mosquitto, what: str, number: int, words: str):
    port, id = start_mosquitto().port, b"board"
    assert connects(programs, b"board", b"other", port=port) == ["0 0"] * 2
    path, more, holder, less = programs.directory / "board.journal", {}, None, False
    if what == "damaged":
        path.write_bytes(bytes(path.stat().st_size))
    elif what == "another":
        (programs.directory / "other.journal").rename(path)
    elif what == "full":
        programs.run(free_port(), OFFLINE)
        more = {"MOSQUITTO_OUTBOX_MESSAGES": "3"}
    elif what == "directory":
        more = {"MOSQUITTO_JOURNAL": str(programs.directory / "none")}
    elif what in ("name", "path"):
        id = b"i" * (300 if what == "name" else 1000)
    elif what == "rights":
        if os.geteuid():
            programs.directory.chmod(0o500)
        else:  # it may do anything in any directory
            less, id = True, b"new"
            for directory in (programs.directory, *programs.directory.parents[:3]):
                directory.chmod(0o755)
    else:
        holder = programs.start(port, CONNECTS.format(ids=[b"board"], clean=False, holds=True))
        assert holder.stdout.readline() == b"0 0\n"
    before = path.read_bytes()
    said = programs.run(port, REFUSED.format(id=id, less=less), **more)
    # MOSQ_ERR_ERRNO; MOSQ_ERR_NO_CONN, because the message waits for a connection.
    assert said[:3] == [f"14 {number} 4"] * 2 + [f"14 {number}"]
    assert len(said) == 6 and all(f"cannot use its journal: {words}: " in line for line in said[3:])
    assert all(line.startswith("(8, ") for line in said[3:])  # MOSQ_LOG_ERR
    assert path.read_bytes() == before
    if holder:
        holder.kill()
        holder.communicate()


HOSTILE = """
    import pathlib, random
    sys.path.insert(0, sys.argv[3])
    from Support.hostile import mutated
    path = pathlib.Path(os.environ["MOSQUITTO_JOURNAL"]) / "board.journal"
    whole, found = path.read_bytes(), {}
    for seed in range(int(sys.argv[4])):
        print(seed, flush=True)
        path.write_bytes(mutated(whole, random.Random(seed)))
        client = new()
        result = library.mosquitto_connect(client, b"127.0.0.1", port, 60)
        number = ctypes.get_errno() if result else 0
        found[number] = found.get(number, 0) + 1
        publish(client, b"a", b"new", 2)
        for _ in range(4 if result == 0 else 0):
            library.mosquitto_loop(client, 10, 1)
        library.mosquitto_destroy(client)
    print(found)
"""


def test_hostile_content(programs: Programs, start_mosquitto):
    """A file whose checksums are right and whose content no library wrote: it is taken up or refused, and nothing stops."""
    programs.run(free_port(), """
    for round in range(2):
        client = new()
        library.mosquitto_connect(client, b"127.0.0.1", port, 60)
        for number in range(10):
            publish(client, b"a", b"x" * 10 ** (number % 4), 1 + number % 2)
        library.mosquitto_destroy(client)
    """, MOSQUITTO_OUTBOX_BYTES="32768", MOSQUITTO_OUTBOX_MESSAGES="64")
    count = os.environ.get("HOSTILE", "300")
    process = programs.start(start_mosquitto().port, HOSTILE, str(Path(__file__).parents[1]), count,
                             MOSQUITTO_OUTBOX_BYTES="32768", MOSQUITTO_OUTBOX_MESSAGES="64")
    said = process.communicate(timeout=100 + int(count))[0].decode().splitlines()
    assert process.returncode == 0, said[-1]
    found = eval(said[-1])
    assert set(found) <= {0, errno.EBADMSG, errno.EPERM, errno.EFBIG} and found[0] >= int(count) / 100, found


def test_no_journal_for_a_session_that_ends_with_the_connection(programs: Programs, start_mosquitto):
    """5.0: Session Expiry Interval 0. With another one there is a journal, and it stays when the program asks for 0 later."""
    said = programs.run(start_mosquitto().port, """
    connect = library.mosquitto_connect_bind_v5
    connect.argtypes = [c_void_p, c_char_p, c_int, c_int, c_char_p, c_void_p]

    def connected(client, interval):
        properties = c_void_p()
        assert library.mosquitto_property_add_int32(byref(properties), 17, interval) == 0
        return connect(client, b"127.0.0.1", port, 60, None, properties)

    one, two = new(b"one"), new(b"two")
    for client in one, two:
        library.mosquitto_int_option(client, 1, 5)
    print(connected(one, 0), connected(two, 600), publish(two, b"a", b"1", 1)[0], connected(two, 0))
    library.mosquitto_destroy(one)
    library.mosquitto_destroy(two)
    """)
    assert said == ["0 0 0 0"] and programs.files == ["two.journal"]
