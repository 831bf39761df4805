"""What happens when the outbox is full, against a real server: what of it arrives, in which order, and that every message
ends in exactly one completion."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from Support import smq
from Support.proxy import cut_after
from Support.scripted_broker import PUBACK, PUBLISH, Script

OLDEST, NEWEST, LATEST = smq.OVERFLOW_DROP_OLDEST, smq.OVERFLOW_DROP_NEWEST, smq.OVERFLOW_LATEST
POLICIES = (smq.OVERFLOW_REFUSE, OLDEST, NEWEST, LATEST)


@pytest.mark.parametrize("quiet", [0, 1])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_link_that_is_gone_for_long(mosquitto, subscriber, inject, clients, qos, quiet):
    """Of a thousand messages the newest that have room arrive, in their order."""
    proxy = inject(mosquitto, cut_after([4]))  # cut behind CONNACK
    client = clients(
        url=f"mqtt://127.0.0.1:{proxy.port}",
        client_id="logger",
        flags=smq.OPTION_KEEP_SESSION,
        outbox_bytes=2000,
        outbox_messages=1200,
    )
    client.connected()
    client.disconnected()
    for number in range(1000):
        payload = b"%04d" % number
        assert client.publish("log", payload, qos=qos, quiet=quiet, overflow=OLDEST, cookie=number) == smq.OK
        if number % 100 == 0:
            client.step(0)
    size = 2 + 2 + 3 + (2 if qos else 0) + 4
    kept = 2000 // size
    stats = client.stats
    assert stats.messages_dropped == 1000 - kept and stats.outbox_bytes <= 2000
    assert client.connect() == smq.OK
    client.until(lambda: client.stats.messages_completed == kept)
    assert [m.payload for m in subscriber.take(kept)] == [b"%04d" % n for n in range(1000 - kept, 1000)]
    client.leave()
    dropped = [e.cookie for e in client.completions() if e.status == smq.ERR_DROPPED]
    delivered = [e.cookie for e in client.completions() if e.status == smq.OK]
    assert dropped == ([] if quiet else list(range(1000 - kept)))
    assert delivered == ([] if quiet else list(range(1000 - kept, 1000)))
    assert client.stats.messages_failed == 1000 - kept


def test_the_oldest_behind_what_is_in_flight(mosquitto, subscriber, inject, clients, protocol):
    """The link breaks with five of ten acknowledged, and is gone for long: those five may have arrived, and stay."""
    behind_connack = 4 if protocol == 4 else 5 + 3 + 3
    proxy = inject(mosquitto, cut_after([200 if protocol == 5 else behind_connack + 5 * 4]))
    client = clients(
        url=f"mqtt://127.0.0.1:{proxy.port}", protocol=protocol, client_id="meter",
        flags=smq.OPTION_KEEP_SESSION, outbox_bytes=1000, outbox_messages=2000, in_flight_maximum=10,
    )  # fmt: skip
    client.connected()
    cookie = 0
    while not client.of(smq.EVENT_DISCONNECTED):
        assert client.publish("m", b"%04d" % cookie, qos=2, overflow=OLDEST, cookie=cookie) == smq.OK
        cookie += 1
        client.step(1)
    while cookie < 800:
        assert client.publish("m", b"%04d" % cookie, qos=2, overflow=OLDEST, cookie=cookie) == smq.OK
        cookie += 1
        client.step(0)
    client.disconnected()
    client.connected()
    client.until(lambda: len(client.completions()) == cookie)
    ends = {e.cookie: e.status for e in client.completions()}
    assert sorted(ends) == list(range(cookie)) and set(ends.values()) == {smq.OK, smq.ERR_DROPPED}
    delivered = [b"%04d" % c for c in sorted(ends) if ends[c] == smq.OK]
    assert [m.payload for m in subscriber.take(len(delivered))] == delivered
    assert delivered[-1] == b"0799"


@pytest.mark.parametrize("quiet", [0, 1])
def test_the_latest_value_of_each_topic(mosquitto, subscriber, clients, quiet):
    """Fifty topics, a hundred values each, some longer and some shorter: one of each arrives, the newest."""
    client = clients(url=mosquitto.url, outbox_messages=6000, outbox_bytes=4000)
    chance = random.Random(1)
    newest = {}
    cookie = 0
    for _ in range(100):
        for topic in chance.sample(range(50), 50):
            value = b"%d" % cookie + b"." * chance.randrange(20)
            name = f"value/{topic:02}"
            assert client.publish(name, value, qos=1, quiet=quiet, overflow=LATEST, cookie=cookie) == smq.OK
            newest[name] = value
            cookie += 1
    client.connected()
    client.until(lambda: client.stats.messages_completed == 50)
    got = subscriber.take(50)
    assert {m.topic: m.payload for m in got} == newest
    client.leave()
    ends = Counter(e.status for e in client.completions())
    assert ends == ({} if quiet else {smq.OK: 50, smq.ERR_REPLACED: 4950})
    stats = client.stats
    assert (stats.messages_replaced, stats.messages_dropped, stats.messages_failed) == (4950, 0, 4950)


def test_the_newest_is_dropped(mosquitto, subscriber, clients):
    client = clients(url=mosquitto.url, outbox_messages=3)
    for number in range(3):
        assert client.publish("a", b"%d" % number, qos=1, overflow=NEWEST, cookie=number) == smq.OK
    for _ in range(5):
        assert client.publish("a", b"x", qos=1, overflow=NEWEST, cookie=9) == smq.DROPPED
    assert client.stats.messages_published == 3 and client.stats.messages_dropped == 5
    client.connected()
    client.until(lambda: len(client.completions()) == 3)
    assert [m.payload for m in subscriber.take(3)] == [b"0", b"1", b"2"]
    assert not client.of(smq.EVENT_ROOM)


def test_the_newest_is_dropped_before_it_is_written(clients):
    """There is no place for its payload, and nothing to be committed."""
    client = clients(url="mqtt://127.0.0.1", outbox_messages=1)
    assert client.publish("a", b"0", qos=1) == smq.OK
    assert client.reserve("a", 5, qos=1, overflow=NEWEST) == (smq.DROPPED, None)
    assert client.commit(5) == smq.ERR_STATE
    assert client.stats.messages_dropped == 1


def test_alarms_go_ahead(mosquitto, subscriber, clients, protocol):
    client = clients(
        url=mosquitto.url, protocol=protocol, outbox_messages=100, urgent_messages=4, urgent_bytes=256
    )
    for number in range(100):
        assert client.publish("log", b"%d" % number, qos=1, cookie=number) == smq.OK
    assert client.publish("log", b"x", qos=1) == smq.ERR_FULL
    for number in range(4):
        status = client.publish("alarm", b"%d" % number, qos=number % 3, urgent=1, cookie=1000 + number)
        assert status == smq.OK
    assert client.publish("alarm", b"x", urgent=1) == smq.ERR_FULL
    stats = client.stats
    assert (stats.urgent_messages, stats.urgent_messages_peak) == (4, 4)
    assert stats.urgent_bytes == stats.urgent_bytes_peak > 0
    client.connected()
    client.until(lambda: len(client.completions()) == 104)
    # A subscriber with QoS 2: Mosquitto passes them on as they become complete.
    topics = [m.topic for m in subscriber.take(104)]
    assert topics.index("log") >= 2 and topics.count("alarm") == 4
    assert client.stats.urgent_messages == client.stats.urgent_bytes == 0


def test_alarms_share_the_window(clients, broker):
    """The server's Receive Maximum holds for both lanes together; the scripted broker looks."""
    broker.scripts = [Script(connack={"receive_maximum": 3}, hold={PUBACK})]
    client = clients(url=broker.url, protocol=smq.PROTOCOL_5_0, urgent_messages=8)
    client.connected()
    for number in range(5):
        assert client.publish("log", qos=1) == smq.OK
    client.until(lambda: len(broker.of(PUBLISH)) == 3)
    for number in range(5):
        assert client.publish("alarm", qos=1, urgent=1) == smq.OK
    client.run(0.05)
    assert len(broker.of(PUBLISH)) == 3
    for count in range(4, 11):
        with broker.changed:
            broker.release(broker.held[0])
        client.until(lambda: len(broker.of(PUBLISH)) == count)
    packets = broker.of(PUBLISH)
    assert [p.topic for p in packets] == ["log"] * 3 + ["alarm"] * 5 + ["log"] * 2
    assert all(p.id >= 65024 for p in packets if p.topic == "alarm")
    assert all(1 <= p.id < 65024 for p in packets if p.topic == "log")


@pytest.mark.parametrize("seed", range(6))
def test_every_message_ends_once(mosquitto, subscribe, inject, clients, seed):
    """Random policies, over a link that breaks again and again. What was delivered arrived, QoS 2 once; what was dropped or
    replaced did not; and the numbers add up."""
    chance = random.Random(seed)
    witness = subscribe(mosquitto)
    proxy = inject(mosquitto, cut_after((chance.randrange(4, 120) for _ in range(25))))
    client = clients(
        url=f"mqtt://127.0.0.1:{proxy.port}",
        protocol=chance.choice((4, 5)),
        client_id=f"audit-{seed}",
        flags=smq.OPTION_KEEP_SESSION | (smq.OPTION_QOS_0_CONNECTED if seed % 2 else 0),
        reconnect=True,
        reconnect_min_ms=10,
        reconnect_max_ms=30,
        outbox_bytes=600,
        outbox_messages=40,
        urgent_messages=5,
        urgent_bytes=100,
        in_flight_maximum=chance.choice((1, 3, 0)),
        topic_aliases_out=chance.choice((0, 3)),
    )
    assert client.connect() == smq.OK
    taken: dict[int, tuple[int, int]] = {}  # cookie: QoS, quiet
    statuses = Counter()
    deadline = time.monotonic() + 60
    cookie = 0
    while cookie < 1500:
        assert time.monotonic() < deadline
        cookie += 1
        qos, quiet, urgent = chance.randrange(3), int(chance.random() < 0.4), int(chance.random() < 0.15)
        status = client.publish(
            f"t/{chance.randrange(8)}",
            b"%d:" % cookie + b"-" * chance.randrange(40),
            qos=qos,
            quiet=quiet,
            urgent=urgent,
            overflow=chance.choice(POLICIES),
            expiry_s=chance.choice((0, 0, 0, 100)),
            cookie=cookie,
        )
        assert status in (smq.OK, smq.DROPPED, smq.ERR_FULL, smq.ERR_OFFLINE), smq.status_name(status)
        statuses[status] += 1
        if status == smq.OK:
            taken[cookie] = (qos, quiet)
        if chance.random() < 0.25:
            client.step(chance.choice((0, 0, 1, 5)))
    client.until(lambda: client.state == smq.STATE_CONNECTED and client.stats.outbox_messages == 0)
    client.until(lambda: client.stats.urgent_messages == 0)
    client.run(0.1)  # the link may break right behind the last acknowledgement
    client.until(lambda: client.state == smq.STATE_CONNECTED)
    assert client.disconnect(5000) == smq.OK
    client.until(lambda: client.state == smq.STATE_DISCONNECTED)
    ends = [(e.cookie, e.status) for e in client.completions()]
    assert len(ends) == len({c for c, _ in ends}), "a message ended twice"
    ends = dict(ends)
    assert set(ends) <= set(taken)
    assert {c for c in taken if not taken[c][1]} <= set(ends), "a message did not end"
    assert set(ends.values()) <= {smq.OK, smq.ERR_DROPPED, smq.ERR_REPLACED, smq.ERR_SESSION_LOST}
    # Quiet ones are heard of only if something else became of them than was asked for.
    told = {smq.ERR_SESSION_LOST, smq.ERR_DROPPED}  # QoS 0 whose connection is gone
    assert all(status in told for c, status in ends.items() if taken[c][1])
    mosquitto.publish("t/end", "end", "-q", "2")  # one of QoS 0 would overtake the last handshakes with the witness
    witness.until(lambda: any(m.topic == "t/end" for m in witness.messages))
    arrived = Counter(int(m.payload.split(b":")[0]) for m in witness.messages if m.topic != "t/end")
    for c, (qos, quiet) in taken.items():
        if not quiet and ends[c] == smq.OK and qos:
            assert arrived[c] >= 1, f"{c} was lost"
        if qos == 2:
            assert arrived[c] <= 1, f"{c} came twice"
        if not quiet and ends[c] in (smq.ERR_DROPPED, smq.ERR_REPLACED) and qos:
            assert arrived[c] == 0, f"{c} was dropped, and came"
    stats = client.stats
    assert stats.messages_published == len(taken)
    assert stats.messages_completed + stats.messages_failed == len(taken)
    assert stats.messages_dropped >= statuses[smq.DROPPED] > 0 and stats.messages_replaced > 0
    assert stats.connections > 5
    # Each connection that came to an end is counted by its cause.
    causes = Counter(e.status for e in client.of(smq.EVENT_DISCONNECTED))
    assert stats.ended_requested == causes[smq.OK] == 1
    assert stats.ended_closed == causes[smq.ERR_CLOSED]
    assert stats.ended_network == causes[smq.ERR_NETWORK]
    assert stats.attempts == stats.connections + sum(
        1 for e in client.of(smq.EVENT_DISCONNECTED) if e.stage in (smq.STAGE_CONNACK, smq.STAGE_CONNECT)
    )


# ---- QoS 0 for a connection only ----


def test_qos_0_connected(mosquitto, subscriber, clients):
    client = clients(url=mosquitto.url, flags=smq.OPTION_QOS_0_CONNECTED, urgent_messages=2)
    before = client.stats
    for overflow in POLICIES:
        assert client.publish("a", overflow=overflow) == smq.ERR_OFFLINE
    assert client.publish("a", urgent=1) == smq.ERR_OFFLINE
    assert client.reserve("a", 5)[0] == smq.ERR_OFFLINE
    assert client.stats == before
    assert client.publish("a", b"1", qos=1, cookie=1) == smq.OK
    client.connected()
    assert client.publish("a", b"2", cookie=2) == smq.OK
    client.until(lambda: len(client.completions()) == 2)
    assert {m.payload for m in subscriber.take(2)} == {b"1", b"2"}
    # It is dropped with the connection.
    assert client.publish("a", b"3", cookie=3, quiet=1) == smq.OK
    assert client.publish("a", b"4", cookie=4) == smq.OK
    assert client.publish("a", b"5", qos=1, cookie=5) == smq.OK
    mosquitto.kill()
    client.step(0)
    client.disconnected()
    ends = {e.cookie: e.status for e in client.completions()}
    assert ends.get(4) in (smq.OK, smq.ERR_DROPPED) and 3 not in ends and 5 not in ends


def test_reserved_for_a_connection_that_is_gone(mosquitto, clients):
    client = clients(url=mosquitto.url, flags=smq.OPTION_QOS_0_CONNECTED)
    client.connected()
    assert client.reserve("a", 5, cookie=1)[0] == smq.OK
    mosquitto.kill()
    client.disconnected()
    assert client.commit(3) == smq.OK
    assert client.completed(1).status == smq.ERR_DROPPED
    assert client.stats.outbox_messages == 0


def test_submitted_without_a_connection(mosquitto, clients):
    """What only the owner can know ends the message."""
    client = clients(
        url=mosquitto.url, flags=smq.OPTION_QOS_0_CONNECTED, submit_messages=8, urgent_messages=2
    )
    assert client.submit("a", b"0", cookie=1) == smq.OK
    assert client.submit("a", b"0", cookie=2, urgent=1) == smq.OK
    assert client.submit("a", b"0", cookie=3, qos=1, overflow=LATEST) == smq.OK
    assert client.submit("a", b"1", cookie=4, qos=1, overflow=LATEST) == smq.OK
    assert client.completed(1).status == smq.ERR_DROPPED
    assert client.completed(2).status == smq.ERR_DROPPED
    assert client.completed(3).status == smq.ERR_REPLACED
    client.connected()
    assert client.completed(4).status == smq.OK


# ---- Numbers ----


def test_latency(clients, broker):
    """Counted in classes, and told with each completion."""
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url)
    client.connected()
    for cookie in range(3):
        assert client.publish("a", qos=1, cookie=cookie) == smq.OK
    assert client.publish("a", qos=0, cookie=9) == smq.OK
    client.until(lambda: len(broker.held) == 3)
    client.run(0.1)
    broker.release()
    client.until(lambda: len(client.completions()) == 4)
    latencies = {e.cookie: e.latency_ms for e in client.completions()}
    assert latencies.pop(9) == -1
    assert all(90 <= ms < 5000 for ms in latencies.values())
    counts = list(client.stats.latency)
    assert sum(counts) == 3 and sum(counts[:7]) == 0  # from 64 ms on
    assert client.stats.outbox_age_ms == 0


def test_round_trips(clients, mosquitto):
    client = clients(url=mosquitto.url, keep_alive_s=60)
    client.connected()
    for number in range(1, 6):
        assert client.hint_resume() == smq.OK
        client.until(lambda: sum(client.stats.round_trip) == number)
    client.leave()
    assert sum(client.stats.latency) == 0


def test_age(clients):
    client = clients(url="mqtt://127.0.0.1:1", reconnect=True, reconnect_min_ms=5000)
    assert client.connect() == smq.OK
    client.disconnected()
    assert client.stats.outbox_age_ms == 0
    assert client.publish("a", qos=1, overflow=OLDEST) == smq.OK
    client.run(0.2)
    assert 150 <= client.stats.outbox_age_ms < 5000


def test_peaks(clients):
    client = clients(url="mqtt://127.0.0.1:1", outbox_bytes=1000, urgent_messages=3, urgent_bytes=100)
    for _ in range(40):
        assert client.publish("a", bytes(45), qos=1, quiet=1, overflow=OLDEST) == smq.OK
        client.publish("a", bytes(15), qos=1, quiet=1, urgent=1, overflow=OLDEST)
    stats = client.stats
    assert (stats.outbox_bytes_peak, stats.outbox_messages_peak) == (stats.outbox_bytes, stats.outbox_messages)
    assert 19 * 52 <= stats.outbox_bytes <= 1000 == stats.outbox_bytes_capacity
    assert 3 * 22 <= stats.urgent_bytes_peak <= 100 and stats.urgent_messages_peak == 3
    assert stats.messages_dropped == 40 - 19 + 37


# ---- Wrong calls ----


def test_wrong_calls(clients):
    client = clients(url="mqtt://127.0.0.1:1", stream_bytes=64, replies=1, protocol=smq.PROTOCOL_5_0)
    before = client.stats
    assert client.publish("a", overflow=4) == smq.ERR_OPTION
    assert client.publish("a", overflow=255) == smq.ERR_OPTION
    assert client.publish("a", urgent=2) == smq.ERR_OPTION
    assert client.publish("a", urgent=1) == smq.ERR_NOT_SUPPORTED
    assert client.publish("a", reserved2=1) == smq.ERR_STRUCT_SIZE
    assert client.publish("a", reserved2=1) == smq.ERR_STRUCT_SIZE
    for fields in (dict(overflow=LATEST), dict(urgent=1)):
        assert client.reserve("a", 5, **fields)[0] == smq.ERR_OPTION
        assert client.stream("a", 5, lambda *_: b"", **fields) == smq.ERR_OPTION
        assert client.request("a", b"", "r", 1000, **fields) == smq.ERR_OPTION
    assert client.stats == before


@pytest.mark.parametrize(
    "options, status",
    [
        (dict(urgent_messages=257), smq.ERR_OPTION),
        (dict(urgent_messages=1, urgent_bytes=63), smq.ERR_OPTION),
        (dict(urgent_messages=1, urgent_bytes=268_435_457), smq.ERR_OPTION),
        (dict(answer_timeout_ms=86_400_001), smq.ERR_OPTION),
        (dict(write_timeout_ms=86_400_001), smq.ERR_OPTION),
        (dict(tcp_user_timeout_ms=86_400_001), smq.ERR_OPTION),
        (dict(credential_bytes=1), smq.ERR_OPTION),
        (dict(flags=smq.OPTION_ASK_CREDENTIALS, credential_bytes=131_071), smq.ERR_OPTION),
        (dict(flags=smq.OPTION_ASK_CREDENTIALS, user_name="a"), smq.ERR_OPTION),
        (dict(flags=smq.OPTION_ASK_CREDENTIALS, user_name="a", password="b"), smq.ERR_OPTION),
        (dict(flags=smq.OPTION_ASK_CREDENTIALS + smq.OPTION_USER_NAME), smq.ERR_OPTION),
        (dict(flags=smq.OPTION_ASK_CREDENTIALS + smq.OPTION_USER_NAME + smq.OPTION_PASSWORD), smq.ERR_OPTION),
        (dict(flags=131072), smq.ERR_OPTION),
    ],
)
def test_options_out_of_range(options, status):
    from ctypes import byref

    assert smq.library.smq_options_check(byref(smq.Options(host="h", **options)), None) == status
