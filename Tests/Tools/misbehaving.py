"""Servers that are none, or that fail: what each connection of the scripted broker does, by the name of its way."""

from __future__ import annotations

import time

from Support.codec import PUBACK, PUBLISH, PUBREC, SUBACK, SUBSCRIBE
from Support.scripted_broker import Connection, Packet, Script, close, disconnect, nothing, refuse, reset

# C0, DEL, C1 (U+009B is CSI: what follows is obeyed as behind ESC and a bracket), and what is none of them.
TOPIC = "shown/\x1b[31m\x7f\u009b1m/\u00e4\u20ac\U0001f600"
PAYLOAD = b"one\ttwo\nthree\x07\x1b]0;title\x07\xc2\x9b2J\x9b3J\xff" + "\u00e4".encode()
TEXT = "text \x1b \x7f \u009b \u00e4"
PROPERTIES = dict(content_type="type\x1bc", user_property=[("na\u009bme", "value\x1bc")])


def web(connection: Connection, received: Packet) -> None:
    connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    connection.end()


def sending(payload: bytes) -> Script:
    """Sends a message that has control characters everywhere, to who subscribes or, in 3.1.1, publishes."""

    def action(connection: Connection, received: Packet) -> None:
        connection.answer(received)
        if (received.type == SUBSCRIBE) == (connection.level == 5):
            connection.publish(TOPIC, payload, now=True, **PROPERTIES)

    return Script(on={SUBSCRIBE: action, PUBLISH: action})


def retained_first(delay: float = 0, is_answered: bool = True) -> object:
    """Of 3.1.1: sends a retained message before SUBACK, as [MQTT-3.8.4] allows."""

    def action(connection: Connection, received: Packet) -> None:
        for filter, _ in received.filters:
            if message := connection.broker.retained.get(filter):
                time.sleep(delay)
                connection.publish(filter, message.payload, retain=1, now=True)
        connection.flush()
        if is_answered:
            time.sleep(delay)
            connection.acknowledge(SUBACK, received.id, bytes(options & 3 for _, options in received.filters))

    return action


def slow_to_keep(connection: Connection, received: Packet) -> None:
    time.sleep(0.9 if received.retain else 0)
    connection.answer(received)


def not_keeping(connection: Connection, received: Packet) -> None:
    connection.answer(received)
    connection.broker.retained.clear()


WAYS = dict(
    silent=Script(at={1: nothing}),
    closing=Script(at={1: close}),
    web=Script(at={1: web}),
    refusing=Script(at={1: refuse(5)}),
    resetting=Script(at={1: reset}),
    old=Script(levels=frozenset((3,)), at={2: close}),  # says so (3.1.1, section 3.1.2.2)
    dying=Script(at={2: close}),
    frozen=Script(on={type: nothing for type in range(2, 16)}),
    tiny=Script(connack=dict(maximum_packet_size=16)),  # that no SUBSCRIBE fits in (section 3.2.2.3.6)
    moving=Script(at={2: disconnect(0x9D)}),
    talking=Script(
        at={
            1: refuse(
                0x9D,
                reason_string="no\x1b[2J\x7f\u009b1m\nsmq pub: all is well \u00e4",
                server_reference="else\u009bwhere",
            )
        }
    ),
    sending=sending(PAYLOAD),
    sending_text=sending(TEXT.encode()),
    unwilling=Script(grant=lambda filter, options: 0x80 if filter.startswith("a/") else 0),
    eager=Script(on={SUBSCRIBE: [None, retained_first()]}),
    keeping_quiet=Script(on={SUBSCRIBE: [None, retained_first(is_answered=False)]}),
    oblivious=Script(on={PUBLISH: not_keeping}),
    dawdling=Script(on={PUBLISH: slow_to_keep, SUBSCRIBE: [None, retained_first(0.9)]}),
    slow_reader=Script(stall=(4096, 2.0)),
    forgetful=Script(hold={PUBACK, PUBREC}),  # hands out what is published, and acknowledges nothing of it
)
