"""What networks do: lose, hold up, mix up, swallow, go away and come back. In namespaces of our own; the server is not
touched, and the witness is on its side."""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from Support import smq
from Support.servers import Mosquitto

from .audit import Publisher, Witness, nothing_lost
from .network import Bumpy, Cable, Network, available
from .watched import WatchedClient

KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION, outbox_messages=1000, protocol=5)
NERVOUS = dict(keep_alive_s=1, ping_timeout_ms=1000, connect_timeout_ms=1000)
QUICK = dict(reconnect_min_ms=50, reconnect_max_ms=200)
NO_WAY = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN}


@pytest.fixture
def networks() -> Iterator[Callable[..., Network]]:
    if reason := available():
        pytest.skip(reason)
    made: list[Network] = []

    def make(kind: type[Network], *arguments: object, **more: object) -> Network:
        made.append(kind(*arguments, **more))
        return made[-1]

    yield make
    for network in made:
        network.close()


@pytest.fixture
def rig(networks: Callable[..., Network], functions: object, tmp_path: Path) -> Iterator[Callable[..., tuple]]:
    """rig(network, options…) is a publisher on the gateway's side, and a witness. The test goes on on that side."""
    with contextlib.ExitStack() as stack:

        def make(network: Network, **options: object) -> tuple[Publisher, Witness]:
            with network.server:
                broker = Mosquitto(tmp_path, network.SERVER)
                stack.callback(broker.stop)
                broker.start()
                witness = Witness(broker)
            client = stack.enter_context(WatchedClient(functions, url=broker.url, **{**KEEP, **QUICK, **options}))
            stack.enter_context(network.gateway)
            return Publisher(client), witness

        yield make


def audited(network: Network, publisher: Publisher, witness: Witness) -> None:
    with network.server:
        nothing_lost(publisher, witness)


def test_thirty_percent_are_lost(networks, rig):
    """Each way. TCP brings through what it can; what it cannot in time is a connection that ends, and another."""
    cable = networks(Cable)
    publisher, witness = rig(cable, keep_alive_s=5, ping_timeout_ms=5000, connect_timeout_ms=5000)
    cable.drop("numgen random mod 100 < 30")
    assert publisher.client.connect() == smq.OK
    for _ in range(40):
        publisher.publish(5)
        for _ in range(5):
            publisher.step(20)
    publisher.finish(150)
    dropped = cable.gateway.dropped(), cable.server.dropped()
    print(f"{dropped} packets lost, {len(publisher.ends)} connections ended")
    assert min(dropped) >= 3
    cable.drop("")
    audited(cable, publisher, witness)


def test_packets_overtake_each_other(networks, rig, seed):
    """And are lost, doubled, and held up."""
    bumpy = networks(Bumpy, seed, loss=0.05, double=0.03, shortest=0.005, longest=0.06)
    publisher, witness = rig(bumpy, keep_alive_s=5, ping_timeout_ms=5000, connect_timeout_ms=10_000)
    publisher.connect(60)
    for _ in range(100):
        publisher.publish(20)
        publisher.step(5)
    publisher.finish(120)
    print(f"{bumpy.forwarded} packets, {bumpy.lost} lost, {bumpy.overtaken} overtaken")
    assert bumpy.overtaken > 5
    audited(bumpy, publisher, witness)


def test_everything_is_swallowed(networks, rig):
    """A rule that drops: a connection that is there, and those that are tried."""
    cable = networks(Cable)
    publisher, witness = rig(cable, **NERVOUS)
    publisher.connect()
    publisher.publish(20)
    publisher.step(0)
    cable.drop("meta l4proto tcp")
    begin = time.monotonic()
    publisher.publish(20)
    ended = publisher.ended()
    publisher.assert_ends(ended, smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    assert 0.9 <= ended.at - begin < 2 + 5
    for _ in range(2):
        begin = publisher.ends[-1].at
        ended = publisher.ended()
        publisher.assert_ends(ended, smq.ERR_TIMEOUT, smq.STAGE_CONNECT)
        assert 0.99 <= ended.at - begin < 1.2 + 5
    cable.drop("")
    publisher.connected_again()
    assert publisher.sessions[-1] == 1
    publisher.finish()
    audited(cable, publisher, witness)


@pytest.mark.parametrize("side", ["gateway", "server"])
def test_the_link_goes_down_for_long(networks, rig, side):
    """At this end the kernel says at once that there is no way; at the other nobody does."""
    cable = networks(Cable)
    publisher, witness = rig(cable, **NERVOUS)
    publisher.connect()
    publisher.publish(20)
    publisher.step(0)
    getattr(cable, side).run("ip", "link", "set", "wan", "down")
    begin = time.monotonic()
    publisher.publish(20)
    ended = publisher.ended()
    assert ended.at - begin < 2 + 5
    if ended.status == smq.ERR_NETWORK:  # the kernel has told that there is no way
        assert (ended.stage in (smq.STAGE_CONNECTED, smq.STAGE_KEEP_ALIVE)) and ended.os_error in NO_WAY
    else:
        publisher.assert_ends(ended, smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)
    for _ in range(2):
        begin = publisher.ends[-1].at
        ended = publisher.ended()
        assert ended.stage == smq.STAGE_CONNECT
        assert ended.status == smq.ERR_TIMEOUT or ended.os_error in NO_WAY, ended
        assert ended.at - begin < 1.2 + 5
    getattr(cable, side).run("ip", "link", "set", "wan", "up")
    publisher.client.hint_network(1)
    publisher.connected_again()
    publisher.finish()
    audited(cable, publisher, witness)


def test_the_link_goes_down_for_a_moment(networks, rig):
    """Shorter than the ping timeout: nobody notices."""
    cable = networks(Cable)
    publisher, witness = rig(cable, keep_alive_s=2, ping_timeout_ms=30_000)
    publisher.connect()
    for _ in range(3):
        publisher.publish(20)
        publisher.step(0)
        cable.server.run("ip", "link", "set", "wan", "down")
        publisher.publish(20)
        for _ in range(10):
            publisher.step(50)
        cable.server.run("ip", "link", "set", "wan", "up")
        publisher.finish()
    assert publisher.ends == []
    audited(cable, publisher, witness)


def test_the_address_is_another(networks, rig):
    """As after a modem has dialled again: the old connection is nobody's any more."""
    cable = networks(Cable)
    publisher, witness = rig(cable, **NERVOUS)
    publisher.connect()
    publisher.publish(20)
    publisher.step(0)
    cable.gateway.run("ip", "address", "del", f"{cable.GATEWAY}/24", "dev", "wan")
    cable.gateway.run("ip", "address", "add", "10.213.0.7/24", "dev", "wan")
    publisher.client.hint_network(1)
    publisher.publish(20)
    publisher.ended()
    publisher.connected_again()
    publisher.finish()
    audited(cable, publisher, witness)
