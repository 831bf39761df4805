"""Servers of STOMP for tests: CoilMQ, and one that does what its script says."""

from __future__ import annotations

import queue
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from Support.servers import Server
from Support.waiting import PATIENCE

REQUIREMENTS = Path(__file__).with_name("requirements-stomp.txt")


class CoilMQ(Server):
    """CoilMQ of PyPI.

    What a test should know of it:

    - CONNECT needs a host header with its own name: `virtual_host`.
    - It has /queue/… and /topic/…, and neither selectors nor persistence.
    - A message that a client holds keeps the next one of the queue from that client.
    - It often takes a frame that its socket splits in the middle for a broken one, and closes the connection
      (BodyNotTerminated): send small messages, and wait for each.
    - Its MESSAGE of 1.2 has no ack header, which ends the connection: acknowledge with 1.1.
    - What it cannot do is answered with ERROR, and the connection stays open.
    """

    virtual_host = socket.getfqdn().lower()

    def __init__(self, directory: Path, python: Path):
        super().__init__(directory)
        self.python = python

    @property
    def url(self) -> str:
        return f"stomp://{self.host}:{self.port}"

    def launch(self) -> subprocess.Popen:
        words = ["coilmq", "-b", self.host, "-p", str(self.port)]
        return self.run([str(self.python), "-c", f"import sys; sys.argv = {words!r}; from coilmq.start import main; main()"])


@dataclass
class Frame:
    """A frame that a client sent."""

    command: str
    headers: dict[str, str]
    body: bytes = b""


class Gone(Exception):
    """The client has closed the connection."""


@dataclass
class Connection:
    """One of a scripted server's: a script reads frames from it, and writes what it likes."""

    sock: socket.socket
    heard: list[Frame]
    rest: bytes = field(default=b"")

    def read(self) -> Frame:
        """The next frame; heart-beats are left out."""
        while True:
            self.rest = self.rest.lstrip(b"\n")
            head, separator, tail = self.rest.partition(b"\n\n")
            if separator:
                command, *lines = head.decode().split("\n")
                headers: dict[str, str] = {}
                for line in lines:
                    name, _, value = line.partition(":")
                    headers.setdefault(name, value)
                size = int(headers["content-length"]) if "content-length" in headers else tail.find(b"\0")
                if 0 <= size < len(tail):
                    assert tail[size] == 0
                    self.rest = tail[size + 1 :]
                    frame = Frame(command, headers, tail[:size])
                    self.heard.append(frame)
                    return frame
            try:
                more = self.sock.recv(65536)
            except OSError:
                more = b""
            if not more:
                raise Gone
            self.rest += more

    def expect(self, command: str) -> Frame:
        """The next frame, which has to be of this kind."""
        frame = self.read()
        assert frame.command == command, frame
        return frame

    def greeted(self) -> Frame:
        """The first frame; some clients call it STOMP."""
        frame = self.read()
        assert frame.command in ("CONNECT", "STOMP"), frame
        return frame

    def write(self, command: str, body: bytes = b"", **headers: object) -> None:
        """Sends a frame; in the names of headers "_" is "-"."""
        lines = "".join(f"{name.replace('_', '-')}:{value}\n" for name, value in headers.items())
        self.raw(f"{command}\n{lines}\n".encode() + body + b"\0")

    def raw(self, data: bytes) -> None:
        """Sends what no frame may be, too."""
        self.sock.sendall(data)

    def accept(self, version: str = "1.2", **headers: object) -> Frame:
        """Takes CONNECT, and accepts."""
        frame = self.greeted()
        self.write("CONNECTED", version=version, **headers)
        return frame

    def receipt(self, frame: Frame) -> None:
        """For a frame that wants one."""
        self.write("RECEIPT", receipt_id=frame.headers["receipt"])

    def serve(self) -> None:
        """Gives each frame that wants one its receipt, until DISCONNECT."""
        while True:
            frame = self.read()
            if "receipt" in frame.headers:
                self.receipt(frame)
            if frame.command == "DISCONNECT":
                return

    def reset(self) -> None:
        """Ends the connection as a crash does."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def echo(connection: Connection) -> None:
    """A script: a server whose one client gets what it sends to what it has subscribed to. A transaction takes effect at
    its COMMIT, and what is not acknowledged is not sent again."""
    connection.accept()
    subscriptions: dict[str, str] = {}
    waiting: dict[str, list[Frame]] = {}
    count = 0

    def take(frame: Frame) -> None:
        nonlocal count
        number = subscriptions.get(frame.headers.get("destination", ""))
        if frame.command == "SEND" and number is not None:
            count += 1
            own = ("receipt", "transaction", "destination", "content-length")
            more = {name.replace("-", "_"): value for name, value in frame.headers.items() if name not in own}
            more |= {"destination": frame.headers["destination"], "content_length": len(frame.body)}
            connection.write("MESSAGE", frame.body, subscription=number, message_id=f"m{count}", ack=f"a{count}", **more)

    while True:
        frame = connection.read()
        if frame.command == "SUBSCRIBE":
            subscriptions[frame.headers["destination"]] = frame.headers["id"]
        elif frame.command == "BEGIN":
            waiting[frame.headers["transaction"]] = []
        elif frame.command in ("COMMIT", "ABORT"):
            frames = waiting.pop(frame.headers["transaction"])
            for each in frames if frame.command == "COMMIT" else ():
                take(each)
        elif "transaction" in frame.headers:
            waiting[frame.headers["transaction"]].append(frame)
        else:
            take(frame)
        if "receipt" in frame.headers:
            connection.receipt(frame)


class Scripted:
    """A server in a thread: the first connection gets the first script, and so on. With listens=False it refuses
    connections until listen()."""

    def __init__(
        self, *scripts: Callable[[Connection], object], tls: ssl.SSLContext | None = None, listens: bool = True,
        host: str = "127.0.0.1",
    ):  # fmt: skip
        self.scripts, self.tls = scripts, tls
        self.heard: list[Frame] = []
        self.failed: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
        self.listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.listener.bind((host, 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"stomp{'s' if tls else ''}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.run, daemon=True)
        if listens:
            self.listen()

    def listen(self) -> None:
        self.listener.listen()
        self.thread.start()

    def run(self) -> None:
        for script in self.scripts:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.settimeout(PATIENCE)
            if self.tls:
                try:
                    sock = self.tls.wrap_socket(sock, server_side=True)
                except OSError:
                    continue  # the client does not trust it
            with sock:
                try:
                    script(Connection(sock, self.heard))
                except Gone:
                    pass
                except BaseException as error:
                    self.failed.put(error)
                    return

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.listener.close()
        if kind is None:
            self.thread.join(PATIENCE)
        if not self.failed.empty():
            raise self.failed.get()
