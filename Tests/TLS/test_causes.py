"""Why it failed: every cause that a peer can bring about. Mosquitto's are in test_mosquitto.py, those of the settings in
test_settings.py."""

from __future__ import annotations

import socket
import ssl
import time

import pytest

from .engine import CONSTANTS, Connection, Failed, Settings, call, ctypes, failure
from .memory_peer import MemoryPeer, server_context

TLS_1_2 = 0x0303
ALERT, HANDSHAKE, DATA = 21, 22, 23


@pytest.fixture
def trusting(certificates):
    with Settings(ca_file=certificates.ca_file) as settings:
        yield settings


class Says:
    """A peer that says this, whatever it is told, and closes."""

    def __init__(self, data):
        self.data = data

    def settimeout(self, seconds):
        pass

    def send(self, data):
        return len(data)

    def recv(self, size):
        got, self.data = self.data[:size], self.data[size:]
        return got

    def close(self):
        pass


def failed(settings, sock, name="localhost", *, read=0, **more):
    """The Failed of a connection over this socket, whether it comes in the handshake or later."""
    with pytest.raises(Failed) as caught, Connection(settings, None, name, sock=sock, **more) as connection:
        connection.open()
        connection.send(b"x")
        connection.receive(read or 100)
    return caught.value


def record(kind, data, version=0x0303):
    return bytes([kind]) + version.to_bytes(2, "big") + len(data).to_bytes(2, "big") + data


# ---- Peers that are none

NOT_TLS = {
    "ssh": b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "http": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "zeros": bytes(100), "smtp": b"220 mail.example ESMTP\r\n", "mqtt": b"\x20\x02\x00\x01" * 4,
}


@pytest.mark.parametrize("what", NOT_TLS)
def test_not_tls(trusting, what):
    assert failed(trusting, Says(NOT_TLS[what])).cause == "NOT_TLS"


def test_closed_before_anything_and_in_the_middle(trusting, certificates):
    assert failed(trusting, Says(b"")).cause == "NOT_TLS"
    whole = MemoryPeer(server_context(certificates.good))
    assert failed(trusting, Says(record(HANDSHAKE, b"\2")[:3])).cause == "CLOSED"
    cut = MemoryPeer(server_context(certificates.good), change=lambda number, record: record if number < 2 else b"")
    assert failed(trusting, cut).cause == "CLOSED"
    assert whole.records == 0


# ---- Alerts (RFC 8446, section 6), in answer to ClientHello

EARLY_ALERTS = {0: "CLOSED", 10: "OTHER", 20: "OTHER", 40: "CIPHER", 42: "OTHER", 47: "OTHER", 48: "OTHER", 50: "OTHER",
                70: "VERSION", 71: "CIPHER", 80: "OTHER", 86: "VERSION", 109: "OTHER", 110: "OTHER", 112: "NAME",
                115: "PSK", 116: "CERTIFICATE_WANTED", 120: "ALPN", 255: "OTHER"}


@pytest.mark.parametrize("alert", EARLY_ALERTS)
def test_an_alert_at_once(trusting, alert):
    why = failed(trusting, Says(record(ALERT, bytes([1 if alert == 0 else 2, alert]))))
    assert why.cause == EARLY_ALERTS[alert]
    assert why.alert == (-1 if alert == 0 else alert)
    assert why.text


@pytest.mark.parametrize("alert, cause", [(20, "PSK"), (40, "PSK"), (47, "PSK"), (51, "PSK"), (115, "PSK"), (80, "OTHER")])
def test_an_alert_to_a_client_with_a_key(alert, cause):
    with Settings(psk_identity="me", psk=b"secret") as settings:
        assert failed(settings, Says(record(ALERT, bytes([2, alert])))).cause == cause


# ---- Servers that do not fit


@pytest.mark.parametrize("server, client, cause, alert", [
    (dict(maximum_version=ssl.TLSVersion.TLSv1_2), dict(minimum=0x0304), "VERSION", 70),
    (dict(minimum_version=ssl.TLSVersion.TLSv1_3), dict(maximum=TLS_1_2), "VERSION", 70),
    (dict(maximum_version=ssl.TLSVersion.TLSv1_1, minimum_version=ssl.TLSVersion.TLSv1), {}, "VERSION", 70),
    (dict(ciphers="AES256-GCM-SHA384:@SECLEVEL=0"), dict(maximum=TLS_1_2, ciphers="ECDHE-ECDSA-AES128-GCM-SHA256"), "CIPHER", 40),
    (dict(curve="secp521r1"), dict(groups="X25519"), "CIPHER", 40),
])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_in_common(certificates, server, client, cause, alert):
    server = dict(server)
    ciphers, curve = server.pop("ciphers", None), server.pop("curve", None)
    context = server_context(certificates.good, **server)
    if ciphers:
        context.set_ciphers(ciphers)
    if curve:
        context.set_ecdh_curve(curve)
    with Settings(ca_file=certificates.ca_file, **client) as settings:
        why = failed(settings, MemoryPeer(context))
    assert (why.cause, why.alert) == (cause, alert)


def test_alpn(certificates, trusting):
    context = server_context(certificates.good)
    context.set_alpn_protocols(["mqtt", "x-amzn-mqtt-ca"])
    with Connection(trusting, None, sock=MemoryPeer(context), alpn=b"x-amzn-mqtt-ca") as connection:
        connection.open()
        assert connection.info().alpn == b"x-amzn-mqtt-ca"
    # A server that does not know the extension is none that refuses it.
    with Connection(trusting, None, sock=MemoryPeer(server_context(certificates.good)), alpn=b"mqtt") as connection:
        connection.open()
        assert connection.info().alpn == b""


def test_no_protocol_in_common_with_s_server(certificates, trusting, s_server):
    port = s_server("-cert", certificates.good.file, "-key", certificates.good.key, "-alpn", "mqtt")
    why = failed(trusting, socket.create_connection(("127.0.0.1", port)), alpn=b"coap")
    assert (why.cause, why.alert) == ("ALPN", 120)


def test_the_name_goes_to_the_server_without_an_address(certificates, trusting):
    seen = []
    context = server_context(certificates.good)
    context.sni_callback = lambda tls, name, context: seen.append(name)
    for name in ("localhost", "127.0.0.1", "::1"):
        with Connection(trusting, None, name, sock=MemoryPeer(context)) as connection:
            connection.open()
    assert seen == ["localhost", None, None]


# ---- The client's own certificate, asked for by Python's server


@pytest.mark.parametrize("maximum", [TLS_1_2, 0])
@pytest.mark.parametrize("which, cause", [(None, "CERTIFICATE_WANTED"), ("unknown_client", "CERTIFICATE_REFUSED"), ("good", "CERTIFICATE_REFUSED")])
def test_client_certificates(certificates, which, cause, maximum):
    context = server_context(certificates.good, verify_mode=ssl.CERT_REQUIRED)
    context.load_verify_locations(certificates.ca_file)
    certificate = which and getattr(certificates, which)
    options = {"certificate_file": certificate.chain, "key_file": certificate.key} if certificate else {}
    with Settings(ca_file=certificates.ca_file, maximum=maximum, **options) as settings:
        why = failed(settings, MemoryPeer(context))
    assert why.cause == cause and why.alert > 0


# ---- Clocks


@pytest.mark.parametrize("now_s, floor, verify, cause", [
    (0, 0, 0, "CLOCK"), (1_000_000_000, 0, 0, "CLOCK"), (86400, 86400 * 2, 0, "CLOCK"), (0, 0, 86400, "NOT_YET_VALID"),
    (0, "now", 0, ""), (86400, "now", 0, ""), ("now", 0, 0, ""), ("future", 0, 0, "EXPIRED"), ("now", "future", 0, "EXPIRED"),
    (0, 0, "now", ""),
])
def test_clocks(certificates, now_s, floor, verify, cause):
    times = {"now": int(time.time()), "future": int(time.time()) + 800 * 86400}
    now_s, floor, verify = (times.get(value, value) for value in (now_s, floor, verify))
    with Settings(ca_file=certificates.ca_file, clock_floor_s=floor, verify_time_s=verify) as settings:
        peer = MemoryPeer(server_context(certificates.good))
        if not cause:
            with Connection(settings, None, sock=peer, now_s=now_s) as connection:
                connection.open()
            return
        why = failed(settings, peer, now_s=now_s)
        assert why.cause == cause
        assert why.depth == (1 if now_s < 1_700_000_000 else 0)  # the CA is the first that is checked, and older than a year


# ---- Broken bytes: whatever is changed on the way, it fails, and with a cause


@pytest.mark.parametrize("maximum", [TLS_1_2, 0])
def test_changed_on_the_way(certificates, maximum):
    context = server_context(certificates.good)
    causes = set()
    with Settings(ca_file=certificates.ca_file, maximum=maximum, flags=CONSTANTS["SMQ_TLS_NO_RESUMPTION"]) as settings:
        untouched = MemoryPeer(context, b"hello")
        sizes = []
        untouched.change = lambda number, data: sizes.append(len(data)) or data
        with Connection(settings, None, sock=untouched) as connection:
            connection.open()
            assert connection.receive(5) == b"hello"
        for number, size in enumerate(sizes):
            for position in sorted({*range(0, min(size, 12)), *range(12, size, 37), size - 1}):
                def change(index, data, number=number, position=position):
                    if index != number or position >= len(data):  # a signature may be a byte shorter
                        return data
                    return data[:position] + bytes([data[position] ^ 0x41]) + data[position + 1:]

                peer = MemoryPeer(context, b"hello", change)
                try:
                    with Connection(settings, None, sock=peer) as connection:
                        connection.open()
                        got = connection.receive(5)
                        # The version in a record's header means nothing, and neither do tickets to who does not resume.
                        assert got in (b"hello", b"")
                except Failed as why:
                    causes.add(why.cause)
                    # What the server notices first, it says in an alert.
                    assert why.cause not in ("NONE", "MEMORY") and (why.cause != "OTHER" or why.alert > 0), (number, position)
    assert {"PEER", "CLOSED"} <= causes and ("SIGNATURE" in causes or not maximum)


# ---- Odd servers (tlslite-ng)


@pytest.mark.parametrize("version", [3, 4])
def test_one_byte_in_each_record(certificates, trusting, tlslite, tmp_path, version):
    with Connection(trusting, None, sock=tlslite(whole(certificates, tmp_path), "small_records", version)) as connection:
        connection.open()
        assert connection.receive(5) == b"hello"
        connection.send(b"abcdefgh")
        assert connection.receive(8) == b"abcdefgh"


@pytest.mark.parametrize("how, version, cause, alert", [
    ("alert", 3, "OTHER", 80), ("alert", 4, "OTHER", 80), ("oversize", 3, "PEER", -1), ("oversize", 4, "PEER", -1)])
def test_after_the_handshake(certificates, trusting, tlslite, tmp_path, how, version, cause, alert):
    why = failed(trusting, tlslite(whole(certificates, tmp_path), how, version))
    assert (why.cause, why.alert) == (cause, alert)


def test_key_updates(certificates, trusting, tlslite, tmp_path):
    with Connection(trusting, None, sock=tlslite(whole(certificates, tmp_path), "key_updates", 4)) as connection:
        connection.open()
        assert connection.receive(25) == b"x" * 20 + b"hello"
        connection.send(b"still here")
        assert connection.receive(10) == b"still here"


@pytest.mark.parametrize("version", [3, 4])
def test_ends(certificates, trusting, tlslite, tmp_path, version):
    file = whole(certificates, tmp_path)
    with Connection(trusting, None, sock=tlslite(file, "half_close", version)) as connection:
        connection.open()
        assert connection.receive(10) == b"" and not connection.is_at_end  # the client's own affair: no cause of TLS
    with Connection(trusting, None, sock=tlslite(file, "goodbye", version)) as connection:
        connection.open()
        assert connection.receive(10) == b"" and connection.is_at_end
        connection.finish()


def whole(certificates, directory):
    """Key and certificates in one file."""
    file = directory / "server.pem"
    file.write_text(certificates.rsa.key.read_text() + certificates.rsa.chain.read_text())
    return file


# ---- What a flood of data meets


def test_nothing_is_taken_without_room_for_a_record(certificates, trusting):
    peer = MemoryPeer(server_context(certificates.good))
    with Connection(trusting, None, sock=peer) as connection:
        connection.open()
        data, why, taken = bytes(range(256)) * 256, failure(), []
        while count := call.write(connection.memory, data, len(data), ctypes.byref(why)):
            taken.append(count)
        assert taken == [16384]
        assert call.write(connection.memory, b"short", 5, ctypes.byref(why)) == 5  # this fits
        connection.flush()
        connection.send(data)
        peer.advance()
        assert peer.got == data[:16384] + b"short" + data
        peer.tls.write(data)
        assert connection.receive(len(data)) == data
