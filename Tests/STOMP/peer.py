"""STOMP by hand: frames as they are on the wire, for the other end of a broker, and for servers that nobody sells."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field


PATIENCE = 30.0  # seconds: brokers answer at once
ESCAPES = {"\\r": "\r", "\\n": "\n", "\\c": ":", "\\\\": "\\"}


@dataclass
class Frame:
    command: str
    headers: dict[str, str] = field(default_factory=dict)  # of repeated ones, the first
    body: bytes = b""

    def encode(self) -> bytes:
        lines = [self.command, *(f"{name}:{escaped(value)}" for name, value in self.headers.items())]
        return "\n".join(lines).encode() + b"\n\n" + self.body + b"\0"


def escaped(text: str) -> str:
    for short, byte in (("\\\\", "\\"), ("\\r", "\r"), ("\\n", "\n"), ("\\c", ":")):
        text = text.replace(byte, short)
    return text


def unescaped(text: str) -> str:
    found, index = "", 0
    while index < len(text):
        pair = text[index:index + 2]
        found += ESCAPES.get(pair, text[index])
        index += 2 if pair in ESCAPES else 1
    return found


class Peer:
    """One end of a connection."""

    def __init__(self, sock: socket.socket):
        self.socket = sock
        self.socket.settimeout(PATIENCE)
        self.unread = b""
        self.early: list[Frame] = []  # messages that came before a receipt

    def send(self, command: str, body: bytes = b"", **headers: str) -> None:
        self.socket.sendall(Frame(command, {name.replace("_", "-"): value for name, value in headers.items()}, body).encode())

    def more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(f"the peer has closed; it had said {self.unread!r}")
        self.unread += data

    def receive(self) -> Frame:
        """The next frame; heart-beats are skipped."""
        while True:
            self.unread = self.unread.lstrip(b"\r\n")
            head, blank, rest = self.unread.partition(b"\n\n")
            if not blank:
                self.more()
                continue
            command, *lines = head.decode().replace("\r", "").split("\n")
            headers: dict[str, str] = {}
            for line in lines:
                name, _, value = line.partition(":")
                raw = command in ("CONNECT", "CONNECTED")
                headers.setdefault(name if raw else unescaped(name), value if raw else unescaped(value))
            size = int(headers["content-length"]) if "content-length" in headers else rest.find(b"\0")
            if size < 0 or len(rest) <= size:
                self.more()
                continue
            assert rest[size] == 0, "no zero behind the body"
            self.unread = rest[size + 1:]
            return Frame(command, headers, rest[:size])

    def expect(self, command: str) -> Frame:
        """Messages may come before a receipt that was waited for."""
        frame = self.early.pop(0) if command == "MESSAGE" and self.early else self.receive()
        assert frame.command == command, frame
        return frame

    def closed(self) -> bool:
        """Waits until the other side has closed."""
        try:
            while True:
                self.more()
        except (EOFError, ConnectionResetError):
            return True

    def close(self) -> None:
        self.socket.close()


class Client(Peer):
    """Connected to a broker."""

    def __init__(self, broker, version: str = "1.2"):
        super().__init__(socket.create_connection((broker.host, broker.port)))
        headers = {"accept_version": version, "host": broker.virtual_host}
        if broker.login:
            headers |= {"login": broker.login[0], "passcode": broker.login[1]}
        self.send("CONNECT", **headers)
        self.expect("CONNECTED")

    def subscribe(self, destination: str, **headers: str) -> None:
        """Returns when the broker has it."""
        self.send("SUBSCRIBE", destination=destination, **({"id": "7", "receipt": "subscribed"} | headers))
        self.confirmed()

    def confirmed(self) -> None:
        """Waits for a receipt."""
        while (frame := self.receive()).command != "RECEIPT":
            assert frame.command == "MESSAGE", frame
            self.early.append(frame)

    def put(self, destination: str, body: bytes, **headers: str) -> None:
        """Returns when the broker has it."""
        self.send("SEND", body, destination=destination, receipt="put", content_length=str(len(body)), **headers)
        self.confirmed()
