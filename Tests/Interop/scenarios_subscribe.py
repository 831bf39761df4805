"""Subscribing and receiving."""

from __future__ import annotations

from .clients import Client
from .scenario import Run, scenario

NO_LOCAL, RETAIN_AS_PUBLISHED, IF_NEW, NEVER = 0x04, 0x08, 0x10, 0x20  # Subscription Options (section 3.8.3.1)
LAST = b"the last one"


def last(run: Run, client: Client, topic: str) -> None:
    """Returns when a message was handed out before which the server had nothing else for the client."""
    # From the one that has published before, if there is one: what others send may overtake.
    peer = run.peers[-1] if run.peers[-1] is not run.witness else run.peer()
    peer.publish(topic, LAST)
    client.until(lambda: any(event[2] == LAST for event in client.of("message")))
    client.settle()


def receives(run: Run, qos: int) -> None:
    """Messages of each QoS, subscribed to with this one."""
    client = run.connected()
    client.subscribe("a", qos=qos)
    peer = run.peer()
    for number in range(6):
        peer.publish("a", b"%d" % number, qos=number % 3)
        client.received(number + 1)


@scenario()
def receives_with_qos_0_at_most(run: Run) -> None:
    receives(run, 0)


@scenario()
def receives_with_qos_1_at_most(run: Run) -> None:
    receives(run, 1)


@scenario()
def receives_with_qos_2_at_most(run: Run) -> None:
    receives(run, 2)


@scenario()
def receives_payloads_large_and_empty(run: Run) -> None:
    client = run.connected()
    client.subscribe("a/#", qos=2)
    peer = run.peer()
    for number, payload in enumerate((b"", bytes(range(256)), b"x" * 300_000)):
        peer.publish("a/ä", payload, qos=number)
        client.received(number + 1)


@scenario()
def subscribes_with_wildcards(run: Run) -> None:
    client = run.connected()
    for filter in ("a/+/c", "b/#", "+/x", "$d/#"):
        client.subscribe(filter)
    peer = run.peer()
    for topic in ("a/b/c", "a/b/d", "a//c", "b", "b/c/d", "y/x", "/x", "$d/x", "$e/x", "z"):
        peer.publish(topic, topic.encode())
    last(run, client, "b/last")


@scenario(shows={5: "qos-2-at-once"})
def has_overlapping_subscriptions(run: Run) -> None:
    client = run.connected()
    client.subscribe("a/#", qos=2)
    client.subscribe("a/+", qos=1)
    client.subscribe("a/b", qos=0)
    run.peer().publish("a/b", b"1", qos=2)
    last(run, client, "a/x/y")


@scenario()
def subscribes_to_several_filters_at_once(run: Run) -> None:
    client = run.connected()
    client.subscribe("a", "b/+", "c/#", qos=1)
    peer = run.peer()
    for topic in ("a", "b/1", "c/1/2"):
        peer.publish(topic, b"1", qos=1)
    client.received(3)


@scenario()
def subscribes_again_with_another_qos(run: Run) -> None:
    client = run.connected()
    peer = run.peer()
    for number, qos in enumerate((0, 2, 1)):
        client.subscribe("a", qos=qos)
        peer.publish("a", b"%d" % number, qos=2)
        client.received(number + 1)


@scenario(shows={5: "unsuback-codes"})
def unsubscribes(run: Run) -> None:
    client = run.connected()
    client.subscribe("a", "b", "c")
    client.unsubscribe("a")
    run.peer().publish("a", b"1")
    last(run, client, "b")


@scenario(shows={5: "unsuback-codes"})
def unsubscribes_from_several_filters_at_once(run: Run) -> None:
    client = run.connected()
    client.subscribe("a", "b", "c")
    client.unsubscribe("a", "b")


@scenario(shows={5: "unsuback-codes"})
def unsubscribes_from_what_it_never_subscribed_to(run: Run) -> None:
    run.connected().unsubscribe("a/+")


@scenario()
def subscribes_to_no_filter(run: Run) -> None:
    client = run.connected()
    for filter in ("a/#/b", "a#", "#a", "a+", "+a", "a/b+/c", "##", "++"):
        client.subscribe(filter)
        client.unsubscribe(filter)


@scenario(shows="empty-filter")
def subscribes_to_an_empty_filter(run: Run) -> None:
    client = run.connected()
    client.subscribe("")


@scenario(shows="empty-filter")
def unsubscribes_from_an_empty_filter(run: Run) -> None:
    client = run.connected()
    client.unsubscribe("")


@scenario()
def subscribes_with_qos_3(run: Run) -> None:
    run.connected().subscribe("a", qos=3)


@scenario(versions=(4, 5), shows="subscribe-without-connection")
def subscribes_before_it_connects(run: Run) -> None:
    client = run.client()
    client.subscribe("a", qos=1, wait=False)
    client.connect()
    client.publish("b", b"1", qos=1)


@scenario()
def receives_what_is_retained(run: Run) -> None:
    peer = run.peer()
    for qos in (0, 1, 2):
        peer.publish(f"a/{qos}", b"%d" % qos, qos=qos, retain=True)
    client = run.connected()
    for qos in (0, 1, 2):
        client.subscribe(f"a/{qos}", qos=qos)
        client.received(qos + 1)
    peer.publish("a/0", b"new", retain=True)
    client.received(4)


@scenario(shows="qos-2-at-once")
def receives_qos_2_before_qos_0(run: Run) -> None:
    peer = run.peer()
    peer.publish("a", b"2", qos=2, retain=True)
    peer.publish("b", b"0", qos=0, retain=True)
    client = run.connected()
    client.subscribe("a", "b", qos=2)
    client.received(2)


@scenario()
def answers_in_the_callback(run: Run) -> None:
    client = run.connected()
    client.on_message = lambda event: client.publish("b", event[2], wait=False)
    client.subscribe("a", qos=1)
    run.peer().publish("a", b"1", qos=1)
    client.until(lambda: client.of("published"))


@scenario(shows="qos-2-at-once")
def publishes_to_itself(run: Run) -> None:
    client = run.connected()
    client.subscribe("a", qos=2)
    for qos in (0, 1, 2):
        client.publish("a", b"%d" % qos, qos=qos)
        client.received(qos + 1)


@scenario(versions=(5,))
def does_not_hear_itself(run: Run) -> None:
    client = run.connected()
    client.subscribe("a", qos=1, options=NO_LOCAL)
    client.publish("a", b"1", qos=1)
    last(run, client, "a")


@scenario(versions=(5,))
def receives_retained_as_published(run: Run) -> None:
    client = run.connected()
    client.subscribe("a", options=RETAIN_AS_PUBLISHED)
    client.subscribe("b")
    peer = run.peer()
    for topic in ("a", "b"):
        peer.publish(topic, b"1", retain=True)
        peer.publish(topic, b"2")
    client.received(4)


@scenario(versions=(5,))
def receives_retained_if_the_subscription_is_new(run: Run) -> None:
    run.peer().publish("a", b"1", qos=1, retain=True)
    client = run.connected()
    client.subscribe("a", options=IF_NEW)
    client.received(1)
    client.subscribe("a", options=IF_NEW)
    last(run, client, "a")


@scenario(versions=(5,))
def never_receives_retained(run: Run) -> None:
    run.peer().publish("a", b"1", qos=1, retain=True)
    client = run.connected()
    client.subscribe("a", options=NEVER)
    last(run, client, "a")


@scenario(versions=(5,))
def subscribes_with_an_identifier(run: Run) -> None:
    client = run.connected()
    client.subscribe("a/#", qos=1, properties=[(0x0B, 7)])
    client.subscribe("a/b", qos=1, properties=[(0x0B, 268_435_455)])
    peer = run.peer()
    peer.publish("a/b", b"1", qos=1)
    client.received(2)


@scenario(versions=(5,), shows="unsuback-codes")
def subscribes_with_user_properties(run: Run) -> None:
    client = run.connected()
    client.subscribe("a", qos=1, properties=[(0x26, (b"why", b"so"))])
    client.unsubscribe("a", properties=[(0x26, (b"why", b"not"))])


@scenario(versions=(5,))
def subscribes_with_a_property_of_another_packet(run: Run) -> None:
    run.connected().subscribe("a", properties=[(0x03, b"text/plain")])


@scenario(versions=(4, 5), shows={5: "unsuback-codes"})
def shares_a_subscription(run: Run) -> None:
    client = run.connected()
    client.subscribe("$share/all/a/#", qos=1)
    run.peer().publish("a/b", b"1", qos=1)
    client.received(1)
    client.unsubscribe("$share/all/a/#")


@scenario(versions=(4, 5), shows="share-without-name")
def shares_a_subscription_without_a_name(run: Run) -> None:
    client = run.connected()
    for filter in ("$share//a", "$share/all", "$share/all/", "$share/a+/b"):
        client.subscribe(filter)


@scenario(versions=(5,), shows="share-no-local")
def shares_what_it_would_not_hear_from_itself(run: Run) -> None:
    client = run.connected()
    client.subscribe("$share/all/a", options=NO_LOCAL)


@scenario(versions=(4,), shows="subscription-options-before-5-0")
def subscribes_with_options_before_5_0(run: Run) -> None:
    run.connected().subscribe("a", qos=1, options=NO_LOCAL)
