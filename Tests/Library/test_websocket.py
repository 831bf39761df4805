"""WebSocket on an open connection, and its request: what RFC 6455 allows a server, and what it does not."""

from __future__ import annotations

import struct

import pytest

from Support import smq
from Support.handshakes import TLS, Peer, WebSocket
from Support.scripted_broker import publish_packet
from Support.wrong_answers import FRAMES_REFUSED

V5 = smq.PROTOCOL_5_0
CONTINUATION, BINARY, CLOSE, PING, PONG = 0, 2, 8, 9, 10


@pytest.fixture(params=["ws", "wss"])
def peer(request, certificates, broker):
    """In front of the scripted broker."""
    stages = [TLS(certificates.good)] if request.param == "wss" else []
    with Peer(*stages, WebSocket(), upstream=broker.port) as peer:
        peer.url = f"{request.param}://localhost:{peer.port}"
        yield peer
        assert peer.violations == []


@pytest.fixture
def connected(clients, peer, tls):
    """(the client, the server's end of the WebSocket)"""
    more = {"tls": tls} if peer.url.startswith("wss") else {}
    client = clients(url=peer.url, **more)
    client.connected()
    return client, peer.seen[0].websocket


def controls(websocket, opcode: int) -> list[bytes]:
    return [payload for kind, payload in websocket.control if kind == opcode]


def test_a_message_in_frames_of_every_size(connected):
    client, websocket = connected
    packet = publish_packet(4, "a/b", bytes(range(256)), 0)
    for size in (1, 2, 3, 7, 100, 125, 126, len(packet) - 1, len(packet)):
        parts = [packet[at:at + size] for at in range(0, len(packet), size)]
        for number, part in enumerate(parts):
            websocket.send_frame(BINARY if number == 0 else CONTINUATION, part, final=number == len(parts) - 1)
            # Control frames may come between the fragments (section 5.4), and empty ones anywhere.
            websocket.send_frame(PING, b"%d" % number)
            websocket.send_frame(PONG, b"not asked for")
            if number < len(parts) - 1:
                websocket.send_frame(CONTINUATION, b"", final=False)
        event = client.message()
        assert (event.topic, event.payload) == (b"a/b", bytes(range(256)))
    client.until(lambda: controls(websocket, PONG))
    assert client.state == smq.STATE_CONNECTED


@pytest.mark.parametrize("size", [125, 126, 65_535, 65_536, 500_000])
def test_frames_with_many_messages(connected, size):
    """Each has more than the receive buffer holds, and ends within a packet."""
    client, websocket = connected
    packets = b"".join(publish_packet(4, "a", b"%06d" % number, 0) for number in range(size // 5))
    count = 0
    for at in range(0, len(packets), size):
        websocket.send_frame(BINARY, packets[at:at + size])
    for number in range(size // 5):
        assert client.message().payload == b"%06d" % number
        count += 1
    assert count == size // 5


def test_a_flood_of_pings(connected):
    """Not every one is answered, but the last one is (section 5.5.3), and MQTT goes on meanwhile."""
    client, websocket = connected
    for number in range(5000):
        websocket.send_frame(PING, b"%d" % number)
    assert client.publish("a", b"x", qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    client.until(lambda: b"4999" in controls(websocket, PONG))
    pongs = [int(payload) for payload in controls(websocket, PONG)]
    assert pongs == sorted(set(pongs))


def test_the_longest_control_frames(connected):
    client, websocket = connected
    websocket.send_frame(PING, b"p" * 125)
    client.until(lambda: controls(websocket, PONG))
    assert controls(websocket, PONG) == [b"p" * 125]
    websocket.send_frame(CLOSE, struct.pack(">H", 4999) + b"r" * 123)
    event = client.disconnected()
    failure = client.failure()
    assert (event.status, event.stage) == (smq.ERR_WEBSOCKET, smq.STAGE_CONNECTED)
    assert (failure.close_code, failure.text.value()) == (4999, b"r" * 123)


@pytest.mark.parametrize("code", [None, 1000, 1001, 1011, 1012, 3000, 4000])
def test_the_server_closes(connected, peer, code):
    """With a code, or without any, which counts as 1005 (section 7.1.5). What came before it is delivered."""
    client, websocket = connected
    websocket.send_frame(BINARY, publish_packet(4, "a", b"before", 0))
    websocket.send_frame(CLOSE, struct.pack(">H", code) if code else b"")
    websocket.send_frame(BINARY, publish_packet(4, "a", b"behind", 0))
    assert client.message().payload == b"before"
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_WEBSOCKET, smq.STAGE_CONNECTED)
    assert client.failure().close_code == (code or 1005)
    assert not client.messages()
    peer.until_ended(0)
    assert controls(websocket, CLOSE) == [struct.pack(">H", code) if code else b""]


@pytest.mark.parametrize("code", [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535])
def test_codes_that_may_not_be_sent(connected, peer, code):
    """Section 7.4.1 and 7.4.2."""
    client, websocket = connected
    websocket.send_frame(CLOSE, struct.pack(">H", code))
    assert client.disconnected().status == smq.ERR_WEBSOCKET
    assert client.failure().close_code == 1002
    peer.until_ended(0)
    assert controls(websocket, CLOSE) == [struct.pack(">H", 1002)]


def test_a_reason_that_is_no_text(connected, peer):
    client, websocket = connected
    websocket.send_frame(CLOSE, struct.pack(">H", 1000) + b"\xff")
    assert client.disconnected().status == smq.ERR_WEBSOCKET
    assert client.failure().close_code == 1007
    peer.until_ended(0)
    assert controls(websocket, CLOSE) == [struct.pack(">H", 1007)]


@pytest.mark.parametrize("name", FRAMES_REFUSED)
def test_what_no_server_may_send(connected, peer, name):
    """The client says why it goes, and the program learns the same."""
    client, websocket = connected
    websocket.below.send(FRAMES_REFUSED[name])
    event = client.disconnected()
    code = 1003 if "text" in name else 1002
    assert (event.status, event.stage) == (smq.ERR_WEBSOCKET, smq.STAGE_CONNECTED)
    assert client.failure().close_code == code
    peer.until_ended(0)
    assert controls(websocket, CLOSE) == [struct.pack(">H", code)]
    client.connected()


def test_leaving_closes_in_order(connected, peer, broker):
    """DISCONNECT, then Close with 1000, then the end."""
    client, websocket = connected
    assert client.leave().status == smq.OK
    assert peer.until_ended(0).end == "closed"
    assert controls(websocket, CLOSE) == [struct.pack(">H", 1000)]


def test_each_frame_has_a_mask_of_its_own(connected):
    """Section 5.3."""
    client, websocket = connected
    for number in range(200):
        assert client.publish("a", b"x", qos=1, cookie=number) == smq.OK
        client.completed(number)
    assert len(set(websocket.keys)) == len(websocket.keys) > 200


@pytest.mark.parametrize("size", [256, 4096, 65_536])
def test_the_largest_frame(clients, peer, tls, broker, size):
    more = {"tls": tls} if peer.url.startswith("wss") else {}
    client = clients(url=peer.url, websocket_bytes=size, outbox_bytes=300_000, **more)
    client.connected()
    assert client.publish("a", bytes(200_000), qos=1, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    # A frame carries at most what fits behind its header, and there are no more of them than it takes.
    assert len(peer.seen[0].websocket.keys) > 200_000 // size
    if size == 65_536:
        assert len(peer.seen[0].websocket.keys) < 60


# ---- The request

SIGNED = "/mqtt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Security-Token=" + "T0k%2Fen" * 250 + "&X-Amz-Signature=" + "0a" * 32


def test_a_long_path_and_headers(clients, peer, tls):
    assert len(SIGNED) > 2000
    more = {"tls": tls} if peer.url.startswith("wss") else {}
    headers = "X-Token: " + "t" * 3000 + "\r\nOrigin: https://example.com\r\n"
    client = clients(url=peer.url + SIGNED, websocket_headers=headers, websocket_protocol="mqtt, other", **more)
    client.connected()
    (request,) = peer.seen[0].requests
    lines = request.decode().split("\r\n")
    assert peer.seen[0].path == SIGNED and lines[0] == f"GET {SIGNED} HTTP/1.1"
    assert headers in request.decode()
    assert f"Host: localhost:{peer.port}" in lines
    assert "Sec-WebSocket-Protocol: mqtt, other" in lines


def test_a_host_of_the_program(clients, peer, tls):
    """It replaces the library's own: there is one (RFC 9112 section 3.2)."""
    more = {"tls": tls} if peer.url.startswith("wss") else {}
    clients(url=peer.url, websocket_headers="host: other.example\r\n", **more).connected()
    (request,) = peer.seen[0].requests
    assert request.lower().count(b"\r\nhost:") == 1 and b"\r\nhost: other.example\r\n" in request


@pytest.mark.parametrize("protocol, offered", [(3, "mqttv3.1, mqtt"), (4, "mqtt"), (5, "mqtt")])
def test_subprotocols(clients, peer, tls, protocol, offered):
    more = {"tls": tls} if peer.url.startswith("wss") else {}
    clients(url=peer.url, protocol=protocol, client_id="c", **more).connected()
    (request,) = peer.seen[0].requests
    assert f"\r\nSec-WebSocket-Protocol: {offered}\r\n" in request.decode()
    assert peer.seen[0].path == "/mqtt"


def test_a_new_request_for_each_attempt(clients, peer, tls, broker):
    """With what its credentials are asked for."""
    more = {"tls": tls} if peer.url.startswith("wss") else {}
    client = clients(url=peer.url, flags=smq.OPTION_ASK_CREDENTIALS, websocket_request_bytes=4096, **more)
    for number in range(4):
        assert client.connect() == smq.OK
        event = client.wait_event(smq.EVENT_CREDENTIALS)
        path = f"{SIGNED}{number}" if number < 3 else None
        assert client.websocket_request(path, f"X-Number: {number}\r\n" if number % 2 else None) == smq.OK
        assert client.credentials(event.attempt, "u", "p") == smq.OK
        client.wait_event(smq.EVENT_CONNECTED)
        (request,) = peer.seen[number].requests
        assert peer.seen[number].path == (path or "/mqtt")
        assert (f"X-Number: {number}\r\n".encode() in request) == (number % 2 == 1)
        assert request.count(b"X-Number") <= 1
        client.leave()


def test_what_does_not_fit(clients, peer, tls):
    more = {"tls": tls} if peer.url.startswith("wss") else {}
    client = clients(url=peer.url + "/four", **more)
    assert client.websocket_request("/12345") == smq.ERR_TOO_LARGE
    assert client.websocket_request("/1234") == smq.OK
    assert client.websocket_request("/", "A:\r\n") == smq.OK
    assert client.websocket_request("/12", "A:\r\n") == smq.ERR_TOO_LARGE
    client.connected()
    assert peer.seen[0].path == "/"
    larger = clients(url=peer.url, websocket_request_bytes=16_384, **more)
    assert larger.websocket_request("/" + "p" * 4095, "X: " + "h" * 8187 + "\r\n") == smq.OK
    assert larger.websocket_request("/" + "p" * 4096) in (smq.ERR_TOO_LARGE, smq.ERR_OPTION)
    larger.connected()
    assert peer.seen[1].path == "/" + "p" * 4095
    larger.leave()
    # A query alone has the path "/".
    assert larger.websocket_request("?a=b") == smq.OK
    larger.connected()
    assert peer.seen[2].path == "/?a=b"


WRONG_PATHS = ["mqtt", "/a b", "/a\r\nX: y", "/a\n", "/a\t", "/\0", "/\x7f", "/ä", "/a#b", "*", "http://a/b"]
WRONG_HEADERS = ["X", "X\r\n", "X: y", "X: y\n", "X: y\r", ": y\r\n", " X: y\r\n", "X : y\r\n", "X: y\r\n\r\n", "\r\n",
                 "X: y\r\n Z\r\n", "X: a\0b\r\n", "X: a\rb\r\n", "X: a\nb\r\n", "X(: y\r\n", "X: y\r\nZ", "X: \x7f\r\n"]
OWN_HEADERS = ["Upgrade: a\r\n", "Connection: a\r\n", "Sec-WebSocket-Key: a\r\n",
               "sec-websocket-version: 13\r\n", "Sec-WebSocket-Extensions: a\r\n", "Sec-WebSocket-Protocol: a\r\n",
               "X: y\r\nupgrade: a\r\n"]
RIGHT_HEADERS = ["X: y\r\n", "X:\r\n", "X:y\r\nZ: \t a \r\n", "Authorization: Basic YTpi\r\n", "Hosts: a\r\n", "X-Host: a\r\n",
                 "X: a\tb\r\n", "Cookie: a=b; c=d\r\n", "x-!#$%&'*+.^_`|~9: y\r\n", "Sec-Fetch-Mode: websocket\r\n",
                 "hOST: a\r\n"]
RIGHT_PATHS = ["/", "?a=b", "/a", "/a?b=c&d=%20", "/a//b", "/a?b?c", "/~!$&'()*+,;=:@-._", "/?" + "q" * 4000]


@pytest.mark.parametrize("by", ["options", "call"])
def test_paths_and_headers(clients, by):
    """Whatever would not be one line of a request, or is another one's business, is refused before anything is sent."""
    client = clients(host="localhost", flags=smq.OPTION_WEBSOCKET, websocket_request_bytes=8192)

    def status(path: str | None, headers: str | None) -> int:
        if by == "call":
            return client.websocket_request(path, headers)
        options = smq.Options(host="localhost", flags=smq.OPTION_WEBSOCKET, websocket_path=path or "",
                              websocket_headers=headers or "")
        return smq.library.smq_options_check(options, None)

    found = {path: status(path, None) for path in RIGHT_PATHS + WRONG_PATHS}
    assert found == dict.fromkeys(RIGHT_PATHS, smq.OK) | dict.fromkeys(WRONG_PATHS, smq.ERR_OPTION)
    found = {headers: status(None, headers) for headers in RIGHT_HEADERS + WRONG_HEADERS + OWN_HEADERS}
    assert found == dict.fromkeys(RIGHT_HEADERS, smq.OK) | dict.fromkeys(WRONG_HEADERS + OWN_HEADERS, smq.ERR_OPTION)


def test_a_client_without_websocket_has_no_request(clients):
    assert clients(url="mqtt://localhost").websocket_request("/") == smq.ERR_NOT_SUPPORTED
