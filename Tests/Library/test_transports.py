"""What MQTT promises, over everything that may carry it: TLS, WebSocket, unix sockets, proxies, and these in one another."""

from __future__ import annotations

import ctypes
import random
import ssl

import pytest

from Support import smq, tls as tls_of
from Support.certificates import CLIENT, Authority, Certificates
from Support.handshakes import TLS, Peer, WebSocket
from Support.routes import ROUTES
from Support.scripted_broker import Script, close, refuse

V4, V5 = smq.PROTOCOL_3_1_1, smq.PROTOCOL_5_0
LARGE = 60_000


def pattern(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@pytest.fixture(params=ROUTES)
def route(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_qos_both_ways(clients, routes, subscribe, level, route, protocol):
    """Sizes around the borders of frames and records, and a payload that comes in parts."""
    witness = subscribe(routes.server(route), f"{level}/#")
    client = clients(**routes(route), protocol=protocol, outbox_bytes=200_000, receive_bytes=65_536)
    client.connected()
    client.subscribed(f"{level}/#", qos=2)
    sizes = (0, 1, 120, 126, 4096, 16_384, 40_000)
    for qos in range(3):
        for size in sizes:
            assert client.publish(f"{level}/{qos}", pattern(size), qos=qos, cookie=size) == smq.OK
        for size in sizes:
            assert client.completed(size).status == smq.OK
        expected = [(f"{level}/{qos}", pattern(size), qos) for size in sizes]
        assert [(m.topic.decode(), m.payload, m.qos) for m in client.receive(len(sizes))] == expected
        assert [(m.topic, m.payload, m.qos) for m in witness.take(len(sizes))] == expected
    assert client.leave().status == smq.OK


def test_a_large_message_in_parts(clients, routes, level, route):
    """Pulled from the program in pieces, and handed to it in pieces."""
    more = dict(stream_bytes=500, receive_bytes=700, flags=smq.OPTION_PARTS, protocol=V5, maximum_packet_bytes=smq.OFF)
    client = clients(**routes(route), **more)
    client.connected()
    client.subscribed(level, qos=1)
    payload = pattern(LARGE)
    assert client.stream(level, LARGE, lambda offset, size: payload[offset:offset + size], qos=1, cookie=1) == smq.OK
    got = bytearray()
    while len(got) < LARGE:
        part = client.message()
        assert (part.payload_offset, part.payload_total) == (len(got), LARGE)
        got += part.payload
    assert got == payload
    assert client.completed(1).status == smq.OK
    assert client.leave().status == smq.OK


def test_a_session_is_resumed(clients, routes, level, route, protocol):
    """Also of TLS, each time after the first one."""
    options = dict(client_id=level, flags=smq.OPTION_KEEP_SESSION, subscriptions=4)
    client = clients(**routes(route), protocol=protocol, **options)
    for attempt in range(3):
        assert client.connected().session_present == (attempt > 0)
        if "tls" in routes(route) and attempt and not route.startswith("ejabberd"):
            assert tls_of.describe(client).is_resumed
        assert client.subscribe(level, qos=2, cookie=7) == smq.OK
        assert client.completed(7).status == smq.OK
        assert client.publish(level, b"%d" % attempt, qos=2, cookie=8) == smq.OK
        assert client.completed(8).status == smq.OK
        assert client.message().payload == b"%d" % attempt
        assert client.leave().status == smq.OK


def test_leaving_drains(clients, routes, subscribe, level, route):
    """All that was published goes out before DISCONNECT, in order."""
    witness = subscribe(routes.server(route), f"{level}/#")
    client = clients(**routes(route), outbox_bytes=400_000, outbox_messages=500,
                     will=smq.Message(topic=f"{level}/will", payload=b"gone", qos=2))
    client.connected()
    for number in range(300):
        assert client.publish(f"{level}/{number % 3}", b"%d " % number + bytes(number), qos=number % 3) == smq.OK
    assert client.leave(30_000).status == smq.OK
    client.close()
    # Behind a Will of the same QoS, if there were one.
    routes.server(route).publish(f"{level}/after", "x", "-q", "2")
    got = witness.take(301)
    assert sorted({m.topic for m in got}) == [*(f"{level}/{qos}" for qos in range(3)), f"{level}/after"]
    for qos in range(3):
        numbers = [int(m.payload.split()[0]) for m in got if m.topic == f"{level}/{qos}"]
        assert numbers == list(range(qos, 300, 3))


def test_the_will_of_who_did_not_leave(clients, routes, subscribe, level, route, protocol):
    witness = subscribe(routes.server(route), f"{level}/#")
    will = smq.Message(topic=f"{level}/will", payload=b"gone", qos=1)
    client = clients(**routes(route), protocol=protocol, will=will)
    client.connected()
    client.close()
    assert [m.payload for m in witness.take(1)] == [b"gone"]


# ---- Servers that are not there, end, or send elsewhere

# The stages in front of the scripted broker.
STACKS = {
    "TLS": ("mqtts", lambda certificate: [TLS(certificate)]),
    "WebSocket": ("ws", lambda certificate: [WebSocket()]),
    "WebSocket over TLS": ("wss", lambda certificate: [TLS(certificate), WebSocket()]),
}


@pytest.fixture(params=STACKS)
def stack(request: pytest.FixtureRequest, certificates: Certificates, tls, broker):
    """(scheme, options, a peer in front of the scripted broker)."""
    scheme, stages = STACKS[request.param]
    with Peer(*stages(certificates.good), upstream=broker.port) as peer:
        yield scheme, {"tls": tls} if scheme != "ws" else {}, peer
        assert peer.violations == []


QUICK = dict(reconnect_min_ms=10, reconnect_max_ms=20, jitter=smq.JITTER_NONE)


def test_reconnecting(clients, broker, stack):
    """The peer cuts a connection that is open, in several ways. What was accepted arrives once."""
    scheme, options, peer = stack
    client = clients(url=f"{scheme}://localhost:{peer.port}", reconnect=True, client_id="c", protocol=V5,
                     flags=smq.OPTION_KEEP_SESSION, **QUICK, **options)
    client.connected()
    got = []
    for number in range(6):
        assert client.publish("a", b"%d" % number, qos=2, cookie=number) == smq.OK
        got.append(client.completed(number).status)
        broker.last.end(abruptly=number % 2 == 1)
        event = client.disconnected()
        assert event.status in (smq.ERR_CLOSED, smq.ERR_NETWORK, smq.ERR_WEBSOCKET), event
        assert event.stage == smq.STAGE_CONNECTED and event.retry_ms <= 20
        client.wait_event(smq.EVENT_CONNECTED)
    assert got == [smq.OK] * 6
    assert len(peer.seen) == 7


def test_the_next_server_if_tls_fails(clients, listeners, tls):
    """The same server is not tried again at another address: its certificate would be the same."""
    bad = ("expired", "wrong-name", "unknown", "self-signed", "future")
    hosts = ",".join(f"localhost:{listeners[name].port}" for name in (*bad, "good"))
    client = clients(url=f"mqtts://{hosts}", reconnect=True, tls=tls, **QUICK)
    assert client.connect() == smq.OK
    for _ in bad:
        event = client.disconnected()
        assert (event.status, event.stage, event.retry_ms) == (smq.ERR_TLS, smq.STAGE_TLS, 0)
    assert client.wait_event(smq.EVENT_CONNECTED).attempt == len(bad) + 1
    assert client.stats.ended_tls == len(bad)


def test_a_failure_is_told_while_the_next_attempt_runs(clients, listeners, tls):
    """But without what the layers said, as they speak to another server by then."""
    hosts = ",".join(f"localhost:{listeners[name].port}" for name in ("expired", "good"))
    client = clients(url=f"mqtts://{hosts}", reconnect=True, tls=tls, **QUICK)
    assert client.failure().status == smq.OK
    assert client.connect() == smq.OK
    client.disconnected()
    failure = client.failure()
    assert (failure.status, failure.attempt, tls_of.CAUSES[failure.tls_cause], failure.tls_depth) == (
        smq.ERR_TLS, 1, "EXPIRED", 0)
    assert failure.text.value() and failure.not_after_s
    client.wait_event(smq.EVENT_CONNECTED)
    failure = client.failure()
    assert (failure.status, failure.stage, failure.attempt) == (smq.ERR_TLS, smq.STAGE_TLS, 1)
    assert (tls_of.CAUSES[failure.tls_cause], failure.tls_depth, failure.text.value(), failure.not_after_s) == (
        "NONE", -1, b"", 0)


@pytest.mark.parametrize("scheme, count", [("mqtts", 1), ("wss", 2)])
def test_a_redirect_keeps_tls(clients, broker, mosquitto, certificates, tls, scheme, count):
    """To a server that speaks TLS, and from there back to one that does not: to that there is no connection."""
    stages = [TLS(certificates.good), WebSocket()][:count]
    with Peer(*stages, upstream=broker.port) as peer, Peer(*stages, upstream=mosquitto.port) as other:
        elsewhere = [f"localhost:{mosquitto.port}", f"localhost:{other.port}"]
        broker.scripts = [Script(at={1: refuse(0x9C, server_reference=reference)}) for reference in elsewhere]
        client = clients(url=f"{scheme}://localhost:{peer.port}", reconnect=True, protocol=V5, tls=tls,
                         flags=smq.OPTION_REDIRECT, **QUICK)
        assert client.connect() == smq.OK
        assert client.disconnected().status == smq.ERR_REFUSED
        event = client.disconnected()
        assert (event.status, event.stage) == (smq.ERR_TLS, smq.STAGE_TLS)
        assert client.disconnected().status == smq.ERR_REFUSED
        client.wait_event(smq.EVENT_CONNECTED)
        assert tls_of.describe(client).version >= 0x0303
        assert (len(peer.seen), len(other.seen)) == (2, 1)


@pytest.mark.parametrize("how", ["refused", "closed"])
def test_fallback_to_older_versions(clients, broker, stack, how):
    """Servers that do not speak a version say so, or close: TCP, TLS or the WebSocket."""
    scheme, options, peer = stack
    first, second = (refuse(0x84), refuse(1)) if how == "refused" else (close, close)
    broker.scripts = [Script(at={1: first}), Script(at={1: second})]
    client = clients(url=f"{scheme}://localhost:{peer.port}", client_id="c", protocol=V5, flags=smq.OPTION_FALLBACK,
                     **options)
    event = client.connected()
    assert (event.protocol, event.attempt) == (smq.PROTOCOL_3_1, 1)
    assert [fields["level"] for fields in broker.connects] == [5, 4, 3]
    assert client.publish("a", b"x", qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    assert len(peer.seen) == 3


def test_a_certificate_that_is_refused_is_no_reason_to_speak_an_older_version(clients, listeners, tls):
    client = clients(url=listeners["expired"].url_for("localhost"), protocol=V5, flags=smq.OPTION_FALLBACK, tls=tls)
    assert client.connect() == smq.OK
    client.ended_with(smq.ERR_TLS, smq.STAGE_TLS)
    assert client.stats.attempts == 1
    assert tls_of.CAUSES[client.failure().tls_cause] == "EXPIRED"


@pytest.mark.parametrize("name", ["other.example", "other.example."])
def test_the_name_to_check_may_end_with_a_dot(clients, listeners, tls, name):
    """As a host may (RFC 3986 section 3.2.2), and a certificate's name does not."""
    client = clients(url=listeners["wrong-name"].url_for("localhost"), tls=tls, tls_name=name)
    client.connected()
    assert client.leave().status == smq.OK


CLIENTS = {None: ("CERTIFICATE_WANTED", 116), "unknown_client": ("CERTIFICATE_REFUSED", 48)}


@pytest.mark.parametrize("listener", ["client", "wss-client"])
@pytest.mark.parametrize("who", CLIENTS)
def test_a_client_certificate_is_refused_behind_the_handshake(clients, listeners, certificates, listener, who):
    """In TLS 1.3 the server sees it when the client's handshake is over (RFC 8446 section 4.4.2.4): a failure of TLS with its
    alert nevertheless, and no reason to speak an older version."""
    own = getattr(certificates, who) if who else None
    files = dict(certificate_file=own.file, key_file=own.key) if own else {}
    with tls_of.Tls(ca_file=certificates.ca_file, **files) as settings:
        client = clients(url=listeners[listener].url_for("localhost"), protocol=V5, flags=smq.OPTION_FALLBACK, tls=settings)
        assert client.connect() == smq.OK
        client.ended_with(smq.ERR_TLS, smq.STAGE_TLS)
        failure = client.failure()
        assert (tls_of.CAUSES[failure.tls_cause], failure.tls_alert) == CLIENTS[who]
        assert (client.stats.attempts, client.stats.connections) == (1, 0)
        client.close()


@pytest.mark.parametrize("version", [0x0303, 0x0304])
def test_a_chain_larger_than_the_buffer_of_the_engine(clients, broker, certificates, tmp_path, version):
    """The client's part of the handshake takes several turns, between which nothing comes from the server."""
    much = {"nsComment": "x" * 16_000}
    root = Authority(tmp_path, "large")
    middle = root.authority("large-middle", extensions=much)
    own = middle.authority("large-lower", extensions=much).issue("large-client", names="DNS:client", extensions=CLIENT | much)
    assert len(own.chain.read_bytes()) > 60_000
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(root.certificate)
    context.maximum_version = ssl.TLSVersion(version)
    with Peer(TLS(certificates.good, context=context), upstream=broker.port) as peer, tls_of.Tls(
        ca_file=certificates.ca_file, certificate_file=own.chain, key_file=own.key) as settings:
        client = clients(url=f"mqtts://localhost:{peer.port}", tls=settings, connect_timeout_ms=10_000)
        assert client.connect() == smq.OK
        # In one call: each call goes on with the handshake, so that many of them would get there anyway.
        assert smq.library.smq_wait(client.handle, 60_000) == 1
        assert client.wait_event(smq.EVENT_CONNECTED).status == smq.OK
        assert client.publish("a", b"x", qos=1, cookie=1) == smq.OK
        assert client.completed(1).status == smq.OK
        assert client.leave().status == smq.OK
        assert peer.violations == []
        client.close()


def test_an_engine_without_settings_is_refused_at_once(tls):
    options = smq.Options(url="mqtts://localhost", **tls.options)
    assert smq.library.smq_client_size(ctypes.byref(options)) > 0
    options.tls_settings = None
    assert smq.library.smq_client_size(ctypes.byref(options)) == 0
    assert smq.library.smq_options_check(ctypes.byref(options), None) == smq.ERR_OPTION


# ---- Refusals of real proxies


PROXY_REFUSALS = {
    "Microsocks without its password": ("Microsocks", ("user", "right"), None, dict(socks_reply=256)),
    "Microsocks with a wrong one": ("Microsocks", ("user", "right"), ("user", "wrong"), dict(socks_reply=257)),
    "Microsocks, a dead server": ("Microsocks", None, None, dict(socks_reply=5)),
    "Dante, a dead server": ("Dante", None, None, dict(socks_reply=5)),
    "Tinyproxy without its password": ("Tinyproxy", ("user", "right"), None, dict(http_status=407)),
    "Tinyproxy with a wrong one": ("Tinyproxy", ("user", "right"), ("user", "wrong"), dict(http_status=401)),
    "Tinyproxy, a dead server": ("Tinyproxy", None, None, dict(http_status=500)),
    "Squid without its password": ("Squid", ("user", "right"), None, dict(http_status=407)),
    "Squid with a wrong one": ("Squid", ("user", "right"), ("user", "wrong"), dict(http_status=407)),
    "Squid, a dead server": ("Squid", None, None, dict(http_status=503)),
}


@pytest.mark.parametrize("case", PROXY_REFUSALS)
def test_a_proxy_refuses(clients, routes, listeners, tls, case):
    from Support import forward_proxies
    from Support.servers import free_port

    kind, login, given, expected = PROXY_REFUSALS[case]
    proxy = routes.proxy(getattr(forward_proxies, kind), login)
    port = free_port() if "dead" in case else listeners["good"].port
    url = proxy.url.replace(":".join(login) + "@", ":".join(given) + "@" if given else "") if login else proxy.url
    client = clients(url=f"mqtts://127.0.0.1:{port}", proxy=url, tls=tls)
    assert client.connect() == smq.OK
    client.ended_with(smq.ERR_PROXY, smq.STAGE_PROXY)
    failure = client.failure()
    assert {name: getattr(failure, name) for name in expected} == expected, failure
