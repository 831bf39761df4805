"""What goes over a connection: a proxy that records it, a pcap of it, and tshark's opinion of that."""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .servers import Server, need

# ---- Recording ----


STARTED = time.time() - time.monotonic()


def now() -> float:
    """The time of day, by a clock that nobody sets."""
    return STARTED + time.monotonic()


@dataclass(frozen=True)
class Chunk:
    time: float  # by now()
    from_client: bool
    data: bytes


@dataclass
class Recording:
    """One connection as its client saw it: what it said, and what it was told, in order of time.

    Whatever the client said because of something it was told stands behind that, and the other way
    round.
    """

    begin: float = 0.0
    chunks: list[Chunk] = field(default_factory=list)
    end: float | None = None  # when the first of the two would say no more; None: not yet
    cut: bool = False  # the proxy ended it, and the client read all that is written here

    def data(self, from_client: bool) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks if chunk.from_client == from_client)


class Link:
    """A client's connection to the proxy, and the proxy's to the server."""

    def __init__(self, proxy: Proxy, client: socket.socket):
        self.proxy, self.client = proxy, client
        self.server = socket.create_connection((proxy.server.host, proxy.server.port), timeout=10)
        self.recording = Recording(now())
        self.lock = threading.Lock()  # what is written down is also sent, or cut() was first
        self.threads = [
            threading.Thread(target=self.pass_on, args=arguments, daemon=True)
            for arguments in ((client, self.server, True), (self.server, client, False))
        ]
        for sock in (client, self.server):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(None)

    def pass_on(self, source: socket.socket, target: socket.socket, from_client: bool) -> None:
        try:
            while data := source.recv(1 << 18):
                if not from_client:
                    self.proxy.open.wait()
                with self.lock:
                    if from_client or not self.recording.cut:
                        chunk = Chunk(now(), from_client, data)
                        self.recording.chunks.append(chunk)
                    if not self.recording.cut:
                        target.sendall(data)
        except OSError:
            pass  # a reset; the other side gets the end of the connection
        with self.lock:
            self.recording.end = self.recording.end or now()
            shut_down(target, socket.SHUT_WR)

    def cut(self) -> None:
        with self.lock:
            self.recording.cut = True
            self.recording.end = self.recording.end or now()
            shut_down(self.client, socket.SHUT_WR)
            shut_down(self.server, socket.SHUT_RDWR)

    def close(self) -> None:
        shut_down(self.client, socket.SHUT_RDWR)
        shut_down(self.server, socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(10)
        self.client.close()
        self.server.close()


def shut_down(sock: socket.socket, how: int) -> None:
    try:
        sock.shutdown(how)
    except OSError:
        pass  # it was before


class Proxy:
    """Stands between one client and a server, and records each connection of it."""

    def __init__(self, server: Server, pcap: Path):
        self.server, self.pcap = server, pcap
        self.links: list[Link] = []
        self.open = threading.Event()  # to what the server says
        self.open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return self.server.url.rpartition(":")[0] + f":{self.port}"

    @property
    def recordings(self) -> list[Recording]:
        return [link.recording for link in self.links]

    def listen(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                link = Link(self, client)
            except OSError:  # the server is not there
                client.close()
                continue
            self.links.append(link)
            for thread in link.threads:
                thread.start()

    def hold(self) -> None:
        """From now on the client hears nothing. What the server says waits for release()."""
        self.open.clear()

    def release(self) -> None:
        self.open.set()

    def cut(self) -> None:
        """Ends the connection. What was held back is lost; the client reads what it was told, and
        then the end. What it still says is written down, and goes nowhere."""
        self.links[-1].cut()
        self.release()

    def dissect(self) -> list[dict]:
        """What tshark sees in all that was recorded so far."""
        write_pcap(self.pcap, self.recordings, self.port)
        return dissect(self.pcap, self.port)

    def close(self) -> None:
        shut_down(self.listener, socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)
        self.release()
        for link in self.links:
            link.close()


# ---- The pcap ----

LINK_TYPE_RAW = 101  # a packet begins with its IP header
FIN, SYN, PUSH, ACK = 1, 2, 8, 16
FIRST_PORT = 1025  # of the clients: a connection's number is its port, less this
HEADERS = 40  # of IP and TCP
LARGEST = 32768  # what a segment carries at most


def write_pcap(path: Path, recordings: list[Recording], port: int) -> None:
    """In the classic format. Each connection goes from 10.0.0.1, and a port of its own, to 10.0.0.2,
    with the sequence numbers that TCP would have chosen, so that its streams can be put together.
    """
    packets: list[tuple[float, bytes]] = []
    for number, recording in enumerate(recordings):
        packets += segments(recording, FIRST_PORT + number, port)
    packets.sort(key=lambda packet: packet[0])
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, LINK_TYPE_RAW))
        for moment, packet in packets:
            seconds, fraction = divmod(moment, 1)
            size = len(packet)
            file.write(struct.pack("<IIII", int(seconds), int(fraction * 1e6), size, size))
            file.write(packet)


def read_pcap(path: Path) -> Iterator[tuple[float, int, int, bytes]]:
    """Of each packet: time, source port, destination port, payload."""
    data = path.read_bytes()
    at = 24
    while at < len(data):
        seconds, micros, size, _ = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16 : at + 16 + size]
        yield seconds + micros / 1e6, *struct.unpack_from(">HH", packet, 20), packet[HEADERS:]
        at += 16 + size


def segments(
    recording: Recording, client_port: int, server_port: int
) -> Iterator[tuple[float, bytes]]:
    """A connection's packets from SYN to FIN, and when they were sent."""
    sequence = {True: 0, False: 0}  # the client's, the server's

    def segment(from_client: bool, flags: int, data: bytes = b"") -> bytes:
        way = 1 if from_client else -1
        tcp = struct.pack(
            ">HHIIBBHHH",
            *(client_port, server_port)[::way],
            sequence[from_client],
            sequence[not from_client] if flags & ACK else 0,
            5 << 4,  # the header's length, in words
            flags,
            65535,  # window
            0,  # checksum: tshark does not look
            0,
        )
        size = HEADERS + len(data)
        ip = struct.pack(">BBHHHBBH", 4 << 4 | 5, 0, size, 0, 0, 64, socket.IPPROTO_TCP, 0)
        addresses = (b"\x0a\0\0\x01", b"\x0a\0\0\x02")[::way]
        sequence[from_client] += len(data) + bool(flags & (SYN | FIN))
        return ip + b"".join(addresses) + tcp + data

    yield recording.begin, segment(True, SYN)
    yield recording.begin, segment(False, SYN | ACK)
    yield recording.begin, segment(True, ACK)
    last = recording.begin
    for chunk in recording.chunks:
        last = chunk.time
        for at in range(0, len(chunk.data), LARGEST):
            data = chunk.data[at : at + LARGEST]
            yield last, segment(chunk.from_client, PUSH | ACK, data)
    last = max(last, recording.end or last)
    yield last, segment(True, FIN | ACK)
    yield last, segment(False, FIN | ACK)
    yield last, segment(True, ACK)


# ---- tshark ----

TYPES = (
    "0 CONNECT CONNACK PUBLISH PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE UNSUBACK "
    "PINGREQ PINGRESP DISCONNECT AUTH"
).split()
WARNING = 0x600000  # of Wireshark's severities; an error is above


def dissect(pcap: Path, port: int) -> list[dict]:
    """The MQTT packets that tshark sees, in order of time, each a dict:

    connection    which one of the pcap, from 0
    direction     "client" or "server": who sent it
    time, size    when its last byte was sent; all its bytes
    type          "CONNECT" …
    fields        by Wireshark's names ("mqtt.topic"), a list of what it shows of each
    raw           the same in bytes, without those that are but bits of one
    properties    of 5.0, in order: (identifier, bytes) or, of a User Property, (0x26, name, value)
    will_properties

    Fails unless tshark finds every packet well-formed and nothing to warn of, and every byte is a
    packet's. A connection may end in the middle of one.
    """
    sizes: dict[tuple[int, str], int] = {}  # of what was dissected
    streams: dict[tuple[int, str], bytearray] = {}
    found: list[dict] = []
    frames = read_pcap(pcap)
    for frame in tshark(pcap, port):
        moment, source, target, payload = next(frames)
        direction = "client" if target == port else "server"
        connection = (source if direction == "client" else target) - FIRST_PORT
        way = (connection, direction)
        streams.setdefault(way, bytearray()).extend(payload)
        for protocol in frame:
            name = protocol.get("name")
            assert name != "_ws.malformed", f"{way}: malformed: {payload[:80].hex(' ')}"
            if name == "mqtt":
                packet = dissected(protocol, way)
                sizes[way] = sizes.get(way, 0) + packet["size"]
                found.append(
                    dict(connection=connection, direction=direction, time=moment, **packet)
                )
    assert next(frames, None) is None, "tshark has not seen all"
    for way, stream in streams.items():
        rest = bytes(stream[sizes.get(way, 0) :])
        assert is_beginning(rest), f"{way}: not a packet: {rest[:80].hex(' ')}"
    return found


def tshark(pcap: Path, port: int) -> Iterator[ElementTree.Element]:
    """The frames of PDML, which unlike JSON tells the second packet of a frame from the first, and
    how large each is."""
    command = [need("tshark", "interop"), "-n", "-r", str(pcap), "-d", f"tcp.port=={port},mqtt"]
    result = subprocess.run(
        [*command, "-T", "pdml", "-J", "mqtt"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(pcap.parent)},  # nobody's preferences
        capture_output=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr.decode()
    yield from ElementTree.fromstring(result.stdout).iter("packet")


def dissected(protocol: ElementTree.Element, way: tuple[int, str]) -> dict:
    fields: dict[str, list[str]] = {}
    raw: dict[str, list[bytes]] = {}
    properties: dict[str, list[tuple]] = {"mqtt.properties": [], "mqtt.will_properties": []}
    for element in protocol.iter("field"):
        name, value = element.get("name"), element.get("value")
        fields.setdefault(name, []).append(element.get("show"))
        if value and element.get("unmaskedvalue") is None:
            raw.setdefault(name, []).append(bytes.fromhex(value))
        if name in properties:
            properties[name] += listed(element)
        if name == "_ws.expert.severity":
            warned = int(element.get("show")) >= WARNING
            assert not warned, f"{way}: {fields['_ws.expert.message']}"
    type = TYPES[int(fields["mqtt.msgtype"][0])]
    assert type != "0", f"{way}: no packet has this type"
    return dict(
        type=type,
        size=int(protocol.get("size")),
        fields=fields,
        raw=raw,
        properties=properties["mqtt.properties"],
        will_properties=properties["mqtt.will_properties"],
    )


def listed(properties: ElementTree.Element) -> list[tuple]:
    found: list[tuple] = []
    for element in properties:
        name = element.get("name")
        if name == "mqtt.property_id":
            found.append((int(element.get("value"), 16),))
        elif not name.endswith("_len"):
            found[-1] += (bytes.fromhex(element.get("value", "")),)
    return found


def is_beginning(data: bytes) -> bool:
    """Whether this is less than a packet (section 2.1)."""
    length = 0
    for index, byte in enumerate(data[1:5]):
        length |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return len(data) < 2 + index + length
    return len(data) < 5
