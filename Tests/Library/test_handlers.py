"""The table of handlers, and the helpers: topics, filters, templates, client ids."""

from __future__ import annotations

import ctypes
import random
import re

import pytest

from Support import smq
from Support.scripted_broker import matches
from Support.smq import library

URL = "mqtt://127.0.0.1:1"
reference, byref = smq.reference, ctypes.byref


def called_by(record: list) -> object:
    """A handler that keeps a record."""

    def handler(user: int, client: int, event: object) -> None:
        record.append((user, client, event.contents.payload.value()))

    return smq.HANDLER(handler)


# ---- The table ----


def test_an_event_names_the_first_entry_that_matches(clients, broker, version):
    client = clients(url=broker.url, handlers=5, **version)
    record = []
    handler = called_by(record)
    address = ctypes.cast(handler, ctypes.c_void_p).value
    for index, filter in ((3, "a/#"), (1, "a/b"), (2, "+/c"), (4, "#")):
        assert client.handle_filter(index, filter, handler, 100 + index) == smq.OK
    client.connected()
    raws = []
    client.on_event = lambda _: raws.append(client.raw)
    for topic, expected in (("a/b", 1), ("x/c", 2), ("a/c", 2), ("a", 3), ("y", 4), ("$SYS", -1)):
        broker.last.publish(topic, topic.encode(), 1)
        event = client.message()
        assert event.subscription == expected
        found = (address, 100 + expected) if expected >= 0 else (None, None)
        assert (event.handler, event.user) == found
        if event.handler:  # as smq_dispatch() does
            smq.HANDLER(event.handler)(event.user, client.handle, byref(raws[-1]))
    assert [user for user, _, _ in record] == [101, 102, 102, 103, 104]
    assert {handle for _, handle, _ in record} == {client.handle.value}


def test_an_entry_without_a_handler(clients, broker):
    client = clients(url=broker.url, handlers=1)
    assert client.handle_filter(0, "a", None, 7) == smq.OK
    client.connected()
    broker.last.publish("a")
    event = client.message()
    assert (event.subscription, event.handler, event.user) == (0, None, 7)


def test_it_subscribes_to_nothing(clients, broker):
    client = clients(url=broker.url, handlers=1)
    client.connected()
    before = client.stats
    assert client.handle_filter(0, "a") == smq.OK
    assert client.stats == before
    client.run(0.02)
    assert len(broker.packets) == 1


def test_entries_may_change_at_any_time(clients, broker):
    client = clients(url=broker.url, handlers=3)
    client.connected()

    def first(topic: str) -> int:
        broker.last.publish(topic)
        return client.message().subscription

    assert first("a") == -1
    assert client.handle_filter(2, "a") == smq.OK
    assert first("a") == 2
    assert client.handle_filter(0, "+") == smq.OK
    assert first("a") == 0
    assert client.handle_filter(0, "b") == smq.OK  # in its place
    assert (first("a"), first("b")) == (2, 0)
    assert client.handle_filter(2, "") == smq.OK  # cleared
    assert (first("a"), first("b")) == (-1, 0)
    assert client.handle_filter(2, "") == smq.OK
    assert client.handle_filter(1, "") == smq.OK
    client.leave()  # the table is the client's, not the connection's
    client.connected()
    assert first("b") == 0


@pytest.mark.parametrize("filter, name", [("$share/g/a/+", "g"), ("$share/g/#", "g")])
def test_of_a_shared_one_the_filter_counts(clients, broker, filter, name):
    client = clients(url=broker.url, handlers=2)
    assert client.handle_filter(1, filter) == smq.OK
    client.connected()
    broker.last.publish("a/b")
    assert client.message().subscription == 1
    assert client.next_match("a/b") == 1
    assert client.next_match(filter.replace("+", "x").replace("#", "x")) == -1


def test_next_match(clients):
    client = clients(url=URL, handlers=6)
    for index, filter in enumerate(["a/#", "b", "a/+", "", "+/x", "#"]):
        assert client.handle_filter(index, filter) == smq.OK

    def all_of(topic: str) -> list[int]:
        found, after = [], -1
        while (after := client.next_match(topic, after)) >= 0:
            found.append(after)
        assert after == -1
        return found

    assert all_of("a/x") == [0, 2, 4, 5]
    assert all_of("a") == [0, 5]
    assert all_of("b") == [1, 5]
    assert all_of("$a/x") == []
    assert client.next_match("a/x", 0) == 2
    assert client.next_match("a/x", 5) == -1
    for after in (6, 100, 2**31 - 1):
        assert client.next_match("a/x", after) == -1
    for after in (-2, -(2**31)):  # from the first, or nothing; not memory in front of the table
        assert client.next_match("a/x", after) in (0, -1)


def test_its_room(clients):
    """handlers times 32 bytes, unless handler_bytes says otherwise."""
    client = clients(url=URL, handlers=4, handler_bytes=20)
    before = client.stats
    assert client.handle_filter(0, "x" * 21) == smq.ERR_TOO_LARGE
    assert client.handle_filter(0, "x" * 20) == smq.OK
    assert client.handle_filter(1, "y") == smq.ERR_FULL
    assert client.next_match("x" * 20) == 0
    assert client.handle_filter(0, "x" * 10) == smq.OK
    assert client.handle_filter(1, "y" * 10) == smq.OK
    assert client.handle_filter(2, "z") == smq.ERR_FULL
    assert client.handle_filter(0, "x" * 11) == smq.ERR_FULL  # and what was there still is
    assert client.next_match("x" * 10) == 0
    assert client.handle_filter(1, "") == smq.OK
    assert client.handle_filter(0, "x" * 11) == smq.OK
    assert client.stats == before
    client = clients(url=URL, handlers=2)
    assert client.handle_filter(0, "x" * 64) == smq.OK
    assert client.handle_filter(1, "y") == smq.ERR_FULL


def test_every_entry_can_be_filled_again_and_again(clients):
    """Room that is given back is used again, whatever the order."""
    client = clients(url=URL, handlers=20, handler_bytes=400)
    dice, table, room = random.Random(5), [""] * 20, 400
    for _ in range(3000):
        index, filter = dice.randrange(20), "f" * dice.randrange(60)
        free = room - sum(map(len, table)) + len(table[index])
        status = client.handle_filter(index, filter)
        assert status == (smq.OK if len(filter) <= free else smq.ERR_FULL)
        if status == smq.OK:
            table[index] = filter
        probe = dice.randrange(20)
        if table[probe]:
            assert client.next_match(table[probe]) == table.index(table[probe])


@pytest.mark.parametrize("handlers", [0, 1, 7])
def test_indexes(clients, handlers):
    client = clients(url=URL, handlers=handlers)
    for index in range(handlers):
        assert client.handle_filter(index, "a") == smq.OK
    for index in (handlers, handlers + 1, 65535, 0xFFFFFFFF):
        assert client.handle_filter(index, "a") == smq.ERR_OPTION
        assert client.handle_filter(index, "") == smq.ERR_OPTION
    assert client.next_match("a") == (0 if handlers else -1)


def test_65535_handlers(clients):
    client = clients(url=URL, handlers=65535, handler_bytes=1 << 20)
    for index in range(65535):
        assert library.smq_handle(client.handle, index, reference(f"f/{index}"), None, None) == 0
    assert client.next_match("f/65534") == 65534
    assert client.next_match("f/0") == 0


# ---- Topics and filters ----

# filter, topics it asks for, topics it does not: sections 4.7.1, 4.7.2, 4.8.2.
MATCHES = [
    ("a", ["a"], ["b", "A", "a/", "/a", "aa", "a/b", "$a"]),
    ("/", ["/"], ["a", "//", "a/", "/a"]),
    ("a/b/c", ["a/b/c"], ["a/b", "a/b/c/d", "a/b/", "a//c"]),
    ("#", ["a", "/", "a/b/c", " ", "//", "ü"], ["$SYS", "$", "$SYS/a", "$share/g/a"]),
    ("a/#", ["a", "a/", "a/b", "a/b/c/", "a//"], ["b", "ab", "/a", "$a", "aa/b"]),
    ("a/b/#", ["a/b", "a/b/c"], ["a", "a/", "a/bc"]),
    ("/#", ["/", "/a", "//"], ["a", "a/"]),
    ("+", ["a", "ab", " "], ["/", "a/", "/a", "a/b", "$a"]),
    ("+/+", ["/", "a/", "/a", "a/b"], ["a", "a/b/c", "//", "$a/b"]),
    ("/+", ["/", "/a"], ["a", "//", "/a/"]),
    ("a/+", ["a/", "a/b"], ["a", "a/b/c", "a//", "b/a"]),
    ("a/+/c", ["a/b/c", "a//c"], ["a/c", "a/b/b/c", "a/b/cc"]),
    ("+/b/#", ["a/b", "/b", "a/b/", "a/b/c/d"], ["b", "a/c", "$a/b"]),
    ("+/#", ["a", "a/b", "/", "/a", "a/b/c"], ["$a", "$a/b"]),
    ("$SYS/#", ["$SYS", "$SYS/a"], ["SYS", "a", "$SYSa"]),
    ("$SYS/+", ["$SYS/a"], ["$SYS", "$SYS/a/b"]),
    ("a/$b", ["a/$b"], ["a/b"]),
    ("a/+/#", ["a/b", "a/", "a/$b/c"], ["a", "b/a"]),
    ("ü/€/+", ["ü/€/😀"], ["ü/€", "u/€/x"]),
    ("$share/g/a/+", ["a/b"], ["a", "$share/g/a/b", "g/a/b"]),
    ("$share/g/#", ["a", "a/b", "$share"[1:]], ["$SYS", "$a", "$share/g/a"]),
    ("$share/g/$SYS/#", ["$SYS/a"], ["a", "SYS/a"]),
    ("$share/ü//a", ["/a"], ["a", "//a"]),
    ("$sharex/g/a", ["$sharex/g/a"], ["a"]),
    ("$share", ["$share"], ["a"]),
    ("x" * 65535, ["x" * 65535], ["x" * 65534]),
    ("+/" * 32767 + "+", ["a/" * 32767 + "b"], ["a/" * 32766 + "b"]),
]


@pytest.mark.parametrize("filter, these, not_these", MATCHES, ids=lambda value: str(value)[:20])
def test_topic_matches(filter, these, not_these):
    for expected, topics in ((1, these), (0, not_these)):
        for topic in topics:
            got = library.smq_topic_matches(reference(filter), reference(topic))
            assert got == expected, topic
    assert library.smq_topic_filter_check(reference(filter)) == smq.OK


def test_topic_matches_at_random():
    """As the broker of the tests decides, which splits at slashes instead of walking."""
    dice = random.Random(6)
    hits = 0
    for _ in range(20_000):
        levels = [dice.choice(["", "a", "b", "$", "$a"]) for _ in range(dice.randrange(1, 5))]
        topic = "/".join(levels)
        parts = [dice.choice(["", "a", "b", "$a", "+", "+"]) for _ in range(dice.randrange(1, 5))]
        if dice.randrange(3) == 0:
            parts.append("#")
        filter = "/".join(parts)
        if not topic or not filter:
            continue
        got = library.smq_topic_matches(reference(filter), reference(topic))
        assert got == matches(filter, topic), (filter, topic)
        hits += got
    assert hits > 500


WRONG_FILTERS = {
    "empty": "",
    "too long": "a" * 65536,
    "# in a word": "a#",
    "# before the end": "#/a",
    "# in the middle": "a/#/b",
    "##": "##",
    "# behind a word": "a/b#",
    "+ in a word": "a+",
    "+ before a word": "a/+b",
    "++": "++",
    "share without a name": "$share//a",
    "share without anything": "$share/",
    "share without a filter": "$share/g",
    "share with an empty filter": "$share/g/",
    "share with + in its name": "$share/g+/a",
    "share with # in its name": "$share/#/a",
    "share with a wrong filter": "$share/g/a#",
}
NOT_UTF8 = [b"\xff", b"a\0", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a/\xe2\x82"]


@pytest.mark.parametrize("name", WRONG_FILTERS)
def test_wrong_filters(clients, name):
    """The same answer from every function that takes one."""
    filter = WRONG_FILTERS[name]
    client = clients(url=URL, handlers=1, request_bytes=1 << 17)
    before = client.stats
    answers = [
        library.smq_topic_filter_check(reference(filter)),
        library.smq_topic_matches(reference(filter), reference("a")),
        client.subscribe(filter),
        client.subscribe("fine", filter),
        client.unsubscribe(filter),
    ]
    if filter:  # an empty one clears the entry
        answers.append(client.handle_filter(0, filter))
    assert {smq.status_name(answer) for answer in answers} == {"SMQ_ERR_TOPIC_FILTER"}
    assert client.stats == before


@pytest.mark.parametrize("bad", NOT_UTF8, ids=bytes.hex)
def test_not_utf_8(clients, bad):
    client = clients(url=URL, handlers=1)
    answers = [
        library.smq_topic_filter_check(reference(bad)),
        library.smq_topic_name_check(reference(bad)),
        library.smq_topic_matches(reference(bad), reference("a")),
        library.smq_topic_matches(reference("a"), reference(bad)),
        client.subscribe(bad),
        client.unsubscribe(bad),
        client.publish(bad),
        client.handle_filter(0, bad),
    ]
    assert {smq.status_name(answer) for answer in answers} == {"SMQ_ERR_UTF8"}


@pytest.mark.parametrize(
    "topic, expected",
    [
        ("a", "OK"),
        ("/", "OK"),
        (" ", "OK"),
        ("$SYS/a", "OK"),
        ("ü/€/😀", "OK"),
        ("a" * 65535, "OK"),
        ("", "ERR_TOPIC_NAME"),
        ("a" * 65536, "ERR_TOPIC_NAME"),
        ("+", "ERR_TOPIC_NAME"),
        ("#", "ERR_TOPIC_NAME"),
        ("a/+/b", "ERR_TOPIC_NAME"),
        ("a+b", "ERR_TOPIC_NAME"),
        ("a/#", "ERR_TOPIC_NAME"),
    ],
    ids=lambda value: value[:10],
)
def test_topic_name_check(topic, expected):
    expected = getattr(smq, expected)
    assert library.smq_topic_name_check(reference(topic)) == expected
    if expected != smq.OK:
        assert library.smq_topic_matches(reference("#"), reference(topic)) == expected


def test_helpers_and_null():
    dangling = smq.Bytes(None, 1)
    a = reference("a")
    for wrong in (None, byref(dangling)):
        assert library.smq_topic_name_check(wrong) == smq.ERR_NULL
        assert library.smq_topic_filter_check(wrong) == smq.ERR_NULL
        assert library.smq_topic_matches(wrong, a) == smq.ERR_NULL
        assert library.smq_topic_matches(a, wrong) == smq.ERR_NULL
        buffer = ctypes.create_string_buffer(9)
        assert library.smq_expand_template(wrong, buffer, 9) == smq.ERR_NULL
    assert library.smq_expand_template(a, None, 9) == smq.ERR_NULL
    assert library.smq_topic_name_check(byref(smq.Bytes())) == smq.ERR_TOPIC_NAME
    assert library.smq_topic_filter_check(byref(smq.Bytes())) == smq.ERR_TOPIC_FILTER


# ---- Templates and client ids ----


def expand(text: str | bytes, capacity: int = 1000) -> bytes | int:
    buffer = ctypes.create_string_buffer(b"\xa5" * 1001, 1001)
    got = library.smq_expand_template(reference(text), buffer, capacity)
    kept = max(got, 0)
    assert set(buffer.raw[kept:]) <= {0xA5}, "more was written than was said"
    return buffer.raw[:got] if got >= 0 else got


def test_expand_template():
    assert expand("plain") == b"plain"
    assert expand("") == b""
    assert expand(b"\0\xff") == b"\0\xff"  # any text
    seen = set()
    for _ in range(50):
        made = expand("gate-%%/%%%%-ü")
        assert re.fullmatch(rb"gate-[0-9A-F]{4}/[0-9A-F]{8}-\xc3\xbc", made)
        seen.add(made)
    assert len(seen) == 50
    assert expand("%" * 3, capacity=6) != smq.ERR_FULL
    for text, size in (("%%%", 6), ("abc", 3), ("a%c", 4), ("%", 2)):
        assert len(expand(text, size)) == size
        for less in range(size):
            assert expand(text, less) == smq.ERR_FULL


def test_every_byte_comes():
    digits = expand("%" * 500)
    assert len(set(digits[0::2])) == len(set(digits[1::2])) == 16


@pytest.mark.parametrize(
    "flags, given, pattern",
    [
        (0, "plain", "plain"),
        (0, "gateway-%%%%", "gateway-[0-9A-F]{8}"),
        (0, "%", "[0-9A-F]{2}"),
        (smq.OPTION_CLIENT_ID_AS_IS, "50%-%%", "50%-%%"),
        (smq.OPTION_KEEP_SESSION, "a%", "a[0-9A-F]{2}"),
        (0, "", ""),
    ],
)
def test_client_id(clients, broker, flags, given, pattern):
    client = clients(url=broker.url, client_id=given, flags=flags)
    id = client.id
    assert re.fullmatch(pattern.encode(), id)
    for _ in range(2):  # the same as long as the client lives
        client.connected()
        client.leave()
        assert client.id == id
    assert [c["client_id"].encode() for c in broker.connects] == [id] * 2
    # Two digits may be alike; those of four clients hardly are.
    others = {clients(url=broker.url, client_id=given, flags=flags).id for _ in range(4)}
    assert (others == {id}) == ("[" not in pattern)


def test_a_client_id_that_grows_too_long():
    """What counts is what CONNECT carries: 3.1 allows 23 bytes, all versions 65,535."""
    for given, protocol, expected in (
        ("%" * 11, 3, smq.OK),
        ("%" * 12, 3, smq.ERR_CLIENT_ID),
        ("%" * 32767, 4, smq.OK),
        ("%" * 32768, 4, smq.ERR_OPTION),
    ):
        options = smq.Options(url=URL, client_id=given, protocol=protocol)
        got = library.smq_options_check(byref(options), None)
        assert smq.status_name(got) == smq.status_name(expected), (len(given), protocol)
        as_is = smq.Options(
            url=URL, client_id=given, protocol=protocol, flags=smq.OPTION_CLIENT_ID_AS_IS
        )
        assert library.smq_options_check(byref(as_is), None) == smq.OK


def test_an_assigned_client_id_is_the_servers_affair(clients, mosquitto):
    """The event's properties have it; smq_client_id() is what CONNECT carries."""
    client = clients(url=mosquitto.url, protocol=smq.PROTOCOL_5_0)
    event = client.connected()
    assigned = dict(smq.walk(event.properties))[smq.PROPERTY_ASSIGNED_CLIENT_IDENTIFIER]
    assert assigned
    assert client.id == b""
