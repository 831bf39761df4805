"""Connections that break, and servers that are restarted: what is taken up again, and what is sent again."""

from __future__ import annotations

from threading import Event

from Support.codec import PUBCOMP, PUBLISH, PUBREC, PUBREL, SUBSCRIBE
from Support.waiting import wait_for

from .clients import Will
from .scenario import Run, scenario
from .scenarios_connect import kept


class Gate(Event):
    """In the place of a proxy's `open`: lets so many reads of the server's bytes through, and then no more."""

    def __init__(self, count: int):
        super().__init__()
        self.set()
        self.count = count

    def set(self) -> None:
        """The proxy's release(): from now on all goes through."""
        super().set()
        self.count = -1

    def wait(self, timeout: float | None = None) -> bool:
        if not self.count:
            self.clear()
        self.count -= 1
        return super().wait(timeout)


def breaks_off(run: Run, qos: int, answers: int, **values: object) -> None:
    """After CONNACK and so many answers the client hears nothing any more; then the connection is cut."""
    client = run.connected(reconnect=True, **values)
    proxy = client.proxy
    proxy.open = Gate(answers)
    client.publish("a", b"1", qos=qos, wait=False)
    client.until(lambda: client.said(PUBREL if answers else PUBLISH))
    if qos == 1:
        run.witness.received(1)  # else it is a matter of time whether the server got it before the cut
    proxy.cut()
    client.back()
    client.until(lambda: client.of("published", "failed"), 5)


@scenario()
def comes_back(run: Run) -> None:
    client = run.connected(reconnect=True)
    client.proxy.cut()
    client.back()
    client.publish("a", b"1", qos=1)


@scenario(versions=(4, 5), shows={5: "assigned-client-id"})
def comes_back_without_a_client_id(run: Run) -> None:
    client = run.connected(reconnect=True, client_id=None)
    client.proxy.cut()
    client.back()


@scenario()
def comes_back_with_its_will(run: Run) -> None:
    client = run.connected(reconnect=True, will=Will("a/will", b"gone", qos=1))
    for count in (1, 2):
        client.proxy.cut()
        client.back()
        run.witness.received(count)


@scenario(shows={3: "subscribes-again"})
def comes_back_to_its_session(run: Run) -> None:
    client = run.connected(reconnect=True, **kept(run))
    client.subscribe("a", qos=1)
    client.proxy.cut()
    client.back()
    run.peer().publish("a", b"1", qos=1)
    client.received(1)


@scenario(shows="subscribes-again")
def comes_back_with_a_new_session(run: Run) -> None:
    client = run.connected(reconnect=True)
    client.subscribe("a", qos=1)
    client.proxy.cut()
    client.back()
    client.publish("b", b"1", qos=1)


@scenario(versions=(5,), shows="clean-start-once")
def comes_back_to_a_session_that_it_began_anew(run: Run) -> None:
    client = run.connected(reconnect=True, clean=True, session_expiry=3600)
    client.proxy.cut()
    client.back()


@scenario(shows={3: "subscribes-again"})
def comes_back_after_the_server_was_restarted(run: Run) -> None:
    client = run.connected(reconnect=True, **kept(run))
    client.subscribe("a", qos=1)
    run.restart()
    client.back()
    run.peer().publish("a", b"1", qos=1)
    client.received(1)


@scenario(server=dict(persistence="false"), shows="subscribes-again")
def comes_back_after_the_server_has_forgotten_it(run: Run) -> None:
    client = run.connected(reconnect=True, **kept(run))
    client.subscribe("a", qos=1)
    run.restart()
    client.back()
    client.publish("b", b"1", qos=1)


@scenario(shows={3: "subscribes-again qos-2-at-once", 4: "qos-2-at-once", 5: "qos-2-at-once"})
def comes_back_to_what_it_missed(run: Run) -> None:
    client = run.connected(reconnect=True, **kept(run))
    client.subscribe("a", qos=2)
    client.proxy.cut()
    peer = run.peer()
    for number in range(6):
        peer.publish("a", b"%d" % number, qos=1 + number % 2)
    client.received(6)


@scenario(shows="queued-without-connection dup-at-first")
def publishes_while_the_server_is_away(run: Run) -> None:
    client = run.connected(reconnect=True, **kept(run))
    run.server.stop()
    client.until(lambda: not client.is_up)
    for qos in (1, 2, 1):
        client.publish("a", b"%d" % qos, qos=qos, wait=False)
    run.restart()
    client.back()
    for number in (1, 2, 3):
        client.completed(number)


@scenario(shows="queued-without-connection qos-0-without-connection")
def publishes_qos_0_while_the_server_is_away(run: Run) -> None:
    client = run.connected(reconnect=True, **kept(run))
    run.server.stop()
    client.until(lambda: not client.is_up)
    client.publish("a", b"0", wait=False)
    run.restart()
    client.back()
    client.publish("a", b"1", qos=1)


@scenario()
def misses_puback(run: Run) -> None:
    breaks_off(run, 1, 0, **kept(run))


@scenario(shows="dup-in-a-new-session")
def misses_puback_without_a_session(run: Run) -> None:
    breaks_off(run, 1, 0)


@scenario()
def misses_pubrec(run: Run) -> None:
    breaks_off(run, 2, 0, **kept(run))


@scenario(shows="qos-2-in-a-new-session")
def misses_pubrec_without_a_session(run: Run) -> None:
    breaks_off(run, 2, 0)


@scenario()
def misses_pubcomp(run: Run) -> None:
    breaks_off(run, 2, 1, **kept(run))


@scenario(shows="pubrel-in-a-new-session")
def misses_pubcomp_without_a_session(run: Run) -> None:
    breaks_off(run, 2, 1)


@scenario(shows={3: "subscribes-again qos-2-at-once", 4: "qos-2-at-once", 5: "qos-2-at-once"})
def misses_pubrel(run: Run) -> None:
    without_pubrel(run, **kept(run))
    client = run.clients[0]
    client.until(lambda: client.said(PUBCOMP))


@scenario(shows="handed-out-before-it-was-lost")
def misses_pubrel_without_a_session(run: Run) -> None:
    without_pubrel(run, subscribe_again=False)


def without_pubrel(run: Run, **values: object) -> None:
    """The connection is cut between PUBREC and PUBREL."""
    client = run.connected(reconnect=True, **values)
    client.subscribe("a", qos=2)
    client.proxy.open = Gate(1)
    run.peer().publish("a", b"1", qos=2)
    client.until(lambda: client.said(PUBREC))
    client.proxy.cut()
    client.back()


@scenario(versions=(4, 5))
def misses_pubacks_of_several(run: Run) -> None:
    client = run.connected(reconnect=True, in_flight=3, **kept(run))
    proxy = client.proxy
    proxy.hold()
    for number in range(5):
        client.publish("a", b"%d" % number, qos=1, wait=False)
    client.until(lambda: client.said(PUBLISH) >= 3)
    run.witness.received(3)
    proxy.cut()
    for number in range(5):
        client.completed(number + 1)


@scenario(versions=(4, 5), shows="asks-again")
def misses_suback(run: Run) -> None:
    client = run.connected(reconnect=True)
    proxy = client.proxy
    proxy.hold()
    client.subscribe("a", qos=1, wait=False)
    client.until(lambda: client.said(SUBSCRIBE))
    proxy.cut()
    client.back()
    client.publish("b", b"1", qos=1)


@scenario(versions=(4, 5))
def loses_the_acknowledgement_of_qos_1(run: Run) -> None:
    received(run, 1)


@scenario(versions=(4, 5), shows="qos-2-at-once")
def loses_the_acknowledgement_of_qos_2(run: Run) -> None:
    received(run, 2)


def received(run: Run, qos: int) -> None:
    """The connection is cut when the server has sent a message, and before it hears that it came."""
    client = run.connected(reconnect=True, **kept(run))
    client.subscribe("a", qos=qos)
    proxy = client.proxy
    run.peer().publish("a", b"1", qos=qos)
    # The client does not run: it has not read what has come.
    wait_for(lambda: client.said(PUBLISH, from_client=False), "the server has sent the message")
    proxy.cut()
    client.back()
    client.until(lambda: client.said(PUBLISH, from_client=False))  # it comes again
    client.settle()


@scenario(versions=(5,))
def comes_back_and_counts_its_aliases_anew(run: Run) -> None:
    client = run.connected(reconnect=True, aliases_out=2)
    by_hand = run.library != "libswiftmqtt"
    for number in range(2):
        client.publish("a/long/topic", b"%d" % number, properties=[(0x23, 1)] if by_hand else [])
        run.witness.received(number + 1)
        client.proxy.cut()
        client.back()
