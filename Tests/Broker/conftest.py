"""Fixtures: a real Mosquitto, the scripted broker, and mosquitto_sub as an independent witness."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import scripted_broker

MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"


def need(program: str) -> str:
    path = shutil.which(program) or (program if os.access(program, os.X_OK) else None)
    if not path:
        reason = f"{program} is missing: .ci/need broker installs it"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return path


def free_port(host: str = "127.0.0.1") -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as sock:
        sock.bind((host, 0))
        return sock.getsockname()[1]


def await_condition(condition: Callable[[], object], timeout: float = 10, what: str = "") -> object:
    """For what happens in other processes and tells nobody."""
    deadline = time.monotonic() + timeout
    while not (result := condition()):
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
        time.sleep(0.01)
    return result


class Mosquitto:
    """Debian's Mosquitto with a configuration, a port and a directory of its own."""

    def __init__(self, directory: Path, host: str = "127.0.0.1", **settings: object):
        self.directory, self.host, self.port = directory, host, free_port(host)
        self.log = directory / "mosquitto.log"
        self.process: subprocess.Popen | None = None
        lines = {
            "listener": f"{self.port} {host}",
            "allow_anonymous": "true",
            "persistence": "true",
            "persistence_location": f"{directory}/",
            "max_queued_messages": 0,  # no limit: a slow witness is to lose nothing
            "max_inflight_messages": 0,
            "set_tcp_nodelay": "true",
            "log_type": "all",
            "log_dest": "stderr",
        }
        if os.geteuid() == 0:
            lines["user"] = "root"  # else it could not write to the directory
        lines |= settings
        self.config = directory / "mosquitto.conf"
        self.config.write_text("".join(f"{key} {value}\n" for key, value in lines.items()))

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"mqtt://{host}:{self.port}"

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [need(MOSQUITTO), "-c", str(self.config)], stderr=log, stdout=log
            )

        def accepts() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            with socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET) as sock:
                return sock.connect_ex((self.host, self.port)) == 0

        await_condition(accepts, what="Mosquitto accepts connections")

    def send_signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
            self.process.wait(10)
            self.process = None

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def publish(self, topic: str, payload: str, *more: str) -> None:
        """By mosquitto_pub."""
        command = [need("mosquitto_pub"), "-h", self.host, "-p", str(self.port), "-t", topic]
        subprocess.run([*command, "-m", payload, *more], check=True, timeout=10)


@dataclass(frozen=True)
class Received:
    topic: str
    qos: int
    retain: int
    payload: bytes


class Subscriber:
    """mosquitto_sub. It has subscribed when the constructor returns: a retained probe says so."""

    def __init__(self, broker: Mosquitto, *topics: str, qos: int = 2, more: tuple[str, ...] = ()):
        probe = f"probe/{uuid.uuid4()}"
        broker.publish(probe, "here", "-r")
        command = [need("mosquitto_sub"), "-h", broker.host, "-p", str(broker.port), *more]
        command += ["-q", str(qos), "-F", "%t\t%q\t%r\t%x"]
        for topic in (*(topics or ("#",)), probe):
            command += ["-t", topic]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.changed = threading.Condition()
        self.messages: list[Received] = []
        self.ready = self.ended = False
        # Read at once, whatever the test does: Mosquitto drops QoS 0 for who is slow.
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.until(lambda: self.ready)
        broker.publish(probe, "", "-r")

    def read(self) -> None:
        for line in self.process.stdout:
            topic, qos, retain, payload = line.rstrip(b"\n").decode().split("\t")
            with self.changed:
                if topic.startswith("probe/"):
                    self.ready = True
                else:
                    payload = bytes.fromhex(payload)
                    self.messages.append(Received(topic, int(qos), int(retain), payload))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def until(self, condition: Callable[[], object], timeout: float = 10) -> None:
        with self.changed:
            met = self.changed.wait_for(lambda: condition() or self.ended, timeout)
            assert met, f"not within {timeout} s; {len(self.messages)}: {self.messages[-3:]}"
            assert condition(), "mosquitto_sub has ended"

    def take(self, count: int, timeout: float = 10) -> list[Received]:
        """The next messages, as many as `count`."""
        self.until(lambda: len(self.messages) >= count, timeout)
        with self.changed:
            taken, self.messages = self.messages[:count], self.messages[count:]
        return taken

    def close(self) -> None:
        self.process.kill()  # on SIGTERM it disconnects in its signal handler, and may hang there
        self.process.wait(10)
        self.reader.join(10)
        self.process.stdout.close()


class Proxy:
    """Between clients and a broker. Each connection in turn is cut, with a TCP RST to both sides,
    when so many bytes have come from the broker."""

    def __init__(self, port: int, cuts: Iterable[int]):
        self.upstream, self.cuts = port, iter(cuts)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.upstream)) as server:
            for sock in (client, server):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            there = threading.Thread(target=self.pump, args=(client, server), daemon=True)
            there.start()
            if self.pump(server, client, next(self.cuts, None)):
                for sock in (client, server):
                    linger = struct.pack("ii", 1, 0)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            with contextlib.suppress(OSError):  # the client may have closed it
                client.shutdown(socket.SHUT_RD)
            there.join()

    @staticmethod
    def pump(source: socket.socket, target: socket.socket, limit: int | None = None) -> bool:
        """Returns whether the limit was reached."""
        count = 0
        try:
            while data := source.recv(65536 if limit is None else min(65536, limit - count)):
                target.sendall(data)
                count += len(data)
                if count == limit:
                    return True
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return False

    def close(self) -> None:
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()


@pytest.fixture(autouse=True)
def not_for_ever() -> Iterator[None]:
    """A test that hangs fails, and the others run."""

    def expired(number: int, frame: object) -> None:
        raise TimeoutError("a test may take 100 s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(100)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=[4, 5], ids=["3.1.1", "5.0"])
def protocol(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(params=[3, 4, 5], ids=["3.1", "3.1.1", "5.0"])
def version(request: pytest.FixtureRequest) -> dict[str, object]:
    """Options for every protocol version; 3.1 wants a client id."""
    return dict(protocol=request.param, client_id="client-of-the-test")


@pytest.fixture
def start_mosquitto(tmp_path: Path) -> Iterator[Callable[..., Mosquitto]]:
    started: list[Mosquitto] = []

    def start(**settings: object) -> Mosquitto:
        directory = tmp_path / f"mosquitto-{len(started)}"
        directory.mkdir()
        started.append(Mosquitto(directory, **settings))
        started[-1].start()
        return started[-1]

    yield start
    for broker in started:
        broker.stop()


@pytest.fixture
def mosquitto(start_mosquitto: Callable[..., Mosquitto]) -> Mosquitto:
    return start_mosquitto()


@pytest.fixture
def subscribe() -> Iterator[Callable[..., Subscriber]]:
    started: list[Subscriber] = []

    def start(*arguments: object, **settings: object) -> Subscriber:
        started.append(Subscriber(*arguments, **settings))
        return started[-1]

    yield start
    for subscriber in started:
        subscriber.close()


@pytest.fixture
def subscriber(subscribe: Callable[..., Subscriber], mosquitto: Mosquitto) -> Subscriber:
    return subscribe(mosquitto)


@pytest.fixture
def proxies() -> Iterator[Callable[..., Proxy]]:
    """Makes proxies in front of a broker."""
    made: list[Proxy] = []

    def make(port: int, cuts: Iterable[int]) -> Proxy:
        made.append(Proxy(port, cuts))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()


@pytest.fixture
def broker() -> Iterator[scripted_broker.Broker]:
    """The scripted broker, good until a test gives it scripts. No client may have broken a rule."""
    with scripted_broker.Broker() as broker:
        yield broker
        assert broker.violations == []


@pytest.fixture
def clients() -> Iterator[Callable[..., object]]:
    """Makes clients and closes them."""
    from . import smq

    made: list[smq.Client] = []

    def make(**options: object) -> smq.Client:
        made.append(smq.Client(**options))
        return made[-1]

    yield make
    for client in made:
        client.close()
