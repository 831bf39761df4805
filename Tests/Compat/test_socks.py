"""Proxies and sockets in the file system, on both libraries."""

from __future__ import annotations

import ctypes
import errno
import socket
from collections.abc import Callable

import pytest
from Support.certificates import Certificates
from Support.forward_proxies import Dante, ForwardProxy, Microsocks
from Support.listener import Listener
from Support.many_listeners import ManyListeners
from Support.servers import free_port

from .test_client import in_a_process
from .tls_caller import SecureCaller
from .tls_rows import trusts

Both = Callable[[Callable[[SecureCaller], list[str]]], tuple[list[str], list[str]]]


@pytest.fixture
def on_both(real: ctypes.CDLL, ours: ctypes.CDLL, certificates: Certificates, listeners: ManyListeners) -> Both:
    def run(body: Callable[[SecureCaller], list[str]]) -> tuple[list[str], list[str]]:
        return tuple(
            in_a_process(lambda library=library: body(SecureCaller(library, certificates, listeners)))
            for library in (real, ours))

    return run


def through(caller: SecureCaller, proxy: int, server: int, name: bytes | None = None, password: bytes | None = None,
            host: bytes = b"127.0.0.1") -> list[str]:
    caller.call("socks5_set", b"127.0.0.1", proxy, name, password)
    caller.call("connect", host, server, 60)
    caller.loop_until("on_connect")
    if "on_connect 0" in caller.story:
        caller.subscribe(b"socks/a", 1)
        caller.loop_until("on_subscribe")
        caller.publish(b"socks/a", b"x", 2)
        caller.loop_until("on_message")
        caller.loop_until("on_publish")
    caller.destroy()
    if "on_connect 0" in caller.story:
        return sorted(caller.story)  # the message and its acknowledgement cross
    return [*caller.story, *caller.errors]


def test_arguments(on_both: Both):
    def body(caller: SecureCaller) -> list[str]:
        for arguments in ((None, 1080, None, None), (b"h" * 257, 1080, None, None), (b"h" * 256, 1080, None, None),
                          (b"h", 0, None, None), (b"h", -1, None, None), (b"h", 65536, None, None),
                          (b"h", 65535, b"n", None), (b"h", 1, b"n", b"p"), (b"h", 1, None, b"p"), (b"", 1, None, None)):
            caller.call("socks5_set", *arguments)
        caller.story.append(f"NULL = {caller.library.mosquitto_socks5_set(None, b'h', 1, None, None)}")
        return caller.story

    real, ours = on_both(body)
    assert ours == real


@pytest.mark.parametrize("kind", [Microsocks, Dante])
@pytest.mark.parametrize("host", [b"127.0.0.1", b"localhost"])
def test_a_proxy(on_both: Both, forward: Callable[..., ForwardProxy], listeners: ManyListeners, kind, host: bytes):
    proxy = forward(kind)
    real, ours = on_both(lambda caller: through(caller, proxy.port, listeners["plain"].port, host=host))
    assert ours == real
    assert "on_message" in " ".join(ours)
    proxy.until_carried(listeners["plain"].port, count=2)


@pytest.mark.parametrize("login", [None, (b"name", b"secret"), (b"name", b"wrong")], ids=["none", "right", "wrong"])
def test_a_password(on_both: Both, forward: Callable[..., ForwardProxy], listeners: ManyListeners, login):
    proxy = forward(Microsocks, login=("name", "secret"))
    real, ours = on_both(
        lambda caller: through(caller, proxy.port, listeners["plain"].port, *(login or (None, None))))
    assert ours == real
    assert ("on_connect 0" in ours) == (login is not None and login[1] == b"secret")


def test_a_server_that_refuses(on_both: Both, forward: Callable[..., ForwardProxy]):
    proxy, closed = forward(Microsocks), free_port()
    real, ours = on_both(lambda caller: through(caller, proxy.port, closed))
    assert ours == real


def test_a_proxy_that_refuses(on_both: Both):
    closed = free_port()
    real, ours = on_both(lambda caller: through(caller, closed, 1883))
    assert ours == real


def tls_behind_a_proxy(caller: SecureCaller, proxy: int, listener: str) -> list[str]:
    caller.set(*trusts())
    return through(caller, proxy, caller.listeners[listener].port, host=b"localhost")


@pytest.mark.parametrize("listener", ["good", "wrong-name", "unknown"])
def test_tls_behind_a_proxy(on_both: Both, forward: Callable[..., ForwardProxy], listener: str):
    """libmosquitto tells the end, or not, and logs once or twice, as the handshake happens to be read."""
    proxy = forward(Microsocks)
    real, ours = on_both(lambda caller: tls_behind_a_proxy(caller, proxy.port, listener))
    if listener != "good":
        real = list(dict.fromkeys(line for line in real if not line.startswith("on_disconnect")))
    assert ours == real
    assert ("on_connect 0" in ours) == (listener == "good")


def replying(*answers: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        for answer in answers:
            if not connection.recv(600):
                return
            connection.sendall(answer)
        connection.recv(600)

    return serve


REFUSED = bytes.fromhex("0001000000000000")
ANSWERS = {
    **{f"reply {code}": (b"\5\0", b"\5" + bytes([code]) + REFUSED) for code in (1, 2, 3, 4, 5, 6, 7, 8, 9, 255)},
    "no method": (b"\5\xff",),
    "another version": (b"\4\0",),
    "a wrong password": (b"\5\2", b"\1\2"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_proxy_answers(on_both: Both, name: str):
    def body(caller: SecureCaller) -> list[str]:
        server = Listener(replying(*ANSWERS[name]))
        story = through(caller, server.port, 1883, b"name", b"secret")
        server.close()
        return story

    real, ours = on_both(body)
    assert ours == real


def test_a_password_refused_in_other_words(on_both: Both):
    """RFC 1929 knows only that it is wrong; libmosquitto takes the number for a reply of RFC 1928."""

    def body(caller: SecureCaller) -> list[str]:
        server = Listener(replying(b"\5\2", b"\1\1"))
        story = through(caller, server.port, 1883, b"name", b"secret")
        server.close()
        return story

    real, ours = on_both(body)
    assert real[1:] == ["connect = 0", "on_disconnect 16", "loop = 16"]
    assert ours[1:] == ["connect = 0", "on_disconnect 11", "loop = 11"]


# MARK: sockets in the file system


def test_a_socket_in_the_file_system(on_both: Both):
    def body(caller: SecureCaller) -> list[str]:
        path = caller.listeners["unix"].path.encode()
        for host in (path, b"/nowhere/at/all", b"", b"x" * 108, path):
            caller.call("connect", host, 0, 60)
            if caller.story[-1] == "connect = 14":
                caller.story.append(errno.errorcode[ctypes.get_errno()])
            if caller.story[-1] == "connect = 0":
                caller.loop_until("on_connect", count=caller.story.count("on_connect 0") + 1)
        caller.call("connect", path, 1883, 60)
        caller.call("disconnect")
        caller.destroy()
        return caller.story

    real, ours = on_both(body)
    assert ours == real
    assert ours.count("on_connect 0") == 2
