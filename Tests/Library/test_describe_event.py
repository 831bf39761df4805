"""smq_describe_event(): an event in one line."""

from __future__ import annotations

import ctypes
import errno
import os

import pytest

from Support import smq
from Support.codec import SUBSCRIBE
from Support.scripted_broker import Broker, Script, disconnect, publish
from Support.smq import Client, Subscriptions, library


def described(event: smq.RawEvent) -> str:
    text = ctypes.create_string_buffer(2000)
    size = library.smq_describe_event(ctypes.byref(event), text, len(text))
    assert size == len(text.value) and library.smq_describe_event(ctypes.byref(event), None, 0) == size
    return text.value.decode()


def event(**values: object) -> smq.RawEvent:
    event = smq.RawEvent()
    event.reason_code = event.retry_ms = -1
    event.kept = {name: smq.view(value) for name, value in values.items() if isinstance(value, str)}  # the struct has its address
    for name, value in {**values, **event.kept}.items():
        setattr(event, name, value)
    return event


def test_every_type_has_its_name():
    types = {name: value for name, value in smq.CONSTANTS.items() if name.startswith("SMQ_EVENT_")}
    assert len(types) == 15
    for name, value in types.items():
        assert described(event(type=value)).split(",")[0] == name[len("SMQ_EVENT_") :]
    for value in (-1, 15, 2**31 - 1, -(2**31)):
        assert described(event(type=value)) == "UNKNOWN"


def test_every_status_stage_and_rule():
    for name, value in smq.CONSTANTS.items():
        if name.startswith("SMQ_ERR_"):
            text = library.smq_status_text(value).decode()
            assert described(event(type=smq.EVENT_COMPLETED, status=value)) == f"COMPLETED {name}: {text}"
        elif name.startswith("SMQ_STAGE_") and value:
            assert described(event(type=smq.EVENT_DISCONNECTED, stage=value)) == \
                f"DISCONNECTED, stage {library.smq_stage_name(value).decode()}"
        elif name.startswith("SMQ_RULE_") and value:
            assert described(event(type=smq.EVENT_DISCONNECTED, rule=value)) == \
                f"DISCONNECTED, rule {library.smq_rule_name(value).decode()}"


def test_what_was_completed():
    for prefix, kind in (("SMQ_COMPLETED_", smq.EVENT_COMPLETED), ("SMQ_JOURNAL_", smq.EVENT_JOURNAL)):
        values = {name.removeprefix(prefix): value for name, value in smq.CONSTANTS.items() if name.startswith(prefix)}
        type_name = {smq.EVENT_COMPLETED: "COMPLETED", smq.EVENT_JOURNAL: "JOURNAL"}[kind]
        wanted = {"PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE"} if kind == smq.EVENT_COMPLETED else {
            "RECOVERED", "FAILED", "HEALED", "STORED"}  # fmt: skip
        for name in wanted:
            assert described(event(type=kind, completed=values[name], cookie=7)) == f"{type_name} {name}, cookie 7"
    for value in (*set(range(120)) - {3, 8, 10, 101, 102, 103, 104}, 2**31, 2**32 - 1):
        assert described(event(type=smq.EVENT_COMPLETED, completed=value)) == "COMPLETED", value


def test_errors_of_the_system_in_words():
    """In those of libc: of others there is the number."""
    common = ("EPERM ENOENT EIO ENOMEM EACCES EINVAL ENFILE EMFILE ENOSPC EROFS EPIPE EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH "
              "ECONNABORTED ECONNRESET ENOBUFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH").split()  # fmt: skip
    worded = {getattr(errno, name) for name in common}
    for number in (*range(1, 140), 2**31 - 1, -1, -2, -3, -200, -(2**31)):
        words = f" ({os.strerror(number)})" if number in worded else ""
        assert described(event(type=smq.EVENT_DISCONNECTED, os_error=number)) == f"DISCONNECTED, os error {number}{words}"
    strings = ctypes.CDLL(None).gai_strerror
    strings.restype = ctypes.c_char_p
    for number in range(-12, 0):
        words = f" ({strings(number).decode()})" if -5 <= number <= -2 else ""
        line = described(event(type=smq.EVENT_DISCONNECTED, os_error=number, status=smq.ERR_RESOLVE))
        assert line.partition(", ")[2] == f"os error {number}{words}"


def test_all_that_an_end_may_have():
    assert described(event(
        type=smq.EVENT_DISCONNECTED, status=smq.ERR_SERVER_CLOSED, stage=4, os_error=-3, reason_code=0x9D, protocol=5,
        reason_string="gone", server_reference="other:1884", attempt=7, retry_ms=1500,
    )) == (
        "DISCONNECTED SMQ_ERR_SERVER_CLOSED: the server closed the connection with DISCONNECT, stage connected, "
        'os error -3, reason 157 Server moved, "gone", server reference "other:1884", attempt 7, retry in ms 1500'
    )  # fmt: skip


def test_the_largest_numbers():
    assert described(event(
        type=smq.EVENT_MESSAGE, topic="a", qos=2, retain=1, duplicate=1, payload_total=2**32 - 1, token=2**64 - 1, cookie=10**19,
        os_error=-(2**31), reason_code=255, protocol=4,
    )) == (
        'MESSAGE, os error -2147483648, reason 255 unknown Reason Code, topic "a", QoS 2, retained, duplicate, '
        "payload of 4294967295, token 18446744073709551615, cookie 10000000000000000000"
    )  # fmt: skip


@pytest.mark.parametrize(
    "topic, shown",
    [
        ("a\x00\x1b[31m\x1f\x7f\n", r"a\x00\x1B[31m\x1F\x7F\x0A"), ("\x80\x9b\x9f\xa0", "\\xC2\\x80\\xC2\\x9B\\xC2\\x9F\xa0"),
        ("ä€😀", "ä€😀"), ('say "a\\b"', r'say \"a\\b\"'), ("é", "é"),
    ],
)  # fmt: skip
def test_what_controls_a_terminal_is_escaped(topic: str, shown: str):
    assert described(event(type=smq.EVENT_SUBSCRIPTION_LOST, topic=topic)) == f'SUBSCRIPTION_LOST, topic "{shown}"'
    assert described(event(type=smq.EVENT_ADDRESSES, server_reference=topic)) == f'ADDRESSES, host "{shown}"'


@pytest.mark.parametrize("capacity", range(12))
def test_too_little_room(capacity: int):
    text = ctypes.create_string_buffer(b"#" * 20, 20)
    assert library.smq_describe_event(ctypes.byref(event(type=smq.EVENT_CONNECTED)), text, capacity) == 9
    written = b"CONNECTED"[: max(capacity - 1, 0)] + (b"\0" if capacity else b"")
    assert text.raw == written + b"#" * (20 - len(written))


def test_no_event():
    text = ctypes.create_string_buffer(b"before", 7)
    assert library.smq_describe_event(None, text, 7) == 0 and text.value == b""
    short = smq.RawEvent()
    short.size -= 1
    assert library.smq_describe_event(ctypes.byref(short), text, 7) == 0


def test_events_of_a_connection():
    """A message, with a topic and a payload that are not to be obeyed, and the end of the connection."""
    first = Script(on={SUBSCRIBE: [lambda connection, packet: (
        connection.answer(packet), publish("a\x1b", b"secret", qos=1)(connection, packet),
        disconnect(0x98, reason_string="by\x1be")(connection, packet))]})  # fmt: skip
    lines = []
    with Broker(later=first) as broker, Client(url=broker.url, protocol=5, flags=smq.OPTION_NO_RECONNECT) as client:
        client.connect()
        while not lines or not lines[-1].startswith("DISCONNECTED"):
            assert library.smq_wait(client.handle, 20_000) >= 0
            raw = smq.RawEvent()
            while library.smq_next_event(client.handle, ctypes.byref(raw)) == 1:
                lines.append(described(raw))
                if raw.type == smq.EVENT_CONNECTED:
                    assert library.smq_subscribe(client.handle, ctypes.byref(Subscriptions("a/#", cookie=5))) == smq.OK
    assert lines[0] == "CONNECTED, reason 0 Success, attempt 1"
    assert lines[1] == "COMPLETED SUBSCRIBE, cookie 5"
    assert lines[2].startswith('MESSAGE, topic "a\\x1B", QoS 1, payload of 6, token ')
    assert lines[3] == (
        "DISCONNECTED SMQ_ERR_SERVER_CLOSED: the server closed the connection with DISCONNECT, stage connected, "
        'reason 152 Administrative action, "by\\x1Be", attempt 1'
    )
