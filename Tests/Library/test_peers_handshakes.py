"""The scripted peers play their handshakes well, and badly when told to, as other people's clients see it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess

import pytest

from Support import wrong_answers
from Support.handshakes import TLS, Connect, Peer, Socks5, WebSocket
from Support.pipes import Script
from Support.servers import free_port, need
from Support.waiting import PATIENCE

LOGIN = ("user", "p@ss:word")
STAGES = {
    "SOCKS5": lambda certificates: Socks5(),
    "CONNECT": lambda certificates: Connect(),
    "TLS": lambda certificates: TLS(certificates.good),
}
CONNECT_PACKET = bytes.fromhex("100d 0004 4d515454 04 02 003c 0001 61")
CONNACK = bytes.fromhex("2002 0000")


def curl(peer: Peer, topic: str, stage: str, certificates=None, port: int = 0, login=None) -> subprocess.CompletedProcess:
    """Publishes by MQTT 3.1.1 through the peer as a proxy, or asks it for a page by HTTPS."""
    command = [need("curl", "peers"), "-sv", "--max-time", str(int(PATIENCE)), "--noproxy", "", "-d", "payload"]
    if stage == "TLS":
        command += ["--cacert", str(certificates.ca_file), f"https://localhost:{peer.port}/"]
    else:
        scheme = "socks5h" if stage == "SOCKS5" else "http"
        command += ["--proxytunnel", "--proxy-basic", "--proxy", f"{scheme}://127.0.0.1:{peer.port}"]
        command += ["--proxy-user", ":".join(login)] if login else []
        command += [f"mqtt://localhost:{port or free_port()}/{topic}"]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE)


@pytest.mark.parametrize("login", [None, LOGIN], ids=["", "password"])
@pytest.mark.parametrize("stage, kind", [("SOCKS5", Socks5), ("CONNECT", Connect)])
def test_a_good_proxy(listeners, subscribe, level, stage, kind, login):
    subscriber = subscribe(listeners, level)
    with Peer(kind(login), upstream=listeners.port) as peer:
        done = curl(peer, level, stage, port=1234, login=login)
        assert done.returncode == 0, done.stderr
        assert subscriber.take(1)[0].payload == b"payload"
        seen = peer.until_ended(0)
        assert (seen.target, seen.login, seen.opened) == (("localhost", 1234), login, 1)
        if login:
            assert curl(peer, level, stage, port=1234, login=("user", "wrong")).returncode != 0
            assert peer.until_ended(1).opened == 0
        assert peer.violations == []


@pytest.mark.parametrize("piece", [0, 1])
@pytest.mark.parametrize("stages", ["TLS", "SOCKS5 TLS", "TLS WebSocket", "CONNECT TLS WebSocket", "WebSocket"])
def test_mqtt_within_all_of_them(certificates, listeners, stages, piece):
    """By a client of a few lines and Python's ssl, with each record and frame of one byte."""
    names = stages.split()
    rows = STAGES | {
        "TLS": lambda certificates: TLS(certificates.good, record=piece or 16384),
        "WebSocket": lambda certificates: WebSocket(frame=piece),
    }
    scripts = [Script(piece=piece)]
    with Peer(*(rows[name](certificates) for name in names), upstream=listeners.port, scripts=scripts) as peer:
        with socket.create_connection(("127.0.0.1", peer.port), timeout=PATIENCE) as raw:
            if "SOCKS5" in names:
                raw.sendall(b"\x05\x01\x00")
                assert receive(raw, 2) == b"\x05\x00"
                raw.sendall(bytes.fromhex("05 01 00 03 09") + b"localhost" + bytes.fromhex("075b"))
                assert receive(raw, 10)[1] == 0
            if "CONNECT" in names:
                raw.sendall(b"CONNECT localhost:1883 HTTP/1.1\r\nHost: localhost:1883\r\n\r\n")
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += raw.recv(1)
            outer = raw
            if "TLS" in names:
                context = ssl.create_default_context(cafile=str(certificates.ca_file))
                outer = context.wrap_socket(raw, server_hostname="localhost")
            stream = outer.makefile("rb")
            if "WebSocket" in names:
                outer.sendall(
                    b"GET /mqtt?a=b HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                )
                head = []
                while (line := stream.readline()) != b"\r\n":
                    head.append(line)
                # The example of RFC 6455 section 1.3.
                assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in head
                mask = b"\x01\x02\x03\x04"
                masked = bytes(byte ^ mask[n % 4] for n, byte in enumerate(CONNECT_PACKET))
                outer.sendall(bytes([0x82, 0x80 | len(masked)]) + mask + masked)
                got = b""
                while len(got) < 4:
                    first, size = stream.read(2)
                    assert first == 0x82 and (size == piece or not piece)
                    got += stream.read(size)
            else:
                outer.sendall(CONNECT_PACKET)
                got = stream.read(4)
            assert got == CONNACK
            stream.close()
            outer.close()
        seen = peer.until_ended(0)
        assert seen.opened == len(names) and seen.path == ("/mqtt?a=b" if "WebSocket" in names else "")
        assert peer.violations == []


@pytest.mark.parametrize("name", wrong_answers.SOCKS5_TAKEN)
def test_curl_takes_socks_answers(listeners, subscribe, level, name):
    subscriber = subscribe(listeners, level)
    with Peer(Socks5(), upstream=listeners.port, scripts=[wrong_answers.SOCKS5_TAKEN[name]]) as peer:
        assert curl(peer, level, "SOCKS5").returncode == 0
        assert subscriber.take(1)[0].payload == b"payload"


@pytest.mark.parametrize("name", wrong_answers.CONNECT_TAKEN)
def test_curl_takes_http_answers(listeners, subscribe, level, name):
    subscriber = subscribe(listeners, level)
    with Peer(Connect(), upstream=listeners.port, scripts=[wrong_answers.CONNECT_TAKEN[name]]) as peer:
        assert curl(peer, level, "CONNECT").returncode == 0
        assert subscriber.take(1)[0].payload == b"payload"


def refused_by_curl():
    tables = {
        "SOCKS5": wrong_answers.SOCKS5_REFUSED,
        "CONNECT": wrong_answers.CONNECT_REFUSED,
        "TLS": wrong_answers.TLS_REFUSED,
    }
    # curl waits for more after these, and would do so for ever.
    waits = {("SOCKS5", "MQTT"), ("SOCKS5", "HTTP")}
    for stage, table in tables.items():
        for name in table:
            if (stage, name) not in waits:
                yield pytest.param(stage, table[name], id=f"{stage}-{name}")


@pytest.mark.parametrize("stage, script", refused_by_curl())
def test_curl_refuses(certificates, listeners, stage, script):
    with Peer(STAGES[stage](certificates), upstream=listeners.port, scripts=[script]) as peer:
        done = curl(peer, "topic", stage, certificates)
        assert done.returncode not in (0, 28), done.stderr  # 28: the time was over
        assert peer.until_ended(0).end


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", ["close", "reset"])
def test_faults_at_each_byte(certificates, stage, fault):
    """Where the server's answer ends, Python's client sees just as many bytes, and how it ended."""
    with Peer(STAGES[stage](certificates)) as peer:
        total = len(converse(peer, stage, certificates))
        offsets = range(total) if stage != "TLS" else range(0, total, 97)
        for number, at in enumerate(offsets, 1):
            peer.scripts = [Script(fault=fault, at=at)]
            got = converse(peer, stage, certificates, until_end=True)
            assert len(got) == at or (fault == "reset" and len(got) < at)  # RST drops what was not read
            seen = peer.until_ended(number)
            assert (seen.sent, seen.end) == (at, "ours")
        assert peer.violations == []


def converse(peer: Peer, stage: str, certificates, until_end: bool = False) -> bytes:
    """What the server sends to a client that asks as it should."""
    with socket.create_connection(("127.0.0.1", peer.port), timeout=PATIENCE) as raw:
        got = b""
        try:
            if stage == "SOCKS5":
                for request, size in ((b"\x05\x01\x00", 2), (bytes.fromhex("05 01 00 01 7f000001 0001"), 10)):
                    raw.sendall(request)
                    got += receive(raw, size)
            elif stage == "CONNECT":
                raw.sendall(b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n")
                while not got.endswith(b"\r\n\r\n") and (more := raw.recv(1)):
                    got += more
            else:
                context = ssl.create_default_context(cafile=str(certificates.ca_file))
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
                while True:
                    try:
                        tls.do_handshake()
                        raw.sendall(outgoing.read())
                        if not until_end:
                            return got
                        break
                    except ssl.SSLWantReadError:
                        raw.sendall(outgoing.read())
                        more = raw.recv(65536)
                        got += more
                        if not more:
                            break
                        incoming.write(more)
            while until_end and (more := raw.recv(65536)):
                got += more
        except ConnectionError:
            assert until_end
        return got


def receive(raw: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size and (more := raw.recv(size - len(got))):
        got += more
    return got


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("at", [None, 0, 1])
def test_silence_lasts_until_the_client_ends_it(certificates, stage, at):
    context = ssl.create_default_context(cafile=str(certificates.ca_file))
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    first = {
        "SOCKS5": b"\x05\x01\x00",
        "CONNECT": b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
        "TLS": outgoing.read(),
    }
    with Peer(STAGES[stage](certificates), scripts=[Script(fault="silent", at=at)]) as peer:
        with socket.create_connection(("127.0.0.1", peer.port), timeout=PATIENCE) as raw:
            raw.sendall(first[stage])
            assert len(receive(raw, at or 0)) == (at or 0)
            raw.shutdown(socket.SHUT_WR)
            assert raw.recv(100) == b""
        assert peer.until_ended(0).end == "closed"


@pytest.mark.parametrize(
    "stage, request_, what",
    [
        (Socks5, b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", "the greeting"),
        (Socks5, b"\x05\x01\x00\x05\x01\x00", "bytes before the answer"),
        (Connect, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "the request"),
        (Connect, b"CONNECT a:1 HTTP/1.1\r\nHost: b:1\r\n\r\n", "the request"),
        (Connect, b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nhost: a:1\r\n\r\n", "the line"),
        (Connect, b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n\x10", "bytes before the answer"),
        (WebSocket, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "the request"),
    ],
)
def test_what_a_client_does_wrong_is_noted(stage, request_, what):
    with Peer(stage()) as peer:
        with socket.create_connection(("127.0.0.1", peer.port), timeout=PATIENCE) as raw:
            raw.sendall(request_)
            assert raw.recv(100) == b""
        peer.until_ended(0)
        assert len(peer.violations) == 1 and what in peer.violations[0]


def test_frames_of_a_client_that_are_wrong(listeners):
    wrong = ["820100", "c28100000000", "818100000000", "82fe007d00000000", "8980", "098000000000"]
    with Peer(WebSocket(), upstream=listeners.port) as peer:
        for number, text in enumerate(wrong):
            with socket.create_connection(("127.0.0.1", peer.port), timeout=PATIENCE) as raw:
                raw.sendall(
                    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                )
                assert raw.recv(65536).startswith(b"HTTP/1.1 101 ")
                raw.sendall(bytes.fromhex(text) + (b"" if text == "8980" else bytes(200)))
                if text == "8980":
                    raw.shutdown(socket.SHUT_WR)
            peer.until_ended(number)
        assert len(peer.violations) == len(wrong) - 1, peer.violations


def test_what_comes_behind_the_answer_is_in_the_same_piece():
    with Peer(WebSocket(), scripts=[Script(behind=wrong_answers.FRAMES_TAKEN["Ping"])]) as peer:
        with socket.create_connection(("127.0.0.1", peer.port), timeout=PATIENCE) as raw:
            raw.sendall(
                b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, upgrade\r\n"
                b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            )
            assert raw.recv(65536).endswith(b"\r\n\r\n\x89\x00")
