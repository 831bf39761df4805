"""Wills."""

from __future__ import annotations

import time

from .clients import Will
from .scenario import Run, scenario


def loses(run: Run, will: Will, **values: object) -> None:
    """A client with this Will is cut off."""
    client = run.connected(will=will, **values)
    client.proxy.cut()
    client.until(lambda: not client.is_up)


@scenario()
def leaves_a_will(run: Run) -> None:
    loses(run, Will("a/will"))
    run.witness.received(1)


@scenario()
def leaves_a_will_with_qos_1(run: Run) -> None:
    loses(run, Will("a/will", b"gone", qos=1))
    run.witness.received(1)


@scenario()
def leaves_a_retained_will_with_qos_2(run: Run) -> None:
    loses(run, Will("a/will", b"gone", qos=2, retain=True))
    run.witness.received(1)
    later = run.connected(client_id="later")
    later.subscribe("a/#", qos=2)
    later.received(1)


@scenario()
def leaves_a_will_without_payload(run: Run) -> None:
    loses(run, Will("a/will", b""))
    run.witness.received(1)


@scenario()
def takes_back_what_is_retained_by_a_will(run: Run) -> None:
    run.peer().publish("a/will", b"here", qos=1, retain=True)
    loses(run, Will("a/will", b"", retain=True))
    run.witness.received(2)
    later = run.connected(client_id="later")
    later.subscribe("a/#")


@scenario()
def leaves_no_will_as_it_disconnects(run: Run) -> None:
    run.connected(will=Will("a/will")).disconnect()


@scenario()
def leaves_a_will_as_it_is_pushed_out(run: Run) -> None:
    client = run.connected(will=Will("a/will", b"pushed", qos=1))
    run.connected()
    client.until(lambda: not client.is_up)
    run.witness.received(1)


@scenario()
def leaves_a_will_of_many_bytes(run: Run) -> None:
    loses(run, Will("a/will", bytes(range(256)) * 200))
    run.witness.received(1)


@scenario()
def has_a_will_with_a_wildcard(run: Run) -> None:
    run.client(will=Will("a/+"))


@scenario(shows="will-without-topic")
def has_a_will_without_topic(run: Run) -> None:
    if client := run.client(will=Will("")):
        client.connect()


@scenario(versions=(4, 5), shows="will-qos-3")
def has_a_will_of_qos_3(run: Run) -> None:
    if client := run.client(will=Will("a", qos=3)):
        client.connect()


@scenario(versions=(5,))
def leaves_a_will_with_properties(run: Run) -> None:
    pairs = [
        (0x01, 1),
        (0x02, 100),
        (0x03, b"text/plain"),
        (0x08, b"answers"),
        (0x09, b"\0\1\2"),
        (0x26, (b"n", b"1")),
        (0x26, (b"n", b"2")),
    ]
    loses(run, Will("a/will", b"gone", qos=1, properties=pairs))
    run.witness.received(1)


@scenario(versions=(5,))
def leaves_a_will_a_second_later(run: Run) -> None:
    loses(run, Will("a/will", properties=[(0x18, 1)]), session_expiry=60, clean=False)
    run.witness.received(1)


@scenario(versions=(5,))
def is_back_before_its_will_is_due(run: Run) -> None:
    client = run.connected(will=Will("a/will", properties=[(0x18, 1)]), session_expiry=60, clean=False)
    client.proxy.cut()
    client.until(lambda: not client.is_up)
    client.connect()
    time.sleep(1.5)


@scenario(versions=(5,))
def disconnects_with_its_will(run: Run) -> None:
    run.connected(will=Will("a/will")).disconnect(0x04)
    run.witness.received(1)


@scenario(versions=(4,), shows="reason-code-before-5-0")
def would_disconnect_with_its_will_before_5_0(run: Run) -> None:
    client = run.connected(will=Will("a/will"))
    client.disconnect(0x04)


@scenario(versions=(4,))
def has_a_will_with_properties_before_5_0(run: Run) -> None:
    if client := run.client(will=Will("a/will", properties=[(0x03, b"text/plain")])):
        client.connect()
