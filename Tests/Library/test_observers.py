"""Observers, and the trace: they are told what goes over the connection, byte for byte, and no secrets."""

from __future__ import annotations

import ctypes
import time

import pytest

from Support import codec, smq
from Support.proxy import Plan, always
from Support.scripted_broker import CONNECT, Script, say

CONNECT_TYPE, CONNACK_TYPE, PUBLISH_TYPE, AUTH_TYPE = 1, 2, 3, 15


def agree(told: list[smq.Packet], recordings) -> None:
    """What was told is what the proxy has recorded: each packet once, whole, and in its order."""
    for sent in (True, False):
        recorded = [packet for each in recordings for packet in codec.split(each.data(from_client=sent))]
        assert [packet.data for packet in told if packet.sent == sent] == recorded
    for packet in told:
        assert packet.length == len(packet.data) and packet.type == packet.data[0] >> 4


def test_everything_that_a_client_can_send(mosquitto, recorded, clients, version):
    proxy = recorded(mosquitto)
    client = clients(url=proxy.url, references=4, stream_bytes=4096, urgent_messages=4, urgent_bytes=4096, receive_bytes=8192, **version)
    told, _ = client.observe(flags=smq.OBSERVE_SECRETS)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    assert client.subscribe("observed/#", qos=2) == smq.OK
    client.wait_event(smq.EVENT_COMPLETED)
    lent = (ctypes.c_char * 3000)(*[b"l"] * 3000)
    for qos in (0, 1, 2):
        assert client.publish("observed/plain", b"payload", qos=qos) == smq.OK
        assert client.publish("observed/urgent", b"now", qos=qos, urgent=1) == smq.OK
        assert client.lend("observed/lent", lent, qos=qos) == smq.OK
    messages = [client.wait_event(smq.EVENT_MESSAGE) for _ in range(9)]
    assert len(messages) == 9
    assert client.unsubscribe("observed/#") == smq.OK
    client.wait_event(smq.EVENT_COMPLETED)
    client.disconnect(1000)
    client.wait_event(smq.EVENT_DISCONNECTED)
    agree(told, proxy.recordings)
    assert {packet.type for packet in told} >= {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14}
    assert all(time.monotonic() * 1000 % 2**32 - packet.time_ms < 60_000 for packet in told)


def test_packets_in_pieces(mosquitto, inject, clients):
    """A byte at a time, both ways: each packet once."""
    injector = inject(mosquitto, always(Plan(pieces=3)))
    client = clients(host="127.0.0.1", port=injector.port, outbox_bytes=8192)
    told, _ = client.observe()
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    client.subscribe("observed/#", qos=1)
    client.wait_event(smq.EVENT_COMPLETED)
    for number in range(5):
        client.publish("observed/pieces", b"%d" % number * 700, qos=1)
    payloads = [client.wait_event(smq.EVENT_MESSAGE).payload for _ in range(5)]
    assert [p.data[-700:] for p in told if not p.sent and p.type == PUBLISH_TYPE] == payloads
    assert [p.data[-700:] for p in told if p.sent and p.type == PUBLISH_TYPE] == payloads
    assert all(packet.length == len(packet.data) for packet in told)


def test_messages_larger_than_the_buffer(mosquitto, clients):
    """They are told once, as far as they are here; and what follows them is in step."""
    client = clients(url=mosquitto.url, flags=smq.OPTION_PARTS, receive_bytes=256, stream_bytes=256, outbox_bytes=65536)
    told, _ = client.observe()
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    client.subscribe("observed/#", qos=0)
    client.wait_event(smq.EVENT_COMPLETED)
    large = bytes(range(256)) * 200
    assert client.publish("observed/large", large) == smq.OK
    assert client.stream("observed/stream", len(large), lambda offset, size: large[offset:offset + size]) == smq.OK
    assert client.publish("observed/small", b"end") == smq.OK
    while client.wait_event(smq.EVENT_MESSAGE).payload != b"end":
        pass
    got = [packet for packet in told if packet.type == PUBLISH_TYPE and not packet.sent]
    assert [packet.length for packet in got] == [2 + len("observed/large") + len(large) + 4, 2 + len("observed/stream") + len(large) + 4, 21]
    sent = [packet for packet in told if packet.type == PUBLISH_TYPE and packet.sent]
    for one, other in zip(got, sent):
        both = min(len(one.data), len(other.data))
        assert one.data[:both] == other.data[:both] and both > 10
    assert [packet.length for packet in sent] == [packet.length for packet in got]
    assert len(sent[0].data) == sent[0].length and len(sent[1].data) < 400


def test_secrets_are_covered(mosquitto, clients, version):
    client = clients(url=mosquitto.url, user_name="user", password="secret", **version)
    told, _ = client.observe()
    shown, _ = client.observe(flags=smq.OBSERVE_SECRETS)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    assert b"user" in told[0].data and told[0].data.endswith(b"\0\6******") and told[0].length == len(told[0].data)
    assert shown[0].data == told[0].data[:-6] + b"secret"
    assert told[1:] == shown[1:]


def test_a_will_before_the_password(mosquitto, clients):
    will = smq.Message(topic="observed/will", payload=b"w" * 500)
    client = clients(url=mosquitto.url, will=will, user_name="u", password="p" * 2000)
    told, _ = client.observe()
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    connect = told[0]
    assert connect.length > 2500 and len(connect.data) == 1024 and b"w" * 500 in connect.data
    assert connect.data.endswith(b"*" * 400) and b"p" * 3 not in connect.data


def test_authentication_data_is_covered(broker, clients):
    method, data = (0x15, "SCRAM"), (0x16, b"s3cret")
    properties = codec.properties([method, data])
    auth = codec.packet(AUTH_TYPE, b"\x18" + properties)
    broker.scripts = [Script(at={CONNECT: say(auth)})]
    client = clients(url=broker.url, protocol=5, properties=properties[1:])
    told, _ = client.observe()
    client.connect()
    client.wait_event(smq.EVENT_AUTHENTICATE)
    assert client.authenticate(0x18, b"more s3cret") == smq.OK
    client.until(lambda: any(packet.sent and packet.type == AUTH_TYPE for packet in told))
    assert [packet.type for packet in told] == [CONNECT_TYPE, AUTH_TYPE, AUTH_TYPE]
    assert all(b"s3cret" not in packet.data and b"SCRAM" in packet.data for packet in told)
    assert b"*" * 6 in told[0].data and b"*" * 6 in told[1].data and b"*" * 11 in told[2].data
    assert told[1].data.replace(b"*" * 6, b"s3cret") == auth


def test_what_cannot_be_read_is_a_secret(broker, clients):
    """An AUTH whose properties end in the middle of the Authentication Data."""
    bad = codec.packet(AUTH_TYPE, b"\x18\x09\x15\0\1A\x16\0\6s3")
    broker.scripts = [Script(at={CONNECT: say(bad)})]
    client = clients(url=broker.url, protocol=5)
    told, _ = client.observe()
    client.connect()
    client.wait_event(smq.EVENT_DISCONNECTED)
    assert told[1].data == bad[:2] + b"*" * (len(bad) - 2)


@pytest.mark.parametrize("bad, shown", [
    (b"\xf0\xff\xff\xff\xff\xff", b"\xf0*****"), (b"\xf1\x09s3cret", b"\xf1*******"), (b"\x21s3cret", b"\x21******"),
    (b"\x41anything", b"\x41anything")])
def test_bytes_that_are_no_packet(broker, clients, bad, shown):
    """Behind the first byte of an AUTH or a CONNACK may be Authentication Data, whatever the rest of the header says."""
    broker.scripts = [Script(at={CONNECT: say(b"\x20\x03\0\0\0" + bad)})]
    client = clients(url=broker.url, protocol=5)
    told, _ = client.observe()
    client.connect()
    client.wait_event(smq.EVENT_DISCONNECTED)
    assert [(packet.type, packet.data) for packet in told[1:]] == [
        (2, b"\x20\x03\0\0\0"), (0, shown), (14, b"\xe0\x01\x81")
    ]


def test_from_the_middle_of_a_connection_on(mosquitto, recorded, clients):
    """Added while messages wait to be read, and while one is half sent; removed, and added again."""
    proxy = recorded(mosquitto)
    client = clients(url=proxy.url, receive_bytes=8192)
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    client.subscribe("observed/#", qos=1)
    client.wait_event(smq.EVENT_COMPLETED)
    told, observer = client.observe()
    assert told == []
    client.publish("observed/first", b"1", qos=1)
    client.wait_event(smq.EVENT_MESSAGE)
    assert smq.library.smq_remove_observer(client.handle, ctypes.byref(observer)) == smq.OK and not observer.next
    count = len(told)
    client.publish("observed/second", b"2", qos=1)
    client.wait_event(smq.EVENT_MESSAGE)
    assert len(told) == count
    assert smq.library.smq_add_observer(client.handle, ctypes.byref(observer)) == smq.OK
    client.publish("observed/third", b"3", qos=1)
    client.wait_event(smq.EVENT_MESSAGE)
    topics = [packet.data[4:].split(b"\0\0")[0] for packet in told if packet.type == PUBLISH_TYPE]
    assert len([t for t in topics if b"first" in t]) == 2 and len([t for t in topics if b"third" in t]) == 2
    assert not any(b"second" in t for t in topics)


def test_what_was_received_and_not_read(broker, clients):
    """It comes first, as soon as somebody looks on."""
    messages = [codec.publish_packet("observed/%d" % number, b"x") for number in range(5)]
    broker.scripts = [Script(at={CONNECT: say(b"\x20\x02\0\0" + b"".join(messages) + b"\x30\x10\0")})]
    client = clients(url=broker.url, protocol=4)
    client.connect()
    client.until(lambda: any(event.type == smq.EVENT_CONNECTED for event in client.events))
    told, _ = client.observe()
    client.wait_event(smq.EVENT_CONNECTED)
    for _ in messages:
        client.wait_event(smq.EVENT_MESSAGE)
    assert [packet.data for packet in told] in (messages[count:] for count in range(6))


def test_several_observers_and_logs(mosquitto, clients):
    """Each is told, in the order in which they were added; smq_set_log() is one more."""
    client = clients(url=mosquitto.url)
    order: list[tuple[str, int]] = []

    def logger(name: str):
        hook = smq.LOG(lambda user, level, what, number, other: order.append((name, what)))
        client.kept.append(hook)
        return hook

    assert smq.library.smq_set_log(client.handle, smq.LOG_INFO, logger("own"), None) == smq.OK
    first, _ = client.observe(log=ctypes.cast(logger("first"), smq.ANY), log_level=smq.LOG_DEBUG)
    second, last = client.observe(log=ctypes.cast(logger("second"), smq.ANY), log_level=smq.LOG_INFO)
    third, _ = client.observe()
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    assert first == second and len(first) == 2
    assert order[:3] == [("own", smq.LOG_ATTEMPT), ("first", smq.LOG_ATTEMPT), ("second", smq.LOG_ATTEMPT)]
    assert ("first", smq.LOG_OPENED) in order and ("own", smq.LOG_OPENED) not in order
    assert smq.library.smq_set_log(client.handle, 0, smq.LOG(), None) == smq.OK
    assert smq.library.smq_remove_observer(client.handle, ctypes.byref(last)) == smq.OK
    order.clear()
    client.disconnect()
    client.wait_event(smq.EVENT_DISCONNECTED)
    assert {name for name, _ in order} == {"first"} and len(second) == 2 and len(first) == len(third) == 3


def test_a_client_that_is_closed_gives_its_observers_back(clients):
    for _ in range(2):
        with smq.Client(url="mqtt://127.0.0.1:1") as client:
            kept = [client.observe()[1] for _ in range(3)]
            assert kept[0].next and kept[1].next and not kept[2].next
        assert not any(observer.next for observer in kept)
        with smq.Client(url="mqtt://127.0.0.1:1") as client:
            assert smq.library.smq_add_observer(client.handle, ctypes.byref(kept[0])) == smq.OK


def test_wrong_calls(clients):
    client = clients(url="mqtt://127.0.0.1:1")
    library, observer = smq.library, smq.Observer()
    reference = ctypes.byref(observer)
    assert library.smq_add_observer(None, reference) == smq.ERR_NULL
    assert library.smq_add_observer(client.handle, None) == smq.ERR_NULL
    assert library.smq_remove_observer(client.handle, reference) == smq.ERR_STATE
    for field, value, status in [
        ("size", 8, smq.ERR_STRUCT_SIZE), ("reserved", 1, smq.ERR_STRUCT_SIZE), ("flags", 2, smq.ERR_OPTION),
        ("log_level", 4, smq.ERR_OPTION), ("log_level", -1, smq.ERR_OPTION), ("next", 8, smq.ERR_OPTION),
    ]:
        before = getattr(observer, field)
        setattr(observer, field, value)
        assert library.smq_add_observer(client.handle, reference) == status, field
        setattr(observer, field, before)
    assert library.smq_add_observer(client.handle, reference) == smq.OK
    assert library.smq_add_observer(client.handle, reference) == smq.ERR_STATE
    assert library.smq_remove_observer(client.handle, reference) == smq.OK
    assert library.smq_trace_read(client.handle, smq.TAP(), None) == smq.ERR_NULL
    assert library.smq_trace_clear(client.handle) == smq.ERR_NOT_SUPPORTED


def test_a_trace(mosquitto, clients):
    """It has the last packets, of earlier connections, too, without a function that looked on."""
    client = clients(url=mosquitto.url, trace_bytes=2048, trace_packet_bytes=64, user_name="u", password="secret", reconnect=True)
    told, _ = client.observe()
    for _ in range(2):
        client.connect()
        client.wait_event(smq.EVENT_CONNECTED)
        for number in range(40):
            client.publish("traced", b"%d" % number * 50, qos=1)
            client.wait_event(smq.EVENT_COMPLETED)
        trace = client.trace()
        shortened = [smq.Packet(p.sent, p.type, p.time_ms, p.length, p.data[:64]) for p in told]
        assert trace == shortened[-len(trace):] and 20 < len(trace) < 60
        assert sum(16 + len(packet.data) for packet in trace) > 2048 - 2 * (64 + 16)
        client.disconnect(1000)
        client.wait_event(smq.EVENT_DISCONNECTED)
    assert client.trace()[-1].type == 14
    assert smq.library.smq_trace_clear(client.handle) == smq.OK and client.trace() == []
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    assert [packet.type for packet in client.trace()] == [CONNECT_TYPE, CONNACK_TYPE]
    assert b"secret" not in client.trace()[0].data


@pytest.mark.parametrize("options", [{"trace_bytes": 255}, {"trace_bytes": 16_777_217}, {"trace_bytes": 1024, "trace_packet_bytes": 257}, {"trace_packet_bytes": 1}])
def test_options_of_a_trace(options):
    assert smq.library.smq_options_check(ctypes.byref(smq.Options(url="mqtt://a", **options)), None) == smq.ERR_OPTION


@pytest.mark.parametrize("size", range(256, 300))
def test_a_ring_of_any_size(mosquitto, clients, size):
    client = clients(url=mosquitto.url, trace_bytes=size)
    told, _ = client.observe()
    client.connect()
    client.wait_event(smq.EVENT_CONNECTED)
    for number in range(30):
        client.publish("t", b"p" * (number * 7 % 80), qos=1)
        client.wait_event(smq.EVENT_COMPLETED)
        trace = client.trace()
        assert [packet.length for packet in trace] == [packet.length for packet in told][-len(trace):]
        assert all(old.data.startswith(new.data) for new, old in zip(trace, told[-len(trace):]))
        assert len(trace) >= 2
