"""A TCP proxy on loopback that makes of each connection what a plan says: it injects faults.

The plan of a connection is drawn from the seed and the connection's number alone, so a run can be had again with the
seed that it printed. What TCP itself repairs (loss, reordering) cannot be done here: see Tests/Faults/network.py.
"""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

UP, DOWN = "up", "down"  # from the client to the server, and back
FAULTS = ("reset", "close", "black hole", "half-open")


@dataclass(frozen=True)
class Plan:
    """What becomes of a connection. Nothing set: nothing."""

    delay: float = 0.0  # seconds, each way; as many bytes as one likes may be on their way
    rate_up: float = 0.0  # bytes a second; 0: no limit
    rate_down: float = 0.0
    pieces: int = 0  # pieces of 1 to so many bytes, each sent on its own after a pause of up to 2 ms; 0: as they come
    fault: str = ""  # one of FAULTS: RST to both sides; FIN to both; all is swallowed; nothing is read or sent
    direction: str = DOWN  # the one whose bytes are counted
    at: int = 0  # the fault comes when so many bytes have come through in that direction; 0: with the connection

    def __post_init__(self) -> None:
        assert not self.fault or self.fault in FAULTS, self.fault


Planner = Callable[[int, random.Random], Plan]


class Way:
    """One direction of a connection."""

    def __init__(self, name: str, source: socket.socket, target: socket.socket, chance: random.Random):
        self.name, self.source, self.target, self.chance = name, source, target, chance
        self.rate = 0.0
        self.line: deque[tuple[float, bytes]] = deque()  # when it is due, and what; nothing: the end
        self.free_at = 0.0  # when the next piece may leave
        self.passed = 0  # bytes


class Connection:
    """One connection through the proxy, and that to the server behind it."""

    def __init__(self, injector: Injector, number: int, client: socket.socket, server: socket.socket):
        seed = f"{injector.seed}/{number}"
        self.injector, self.number = injector, number
        self.plan = injector.planner(number, random.Random(seed))
        self.ways = {
            UP: Way(UP, client, server, random.Random(f"{seed}/{UP}")),
            DOWN: Way(DOWN, server, client, random.Random(f"{seed}/{DOWN}")),
        }
        self.ways[UP].rate, self.ways[DOWN].rate = self.plan.rate_up, self.plan.rate_down
        self.state = "open"  # "swallowing", "frozen" or "over"

    def begin(self) -> None:
        for way in self.ways.values():
            way.source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.injector.selector.register(way.source, selectors.EVENT_READ, (self, way))
        if self.plan.fault and not self.plan.at:
            self.strike(self.plan.fault)

    def read(self, way: Way) -> None:
        try:
            data = way.source.recv(65536)
        except OSError:
            self.end(abruptly=True)
            return
        if not data:
            self.injector.selector.unregister(way.source)
        if self.state == "open":
            way.line.append((time.monotonic() + self.plan.delay, data))
        elif not data:
            way.source.close()

    def due(self) -> float | None:
        """When there is something to write."""
        return min((max(way.line[0][0], way.free_at) for way in self.ways.values() if way.line), default=None)

    def write(self, now: float) -> None:
        for way in self.ways.values():
            while self.state == "open" and way.line and max(way.line[0][0], way.free_at) <= now:
                due, data = way.line.popleft()
                if not data:
                    with contextlib.suppress(OSError):
                        way.target.shutdown(socket.SHUT_WR)
                    if not any(other.source in self.injector.selector.get_map() for other in self.ways.values()):
                        self.end()
                    continue
                sent = self.send(way, data[: self.size(way, data)])
                if sent < len(data):
                    way.line.appendleft((due, data[sent:]))
                if not sent:
                    way.free_at = now + 0.01  # whoever is to get it does not read
                elif way.rate:
                    way.free_at = now + sent / way.rate
                elif self.plan.pieces:
                    way.free_at = now + way.chance.random() * 0.002

    def size(self, way: Way, data: bytes) -> int:
        """How many bytes leave now."""
        plan, size = self.plan, len(data)
        if plan.pieces:
            size = min(size, way.chance.randint(1, plan.pieces))
        if way.rate:
            size = min(size, max(1, int(way.rate / 10)))
        if plan.fault and plan.direction == way.name:
            size = min(size, plan.at - way.passed)
        return size

    def send(self, way: Way, piece: bytes) -> int:
        try:
            sent = way.target.send(piece)
        except BlockingIOError:
            return 0
        except OSError:
            self.end(abruptly=True)
            return len(piece)
        way.passed += sent
        if self.plan.fault and self.plan.direction == way.name and way.passed == self.plan.at:
            self.strike(self.plan.fault)
        return sent

    def strike(self, fault: str) -> None:
        """Now."""
        if self.state != "open":
            return
        self.injector.struck += 1
        if fault == "reset":
            self.end(abruptly=True)
            return
        self.state = "frozen" if fault == "half-open" else "swallowing"
        for way in self.ways.values():
            way.line.clear()
            if fault == "close":  # and what still comes is read: else the kernel would make a reset of it
                with contextlib.suppress(OSError):
                    way.target.shutdown(socket.SHUT_WR)
            if self.state == "frozen":
                with contextlib.suppress(KeyError):
                    self.injector.selector.unregister(way.source)

    def end(self, abruptly: bool = False) -> None:
        if self.state == "over":
            return
        self.state = "over"
        for way in self.ways.values():
            with contextlib.suppress(KeyError, ValueError):
                self.injector.selector.unregister(way.source)
            if abruptly:
                with contextlib.suppress(OSError):
                    way.source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            way.source.close()
        self.injector.connections.remove(self)


class Injector:
    """Listens from the start, in a thread of its own. The first connection has the number 1."""

    def __init__(self, upstream: int, planner: Planner = lambda number, chance: Plan(), seed: int = 1):
        self.upstream, self.planner, self.seed = upstream, planner, seed
        self.accepted = self.struck = 0  # connections, and faults that have come
        self.connections: list[Connection] = []
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.bell, self.button = socket.socketpair()
        self.asked: deque[str] = deque()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(self.bell, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def run(self) -> None:
        while True:
            due = min((at for c in self.connections if (at := c.due()) is not None), default=None)
            timeout = None if due is None else max(0.0, due - time.monotonic())
            for key, _ in self.selector.select(timeout):
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fileobj is self.bell:
                    self.bell.recv(4096)
                elif key.data[0].state != "over":
                    key.data[0].read(key.data[1])
            while self.asked:
                what = self.asked.popleft()
                if what == "the end":
                    self.clean_up()
                    return
                for connection in list(self.connections):
                    connection.strike(what)
            now = time.monotonic()
            for connection in list(self.connections):
                connection.write(now)

    def accept(self) -> None:
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        self.accepted += 1
        try:
            server = socket.create_connection(("127.0.0.1", self.upstream), 10)
        except OSError:  # as if the server itself had not been there
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            return
        client.setblocking(False)
        server.setblocking(False)
        self.connections.append(Connection(self, self.accepted, client, server))
        self.connections[-1].begin()

    def ask(self, what: str) -> None:
        self.asked.append(what)
        with contextlib.suppress(OSError):
            self.button.send(b"!")

    def strike(self, fault: str) -> None:
        """Every connection that is there, now."""
        assert fault in FAULTS
        self.ask(fault)

    def close(self) -> None:
        self.ask("the end")
        self.thread.join(30)

    def clean_up(self) -> None:
        for connection in list(self.connections):
            connection.end(abruptly=True)
        for each in (self.selector, self.listener, self.bell, self.button):
            each.close()


def always(plan: Plan) -> Planner:
    return lambda number, chance: plan


def first(*plans: Plan) -> Planner:
    """The first connections have these plans, the others none."""
    return lambda number, chance: plans[number - 1] if number <= len(plans) else Plan()


def cut_after(counts: Iterable[int | None]) -> Planner:
    """Each connection in turn is reset when so many bytes have come down; None, and all behind the last: none."""
    left = iter(counts)

    def planner(number: int, chance: random.Random) -> Plan:
        count = next(left, None)
        return Plan(fault="reset", at=count) if count else Plan()

    return planner
