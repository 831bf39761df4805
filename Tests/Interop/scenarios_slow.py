"""Keep Alive, which libmosquitto has no shorter than five seconds. These run beside all others."""

from __future__ import annotations

from .scenario import Run, scenario

KEEP_ALIVE = 5


@scenario(versions=(4, 5), slow=True)
def pings(run: Run) -> None:
    client = run.connected(keep_alive=KEEP_ALIVE)
    client.run(7)


@scenario(versions=(4, 5), slow=True, shows="ping-again")
def hears_no_answer_to_its_ping(run: Run) -> None:
    client = run.connected(keep_alive=KEEP_ALIVE)
    client.proxy.hold()
    client.until(lambda: not client.is_up, 30)


@scenario(versions=(4,), slow=True)
def pings_while_it_publishes_qos_0(run: Run) -> None:
    client = run.connected(keep_alive=KEEP_ALIVE)
    # Not near the time when PINGREQ is due: which of the two would come first is a matter of milliseconds.
    for number, pause in enumerate((1, 2, 4)):
        client.publish("a", b"%d" % number)
        client.run(pause)
