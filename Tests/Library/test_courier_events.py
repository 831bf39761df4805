"""Each of the thirty events of Courier's iOS client is made to happen, and what stands for it here is there: an event, a log
entry or a packet that an observer was told. docs/looking-inside.md has the same table in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import lists

from Support import smq
from Support.scripted_broker import PUBACK, Script
from Support.servers import free_port

CONNECT_TYPE, PUBLISH_TYPE, SUBSCRIBE_TYPE, UNSUBSCRIBE_TYPE, DISCONNECT_TYPE = 1, 3, 8, 10, 14
PAGE = lists.ROOT / "docs" / "looking-inside.md"


@dataclass
class Scene:
    """A client of 5.0 with a log and an observer."""

    client: smq.Client
    log: list[tuple[str, int, int]] = field(default_factory=list)
    packets: list[smq.Packet] = field(default_factory=list)

    def __post_init__(self) -> None:
        hook = smq.LOG(lambda user, level, what, number, other: self.log.append(
            (smq.library.smq_log_name(what).decode(), number, other)))
        self.client.kept.append(hook)
        assert smq.library.smq_set_log(self.client.handle, smq.LOG_DEBUG, hook, None) == smq.OK
        self.packets, _ = self.client.observe()

    def connected(self) -> Scene:
        self.client.connect()
        self.client.wait_event(smq.EVENT_CONNECTED)
        return self

    def entry(self, name: str) -> tuple[str, int, int]:
        """The first log entry of this name, which comes if it has not come yet."""
        return self.client.until(lambda: next((entry for entry in self.log if entry[0] == name), None))

    def sent(self, type: int) -> smq.Packet:
        return self.client.until(lambda: next((p for p in self.packets if p.sent and p.type == type), None))

    def ended(self) -> smq.Event:
        return self.client.wait_event(smq.EVENT_DISCONNECTED)


@pytest.fixture
def good(clients, mosquitto) -> Callable[..., Scene]:
    """A scene with a Mosquitto."""
    return lambda **options: Scene(clients(url=mosquitto.url, protocol=smq.PROTOCOL_5_0, **options))


@pytest.fixture
def bad(clients, broker) -> Callable[..., Scene]:
    """A scene with a broker that misbehaves as the script says."""

    def make(script: Script, **options: object) -> Scene:
        broker.scripts = [script]
        return Scene(clients(url=broker.url, protocol=smq.PROTOCOL_5_0, **options))

    return make


def nowhere(clients, **options: object) -> Scene:
    return Scene(clients(url=f"mqtt://127.0.0.1:{free_port()}", protocol=smq.PROTOCOL_5_0, **options))


ASKED = dict(flags=smq.OPTION_ASK_CREDENTIALS | smq.OPTION_NO_RECONNECT)


def asked(scene: Scene) -> smq.Event:
    scene.client.connect()
    return scene.client.wait_event(smq.EVENT_CREDENTIALS)


# ---- The program is asked for credentials


def test_auth_start(good):
    assert asked(good(**ASKED)).attempt == 1


def test_auth_success(good):
    scene = good(**ASKED)
    attempt = asked(scene).attempt
    assert scene.client.credentials(attempt, "user", "password") == smq.OK
    assert scene.client.wait_event(smq.EVENT_CONNECTED).attempt == attempt


def test_auth_failure(good):
    scene = good(**ASKED)
    assert scene.client.withhold_credentials(asked(scene).attempt) == smq.OK
    assert scene.ended().status == smq.ERR_CREDENTIALS


# ---- The connection


def test_connected_packet_sent(good):
    assert good().connected().sent(CONNECT_TYPE).data[:1] == b"\x10"


def test_courier_disconnect(good):
    scene = good().connected()
    scene.client.disconnect(1000)
    assert scene.ended().status == smq.OK and scene.log[-1] == ("ended", 0, smq.STAGE_NONE)


def test_connection_attempt(good):
    assert good().connected().log[0] == ("attempt", 1, 0)


def test_connection_success(good):
    scene = good()
    scene.client.connect()
    assert scene.client.wait_event(smq.EVENT_CONNECTED).status == smq.OK
    assert scene.entry("connected") == ("connected", smq.PROTOCOL_5_0, 0)


def test_connection_failure(clients):
    scene = nowhere(clients, flags=smq.OPTION_NO_RECONNECT)
    scene.client.connect()
    end = scene.ended()
    assert (end.status, end.stage) == (smq.ERR_NETWORK, smq.STAGE_CONNECT) and end.os_error > 0


def test_connection_lost(good, mosquitto):
    scene = good(flags=smq.OPTION_NO_RECONNECT).connected()
    mosquitto.stop()
    end = scene.ended()
    assert end.stage == smq.STAGE_CONNECTED and end.status != smq.OK


def test_connection_disconnect(good):
    scene = good().connected()
    scene.client.disconnect(1000)
    scene.ended()
    assert scene.sent(DISCONNECT_TYPE).length == 2


def test_reconnect(bad):
    scene = bad(Script(cut_after=1), reconnect=True, reconnect_min_ms=10, reconnect_max_ms=10)
    scene.client.connect()
    scene.client.until(lambda: ("attempt", 2, 0) in scene.log)
    assert scene.entry("waiting")[1] <= 10


def test_connect_discarded(good):
    scene = good().connected()
    assert smq.library.smq_connect(scene.client.handle) == smq.ERR_STATE


# ---- Subscriptions


def test_subscribe_attempt(good):
    scene = good().connected()
    scene.client.subscribe("courier/#", qos=1)
    assert b"courier/#" in scene.sent(SUBSCRIBE_TYPE).data


def test_subscribe_success(good):
    scene = good().connected()
    scene.client.subscribe("courier/#", qos=1, cookie=3)
    done = scene.client.wait_event(smq.EVENT_COMPLETED)
    assert (done.status, done.cookie, done.reason_codes) == (smq.OK, 3, b"\x01")


def test_subscribe_failure(bad):
    scene = bad(Script(grant=lambda filter, options: 0x87)).connected()
    scene.client.subscribe("courier/#", cookie=3)
    done = scene.client.wait_event(smq.EVENT_COMPLETED)
    assert (done.status, done.cookie, done.reason_codes) == (smq.ERR_REFUSED, 3, b"\x87")


def test_unsubscribe_attempt(good):
    scene = good().connected()
    scene.client.unsubscribe("courier/#")
    assert b"courier/#" in scene.sent(UNSUBSCRIBE_TYPE).data


def test_unsubscribe_success(good):
    scene = good().connected()
    scene.client.unsubscribe("courier/#", cookie=4)
    done = scene.client.wait_event(smq.EVENT_COMPLETED)
    assert (done.status, done.cookie) == (smq.OK, 4)


def test_unsubscribe_failure(bad):
    scene = bad(Script(grant=lambda filter, options: 0x87)).connected()
    scene.client.unsubscribe("courier/#", cookie=4)
    done = scene.client.wait_event(smq.EVENT_COMPLETED)
    assert (done.status, done.cookie, done.reason_codes) == (smq.ERR_REFUSED, 4, b"\x87")


# ---- Pings


def test_ping(good):
    good(keep_alive_s=1).connected().entry("ping")


def test_pong_received(good):
    assert good(keep_alive_s=1).connected().entry("pong")[1] >= 0


def test_ping_failure(bad):
    scene = bad(Script(answer_ping=False), keep_alive_s=1, ping_timeout_ms=50, flags=smq.OPTION_NO_RECONNECT).connected()
    assert scene.ended().status == smq.ERR_KEEP_ALIVE


# ---- Messages


def received(scene: Scene, payload: bytes) -> smq.Event:
    scene.client.subscribed("courier/#", qos=1)
    scene.client.publish("courier/a", payload, qos=1)
    return scene.client.wait_event(smq.EVENT_MESSAGE)


def test_message_receive(good):
    message = received(good().connected(), b"12345")
    assert (message.status, message.topic, message.payload_total) == (smq.OK, b"courier/a", 5)


def test_message_receive_failure(good):
    message = received(good(receive_bytes=256, maximum_packet_bytes=smq.OFF).connected(), bytes(1000))
    assert (message.status, message.payload_total) == (smq.ERR_RECEIVE_TOO_LARGE, 1000)


def test_message_send(good):
    scene = good().connected()
    scene.client.publish("courier/a", b"12345", qos=1)
    assert b"courier/a" in scene.sent(PUBLISH_TYPE).data


def test_message_send_success(good):
    scene = good().connected()
    scene.client.publish("courier/a", b"12345", qos=1, cookie=5)
    done = scene.client.wait_event(smq.EVENT_COMPLETED)
    assert (done.status, done.cookie) == (smq.OK, 5)


def test_message_send_failure(bad):
    scene = bad(Script(reasons={PUBACK: 0x87})).connected()
    scene.client.publish("courier/a", b"12345", qos=1, cookie=5)
    done = scene.client.wait_event(smq.EVENT_COMPLETED)
    assert (done.status, done.reason_code, done.cookie) == (smq.ERR_REFUSED, 0x87, 5)


# ---- The device


def test_app_foreground(good):
    """The program says so, as on every system without a notice of it."""
    scene = good().connected()
    assert scene.client.hint_resume() == smq.OK
    assert scene.entry("hint") == ("hint", 1, 0)


def test_connection_available(good):
    scene = good().connected()
    assert scene.client.hint_network(1) == smq.OK
    assert scene.entry("hint") == ("hint", 1, 0)


def test_connection_unavailable(good):
    scene = good().connected()
    assert scene.client.hint_network(0) == smq.OK
    assert scene.entry("hint") == ("hint", 0, 0)


# ---- The table

# A program that goes to the background decides itself: it stays connected, or calls smq_disconnect().
WITHOUT_COUNTERPART = {"appBackground"}


def test_the_table_has_all_of_them():
    section = PAGE.read_text(encoding="utf-8").partition("## Courier's events")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|$", section, re.M)
    names = [name for name, _ in rows]
    assert len(names) == len(set(names)) == 30
    for name, stands_for in rows:
        test = "test_" + re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name).lstrip("_")
        assert (test in globals()) != (name in WITHOUT_COUNTERPART), name
        assert stands_for.startswith("none:") == (name in WITHOUT_COUNTERPART), name
