"""Credentials and addresses that are asked for attempt by attempt, against a server whose password file changes."""

from __future__ import annotations

import signal
import subprocess
from ctypes import byref

import pytest

from Support import smq
from Support.scripted_broker import CONNECT, Script, refuse
from Support.servers import need

ASK, ASK_ADDRESSES = smq.OPTION_ASK_CREDENTIALS, smq.OPTION_ASK_ADDRESSES
QUICK = dict(reconnect=True, reconnect_min_ms=20, reconnect_max_ms=100)


class Guarded:
    """Mosquitto with a password file."""

    def __init__(self, start_mosquitto, tmp_path, **users: str):
        self.file = tmp_path / "passwords"
        self.let_in(**users)
        self.server = start_mosquitto(allow_anonymous="false", password_file=self.file)
        self.url = f"mqtt://127.0.0.1:{self.server.port}"

    def let_in(self, **users: str) -> None:
        self.file.unlink(missing_ok=True)
        self.file.touch(0o600)
        for name, password in users.items():
            command = [need("mosquitto_passwd"), "-b", str(self.file), name, password]
            subprocess.run(command, check=True, timeout=20, stderr=subprocess.DEVNULL)

    def reload(self) -> None:
        self.server.send_signal(signal.SIGHUP)


@pytest.fixture
def guarded(start_mosquitto, tmp_path):
    return lambda **users: Guarded(start_mosquitto, tmp_path, **users)


def asked(client: smq.Client, **fields: object) -> smq.Event:
    return client.wait_event(smq.EVENT_CREDENTIALS, **fields)


def test_a_token_that_changes(guarded, clients, version):
    """The first is refused; the password file is written anew, and the second attempt's token is let in."""
    guard = guarded(meter="token-1")
    client = clients(url=guard.url, flags=ASK, **QUICK, **version)
    assert client.connect() == smq.OK
    event = asked(client)
    assert (event.attempt, event.server) == (1, 0)
    assert client.credentials(1, "meter", "token-2") == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage, event.attempt) == (smq.ERR_REFUSED, smq.STAGE_CONNACK, 1)
    assert event.reason_code in ((0x86, 0x87) if version["protocol"] == 5 else (4, 5))
    assert 10 <= event.retry_ms <= 100
    guard.let_in(meter="token-2")
    guard.reload()
    for attempt in range(2, 50):  # the server takes its time to read it
        assert asked(client).attempt == attempt
        assert client.credentials(attempt, "meter", "token-2") == smq.OK
        client.until(lambda: client.of(smq.EVENT_CONNECTED) or client.of(smq.EVENT_DISCONNECTED))
        if client.of(smq.EVENT_CONNECTED):
            break
        assert client.disconnected().status == smq.ERR_REFUSED
    assert client.stats.ended_refused == attempt - 1
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    # The connection breaks: the next attempt asks, though the last token was good.
    client.events.clear()
    guard.server.kill()
    guard.server.start()
    while not client.of(smq.EVENT_CONNECTED):
        event = asked(client)
        assert client.credentials(event.attempt, "meter", "token-2") == smq.OK
        client.until(lambda: client.of(smq.EVENT_CONNECTED) or client.of(smq.EVENT_CREDENTIALS))
    assert client.stats.attempts == asked_for(client) + event.attempt


def asked_for(client: smq.Client) -> int:
    return len(client.of(smq.EVENT_CREDENTIALS))


def test_every_attempt_has_its_own(clients, broker, protocol):
    """Byte for byte what was answered, each time: longer, shorter, with and without a password."""
    pairs = [("a", "b"), ("a" * 300, "b" * 200), ("", ""), ("name", ""), ("n" * 60, "p" * 57), ("é", "\x00x")]
    broker.scripts = [Script(at={1: refuse(0x87 if protocol == 5 else 5)})] * (len(pairs) - 1)
    client = clients(url=broker.url, protocol=protocol, flags=ASK, client_id="c", **QUICK)
    assert client.connect() == smq.OK
    for number, (name, password) in enumerate(pairs, 1):
        event = asked(client)
        assert event.attempt == number
        assert client.credentials(number, name, password) == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    packets = broker.of(CONNECT)
    assert len(packets) == len(pairs)
    for packet, (name, password) in zip(packets, pairs):
        tail = b""
        for text in (name, password):
            if text:
                tail += len(text.encode()).to_bytes(2, "big") + text.encode()
        body = packet.body
        assert body.endswith(b"\x00\x01c" + tail)
        assert body[7] & 0xC0 == (0x80 if name else 0) | (0x40 if password else 0)
        assert len({len(p.body) - sum(2 + len(t.encode()) for t in q if t) for p, q in zip(packets, pairs)}) == 1


def test_beside_all_the_rest_of_connect(clients, broker):
    """A Will, a Client Identifier with random digits and a version fallen back to: the packet stays in order, in each
    version, and at each attempt."""
    broker.scripts = [Script(levels=frozenset({3}))] * 2 + [Script(at={1: refuse(5)}), Script()]
    client = clients(
        url=broker.url,
        protocol=smq.PROTOCOL_5_0,
        flags=ASK | smq.OPTION_FALLBACK,
        client_id="c-%%%%",
        will=smq.Message(topic="will", payload=b"gone" * 20, qos=1, retain=1),
        **QUICK,
    )
    assert client.connect() == smq.OK
    for attempt, (name, password) in enumerate([("me" * 60, "secret"), ("you", "s" * 100)], 1):
        event = asked(client)
        assert event.attempt == attempt
        assert client.credentials(event.attempt, name, password) == smq.OK
        client.until(lambda: client.of(smq.EVENT_CREDENTIALS) or client.of(smq.EVENT_CONNECTED))
    client.wait_event(smq.EVENT_CONNECTED)
    assert [c["level"] for c in broker.connects] == [5, 4, 3, 5]
    assert {c["client_id"].encode() for c in broker.connects} == {client.id} and len(client.id) == 10
    for connect in broker.connects:
        will = connect["will"]
        assert (will.topic, will.payload, will.qos, will.retain) == ("will", b"gone" * 20, 1, 1)
        password = {"me" * 60: b"secret", "you": b"s" * 100}[connect["user"]]
        assert connect["password"] == password


def test_wrong_answers(clients, broker):
    client = clients(url=broker.url, flags=ASK | ASK_ADDRESSES, credential_bytes=10)
    library, handle = smq.library, client.handle

    def no_change(call, status: int) -> None:
        before, state = client.stats, client.state
        assert call() == status, smq.status_name(status)
        assert (client.stats, client.state) == (before, state)

    # Before there is an attempt.
    no_change(lambda: client.credentials(0, "a", "b"), smq.ERR_STATE)
    no_change(lambda: client.credentials(1, "a", "b"), smq.ERR_TOKEN)
    no_change(lambda: client.withhold_credentials(0), smq.ERR_STATE)
    no_change(lambda: client.addresses(0, "127.0.0.1"), smq.ERR_STATE)
    assert client.connect() == smq.OK
    asked(client)
    no_change(lambda: client.credentials(0, "a", "b"), smq.ERR_TOKEN)
    no_change(lambda: client.credentials(2, "a", "b"), smq.ERR_TOKEN)
    no_change(lambda: client.credentials(1, "", "b"), smq.ERR_OPTION)
    no_change(lambda: client.credentials(1, None, "b"), smq.ERR_OPTION)
    no_change(lambda: client.credentials(1, b"\xff", "b"), smq.ERR_UTF8)
    no_change(lambda: client.credentials(1, b"a\x00", "b"), smq.ERR_UTF8)
    no_change(lambda: client.credentials(1, "123456", "12345"), smq.ERR_TOO_LARGE)
    no_change(lambda: client.credentials(1, "a" * 70_000, ""), smq.ERR_TOO_LARGE)
    no_change(lambda: library.smq_credentials(handle, 1, byref(smq.Bytes(None, 1)), None), smq.ERR_NULL)
    no_change(lambda: library.smq_credentials(None, 1, None, None), smq.ERR_NULL)
    no_change(lambda: client.withhold_credentials(1, 2), smq.ERR_OPTION)
    no_change(lambda: client.withhold_credentials(2), smq.ERR_TOKEN)
    no_change(lambda: client.addresses(1, "127.0.0.1"), smq.ERR_STATE)
    assert client.credentials(1, "12345", "12345") == smq.OK
    # The host is an address: nobody is asked for it.
    client.wait_event(smq.EVENT_CONNECTED)
    no_change(lambda: client.credentials(1, "a", "b"), smq.ERR_STATE)
    no_change(lambda: client.withhold_credentials(1), smq.ERR_STATE)
    assert not client.of(smq.EVENT_ADDRESSES)


def test_withheld(clients, broker):
    client = clients(url=broker.url, flags=ASK, **QUICK)
    assert client.connect() == smq.OK
    for attempt in (1, 2, 3):
        assert asked(client).attempt == attempt
        assert client.withhold_credentials(attempt) == smq.OK
        event = client.disconnected()
        assert (event.status, event.stage) == (smq.ERR_CREDENTIALS, smq.STAGE_CREDENTIALS)
        assert event.retry_ms >= 10
    asked(client)
    assert client.withhold_credentials(4, 1) == smq.OK
    assert client.disconnected().retry_ms == -1
    assert client.state == smq.STATE_DISCONNECTED
    client.run(0.2)
    assert not client.events and not broker.connections
    assert client.stats.ended_credentials == 4
    assert client.connect() == smq.OK
    assert client.credentials(asked(client).attempt, None, None) == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)


def test_nobody_answers(clients, broker):
    client = clients(url=broker.url, flags=ASK, connect_timeout_ms=100)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_CREDENTIALS)
    assert client.credentials(1, "a", "b") == smq.ERR_STATE
    assert client.stats.ended_timeout == 1


# ---- Addresses ----


def wanted(client: smq.Client) -> smq.Event:
    return client.wait_event(smq.EVENT_ADDRESSES)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_addresses(clients, broker, count):
    """Those in front refuse, or are of no network that there is."""
    client = clients(host="server.example", port=broker.port, flags=ASK_ADDRESSES)
    assert client.connect() == smq.OK
    event = wanted(client)
    assert (event.server_reference, event.port, event.attempt) == (b"server.example", broker.port, 1)
    list = [f"127.0.0.{9 + number}" for number in range(count - 1)] + ["127.0.0.1"]
    assert client.addresses(1, *list) == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    assert client.addresses(1, *list) == smq.ERR_STATE


def test_addresses_that_are_none(clients, broker):
    client = clients(host="server.example", port=broker.port, flags=ASK_ADDRESSES, **QUICK)
    assert client.connect() == smq.OK
    wanted(client)
    for bad in ("", "server.example", "127.0.0", "127.0.0.1:1883", "[::1]", "::g", "1" * 300, "127.0.0.1\x00"):
        assert client.addresses(1, bad) == smq.ERR_OPTION, bad
        assert client.addresses(1, "127.0.0.1", bad) == smq.ERR_OPTION, bad
    assert client.addresses(1, *["127.0.0.1"] * 9) == smq.ERR_OPTION
    assert smq.library.smq_addresses(client.handle, 1, None, 1) == smq.ERR_NULL
    assert client.addresses(2, "127.0.0.1") == smq.ERR_TOKEN
    assert client.state == smq.STATE_CONNECTING
    assert smq.library.smq_addresses(client.handle, 1, None, 0) == smq.OK
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_RESOLVE, smq.STAGE_RESOLVE)
    assert client.addresses(1, "127.0.0.1") == smq.ERR_STATE
    # The next attempt asks again.
    assert wanted(client).attempt == 2
    assert client.addresses(1, "127.0.0.1") == smq.ERR_TOKEN
    assert client.addresses(2, "127.0.0.1") == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    assert client.stats.ended_resolve == 1


def test_both_questions(clients, broker):
    client = clients(host="server.example", port=broker.port, flags=ASK | ASK_ADDRESSES)
    assert client.connect() == smq.OK
    asked(client)
    assert not client.of(smq.EVENT_ADDRESSES)
    assert client.credentials(1, "me", "secret") == smq.OK
    wanted(client)
    assert client.credentials(1, "me", "secret") == smq.ERR_STATE
    assert client.addresses(1, "127.0.0.1") == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    assert broker.connects[0]["user"] == "me"


def test_a_runner_answers(clients, broker):
    """Questions are answered from on_event, too."""
    answers = []

    def on_event(user, handle, event):
        if event.contents.type == smq.EVENT_CREDENTIALS:
            attempt = event.contents.attempt
            answers.append(smq.library.smq_credentials(handle, attempt, smq.reference("me"), smq.reference("pw")))

    client = clients(url=broker.url, flags=ASK, **QUICK)
    handler = smq.HANDLER(on_event)
    runner = smq.Runner()
    import ctypes

    options = smq.RunnerOptions(on_event=ctypes.cast(handler, ctypes.c_void_p))
    assert smq.library.smq_runner_start(byref(runner), client.handle, byref(options)) == smq.OK
    broker.wait_for(lambda: broker.connects)
    assert smq.library.smq_runner_stop(byref(runner), 1000) == smq.OK
    assert answers == [smq.OK]
    assert broker.connects[0]["user"] == "me"
