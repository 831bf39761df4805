"""What brokers do in their own ways, as docs/stomp.md tells it, through the Python binding; and what every broker does."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from .conftest import BUILD, ROOT
from .peer import PATIENCE
from .peer import Client as Witness

os.environ.setdefault("SWIFTSTOMP_LIBRARY", str(BUILD / "libswiftstomp.so.1"))
os.environ.setdefault("SWIFTMQTT_LIBRARY", str(BUILD / "libswiftmqtt.so.1"))
sys.path.append(str(ROOT / "python"))

from swiftmqtt import stomp  # noqa: E402

V = stomp.Version


@pytest.fixture
def clients():
    made: list[stomp.Client] = []

    def make(broker, **options) -> stomp.Client:
        made.append(stomp.Client(options.pop("url", broker.url), virtual_host=broker.virtual_host, **options))
        made[-1].connect(timeout=PATIENCE)
        return made[-1]

    yield make
    for client in made:
        client.close()


def name(broker) -> str:
    return type(broker).__name__


# ---- What all of them do


@pytest.mark.parametrize("version", [V.STOMP_1_0, V.STOMP_1_1, V.STOMP_1_2], ids=["1.0", "1.1", "1.2"])
def test_each_version(broker, queue, clients, version):
    client = clients(broker, oldest=version, newest=version)
    if name(broker) == "CoilMQ" and version != V.STOMP_1_1:
        pytest.skip("only acknowledgements of 1.1 work with it")
    client.subscribe(queue, ack="client" if version == V.STOMP_1_0 else "client-individual", timeout=PATIENCE)
    for number in range(5):
        client.send(queue, f"body {number}", headers={"x-number": str(number)})
        message = client.receive(timeout=PATIENCE)
        assert message.text() == f"body {number}" and message.headers["x-number"] == str(number)
        message.ack()
    client.disconnect(drain_ms=5000)
    # They were acknowledged.
    other = clients(broker)
    other.subscribe(queue, timeout=PATIENCE)
    other.send(queue, "last")
    assert other.receive(timeout=PATIENCE).text() == "last"


@pytest.mark.parametrize("size", [0, 1, 4000, 4096, 70_000, 1_000_000])
def test_bodies_of_any_size(broker, queue, clients, size):
    """Larger ones than the buffer come in parts, which the binding joins."""
    if name(broker) == "CoilMQ" and size > 4000:
        pytest.skip("it takes frames that come in several pieces for broken ones")
    client = clients(broker, outbox_bytes=2_000_000)
    client.subscribe(queue, timeout=PATIENCE)
    body = bytes(number * 7 % 256 for number in range(size))
    client.send(queue, body, receipt=True)
    message = client.receive(timeout=PATIENCE)
    assert message.body == body


def test_heart_beats_keep_a_connection(broker, clients):
    # The first one of ActiveMQ comes a few milliseconds after twice the time that it promises.
    client = clients(broker, heart_beat_send_ms=2000, heart_beat_receive_ms=2000)
    client.run(9)
    assert client.state == stomp.State.CONNECTED and client.stats["connections"] == 1


def test_a_message_that_was_not_acknowledged_comes_again(broker, queue, clients):
    if name(broker) == "CoilMQ":
        pytest.skip("it forgets what was not acknowledged")
    client = clients(broker, newest=V.STOMP_1_1)
    client.send(queue, "once more", receipt=True, wait=True, timeout=PATIENCE)
    client.subscribe(queue, ack="client-individual", timeout=PATIENCE)
    first = client.receive(timeout=PATIENCE)
    client.close()
    other = clients(broker, newest=V.STOMP_1_1)
    other.subscribe(queue, ack="client-individual", timeout=PATIENCE)
    again = other.receive(timeout=PATIENCE)
    assert first.text() == again.text() == "once more"
    again.ack()


def test_an_end_with_messages_that_wait(broker, queue, clients):
    """They block reading, and the receipt of UNSUBSCRIBE is behind them. RabbitMQ gives them to somebody else when the
    connection ends."""
    if name(broker) == "CoilMQ":
        pytest.skip("it forgets what was not acknowledged")
    client = clients(broker, held_messages=1)
    for number in range(20):
        client.send(queue, str(number), receipt=True, wait=True, timeout=PATIENCE)
    subscription = client.subscribe(queue, ack="client-individual", timeout=PATIENCE)
    first = client.receive(timeout=PATIENCE)
    client.unsubscribe(subscription, timeout=PATIENCE)
    with pytest.raises(stomp.ArgumentError):
        first.ack()
    client.close()
    other = clients(broker)
    other.subscribe(queue, timeout=PATIENCE)
    assert {other.receive(timeout=PATIENCE).text() for _ in range(20)} == {str(number) for number in range(20)}


def test_a_transaction_that_is_aborted(broker, queue, clients):
    client = clients(broker)
    transaction = client.begin()
    client.send(queue, "never", transaction=transaction)
    client.abort(transaction, timeout=PATIENCE)
    with client.transaction() as kept:
        kept.send(queue, "kept")
    client.subscribe(queue, timeout=PATIENCE)
    assert client.receive(timeout=PATIENCE).text() == "kept"


def test_a_broker_that_falls_silent(tmp_path, clients):
    """Only heart-beats tell."""
    from .brokers import RabbitMQ

    directory = tmp_path / "silent"
    directory.mkdir()
    with RabbitMQ(directory) as broker:
        client = clients(broker, heart_beat_send_ms=500, heart_beat_receive_ms=500)
        # The shell script that was started has the broker as its child.
        pids = descendants(broker.process.pid)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            event = client.next_event(timeout=PATIENCE)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        assert isinstance(event, stomp.Disconnected) and event.status == stomp.Status.HEART_BEAT
        client.close()


def descendants(pid: int) -> list[int]:
    children = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            children += [int(child) for child in file.read().split()]
    return [pid, *(each for child in children for each in descendants(child))]


# ---- RabbitMQ


def test_rabbitmq_delivers_what_was_refused_again(rabbitmq, queue, clients):
    client = clients(rabbitmq)
    client.send(queue, "no")
    client.subscribe(queue, ack="client-individual", timeout=PATIENCE)
    first = client.receive(timeout=PATIENCE)
    first.nack()
    again = client.receive(timeout=PATIENCE)
    assert first.headers["redelivered"] == "false" and again.headers["redelivered"] == "true"
    again.ack()


def test_rabbitmq_drops_what_is_refused_for_good(rabbitmq, queue, clients):
    """NACK with the header requeue, also in a transaction; without it the message comes again."""
    client = clients(rabbitmq)
    for number in range(3):
        client.send(queue, str(number))
    client.subscribe(queue, ack="client-individual", headers={"prefetch-count": "1"}, timeout=PATIENCE)
    client.receive(timeout=PATIENCE).nack(headers={"requeue": "false"})
    with client.transaction() as transaction:
        transaction.nack(client.receive(timeout=PATIENCE), headers={"requeue": "false"})
    last = client.receive(timeout=PATIENCE)
    assert last.text() == "2"
    last.nack(headers={"requeue": "true"})
    again = client.receive(timeout=PATIENCE)
    assert again.text() == "2" and again.headers["redelivered"] == "true"
    again.ack(headers={"x-seen": "yes: it is"})
    client.disconnect(drain_ms=5000)
    # Nothing is left.
    other = clients(rabbitmq)
    other.subscribe(queue, timeout=PATIENCE)
    other.send(queue, "last")
    assert other.receive(timeout=PATIENCE).text() == "last"


def test_rabbitmq_moves_what_is_refused_for_good_to_the_dead_letter_exchange(rabbitmq, queue, clients):
    client = clients(rabbitmq)
    dead = f"{queue}-dead"
    client.subscribe(dead, timeout=PATIENCE)
    # The default exchange has each queue by its name.
    headers = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead.removeprefix("/queue/")}
    client.subscribe(queue, ack="client-individual", headers=headers, timeout=PATIENCE)
    client.send(queue, "no", headers=headers)
    message = client.receive(timeout=PATIENCE)
    assert message.text() == "no" and message.token
    message.nack(headers={"requeue": "false"})
    moved = client.receive(timeout=PATIENCE)
    assert moved.text() == "no" and not moved.token and moved.headers["x-first-death-reason"] == "rejected"


def test_rabbitmq_does_not_say_which_frame_it_refuses(rabbitmq, clients):
    client = clients(rabbitmq, reconnect=False)
    with pytest.raises(stomp.PeerError) as caught:
        client.send("/nowhere/at/all", "x", receipt=True, wait=True, timeout=PATIENCE)
    assert caught.value.status == stomp.Status.UNKNOWN
    event = client.next_event(timeout=PATIENCE)
    while not isinstance(event, stomp.Disconnected):
        event = client.next_event(timeout=PATIENCE)
    assert event.status == stomp.Status.SERVER_CLOSED and "nowhere" in event.body.decode() + event.text


def test_rabbitmq_passes_the_receipt_of_the_sender_on(rabbitmq, queue, clients):
    """It is no receipt of ours."""
    client = clients(rabbitmq)
    client.subscribe(queue, timeout=PATIENCE)
    witness = Witness(rabbitmq)
    witness.put(queue, b"x")
    message = client.receive(timeout=PATIENCE)
    assert message.headers["receipt"] == "put" and client.stats["receipts_due"] == 0
    witness.close()


def test_rabbitmq_over_a_websocket(rabbitmq, queue, clients):
    client = clients(rabbitmq, url=rabbitmq.web_url)
    client.subscribe(queue, timeout=PATIENCE)
    body = bytes(range(256)) * 100
    client.send(queue, body, receipt=True)
    assert client.receive(timeout=PATIENCE).body == body


# ---- ActiveMQ


@pytest.fixture
def activemq(brokers):
    return brokers("ActiveMQ")


def test_activemq_moves_what_was_refused_to_the_dead_letter_queue(activemq, queue, clients):
    client = clients(activemq)
    client.send(queue, "no", headers={"persistent": "true"})
    client.subscribe(queue, ack="client-individual", timeout=PATIENCE)
    client.receive(timeout=PATIENCE).nack()
    other = clients(activemq)
    other.subscribe("/queue/ActiveMQ.DLQ", timeout=PATIENCE)
    while (message := other.receive(timeout=PATIENCE)).text() != "no":
        pass
    assert message.destination == "/queue/ActiveMQ.DLQ"


def test_activemq_says_which_frame_it_refuses(activemq, clients):
    client = clients(activemq, reconnect=False)
    with pytest.raises(stomp.PeerError) as caught:
        client.subscribe("/queue/a", headers={"selector": "this is ' no selector"}, timeout=PATIENCE)
    assert caught.value.status == stomp.Status.REFUSED


def test_activemq_wildcards_and_texts(activemq, queue, clients):
    client = clients(activemq)
    client.subscribe(f"/topic/{queue[7:]}.*", timeout=PATIENCE)
    client.send(f"/topic/{queue[7:]}.a", "a text", no_length=True)
    message = client.receive(timeout=PATIENCE)
    assert message.text() == "a text" and message.destination == f"/topic/{queue[7:]}.a"
    # A text has no length on its way back, either.
    assert "content-length" not in message.headers


def test_activemq_takes_a_client_id_once(activemq, clients):
    clients(activemq, headers={"client-id": "gateway-1"})
    with pytest.raises(stomp.PeerError) as caught:
        clients(activemq, headers={"client-id": "gateway-1"}, reconnect=False)
    assert caught.value.status == stomp.Status.REFUSED


def test_rabbitmq_says_why_in_the_body(rabbitmq, clients):
    with pytest.raises(stomp.PeerError, match="'Bad CONNECT', \"Access refused for user 'guest'\""):
        clients(rabbitmq, url=rabbitmq.url.replace("guest@", "wrong@"), reconnect=False)


# ---- Durable subscriptions

# What CONNECT has for one, and SUBSCRIBE and UNSUBSCRIBE.
DURABLE = {
    "RabbitMQ": ({}, {"durable": "true", "auto-delete": "false"}),
    "ActiveMQ": ({"client-id": "gateway-7"}, {"activemq.subscriptionName": "gateway-7"}),
}


@pytest.mark.parametrize("kind", DURABLE)
def test_durable_subscriptions(kind, brokers, queue, clients):
    broker = brokers(kind)
    topic, (more, headers) = f"/topic/{queue[7:]}", DURABLE[kind]
    sender, client = clients(broker), clients(broker, headers=more)

    def absent(body: str) -> None:
        client.disconnect(drain_ms=5000)
        sender.send(topic, body, receipt=True, wait=True, timeout=PATIENCE)
        client.connect(timeout=PATIENCE)

    number = client.subscribe(topic, headers=headers, timeout=PATIENCE)
    absent("while you were away")
    assert client.receive(timeout=PATIENCE).text() == "while you were away"
    if kind == "ActiveMQ":
        # It ends none that is in use.
        client.disconnect(drain_ms=5000)
        client.unsubscribe(number, headers)
        client.connect(timeout=PATIENCE)
    else:
        client.unsubscribe(number, headers, timeout=PATIENCE)
    absent("nobody waits for this")
    client.subscribe(topic, headers=headers, timeout=PATIENCE)
    sender.send(topic, "last", receipt=True, wait=True, timeout=PATIENCE)
    assert client.receive(timeout=PATIENCE).text() == "last"


# ---- CoilMQ


def test_coilmq_takes_its_own_name_alone(brokers):
    broker = brokers("CoilMQ")
    client = stomp.Client(broker.url, virtual_host="/", reconnect=False)
    with pytest.raises(stomp.PeerError) as caught:
        client.connect(timeout=PATIENCE)
    assert caught.value.status == stomp.Status.REFUSED
    client.close()
