"""libswiftmqtt-tls through ctypes: settings, and a connection that a test pumps over a socket.

    with Settings(ca_file=certificates.ca_file) as settings, Connection(settings, address) as connection:
        connection.open()
        connection.send(CONNECT)
        assert connection.receive(4) == CONNACK

What fails raises Failed, whose `why` has what the engine said.
"""

from __future__ import annotations

import ctypes
import ipaddress
import os
import re
import socket
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native")
LIBRARY = BUILD / "libswiftmqtt-tls.so"
TEXT = "".join((ROOT / "include" / name).read_text() for name in
               ("swiftmqtt.h", "swiftmqtt-tls-engine.h", "swiftmqtt-tls.h"))
CONSTANTS = {name: int(value, 0) for name, value in
             re.findall(r"\b(SMQ_(?:TLS|ERR|OK)[A-Z0-9_]*)\s*=\s*(-?\d+)", TEXT)}
CONSTANTS["SMQ_TLS_END"] = int(re.search(r"#define SMQ_TLS_END \((-\d+)\)", TEXT)[1])
CAUSES = {int(value): name for name, value in re.findall(
    r"SMQ_TLS_(\w+) = (\d+)", TEXT[TEXT.index("Why TLS failed"):TEXT.index("Whom a connection is to")])}
END = CONSTANTS["SMQ_TLS_END"]

# ---- Structs, as the headers declare them

SIMPLE = {**{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
          "size_t": ctypes.c_size_t, "char": ctypes.c_char}


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


SIMPLE["smq_bytes"] = Bytes


def fields_of(struct):
    body = re.search(rf"typedef struct {struct} {{(.*?)}} {struct};", re.sub(r"/\*.*?\*/", "", TEXT, flags=re.S), re.S)[1]
    for declaration in filter(None, (" ".join(part.split()) for part in body.split(";"))):
        function = re.match(r".*?\(\*(\w+)\)\(", declaration)
        if function:
            yield function[1], ctypes.c_void_p
            continue
        kind, stars, field, count = re.fullmatch(r"(?:const )?(\w+) (\**)(\w+)(?:\[(\d+)\])?", declaration).groups()
        base = ctypes.c_void_p if stars else SIMPLE[kind]
        yield field, base * int(count) if count else base


def sized(struct):
    class Made(ctypes.Structure):
        _fields_ = list(fields_of(struct))

        def __init__(self, **values):
            super().__init__(size=ctypes.sizeof(type(self)), **values)

        def __repr__(self):
            return f"{struct}({', '.join(f'{name}={getattr(self, name)!r}' for name, _ in self._fields_)})"

    Made.__name__ = struct
    return Made


Options, Target, Failure, Info, Certificate, Engine = map(sized, (
    "smq_tls_options", "smq_tls_target", "smq_tls_failure", "smq_tls_info", "smq_tls_certificate", "smq_tls_engine"))
PASSWORD = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
# What each function of the engine returns, and takes.
P, N = ctypes.c_void_p, ctypes.c_size_t
FUNCTIONS = {
    "connection_bytes": (N, P), "begin": (ctypes.c_int32, P, P, N, P, P),
    "receive_buffer": (None, P, P, P), "received": (None, P, N), "handshake": (ctypes.c_int32, P, P),
    "read": (ctypes.c_int32, P, P, N, P), "write": (ctypes.c_int32, P, P, N, P), "transmit": (None, P, P, P),
    "transmitted": (None, P, N), "finish": (None, P), "end": (None, P), "info": (None, P, P),
    "certificate": (ctypes.c_int32, P, ctypes.c_uint32, P),
}

library = ctypes.CDLL(str(LIBRARY))
library.smq_tls_openssl.restype = ctypes.POINTER(Engine)
for name in ("open", "reload", "close", "sessions", "resume"):
    getattr(library, f"smq_tls_{name}").argtypes = {"open": [P, P, P], "reload": [P, P, P], "close": [P],
                                                    "sessions": [P, P, P], "resume": [P, P, N]}[name]
engine = library.smq_tls_openssl().contents
call = type("call", (), {name: staticmethod(ctypes.CFUNCTYPE(*types)(getattr(engine, name)))
                         for name, types in FUNCTIONS.items()})


class Failed(Exception):
    def __init__(self, why, status=None):
        self.why, self.status = why, status
        self.cause, self.alert, self.depth = CAUSES[why.cause], why.alert, why.depth
        self.text, self.subject = why.text.decode(), why.subject.decode()
        super().__init__(f"{self.cause}: {self.text} (alert {self.alert}, depth {self.depth}, subject {self.subject!r}, "
                         f"native {why.native:#x}{f', status {status}' if status else ''})")


def failure():
    return Failure(alert=-1, depth=-1)


class Given:
    """smq_tls_options of keyword arguments; it keeps what they point to."""

    def __init__(self, flags=0, password=None, **values):
        self.options, self.kept = Options(flags=flags), []
        for name, value in values.items():
            if isinstance(value, (str, Path)):
                value = str(value).encode()
            if isinstance(value, bytes):
                self.kept.append(ctypes.create_string_buffer(value, len(value) + 1))
                value = Bytes(ctypes.addressof(self.kept[-1]), len(value))
            setattr(self.options, name, value)
        if password is not None:
            self.asked = 0

            def answer(user, to, size):
                self.asked += 1
                ctypes.memmove(to, password, len(password))
                return len(password)

            self.kept.append(PASSWORD(answer))
            self.options.password = ctypes.cast(self.kept[-1], P)


class Settings:
    def __init__(self, **options):
        self.tls, self.given = P(), Given(**options)
        why = failure()
        status = library.smq_tls_open(ctypes.byref(self.given.options), ctypes.byref(self.tls), ctypes.byref(why))
        if status:
            raise Failed(why, status)

    def reload(self, **options):
        given, why = Given(**options), failure()
        status = library.smq_tls_reload(self.tls, ctypes.byref(given.options), ctypes.byref(why))
        if status:
            raise Failed(why, status)

    def sessions(self):
        size = N()
        assert library.smq_tls_sessions(self.tls, None, ctypes.byref(size)) == 0
        buffer = ctypes.create_string_buffer(size.value)
        assert library.smq_tls_sessions(self.tls, buffer, ctypes.byref(size)) == 0
        return buffer.raw[:size.value]

    def resume(self, sessions):
        return library.smq_tls_resume(self.tls, sessions, len(sessions))

    def close(self):
        library.smq_tls_close(self.tls)
        self.tls = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Connection:
    """One connection over a socket: `piece` is how many bytes go to the engine, and to the socket, at once."""

    def __init__(self, settings, address, name="localhost", *, alpn=b"", now_s=None, piece=65536, sock=None, port=None):
        self.piece, self.received_bytes, self.sent_bytes, self.is_at_end = piece, 0, 0, False
        self.is_open, self.sock = False, sock or socket.create_connection(address, timeout=20)
        self.sock.settimeout(20)
        name = name.encode() if isinstance(name, str) else name
        target = Target(port=port if port is not None else address[1] if address else 0, name_size=len(name))
        kept = ctypes.create_string_buffer(name), ctypes.create_string_buffer(alpn)
        target.name, target.alpn, target.alpn_size = ctypes.addressof(kept[0]), ctypes.addressof(kept[1]), len(alpn)
        try:
            packed = ipaddress.ip_address(name.decode()).packed
            target.address_size = len(packed)
            target.address[:len(packed)] = packed
        except ValueError:
            pass
        if now_s is not None:
            target.now_valid, target.now_s = 1, now_s
        size = call.connection_bytes(settings.tls)
        self.memory = (ctypes.c_uint64 * (size // 8 + 2))()
        why = failure()
        if call.begin(settings.tls, self.memory, size, ctypes.byref(target), ctypes.byref(why)):
            self.sock.close()
            raise Failed(why)

    # ---- Between the engine and the socket

    def flush(self):
        data, size = P(), N()
        while True:
            call.transmit(self.memory, ctypes.byref(data), ctypes.byref(size))
            if not size.value:
                return
            try:
                count = self.sock.send(ctypes.string_at(data.value, min(size.value, self.piece)))
            except (BrokenPipeError, ConnectionResetError):
                count = size.value  # what the peer said before it closed is still to be read: an alert, perhaps
            self.sent_bytes += count
            call.transmitted(self.memory, count)

    def fill(self):
        """Waits for bytes; False: the peer has closed."""
        data, size = P(), N()
        call.receive_buffer(self.memory, ctypes.byref(data), ctypes.byref(size))
        assert size.value > 0
        try:
            got = self.sock.recv(min(size.value, self.piece))
        except ConnectionResetError:
            got = b""
        if got:
            ctypes.memmove(data.value, got, len(got))
            call.received(self.memory, len(got))
            self.received_bytes += len(got)
        return bool(got)

    def closed(self):
        """The peer has closed: in the handshake it is the client that says why."""
        why = failure()
        why.cause = CONSTANTS["SMQ_TLS_CLOSED" if self.received_bytes else "SMQ_TLS_NOT_TLS"]
        return Failed(why)

    # ---- What a client does

    def open(self):
        while True:
            why = failure()
            result = call.handshake(self.memory, ctypes.byref(why))
            self.flush()
            if result < 0:
                raise Failed(why)
            if result:
                self.is_open = True
                return self
            if not self.fill():
                raise self.closed()

    def send(self, data):
        while data:
            why = failure()
            count = call.write(self.memory, data, len(data), ctypes.byref(why))
            if count < 0:
                raise Failed(why)
            data = data[count:]
            self.flush()

    def read(self, size=65536):
        """What is there by now; b"" if nothing, None at the end."""
        buffer, why = ctypes.create_string_buffer(size), failure()
        count = call.read(self.memory, buffer, size, ctypes.byref(why))
        if count == END:
            self.is_at_end = True
            return None
        if count < 0:
            self.flush()
            raise Failed(why)
        return buffer.raw[:count]

    def receive(self, size):
        """Exactly so many bytes; fewer if the peer closes before."""
        got = b""
        while len(got) < size:
            more = self.read(size - len(got))
            if more is None:
                break
            self.flush()
            if not more and not self.fill():
                break
            got += more
        return got

    def info(self):
        info = Info()
        call.info(self.memory, ctypes.byref(info))
        return info

    def certificate(self, depth=0):
        certificate = Certificate()
        return certificate if call.certificate(self.memory, depth, ctypes.byref(certificate)) else None

    def finish(self):
        call.finish(self.memory)
        self.flush()

    def end(self):
        if self.memory is not None:
            call.end(self.memory)
            self.memory = None
            self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()


CONNECT = b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x04smqt"
CONNACK = b"\x20\x02\x00\x00"
DISCONNECT = b"\xe0\x00"


def mqtt(settings, address, name="localhost", **more):
    """Connects to an MQTT server, and returns the connection once CONNACK is there. Failed, if it does not come."""
    connection = Connection(settings, address, name, **more)
    try:
        connection.open()
        connection.send(CONNECT)
        answer = connection.receive(4)
        assert answer == CONNACK, answer
        return connection
    except BaseException:
        connection.end()
        raise


def leave(connection):
    connection.send(DISCONNECT)
    connection.finish()
    connection.end()
