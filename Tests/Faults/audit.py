"""What was published, what became of it, and what an independent witness got."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass

from Support import smq
from Support.servers import Server, need
from Support.waiting import PATIENCE


class Witness:
    """mosquitto_sub with a persistent session: subscribed from the start, it is away while things happen, and comes for
    what waits when all is over. So nothing that happens to the server, and nothing that mosquitto_sub does about it,
    can be taken for the client's doing."""

    def __init__(self, server: Server, topic: str = "audit", name: str = "witness"):
        self.server, self.topic = server, topic
        self.command = [need("mosquitto_sub"), *server.address, "-i", name, "-c", "-q", "2", "-t", topic]
        subprocess.run([*self.command, "-E"], check=True, timeout=20)

    def collect(self, timeout: float = PATIENCE) -> list[tuple[int, int]]:
        """(QoS, number) of all that came, in order."""
        self.server.publish(self.topic, "end", "-q", "2")
        process = subprocess.Popen([*self.command, "-F", "%q %p"], stdout=subprocess.PIPE, text=True)
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        got: list[tuple[int, int]] = []
        try:
            for line in process.stdout:
                qos, payload = line.split()
                if payload == "end":
                    return got
                got.append((int(qos), int(payload)))
            raise AssertionError(f"mosquitto_sub did not come to the end; {len(got)} messages, the last: {got[-3:]}")
        finally:
            timer.cancel()
            process.kill()
            process.wait(10)
            process.stdout.close()


@dataclass
class Ended:
    """A connection or an attempt that ended, and when."""

    status: int
    stage: int
    os_error: int
    at: float


class Publisher:
    """Publishes numbered messages through a client, and keeps account. Only it takes the client's events."""

    def __init__(self, client: smq.Client, topic: str = "audit"):
        self.client, self.topic = client, topic
        self.published = 0
        self.qos: list[int] = []
        self.completed: dict[int, int] = {}  # number: status
        self.ends: list[Ended] = []
        self.sessions: list[int] = []  # of each connection: Session Present
        client.on_event = self.note

    def note(self, event: smq.Event) -> None:
        if event.type == smq.EVENT_COMPLETED:
            assert event.cookie not in self.completed, f"message {event.cookie} ended twice"
            self.completed[event.cookie] = event.status
        elif event.type == smq.EVENT_DISCONNECTED:
            self.ends.append(Ended(event.status, event.stage, event.os_error, time.monotonic()))
        elif event.type == smq.EVENT_CONNECTED:
            self.sessions.append(event.session_present)

    def step(self, timeout_ms: int) -> None:
        self.client.step(timeout_ms)
        self.client.events.clear()

    def until(self, condition, timeout: float = PATIENCE, what: str = "") -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, (
                f"not within {timeout} s: {what}; {len(self.completed)} of {self.published}; "
                f"{[smq.status_name(e.status) for e in self.ends[-5:]]}, {self.client.stats}"
            )
            self.step(20)

    def connect(self, timeout: float = PATIENCE) -> None:
        assert self.client.connect() == smq.OK
        self.until(lambda: self.sessions, timeout, "connected")

    def connected_again(self, timeout: float = PATIENCE) -> None:
        count = len(self.sessions)
        self.until(lambda: len(self.sessions) > count, timeout, "connected again")

    def try_one(self, qos: int, payload: bytes = b"") -> bool:
        """Whether the outbox took it."""
        number = self.published
        text = payload or b"%d" % number
        status = self.client.publish(self.topic, text, qos=qos, cookie=number)
        assert status in (smq.OK, smq.ERR_FULL), smq.status_name(status)
        if status == smq.OK:
            self.published += 1
            self.qos.append(qos)
        return status == smq.OK

    def publish(self, count: int, *qos: int) -> None:
        """With these QoS in turn; 1 and 2 if none is given."""
        qos = qos or (1, 2)
        for _ in range(count):
            self.until(lambda: self.try_one(qos[self.published % len(qos)]), 30, "room")

    def finish(self, timeout: float = PATIENCE) -> None:
        self.until(lambda: len(self.completed) == self.published, timeout, "every message ended")

    def ended(self, timeout: float = PATIENCE) -> Ended:
        """The next end."""
        count = len(self.ends)
        self.until(lambda: len(self.ends) > count, timeout, "an end")
        return self.ends[count]

    def assert_ends(self, ended: Ended, status: int, stage: int) -> None:
        expected = (smq.status_name(status), stage)
        assert (smq.status_name(ended.status), ended.stage) == expected, ended


def nothing_lost(publisher: Publisher, witness: Witness) -> None:
    """Every message ended well, each QoS 2 message arrived once, in order, and each QoS 1 message at least once."""
    assert publisher.completed == dict.fromkeys(range(publisher.published), smq.OK)
    got = witness.collect()
    twice = [number for qos, number in got if qos == 2]
    assert twice == [number for number, qos in enumerate(publisher.qos) if qos == 2]
    once = list(dict.fromkeys(number for qos, number in got if qos == 1))  # the first of each
    assert once == [number for number, qos in enumerate(publisher.qos) if qos == 1]
