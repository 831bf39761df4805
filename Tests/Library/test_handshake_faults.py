"""Each stage of a connection with a peer that is silent, dribbles, closes, resets at every byte, or answers wrongly: one event
says where it ended and why, and the next attempt is a good one. The stages stand alone, and all upon one another."""

from __future__ import annotations

import base64
import ctypes
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from Support import smq, tls as tls_of, wrong_answers
from Support.handshakes import TLS, Connect, Peer, Socks5, Stage, WebSocket
from Support.pipes import Script
from Support.wrong_answers import FRAMES_REFUSED, FRAMES_TAKEN

LOGIN = ("proxy-user", "proxy-password")
SERVER = "server.example"  # which nobody looks up: the proxy does
PROXY, SECURE, WEB = smq.STAGE_PROXY, smq.STAGE_TLS, smq.STAGE_WEBSOCKET
ENDED = {PROXY: smq.ERR_PROXY, SECURE: smq.ERR_TLS, WEB: smq.ERR_WEBSOCKET}

# How each is reached: the stages of the peer, the scheme, and that of the proxy.
STACKS: dict[str, tuple[Callable[[object], list[Stage]], str, str]] = {
    "SOCKS5": (lambda good: [Socks5()], "mqtt", "socks5"),
    "SOCKS5 password": (lambda good: [Socks5(LOGIN)], "mqtt", "socks5"),
    "CONNECT": (lambda good: [Connect(LOGIN)], "mqtt", "http"),
    "TLS": (lambda good: [TLS(good)], "mqtts", ""),
    "WebSocket": (lambda good: [WebSocket()], "ws", ""),
    "all over SOCKS5": (lambda good: [Socks5(LOGIN), TLS(good), WebSocket()], "wss", "socks5"),
    "all over CONNECT": (lambda good: [Connect(LOGIN), TLS(good), WebSocket()], "wss", "http"),
}
NUMBERS = {Socks5: PROXY, Connect: PROXY, TLS: SECURE, WebSocket: WEB}


class Case:
    """A peer with its stages, and a client that is to go through them."""

    def __init__(self, name: str, certificates, tls, upstream: int | None):
        stages, scheme, self.proxy_scheme = STACKS[name]
        self.peer = Peer(*stages(certificates.good), upstream=upstream)
        self.stages = [NUMBERS[type(stage)] for stage in self.peer.stages]
        self.options: dict[str, object] = dict(connect_timeout_ms=60_000)
        if scheme in ("mqtts", "wss"):
            self.options |= dict(tls=tls, tls_name="localhost")
        if self.proxy_scheme:
            login = "" if "password" not in name and name == "SOCKS5" else ":".join(LOGIN) + "@"
            self.options["proxy"] = f"{self.proxy_scheme}://{login}127.0.0.1:{self.peer.port}"
            self.options["url"] = f"{scheme}://{SERVER}"
        else:
            self.options["url"] = f"{scheme}://127.0.0.1:{self.peer.port}"


@pytest.fixture
def case(certificates, tls, broker) -> Iterator[Callable[[str], Case]]:
    made: list[Case] = []

    def make(name: str) -> Case:
        made.append(Case(name, certificates, tls, broker.port))
        return made[-1]

    yield make
    for each in made:
        each.peer.listener.close()
        assert each.peer.violations == []


def attempt(client: smq.Client) -> smq.Event:
    """One that fails; it is told once."""
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert client.state == smq.STATE_DISCONNECTED
    client.step(0)
    assert not client.events, client.events
    failure = client.failure()
    assert (failure.status, failure.stage, failure.attempt) == (event.status, event.stage, client.stats.attempts)
    return event


def good(client: smq.Client) -> None:
    """The next attempt is as if nothing had been."""
    client.connected()
    assert client.publish("a", b"x", qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert client.leave().status == smq.OK


STAGES_OF_STACKS = [(name, number) for name, (stages, _, _) in STACKS.items() for number in range(3)
                    if number < (3 if name.startswith("all") else 1)]


@pytest.mark.parametrize("name, number", STAGES_OF_STACKS)
def test_a_peer_that_is_silent(clients, case, name, number):
    """The time for the whole of opening is over, and the stage is told."""
    made = case(name)
    client = clients(**made.options | dict(connect_timeout_ms=150))
    made.peer.scripts = [Script(stage=number, fault="silent")]
    event = attempt(client)
    assert (event.status, event.stage) == (smq.ERR_TIMEOUT, made.stages[number])
    assert made.peer.until_ended(0).end in ("closed", "reset")


@pytest.mark.parametrize("name, number", STAGES_OF_STACKS)
def test_a_peer_that_dribbles(clients, case, name, number):
    """Everything comes byte by byte, behind the handshake too."""
    made = case(name)
    client = clients(**made.options)
    made.peer.scripts = [Script(stage=number, piece=1)]
    good(client)
    assert made.peer.until_ended(0).opened == len(made.stages)


def status_of(stage: int, fault: str) -> int:
    """TLS explains every end of its handshake; elsewhere it is one like any other."""
    if stage == SECURE:
        return smq.ERR_TLS
    return smq.ERR_CLOSED if fault == "close" else smq.ERR_NETWORK


def places(size: int) -> list[int]:
    """At each byte; of TLS, whose certificates are long, and whose signatures are not always of the same size, at some."""
    return list(range(size)) if size < 300 else [*range(12), *range(12, size - 20, size // 30), *range(size - 20, size - 8)]


@pytest.mark.parametrize("fault", ["close", "reset"])
@pytest.mark.parametrize("name, number", STAGES_OF_STACKS)
def test_a_peer_that_ends_at_each_byte(clients, case, certificates, name, number, fault):
    """Of the handshakes, and of CONNACK behind them. Each is a full one, of about the same size."""
    made = case(name)
    with tls_of.Tls(ca_file=certificates.ca_file, flags=tls_of.NO_RESUMPTION) as tls:
        client = clients(**made.options | ({"tls": tls} if "tls" in made.options else {}))
        ends_at_each_byte(client, made, number, fault)
        client.close()


def ends_at_each_byte(client: smq.Client, made: Case, number: int, fault: str) -> None:
    made.peer.scripts = [Script(stage=number)]
    client.connected()
    size = made.peer.seen[0].sent
    client.leave()
    stages = [*made.stages[number:], smq.STAGE_CONNACK]
    seen = []
    for at in places(size):
        made.peer.scripts = [Script(stage=number, fault=fault, at=at)]
        event = attempt(client)
        seen.append(event.stage)
        assert event.stage in stages, (at, event)
        assert event.status == status_of(event.stage, fault) or event.stage == smq.STAGE_CONNACK, (at, event)
        assert (event.os_error > 0) == (event.status == smq.ERR_NETWORK)
        if event.status == smq.ERR_TLS:
            causes = {0: ("NOT_TLS",)} if number == stages.index(SECURE) else {}
            assert tls_of.CAUSES[client.failure().tls_cause] in causes.get(at, ("NOT_TLS", "CLOSED")), at
    # Never an earlier stage after a later one, and each of them at some byte.
    order = [stages.index(stage) for stage in seen]
    assert order == sorted(order) and set(order) == set(range(len(stages))), seen
    good(client)


# ---- Wrong answers


def refused(client: smq.Client, made: Case, script: Script, stage: int, **expected: int) -> smq.Failure:
    made.peer.scripts = [script]
    event = attempt(client)
    failure = client.failure()
    assert (smq.status_name(event.status), event.stage) == (smq.status_name(ENDED[stage]), stage)
    assert {name: getattr(failure, name) for name in expected} == expected, failure
    return failure


def taken(clients, made: Case, table: dict[str, Script]) -> None:
    client = clients(**made.options)
    for name, script in table.items():
        made.peer.scripts = [script]
        client.connected()
        assert client.leave().status == smq.OK, name
    assert len(made.peer.seen) == len(table)


def number_in(name: str) -> int | None:
    """Of "reply 5" and the like."""
    last = name.split()[-1]
    return int(last) if last.isdigit() else None


SOCKS_REPLIES = {"no method": 256, "a reply with a name": 4}
NO_SOCKS = 258  # the proxy's answer is none of SOCKS5


def test_socks5_answers(clients, case):
    made = case("SOCKS5")
    taken(clients, made, wrong_answers.SOCKS5_TAKEN)
    client = clients(**made.options)
    for name, script in wrong_answers.SOCKS5_REFUSED.items():
        reply = SOCKS_REPLIES.get(name, number_in(name) or NO_SOCKS)
        failure = refused(client, made, script, PROXY, socks_reply=reply, http_status=0)
        assert failure.text.value() == b""
    good(client)


def test_socks5_answers_to_a_password(clients, case):
    made = case("SOCKS5 password")
    client = clients(**made.options)
    for script in wrong_answers.SOCKS5_PASSWORD_REFUSED.values():
        refused(client, made, script, PROXY, socks_reply=257)
    good(client)


REASONS = {"HTTP": b"Bad Request"}


def test_connect_answers(clients, case):
    made = case("CONNECT")
    taken(clients, made, wrong_answers.CONNECT_TAKEN)
    client = clients(**made.options)
    for name, script in wrong_answers.CONNECT_REFUSED.items():
        if script.fault and name == "the end within the head":
            made.peer.scripts = [script]
            event = attempt(client)
            assert (event.status, event.stage) == (smq.ERR_CLOSED, PROXY)
            continue
        failure = refused(client, made, script, PROXY, socks_reply=-1)
        if name.startswith("status"):
            assert (failure.http_status, failure.text.value()) == (number_in(name), b"Reason")
    good(client)


def test_websocket_answers(clients, case):
    made = case("WebSocket")
    taken(clients, made, wrong_answers.WEBSOCKET_TAKEN)
    client = clients(**made.options)
    for name, script in wrong_answers.WEBSOCKET_REFUSED.items():
        if script.fault and name == "the end within the head":
            made.peer.scripts = [script]
            event = attempt(client)
            assert (event.status, event.stage) == (smq.ERR_CLOSED, WEB)
            continue
        failure = refused(client, made, script, WEB, close_code=0)
        if name.startswith("status"):
            assert failure.http_status == number_in(name)
            assert failure.text.value() == (b"OK" if failure.http_status == 200 else b"Reason")
    good(client)


@pytest.mark.parametrize("name", ["WebSocket", "all over SOCKS5"])
def test_frames(clients, case, name):
    """Behind the handshake, in the piece that ends it."""
    made = case(name)
    last = len(made.stages) - 1
    taken(clients, made, {name: Script(stage=last, behind=data) for name, data in FRAMES_TAKEN.items()})
    client = clients(**made.options)
    told = 0
    for name, data in FRAMES_REFUSED.items():
        made.peer.scripts = [Script(stage=last, behind=data)]
        event = attempt(client)
        code = 1003 if "text" in name else 1002
        assert (event.status, event.stage) == (smq.ERR_WEBSOCKET, smq.STAGE_CONNACK), name
        assert client.failure().close_code == code, name
        seen = made.peer.until_ended(len(made.peer.seen) - 1)
        # The server learns why (RFC 6455 section 7.1.7), unless the client was gone while it was still sending.
        if seen.websocket:
            assert (8, code.to_bytes(2, "big")) in seen.websocket.control, name
            told += 1
    assert told > len(FRAMES_REFUSED) / 2
    good(client)


@pytest.mark.parametrize("name", ["WebSocket", "all over CONNECT"])
def test_the_server_closes(clients, case, name):
    made = case(name)
    client = clients(**made.options)
    for code, data in wrong_answers.CLOSES.items():
        made.peer.scripts = [Script(stage=len(made.stages) - 1, behind=data)]
        assert attempt(client).status == smq.ERR_WEBSOCKET
        failure = client.failure()
        assert (failure.close_code, failure.text.value()) == (code, b"because")
        # Close is answered by Close with the same code (section 5.5.1).
        seen = made.peer.until_ended(len(made.peer.seen) - 1)
        assert seen.websocket.control == [(8, code.to_bytes(2, "big"))]
    good(client)


ALERT_CAUSES = {40: "CIPHER", 70: "VERSION", 71: "CIPHER", 86: "VERSION", 112: "NAME", 115: "PSK", 116: "CERTIFICATE_WANTED",
                120: "ALPN"}


def test_tls_answers(clients, case):
    made = case("TLS")
    client = clients(**made.options)
    for name, script in wrong_answers.TLS_REFUSED.items():
        alert = number_in(name) if name.startswith("alert") else None
        failure = refused(client, made, script, SECURE, tls_alert=-1 if alert is None else alert, tls_depth=-1)
        cause = tls_of.CAUSES[failure.tls_cause]
        if alert is not None:
            assert cause == ALERT_CAUSES.get(alert, "OTHER"), name
        else:
            assert cause in ("NOT_TLS", "PEER", "CIPHER"), name
        assert failure.text.value(), name
    good(client)


# ---- Nothing is left behind


CHILD = """
import json, os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
sys.path.insert(0, sys.argv[1])
from Support import smq
from Support.tls import Tls
given = json.loads(sys.argv[2])
options = dict(given["options"])
if given["ca"]:
    tls = Tls(ca_file=given["ca"])
    options["tls"] = tls
before = sorted(os.listdir("/proc/self/fd"))
client = smq.Client(**options)
ended = []
for _ in range(given["attempts"]):
    assert client.connect() == 0
    client.until(lambda: any(e.type in smq.CONNECTION_EVENTS for e in client.events))
    # As long as it lasts, it writes.
    while not client.of(smq.EVENT_DISCONNECTED):
        client.publish("a", bytes(1000))
        client.step(1)
    ended.append(len(client.of(smq.EVENT_DISCONNECTED)))
    client.events.clear()
client.close()
assert sorted(os.listdir("/proc/self/fd")) == before, os.listdir("/proc/self/fd")
print(len(ended), sum(ended))
"""


@pytest.mark.parametrize("name", ["all over SOCKS5", "all over CONNECT"])
def test_no_signal_and_no_descriptor_is_left(case, certificates, name):
    """In a process that has no handler for SIGPIPE, which would end it."""
    made = case(name)
    faults = [Script(stage=stage, fault=fault, at=at) for stage in range(3) for fault in ("close", "reset")
              for at in (0, 1, 5, 40, 130, 150)]
    # And connections that are open: the peer goes while the client writes.
    faults += [Script(stage=2, fault=fault, at=at) for fault in ("close", "reset") for at in (200, 240)]
    made.peer.scripts = [*faults]
    options = {k: v for k, v in made.options.items() if k != "tls"}
    given = {"options": options | {"keep_alive_s": 1, "ping_timeout_ms": 1000}, "ca": str(certificates.ca_file),
             "attempts": len(faults)}
    done = subprocess.run([sys.executable, "-c", CHILD, str(Path(__file__).parents[1]), json.dumps(given)],
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stdout.split() == [str(len(faults))] * 2


def block(client: smq.Client) -> bytes:
    return ctypes.string_at(client.block.address, client.block.size)


MQTT = ("mqtt-user", "mqtt-password-itself")
PATH = "/mqtt?X-Amz-Signature=" + "5ec7e7" * 20
TOKEN = "the-bearer-token-itself"


@pytest.mark.parametrize("fault", ["", "silent", "close", "refusal"])
@pytest.mark.parametrize("name", ["all over SOCKS5", "all over CONNECT"])
def test_secrets(clients, certificates, broker, case, tmp_path, name, fault):
    """They are in no text of a failure, and not in the block after smq_client_close()."""
    made = case(name)
    keys = tmp_path / "keys"
    with tls_of.Tls(ca_file=certificates.ca_file, key_log_file=keys) as tls:
        url = made.options["url"].replace("//", f"//{':'.join(MQTT)}@") + PATH
        options = made.options | dict(url=url, tls=tls, websocket_headers=f"Authorization: Bearer {TOKEN}\r\n")
        client = clients(**options | dict(connect_timeout_ms=300 if fault == "silent" else 60_000))
        told = []
        hook = smq.LOG(lambda user, level, what, one, other: told.append((what, one, other)))
        assert smq.library.smq_set_log(client.handle, smq.LOG_DEBUG, hook, None) == smq.OK
        texts = [LOGIN[0], LOGIN[1], MQTT[1], PATH[10:], TOKEN]
        secrets = [text.encode() for text in texts] + [base64.b64encode(":".join(LOGIN).encode())]
        if fault:
            answer = b"HTTP/1.1 403 Forbidden\r\n\r\n"
            script = Script(stage=2, answers={0: answer}) if fault == "refusal" else Script(stage=2, fault=fault, at=20)
            made.peer.scripts = [script]
            attempt(client)
            failure = client.failure()
            assert not [s for s in secrets if s in failure.text.value() + failure.tls_subject.value()]
        else:
            client.connected()
            assert client.publish("a", b"x", qos=1, cookie=1) == smq.OK
            client.completed(1)
        inside = block(client)
        assert [MQTT[1].encode() in inside, PATH.encode() in inside, LOGIN[1].encode() in inside] == [True] * 3
        client.close()
        ticket = tls.sessions
    secrets += [bytes.fromhex(part) for line in keys.read_text().splitlines() for part in line.split()[2:]]
    assert len(secrets) > 9, "the keys of TLS were not logged"
    inside = block(client)
    assert [secret for secret in secrets if secret in inside] == []
    # Of a ticket, no sixteen bytes on end.
    assert not [at for at in range(0, len(ticket) - 16, 16) if len(set(ticket[at:at + 16])) > 8 and ticket[at:at + 16] in inside]
    assert told


@pytest.mark.parametrize("name", ["SOCKS5 password", "CONNECT", "WebSocket", "all over SOCKS5", "all over CONNECT"])
def test_what_a_handshake_has_sent_is_wiped(clients, case, name):
    """While the connection is open: the requests for the next attempt have the secrets, each once, and nothing else does."""
    made = case(name)
    options = dict(made.options)
    if smq.STAGE_WEBSOCKET in made.stages:
        options["websocket_headers"] = f"Authorization: Bearer {TOKEN}\r\n"
    client = clients(**options)
    client.connected()
    inside = block(client)
    # Their ends: the beginning of the buffer has something else by now.
    assert inside.count(LOGIN[1][-6:].encode()) == ("proxy" in options)
    assert inside.count(TOKEN[-8:].encode()) == ("websocket_headers" in options)
    basic = base64.b64encode(":".join(LOGIN).encode())
    assert basic[-12:] not in inside and b"Proxy-Authorization" not in inside
    assert client.leave().status == smq.OK
    assert client.connected().status == smq.OK
    assert block(client).count(LOGIN[1][-6:].encode()) == ("proxy" in options)
