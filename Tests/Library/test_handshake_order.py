"""What goes over the wire, as tshark sees it with the keys that the client has logged: the order of the handshakes, and how
little of one is left when a session of TLS is resumed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from Support import smq, tls as tls_of
from Support.handshakes import TLS, Connect, Peer, Socks5, WebSocket
from Support.recording import Proxy, write_pcap
from Support.servers import need

FIELDS = ["frame.protocols", "socks.version", "http.request.method", "tls.handshake.type",
          "tls.handshake.extensions_server_name", "tls.handshake.extensions_alpn_str", "http.upgrade", "websocket.opcode",
          "data.data"]
CONNECT = {"socks5": ("socks.version", "5"), "http": ("http.request.method", "CONNECT")}


def seen_by_tshark(pcap: Path, port: int, keys: Path, scheme: str) -> list[dict[str, str]]:
    """Frame by frame, the fields that there are."""
    kind = "socks" if scheme == "socks5" else "http"
    command = [need("tshark", "interop"), "-n", "-r", pcap, "-d", f"tcp.port=={port},{kind}", "-o",
               f"tls.keylog_file:{keys}", "-T", "fields", "-E", "separator=|", *(p for f in FIELDS for p in ("-e", f))]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=100,
                          env={"PATH": "/usr/bin:/bin", "HOME": str(pcap.parent)})
    assert done.returncode == 0, done.stderr
    return [dict(zip(FIELDS, line.split("|"))) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("scheme, stage", [("socks5", Socks5), ("http", Connect)])
def test_the_order_of_the_handshakes(clients, certificates, broker, tmp_path, scheme, stage):
    """The proxy, ClientHello with SNI and ALPN, the upgrade, and CONNECT: each when the one before has been answered."""
    keys = tmp_path / "keys"
    with tls_of.Tls(ca_file=certificates.ca_file, key_log_file=keys) as tls, Peer(
        stage(), TLS(certificates.good), WebSocket(), upstream=broker.port
    ) as peer:
        wire = Proxy(SimpleNamespace(host="127.0.0.1", port=peer.port), tmp_path / "wire.pcap")
        client = clients(url="wss://localhost", proxy=f"{scheme}://127.0.0.1:{wire.port}", tls=tls, alpn="http/1.1")
        client.connected()
        client.leave()
        peer.until_ended(0)
        wire.close()
        write_pcap(wire.pcap, wire.recordings, wire.port)
        frames = seen_by_tshark(wire.pcap, wire.port, keys, scheme)

    def first(field: str, value: str) -> int:
        found = [number for number, frame in enumerate(frames)
                 if any(each == value or field == "data.data" and each.startswith(value) for each in frame[field].split(","))]
        assert found, (field, value, frames)
        return found[0]

    hello = first("tls.handshake.type", "1")
    order = [first(*CONNECT[scheme]), hello, first("tls.handshake.type", "2")]
    if scheme == "http":  # tshark 4.0 decrypts nothing within SOCKS, and takes MQTT within WebSocket for data
        order += [first("http.upgrade", "websocket"), first("data.data", "10"), first("data.data", "20")]
    assert order == sorted(set(order)), frames
    assert frames[hello]["tls.handshake.extensions_server_name"] == "localhost"
    assert frames[hello]["tls.handshake.extensions_alpn_str"] == "http/1.1"
    # Nothing is sent in plain once the proxy has answered.
    client_bytes = wire.recordings[0].data(from_client=True)
    assert b"MQTT" not in client_bytes and b"Upgrade" not in client_bytes and client_bytes.count(b"HTTP/1.1") <= 1


def test_what_is_left_of_a_handshake(clients, listeners, certificates, tmp_path):
    """From the first byte to CONNACK, both ways, tickets included."""
    server = SimpleNamespace(host="127.0.0.1", port=listeners["good"].port)
    wire = Proxy(server, tmp_path / "wire.pcap")
    with tls_of.Tls(ca_file=certificates.ca_file) as tls:
        client = clients(url=f"mqtts://localhost:{wire.port}", tls=tls)
        sizes = []
        for is_resumed in (0, 1, 1):
            client.connected()
            assert tls_of.describe(client).is_resumed == is_resumed
            recording = wire.recordings[-1]
            sizes.append(sum(len(chunk.data) for chunk in list(recording.chunks)))
            client.leave()
    wire.close()
    assert max(sizes[1:]) <= 1300 < sizes[0], sizes
