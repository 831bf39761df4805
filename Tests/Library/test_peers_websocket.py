"""Servers that speak WebSocket, and nginx in front of one, do what is said of them. No test here uses the library."""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
from base64 import b64encode

import pytest

from Support.address import Address
from Support.nginx import LOCATION, LOGIN, LONG, REDIRECTS, STATUSES
from Support.waiting import PATIENCE, wait_for

KEY = b64encode(b"the sample nonce").decode()
CONNECT = bytes.fromhex("100d 0004 4d515454 04 02 003c 0001 61")  # 3.1.1, Clean Session, Client Identifier "a"


class WebSocket:
    """A client of 30 lines, for what is short. Not ours, so that no error of ours hides in it."""

    def __init__(self, address: Address, certificates=None, **headers: str):
        raw = socket.create_connection((address.host, address.port), timeout=PATIENCE)
        if address.scheme == "wss":
            context = ssl.create_default_context(cafile=str(certificates.ca_file))
            raw = context.wrap_socket(raw, server_hostname="localhost")
        self.socket, self.stream = raw, raw.makefile("rb")
        lines = [
            f"GET {address.path} HTTP/1.1",
            f"Host: localhost:{address.port}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {KEY}",
            "Sec-WebSocket-Protocol: mqtt",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        ]
        raw.sendall("".join(line + "\r\n" for line in [*lines, ""]).encode())
        self.status = int(self.stream.readline().split()[1])
        self.headers = http.client.parse_headers(self.stream)

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *error: object) -> None:
        self.stream.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """A masked binary frame, with the masking key 0."""
        assert len(data) < 126
        self.socket.sendall(bytes([0x82, 0x80 | len(data)]) + bytes(4) + data)

    def receive(self) -> bytes:
        first, size = self.stream.read(2)
        assert first == 0x82 and size < 126
        return self.stream.read(size)


def accept_of(key: str) -> str:
    """RFC 6455 section 4.2.2."""
    return b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()


@pytest.mark.parametrize("name", ["ws", "wss"])
@pytest.mark.parametrize("server", ["mosquitto", "ejabberd", "nginx"])
def test_mqtt_in_websocket(certificates, listeners, nginx, request, server, name):
    if server == "ejabberd":
        address, login = request.getfixturevalue("ejabberd").listeners[name], True
    else:
        address, login = (listeners[name] if server == "mosquitto" else nginx.at(name, "/mqtt")), False
    with WebSocket(address, certificates) as client:
        assert client.status == 101
        assert client.headers["Sec-WebSocket-Accept"] == accept_of(KEY)
        assert client.headers["Sec-WebSocket-Protocol"] == "mqtt"
        client.send(bytes.fromhex("1014 0004 4d515454 04 c2 003c 0001 61 0002 7573 0001 78") if login else CONNECT)
        assert client.receive() == bytes.fromhex("2002 0000")


def test_nginx_changes_the_answer(nginx):
    def headers(path: str, **more: str):
        with WebSocket(nginx.at("ws", path), **more) as client:
            assert client.status == 101, path
            client.send(CONNECT)
            assert client.receive()[0] == 0x20  # the rest works
            return client.headers

    assert headers("/without-subprotocol")["Sec-WebSocket-Protocol"] is None
    assert headers("/other-subprotocol")["Sec-WebSocket-Protocol"] == "chat"
    assert headers("/wrong-accept").get_all("Sec-WebSocket-Accept") == ["A" * 27 + "="]
    assert headers("/extension")["Sec-WebSocket-Extensions"] == "permessage-deflate"
    assert [len(value) for value in headers("/long").get_all("X-Long")] == [LONG[0]] * LONG[1]
    basic = "Basic " + b64encode(":".join(LOGIN).encode()).decode()
    assert headers("/login", Authorization=basic)["Sec-WebSocket-Protocol"] == "mqtt"
    assert headers("/token", X_Token="secret")["Sec-WebSocket-Protocol"] == "mqtt"


def test_nginx_refuses(nginx):
    asked = {f"/{status}?a=b": status for status in STATUSES + REDIRECTS}
    asked |= {"/502": 502, "/login": 401, "/token": 403, "/nowhere": 404}
    before = len(nginx.requests)
    for path, status in asked.items():
        with WebSocket(nginx.at("ws", path)) as client:
            assert client.status == status
            assert (client.headers["Location"] == LOCATION) == (status in REDIRECTS)
            assert (client.headers["WWW-Authenticate"] is not None) == (status == 401)
    wait_for(lambda: len(nginx.requests) - before >= len(asked), "nginx has written its log")
    assert dict(nginx.requests[before:]) == asked
