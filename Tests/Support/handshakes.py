"""A server that a test plays for each stage of a connection (SOCKS5, HTTP CONNECT, TLS, WebSocket), one within another, and
that misbehaves when told to.

    with Peer(Socks5(("user", "password")), TLS(certificates.good), upstream=broker.port) as peer:
        peer.scripts = [Script(fault="reset", at=3), Script(stage=1, piece=1), Script(answers={0: b"\\5\\xff"})]
        ...
        peer.seen[0].target, peer.seen[0].end

Each connection takes the next script, and does what a good server would when there is none left. After the handshakes it
passes everything on to `upstream`; without one it says nothing more. What clients do wrong is collected in `violations`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import socket
import ssl
import threading
from dataclasses import dataclass, field

from .certificates import Certificate
from .listener import Listener
from .pipes import FaultyPipe, Pipe, Script, SocketPipe, Struck, TLSPipe, Violation, WebSocketPipe
from .waiting import wait_for

OK_SOCKS = bytes.fromhex("05 00 00 01 00000000 0000")
OK_CONNECT = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass
class Seen:
    """What a connection has shown of the client."""

    script: Script | None
    requests: list[bytes] = field(default_factory=list)  # of all stages, in their order; none of TLS
    target: tuple[str, int] | None = None  # host and port, as the proxy was asked for them
    login: tuple[str, str] | None = None  # that it gave to the proxy
    tls: ssl.SSLObject | None = None  # after its handshake
    tls_error: str = ""  # why it failed, by OpenSSL's name
    path: str = ""  # of the WebSocket request, with the query
    websocket: WebSocketPipe | None = None
    pipe: Pipe | None = None  # within all stages
    opened: int = 0  # handshakes that were completed
    end: str = ""  # "closed" or "reset" by the client, "ours" if the server did it, "" as long as it has not ended
    through: FaultyPipe | None = None  # the stage of the script

    @property
    def sent(self) -> int:
        """Bytes that went out through the stage of the script, those of the stages within it included."""
        return self.through.sent if self.through else 0


class Stage:
    """A handshake, as the server sees it."""

    def open(self, pipe: Pipe, answers: Answers, seen: Seen) -> Pipe:
        """Returns the stream within."""
        raise NotImplementedError


class Answers:
    """What a stage answers, or what the script has in its place."""

    def __init__(self, pipe: Pipe, script: Script):
        self.pipe, self.script, self.number = pipe, script, 0

    def give(self, good: bytes, last: bool = False) -> None:
        if self.pipe.buffer:
            raise Violation(f"{len(self.pipe.buffer)} bytes before the answer: {self.pipe.buffer[:20]!r}")
        answer = self.script.answers.get(self.number, good)
        self.number += 1
        self.pipe.send((answer(good) if callable(answer) else answer) + (self.script.behind if last else b""))


class Socks5(Stage):
    """RFC 1928, RFC 1929. Answers: the method; with a login, that to the password; that to the request."""

    def __init__(self, login: tuple[str, str] | None = None, require: bool = True):
        self.login, self.require = login, require

    def open(self, pipe: Pipe, answers: Answers, seen: Seen) -> Pipe:
        version, count = head = pipe.read(2)
        methods = pipe.read(count)
        seen.requests.append(head + methods)
        if version != 5 or not methods or len(set(methods)) < count:
            raise Violation(f"the greeting {seen.requests[-1].hex()}")
        method = 2 if self.login and (self.require or 0 not in methods) else 0
        if method not in methods:
            answers.give(b"\x05\xff", last=True)
            raise Struck("close")
        answers.give(bytes([5, method]))
        if method == 2:
            self._password(pipe, answers, seen)
        self._request(pipe, answers, seen)
        return pipe

    def _password(self, pipe: Pipe, answers: Answers, seen: Seen) -> None:
        parts = [pipe.read(1)]
        if parts[0] != b"\x01":
            raise Violation(f"the version {parts[0].hex()} of the password's message")
        texts = []
        for _ in range(2):
            size = pipe.read(1)
            texts.append(pipe.read(size[0]))
            parts += [size, texts[-1]]
        seen.requests.append(b"".join(parts))
        seen.login = (texts[0].decode(), texts[1].decode())
        if seen.login != self.login:
            answers.give(b"\x01\x01", last=True)
            raise Struck("close")
        answers.give(b"\x01\x00")

    def _request(self, pipe: Pipe, answers: Answers, seen: Seen) -> None:
        head = pipe.read(4)
        kind = head[3]
        if head[:3] != b"\x05\x01\x00" or kind not in (1, 3, 4):
            raise Violation(f"the request {head.hex()}")
        size = pipe.read(1) if kind == 3 else b""
        address = pipe.read(size[0] if kind == 3 else {1: 4, 4: 16}[kind])
        port = pipe.read(2)
        seen.requests.append(head + size + address + port)
        families = {1: socket.AF_INET, 4: socket.AF_INET6}
        host = address.decode() if kind == 3 else socket.inet_ntop(families[kind], address)
        seen.target = (host, int.from_bytes(port, "big"))
        answers.give(OK_SOCKS, last=True)


class Connect(Stage):
    """HTTP CONNECT, RFC 9110 section 9.3.6, with Basic of RFC 7617. It answers once, or twice if the client tries the password
    only when it is asked for."""

    def __init__(self, login: tuple[str, str] | None = None):
        self.login = login

    def open(self, pipe: Pipe, answers: Answers, seen: Seen) -> Pipe:
        head = pipe.read_head()
        seen.requests.append(head)
        first, fields = parse_head(head)
        method, target, version = first
        host, _, port = target.rpartition(":")
        if method != "CONNECT" or version != "HTTP/1.1" or not port.isdigit() or fields.get("host") != target:
            raise Violation(f"the request {head!r}")
        seen.target = (host.strip("[]"), int(port))
        if "proxy-authorization" in fields:
            scheme, _, text = fields["proxy-authorization"].partition(" ")
            if scheme != "Basic":
                raise Violation(f"the scheme {scheme}")
            user, _, password = base64.b64decode(text, validate=True).decode().partition(":")
            seen.login = (user, password)
        if self.login and seen.login != self.login:
            refusal = 'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n'
            answers.give(f"{refusal}Content-Length: 0\r\n\r\n".encode(), last=True)
            raise Struck("close")
        answers.give(OK_CONNECT, last=True)
        return pipe


class WebSocket(Stage):
    """RFC 6455 section 4.2. One answer. `frame` is that of WebSocketPipe; `fields` are added to the answer."""

    def __init__(self, frame: int = 0, subprotocol: str | None = "mqtt", fields: dict[str, str] | None = None):
        self.frame, self.subprotocol, self.fields = frame, subprotocol, fields or {}

    def open(self, pipe: Pipe, answers: Answers, seen: Seen) -> Pipe:
        head = pipe.read_head()
        seen.requests.append(head)
        (method, seen.path, version), fields = parse_head(head)
        key = fields.get("sec-websocket-key", "")
        good = (
            (method, version) == ("GET", "HTTP/1.1")
            and seen.path.startswith("/")
            and "host" in fields
            and fields.get("upgrade", "").lower() == "websocket"
            and "upgrade" in [token.strip() for token in fields.get("connection", "").lower().split(",")]
            and fields.get("sec-websocket-version") == "13"
            and len(base64.b64decode(key, validate=True)) == 16
        )
        if not good:
            raise Violation(f"the request {head!r}")
        answers.give(switching(key, self.subprotocol, self.fields), last=True)
        seen.websocket = WebSocketPipe(pipe, self.frame)
        return seen.websocket


class TLS(Stage):
    """TLS 1.2 and 1.3 as OpenSSL has them. Its answers are not counted; `at` of a script counts bytes of its records."""

    def __init__(self, certificate: Certificate, record: int = 16384, context: ssl.SSLContext | None = None):
        self.record = record
        self.context = context or ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate.chain, certificate.key)

    def open(self, pipe: Pipe, answers: Answers, seen: Seen) -> Pipe:
        if 0 in answers.script.answers:
            seen.requests.append(pipe.recv())  # of the ClientHello
            answers.give(b"", last=True)
            raise Struck("silent")
        inner = TLSPipe(pipe, self.context, self.record)
        try:
            inner.handshake()
        except ssl.SSLError as error:
            seen.tls_error = error.reason or str(error)
            raise Struck("close") from None
        seen.tls = inner.object
        return inner


class Peer:
    """Listens from the start, on 127.0.0.1."""

    def __init__(self, *stages: Stage, upstream: int | None = None, scripts: list[Script] | None = None):
        self.stages, self.upstream, self.scripts = stages, upstream, list(scripts or [])
        self.seen: list[Seen] = []
        self.violations: list[str] = []
        self.lock = threading.Lock()
        self.listener = Listener(self.serve)
        self.port = self.listener.port

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *error: object) -> None:
        self.listener.close()

    def until_ended(self, number: int) -> Seen:
        """Waits until the connection of that number, counted from 0, has ended on both sides."""
        wait_for(lambda: len(self.seen) > number and self.seen[number].end, f"the end of connection {number}")
        return self.seen[number]

    def serve(self, connection: socket.socket) -> None:
        with self.lock:
            script = self.scripts.pop(0) if self.scripts else None
            seen = Seen(script)
            self.seen.append(seen)
        pipe = SocketPipe(connection)
        try:
            self._open(pipe, script, seen)
        except Struck as fault:
            self._strike(str(fault), pipe, seen)
        except Violation as violation:
            self.violations.append(str(violation))
            seen.end = seen.end or "ours"
        except ConnectionError:
            seen.end = seen.end or "reset"
        except EOFError:
            seen.end = seen.end or "closed"
        except Exception as error:  # a fault of this file must not look like one of the client's
            self.violations.append(f"{type(error).__name__}: {error}")
            seen.end = "ours"
            raise

    def _open(self, raw: SocketPipe, script: Script | None, seen: Seen) -> None:
        pipe: Pipe = raw
        for number, stage in enumerate(self.stages):
            own = script if script and script.stage == number else Script()
            faulty = FaultyPipe(pipe, own)
            if number == (script.stage if script else 0):
                seen.through = faulty
            faulty.begin()
            pipe = stage.open(faulty, Answers(faulty, own), seen)
            seen.opened += 1
        seen.pipe = pipe
        if self.upstream is None:
            raise Struck("silent")
        with socket.create_connection(("127.0.0.1", self.upstream)) as server:
            self._relay(raw, pipe, server, seen)

    def _relay(self, raw: SocketPipe, pipe: Pipe, server: socket.socket, seen: Seen) -> None:
        struck: list[str] = []

        def down() -> None:
            try:
                while data := received(server):
                    pipe.send(data)
                pipe.finish()
            except Struck as fault:
                struck.append(str(fault))
                if struck[0] == "reset":
                    seen.end = "ours"
                    raw.reset()
                elif struck[0] == "close":
                    seen.end = "ours"
                    raw.finish()
            except (OSError, ssl.SSLError):
                pass  # the client has gone; who reads from it knows how

        thread = threading.Thread(target=down, daemon=True)
        thread.start()
        try:
            while data := pipe.recv():
                with contextlib.suppress(OSError):
                    server.sendall(data)
            seen.end = seen.end or "closed"
        except ssl.SSLError as error:
            seen.tls_error = error.reason or str(error)
            seen.end = seen.end or "closed"
        except OSError:
            seen.end = seen.end or "reset"
        finally:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join(10)

    def _strike(self, fault: str, raw: SocketPipe, seen: Seen) -> None:
        if fault == "silent":
            try:
                while raw.connection.recv(65536):
                    pass
                seen.end = "closed"
            except OSError:
                seen.end = "reset"
            return
        if fault == "reset":
            raw.reset()
        else:
            raw.finish()
            # Closing with bytes unread would be a reset.
            with contextlib.suppress(OSError):
                while raw.connection.recv(65536):
                    pass
        seen.end = "ours"


def received(server: socket.socket) -> bytes:
    """A server that resets its connection resets the client's, too."""
    try:
        return server.recv(65536)
    except ConnectionError:
        raise Struck("reset") from None


def parse_head(head: bytes) -> tuple[list[str], dict[str, str]]:
    """The three parts of the first line, and the fields by their names in lower case. Strict: no field twice."""
    lines = head.decode("latin-1").split("\r\n")[:-2]
    first, fields = lines[0].split(" "), {}
    if len(first) != 3:
        raise Violation(f"the first line {lines[0]!r}")
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip() or name.lower() in fields or "\n" in line or "\r" in line:
            raise Violation(f"the line {line!r}")
        fields[name.lower()] = value.strip(" \t")
    return first, fields


def accept_of(key: str) -> str:
    """Sec-WebSocket-Accept, RFC 6455 section 4.2.2."""
    return base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()


def switching(key: str, subprotocol: str | None = "mqtt", fields: dict[str, str] | None = None) -> bytes:
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Accept: {accept_of(key)}"]
    lines += [f"Sec-WebSocket-Protocol: {subprotocol}"] if subprotocol else []
    lines += [f"{name}: {value}" for name, value in (fields or {}).items()]
    return "".join(line + "\r\n" for line in [*lines, ""]).encode()
