"""What is measured: the workloads, as options of load.c, and the peers that are put through them."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field

import measure

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARY = ROOT / "build" / "native"
BUILD = ROOT / "build" / "bench"
PARTS = ["load.c", "waiting.c", "asking.c", "account.c"]  # of each load


def payload_bytes(options: list[str]) -> int:
    return next((int(option[2:]) for option in options if option.startswith("-s")), 64)


@dataclass
class Workload:
    name: str
    title: str
    options: list[str]
    counted: int = 1000  # how many messages under callgrind and strace, and twice as many
    has_prepared: bool = False  # the limit of what is encoded before can do it
    is_counted_quick: bool = True  # each count of instructions takes a second or two

    def counted_for(self, peer: Peer, is_quick: bool) -> int:
        """Fewer where each takes long; but a window of 1000 has to be full."""
        least = 1000 if "-w1000" in self.options else 50 if payload_bytes(self.options) >= 1 << 16 else 250
        return max(self.counted // (2 if is_quick else 1) // (2 if peer.source == "paho" else 1), least)


# 780 packets of 84 bytes are 64 KiB, and so are 16 of 4 KiB.
WORKLOADS = [
    Workload("publish-0", "Publish QoS 0, flush every 64", ["publish", "-q0"], 2000, True),
    Workload("publish-0-64k", "Publish QoS 0, flush every 64 KiB", ["publish", "-q0", "-f780"], 3120, True, False),
    Workload("publish-0-4k", "Publish QoS 0, 4 KiB", ["publish", "-q0", "-s4096", "-f16"], 800, True, False),
    Workload("publish-1-20", "Publish QoS 1, window 20", ["publish", "-q1", "-w20"]),
    Workload("publish-1-1000", "Publish QoS 1, window 1000", ["publish", "-q1", "-w1000"], 2000),
    Workload("publish-2-20", "Publish QoS 2, window 20", ["publish", "-q2", "-w20"], is_counted_quick=False),
    Workload(
        "large-0-64k", "Publish QoS 0, 64 KiB by reference", ["publish", "-q0", "-s65536", "-f1"], 500,
        is_counted_quick=False,
    ),
    Workload(
        "large-0-1m", "Publish QoS 0, 1 MiB by reference", ["publish", "-q0", "-s1048576", "-f1"], 250,
        is_counted_quick=False,
    ),
    Workload(
        "large-1-64k", "Publish QoS 1, 64 KiB by reference, window 20",
        ["publish", "-q1", "-w20", "-s65536", "-f1"], 500, is_counted_quick=False,
    ),
    Workload("receive-0", "Receive QoS 0", ["receive", "-q0"], 4000),
    Workload("receive-0-4k", "Receive QoS 0, 4 KiB", ["receive", "-q0", "-s4096"], 1600, is_counted_quick=False),
    Workload("receive-0-64k", "Receive QoS 0, 64 KiB", ["receive", "-q0", "-s65536"], 500, is_counted_quick=False),
    *(
        Workload(
            f"{kind}-0-{name}", f"Receive QoS 0, {title} {how}", ["receive", "-q0", f"-s{size}", f"-x{kind}"],
            500 if size < 1 << 20 else 250, is_counted_quick=False,
        )
        for size, name, title in ((65536, "64k", "64 KiB"), (1048576, "1m", "1 MiB"))
        for kind, how in (("into", "into the program's memory"), ("parts", "in parts that are copied"))
    ),
    Workload("receive-1-20", "Receive QoS 1, 20 in flight", ["receive", "-q1", "-w20"]),
    Workload("receive-1-1000", "Receive QoS 1, 1000 in flight", ["receive", "-q1", "-w1000"], 2000, is_counted_quick=False),
    Workload("receive-2-20", "Receive QoS 2, 20 in flight", ["receive", "-q2", "-w20"], is_counted_quick=False),
]
CURVE = [1, 4, 16, 64, 256]


@dataclass
class Route:
    """Through a broker, from one client to another."""

    name: str
    title: str
    options: list[str]
    is_quick: bool  # it is part of a quick run, too
    messages: int


SIZES = {"": (64, "64 bytes"), "-4k": (4096, "4 KiB")}
WINDOWS = {"0": ("QoS 0", []), "1-20": ("QoS 1, window 20", ["-w20"]), "1-1000": ("QoS 1, window 1000", ["-w1000"]),
           "2-20": ("QoS 2, window 20", ["-w20"])}
ROUTES = [
    Route(f"broker-{window}{name}", f"{title}, {bytes_}", [f"-q{window[0]}", *options, f"-s{size}"], size == 64, 10_000 if size == 64 else 5000)
    for name, (size, bytes_) in SIZES.items()
    for window, (title, options) in WINDOWS.items()
]


@dataclass
class Peer:
    name: str
    title: str
    source: str
    links: list[str]
    options: list[str] = field(default_factory=list)
    is_limit: bool = False

    @property
    def program(self) -> pathlib.Path:
        return BUILD / f"load_{self.source}"

    def command(self, server: measure.Server, options: list[str]) -> list[str]:
        return [str(self.program), *options, *self.options, *server.options]


OURS = [f"-I{ROOT}/include", f"-L{LIBRARY}", "-lswiftmqtt", f"-Wl,-rpath,{LIBRARY}"]
PEERS = [
    Peer("raw", "raw socket", "raw", [], is_limit=True),
    Peer("raw-prepared", "raw socket, encoded before", "raw", [], ["-xprepared"], is_limit=True),
    Peer("swiftmqtt", "libswiftmqtt", "swiftmqtt", OURS),
    Peer("swiftmqtt-5.0", "libswiftmqtt, MQTT 5.0", "swiftmqtt", OURS, ["-v5"]),
    Peer("mosquitto", "libmosquitto", "mosquitto", ["-lmosquitto"]),
    Peer("paho", "Paho C", "paho", ["-lpaho-mqtt3a"]),
]
