"""Walks: what a program does in an order that chance has chosen, the same for both."""

from __future__ import annotations

import random

from .clients import Client
from .peer import Peer
from .scenario import Run, scenario
from .scenarios_connect import kept

STEPS = 25
# No two of them ever match the same topic: the order of messages of several QoS is a difference of its own.
FILTERS = {"s/a": "s/a", "s/b": "s/b", "c/#": "c/x/y", "d/+": "d/x", "+/e": "f/e"}
SYNC = "sync"


class Walk:
    """A client, a peer, and a chance that is the same with both libraries."""

    def __init__(self, run: Run, seed: int):
        self.run, self.chance = run, random.Random(seed)
        self.client: Client = run.connected(**kept(run))
        self.client.subscribe(SYNC, qos=2)
        self.peer: Peer = run.peer()
        self.count = 0
        self.published = 0  # by anybody; the witness sees it all

    def go(self) -> None:
        steps = [self.subscribe, self.unsubscribe, self.publish, self.publish, self.receive, self.receive, self.leave]
        for _ in range(STEPS):
            self.chance.choice(steps)()
            self.synchronise()
        self.client.unsubscribe(*FILTERS)

    def synchronise(self) -> None:
        """With QoS 2 it is the last to be handed out, by either library."""
        self.run.witness.received(self.published)
        self.count += 1
        self.published += 1
        mark = b"%d" % self.count
        self.peer.publish(SYNC, mark, qos=2)
        self.client.until(lambda: any(event[1:3] == (SYNC, mark) for event in self.client.of("message")))
        self.client.settle()

    def payload(self) -> bytes:
        return self.chance.randbytes(self.chance.choice((0, 1, 20, 200, 3000)))

    def properties(self) -> list[tuple[int, object]]:
        if self.run.version < 5:
            return []
        pairs = [(0x01, 0), (0x03, b"text/plain"), (0x08, b"answers"), (0x09, b"\0\1"), (0x26, (b"a", b"b"))]
        return self.chance.sample(pairs, self.chance.randrange(4))

    def subscribe(self) -> None:
        filters = self.chance.sample(sorted(FILTERS), self.chance.choice((1, 1, 1, 2)))
        options = self.chance.choice((0, 0x04, 0x08, 0x10, 0x20, 0x2C)) if self.run.version == 5 else 0
        self.client.subscribe(*filters, qos=self.chance.randrange(3), options=options)

    def unsubscribe(self) -> None:
        self.client.unsubscribe(*self.chance.sample(sorted(FILTERS), self.chance.choice((1, 1, 2))))

    def publish(self) -> None:
        number = self.chance.randrange(4)
        values = dict(qos=self.chance.randrange(3), retain=self.chance.random() < 0.3, properties=self.properties())
        self.client.publish(f"p/{number}", self.payload(), **values)
        self.published += 1

    def receive(self) -> None:
        topic = self.topic()
        self.from_peer(topic, self.chance.randrange(3), topic.startswith("s/") and self.chance.random() < 0.3)

    def topic(self) -> str:
        """One that a filter of the client may match."""
        return FILTERS[self.chance.choice(sorted(FILTERS))]

    def from_peer(self, topic: str, qos: int, retain: bool = False) -> None:
        self.peer.publish(topic, self.payload(), qos, retain, self.properties())
        self.published += 1

    def leave(self) -> None:
        """For a while, in which messages come for it."""
        self.client.disconnect()
        qos = self.chance.randrange(3)
        for _ in range(self.chance.randrange(4)):
            self.from_peer(self.topic(), qos)
        self.run.witness.received(self.published)  # the server has them all
        self.client.connect()


def enter(seed: int) -> None:
    """A scenario with a name of its own."""

    def walk(run: Run) -> None:
        Walk(run, seed).go()

    walk.__name__ = f"walk_{seed}"
    scenario(shows={5: "unsuback-codes"})(walk)


for each in range(1, 11):
    enter(each)
