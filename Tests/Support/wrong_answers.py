"""What servers answer to each handshake of `handshakes.py`, good and bad: a name for each, and the Script that does it.

A client has to take what is in a table …_TAKEN, and to refuse what is in one …_REFUSED. What clients may do either way is in
none of them.
"""

from __future__ import annotations

from collections.abc import Callable

from .pipes import Script, length_of

ENDLESS = 1_000_000  # bytes, more than any client should keep


def _rows(number: int, answers: dict[str, bytes | Callable[[bytes], bytes]]) -> dict[str, Script]:
    return {name: Script(answers={number: answer}) for name, answer in answers.items()}


def _replace(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(good: bytes) -> bytes:
        assert old in good, (old, good)
        return good.replace(old, new, 1)

    return change


# ---- SOCKS5: of a server without a password

SOCKS5_TAKEN = _rows(
    1,
    {
        "an IPv4 address": bytes.fromhex("05 00 00 01 7f000001 0001"),
        "an IPv6 address": bytes.fromhex("05 00 00 04") + bytes(15) + b"\x01\x12\x34",
        "a name": bytes.fromhex("05 00 00 03 07") + b"example\x12\x34",
        "a name of 255 bytes": bytes.fromhex("05 00 00 03 ff") + b"n" * 255 + b"\x12\x34",
    },
)
SOCKS5_REFUSED = (
    _rows(
        0,
        {
            "a method of SOCKS4": b"\x04\x00",
            "no method": b"\x05\xff",
            "GSSAPI": b"\x05\x01",
            "a private method": b"\x05\x80",
            "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "MQTT": b"\x20\x02\x00\x00",
        },
    )
    | _rows(1, {f"reply {code}": bytes([5, code, 0, 1, 0, 0, 0, 0, 0, 0]) for code in (1, 2, 3, 4, 5, 6, 7, 8, 9, 255)})
    | _rows(
        1,
        {
            "a reply with a name": bytes.fromhex("05 04 00 03 07") + b"example\x00\x00",
            "a reply of SOCKS4": bytes.fromhex("04 00 00 01 00000000 0000"),
            "an unknown address type": bytes.fromhex("05 00 00 02 00000000 0000"),
        },
    )
)
# Of one with a password; the answer to it is the second.
SOCKS5_PASSWORD_REFUSED = _rows(1, {"status 1": b"\x01\x01", "status 2": b"\x01\x02", "status 255": b"\x01\xff"})


# ---- HTTP CONNECT

CONNECT_TAKEN = _rows(
    0,
    {
        "HTTP/1.0": b"HTTP/1.0 200 Connection established\r\n\r\n",
        "no reason": b"HTTP/1.1 200 \r\n\r\n",
        "no reason and no space": b"HTTP/1.1 200\r\n\r\n",
        "another 2xx": b"HTTP/1.1 299 Fine\r\n\r\n",  # RFC 9110 section 9.3.6: any
        "Content-Length to be ignored": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        "Transfer-Encoding to be ignored": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "a few fields": b"HTTP/1.1 200 OK\r\nVia: 1.1 proxy\r\nproxy-agent:x\r\nX-Empty:\r\n\r\n",
    },
)
CONNECT_REFUSED = (
    _rows(
        0,
        {
            f"status {status}": b"HTTP/1.1 %d Reason\r\nContent-Length: 4\r\n\r\nbody" % status
            for status in (301, 400, 401, 403, 404, 405, 407, 429, 500, 502, 503, 504)
        },
    )
    | {
        name: Script(answers={0: answer}, fault="close", at=len(answer))
        for name, answer in {
            "SSH": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
            "SOCKS": b"\x05\xff",
            "MQTT": b"\x20\x02\x00\x00",
            "TLS": b"\x15\x03\x03\x00\x02\x02\x16",
            "another protocol": b"ICY 200 OK\r\n\r\n",
            "two digits": b"HTTP/1.1 20 OK\r\n\r\n",
            "the end within the head": b"HTTP/1.1 200 OK\r\nVia: x\r\n",
        }.items()
    }
    | {
        "an endless field": Script(answers={0: b"HTTP/1.1 200 OK\r\nX: " + b"x" * ENDLESS}),
        "endless fields": Script(answers={0: b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * (ENDLESS // 6)}),
        "an endless line": Script(answers={0: b"HTTP/1.1 200 " + b"x" * ENDLESS}),
    }
)


# ---- WebSocket: the answer to the request

WEBSOCKET_TAKEN = _rows(
    0,
    {
        "other case": lambda good: good.replace(b"Upgrade: websocket", b"UPGRADE: WebSocket").replace(
            b"Connection: Upgrade", b"connection: upgrade"
        ),
        "no subprotocol": _replace(b"Sec-WebSocket-Protocol: mqtt\r\n", b""),
        "no spaces": lambda good: good.replace(b": ", b":"),
        "more spaces": lambda good: good.replace(b": ", b": \t ").replace(b"\r\n", b" \r\n", 3),
        "a list of connection options": _replace(b"Connection: Upgrade", b"Connection: keep-alive, Upgrade"),
        "two fields of connection options": _replace(b"Connection: ", b"Connection: keep-alive\r\nConnection: "),
        "another reason": _replace(b"Switching Protocols", b"Web Socket Protocol Handshake"),
        "no reason": _replace(b"Switching Protocols", b""),
        "more fields": _replace(b"\r\nUpgrade", b"\r\nServer: x\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nUpgrade"),
    },
)
WEBSOCKET_REFUSED = (
    _rows(
        0,
        {
            "no Upgrade": _replace(b"Upgrade: websocket\r\n", b""),
            "another Upgrade": _replace(b"Upgrade: websocket", b"Upgrade: h2c"),
            "no Connection": _replace(b"Connection: Upgrade\r\n", b""),
            "another Connection": _replace(b"Connection: Upgrade", b"Connection: close"),
            "half a token of Connection": _replace(b"Connection: Upgrade", b"Connection: Upgrades"),
            "no Accept": lambda good: b"".join(line for line in good.splitlines(True) if b"Accept" not in line),
            "a wrong Accept": lambda good: good.replace(b"Accept: ", b"Accept: A"),
            "an Accept in lower case": lambda good: good.replace(accept := _accept(good), accept.lower()),
            "an Accept that is too long": lambda good: good.replace(accept := _accept(good), accept + b"A"),
            "another subprotocol": _replace(b"Protocol: mqtt", b"Protocol: chat"),
            "more than the subprotocol": _replace(b"Protocol: mqtt", b"Protocol: mqtts"),
            "an extension": _replace(b"\r\nUpgrade", b"\r\nSec-WebSocket-Extensions: permessage-deflate\r\nUpgrade"),
            "status 200": _replace(b"101 Switching Protocols", b"200 OK"),
        },
    )
    | {name: CONNECT_REFUSED[name] for name in CONNECT_REFUSED}
    | {"a head without an end": Script(answers={0: _replace(b"\r\n\r\n", b"\r\nX: " + b"x" * ENDLESS)})}
)


def _accept(good: bytes) -> bytes:
    return good.split(b"Accept: ")[1].split(b"\r\n")[0]


# ---- WebSocket: frames, which come behind the answer in the same piece (RFC 6455 sections 5 and 7.4)


def frame(first: int, payload: bytes = b"") -> bytes:
    return bytes([first]) + length_of(len(payload)) + payload


FRAMES_TAKEN = {
    "an empty binary frame": frame(0x82),
    "an empty message in three frames": frame(0x02) + frame(0x00) + frame(0x80),
    "Ping": frame(0x89),
    "Ping with 125 bytes": frame(0x89, b"p" * 125),
    "ten thousand Pings": frame(0x89, b"ping") * 10_000,
    "Pong": frame(0x8A, b"not asked for"),
    "Ping within a message": frame(0x02) + frame(0x89, b"p") + frame(0x80),
}
FRAMES_REFUSED = {
    "text": frame(0x81, b"text"),  # [MQTT-6.0.0-1]
    "a fragment of text": frame(0x01, b"text"),
    "RSV1": frame(0xC2, b"x"),
    "RSV2": frame(0xA2, b"x"),
    "RSV3": frame(0x92, b"x"),
    "RSV1 in Ping": frame(0xC9),
    **{f"opcode {opcode}": frame(0x80 | opcode) for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)},
    "a mask": bytes.fromhex("82 81 00000000 78"),
    "continuation of nothing": frame(0x80, b"x"),
    "a message within a message": frame(0x02, b"\x20") + frame(0x82, b"\x02"),
    "Ping in two frames": frame(0x09, b"p") + frame(0x80, b"p"),
    "Ping with 126 bytes": frame(0x89, b"p" * 126),
    "125 in two bytes": bytes.fromhex("82 7e 007d") + bytes(125),
    "65535 in eight bytes": bytes.fromhex("82 7f 000000000000ffff") + bytes(65535),
    "a length of 2^63": bytes.fromhex("82 7f 8000000000000000"),
    "Close with one byte": frame(0x88, b"\x03"),
    "Close with 126 bytes": frame(0x88, b"\x03\xe8" + b"x" * 124),
}
CLOSES = {code: frame(0x88, code.to_bytes(2, "big") + b"because") for code in (1000, 1001, 1002, 1003, 1008, 1009, 1011, 3000)}


# ---- TLS: in place of all that a server would send. The connection then stays open, so that a client that waits is seen to.

ALERTS = (0, 10, 20, 22, 40, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 70, 71, 80, 86, 90, 109, 110, 112, 113, 115, 116, 120)
TLS_REFUSED = {f"alert {code}": Script(answers={0: bytes([0x15, 3, 3, 0, 2, 2, code])}) for code in ALERTS} | _rows(
    0,
    {
        "MQTT": b"\x20\x02\x00\x00\x00",
        "HTTP": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
        "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
        "zeros": bytes(64),
        "SSL 2": bytes.fromhex("80 2e 04 01 00 02"),
        "a record above the limit": bytes.fromhex("16 03 03 ffff") + bytes(1000),
        "an unknown content type": bytes.fromhex("63 03 03 0004 00000000"),
        "application data": bytes.fromhex("17 03 03 0004 00000000"),
        "an unknown handshake message": bytes.fromhex("16 03 03 0004 63000000"),
        "a Finished": bytes.fromhex("16 03 03 0010 1400000c 000000000000000000000000"),
        "an empty handshake record": bytes.fromhex("16 03 03 0000") * 100,
        "a ServerHello of zeros": bytes.fromhex("16 03 03 002a 02000026 0303") + bytes(36),
        "a ServerHello with an unknown cipher suite": bytes.fromhex("16 03 03 002a 02000026 0303 ")
        + b"r" * 32
        + bytes.fromhex("00 fafa 00"),
    },
)
