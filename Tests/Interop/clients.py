"""A client of either library behind one interface, so that a scenario is written once. What it is told is written down
in words that belong to neither."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from Support.codec import PUBACK, PUBCOMP, PUBLISH, packets
from Support.recording import Proxy
from Support.waiting import PATIENCE

Pairs = Sequence[tuple[int, object]]  # properties: identifier and value


@dataclass
class Will:
    topic: str
    payload: bytes = b"gone"
    qos: int = 0
    retain: bool = False
    properties: Pairs = ()


@dataclass
class Settings:
    """What a client is to be; the defaults are the same for both, whatever the libraries' own are."""

    port: int
    protocol: int
    client_id: str | None = "client"
    clean: bool = True
    session_expiry: int | None = None  # 5.0; seconds
    keep_alive: int = 60
    user: str | None = None
    password: bytes | None = None
    will: Will | None = None
    receive_maximum: int = 20
    in_flight: int = 20
    aliases_in: int = 0  # 5.0: Topic Alias Maximum
    aliases_out: int = 0  # 5.0: Topic Aliases to use
    reconnect: bool = False
    subscribe_again: bool = True  # if the library does that: when the server has lost the session
    properties: Pairs = ()  # 5.0: of CONNECT
    own_defaults: bool = False  # leave receive maximum, packet size and Session Expiry Interval to the library


@dataclass
class Client(ABC):
    """`events` is what the program was told, in order; `calls` is what calls returned that were not simply taken."""

    settings: Settings
    events: list[tuple] = field(default_factory=list)
    calls: list[tuple] = field(default_factory=list)
    on_message: Callable[[tuple], None] | None = None  # while the message is handed out
    proxy: Proxy | None = None  # that it talks through
    published: int = 0
    requested: int = 0

    # -- what a library does, each in its own words --

    @abstractmethod
    def begin(self) -> None:
        """Begins to connect."""

    @abstractmethod
    def send(self, number: int, topic: str, payload: bytes, qos: int, retain: bool, properties: Pairs) -> str:
        """Publishes; "ok" or why not."""

    @abstractmethod
    def ask(self, number: int, filters: Sequence[str], qos: int, options: int, properties: Pairs) -> str:
        """Subscribes; "ok" or why not."""

    @abstractmethod
    def take_back(self, number: int, filters: Sequence[str], properties: Pairs) -> str:
        """Unsubscribes; "ok" or why not."""

    @abstractmethod
    def leave(self, reason_code: int, properties: Pairs) -> str:
        """Begins to disconnect; "ok" or why not."""

    @abstractmethod
    def step(self, timeout_ms: int) -> None:
        """Runs the client, and waits at most that long."""

    @abstractmethod
    def close(self) -> None:
        """Without a word to the server."""

    # -- what scenarios call --

    def tell(self, *event: object) -> None:
        """Writes an event down. Of attempts that fail in a row, one: how many there are is a matter of time."""
        if event != ("down",) or self.events[-1:] != [event]:
            self.events.append(event)
        if event[0] == "message" and self.on_message:
            self.on_message(event)

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> None:
        """Runs the client until it holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"{type(self).__name__}: not within {timeout} s: {self.events[-5:]}"
            self.step(20)

    def run(self, seconds: float) -> None:
        """Runs the client for a time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.step(min(20, int(left * 1000) + 1))

    def of(self, *kinds: str) -> list[tuple]:
        """The events of these kinds."""
        return [event for event in self.events if event[0] in kinds]

    @property
    def is_up(self) -> bool:
        last = self.of("connected", "down", "disconnected", "refused")
        return bool(last) and last[-1][0] == "connected"

    def connect(self) -> None:
        """Returns when that has come to an end, good or bad."""
        count = len(self.of("connected", "down", "refused"))
        self.begin()
        self.until(lambda: len(self.of("connected", "down", "refused")) > count)

    def publish(
        self,
        topic: str,
        payload: bytes = b"",
        qos: int = 0,
        retain: bool = False,
        properties: Pairs = (),
        wait: bool = True,
    ) -> None:
        """Returns when its end was told, if it was taken."""
        self.published += 1
        number = self.published
        answer = self.send(number, topic, payload, qos, retain, properties)
        self.calls.append(("publish", number, answer))
        if wait and answer == "ok":
            self.completed(number)

    def completed(self, number: int) -> None:
        """Returns when the end of that message was told."""
        self.until(lambda: any(event[1] == number for event in self.of("published", "failed")))

    def subscribe(
        self, *filters: str, qos: int = 0, options: int = 0, properties: Pairs = (), wait: bool = True
    ) -> None:
        """`options` are the bits of the Subscription Options beside the QoS (section 3.8.3.1)."""
        self.request("subscribe", wait, lambda number: self.ask(number, filters, qos, options, properties))

    def unsubscribe(self, *filters: str, properties: Pairs = (), wait: bool = True) -> None:
        """Returns when it was answered, or the connection is over."""
        self.request("unsubscribe", wait, lambda number: self.take_back(number, filters, properties))

    def request(self, name: str, wait: bool, call: Callable[[int], str]) -> None:
        self.requested += 1
        number = self.requested
        answer = call(number)
        self.calls.append((name, number, answer))
        if wait and answer == "ok":
            told = ("subscribed", "unsubscribed")
            self.until(lambda: any(event[1] == number for event in self.of(*told)) or not self.is_up)

    def received(self, count: int, timeout: float = PATIENCE) -> None:
        """Returns when so many messages were handed out since the beginning, and are acknowledged."""
        self.until(lambda: len(self.of("message")) >= count, timeout)
        self.settle()

    def settle(self) -> None:
        """Returns when nothing that the server sent is without its PUBACK or PUBCOMP: one library hands a message out
        before it acknowledges it, the other behind that, and what follows is to begin at the same point for both."""
        deadline = time.monotonic() + 3
        while self.is_up and self.owes() and time.monotonic() < deadline:
            self.step(2)

    def said(self, type: int, from_client: bool = True) -> int:
        """How many packets of a type have gone over this connection."""
        sent = packets(self.proxy.recordings[-1])
        return sum(packet.type == type and packet.from_client == from_client for packet in sent)

    def owes(self) -> bool:
        """Whether the server waits for the end of an exchange on this connection."""
        waiting: set[int] = set()
        for packet in packets(self.proxy.recordings[-1]):
            if packet.type == PUBLISH and packet.qos and not packet.from_client:
                waiting.add(packet.id)
            elif packet.type in (PUBACK, PUBCOMP) and packet.from_client:
                waiting.discard(packet.id)
        return bool(waiting)

    def disconnect(self, reason_code: int = 0, properties: Pairs = ()) -> None:
        """Returns when the connection is over, for the server too."""
        count, up = len(self.of("disconnected")), self.is_up
        answer = self.leave(reason_code, properties)
        self.calls.append(("disconnect", answer))
        if answer == "ok" and up:
            self.until(lambda: len(self.of("disconnected")) > count)
            self.until(lambda: not any(thread.is_alive() for link in self.proxy.links for thread in link.threads))

    def back(self) -> None:
        """Returns when it is connected once more."""
        count = len(self.of("connected"))
        self.until(lambda: len(self.of("connected")) > count)
