"""Resumption: what it saves, when it is not done, and sessions that outlive the process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time

import pytest

from Support.certificates import hashed_directory
from Support.many_listeners import PSK_IDENTITY, PSK_KEY

from . import engine
from .engine import CONSTANTS, ROOT, Connection, Failed, Settings, leave, mqtt
from .memory_peer import MemoryPeer, server_context

TLS_1_2 = 0x0303


@pytest.fixture
def address(listeners):
    return listeners["good"].host, listeners["good"].port


def connected(settings, address, name="localhost", **more):
    """Connects to Mosquitto; returns whether the session was resumed, and the bytes on the wire up to CONNACK."""
    connection = mqtt(settings, address, name, **more)
    is_resumed, count = connection.info().is_resumed, connection.received_bytes + connection.sent_bytes
    leave(connection)
    return is_resumed, count


@pytest.mark.parametrize("maximum, most", [(TLS_1_2, 800), (0, 1300)])
def test_the_second_connection_resumes(certificates, address, maximum, most):
    with Settings(ca_file=certificates.ca_file, maximum=maximum) as settings:
        is_resumed, full = connected(settings, address)
        assert not is_resumed and full > 1300 - 200 * (maximum == TLS_1_2)
        for _ in range(3):
            is_resumed, count = connected(settings, address)
            assert is_resumed and count <= most
        assert 0 < len(settings.sessions()) <= 16384


def test_a_resumed_connection_knows_the_certificate(certificates, address):
    with Settings(ca_file=certificates.ca_file) as settings:
        leave(mqtt(settings, address))
        connection = mqtt(settings, address)
        assert connection.info().is_resumed and connection.info().certificates == 1
        assert connection.certificate().subject == b"CN=good" and connection.certificate(1) is None
        leave(connection)


def test_a_session_is_for_one_name_port_and_protocol(certificates, listeners, address):
    rsa = listeners["rsa"].host, listeners["rsa"].port
    with Settings(ca_file=certificates.ca_file) as settings:
        assert not connected(settings, address)[0]
        assert connected(settings, address, "LOCALHOST")[0]
        assert not connected(settings, address, "127.0.0.1")[0]
        assert not connected(settings, rsa)[0]
        assert not connected(settings, address, alpn=b"mqtt")[0]
        assert connected(settings, address)[0] and connected(settings, rsa)[0]
        assert connected(settings, address, alpn=b"mqtt")[0]


def test_a_client_certificate_and_a_key_resume_too(certificates, listeners):
    client = {"certificate_file": certificates.client.file, "key_file": certificates.client.key}
    key = {"psk_identity": PSK_IDENTITY, "psk": bytes.fromhex(PSK_KEY)}
    for name, options in ("client", {"ca_file": certificates.ca_file, **client}), ("psk", key):
        where = listeners[name].host, listeners[name].port
        with Settings(**options) as settings:
            assert not connected(settings, where)[0]
            assert connected(settings, where)[0]


def test_without_resumption(certificates, address):
    with Settings(ca_file=certificates.ca_file, flags=CONSTANTS["SMQ_TLS_NO_RESUMPTION"]) as settings:
        for _ in range(2):
            assert not connected(settings, address)[0]
        assert settings.sessions() == b""


def test_reload_forgets(certificates, address):
    with Settings(ca_file=certificates.ca_file) as settings:
        open_before = mqtt(settings, address)
        assert settings.sessions()
        settings.reload(ca_file=certificates.ca_file, maximum=TLS_1_2)
        assert settings.sessions() == b""
        # The one that is open keeps what it began with, and what it learns now is of the old settings.
        assert open_before.info().version == 0x0304
        open_before.send(b"\xc0\x00")
        assert open_before.receive(2) == b"\xd0\x00"
        leave(open_before)
        assert settings.sessions() == b""
        connection = mqtt(settings, address)
        assert connection.info().version == TLS_1_2 and not connection.info().is_resumed
        leave(connection)
        with pytest.raises(Failed):
            settings.reload(ca_file="/nonexistent")
        assert connected(settings, address)[0]


def test_a_handshake_that_fails_forgets(certificates):
    """The server that gave the ticket is replaced by one that ends the next handshake."""
    context = server_context(certificates.good)
    with Settings(ca_file=certificates.ca_file) as settings:
        with Connection(settings, None, sock=MemoryPeer(context, b"hello")) as connection:
            connection.open()
            assert connection.receive(5) == b"hello"
        before = settings.sessions()
        assert before
        with Connection(settings, None, sock=MemoryPeer(context, b"hello")) as connection:
            connection.open()
            assert connection.info().is_resumed
        broken = MemoryPeer(context, change=lambda number, record: record[:-1] + bytes([record[-1] ^ 1]))
        with Connection(settings, None, sock=broken) as connection, pytest.raises(Failed):
            connection.open()
        assert settings.sessions() == b""
        assert settings.resume(before) == 1
        silent = MemoryPeer(context, change=lambda number, record: b"")
        with Connection(settings, None, sock=silent) as connection, pytest.raises(Failed) as failed:
            connection.open()
        assert failed.value.cause == "NOT_TLS" and settings.sessions() == b""


def test_a_session_ends_with_the_certificate_and_the_ticket(certificates):
    context = server_context(certificates.good)

    def attempt(settings, **more):
        with Connection(settings, None, sock=MemoryPeer(context, b"hello"), **more) as connection:
            connection.open()
            assert connection.receive(5) == b"hello"
            return connection.info().is_resumed

    now = int(time.time())
    with Settings(ca_file=certificates.ca_file) as settings:
        assert not attempt(settings)
        assert attempt(settings, now_s=now + 3600)
        assert not attempt(settings, now_s=now + 8 * 86400)  # the ticket is too old
        assert attempt(settings)
        with pytest.raises(Failed) as failed:
            attempt(settings, now_s=now + 2 * 365 * 86400)
        assert failed.value.cause == "EXPIRED"


def test_they_outlive_the_process(certificates, address):
    """Exported by one process, and used by another."""
    program = """
import sys
from TLS.engine import Settings, leave, mqtt
with Settings(ca_file=sys.argv[1]) as settings:
    assert settings.resume(bytes.fromhex(sys.stdin.read())) == 1
    connection = mqtt(settings, ("127.0.0.1", int(sys.argv[2])))
    assert connection.info().is_resumed
    leave(connection)
"""
    with Settings(ca_file=certificates.ca_file) as settings:
        leave(mqtt(settings, address))
        sessions = settings.sessions()
    subprocess.run([sys.executable, "-c", program, str(certificates.ca_file), str(address[1])], input=sessions.hex(), text=True,
                   cwd=ROOT / "Tests", check=True, timeout=60)


def test_only_sessions_of_the_same_settings_are_taken(certificates, address):
    with Settings(ca_file=certificates.ca_file) as settings:
        leave(mqtt(settings, address))
        sessions = settings.sessions()
        assert settings.resume(sessions) == 1 and settings.sessions()[40:] == sessions[40:]
    for other in ({"ca_file": certificates.ca_and_crl}, {"ca_file": certificates.ca_file, "flags": CONSTANTS["SMQ_TLS_NO_VERIFY"]},
                  {"ca_file": certificates.ca_file, "pins": bytes(32)},
                  {"ca_file": certificates.ca_file, "flags": CONSTANTS["SMQ_TLS_NO_RESUMPTION"]},
                  {"ca_file": certificates.ca_file, "certificate_file": certificates.client.file,
                   "key_file": certificates.client.key}):
        with Settings(**other) as settings:
            assert settings.resume(sessions) == 0


def replaced(file, *sources):
    file.write_bytes(b"".join(source.read_bytes() for source in sources))


@pytest.mark.parametrize("name", ["ca_file", "crl_file"])
def test_what_a_file_had_counts_and_not_its_name(certificates, address, tmp_path, name):
    """A CA that is trusted no more, or a CRL that is newer, says something about a server whose session would say nothing."""
    file = tmp_path / "file.pem"
    first = certificates.ca_file if name == "ca_file" else certificates.crl
    replaced(file, first)
    options = {"ca_file": certificates.ca_file, name: file}
    with Settings(**options) as settings:
        leave(mqtt(settings, address))
        sessions = settings.sessions()
    with Settings(**options) as settings:
        assert settings.resume(sessions) == 1
    other = certificates.root.authority(f"other-{tmp_path.name}")
    for content in [certificates.other.certificate] if name == "ca_file" else [other.crl()], [first, other.crl()]:
        replaced(file, *content)
        with Settings(**options) as settings:
            assert settings.resume(sessions) == 0
    replaced(file, first)
    with Settings(**options) as settings:
        assert settings.resume(sessions) == 1


def test_what_a_directory_has_counts(certificates, address, tmp_path):
    """It is read when a certificate is checked, so that what counts is which files it has, of which time and size."""
    directory = hashed_directory(tmp_path / "hashed", certificates.ca_file)
    (link,) = directory.glob("*.0")
    os.utime(link, (1, 1))
    with Settings(ca_directory=directory) as settings:
        leave(mqtt(settings, address))
        sessions = settings.sessions()

    def taken(**options):
        with Settings(ca_directory=directory, **options) as settings:
            return settings.resume(sessions)

    assert taken() == 1
    assert taken(ca_file=certificates.ca_file) == 0
    os.utime(link, (2, 2))
    assert taken() == 0
    os.utime(link, (1, 1))
    assert taken() == 1
    content = link.read_bytes()
    link.write_bytes(content + b"\n")
    os.utime(link, (1, 1))
    assert taken() == 0
    link.write_bytes(content)
    os.utime(link, (1, 1))
    assert taken() == 1
    (directory / "89abcdef.r0").touch()
    assert taken() == 0
    (directory / "89abcdef.r0").unlink()
    (directory / "README").touch()  # OpenSSL does not look for it
    assert taken() == 1
    link.rename(directory / "01234567.0")
    assert taken() == 0


def test_a_change_of_the_systems_directory_counts(certificates, address, tmp_path):
    directory = hashed_directory(tmp_path / "hashed", certificates.ca_file)
    libc = ctypes.CDLL(None)
    libc.setenv(b"SSL_CERT_DIR", f"/nonexistent:{directory}".encode(), 1)
    try:
        with Settings() as settings:
            leave(mqtt(settings, address))
            sessions = settings.sessions()
        with Settings() as settings:
            assert settings.resume(sessions) == 1
        (directory / "89abcdef.0").touch()
        with Settings() as settings:
            assert settings.resume(sessions) == 0
    finally:
        libc.unsetenv(b"SSL_CERT_DIR")


def test_wrong_sessions_are_left_out(certificates, address):
    with Settings(ca_file=certificates.ca_file) as settings:
        leave(mqtt(settings, address))
        leave(mqtt(settings, address, "127.0.0.1"))
        sessions = settings.sessions()
        assert settings.resume(sessions) == 2
        for size in range(len(sessions)):
            assert 0 <= settings.resume(sessions[:size]) <= 1
        for position in range(0, len(sessions), 7):
            broken = bytearray(sessions)
            broken[position] ^= 0x80
            assert 0 <= settings.resume(bytes(broken)) <= 2
        assert settings.resume(b"") == 0 and settings.resume(bytes(20000)) == 0


def test_the_room_for_sessions(certificates, address):
    with Settings(ca_file=certificates.ca_file) as settings:
        leave(mqtt(settings, address))
        size, buffer = engine.N(10), engine.ctypes.create_string_buffer(16384)
        assert engine.library.smq_tls_sessions(settings.tls, buffer, engine.ctypes.byref(size)) == CONSTANTS["SMQ_ERR_FULL"]
        assert size.value == len(settings.sessions()) and buffer.raw == bytes(16384)
        for number in range(20):
            leave(mqtt(settings, address, "localhost", alpn=b"p%d" % number))
        assert len(settings.sessions()) <= 16384
        assert settings.resume(settings.sessions()) == 8


def test_reload_while_threads_connect(certificates, address):
    failures = []
    with Settings(ca_file=certificates.ca_file) as settings:
        def work():
            try:
                for _ in range(15):
                    leave(mqtt(settings, address))
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            settings.reload(ca_file=certificates.ca_file)
            settings.resume(settings.sessions())
        for thread in threads:
            thread.join()
    assert not failures
