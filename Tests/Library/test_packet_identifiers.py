"""Packet Identifiers: more messages than there are, and none left."""

from __future__ import annotations

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
