"""The inspection socket: programs of this machine read what goes over a client's connections, and hold up nothing."""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import stat
import time
from pathlib import Path

import pytest

from Support import smq
from Support.inspection import Reader
from Support.preloaded import preloaded

PUBLISH = 3


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "client.sock")


@pytest.fixture
def readers():
    """Makes programs that read, and closes them."""
    made: list[Reader] = []

    def make(path: str) -> Reader:
        made.append(Reader(path))
        return made[-1]

    yield make
    for reader in made:
        reader.close()


def is_greeted(reader: Reader) -> bool:
    return bool(reader.names)


def test_what_an_observer_is_told_is_what_a_program_reads(mosquitto, clients, readers, path, version):
    client = clients(url=mosquitto.url, inspect=path, user_name="u", password="secret", references=4, **version)
    told, _ = client.observe()
    reader = readers(path)
    client.until(reader.has(is_greeted))
    assert reader.names == [client.id.decode()]
    client.connected()
    client.subscribed("inspected/#", qos=2)
    lent = (ctypes.c_char * 3000)(*[b"l"] * 3000)
    for qos in (0, 1, 2):
        client.publish("inspected/plain", b"payload", qos=qos)
        client.lend("inspected/lent", lent, qos=qos)
    client.receive(6)
    client.leave()
    client.until(reader.has(lambda reader: len(reader.packets) >= len(told)))
    assert [(packet.sent, packet.length, packet.data) for packet in reader.packets] == [
        (packet.sent, packet.length, packet.data) for packet in told
    ]
    assert all(packet.comment.startswith("outbox ") for packet in reader.packets)
    assert b"secret" not in reader.packets[0].data and b"******" in reader.packets[0].data
    times = [packet.microseconds for packet in reader.packets]
    assert times == sorted(times)
    assert reader.lost == 0


def test_the_statistics_have_the_names_and_values_of_smq_stats(mosquitto, clients, readers, path):
    client = clients(url=mosquitto.url, inspect=path, urgent_messages=4, submit_messages=4)
    reader = readers(path)
    client.connected()
    for number in range(10):
        client.publish("inspected", b"%d" % number, qos=1)
    client.until(lambda: client.stats.messages_completed == 10)
    client.take()
    while client.take():
        pass
    client.until(reader.ask())
    stats = client.stats
    fields = {name for name, _ in smq.Stats._fields_} - {"size", "reserved", "latency", "round_trip"}
    assert set(reader.numbers) == fields | {"state", "protocol"}
    # What the answer itself makes is no packet.
    assert {name: reader.numbers[name] for name in fields} == {name: getattr(stats, name) for name in fields}
    assert (reader.numbers["state"], reader.numbers["protocol"]) == (smq.STATE_CONNECTED, 4)
    assert reader.latencies["latency"] == {index: count for index, count in enumerate(stats.latency) if count}
    assert sum(reader.latencies["latency"].values()) == 10


def test_a_program_that_comes_late_is_told_of_the_trace(mosquitto, clients, readers, path):
    client = clients(url=mosquitto.url, inspect=path, trace_bytes=4096, user_name="u", password="secret")
    client.connected()
    client.publish("inspected/early", b"early", qos=1)
    client.until(lambda: client.stats.messages_completed == 1)
    reader = readers(path)
    client.until(reader.has(is_greeted))
    traced = client.trace()
    client.until(reader.has(lambda reader: len(reader.packets) == len(traced)))
    assert [(p.sent, p.length, p.data) for p in reader.packets] == [(p.sent, p.length, p.data) for p in traced]
    assert {packet.comment for packet in reader.packets} == {""}
    client.publish("inspected/late", b"late", qos=0)
    client.until(reader.has(lambda reader: len(reader.packets) > len(traced)))
    assert reader.packets[-1].data[-4:] == b"late" and reader.packets[-1].comment == "outbox 1, in flight 0"


def test_without_a_trace_it_is_told_from_then_on(mosquitto, clients, readers, path):
    client = clients(url=mosquitto.url, inspect=path)
    client.connected()
    client.subscribed("inspected/#", qos=1)
    reader = readers(path)
    client.until(reader.has(is_greeted))
    assert reader.packets == []
    client.publish("inspected/one", b"one", qos=1)
    client.message()
    client.until(reader.has(lambda reader: sum(p.data[0] >> 4 == PUBLISH for p in reader.packets) == 2))


def test_a_program_that_comes_while_packets_are_collected_for_another(mosquitto, clients, readers, path):
    client = clients(url=mosquitto.url, inspect=path)
    first = readers(path)
    client.until(first.has(is_greeted))
    client.connected()
    client.publish("inspected/before", b"before", qos=0)
    client.step(0)
    second = readers(path)
    client.until(second.has(is_greeted))
    client.publish("inspected/after", b"after", qos=0)
    client.until(second.has(lambda reader: len(reader.packets) == 1))
    client.until(first.has(lambda reader: len(reader.packets) == 4))
    assert second.packets[0].data.endswith(b"after")


def test_a_program_that_does_not_read_loses_packets_and_is_told_how_many(mosquitto, clients, readers, path):
    client = clients(url=mosquitto.url, inspect=path, inspect_bytes=4096, outbox_bytes=65536)
    slow, quick = readers(path), readers(path)
    client.until(lambda: slow.has(is_greeted)() and quick.has(is_greeted)())
    client.connected()
    published = 0
    while published < 3000:
        if client.publish("inspected/flood", b"x" * 200, qos=0) == smq.OK:
            published += 1
        else:
            client.until(lambda: client.stats.outbox_messages == 0)
        quick.read()
        client.step(0)
        while client.take():
            pass
    client.until(quick.has(lambda reader: sum(p.data[0] >> 4 == PUBLISH for p in reader.packets) + reader.lost == 3000 + 0))
    assert quick.lost == 0
    # It begins to read: what is sent from then on arrives, after the number of those that are lost.
    slow.read()
    before = len(slow.packets)
    assert 0 < before < 3000
    client.run(0.02)
    client.publish("inspected/end", b"end", qos=0)
    client.until(slow.has(lambda reader: reader.packets[-1].data[-3:] == b"end"))
    assert slow.lost == 3003 - len(slow.packets)
    assert len(slow.packets) == before + 1


def test_what_was_lost_in_a_pause_is_counted_when_another_program_comes(mosquitto, clients, readers, path):
    """As long as no program has room, packets are only counted; one that comes ends that, and the others learn the number."""
    client = clients(url=mosquitto.url, inspect=path, inspect_bytes=4096, outbox_bytes=65536)
    slow = readers(path)
    client.until(slow.has(is_greeted))
    client.connected()

    def publish(count: int) -> None:
        while count > 0:
            if client.publish("inspected/flood", b"x" * 200, qos=0) == smq.OK:
                count -= 1
            client.until(lambda: client.stats.outbox_messages < 10)
            while client.take():
                pass
        client.until(lambda: client.stats.outbox_messages == 0)

    publish(3000)
    client.run(0.02)
    publish(1000)  # in the pause, without a look at the readers
    late = readers(path)
    client.until(late.has(is_greeted))
    publish(1)
    client.until(late.has(lambda reader: reader.packets))
    slow.read()
    publish(1)
    client.until(slow.has(lambda reader: reader.seen == 4004))
    total = client.stats.packets_sent + client.stats.packets_received
    assert total == 4004 and slow.lost == total - len(slow.packets) > 0


def test_larger_packets_are_told_as_far_as_there_is_room(mosquitto, clients, readers, path):
    client = clients(url=mosquitto.url, inspect=path, inspect_bytes=4096, outbox_bytes=65536)
    reader = readers(path)
    client.connected()
    client.publish("inspected/large", b"y" * 20_000, qos=1)
    client.publish("inspected/small", b"small", qos=1)
    client.until(lambda: client.stats.messages_completed == 2)
    client.until(reader.has(lambda reader: reader.packets and reader.packets[-1].data[0] >> 4 == 4))
    large, small = [packet for packet in reader.packets if packet.data[0] >> 4 == PUBLISH]
    assert large.length == 20_000 + 2 + len("inspected/large") + 2 + 4
    assert 3500 < len(large.data) < 4096 and large.data.endswith(b"yyy")
    assert small.data.endswith(b"small") and small.length == len(small.data)


def test_four_programs_at_a_time(mosquitto, clients, readers, path):
    client = clients(url=mosquitto.url, inspect=path)
    four = [readers(path) for _ in range(4)]
    client.until(lambda: all([reader.has(is_greeted)() for reader in four]))
    fifth = readers(path)
    client.until(fifth.has(lambda reader: not reader.is_open))
    four[2].close()
    client.run(0.01)
    sixth = readers(path)
    client.until(sixth.has(is_greeted))
    client.connected()
    for reader in (four[0], four[1], four[3], sixth):
        client.until(reader.has(lambda reader: [p.data[0] >> 4 for p in reader.packets] == [1, 2]))


def test_a_client_that_is_not_connected_answers(clients, readers, path):
    client = clients(url="mqtt://127.0.0.1:1", inspect=path)
    reader = readers(path)
    client.until(reader.ask())
    assert (reader.numbers["state"], reader.numbers["attempts"]) == (smq.STATE_DISCONNECTED, 0)
    client.connect()
    client.wait_event(smq.EVENT_DISCONNECTED)
    client.until(reader.ask())
    assert (reader.numbers["attempts"], reader.numbers["ended_network"]) == (1, 1)


def test_the_last_packet_arrives_before_the_end(mosquitto, clients, readers, path):
    client = clients(url=mosquitto.url, inspect=path)
    reader = readers(path)
    client.until(reader.has(is_greeted))
    client.connected()
    client.leave()
    client.close()
    reader.read()
    assert not reader.is_open
    assert [packet.data[0] >> 4 for packet in reader.packets] == [1, 2, 14]
    assert not os.path.exists(path)


# ---- The file


def test_permissions(clients, path):
    client = clients(url="mqtt://127.0.0.1:1", inspect=path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    client.close()
    clients(url="mqtt://127.0.0.1:1", inspect=path, inspect_mode=0o660)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o660


def test_permissions_do_not_depend_on_umask(clients, path):
    for mask, mode in ((0o077, 0o660), (0o000, 0o600), (0o777, 0o640)):
        before = os.umask(mask)
        try:
            client = clients(url="mqtt://127.0.0.1:1", inspect=path, inspect_mode=mode)
        finally:
            os.umask(before)
        assert stat.S_IMODE(os.stat(path).st_mode) == mode
        client.close()


SWAP = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int bind(int fd, const struct sockaddr *address, socklen_t size) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "bind");
    int result = real(fd, address, size);
    const char *path = ((const struct sockaddr_un *)address)->sun_path;
    if (address->sa_family == AF_UNIX && result == 0) {
        unlink(path);
        if (LINK(VICTIM, path)) abort();
    }
    return result;
}
"""


@pytest.mark.parametrize("function", ["symlink", "link"])
def test_a_link_that_takes_the_place_of_the_socket_leads_nowhere(tmp_path, path, function):
    """Another user may write to the directory, and is quick: the file that the link leads to keeps its permissions."""
    victim = tmp_path / "victim"
    victim.write_text("secret", encoding="utf-8")
    victim.chmod(0o600)
    program = """
        import sys
        from Support import smq
        try:
            smq.Client(url="mqtt://127.0.0.1:1", inspect=sys.argv[1], inspect_mode=0o666)
        except ValueError as error:
            print(error)
    """
    said = preloaded(tmp_path, f"#define VICTIM \"{victim}\"\n#define LINK {function}\n{SWAP}", program, path)
    assert "SMQ_ERR_INSPECT" in said
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600 and os.path.lexists(path)


def test_a_socket_that_a_process_left_behind_is_replaced(clients, readers, path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as old:
        old.bind(path)
    client = clients(url="mqtt://127.0.0.1:1", inspect=path)
    client.until(readers(path).has(is_greeted))


def refused(path: str) -> int:
    """Returns errno of a client that cannot have its socket there."""
    ctypes.set_errno(0)
    with pytest.raises(ValueError, match="SMQ_ERR_INSPECT"):
        smq.Client(url="mqtt://127.0.0.1:1", inspect=path)
    return ctypes.get_errno()


def test_a_socket_in_use_is_left_alone(clients, readers, path):
    client = clients(url="mqtt://127.0.0.1:1", inspect=path)
    refused(path)
    client.until(readers(path).has(is_greeted))


@pytest.mark.parametrize("is_stale", [False, True])
def test_of_two_that_begin_at_once_one_has_it(path, is_stale):
    """Two processes, each round at the same moment; the other one is told."""
    shared = memoryview(mmap.mmap(-1, 16)).cast("I")
    child = os.fork()
    own, other = (1, 0) if child == 0 else (0, 1)
    kept: list[smq.Client] = []

    def meet() -> None:
        shared[own] += 1
        end = time.monotonic() + 60
        while shared[other] < shared[own]:
            assert time.monotonic() < end

    def has_it(round: int) -> int:
        try:
            kept.append(smq.Client(url="mqtt://127.0.0.1:1", inspect=f"{path}{round}"))
        except ValueError:
            return 0
        return 1

    def play() -> list[int]:
        counts = []
        for round in range(250):
            if is_stale and own == 0:
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stale:
                    stale.bind(f"{path}{round}")
            meet()
            shared[2 + own] = has_it(round)
            meet()
            counts.append(shared[2] + shared[3])
            meet()
        return counts

    if child == 0:
        try:
            play()
        finally:
            os._exit(0)
    counts = play()
    os.waitpid(child, 0)
    for client in kept:
        client.close()
    assert counts == [1] * 250


@pytest.mark.parametrize("kind", ["file", "directory", "link"])
def test_what_is_no_socket_is_left_alone(path, kind):
    if kind == "directory":
        os.mkdir(path)
    elif kind == "link":
        os.symlink("/nowhere", path)
    else:
        Path(path).write_text("content", encoding="utf-8")
    refused(path)
    assert os.path.lexists(path)
    if kind == "file":
        assert Path(path).read_text(encoding="utf-8") == "content"


def test_a_directory_that_is_not_there():
    refused("/nowhere/at/all")


def test_what_came_to_the_path_meanwhile_stays(clients, path):
    client = clients(url="mqtt://127.0.0.1:1", inspect=path)
    os.unlink(path)
    Path(path).write_text("another's", encoding="utf-8")
    client.close()
    assert Path(path).read_text(encoding="utf-8") == "another's"


@pytest.mark.parametrize("options", [
    {"inspect": "a" * 108}, {"inspect": "a\0b"}, {"inspect": "a", "inspect_mode": 0o1000}, {"inspect": "a", "inspect_bytes": 4095},
    {"inspect": "a", "inspect_bytes": 131_073}, {"inspect_mode": 0o600}, {"inspect_bytes": 4096},
    {"inspect": "a", "flags": smq.OPTION_OWN_TRANSPORT},
])  # fmt: skip
def test_options_that_cannot_be(options):
    given = smq.Options(url="mqtt://127.0.0.1", **options)
    assert smq.library.smq_options_check(ctypes.byref(given), None) == smq.ERR_OPTION
