"""Publishing: QoS, retained messages, payloads, topics, what is refused."""

from __future__ import annotations

from Support.codec import PUBLISH

from .scenario import Run, scenario


@scenario()
def publishes_qos_0(run: Run) -> None:
    run.connected().publish("a/b", b"21.5")


@scenario()
def publishes_qos_1(run: Run) -> None:
    run.connected().publish("a/b", b"21.5", qos=1)


@scenario()
def publishes_qos_2(run: Run) -> None:
    run.connected().publish("a/b", b"21.5", qos=2)


@scenario()
def publishes_many_of_each_qos(run: Run) -> None:
    client = run.connected()
    for number in range(12):
        client.publish("a/b", b"%d" % number, qos=number % 3)


@scenario()
def publishes_and_retains(run: Run) -> None:
    client = run.connected()
    for qos in (0, 1, 2):
        client.publish(f"a/{qos}", b"21.5", qos=qos, retain=True)
    later = run.peer()
    later.subscribe("a/#")
    later.received(3)


@scenario()
def takes_back_what_is_retained(run: Run) -> None:
    client = run.connected()
    client.publish("a", b"21.5", qos=1, retain=True)
    client.publish("a", b"", qos=1, retain=True)
    client.subscribe("a")


@scenario()
def publishes_an_empty_payload(run: Run) -> None:
    client = run.connected()
    for qos in (0, 1, 2):
        client.publish("a/b", b"", qos=qos)


@scenario()
def publishes_every_byte(run: Run) -> None:
    run.connected().publish("a/b", bytes(range(256)), qos=1)


@scenario()
def publishes_a_large_payload(run: Run) -> None:
    client = run.connected()
    for qos in (0, 1, 2):
        client.publish("a/b", bytes(range(256)) * 1200, qos=qos)


@scenario(versions=(4, 5))
def publishes_payloads_about_the_sizes_of_a_length(run: Run) -> None:
    client = run.connected()
    for size in (120, 123, 124, 125, 126, 127, 128, 16370, 16376, 16377, 16378, 16379, 16380, 16384):
        client.publish("a", b"x" * size, qos=1)


@scenario()
def publishes_to_topics_of_all_kinds(run: Run) -> None:
    client = run.connected()
    for topic in ("/", "//", "/a", "a/", "a//b", " ", "a b", "ä/€/𝄞", "$a/b", "x" * 1000):
        client.publish(topic, b"1", qos=1)


@scenario()
def publishes_to_no_topic(run: Run) -> None:
    client = run.connected()
    for topic in ("a/+", "#", "+", "a/#", "a+", "b#c"):
        client.publish(topic, b"1")
    if run.version < 5:
        client.publish("", b"1")


@scenario(versions=(5,))
def publishes_to_an_empty_topic(run: Run) -> None:
    run.connected().publish("", b"1")


@scenario(versions=(4,), shows="control-characters")
def publishes_to_a_topic_with_a_control_character(run: Run) -> None:
    run.connected().publish("a/\x01", b"1", wait=False)


@scenario()
def publishes_with_qos_3(run: Run) -> None:
    run.connected().publish("a", b"1", qos=3)


@scenario(versions=(4, 5), shows="queued-without-connection qos-0-without-connection")
def publishes_qos_0_before_it_connects(run: Run) -> None:
    client = run.client()
    client.publish("a", b"0", wait=False)
    client.connect()
    client.publish("a", b"1", qos=1)


@scenario(versions=(4, 5), shows="queued-without-connection dup-at-first")
def publishes_qos_1_and_2_before_it_connects(run: Run) -> None:
    client = run.client()
    client.publish("a", b"1", qos=1, wait=False)
    client.publish("a", b"2", qos=2, wait=False)
    client.connect()
    client.completed(1)
    client.completed(2)


@scenario()
def has_three_messages_in_flight_at_most(run: Run) -> None:
    client = run.connected(in_flight=3)
    for number in range(10):
        client.publish("a", b"%d" % number, qos=1, wait=False)
    for number in range(10):
        client.completed(number + 1)


@scenario()
def sends_no_more_than_it_may(run: Run) -> None:
    client = run.connected(in_flight=3)
    client.proxy.hold()
    for number in range(10):
        client.publish("a", b"%d" % number, qos=1 + number % 2, wait=False)
    client.until(lambda: client.said(PUBLISH) >= 3)
    client.run(0.05)  # in which no more is sent
    run.witness.received(2)  # those of QoS 1
    client.proxy.cut()
    client.until(lambda: not client.is_up)


@scenario()
def has_one_message_in_flight_at_most(run: Run) -> None:
    client = run.connected(in_flight=1)
    for number in range(5):
        client.publish("a", b"%d" % number, qos=2, wait=False)
    client.completed(5)


@scenario(versions=(4, 5), shows="qos-0-overtakes")
def publishes_qos_0_while_the_window_is_full(run: Run) -> None:
    client = run.connected(in_flight=1)
    client.proxy.hold()
    client.publish("a", b"1", qos=1, wait=False)
    client.publish("a", b"2", qos=1, wait=False)
    client.publish("a", b"0", wait=False)
    client.run(0.1)
    client.proxy.release()
    client.completed(2)
    client.completed(3)


@scenario(versions=(5,), server=dict(max_inflight_messages=2))
def keeps_to_the_receive_maximum_of_the_server(run: Run) -> None:
    client = run.connected()
    for number in range(8):
        client.publish("a", b"%d" % number, qos=1, wait=False)
    for number in range(8):
        client.completed(number + 1)


@scenario(versions=(5,), server=dict(max_qos=1))
def publishes_above_the_maximum_qos(run: Run) -> None:
    client = run.connected()
    client.publish("a", b"2", qos=2)
    client.publish("a", b"1", qos=1)


@scenario(versions=(5,), server=dict(retain_available="false"), shows="retain-not-available")
def retains_where_nothing_is_retained(run: Run) -> None:
    client = run.connected()
    client.publish("retained", b"1", retain=True)
    client.publish("a", b"1", qos=1)


@scenario(versions=(5,), server=dict(max_packet_size=1000))
def publishes_more_than_the_server_takes(run: Run) -> None:
    client = run.connected()
    client.publish("a", b"x" * 990, qos=1)
    client.publish("a", b"x" * 999, qos=1)


@scenario(versions=(4, 5), shows="queued-without-connection dup-at-first qos-0-without-connection")
def publishes_after_it_has_left(run: Run) -> None:
    client = run.connected()
    client.disconnect()
    client.publish("a", b"0", wait=False)
    client.publish("a", b"1", qos=1, wait=False)
    client.connect()
    client.completed(2)
