"""Packet Identifiers: more messages than there are, and none left."""

from __future__ import annotations

import pytest
from Support import smq
from Support.scripted_broker import PUBACK, Script

KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)


def test_more_messages_than_identifiers(clients, start_mosquitto):
    """Identifiers begin again after 65,535, without 0."""
    mosquitto = start_mosquitto(log_type="error")
    client = clients(url=mosquitto.url, outbox_messages=2000, outbox_bytes=1 << 17)
    client.connected()
    published = 0
    while published < 66_000:
        while published < 66_000 and client.publish("a", qos=1, quiet=1) == smq.OK:
            published += 1
        client.step(1000)
    client.until(lambda: client.stats.messages_completed == published)
    assert client.stats.messages_failed == 0
    assert client.state == smq.STATE_CONNECTED


def test_no_identifier_left(clients, broker):
    """When all are taken, the caller is told, and not kept."""
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, outbox_messages=3, **KEEP)
    client.connected()
    assert [client.publish("a", qos=1) for _ in range(5)] == [smq.OK] * 3 + [smq.ERR_FULL] * 2
    client.until(lambda: len(broker.held) == 3)
    broker.release()
    client.until(lambda: len(client.completions()) == 3)
    assert client.publish("a", qos=1) == smq.OK


@pytest.mark.parametrize("held_back", [0, 1])
def test_more_messages_than_packet_identifiers(clients, broker, protocol, held_back):
    """Past 65,023 the ids begin again, around one that is still in use. The broker checks."""
    total = 70000
    broker.scripts = [Script(hold={PUBACK} if held_back else set())]
    client = clients(url=broker.url, protocol=protocol, outbox_messages=65023, outbox_bytes=1 << 20)
    client.connected()
    if held_back:  # a QoS 1 message that is not acknowledged, between QoS 2 messages that are
        assert client.publish("a", qos=1, cookie=1) == smq.OK
        client.until(lambda: broker.held)

    def publish_all(count: int) -> int:
        """Stops when the outbox is full for good: with the first message in the way."""
        for sent in range(count):
            while (status := client.publish("a", qos=2 - (not held_back), quiet=1)) == smq.ERR_FULL:
                if held_back and client.stats.in_flight == 1:
                    return sent
                client.step(1000)
            assert status == smq.OK
        return count

    sent = publish_all(total)
    client.until(lambda: len(broker.messages) == sent + held_back, timeout=150)
    client.until(lambda: client.stats.in_flight == held_back)
    if held_back:
        assert sent == 65022
        broker.release()
        assert client.completed(1).status == smq.OK
        sent += 1 + publish_all(total - sent - 1)
        client.until(lambda: len(broker.messages) == sent, timeout=150)
        client.until(lambda: client.stats.in_flight == 0)
    assert sent == len(broker.messages) == total
    assert broker.violations == []
