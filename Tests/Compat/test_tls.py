"""TLS on both libraries: what each call returns, whether a connection comes about, what is agreed on, and what the log
says if none does."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import ssl
import time
from collections.abc import Callable
from ctypes import c_bool, c_void_p
from pathlib import Path

import pytest
from Support import softhsm
from Support.certificates import Certificates
from Support.listener import Listener
from Support.many_listeners import ManyListeners
from Support.waiting import PATIENCE

from .calls import KINDS
from .scenario import CONNACK
from .test_client import in_a_process
from .tls_caller import ENGINE, FALSE, KEYFORM, SSL_CTX, TRUE, WITH_DEFAULTS, SecureCaller, no, openssl
from .tls_rows import ROWS, encrypted, file_of, root, says, trusts

# Where ours differs: why, and our lines in the place of libmosquitto's.
DIFFERENCES: dict[str, tuple[str, dict[str, str]]] = {}


@pytest.fixture
def on_both(
    real: ctypes.CDLL, ours: ctypes.CDLL, certificates: Certificates, listeners: ManyListeners
) -> Callable[[Callable[[SecureCaller], list[str]]], tuple[list[str], list[str]]]:
    def run(body: Callable[[SecureCaller], list[str]]) -> tuple[list[str], list[str]]:
        """The story of each, libmosquitto's first."""
        return tuple(
            in_a_process(lambda library=library: body(SecureCaller(library, certificates, listeners)))
            for library in (real, ours))

    return run


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_the_same(row, on_both):
    real, ours = on_both(lambda caller: caller.run(row))
    _, other = DIFFERENCES.get(row.name, ("", {}))
    assert ours == [part for line in real for part in other.get(line, line).split("\n")]
    assert set(other) <= set(real), "what is in the table is no difference"


def test_a_connection_that_ends_late_is_told_in_the_log(ours, certificates, listeners):
    """Ours only: libmosquitto may write to a connection that is gone before it reads why."""

    def body() -> list[str]:
        caller = SecureCaller(ours, certificates, listeners)
        caller.set(*trusts())
        caller.connect_to(listeners["client"].port)
        caller.loop_until("on_disconnect")
        return [*caller.story[1:], *caller.errors]

    alert = "log: OpenSSL Error[0]: error:0A00045C:SSL routines::tlsv13 alert certificate required"
    assert in_a_process(body) == ["connect = 0", "on_disconnect 7", "loop = 7", alert]


@pytest.mark.parametrize("uri", [softhsm.URI_WITH_PIN, softhsm.URI_WITH_PIN.replace("client", "nothing")],
                         ids=["there", "not there"])
def test_a_key_that_stays_in_its_hardware(on_both, certificates: Certificates, tmp_path: Path, uri: str):
    environment = softhsm.token(tmp_path, certificates.client)

    def body(caller: SecureCaller) -> list[str]:
        os.environ |= environment  # in this process, which has no engine yet
        caller.set(*trusts(certificate=file_of("client"), key=lambda caller: uri.encode()))
        caller.set("string_option", ENGINE, b"pkcs11")
        caller.set("string_option", KEYFORM, b"engine")
        caller.attempt(caller.listeners["client"].port)
        return caller.story

    real, ours = on_both(body)
    assert ours == real
    assert any(line.startswith("connected") for line in real) == (uri == softhsm.URI_WITH_PIN), real


def test_files_are_read_at_each_attempt(on_both, tmp_path: Path):
    def body(caller: SecureCaller) -> list[str]:
        file = tmp_path / "ca.pem"
        good = caller.certificates.ca_file.read_text()
        file.write_text(good)
        caller.set(*trusts(file))
        port = caller.listeners["good"].port
        for text, how in ((good, "connect"), ("garbage", "reconnect"), (good, "reconnect"), ("", "connect")):
            file.write_text(text)
            caller.attempt(port, how=how)
        file.unlink()
        caller.attempt(port, how="reconnect")
        return caller.story

    real, ours = on_both(body)
    assert ours == real
    assert [line.split()[0] for line in real if line.startswith(("connected", "refused"))] == [
        "connected", "refused", "connected", "refused", "refused"]


def test_the_password_is_asked_for_at_each_attempt(on_both):
    def body(caller: SecureCaller) -> list[str]:
        caller.set(*trusts(root, no, file_of("client"), encrypted, says(b"password")))
        for how in ("connect", "reconnect", "connect"):
            caller.attempt(caller.listeners["client"].port, how=how)
        return caller.story

    real, ours = on_both(body)
    assert ours == real
    assert sum(line.startswith("asked: 1024 0 by the client: True") for line in real) == 3


def test_a_certificate_is_replaced(on_both, tmp_path: Path):
    def body(caller: SecureCaller) -> list[str]:
        all_of = caller.certificates
        certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
        certificate.touch()
        key.touch()
        caller.set(*trusts(root, no, certificate, key))
        for own in (all_of.unknown_client, all_of.client, all_of.unknown_client):
            certificate.write_bytes(own.file.read_bytes())
            key.write_bytes(own.key.read_bytes())
            caller.attempt(caller.listeners["client"].port)
        return caller.story

    real, ours = on_both(body)
    assert ours == real
    assert [line for line in real if line == "lost" or line.startswith("connected")][1] != "lost"


def test_tls_is_set_between_connections(on_both):
    """A client that has connected in plain gets TLS, another server, and loses neither its callbacks nor its queue."""

    def body(caller: SecureCaller) -> list[str]:
        listeners = caller.listeners
        caller.attempt(listeners["plain"].port)
        caller.set(*trusts())
        caller.attempt(listeners["good"].port)
        caller.attempt(listeners["wrong-name"].port)
        caller.set("tls_insecure_set", TRUE)
        caller.attempt(listeners["wrong-name"].port, how="reconnect")
        caller.attempt(0, listeners["unix"].path)
        return caller.story

    real, ours = on_both(body)
    assert ours == real


def test_the_connection_itself(on_both):
    """mosquitto_ssl_get()."""

    def body(caller: SecureCaller) -> list[str]:
        def there(when: str) -> None:
            caller.story.append(f"{when}: {bool(caller.library.mosquitto_ssl_get(caller.handle))}")

        there("at first")
        caller.set(*trusts())
        there("set")
        caller.does = {"connect": lambda: there("on_connect"), "disconnect": lambda: there("on_disconnect")}
        caller.connect_to(caller.listeners["good"].port)
        there("connected")
        caller.loop_until("on_connect")
        there("after on_connect")
        caller.call("disconnect")
        caller.loop_for(1)
        there("at last")
        return caller.story

    real, ours = on_both(body)
    assert ours == real
    assert "on_connect: True" in real


@pytest.mark.parametrize("listener", ["unknown", "client", "plain"])
def test_a_loop_ends(on_both, listener: str):
    """Where another attempt would bring the same."""

    def body(caller: SecureCaller) -> list[str]:
        caller.set(*trusts())
        code = caller.call("connect", b"localhost", caller.listeners[listener].port, 60, quietly=True)
        code = code or caller.call("loop_forever", 100, 1, quietly=True)
        return [f"ends with {'TLS' if code == 8 else 'a lost connection' if code in (7, 14) else code}"]

    real, ours = on_both(body)
    assert ours == real


@pytest.mark.parametrize("how", ["connect", "connect_async"])
def test_a_thread(on_both, how: str):
    """Publishes from this thread while the library's own reads, and comes to an end."""

    def body(caller: SecureCaller) -> list[str]:
        caller.set(*trusts())
        caller.does = {"connect": lambda: caller.subscribe(b"tls/thread", 1)}
        caller.call("loop_start")
        caller.connect_to(caller.listeners["good"].port, how)
        caller.wait_for("on_subscribe")
        for number in range(20):
            caller.publish(b"tls/thread", b"%d" % number, number % 3)
        caller.wait_for("on_message", count=20)
        caller.call("disconnect")
        caller.call("loop_stop", c_bool(False))
        return sorted(line for line in caller.story if "thread" in line or "publish" not in line)

    real, ours = on_both(body)
    assert ours == real


def test_a_thread_that_cannot_connect(on_both):
    """No callback tells it, as with libmosquitto, which tries once or several times, as the handshake happens to be read."""

    def body(caller: SecureCaller) -> list[str]:
        caller.set(*trusts())
        caller.call("connect_async", b"localhost", caller.listeners["expired"].port, 60)
        caller.call("loop_start")
        end = time.monotonic() + PATIENCE
        while not caller.errors and time.monotonic() < end:
            time.sleep(0.01)
        # A thread that tries again is not to be waited for.
        caller.call("disconnect", quietly=True)
        caller.call("loop_stop", c_bool(True))
        return sorted({line for line in (*caller.story, *caller.errors) if not line.startswith(("loop_stop", "connect"))})

    real, ours = on_both(body)
    assert ours == real
    assert not any(line.startswith("on_") for line in ours)


def test_a_loop_of_the_programs_own(on_both):
    """With poll(), and mosquitto_loop_read() and _write(); a message that takes many records comes back whole."""

    def body(caller: SecureCaller) -> list[str]:
        payload, got, turns = os.urandom(1_000_000), [], 0
        message = KINDS["message"](lambda mosq, user, message: got.append(
            ctypes.string_at(message.contents.payload, message.contents.payloadlen)))
        caller.library.mosquitto_message_callback_set(caller.handle, message)
        caller.set(*trusts())
        caller.does = {"connect": lambda: caller.subscribe(b"tls/own", 1),
                       "subscribe": lambda: caller.call("publish", None, b"tls/own", len(payload), payload, 1, FALSE)}
        caller.connect_to(caller.listeners["good"].port)
        end = time.monotonic() + PATIENCE
        while not got and time.monotonic() < end:
            turns += 1
            watch = select.poll()
            wants = select.POLLOUT if caller.library.mosquitto_want_write(caller.handle) else 0
            watch.register(caller.library.mosquitto_socket(caller.handle), select.POLLIN | wants)
            for _, found in watch.poll(100):
                if found & select.POLLIN:
                    caller.call("loop_read", 1, quietly=True)
                if found & select.POLLOUT:
                    caller.call("loop_write", 1, quietly=True)
            caller.call("loop_misc", quietly=True)
        # The message and the acknowledgement of its twin cross.
        story = [line for line in caller.story if line != "on_publish"]
        return [*story, f"whole: {got == [payload]}", f"it waits: {turns < 5000}"]

    real, ours = on_both(body)
    assert ours == real
    assert "whole: True" in ours


def test_the_server_is_gone(on_both):
    """A server that closes in the handshake, resets, or says what is no TLS."""

    def body(caller: SecureCaller) -> list[str]:
        caller.set(*trusts())
        for answer in (b"", b"HTTP/1.0 400 Bad Request\r\n\r\n", bytes.fromhex("15030300020228")):
            server = Listener(lambda connection, answer=answer: connection.recv(4096) and connection.sendall(answer))
            caller.attempt(server.port, "127.0.0.1")
            server.close()
        return caller.story

    real, ours = on_both(body)
    assert ours == real


# subjectAltName, Common Name and the host that the client connects to.
NAMES = (
    (None, "localhost", "localhost"), (None, "LocalHost", "localhost"), (None, "*", "localhost"),
    (None, "other", "localhost"), (None, "127.0.0.1", "127.0.0.1"), (None, "127.0.0.2", "127.0.0.1"),
    ("DNS:other", "localhost", "localhost"), ("DNS:other", "127.0.0.1", "127.0.0.1"),
    ("DNS:127.0.0.1", "x", "127.0.0.1"), ("IP:127.0.0.1", "x", "127.0.0.1"), ("IP:127.0.0.1", "localhost", "localhost"),
    ("IP:127.0.0.1", "x", "localhost"), ("IP:127.0.0.2", "x", "127.0.0.1"), ("DNS:LOCALHOST", "x", "localhost"),
    ("DNS:other,DNS:localhost", "x", "localhost"), ("DNS:local*", "x", "localhost"), ("email:a@localhost", "x", "localhost"),
)


@pytest.mark.parametrize("names, common_name, host", NAMES)
def test_names(on_both, certificates: Certificates, names: str | None, common_name: str, host: str):
    number = NAMES.index((names, common_name, host))
    made = certificates.root.issue(f"name-{number}", names=names, subject=f"/CN={common_name}")

    def body(caller: SecureCaller) -> list[str]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made.file, made.key)

        def serve(connection: socket.socket) -> None:
            with context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(4096)
                secured.sendall(CONNACK)
                secured.recv(4096)

        server = Listener(serve)
        caller.set(*trusts())
        caller.attempt(server.port, host)
        server.close()
        return caller.story

    real, ours = on_both(body)
    assert ours == real


def test_the_server_closes_in_order(on_both):
    """With close_notify."""

    def body(caller: SecureCaller) -> list[str]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(caller.certificates.good.chain, caller.certificates.good.key)

        def serve(connection: socket.socket) -> None:
            with context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(4096)
                secured.sendall(CONNACK)
                secured.unwrap()

        server = Listener(serve)
        caller.set(*trusts())
        caller.connect_to(server.port)
        caller.loop_until("loop")
        caller.connect_to(server.port)
        caller.loop_until("loop", count=2)
        server.close()
        return caller.story

    real, ours = on_both(body)
    assert ours == real
    assert ours.count("on_disconnect 7") == 2


def test_no_sigpipe(ours, certificates, listeners):
    """A program that has not ignored SIGPIPE lives on when it writes to a connection that was reset."""

    def body() -> list[str]:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        server = Listener(lambda connection: connection.recv(4096) and None)
        for _ in range(5):
            caller = SecureCaller(ours, certificates, listeners)
            caller.set(*trusts())
            caller.connect(server.port)
            for _ in range(5):
                caller.publish(b"a", b"x" * 100_000)
                caller.call("loop", 10, 1, quietly=True)
            caller.destroy()
        return ["alive"]

    assert in_a_process(body) == ["alive"]


def test_a_callback_in_the_programs_context(on_both):
    """It is called while the library handles bytes, and may ask for the connection."""

    def body(caller: SecureCaller) -> list[str]:
        library = openssl()
        made = c_void_p(library.SSL_CTX_new(c_void_p(library.TLS_client_method())))
        asked: list[bool] = []

        def verify(is_fine: int, store: int) -> int:
            asked.append(bool(caller.library.mosquitto_ssl_get(caller.handle)))
            asked.append(caller.library.mosquitto_userdata(caller.handle) == caller.handle.value)
            return 1

        function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, c_void_p)(verify)
        library.SSL_CTX_set_verify(made, 1, function)
        caller.set("void_option", SSL_CTX, made)
        caller.set("int_option", WITH_DEFAULTS, 0)
        caller.attempt(caller.listeners["unknown"].port)
        return [*caller.story, f"asked: {bool(asked) and all(asked)}"]

    real, ours = on_both(body)
    assert ours == real
    assert "asked: True" in ours
