"""libmosquitto's functions through ctypes, with a story of what they returned and whom they called; and a server
that answers as it is told."""

from __future__ import annotations

import contextlib
import ctypes
import socket
import time
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, byref, c_bool, c_char_p, c_int, c_void_p

from Support.codec import first, parse
from Support.listener import Listener
from Support.waiting import PATIENCE

from .test_messages import Message

P = c_void_p
KINDS = {
    "connect": CFUNCTYPE(None, P, P, c_int),
    "connect_with_flags": CFUNCTYPE(None, P, P, c_int, c_int),
    "connect_v5": CFUNCTYPE(None, P, P, c_int, c_int, P),
    "disconnect": CFUNCTYPE(None, P, P, c_int),
    "disconnect_v5": CFUNCTYPE(None, P, P, c_int, P),
    "publish": CFUNCTYPE(None, P, P, c_int),
    "message": CFUNCTYPE(None, P, P, POINTER(Message)),
    "message_v5": CFUNCTYPE(None, P, P, POINTER(Message), P),
    "subscribe": CFUNCTYPE(None, P, P, c_int, c_int, POINTER(c_int)),
    "unsubscribe": CFUNCTYPE(None, P, P, c_int),
    "log": CFUNCTYPE(None, P, P, c_int, c_char_p),
}


class Caller:
    """A client of either library. Arguments go as ctypes takes them, after the handle."""

    def __init__(self, library: ctypes.CDLL, id: bytes | None = b"caller", clean: bool = True, version: int = 4):
        self.library = library
        library.mosquitto_new.restype = c_void_p
        library.mosquitto_userdata.restype = c_void_p
        library.mosquitto_want_write.restype = c_bool
        self.story: list[str] = []
        self.handle = c_void_p(library.mosquitto_new(id, c_bool(clean), None))
        self.does: dict[str, Callable[[], object]] = {}
        library.mosquitto_int_option(self.handle, 1, version)
        self.kept = [self.callback(name) for name in ("connect", "disconnect", "publish", "message", "subscribe",
                                                      "unsubscribe")]

    def callback(self, name: str) -> object:
        """Tells the story of it, and does what a scenario wants it to."""

        def call(mosq: int, user: int, *arguments: object) -> None:
            words = [str(argument) for argument in arguments if isinstance(argument, int)]
            if name == "message":
                message = arguments[0].contents
                payload = ctypes.string_at(message.payload, message.payloadlen) if message.payloadlen else b""
                words = [ctypes.string_at(message.topic).decode(), payload.decode()[:20],
                         f"q{message.qos} r{int(message.retain)}"]
            elif name == "subscribe":
                words = ["granted", *(str(arguments[2][index]) for index in range(arguments[1]))]
            elif name in ("publish", "unsubscribe"):
                words = []
            elif name.endswith("_v5"):
                words = words[:-1] if arguments[-1] is not None else words
            self.story.append(" ".join([f"on_{name}", *words]))
            if name in self.does:
                self.does[name]()

        function = KINDS[name](call)
        getattr(self.library, f"mosquitto_{name}_callback_set")(self.handle, function)
        return function

    def call(self, name: str, *arguments: object, quietly: bool = False) -> int:
        result = getattr(self.library, f"mosquitto_{name}")(self.handle, *arguments)
        if not quietly:
            self.story.append(f"{name} = {result}")
        return result

    def connect(self, port: int, keepalive: int = 60, how: str = "connect") -> int:
        return self.call(how, b"127.0.0.1", port, keepalive)

    def publish(self, topic: bytes, payload: bytes, qos: int = 0, retain: bool = False) -> int:
        mid = c_int(0)
        arguments = (byref(mid), topic, len(payload), payload, qos, c_bool(retain))
        return self.call("publish", *arguments)

    def subscribe(self, filter: bytes, qos: int = 0) -> int:
        return self.call("subscribe", None, filter, qos)

    def loop_until(self, word: str, timeout: float = PATIENCE, count: int = 1) -> None:
        """mosquitto_loop(), until the story has it; what it returns is told if it is a failure."""
        end = time.monotonic() + timeout
        while sum(line.startswith(word) for line in self.story) < count and time.monotonic() < end:
            result = self.call("loop", 50, 1, quietly=True)
            if result:
                self.story.append(f"loop = {result}")
                return

    def wait_for(self, word: str, timeout: float = PATIENCE, count: int = 1) -> None:
        end = time.monotonic() + timeout
        while sum(line.startswith(word) for line in self.story) < count and time.monotonic() < end:
            time.sleep(0.01)

    def loop_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.call("loop", 50, 1, quietly=True):
                return

    def destroy(self) -> None:
        self.library.mosquitto_destroy(self.handle)


class Scripted(Listener):
    """Takes connections, and answers packets by their type, with bytes or what a function makes of the packet; b""
    hangs up. It keeps what it gets."""

    def __init__(self, answers: dict[int, bytes | Callable[[bytes], bytes]]):
        self.answers, self.packets = answers, []
        self.answered = 0  # of the packets: the answer to each is chosen, if not sent
        super().__init__(self.talk)

    def talk(self, connection: socket.socket) -> None:
        waiting = bytearray()
        while data := connection.recv(65536):
            waiting += data
            while packet := first(waiting, 5):
                self.packets.append(packet.raw)
                answer = self.answers.get(packet.type)
                if callable(answer):
                    answer = answer(packet.raw)
                self.answered += 1
                if answer == b"":
                    return
                if answer:
                    with contextlib.suppress(ConnectionError):  # who has gone has sent something before
                        connection.sendall(answer)

    def client_id(self) -> bytes:
        """Of the first CONNECT, of whatever version."""
        return parse(self.packets[0], 5).client_id.encode()
