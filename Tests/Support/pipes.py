"""Two-way streams of bytes, one upon another, for a server that a test plays: the socket, faults, TLS, WebSocket."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

FAULTS = ("silent", "close", "reset")


@dataclass(frozen=True)
class Script:
    """What one connection does otherwise than a good server: what it answers, and what becomes of the bytes that it sends, of
    the handshake and behind it."""

    stage: int = 0  # the one that it is about, counted from the client's first
    # In place of the stage's n-th answer, counted from 0; or what makes it of the good one.
    answers: dict[int, bytes | Callable[[bytes], bytes]] = field(default_factory=dict)
    behind: bytes = b""  # goes out with the last answer, in one piece
    piece: int = 0  # bytes that go out at a time; 0: as they come
    pause: float = 0.0  # seconds before each piece
    fault: str = ""  # one of FAULTS
    at: int | None = None  # it comes when so many bytes have gone out; None: before anything is read

    def __post_init__(self) -> None:
        assert not self.fault or self.fault in FAULTS, self.fault


class Struck(Exception):
    """The fault has come; its name."""


class Violation(Exception):
    """The client has broken a rule."""


class Pipe:
    """recv() returns what comes next, and nothing at the end."""

    def __init__(self, below: Pipe):
        self.below = below
        self.buffer = b""  # read and not yet asked for

    def recv(self) -> bytes:
        if self.buffer:
            data, self.buffer = self.buffer, b""
            return data
        return self.receive()

    def receive(self) -> bytes:
        return self.below.recv()

    def send(self, data: bytes) -> None:
        self.below.send(data)

    def finish(self) -> None:
        """Says that nothing more will come."""
        self.below.finish()

    def read(self, count: int) -> bytes:
        """So many bytes; EOFError if there are fewer."""
        while len(self.buffer) < count:
            more = self.receive()
            if not more:
                raise EOFError
            self.buffer += more
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read_head(self, limit: int = 65536) -> bytes:
        """Up to the first empty line, and with it."""
        while b"\r\n\r\n" not in self.buffer:
            if len(self.buffer) > limit:
                raise Violation(f"a head of more than {limit} bytes")
            more = self.receive()
            if not more:
                raise EOFError
            self.buffer += more
        return self.read(self.buffer.index(b"\r\n\r\n") + 4)


class SocketPipe(Pipe):
    def __init__(self, connection: socket.socket):
        self.connection = connection
        self.buffer = b""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def receive(self) -> bytes:
        return self.connection.recv(65536)

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # A thread that waits in recv() would keep the connection open.
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RD)
        self.connection.close()


class FaultyPipe(Pipe):
    """Sends as a script says."""

    def __init__(self, below: Pipe, script: Script):
        super().__init__(below)
        self.script, self.sent = script, 0

    def begin(self) -> None:
        if self.script.fault and self.script.at is None:
            raise Struck(self.script.fault)

    def send(self, data: bytes) -> None:
        script = self.script
        room = script.at - self.sent if script.fault and script.at is not None else len(data) + 1
        for piece in pieces(data[:room], script.piece):
            if script.pause:
                time.sleep(script.pause)
            # Before the client can have seen it.
            self.sent += len(piece)
            self.below.send(piece)
        if room <= len(data):
            raise Struck(script.fault)


class TLSPipe(Pipe):
    """The server's side of TLS. What it writes is cut into records of `record` bytes."""

    def __init__(self, below: Pipe, context: ssl.SSLContext, record: int = 16384):
        super().__init__(below)
        self.record = record
        self.truncated = False  # the end came without close_notify
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.object = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.lock = threading.Lock()  # one thread reads, another one writes

    def handshake(self) -> None:
        try:
            while self._step(self.object.do_handshake) is None:
                self._take()
        except ssl.SSLEOFError:
            raise EOFError from None

    def receive(self) -> bytes:
        try:
            while (data := self._step(lambda: self.object.read(65536))) is None:
                self._take()
        except ssl.SSLEOFError:
            self.truncated = True
            return b""
        return data

    def send(self, data: bytes) -> None:
        with self.lock:
            for piece in pieces(data, self.record):
                self.object.write(piece)
                self.below.send(self.outgoing.read())

    def finish(self) -> None:
        with self.lock, contextlib.suppress(ssl.SSLError):
            with contextlib.suppress(ssl.SSLWantReadError):
                self.object.unwrap()  # close_notify
            self.below.send(self.outgoing.read())
        self.below.finish()

    def _step(self, do):
        """What it returns, or None if it needs bytes. Sends what it has written."""
        with self.lock:
            try:
                result = do()
                return True if result is None else result
            except ssl.SSLWantReadError:
                return None
            except ssl.SSLZeroReturnError:
                return b""
            finally:
                # An alert, too, if it fails.
                if data := self.outgoing.read():
                    self.below.send(data)

    def _take(self) -> None:
        data = self.below.recv()
        if data:
            self.incoming.write(data)
        else:
            self.incoming.write_eof()


class WebSocketPipe(Pipe):
    """The server's side of WebSocket, strict with the client's frames (RFC 6455 section 5). What it writes becomes a frame
    each time, or frames of `frame` bytes."""

    def __init__(self, below: Pipe, frame: int = 0):
        super().__init__(below)
        self.frame = frame
        self.keys: list[bytes] = []  # by which the client has masked
        self.control: list[tuple[int, bytes]] = []  # opcode and payload of its control frames
        self.within = False  # a fragmented message
        self.lock = threading.Lock()

    def receive(self) -> bytes:
        while True:
            final, opcode, payload = self._read_frame()
            if opcode >= 8:
                self.control.append((opcode, payload))
                if opcode == 9:
                    self.send_frame(10, payload)
                elif opcode == 8:
                    return b""
                continue
            if (opcode == 0) != self.within:
                raise Violation(f"opcode {opcode} at a wrong place")
            self.within = not final
            if payload:
                return payload

    def send(self, data: bytes) -> None:
        for piece in pieces(data, self.frame):
            self.send_frame(2, piece)

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            self.send_frame(8, struct.pack(">H", 1000))
        self.below.finish()

    def send_frame(self, opcode: int, payload: bytes = b"", final: bool = True, first: int = 0) -> None:
        """`first` is added to the first byte: the bits RSV1 to RSV3."""
        with self.lock:
            self.below.send(bytes([final << 7 | opcode | first]) + length_of(len(payload)) + payload)

    def _read_frame(self) -> tuple[bool, int, bytes]:
        first, second = self.below.read(2)
        opcode, size = first & 15, second & 127
        if first & 0x70 or opcode not in (0, 2, 8, 9, 10) or not second & 128:
            raise Violation(f"a frame that begins with {first:02x} {second:02x}")
        if opcode >= 8 and (size > 125 or not first & 128):
            raise Violation("a control frame that is long or fragmented")
        if size == 126:
            (size,) = struct.unpack(">H", self.below.read(2))
            fewest = 126
        elif size == 127:
            (size,) = struct.unpack(">Q", self.below.read(8))
            fewest = 65536
        else:
            fewest = 0
        if size < fewest:
            raise Violation(f"the length {size} in more bytes than it needs")
        key = self.below.read(4)
        self.keys.append(key)
        payload = self.below.read(size)
        mask = int.from_bytes((key * (size // 4 + 1))[:size], "big")
        return bool(first & 128), opcode, (int.from_bytes(payload, "big") ^ mask).to_bytes(size, "big")


def length_of(size: int) -> bytes:
    """Of a frame that is not masked."""
    if size < 126:
        return bytes([size])
    return b"\x7e" + struct.pack(">H", size) if size < 65536 else b"\x7f" + struct.pack(">Q", size)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    """Of so many bytes each; 0: all in one, and none if there is nothing."""
    for begin in range(0, len(data), size or len(data) or 1):
        yield data[begin : begin + (size or len(data))]
