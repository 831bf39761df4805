"""Connecting and leaving, with and without a Client Identifier; sessions."""

from __future__ import annotations

import time

from .scenario import Run, scenario

HOUR = 3600


def kept(run: Run, seconds: int = HOUR) -> dict[str, object]:
    """The settings of a client that keeps its session: before 5.0 the server decides for how long."""
    return dict(clean=False, session_expiry=seconds if run.version == 5 else None)


@scenario()
def connects_and_leaves(run: Run) -> None:
    run.connected().disconnect()


@scenario()
def connects_again(run: Run) -> None:
    client = run.connected()
    client.disconnect()
    client.connect()
    client.publish("a", b"1", qos=1)


@scenario(shows={3: "no-client-id-3-1"})
def has_no_client_id(run: Run) -> None:
    if client := run.client(client_id=None):
        client.connect()


@scenario(versions=(4, 5))
def has_no_client_id_and_would_keep_its_session(run: Run) -> None:
    run.client(client_id=None, **kept(run))


@scenario()
def has_a_client_id_of_23_bytes(run: Run) -> None:
    run.connected(client_id="a" * 23)


@scenario(shows={3: "client-id-24-bytes-3-1"})
def has_a_client_id_of_24_bytes(run: Run) -> None:
    if client := run.client(client_id="a" * 24):
        client.connect()


@scenario(versions=(4, 5))
def has_a_client_id_that_is_not_ascii(run: Run) -> None:
    run.connected(client_id="gäteway/€")


@scenario(shows="refusal-told-twice")
def has_a_client_id_that_the_server_does_not_like(run: Run) -> None:
    run.server.stop()
    run.witness.close()
    run.server.config.write_text(run.server.config.read_text() + "clientid_prefixes w\n")
    run.server.start()
    run.witness = run.peer("witness")
    run.witness.subscribe()
    run.client().connect()


@scenario()
def keeps_its_session(run: Run) -> None:
    client = run.connected(**kept(run))
    client.subscribe("a/#", qos=1)
    client.disconnect()
    client.connect()
    run.peer().publish("a/b", b"1", qos=1)
    client.received(1)


@scenario()
def takes_up_the_session_of_an_earlier_process(run: Run) -> None:
    first = run.connected(**kept(run))
    first.subscribe("a/#", qos=2)
    first.disconnect()
    peer = run.peer()
    for qos in (0, 1, 2):
        peer.publish("a/b", b"%d" % qos, qos=qos)
    later = run.again(first)
    later.received(2)


@scenario()
def ends_the_session_of_an_earlier_process(run: Run) -> None:
    first = run.connected(**kept(run))
    first.subscribe("a/#", qos=2)
    first.disconnect()
    run.peer().publish("a/b", b"1", qos=1)
    later = run.again(first, clean=True, session_expiry=None)
    later.disconnect()
    later.connect()


@scenario(versions=(5,), shows="clean-start-once")
def begins_a_new_session_and_keeps_it(run: Run) -> None:
    client = run.connected(clean=True, session_expiry=HOUR)
    client.subscribe("a/#", qos=1)
    client.disconnect()
    run.peer().publish("a/b", b"1", qos=1)
    client.connect()
    client.publish("b", b"1", qos=1)


@scenario(versions=(5,))
def keeps_its_session_for_a_second(run: Run) -> None:
    client = run.connected(**kept(run, 1))
    client.subscribe("a/#", qos=1)
    client.disconnect()
    time.sleep(2.5)
    client.connect()


@scenario(versions=(5,))
def changes_its_mind_about_the_session_as_it_leaves(run: Run) -> None:
    client = run.connected(**kept(run))
    client.subscribe("a/#", qos=1)
    client.disconnect(properties=[(0x11, 0)])
    client.connect()


@scenario(versions=(5,), shows="session-expiry")
def leaves_the_session_expiry_to_the_library(run: Run) -> None:
    run.connected(clean=False)


@scenario(versions=(5,), shows="limits")
def leaves_the_limits_to_the_library(run: Run) -> None:
    run.connected(own_defaults=True)


@scenario(versions=(5,))
def receives_one_message_at_a_time(run: Run) -> None:
    client = run.connected(receive_maximum=1)
    client.subscribe("a", qos=1)
    peer = run.peer()
    for number in range(4):
        peer.publish("a", b"%d" % number, qos=1)
    client.received(4)


@scenario(versions=(5,))
def connects_with_properties(run: Run) -> None:
    pairs = [(0x17, 0), (0x19, 1), (0x26, (b"maker", b"us")), (0x26, (b"maker", b"them"))]
    run.connected(properties=pairs)


@scenario(versions=(5,))
def leaves_with_reason_and_properties(run: Run) -> None:
    client = run.connected()
    client.disconnect(0x98, [(0x1F, b"by order"), (0x26, (b"who", b"me"))])


@scenario(shows="disconnect-without-connection")
def leaves_without_ever_having_connected(run: Run) -> None:
    run.client().disconnect()


@scenario()
def is_pushed_out_by_another_of_its_name(run: Run) -> None:
    client = run.connected()
    other = run.connected()
    client.until(lambda: not client.is_up)
    other.publish("a", b"1", qos=1)


@scenario()
def finds_no_server(run: Run) -> None:
    client = run.client()
    run.server.stop()
    client.connect()
    run.restart()


@scenario()
def sees_the_server_stop(run: Run) -> None:
    client = run.connected()
    run.restart()
    client.until(lambda: not client.is_up)


@scenario(versions=(4, 5), shows={5: "ping-at-once"})
def has_no_keep_alive(run: Run) -> None:
    run.connected(keep_alive=0).run(0.2)


@scenario(versions=(4, 5), shows="keep-alive-below-5")
def has_a_keep_alive_of_a_second(run: Run) -> None:
    run.client(keep_alive=1).connect()


@scenario(versions=(5,), server=dict(max_keepalive=30))
def is_told_another_keep_alive(run: Run) -> None:
    run.connected()
