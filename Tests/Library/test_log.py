"""The log hook: what is told, and that it is told nothing secret."""

from __future__ import annotations

import pytest

from Support import smq
from Support.scripted_broker import CONNECT, Script, refuse
from Support.servers import free_port

WARNING, INFO, DEBUG = smq.LOG_WARNING, smq.LOG_INFO, smq.LOG_DEBUG


def logged(client: smq.Client, level: int) -> list[tuple[str, int, int]]:
    told: list[tuple[str, int, int]] = []

    def tell(user: int, at: int, what: int, number: int, other: int) -> None:
        assert user == 7 and WARNING <= at <= level
        told.append((smq.library.smq_log_name(what).decode(), number, other))

    hook = smq.LOG(tell)
    client.kept.append(hook)
    assert smq.library.smq_set_log(client.handle, level, hook, 7) == smq.OK
    return told


def test_a_life(mosquitto, clients):
    """From a server that is not there to the farewell."""
    url = f"mqtt://user:secret@127.0.0.1:{free_port()},127.0.0.1:{mosquitto.port}"
    client = clients(url=url, reconnect=True, protocol=5, keep_alive_s=1)
    told = logged(client, DEBUG)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    client.until(lambda: ("pong" in [name for name, *_ in told]))
    client.hint_network(0)
    client.disconnect()
    client.until(lambda: client.state == smq.STATE_DISCONNECTED)
    names = [name for name, *_ in told]
    expected = "attempt addresses address,address failed ended waiting attempt addresses address opened connected ping pong hint"
    position = -1
    for name in expected.replace(",", " ").replace("address failed", "address_failed").split():
        position = names.index(name.replace("_", " "), position + 1)
    assert told[0] == ("attempt", 1, 0)
    assert ("attempt", 2, 1) in told and ("connected", 5, 0) in told
    network, connect = 8, smq.STAGE_CONNECT
    assert ("ended", network, connect) in told
    assert told[-1] == ("ended", 0, smq.STAGE_NONE)


@pytest.mark.parametrize("level, count", [(WARNING, 0), (INFO, 2), (DEBUG, 5)])
def test_levels(broker, clients, level, count):
    broker.scripts = [Script(at={CONNECT: refuse(0x87)})]
    client = clients(url=broker.url, protocol=5)
    told = logged(client, level)
    client.connect()
    client.wait_event(smq.EVENT_DISCONNECTED)
    assert len(told) == count, told


def test_no_hook(mosquitto, clients):
    client = clients(url=mosquitto.url)
    told = logged(client, DEBUG)
    assert smq.library.smq_set_log(client.handle, 0, None, None) == smq.OK
    client.connected()
    assert told == []
    for level in (-1, 4):
        assert smq.library.smq_set_log(client.handle, level, None, None) == smq.ERR_OPTION


def test_names():
    names = {smq.library.smq_log_name(what) for what in range(1, 17)}
    assert len(names) == 16 and b"unknown" not in names
    for what in (-1, 0, 17):
        assert smq.library.smq_log_name(what) == b"unknown"
