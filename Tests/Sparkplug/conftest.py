"""A run of examples-c/sparkplug/sparkplugd against a Mosquitto, recorded, and decoded by pysparkplug and tshark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from Python import pythons
from Support.recording import Proxy, dissect, write_pcap
from Support.servers import Mosquitto, Received, Subscriber, need
from Support.waiting import PATIENCE, wait_for

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "examples-c" / "sparkplug"
HOST = "spBv1.0/STATE/scada"


class Payloads:
    """pysparkplug, which has its own schema."""

    def __init__(self, python: Path):
        self.process = subprocess.Popen([python, "-W", "ignore", Path(__file__).with_name("pysparkplug_payloads.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line: str) -> str:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def decode(self, data: bytes) -> dict:
        return json.loads(self.ask(f"decode {data.hex()}"))

    def encode(self, name: str, kind: str, value: str) -> bytes:
        return bytes.fromhex(self.ask(f"encode {name} {kind} {value}"))

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


@pytest.fixture(scope="session")
def payloads() -> Iterator[Payloads]:
    try:
        python = pythons.with_requirements(Path(__file__).with_name("requirements.txt"), "sparkplug")
    except pythons.Unavailable as why:
        pytest.skip(f"pysparkplug cannot be had from PyPI: {why}")
    payloads = Payloads(python)
    yield payloads
    payloads.close()


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The daemon, built as its README says."""
    root, build = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("build")
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    need("nanopb_generator.py", "sparkplug")
    with pythons.one_at_a_time("sparkplug-build"):
        build_it(root, build, environment)
    return build / "sparkplugd"


def build_it(root: Path, build: Path, environment: dict[str, str]) -> None:
    for command in (["make", "-C", str(ROOT), "install", f"PREFIX={root}"],
                    ["make", "-C", str(SOURCES), f"BUILD={build}", f"CFLAGS=-O2 -Werror -Wl,-rpath,{root}/lib"]):
        subprocess.run(command, check=True, capture_output=True, env={**environment, "PKG_CONFIG_PATH": f"{root}/lib/pkgconfig"})


class Node(subprocess.Popen):
    """One that runs, with a /proc of its own."""

    def __init__(self, program: Path, directory: Path, url: str, *more: str):
        self.directory = directory
        self.measure(0.5, 1000)
        self.out, self.err = directory / "out", directory / "err"
        with self.out.open("ab") as out, self.err.open("ab") as err:
            super().__init__([program, "--url", url, "--root", directory, "--bdseq", directory / "bdseq",
                              "--period-ms", "5", *more], stdout=out, stderr=err)

    def measure(self, load: float | None = None, memory: int | None = None) -> None:
        """What /proc says; memory -1: nothing."""
        for name, text in (("loadavg", load is not None and f"{load} 0.00 0.00 1/100 1\n"),
                           ("meminfo", memory is not None and f"MemTotal: 1 kB\nMemAvailable: {memory} kB\n")):
            path = self.directory / "proc" / name
            path.parent.mkdir(exist_ok=True)
            if name == "meminfo" and memory == -1:
                path.unlink()
            elif text:
                path.with_name(f".{name}").write_text(text)
                path.with_name(f".{name}").rename(path)

    @property
    def births(self) -> int:
        return self.out.read_text().count("born")


@dataclass(frozen=True)
class Message:
    """A PUBLISH of the node, or its Will."""

    connection: int
    time: float
    type: str
    topic: str
    qos: int
    retain: bool
    payload: dict

    def metric(self, name: str) -> dict | None:
        return next((metric for metric in self.payload["metrics"] if metric["name"] == name), None)


@dataclass
class Run:
    packets: list[dict]  # of dissect()
    connects: list[dict]
    wills: list[Message]  # of each CONNECT
    messages: list[Message]  # all that it published
    heard: list[Received]  # by a subscriber to everything
    protobuf: list[tuple[list[str], list[str], list[str]]]  # of tshark: topics, field numbers, device ids
    complaints: str

    def of(self, *types: str) -> list[Message]:
        return [message for message in self.messages if message.type in types]

    def of_connection(self, number: int, *types: str) -> list[Message]:
        return [message for message in self.of(*types) if message.connection == number]


def message_of(packet: dict, payloads: Payloads, prefix: str) -> Message:
    """The PUBLISH, or the Will, in a packet."""
    fields, is_will = packet["fields"], prefix == "mqtt.will"
    topic = fields["mqtt.willtopic" if is_will else "mqtt.topic"][0]
    raw = packet["raw"]["mqtt.willmsg" if is_will else "mqtt.msg"][0]
    qos = fields["mqtt.conflag.qos" if is_will else "mqtt.qos"][0]
    retain = fields["mqtt.conflag.retain" if is_will else "mqtt.retain"][0]
    kind = topic.split("/")[2] if topic.startswith("spBv1.0/") and topic.count("/") >= 3 else ""
    return Message(packet["connection"], packet["time"], kind, topic, int(qos), retain in ("1", "True"), payloads.decode(raw))


def sparkplug_of_tshark(pcap: Path, port: int) -> list[tuple[list[str], list[str], list[str]]]:
    """What the node said. (The JSON of STATE is malformed protobuf to it.)"""
    columns = ["mqtt.topic", "protobuf.field.number", "sparkplugb.deviceid", "sparkplugb.messagetype", "_ws.malformed"]
    said = subprocess.run(
        [need("tshark", "interop"), "-n", "-r", str(pcap), "-d", f"tcp.port=={port},mqtt", "-Y", f"sparkplugb && tcp.dstport == {port}", "-T", "fields",
         *(word for column in columns for word in ("-e", column))],
        env={"PATH": "/usr/bin:/bin", "HOME": str(pcap.parent)}, capture_output=True, text=True, timeout=60, check=True)
    lines = [line.split("\t") for line in said.stdout.splitlines()]
    assert [line for line in lines if line[4]] == []
    return [(line[0].split(","), line[1].split(","), line[2].split(",")) for line in lines]


class Stage:
    """What a host application does to the node, and what it waits for."""

    def __init__(self, broker: Mosquitto, payloads: Payloads, subscriber: Subscriber, node: Node):
        self.broker, self.payloads, self.subscriber, self.node = broker, payloads, subscriber, node
        self.started = int(time.time() * 1000)

    def command(self, topic: str, *metric: str) -> None:
        self.send(topic, self.payloads.encode(*metric))

    def send(self, topic: str, payload: bytes, *more: str) -> None:
        subprocess.run([need("mosquitto_pub"), *self.broker.address, "-t", topic, "-s", *more], input=payload, check=True,
                       timeout=PATIENCE)

    def host(self, is_online: bool, later: int) -> None:
        state = json.dumps({"online": is_online, "timestamp": self.started + later})
        self.send(HOST, state.encode(), "-r", "-q", "1")

    def heard(self, kind: str) -> list[Received]:
        return [message for message in self.subscriber.messages if f"/{kind}/" in message.topic]

    def until(self, kind: str, count: int, action: Callable[[int], None] | None = None) -> None:
        """Until so many of a kind have come since the beginning, with the action again and again."""
        turns = iter(range(100_000))

        def come() -> bool:
            if action:
                action(next(turns))
            return len(self.heard(kind)) >= count

        wait_for(come, lambda: (kind, len(self.heard(kind)), self.node.err.read_text()))


@pytest.fixture(scope="session")
def run(program: Path, payloads: Payloads, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    directory = tmp_path_factory.mktemp("run")
    broker = Mosquitto(directory, persistence="false")
    broker.start()
    proxy = Proxy(broker, directory / "run.pcap")
    subscriber = Subscriber(broker, "spBv1.0/#")
    node = Node(program, directory, proxy.url, "--host", "scada")
    stage = Stage(broker, payloads, subscriber, node)
    try:
        play(stage, proxy)
    finally:
        node.kill()
        node.wait()
        proxy.close()
        write_pcap(proxy.pcap, proxy.recordings, proxy.port)
        heard = list(subscriber.messages)
        subscriber.close()
        broker.stop()
    packets = dissect(proxy.pcap, proxy.port)
    said = [packet for packet in packets if packet["direction"] == "client"]
    connects = [packet for packet in said if packet["type"] == "CONNECT"]
    yield Run(
        packets, connects, [message_of(packet, payloads, "mqtt.will") for packet in connects],
        [message_of(packet, payloads, "mqtt") for packet in said if packet["type"] == "PUBLISH"], heard,
        sparkplug_of_tshark(proxy.pcap, proxy.port), node.err.read_text())


def play(stage: Stage, proxy: Proxy) -> None:
    node = stage.node
    # Born only when the host is there.
    stage.subscriber.until(lambda: True)
    wait_for(lambda: proxy.links and b"STATE" in proxy.recordings[0].data(from_client=True))
    stage.host(False, 0)
    stage.host(True, 1)
    stage.until("DBIRTH", 1)
    # Data, past the end of the sequence.
    stage.until("DDATA", 300, lambda turn: node.measure(None, 2000 + turn))
    stage.until("NDATA", 3, lambda turn: node.measure(1 + turn / 4))
    # Commands: births again; the light on and off, by alias and by name; what is none.
    stage.command("spBv1.0/plant/NCMD/gateway", "Node Control/Rebirth", "boolean", "true")
    stage.until("DBIRTH", 2)
    wait_for(lambda: node.births == 2, node.err.read_text)
    assert node.out.read_text() == "born, bdSeq 0\nborn again, as a command wants it, bdSeq 0\n"
    light_commands = [("3", "boolean", "true"), ("output/light", "boolean", "false")]
    for number, command in enumerate(light_commands):
        count = len(stage.heard("DDATA"))
        stage.command("spBv1.0/plant/DCMD/gateway/board", *command)
        stage.until("DDATA", count + 1)
    for topic, command in [("NCMD/gateway", ("Node Control/Rebirth", "boolean", "false")), ("NCMD/gateway", ("bdSeq", "int64", "9")),
                           ("DCMD/gateway/board", ("output/light", "int64", "1")), ("DCMD/gateway/board", ("1", "boolean", "true"))]:
        stage.command(f"spBv1.0/plant/{topic}", *command)
    stage.send("spBv1.0/plant/NCMD/gateway", b"\xff\xff\xff")
    wait_for(lambda: node.err.read_text().count("command") == 5, node.err.read_text)
    # The device goes, and comes back.
    node.measure(None, -1)
    stage.until("DDEATH", 1)
    node.measure(None, 5000)
    stage.until("DBIRTH", 3)
    # A host that was offline before it was online; one that goes, and comes back.
    stage.host(False, 0)
    stage.host(False, 2)
    stage.until("NDEATH", 1)
    wait_for(lambda: len(proxy.links) == 2 and b"STATE" in proxy.recordings[1].data(from_client=True))
    stage.host(True, 3)
    stage.until("DBIRTH", 4)
    # The connection is lost: the server publishes the Will.
    proxy.cut()
    stage.until("NDEATH", 2)
    stage.until("DBIRTH", 5)
    # It leaves.
    node.send_signal(signal.SIGTERM)
    assert node.wait(PATIENCE) == 0
    stage.until("NDEATH", 3)
