"""Messages of QoS 2 that wait in a kept session, more than there are places for: does each arrive once, in its order, and does
every connection get further? Mosquitto 2.0 sends all of them before its first PUBREL."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from Support import smq
from Support.servers import Mosquitto

# 50,000 by hand: a minute or two each, as Mosquitto looks through a list for each PUBREC.
COUNT = int(os.environ.get("SMQ_BACKLOG", "5000"))
SECONDS = 80 * max(1, COUNT // 5000)
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)
AGAIN = dict(reconnect=True, reconnect_min_ms=10, reconnect_max_ms=10)


@pytest.fixture(autouse=True)
def time_enough() -> None:
    signal.alarm(20 + SECONDS)


@pytest.fixture
def crowded(start_mosquitto: Callable[..., Mosquitto]) -> Mosquitto:
    """As Debian has it, but for a queue without a limit."""
    return start_mosquitto(max_inflight_messages=20)


def fill(clients, server: Mosquitto, count: int, **options: object) -> smq.Client:
    """A client that is away, and so many messages for it."""
    client = clients(url=server.url, **{**KEEP, **options})
    client.connected()
    client.subscribed("backlog", qos=2)
    client.leave()
    publish(clients, server, count)
    return client


def publish(clients, server: Mosquitto, count: int, meanwhile: Callable[[], object] = lambda: None) -> None:
    sender = clients(url=server.url, client_id="sender", outbox_messages=1024)
    sender.connected()
    for number in range(count):
        while sender.publish("backlog", b"%d" % number, qos=2, quiet=1) == smq.ERR_FULL:
            sender.step(5)
            meanwhile()

    def all_there() -> bool:
        meanwhile()
        return sender.stats.outbox_messages == 0

    sender.until(all_there)


def take(client: smq.Client, count: int) -> list[int]:
    """What arrives, over as many connections as it takes; the client connects again by itself."""
    assert client.connect() == smq.OK
    client.until(lambda: client.stats.messages_received >= count and not client.stats.unacknowledged, timeout=SECONDS)
    return [int(message.payload) for message in client.messages()]


def test_the_default_takes_a_backlog_at_once(clients, crowded, protocol):
    client = fill(clients, crowded, COUNT, protocol=protocol)
    assert take(client, COUNT) == list(range(COUNT))
    assert client.stats.connections == 2
    assert (client.stats.messages_duplicate, client.stats.messages_postponed) == (0, 0)


@pytest.mark.parametrize("places, count", [(512, COUNT), (1, 20)])
def test_each_connection_gets_further(clients, crowded, protocol, places, count):
    options = dict(protocol=protocol, unreleased_maximum=places, **AGAIN)
    client = fill(clients, crowded, count, **options)
    assert take(client, count) == list(range(count))
    stats = client.stats
    # One finds that nothing is left. A hash table has twice the slots, of which half may be taken: two at least.
    assert stats.connections <= count // max(places, 2) + 2
    assert stats.ended_protocol == stats.connections - 2
    assert stats.messages_postponed > 0


@pytest.mark.parametrize("places", [0, 1])
def test_without_a_kept_session_at_full_rate(clients, crowded, protocol, places):
    """Its default of 20 in flight does not keep Mosquitto from sending hundreds; here the connection ended, and with it went
    what was still to come."""
    client = clients(url=crowded.url, protocol=protocol, unreleased_maximum=places)
    client.connected()
    client.subscribed("backlog", qos=2)
    publish(clients, crowded, 2 * COUNT, meanwhile=lambda: client.step(0))
    got = client.receive(2 * COUNT)
    assert [int(message.payload) for message in got] == list(range(2 * COUNT))
    assert client.stats.connections == 1


@pytest.mark.parametrize("held, places", [(20, 8), (64, 1)])
def test_more_held_than_places(clients, crowded, protocol, held, places):
    """smq_ack() did not return from the 17th message on."""
    hold = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION | smq.OPTION_HOLD)
    options = dict(unreleased_maximum=places, receive_maximum=held, **AGAIN)
    client = fill(clients, crowded, 3 * held, protocol=protocol, **hold, **options)
    assert client.connect() == smq.OK
    payloads, known = [], 0
    while len(payloads) < 3 * held:
        client.until(lambda: len(client.messages()) > known)
        client.run(0.02)
        messages = client.messages()[known:]
        known += len(messages)
        for message in messages:
            payloads.append(int(message.payload))
            assert client.ack(message.token) == smq.OK
    assert payloads == list(range(3 * held))
    client.until(lambda: not client.stats.unacknowledged)
