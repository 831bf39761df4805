"""The programs of examples-c/stomp with real brokers, and a client written by hand at the other end."""

from __future__ import annotations

import pytest

from Support.servers import Mosquitto, Subscriber

from .peer import PATIENCE, Client


@pytest.fixture
def witness(broker):
    client = Client(broker)
    yield client
    client.close()


def test_send(broker, witness, queue, run):
    witness.subscribe(queue)
    program = run("send", broker.url, queue, "hällo: \\n", host=broker.virtual_host)
    assert program.wait(PATIENCE) == 0, program.complained
    message = witness.expect("MESSAGE")
    assert message.body == "hällo: \\n".encode() and message.headers["content-type"] == "text/plain"
    assert message.headers["destination"] == queue and message.headers["content-length"] == str(len(message.body))


def test_lines_of_standard_input(broker, witness, queue, run):
    witness.subscribe(queue)
    program = run("send", broker.url, queue, host=broker.virtual_host)
    program.stdin.write("".join(f"line {number}\n" for number in range(50)))
    program.stdin.close()
    assert program.wait(PATIENCE) == 0, program.complained
    assert [witness.expect("MESSAGE").body.decode() for _ in range(50)] == [f"line {number}" for number in range(50)]


def test_consume_acknowledges_each(broker, witness, queue, run):
    for body in (b"one", b"two", b""):
        witness.put(queue, body)
    program = run("consume", broker.url, queue, host=broker.virtual_host)
    program.says("[", 3)
    assert program.end() == 0
    assert [line for line in program.said.splitlines() if line.startswith("  [")] == ["  [one]", "  [two]", "  []"]
    # They were acknowledged: nobody else gets them. CoilMQ may give a message to the one who has just left, and then nobody
    # gets that.
    witness.subscribe(queue)
    witness.socket.settimeout(2)
    for _ in range(10):
        witness.put(queue, b"last")
        try:
            assert witness.expect("MESSAGE").body == b"last"
            return
        except TimeoutError:
            pass
    pytest.fail("nothing comes any more")


def test_a_selector(broker, queue, witness, run):
    if type(broker).__name__ != "ActiveMQ":
        pytest.skip("it has no selectors")
    program = run("consume", broker.url, queue, "colour = 'red'", host=broker.virtual_host)
    program.complains("CONNECTED")
    for colour in ("blue", "red", "green"):
        witness.put(queue, colour.encode(), colour=colour)
    program.says("[red]")
    assert program.end() == 0 and "[blue]" not in program.said


def test_headers_with_escapes(broker, queue, witness, run):
    """Colons, backslashes and line ends, in names and values, as they were."""
    program = run("consume", broker.url, queue, host=broker.virtual_host)
    program.complains("CONNECTED")
    witness.put(queue, b"x", **{"odd": "a:b\\c", "line": "one\ntwo"})
    program.says("[x]")
    assert "  odd: a:b\\c\n" in program.said and "  line: one\ntwo\n" in program.said
    assert program.end() == 0


def test_transaction_moves(broker, queue, witness, run):
    if type(broker).__name__ == "CoilMQ":
        pytest.skip("it answers COMMIT with ERROR if the transaction has an ACK of 1.2")
    bodies = [f"{number}".encode() for number in range(30)]
    for body in bodies:
        witness.put(queue, body)
    program = run("transaction", broker.url, queue, f"{queue}.out", host=broker.virtual_host)
    witness.subscribe(f"{queue}.out")
    assert [witness.expect("MESSAGE").body for _ in bodies] == bodies
    assert program.end() == 0, program.complained


def test_a_broker_that_comes_back(queue, run, rabbitmq_of_its_own):
    """Subscriptions are made again, and what was sent meanwhile arrives."""
    broker = rabbitmq_of_its_own
    consumer = run("consume", broker.url, queue)
    consumer.complains("CONNECTED")
    broker.kill()
    consumer.complains("DISCONNECTED")
    broker.start()
    consumer.complains(", version 1.2", 2)
    assert run("send", broker.url, queue, "after").wait(PATIENCE) == 0
    consumer.says("[after]")
    assert consumer.end() == 0


@pytest.fixture
def rabbitmq_of_its_own(tmp_path):
    from .brokers import RabbitMQ

    directory = tmp_path / "own"
    directory.mkdir()
    with RabbitMQ(directory) as server:
        yield server


def test_a_wrong_passcode(rabbitmq, queue, run):
    program = run("send", rabbitmq.url.replace("guest@", "wrong@"), queue, "x")
    assert program.wait(PATIENCE) == 1
    # And the reason, which RabbitMQ says in the body.
    assert ('SST_ERR_REFUSED: the server refused it, stage accept, "Bad CONNECT", "Access refused for user \'guest\'"'
            in program.complained)


def test_over_a_websocket(rabbitmq, queue, run):
    """The path is RabbitMQ's without being said."""
    consumer = run("consume", rabbitmq.web_url, queue)
    consumer.complains("CONNECTED")
    assert run("send", rabbitmq.web_url, queue, "through").wait(PATIENCE) == 0
    consumer.says("[through]")
    assert consumer.end() == 0


def test_nobody_listens(run, queue):
    from Support.servers import free_port

    program = run("send", f"stomp://127.0.0.1:{free_port()}", queue, "x")
    assert program.wait(PATIENCE) == 1
    assert "SST_ERR_NETWORK" in program.complained and "stage connect" in program.complained


def test_the_bridge(rabbitmq, tmp_path, queue, run):
    """Both ways, each confirmed by the other side."""
    directory = tmp_path / "mosquitto"
    directory.mkdir()
    with Mosquitto(directory) as mosquitto:
        witness = Client(rabbitmq)
        witness.subscribe("/topic/gateway.7.status")
        subscriber = Subscriber(mosquitto, "from/stomp")
        bridge = run("bridge", mosquitto.url, "gateway/#", rabbitmq.url)
        bridge.complains("mqtt: COMPLETED")
        bridge.complains("stomp: COMPLETED")
        mosquitto.publish("gateway/7/status", "on", "-q", "1")
        assert witness.expect("MESSAGE").body == b"on"
        witness.put("/queue/to-mqtt", b"hello", topic="from/stomp")
        (received,) = subscriber.take(1)
        assert (received.topic, received.payload) == ("from/stomp", b"hello")
        assert bridge.end() == 0, bridge.complained
        witness.close()
