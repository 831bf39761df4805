"""MQTT 5.0: properties of messages, Topic Aliases, expiry."""

from __future__ import annotations

import time

from .scenario import Run, scenario

ALL = [(0x01, 1), (0x03, b"text/plain"), (0x08, b"answers/here"), (0x09, b"\0\1\xff"), (0x26, (b"unit", b"K"))]


def begin_a_second() -> None:
    """The server counts in whole seconds: what is to take the same time with both libraries begins with one."""
    time.sleep(1.02 - time.monotonic() % 1)


@scenario(versions=(5,))
def publishes_with_a_payload_format(run: Run) -> None:
    client = run.connected()
    client.publish("a", "21.5 °C".encode(), qos=1, properties=[(0x01, 1)])
    client.publish("a", b"\xff", qos=1, properties=[(0x01, 0)])


@scenario(versions=(5,))
def publishes_with_a_content_type(run: Run) -> None:
    run.connected().publish("a", b"{}", qos=1, properties=[(0x03, b"application/json")])


@scenario(versions=(5,))
def publishes_with_user_properties(run: Run) -> None:
    pairs = [(0x26, (name, value)) for name, value in ((b"b", b"1"), (b"a", b"2"), (b"b", b"1"), (b"", b""))]
    run.connected().publish("a", b"1", qos=2, properties=pairs)


@scenario(versions=(5,))
def publishes_with_a_response_topic(run: Run) -> None:
    run.connected().publish("a", b"?", qos=1, properties=[(0x08, b"answers/here"), (0x09, b"\0\1\xff")])


@scenario(versions=(5,))
def publishes_with_every_property(run: Run) -> None:
    client = run.connected()
    for qos in (0, 1, 2):
        client.publish("a", b"1", qos=qos, properties=ALL)


@scenario(versions=(5,))
def publishes_with_a_message_expiry(run: Run) -> None:
    client = run.connected()
    begin_a_second()
    client.publish("a", b"1", qos=1, retain=True, properties=[(0x02, 1000)])


@scenario(versions=(5,))
def publishes_what_expires_in_the_server(run: Run) -> None:
    client = run.connected()
    client.publish("a", b"1", qos=1, retain=True, properties=[(0x02, 1)])
    time.sleep(2.1)
    client.subscribe("a", qos=1)


@scenario(versions=(5,), shows="queued-without-connection dup-at-first expiry-while-queued")
def publishes_what_expires_before_it_connects(run: Run) -> None:
    client = run.client()
    client.publish("a", b"1", qos=1, properties=[(0x02, 1)], wait=False)
    time.sleep(1.2)
    client.connect()
    client.completed(1)


@scenario(versions=(5,), shows="queued-without-connection dup-at-first expiry-while-queued")
def publishes_what_waits_a_second_before_it_connects(run: Run) -> None:
    client = run.client()
    client.publish("a", b"1", qos=1, properties=[(0x02, 1000)], wait=False)
    time.sleep(1.2)
    client.connect()
    client.completed(1)


@scenario(versions=(5,))
def publishes_with_a_property_twice(run: Run) -> None:
    run.connected().publish("a", b"1", properties=[(0x03, b"a"), (0x03, b"b")])


@scenario(versions=(5,))
def publishes_with_a_property_of_another_packet(run: Run) -> None:
    run.connected().publish("a", b"1", properties=[(0x11, 10)])


@scenario(versions=(5,), shows="subscription-identifier-in-publish")
def publishes_with_a_subscription_identifier(run: Run) -> None:
    run.connected().publish("a", b"1", properties=[(0x0B, 10)], wait=False)


@scenario(versions=(5,), shows="response-topic-with-wildcards")
def publishes_with_wildcards_in_the_response_topic(run: Run) -> None:
    run.connected().publish("a", b"1", properties=[(0x08, b"answers/#")], wait=False)


@scenario(versions=(4,))
def publishes_with_properties_before_5_0(run: Run) -> None:
    run.connected().publish("a", b"1", properties=[(0x03, b"text/plain")])


@scenario(versions=(5,))
def uses_topic_aliases(run: Run) -> None:
    client = run.connected(aliases_out=2)
    for number in range(3):
        # libmosquitto has the program do what our client does by itself.
        by_hand = run.library != "libswiftmqtt"
        topic = "" if by_hand and number else "a/long/topic"
        client.publish(topic, b"%d" % number, properties=[(0x23, 1)] if by_hand else [])


@scenario(versions=(5,))
def offers_topic_aliases(run: Run) -> None:
    client = run.connected(aliases_in=5)
    client.subscribe("a", qos=1)
    peer = run.peer()
    for number in range(3):
        peer.publish("a", b"%d" % number, qos=1)
    client.received(3)


@scenario(versions=(5,))
def publishes_where_nobody_has_subscribed(run: Run) -> None:
    client = run.connected()
    client.publish("$nobody", b"1", qos=1)
    client.publish("$nobody", b"2", qos=2)


@scenario(versions=(5,))
def receives_every_property(run: Run) -> None:
    client = run.connected()
    client.subscribe("a", qos=2)
    peer = run.peer()
    for qos in (0, 1, 2):
        peer.publish("a", b"1", qos=qos, with_properties=[*ALL, (0x26, (b"unit", b"C"))])
    client.received(3)


@scenario(versions=(5,))
def receives_what_is_left_of_an_expiry(run: Run) -> None:
    peer = run.peer()
    begin_a_second()
    peer.publish("a", b"1", qos=1, retain=True, with_properties=[(0x02, 1000)])
    time.sleep(1.1)
    client = run.connected()
    client.subscribe("a", qos=1)
    client.received(1)


@scenario(versions=(5,))
def answers_a_request(run: Run) -> None:
    client = run.connected()

    def answer(event: tuple) -> None:
        pairs = dict(event[5])
        client.publish(pairs[0x08].decode(), b"42", properties=[(0x09, pairs[0x09])], wait=False)

    client.on_message = answer
    client.subscribe("question")
    run.peer().publish("question", b"?", with_properties=[(0x08, b"answer"), (0x09, b"\0\7")])
    client.until(lambda: client.of("published"))
