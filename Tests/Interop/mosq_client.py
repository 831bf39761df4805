"""libmosquitto, or what takes its place, behind the interface of `clients`, run with mosquitto_loop() in the thread of
the test."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence

from . import mosq
from .clients import Client, Pairs, Settings

# The libraries divide what is wrong with a call in ways of their own: that it is refused is what is compared.
REFUSED = {
    2: "MOSQ_ERR_PROTOCOL",
    3: "MOSQ_ERR_INVAL",
    9: "MOSQ_ERR_PAYLOAD_SIZE",
    10: "MOSQ_ERR_NOT_SUPPORTED",
    18: "MOSQ_ERR_MALFORMED_UTF8",
    22: "MOSQ_ERR_DUPLICATE_PROPERTY",
    24: "MOSQ_ERR_QOS_NOT_SUPPORTED",
    25: "MOSQ_ERR_OVERSIZE_PACKET",
    28: "MOSQ_ERR_RETAIN_NOT_SUPPORTED",
}
WORDS = {0: "ok", mosq.ERR_NO_CONN: "no connection"} | dict.fromkeys(REFUSED, "refused")


class MosqClient(Client):
    """A `struct mosquitto`."""

    def __init__(self, settings: Settings, library: mosq.Library):
        super().__init__(settings)
        self.library = library
        lib = self.lib = library.functions
        s = settings
        self.handle = lib.mosquitto_new(s.client_id.encode() if s.client_id else None, s.clean, None)
        if not self.handle:
            raise ValueError("mosquitto_new() makes no client of this")
        self.open = self.wanted = False
        self.messages: dict[int, int] = {}  # by the library's identifier; it gives one also to QoS 0
        self.requests: dict[int, int] = {}
        self.set_options(s)
        self.callbacks = {
            "connect": mosq.ON_CONNECT(self.on_connect),
            "disconnect": mosq.ON_DISCONNECT(self.on_disconnect),
            "publish": mosq.ON_PUBLISH(self.on_publish),
            "message": mosq.ON_MESSAGE(self.on_arrived),
            "subscribe": mosq.ON_SUBSCRIBE(self.on_subscribe),
            "unsubscribe": mosq.ON_UNSUBSCRIBE(self.on_unsubscribe),
        }
        for name, function in self.callbacks.items():
            getattr(lib, f"mosquitto_{name}_v5_callback_set")(self.handle, function)

    def word(self, status: int) -> str:
        """What a call returned."""
        return WORDS.get(status) or self.lib.mosquitto_strerror(status).decode()

    def set_options(self, s: Settings) -> None:
        lib = self.lib
        lib.mosquitto_int_option(self.handle, mosq.OPT_PROTOCOL_VERSION, s.protocol)
        lib.mosquitto_int_option(self.handle, mosq.OPT_TCP_NODELAY, 1)
        if not s.own_defaults:
            lib.mosquitto_int_option(self.handle, mosq.OPT_RECEIVE_MAXIMUM, s.receive_maximum)
            lib.mosquitto_int_option(self.handle, mosq.OPT_SEND_MAXIMUM, s.in_flight)
        if s.user is not None or s.password is not None:
            user = s.user.encode() if s.user is not None else None
            self.done(lib.mosquitto_username_pw_set(self.handle, user, s.password))
        if w := s.will:
            arguments = (w.topic.encode(), len(w.payload), w.payload, w.qos, w.retain)
            if s.protocol == 5 or w.properties:  # which takes the properties over
                status = lib.mosquitto_will_set_v5(self.handle, *arguments, self.library.properties(w.properties).head)
            else:
                status = lib.mosquitto_will_set(self.handle, *arguments)
            self.done(status)

    def done(self, status: int) -> None:
        if status:
            raise ValueError(self.lib.mosquitto_strerror(status).decode())

    # -- calls --

    def begin(self) -> None:
        s = self.settings
        pairs = list(s.properties)
        if s.session_expiry is not None:
            pairs.append((0x11, s.session_expiry))
        if s.aliases_in:
            pairs.append((0x22, s.aliases_in))
        self.wanted = True
        with self.library.properties(pairs) as list_:
            status = self.lib.mosquitto_connect_bind_v5(self.handle, b"127.0.0.1", s.port, s.keep_alive, None, list_)
        self.attempted(status)

    def attempted(self, status: int) -> None:
        self.open = status == 0
        if status in (2, 3):
            self.wanted = False
            self.tell("refused", "by the library")
        elif status:
            self.tell("down")

    def send(self, number: int, topic: str, payload: bytes, qos: int, retain: bool, properties: Pairs) -> str:
        identifier = ctypes.c_int(0)
        self.number = number  # mosquitto_publish() may call back before it returns
        with self.library.properties(properties) as list_:
            status = self.lib.mosquitto_publish_v5(
                self.handle, ctypes.byref(identifier), topic.encode(), len(payload), payload, qos, retain, list_
            )
        self.messages[identifier.value] = number
        return self.word(status)

    def ask(self, number: int, filters: Sequence[str], qos: int, options: int, properties: Pairs) -> str:
        def call(identifier: object, list_: object) -> int:
            if len(filters) == 1:
                return self.lib.mosquitto_subscribe_v5(self.handle, identifier, filters[0].encode(), qos, options, list_)
            array = self.array(filters)
            return self.lib.mosquitto_subscribe_multiple(self.handle, identifier, len(filters), array, qos, options, list_)

        return self.asked(number, properties, call)

    def take_back(self, number: int, filters: Sequence[str], properties: Pairs) -> str:
        def call(identifier: object, list_: object) -> int:
            if len(filters) == 1:
                return self.lib.mosquitto_unsubscribe_v5(self.handle, identifier, filters[0].encode(), list_)
            array = self.array(filters)
            return self.lib.mosquitto_unsubscribe_multiple(self.handle, identifier, len(filters), array, list_)

        return self.asked(number, properties, call)

    def asked(self, number: int, properties: Pairs, call: Callable[[object, object], int]) -> str:
        identifier = ctypes.c_int(0)
        with self.library.properties(properties) as list_:
            status = call(ctypes.byref(identifier), list_)
        self.requests[identifier.value] = number
        return self.word(status)

    @staticmethod
    def array(filters: Sequence[str]) -> ctypes.Array:
        return (ctypes.c_char_p * len(filters))(*(filter.encode() for filter in filters))

    def leave(self, reason_code: int, properties: Pairs) -> str:
        self.wanted = False
        with self.library.properties(properties) as list_:
            return self.word(self.lib.mosquitto_disconnect_v5(self.handle, reason_code, list_))

    def step(self, timeout_ms: int) -> None:
        """What mosquitto_loop_forever() does in one turn, with a short wait before it connects again."""
        if self.open:
            self.open = self.lib.mosquitto_loop(self.handle, timeout_ms, 1) == 0
        elif self.settings.reconnect and self.wanted:
            time.sleep(0.02)
            self.attempted(self.lib.mosquitto_reconnect(self.handle))
        else:
            time.sleep(timeout_ms / 1000)

    def close(self) -> None:
        if self.handle:
            self.lib.mosquitto_destroy(self.handle)
            self.handle = None

    # -- callbacks --

    def on_connect(self, _: int, __: int, code: int, flags: int, properties: int) -> None:
        if code:
            self.tell("refused", code)
        else:
            self.tell("connected", flags & 1, sorted(self.library.walk(properties), key=lambda pair: pair[0]))

    def on_disconnect(self, _: int, __: int, code: int, properties: int) -> None:
        if code == mosq.ERR_SUCCESS:
            self.tell("disconnected")
        elif code == mosq.ERR_KEEPALIVE:
            self.tell("down", "keep alive")
        elif code >= 0x80:
            self.tell("down", "server", code, self.library.walk(properties))
        elif code == mosq.ERR_CONN_LOST:
            self.tell("down")
        else:
            self.tell("down", f"MOSQ_ERR {code}")

    def on_publish(self, _: int, __: int, identifier: int, code: int, properties: int) -> None:
        number = self.messages.get(identifier, self.number)
        self.tell("published", number, code, self.library.walk(properties))

    def on_arrived(self, _: int, __: int, message: object, properties: int) -> None:
        m = message.contents
        pairs = sorted(self.library.walk(properties), key=lambda pair: pair[0])
        self.tell("message", m.topic.decode(), m.bytes(), m.qos, int(m.retain), pairs)

    def on_subscribe(self, _: int, __: int, identifier: int, count: int, codes: object, properties: int) -> None:
        self.tell("subscribed", self.requests[identifier], [codes[i] for i in range(count)], self.library.walk(properties))

    def on_unsubscribe(self, _: int, __: int, identifier: int, properties: int) -> None:
        self.tell("unsubscribed", self.requests[identifier], None, self.library.walk(properties))
