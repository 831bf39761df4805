"""Several events in one call, and completions without their events, with a real server."""

from __future__ import annotations

import ctypes
import time

import pytest

from Support import smq
from Support.smq import Completion, RawEvent, library

COUNT = 100


def take(client, size):
    """One call of smq_next_events()."""
    events = (RawEvent * size)()
    events[0].size = ctypes.sizeof(RawEvent)
    taken = library.smq_next_events(client.handle, events, size)
    assert 0 <= taken <= size, smq.status_name(taken)
    assert all(event.size == ctypes.sizeof(RawEvent) for event in events[:taken])
    return list(events[:taken])


@pytest.mark.parametrize("size", [1, 2, 16, 1000])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages(mosquitto, clients, version, qos, size):
    """Each once, in order and whole, and all acknowledged."""
    client = clients(url=mosquitto.url, **version)
    client.connected()
    client.subscribed("#", qos=2)
    for number in range(COUNT):
        assert client.publish("a/b", b"%d" % number, qos=qos, quiet=1) == smq.OK
    payloads, largest = [], 0
    deadline = time.monotonic() + 30
    while len(payloads) < COUNT and time.monotonic() < deadline:
        assert library.smq_wait(client.handle, 1000) in (0, 1)
        while events := take(client, size):
            largest = max(largest, len(events))
            assert {event.type for event in events} == {smq.EVENT_MESSAGE}
            assert {event.topic.value() for event in events} == {b"a/b"}
            assert all((event.token != 0) == (qos > 0) for event in events)
            payloads += [event.payload.value() for event in events]
    assert payloads == [b"%d" % number for number in range(COUNT)]
    assert largest <= size
    client.until(lambda: client.stats.unacknowledged == 0)


def test_completions(mosquitto, clients):
    client = clients(url=mosquitto.url)
    client.connected()
    completions = (Completion * 16)()
    ended = []
    for number in range(COUNT):
        assert client.publish("a/b", b"x", qos=1, cookie=number + 1) == smq.OK
    deadline = time.monotonic() + 30
    while len(ended) < COUNT and time.monotonic() < deadline:
        assert library.smq_wait(client.handle, 1000) in (0, 1)
        while (taken := library.smq_next_completions(client.handle, completions, 16)) > 0:
            ended += [(each.cookie, each.status, each.reserved) for each in completions[:taken]]
            assert all(each.latency_ms >= 0 for each in completions[:taken])
        assert taken == 0
    assert ended == [(number + 1, smq.OK, 0) for number in range(COUNT)]
    assert client.take() is None


def test_only_events_say_the_rest(mosquitto, clients):
    """What is no completion of a message stays where it is."""
    client = clients(url=mosquitto.url)
    assert library.smq_connect(client.handle) == smq.OK
    assert library.smq_wait(client.handle, 5000) == 1
    completions = (Completion * 4)()
    assert library.smq_next_completions(client.handle, completions, 4) == 0
    assert [event.type for event in take(client, 4)] == [smq.EVENT_CONNECTED]
    assert take(client, 4) == []
