"""What was broken in the systems this library succeeds, row by row (B1 to B21), and that it is not broken here. Rows
about STOMP (B16 to B18) and TLS (B7) have nothing here they could be about."""

from __future__ import annotations

import contextlib
import ctypes
import select
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from Support import smq
from Support.scripted_broker import (
    CONNECT,
    PINGREQ,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBSCRIBE,
    Script,
    answer_then,
    close,
    nothing,
    packet,
    publish_packet,
    refuse,
    say,
)
from Support.servers import free_port

V5 = smq.PROTOCOL_5_0
QUICK = dict(reconnect=True, reconnect_min_ms=20, reconnect_max_ms=200)
KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)
ENDED = smq.EVENT_DISCONNECTED


class Flapping:
    """A server that answers each CONNECT with `answer`, and hangs up. Counts."""

    def __init__(self, answer: bytes):
        self.answer, self.attempts = answer, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"mqtt://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.attempts += 1
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5)
                connection.recv(1024)
                connection.sendall(self.answer)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1024)

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def run_all(clients: list[smq.Client], seconds: float, meanwhile=lambda client: None) -> None:
    """Each in turn, as their descriptors and times ask for."""
    poll = select.poll()
    by_descriptor = {smq.library.smq_fd(client.handle): client for client in clients}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.POLLIN)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        dues = [smq.library.smq_next_timeout_ms(client.handle) for client in clients]
        poll.poll(min([due for due in dues if due >= 0] + [int(left * 1000) + 1, 50]))
        for client in clients:
            client.step(0)
            meanwhile(client)


# A tenth of the defaults, so that six seconds are a minute.
A_TENTH = dict(reconnect=True, reconnect_min_ms=100, reconnect_max_ms=6000, stable_ms=3000)
MINUTE = 6.0


def test_b01_refused_again_and_again(clients):
    """A refused login was tried again at once, and whatever succeeded in between made the waits short again: a loop as
    fast as the network. Here are servers that refuse, that hang up, and that accept and then hang up."""
    answers = {  # CONNACK
        "bad user name": (4, "20020004"),
        "not authorized": (4, "20020005"),
        "not authorized 5.0": (5, "2003008700"),
        "hangs up": (4, ""),
        "accepts and hangs up": (4, "20020000"),
    }
    fleet: dict[str, list[smq.Client]] = {}
    servers = []
    for name, (protocol, answer) in answers.items():
        servers.append(Flapping(bytes.fromhex(answer)))
        fleet[name] = [clients(url=servers[-1].url, protocol=protocol, **A_TENTH) for _ in range(12)]
    everybody = [client for some in fleet.values() for client in some]
    for client in everybody:
        assert client.connect() == smq.OK
    run_all(everybody, MINUTE)
    for server in servers:
        server.close()
    for name, some in fleet.items():
        attempts = [client.of(ENDED)[-1].attempt for client in some]
        print(f"{name}: attempts a minute: {sum(attempts) / len(attempts):.1f}, {max(attempts)} at most")
        for client in some:
            waits = [event.retry_ms for event in client.of(ENDED)]
            assert all(50 <= wait <= min(6000, 100 << number) for number, wait in enumerate(waits)), waits
        assert sum(attempts) <= 15 * len(attempts)  # 7 or 8 are to be expected


def test_b02_the_network_comes_up_all_the_time(clients):
    """That the network was up again made the next attempt begin at once, past all waits. Here it comes up some hundred
    times a second."""
    server = Flapping(b"")
    fleet = [clients(url=server.url, **A_TENTH) for _ in range(5)]
    for client in fleet:
        assert client.connect() == smq.OK
    hints = 0

    def hint(client: smq.Client) -> None:
        nonlocal hints
        hints += 1
        assert client.hint_network(1) == smq.OK

    begin = time.monotonic()
    run_all(fleet, 3, hint)
    seconds = time.monotonic() - begin
    server.close()
    print(f"{hints} hints, {server.attempts} attempts of {len(fleet)} clients in {seconds:.2f} s, with 100 ms between")
    assert hints > server.attempts
    assert server.attempts <= len(fleet) * (2 + seconds / 0.1)


def test_b02_clients_do_not_come_back_together(clients):
    """Without chance in the waits a fleet comes back in one moment."""
    url = f"mqtt://127.0.0.1:{free_port()}"
    fleet = [clients(url=url, reconnect=True) for _ in range(30)]
    for client in fleet:
        assert client.connect() == smq.OK
        client.until(lambda client=client: client.of(ENDED))
    waits = {client.of(ENDED)[0].retry_ms for client in fleet}
    assert all(500 <= wait <= 1000 for wait in waits)
    assert len(waits) > 15


def test_b03_the_longest_wait_is_the_longest(clients):
    """Waits doubled past their maximum, and the option that was to turn reconnecting off was never read."""
    options = dict(url=f"mqtt://127.0.0.1:{free_port()}", reconnect_min_ms=20, reconnect_max_ms=70)
    client = clients(reconnect=True, jitter=smq.JITTER_NONE, **options)
    assert client.connect() == smq.OK
    client.until(lambda: len(client.of(ENDED)) == 6)
    assert [event.retry_ms for event in client.of(ENDED)] == [20, 40, 70, 70, 70, 70]
    client = clients(**options)
    assert client.connect() == smq.OK
    assert client.disconnected().retry_ms == -1


def test_b04_a_time_limit_is_no_multiple_of_a_tick(clients, broker):
    """Timeouts were looked at every so many seconds, so that 10 were 16. Here the caller is told when."""
    broker.scripts = [Script(at={1: nothing})]
    client = clients(url=broker.url, connect_timeout_ms=333)
    begin = time.monotonic()
    assert client.connect() == smq.OK
    rounds = 0
    while not client.of(ENDED):
        due = smq.library.smq_next_timeout_ms(client.handle)
        assert 0 <= due <= 333
        select.select([smq.library.smq_fd(client.handle)], [], [], due / 1000)
        client.step(0)
        rounds += 1
    assert rounds <= 8  # connected, CONNECT sent, the time is up
    assert 0.332 <= time.monotonic() - begin < 20
    assert client.disconnected().status == smq.ERR_TIMEOUT


def test_b05_clients_in_threads_of_their_own(mosquitto, clients):
    """Tables that two threads changed crashed. Here nothing is shared: each thread has its clients, and no lock."""
    made = [clients(url=mosquitto.url, outbox_messages=1000) for _ in range(6)]
    failures: list[BaseException] = []

    def work(client: smq.Client) -> None:
        try:
            client.connected()
            for number in range(500):
                assert client.publish("b05", b"x", qos=1 + number % 2, cookie=number) == smq.OK
            client.until(lambda: len(client.completions()) == 500, 30)
            assert [e.cookie for e in client.completions() if e.status] == []
            client.leave()
        except BaseException as failure:  # noqa: BLE001: it is raised again where it is seen
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(client,)) for client in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_b06_a_message_that_nobody_takes_is_not_acknowledged(clients, broker):
    """What came while nobody listened was acknowledged, handed to nobody, and deleted."""
    client = clients(url=broker.url, **KEEP)
    client.connected()
    client.subscribed("a", qos=1)
    broker.last.publish("a", b"for later", qos=1)
    deadline = time.monotonic() + 10
    while not smq.library.smq_service(client.handle):  # it has come, and waits to be taken
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for _ in range(20):
        smq.library.smq_service(client.handle)
    assert broker.of(PUBACK) == []
    client.close()  # the program ends without it
    broker.wait_for(lambda: not broker.live)
    client = clients(url=broker.url, **KEEP)
    client.connected()
    assert client.message().payload == b"for later"
    client.run(0.05)
    broker.wait_for(lambda: len(broker.of(PUBACK)) == 1)


def test_b08_no_bits_of_ones_own(clients, broker):
    """QoS 3 and 4 were sent as reserved bits of SUBSCRIBE, and 3.1.1 CONNECTs had properties behind their end."""
    client = clients(url=broker.url, client_id="b08", protocol=4, keep_alive_s=10)
    client.connected()
    client.subscribed("a", qos=2)
    name = b"\x00\x04MQTT\x04\x02\x00\x0a\x00\x03b08"
    assert broker.of(CONNECT)[0].raw == bytes([0x10, len(name)]) + name
    identifier = broker.of(SUBSCRIBE)[0].body[:2]
    assert broker.of(SUBSCRIBE)[0].raw == b"\x82\x06" + identifier + b"\x00\x01a\x02"
    for qos in (3, 4):
        assert client.subscribe("a", qos=qos) == smq.ERR_QOS
        assert client.publish("a", qos=qos) == smq.ERR_QOS
    user = smq.properties(user_property=("a", "b"))
    options = smq.Options(url=broker.url, protocol=4, properties=user)
    assert smq.library.smq_options_check(ctypes.byref(options), None) == smq.ERR_OPTION


def test_b09_every_number_is_one_of_a_kind(clients, broker):
    """Two errors had the same number, and by a slip in a condition one kind of message never reported its success."""
    for kind in ("ERR", "EVENT", "STAGE", "STATE", "RULE"):
        values = [value for name, value in smq.CONSTANTS.items() if name.startswith(f"SMQ_{kind}_")]
        assert len(values) == len(set(values)) > 4
    for name, value in smq.CONSTANTS.items():
        if name.startswith("SMQ_ERR_"):
            assert smq.status_name(value) == name
    client = clients(url=broker.url, protocol=V5)
    client.connected()
    for number in range(6):
        assert client.publish("a", qos=number % 3, cookie=number, retain=number // 3) == smq.OK
    client.until(lambda: len(client.completions()) == 6)
    client.run(0.05)
    assert sorted((e.cookie, e.status) for e in client.completions()) == [(number, smq.OK) for number in range(6)]


def test_b10_subscribed_before_connected(clients, mosquitto):
    """What was subscribed to before the first connection was forgotten by it, as it began a new session."""
    client = clients(url=mosquitto.url, **QUICK)
    assert client.subscribe("b10", qos=1, cookie=1) == smq.OK
    assert client.connect() == smq.OK
    assert client.completed(1).status == smq.OK
    mosquitto.publish("b10", "first")
    assert client.message().payload == b"first"
    mosquitto.kill()
    mosquitto.start()
    client.disconnected()
    client.wait_event(smq.EVENT_CONNECTED)
    client.wait_event(smq.EVENT_CONNECTED)
    mosquitto.publish("b10", "second", "-r")  # retained: in time in any case
    assert client.message().payload == b"second"


@pytest.mark.parametrize("qos", [1, 2])
def test_b11_nothing_is_sent_again_on_one_connection(clients, broker, qos):
    """What was not acknowledged for some seconds was sent again on the same connection: QoS 2 arrived twice, and bulk
    was multiplied. Only another connection is a reason to send again [MQTT-4.4.0-1]."""
    broker.scripts = [Script(hold={PUBACK, PUBREC})]
    client = clients(url=broker.url, keep_alive_s=1, **KEEP)
    client.connected()
    for cookie in range(3):
        assert client.publish("a", qos=qos, cookie=cookie) == smq.OK
    client.run(4)
    assert len(broker.of(PINGREQ)) >= 2
    assert [p.dup for p in broker.of(PUBLISH)] == [0, 0, 0]
    broker.release()
    for cookie in range(3):
        assert client.completed(cookie).status == smq.OK


def test_b12_more_messages_than_identifiers(clients, start_mosquitto):
    """Identifiers ran past 65,535, or to 0, or the search for a free one did not end."""
    mosquitto = start_mosquitto(log_type="error")
    client = clients(url=mosquitto.url, outbox_messages=2000, outbox_bytes=1 << 17)
    client.connected()
    published = 0
    while published < 66_000:
        while published < 66_000 and client.publish("b12", qos=1, quiet=1) == smq.OK:
            published += 1
        client.step(1000)
    client.until(lambda: client.stats.messages_completed == published, 30)
    assert client.stats.messages_failed == 0
    assert client.state == smq.STATE_CONNECTED


def test_b12_no_identifier_left(clients, broker):
    """And when all are taken, the caller is told, not kept."""
    broker.scripts = [Script(hold={PUBACK})]
    client = clients(url=broker.url, outbox_messages=3, **KEEP)
    client.connected()
    assert [client.publish("a", qos=1) for _ in range(5)] == [smq.OK] * 3 + [smq.ERR_FULL] * 2
    client.until(lambda: len(broker.held) == 3)
    broker.release()
    client.until(lambda: len(client.completions()) == 3)
    assert client.publish("a", qos=1) == smq.OK


def test_b13_connected_means_accepted(clients, broker):
    """It was called connected before CONNACK."""
    broker.scripts = [Script(at={1: nothing})]
    client = clients(url=broker.url, connect_timeout_ms=500)
    assert client.connect() == smq.OK
    client.until(lambda: broker.of(CONNECT))
    client.run(0.1)
    assert (client.state, list(client.events)) == (smq.STATE_CONNECTING, [])
    assert client.disconnected().status == smq.ERR_TIMEOUT


def test_b13_a_keep_alive_of_a_second(clients, broker):
    """Half of a second in whole seconds is none: PINGREQs without end. And whether they were answered was not asked."""
    broker.scripts = [Script()]
    client = clients(url=broker.url, keep_alive_s=1, ping_timeout_ms=1500)
    client.connected()
    client.run(3)
    assert 2 <= len(broker.of(PINGREQ)) <= 4
    broker.last.script.answer_ping = False
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.ERR_KEEP_ALIVE, smq.STAGE_KEEP_ALIVE)


def test_b13_a_message_without_payload(clients, broker):
    """It was dropped."""
    client = clients(url=broker.url)
    client.connected()
    for qos in (0, 1, 2):
        broker.last.publish("a", b"", qos=qos)
        event = client.message()
        assert (event.payload, event.payload_total, event.qos, event.part) == (b"", 0, qos, smq.WHOLE)


def test_b13_a_length_without_end(clients, broker):
    """A Remaining Length may have four bytes [section 2.1.4]; they read on."""
    broker.scripts = [Script(at={1: answer_then(say(bytes.fromhex("30FFFFFFFF01")))})]
    client = clients(url=broker.url)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.rule) == (smq.ERR_MALFORMED, smq.RULE_REMAINING_LENGTH)


def test_b14_every_request_ends_once(clients, broker):
    """Who was to be told was noted when the answer could have come already; some were told twice, some never, after
    connections that broke in between."""
    broker.scripts = [Script(at={5: close}), Script(at={2: close}, session_present=1), Script(session_present=1)]
    client = clients(url=broker.url, **QUICK, **KEEP)
    assert client.connect() == smq.OK
    for number in range(0, 30, 3):
        assert client.publish("a", qos=1 + number % 2, cookie=number) == smq.OK
        client.step(0)
        if number < 6:
            assert client.subscribe(f"b/{number}", cookie=number + 1) == smq.OK
            assert client.unsubscribe(f"c/{number}", cookie=number + 2) == smq.OK
    expected = sorted([*range(0, 30, 3), 1, 2, 4, 5])
    client.until(lambda: len(client.completions()) >= len(expected))
    client.run(0.2)
    assert sorted(event.cookie for event in client.completions()) == expected
    assert {event.status for event in client.completions()} == {smq.OK}
    assert client.stats.connections == 3


def test_b14_connecting_does_not_wait(clients):
    """It waited for the network. Here is a server whose queue is full: the kernel leaves SYNs unanswered."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        client = clients(host="127.0.0.1", port=full.getsockname()[1], connect_timeout_ms=1000)
        assert client.connect() == smq.OK
        assert smq.library.smq_service(client.handle) == 0  # back, and it is still trying
        assert client.state == smq.STATE_CONNECTING
        event = client.disconnected()
        assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_CONNECT)


def test_b15_connecting_from_where_the_end_is_told(clients):
    """Connecting again in the handler that was told of the end, while the library did so too, made a storm. Here the
    program's own call is answered: it is being done already. Without reconnecting it begins one attempt."""
    server = Flapping(b"")
    client = clients(url=server.url, reconnect=True, reconnect_min_ms=100, jitter=smq.JITTER_NONE)
    answers: list[int] = []

    def again(event: smq.Event) -> None:
        if event.type == ENDED:
            answers.append(client.connect())

    client.on_event = again
    assert client.connect() == smq.OK
    client.run(1)
    assert set(answers) == {smq.ERR_STATE}
    assert server.attempts <= 5  # at 0, 100, 300, 700 ms
    client.close()

    before = server.attempts
    client = clients(url=server.url)
    answers.clear()
    client.on_event = lambda event: again(event) if len(answers) < 10 else None
    assert client.connect() == smq.OK
    client.until(lambda: len(client.of(ENDED)) == 11)
    assert answers == [smq.OK] * 10
    assert server.attempts - before == 11
    server.close()


def test_b19_packets_and_segments_are_two_things(clients, broker):
    """What came in one piece was taken for one packet."""
    client = clients(url=broker.url)
    client.connected()
    messages = b"".join(publish_packet(4, "a", b"%d" % number, 0) for number in range(10))
    broker.last.send(messages)
    assert [m.payload for m in client.receive(10)] == [b"%d" % number for number in range(10)]
    for at in range(len(messages)):
        broker.last.send(messages[at : at + 1])
        client.step(0)
    assert [m.payload for m in client.receive(10)] == [b"%d" % number for number in range(10)]


@pytest.mark.parametrize("qos, type", [(1, PUBACK), (2, PUBCOMP)])
def test_b19_an_acknowledgement_that_comes_twice(clients, broker, qos, type):
    """The second one threw an exception."""
    client = clients(url=broker.url)
    client.connected()
    assert client.publish("a", qos=qos, cookie=1) == smq.OK
    assert client.completed(1).status == smq.OK
    broker.last.send(packet(type, broker.of(PUBLISH)[0].id.to_bytes(2, "big")))
    assert client.publish("a", qos=qos, cookie=2) == smq.OK
    assert client.completed(2).status == smq.OK
    assert not client.completions()


@pytest.mark.parametrize("protocol, code", [(4, 0x80), (5, 0x87)])
def test_b19_a_refused_subscription_is_no_success(clients, broker, protocol, code):
    """SUBACK's 0x80 was taken for a granted QoS."""
    broker.scripts = [Script(grant=lambda filter, options: code if filter == "b" else options & 3)]
    client = clients(url=broker.url, protocol=protocol)
    client.connected()
    assert client.subscribe("a", "b", qos=1, cookie=1) == smq.OK
    event = client.completed(1)
    assert (event.status, event.reason_code, event.reason_codes) == (smq.ERR_REFUSED, code, bytes([1, code]))


def test_b19_a_will_of_any_bytes(clients, broker):
    """A Will that was not text failed on a variable that did not exist."""
    payload = bytes(range(256))
    client = clients(url=broker.url, will=smq.Message(topic="will", payload=payload, qos=1))
    client.connected()
    client.close()
    broker.wait_for(lambda: broker.messages)
    assert (broker.messages[0].topic, broker.messages[0].payload) == ("will", payload)


def test_b20_each_qos_has_its_own_answer(clients, broker):
    """Every PUBLISH was answered with PUBACK."""
    client = clients(url=broker.url)
    client.connected()
    for qos in (0, 1, 2):
        broker.last.publish("a", b"%d" % qos, qos=qos)
    client.receive(3)
    client.run(0.1)
    broker.wait_for(lambda: broker.of(PUBCOMP))
    assert [len(broker.of(type)) for type in (PUBACK, PUBREC, PUBCOMP)] == [1, 1, 1]


def test_b20_delivered_is_what_pubcomp_says(clients, broker):
    """PUBREC was reported as delivered."""
    broker.scripts = [Script(hold={PUBCOMP})]
    client = clients(url=broker.url)
    client.connected()
    assert client.publish("a", qos=2, cookie=1) == smq.OK
    client.until(lambda: broker.held)
    client.run(0.05)
    assert len(broker.of(PUBREL)) == 1
    assert not client.completions()
    broker.release()
    assert client.completed(1).status == smq.OK


@pytest.mark.parametrize("code", [4, 5])
def test_b20_why_it_was_refused(clients, broker, code):
    """Return codes 4 and 5 were "unknown"."""
    broker.scripts = [Script(at={1: refuse(code)})]
    client = clients(url=broker.url)
    assert client.connect() == smq.OK
    event = client.disconnected()
    assert (event.status, event.reason_code, event.protocol) == (smq.ERR_REFUSED, code, 4)
    name = smq.library.smq_reason_code_name(4, code).decode().lower()
    assert ("user name" if code == 4 else "authorized") in name


def test_b20_leaving_twice_and_coming_back(clients, mosquitto):
    """The second disconnect froze, and after a disconnect of one's own connecting again did not work."""
    client = clients(url=mosquitto.url, **QUICK)
    for _ in range(3):
        assert client.connect() == smq.OK
        client.wait_event(smq.EVENT_CONNECTED)
        for _ in range(3):
            assert client.disconnect() == smq.OK
        assert client.disconnected().status == smq.OK
        assert client.disconnect() == smq.OK
        client.run(0.05)
        assert list(client.events) == []
    assert client.stats.connections == 3


def test_b20_two_clients_in_one_process(clients, mosquitto, start_mosquitto):
    """The configuration was one for the whole process."""
    other = start_mosquitto()
    first, second = clients(url=mosquitto.url, client_id="one"), clients(url=other.url, client_id="two", protocol=5)
    first.connected()
    second.connected()
    first.subscribed("a")
    second.subscribed("a")
    mosquitto.publish("a", "first")
    other.publish("a", "second")
    assert (first.message().payload, second.message().payload) == (b"first", b"second")
    assert (first.id, second.id) == (b"one", b"two")


def test_b21_a_server_that_is_not_there_at_first(clients, mosquitto):
    """The thread that was to connect ended when the first attempt failed."""
    mosquitto.stop()
    client = clients(url=mosquitto.url, **QUICK)
    assert client.connect() == smq.OK
    client.until(lambda: len(client.of(ENDED)) >= 2)
    mosquitto.start()
    client.wait_event(smq.EVENT_CONNECTED)


def test_b21_leaving_in_the_middle_of_everything(clients, mosquitto):
    """Leaving raced with the loop. Here in every state there is, with messages in flight, at once and with patience."""
    for round in range(40):
        client = clients(url=mosquitto.url, client_id=f"b21-{round}")
        assert client.connect() == smq.OK
        for _ in range(20):
            assert client.publish("b21", b"x", qos=round % 3) == smq.OK
        for _ in range(round // 4):
            client.step(0 if round % 2 else 1)
        assert client.disconnect(round % 4 * 500) == smq.OK
        assert client.disconnected().status == smq.OK
        assert client.state == smq.STATE_DISCONNECTED
        client.close()


# ---- What was missing beside these ----


@pytest.mark.parametrize("protocol", [3, 4])
def test_an_expiry_of_the_session_is_for_5_0(protocol):
    options = smq.Options(url="mqtt://h", client_id="a", protocol=protocol, session_expiry_s=60)
    assert smq.library.smq_options_check(ctypes.byref(options), None) == smq.ERR_OPTION
    assert smq.library.smq_client_size(ctypes.byref(options)) == 0
    options.protocol = V5
    assert smq.library.smq_options_check(ctypes.byref(options), None) == smq.OK


def preloaded(tmp_path: Path, source: str, program: str, *arguments: str) -> str:
    """Runs a program under a library that stands in for some of libc's functions."""
    (tmp_path / "stand_in.c").write_text(textwrap.dedent(source))
    library = tmp_path / "stand_in.so"
    command = ["cc", "-shared", "-fPIC", "-o", library, tmp_path / "stand_in.c"]
    subprocess.run(command, check=True, timeout=60)
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        cwd=Path(__file__).resolve().parent.parent,
        env={"LD_PRELOAD": str(library), "PATH": "/usr/bin:/bin", "SMQ_LIBRARY": str(smq.LIBRARY)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


NO_RANDOMNESS = """
    #include <errno.h>
    #include <fcntl.h>
    #include <stdarg.h>
    #include <stddef.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/syscall.h>
    #include <sys/types.h>
    #include <unistd.h>
    static int calls, opened;
    int getrandom_calls(void) { return calls; }
    int urandom_calls(void) { return opened; }
    int open(const char *path, int flags, ...) {
        va_list list;
        va_start(list, flags);
        int mode = flags & O_CREAT ? va_arg(list, int) : 0;
        va_end(list);
        if (!strcmp(path, "/dev/urandom")) {
            opened++;
            if (getenv("NO_URANDOM")) return errno = ENOENT, -1;
        }
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    }
    ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
        (void)buffer, (void)size, (void)flags;
        calls++;
        errno = ENOSYS;
        return -1;
    }
"""

TEN_IDS = """
    import ctypes, os, sys
    if sys.argv[1:] == ["nor /dev/urandom"]:
        os.environ["NO_URANDOM"] = "1"
    from Support import smq

    clients = [smq.Client(url="mqtt://h", client_id="%%%%%%%%") for _ in range(10)]
    assert ctypes.CDLL(None).getrandom_calls() > 0, "it was not asked"
    assert ctypes.CDLL(None).urandom_calls() > 0, "it was not asked either"
    print(*(client.id.decode() for client in clients))
"""


@pytest.mark.parametrize("without", ["getrandom", "nor /dev/urandom"])
def test_client_ids_differ_without_randomness(tmp_path, without):
    """A kernel before 3.17 has no getrandom(), a sandbox may forbid it, and a chroot may have no /dev."""
    ids = [id for _ in range(2) for id in preloaded(tmp_path, NO_RANDOMNESS, TEN_IDS, without).split()]
    assert all(len(id) == 16 for id in ids)
    assert len(set(ids)) == 20


COUNTED_RECV = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <sys/socket.h>
    static int calls;
    int received(void) { int result = calls; calls = 0; return result; }
    ssize_t recv(int fd, void *buffer, size_t size, int flags) {
        static ssize_t (*real)(int, void *, size_t, int);
        if (!real) real = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
        calls++;
        return real(fd, buffer, size < 1000 ? size : 1000, flags); /* so that there is always more */
    }
"""

FLOOD = """
    import ctypes, socket, threading, time
    from Support import smq

    listener = socket.create_server(("127.0.0.1", 0))
    flooding = threading.Event()

    def serve():
        connection, _ = listener.accept()
        connection.recv(1024)
        connection.sendall(bytes.fromhex("20020000"))
        while b"\\xe0\\x00" not in connection.recv(1024):
            pass
        connection.setblocking(False)
        data = bytes(65536)
        while True:
            try:
                connection.send(data)
            except BlockingIOError:
                flooding.set()  # there is as much as the two kernels hold
                time.sleep(0.0002)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    client = smq.Client(host="127.0.0.1", port=listener.getsockname()[1])
    client.connected()
    library, received = ctypes.CDLL(None), []
    library.received()
    assert client.disconnect() == smq.OK
    while smq.library.smq_service(client.handle) == 0:
        received.append(library.received())
        flooding.wait(2)
        time.sleep(0.001)
    event = client.take()
    assert flooding.is_set()
    print(event.status, max(received), len(received), sum(received))
"""


def test_a_server_that_floods_whoever_leaves(tmp_path):
    """After DISCONNECT what still comes is read, so that nothing is reset, but only so much at a time, and not for
    ever."""
    begin = time.monotonic()
    status, most, rounds, all = map(int, preloaded(tmp_path, COUNTED_RECV, FLOOD).split())
    print(f"{rounds} calls of smq_service(), {most} of recv() in one at most, {all} in all")
    assert status == smq.OK
    assert most == 8
    assert rounds > 10
    assert time.monotonic() - begin < 20


RECV_TO_NOWHERE = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <sys/socket.h>
    int nowhere;
    ssize_t recv(int fd, void *buffer, size_t size, int flags) {
        static ssize_t (*real)(int, void *, size_t, int);
        if (!real) real = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
        if (!buffer) nowhere++;
        return real(fd, buffer, size, flags);
    }
"""

FEW = """
    import ctypes, socket, threading
    from Support import smq

    listener = socket.create_server(("127.0.0.1", 0))
    answered = threading.Event()

    def serve():
        connection, _ = listener.accept()
        connection.recv(1024)
        connection.sendall(bytes.fromhex("20020000"))
        while b"\\xe0\\x00" not in connection.recv(1024):
            pass
        connection.sendall(bytes.fromhex("40020001"))
        answered.set()
        connection.recv(1024)
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    client = smq.Client(host="127.0.0.1", port=listener.getsockname()[1])
    client.connected()
    assert client.disconnect() == smq.OK
    smq.library.smq_service(client.handle)
    assert answered.wait(10)
    print(client.disconnected().status, ctypes.c_int.in_dll(ctypes.CDLL(None), "nowhere").value)
"""


def test_a_few_bytes_for_whoever_leaves(tmp_path):
    """They go into a buffer: valgrind complains of receiving to nowhere."""
    assert preloaded(tmp_path, RECV_TO_NOWHERE, FEW).split() == [str(smq.OK), "0"]
