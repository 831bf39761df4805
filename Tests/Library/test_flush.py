"""smq_flush(): what was published goes out in one piece, and nothing else happens."""

from __future__ import annotations

import ctypes

from Support import smq
from .test_receive import subscribed


def flush(client: smq.Client) -> int:
    return smq.library.smq_flush(client.handle)


def test_one_call_for_all(clients, broker, version):
    client = clients(url=broker.url, **version)
    client.connected()
    before = client.stats
    for number in range(64):
        assert client.publish("a", b"%d" % number, quiet=True) == smq.OK
    assert flush(client) == 0
    after = client.stats
    assert after.packets_sent - before.packets_sent == 64
    assert after.send_calls - before.send_calls == 1
    assert after.receive_calls == before.receive_calls
    assert flush(client) == 0
    assert client.stats.send_calls == after.send_calls
    broker.wait_for(lambda: len(broker.of(3)) == 64)


def test_an_event_stays(clients, broker, version):
    """What an event points to lasts over a flush, and its message is not acknowledged by it."""
    client = clients(url=broker.url, **version)
    server = subscribed(client, broker)
    server.publish("a", b"payload", 1)
    raw = smq.RawEvent()
    assert smq.library.smq_wait(client.handle, 5000) == 1
    assert smq.library.smq_next_event(client.handle, ctypes.byref(raw)) == 1
    assert raw.type == smq.EVENT_MESSAGE
    assert client.publish("b", quiet=True) == smq.OK
    flush(client)
    broker.wait_for(lambda: len(broker.of(3)) == 1)
    assert ctypes.string_at(raw.payload.data, raw.payload.size) == b"payload"
    assert not broker.of(4)
    client.until(lambda: broker.of(4))


def test_without_a_connection(clients):
    client = clients(url="mqtt://127.0.0.1:1")
    assert client.publish("a", qos=1) == smq.OK
    assert flush(client) == 0
    assert client.stats.outbox_messages == 1
