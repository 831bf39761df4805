"""smq_submit(): messages of other threads."""

from __future__ import annotations

import ctypes
import re
import select
import subprocess
import threading
import time
from pathlib import Path

import pytest

from Support import smq
from Support.scripted_broker import PUBLISH, Script, refuse

V4, V5 = smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
EXPIRY_OF_A_MINUTE = b"\x02\0\0\0\x3c"


# ---- System calls ----


def test_no_system_call_but_one_that_wakes_the_owner(tmp_path):
    program, trace = tmp_path / "submit_calls", tmp_path / "trace"
    command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", smq.HEADER.parent, "-o", program]
    command += [Path(__file__).parent / "submit_calls.c", "-L", smq.LIBRARY.parent, "-lswiftmqtt"]
    subprocess.run([*command, f"-Wl,-rpath,{smq.LIBRARY.parent}"], check=True, timeout=60)
    subprocess.run(["strace", "-o", trace, program], check=True, timeout=20)
    calls = re.findall(r"^(\w+)\((.*)", trace.read_text(), re.M)
    between, inside = [], False
    for name, arguments in calls:
        if name == "getppid":
            inside = not inside
            if inside:
                between.append([])
        elif inside:
            between[-1].append(name)
    # After the owner's turn the first one wakes it up again.
    assert between == [["write"], [], ["write"], [], []]


# ---- The owner ----


def test_wakes_the_owner(clients, mosquitto):
    client = clients(url=mosquitto.url, submit_messages=8)
    client.connected()
    client.run(0.05)
    begin = time.monotonic()
    threading.Timer(0.2, client.submit, ["a", "b"], dict(qos=1, cookie=5)).start()
    assert smq.library.smq_wait(client.handle, 5000) == 1
    assert 0.19 < time.monotonic() - begin
    assert client.completed(5).status == smq.OK


def test_makes_the_descriptor_readable(clients, mosquitto):
    client = clients(url=mosquitto.url, submit_messages=8)
    client.connected()
    client.run(0.05)
    poll = select.poll()
    poll.register(smq.library.smq_fd(client.handle), select.POLLIN)
    for _ in range(3):
        assert poll.poll(20) == []
        assert smq.library.smq_next_timeout_ms(client.handle) > 1000
        threading.Timer(0.05, client.submit, ["a"]).start()
        assert poll.poll(5000) != []
        assert smq.library.smq_next_timeout_ms(client.handle) == 0
        while client.stats.messages_completed < client.stats.submitted:
            client.step(0)
        client.run(0.05)


def test_waiting_for_ever_ends(clients, broker):
    """Disconnected: with a queue there may yet be something to wait for."""
    client = clients(url=broker.url, submit_messages=8)
    threading.Timer(0.1, client.submit, ["a"], dict(expiry_s=1, cookie=3)).start()
    assert smq.library.smq_wait(client.handle, -1) == 1
    event = client.take()
    assert (event.type, event.status, event.cookie) == (
        smq.EVENT_COMPLETED,
        smq.ERR_EXPIRED,
        3,
    )
    without = clients(url=broker.url)
    assert smq.library.smq_wait(without.handle, -1) == smq.ERR_STATE


def test_back_pressure(clients, broker):
    broker.scripts = [Script(hold={smq_type for smq_type in (4,)})]  # PUBACK
    client = clients(url=broker.url, submit_messages=4, outbox_messages=2)
    client.connected()
    accepted = 0
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline and accepted < 20:
        accepted += client.submit("a", qos=1, cookie=accepted) == smq.OK
        client.step(0)
    assert accepted == 6
    assert client.submit("a") == smq.ERR_FULL
    stats = client.stats
    assert (stats.submitted, stats.submit_waiting, stats.submit_peak) == (6, 4, 4)
    assert stats.submit_full > 0
    assert stats.outbox_messages == 2
    assert not client.of(smq.EVENT_ROOM)


def test_what_was_submitted_before_is_delivered_before(clients, broker):
    client = clients(url=broker.url, submit_messages=64, outbox_messages=1)
    client.connected()
    for cookie in range(50):
        assert client.submit("a", str(cookie), qos=1, cookie=cookie) == smq.OK
    assert client.leave().status == smq.OK
    assert [event.cookie for event in client.completions()] == list(range(50))
    assert [int(m.payload) for m in broker.messages] == list(range(50))
    assert client.stats.submit_waiting == client.stats.outbox_messages == 0


# ---- What only the owner knows ----


@pytest.mark.parametrize(
    "limits, message, reason",
    [
        (dict(maximum_qos=0), dict(qos=1), 0x9B),
        (dict(retain_available=0), dict(retain=1), 0x9A),
        (dict(maximum_packet_size=30), dict(payload=b"x" * 30), 0x95),
    ],
)
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("aliases", [0, 2])
def test_limits_of_the_server(clients, broker, limits, message, reason, early, aliases):
    broker.scripts = [Script(connack=limits | dict(topic_alias_maximum=aliases))]
    client = clients(url=broker.url, protocol=V5, submit_messages=8, topic_aliases_out=aliases)
    if not early:
        client.connected()
    assert client.submit("a/b", cookie=1, **{"payload": b"", **message}) == smq.OK
    assert client.submit("a/b", b"good", cookie=2) == smq.OK
    if early:
        client.connected()
    event = client.completed(1)
    assert (event.status, event.reason_code) == (smq.ERR_SERVER_LIMIT, reason)
    assert client.completed(2).status == smq.OK
    broker.wait_for(lambda: [(m.topic, m.payload) for m in broker.messages] == [("a/b", b"good")])
    stats = client.stats
    assert (stats.messages_published, stats.messages_completed, stats.messages_failed) == (2, 1, 1)


def test_properties_after_falling_back(clients, broker):
    broker.scripts = [Script(at={1: refuse(0x84)})]
    client = clients(
        url=broker.url, protocol=V5, client_id="x", flags=smq.OPTION_FALLBACK, submit_messages=8
    )
    client.connected()
    assert client.submit("a", cookie=1, properties=b"\x01\x01") == smq.OK
    assert client.submit("a", cookie=2, properties=EXPIRY_OF_A_MINUTE) == smq.OK
    assert client.submit("a", cookie=3, expiry_s=60) == smq.OK
    for cookie in (1, 2):
        event = client.completed(cookie)
        assert (event.status, event.reason_code) == (smq.ERR_SERVER_LIMIT, 0x84)
    assert client.completed(3).status == smq.OK


def test_expiry_counts_from_the_call(clients, broker):
    client = clients(url=broker.url, protocol=V5, submit_messages=8)
    assert client.submit("a", cookie=1, expiry_s=60) == smq.OK
    assert client.submit("a", cookie=2, properties=b"\x26\0\1n\0\1v" + EXPIRY_OF_A_MINUTE) == smq.OK
    assert client.submit("a", cookie=3, expiry_s=1) == smq.OK
    assert client.submit("a", cookie=4, properties=b"\x02\0\0\0\0") == smq.OK
    time.sleep(2.1)  # nobody takes them
    client.connected()
    assert [client.completed(n).status for n in (1, 2, 3, 4)] == [
        smq.OK,
        smq.OK,
        smq.ERR_EXPIRED,
        smq.ERR_EXPIRED,
    ]
    broker.wait_for(lambda: len(broker.of(PUBLISH)) == 2)
    for came in broker.of(PUBLISH):
        assert 57 <= came.publication()[2]["message_expiry"] <= 58
    assert client.stats.messages_expired == 2


def test_under_topic_aliases(clients, broker):
    broker.scripts = [Script(connack=dict(topic_alias_maximum=2))]
    client = clients(url=broker.url, protocol=V5, submit_messages=64, topic_aliases_out=2)
    client.connected()
    topics = [f"a/{number % 3}" for number in range(30)]
    for cookie, topic in enumerate(topics):
        assert client.submit(topic, topic, qos=1, cookie=cookie) == smq.OK
    client.until(lambda: len(client.completions()) == 30)
    assert [m.topic for m in broker.messages] == [m.payload.decode() for m in broker.messages] == topics


# ---- Wrong calls ----


def test_wrong_calls(clients, broker):
    client = clients(url=broker.url, submit_messages=2, submit_bytes=20)
    before = client.stats
    good = dict(topic="a", payload="b")
    for expected, fields in [
        (smq.ERR_STRUCT_SIZE, dict(size=3)),
        (smq.ERR_STRUCT_SIZE, dict(reserved2=1)),
        (smq.ERR_STRUCT_SIZE, dict(reserved2=1)),
        (smq.ERR_OPTION, dict(retain=2)),
        (smq.ERR_OPTION, dict(quiet=2)),
        (smq.ERR_OPTION, dict(properties=b"\x01\x01")),
        (smq.ERR_QOS, dict(qos=3)),
        (smq.ERR_NULL, dict(payload=smq.Bytes(None, 1))),
        (smq.ERR_TOPIC_NAME, dict(topic="a/+")),
        (smq.ERR_TOPIC_NAME, dict(topic="")),
        (smq.ERR_UTF8, dict(topic=b"\xff")),
        (smq.ERR_TOO_LARGE, dict(payload=bytes(20))),
        (smq.ERR_TOO_LARGE, dict(payload=smq.Bytes(1, 2**31))),
    ]:
        message = smq.Message(**{**good, **fields})
        assert smq.library.smq_submit(client.handle, ctypes.byref(message)) == expected, fields
    assert smq.library.smq_submit(client.handle, None) == smq.ERR_NULL
    message = smq.Message(**good)
    assert smq.library.smq_submit(None, ctypes.byref(message)) == smq.ERR_NULL
    assert client.stats == before
    assert client.submit("a", bytes(19)) == smq.OK
    assert clients(url=broker.url).submit("a") == smq.ERR_NOT_SUPPORTED
    closed = client.handle
    smq.library.smq_client_close(closed)
    assert smq.library.smq_submit(closed, ctypes.byref(message)) == smq.ERR_CLIENT
    client.handle = None


@pytest.mark.parametrize(
    "messages, size, slots", [(1, 16, 1), (3, 0, 4), (1024, 100, 1024), (65536, 4096, 65536)]
)
def test_memory(messages, size, slots):
    options = smq.Options(host="h")
    without = smq.library.smq_client_size(ctypes.byref(options))
    options.submit_messages, options.submit_bytes = messages, size
    each = 40 + (size or 256)
    more = smq.library.smq_client_size(ctypes.byref(options)) - without
    assert more - slots * each in range(0, 144)


@pytest.mark.parametrize("messages, size", [(65537, 16), (1, 15), (1, 1048577), (65536, 4097)])
def test_options_out_of_range(messages, size):
    options = smq.Options(host="h", submit_messages=messages, submit_bytes=size)
    assert smq.library.smq_options_check(ctypes.byref(options), None) == smq.ERR_OPTION
