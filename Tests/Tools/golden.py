"""A command line run with smq and with the program of Debian's mosquitto-clients that it stands for: what each prints,
its exit status, and the bytes it sends."""

from __future__ import annotations

import fcntl
import re
import shlex
import subprocess
import sys
import tempfile
import termios
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from Support.codec import (
    CONNACK,
    CONNECT,
    PINGREQ,
    PROPERTIES,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
    Packet,
    Reading,
    fixed_header,
    split,
)
from Support.recording import Proxy
from Support.servers import free_port, need
from Support.waiting import wait_for
from Compat.programs import NAME, PASSWORD, Broker, Row

from .tool import SMQ, environment

ACKNOWLEDGEMENTS = (PUBACK, PUBREC, PUBREL, PUBCOMP)


@dataclass
class Outcome:
    code: int
    stdout: bytes
    stderr: str
    packets: list[str]
    seconds: float

    def lines(self) -> list[str]:
        """All that has to be the same."""
        return [f"exit status: {self.code}", *(f"stdout: {line!r}" for line in self.stdout.splitlines(True)),
                *(f"sends: {packet}" for packet in self.packets)]


def properties(data: bytes) -> list[bytes]:
    """Those of CONNECT (section 3.1.2.11), each with its identifier."""
    reading, found = Reading(Packet(data, level=5)), []
    while (begin := reading.at) < reading.end:
        reading.value(PROPERTIES[reading.variable()].kind)
        found.append(data[begin : reading.at])
    return found


class Cleaner:
    """Takes out what differs by nature: the topic of the run; the order of CONNECT's properties; the text of --help; a
    Client Identifier that was drawn or has a process id; Packet Identifiers, which become the order in which they are
    first used; the time in JSON. PINGs are left out, and acknowledgements stand behind the rest, in an order of their
    own, as they cross with messages."""

    def __init__(self, topic: str, pid: int):
        self.topic, self.pid = topic, pid
        self.identifiers: dict[tuple[bool, bytes], int] = {}  # True: the server chose it

    def text(self, text: bytes) -> bytes:
        text = text.replace(self.topic.encode(), b"TOPIC").replace(self.topic.replace("/", "-").encode(), b"ID")
        text = re.sub(rb"(mosquitto_\w+ is |smq \w+: )[^\0]*(?i:Usage:)[^\0]*", b"HELP", text)
        text = re.sub(rb'"tst":\s*"[^"]*"', b'"tst":TIME', text)
        return text.replace(b"-%d" % self.pid, b"-PID")

    def packets(self, data: bytes) -> list[str]:
        found = split(data)
        first = [self.packet(p) for p in found if p[0] >> 4 not in (*ACKNOWLEDGEMENTS, PINGREQ)]
        return first + sorted(self.packet(p) for p in found if p[0] >> 4 in ACKNOWLEDGEMENTS)

    def packet(self, packet: bytes) -> str:
        (at, _), kind = fixed_header(packet, print), packet[0] >> 4
        header = f"{packet[0]:02x} "
        rest = packet[at:]
        if kind == CONNECT:
            return header + repr(self.connect(rest))
        if kind == PUBLISH and packet[0] & 6:
            end = 2 + int.from_bytes(rest[:2], "big")
            number = self.number(False, rest[end:end + 2])
            return header + repr(self.text(rest[:end])) + number + repr(self.text(rest[end + 2:]))
        if kind in ACKNOWLEDGEMENTS or kind in (SUBSCRIBE, UNSUBSCRIBE):
            is_theirs = kind in (PUBACK, PUBREC, PUBCOMP)
            return header + self.number(is_theirs, rest[:2]) + repr(self.text(rest[2:]))
        return header + repr(self.text(rest))

    def number(self, is_theirs: bool, identifier: bytes) -> str:
        known = self.identifiers
        return f" #{known.setdefault((is_theirs, identifier), sum(key[0] == is_theirs for key in known) + 1)} "

    def connect(self, rest: bytes) -> bytes:
        """The Client Identifier stands behind the name, level, flags, Keep Alive and, in 5.0, the properties."""
        name = 2 + int.from_bytes(rest[:2], "big")
        at = name + 4
        if rest[name] & 127 == 5:
            end = at + 1 + rest[at]  # no list of ours takes more than 127 bytes
            rest = rest[:at + 1] + b"".join(sorted(properties(rest[at + 1:end]))) + rest[end:]
            at = end
        size = int.from_bytes(rest[at:at + 2], "big")
        identifier = rest[at + 2:at + 2 + size]
        if re.fullmatch(rb"mosq-\w{18}|smq-\w{19}", identifier):
            identifier = b"DRAWN"
        return self.text(rest[:at] + identifier + rest[at + 2 + size:])


def waiting(process: subprocess.Popen) -> int:
    """Bytes that it wrote, and that are still to be read."""
    return int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)), sys.byteorder)


def await_output(process: subprocess.Popen, before: int) -> None:
    """What has been sent to a program is not what it has printed. One that keeps it to itself until its end is given a
    second."""
    end = time.monotonic() + 1
    while waiting(process) == before and time.monotonic() < end:
        time.sleep(0.01)


class Golden:
    """Runs rows, several at a time, with a broker for all and a recording proxy for each."""

    def __init__(self, directory: Path, rows: tuple[Row, ...]):
        self.directory = directory
        self.broker = Broker(directory)
        self.environment = environment()  # in the thread that changes it
        self.file = directory / "lines"
        self.file.write_bytes(b"first\nsecond\n")
        self.pool = ThreadPoolExecutor(6)
        self.outcomes: dict[str, Future] = {
            row.name: self.pool.submit(self.both, row, number) for number, row in enumerate(rows)}

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)
        self.broker.stop()

    def both(self, row: Row, number: int) -> tuple[Outcome, Outcome]:
        return self.run(row, f"row/{number}/r", [need(f"mosquitto_{row.program}")]), \
            self.run(row, f"row/{number}/s", [*SMQ, row.program])

    def run(self, row: Row, topic: str, program: list[str]) -> Outcome:
        for options in row.retained:
            self.broker.send(["-r", "-q", "1", *shlex.split(options.format(t=topic))])
        proxy = Proxy(self.broker, self.directory / "unused.pcap")
        places = {
            "host": "127.0.0.1", "port": proxy.port, "t": topic, "file": self.file, "socket": self.broker.socket,
            "closed": free_port(), "id": topic.replace("/", "-"), "name": NAME, "password": shlex.quote(PASSWORD)}
        started = time.monotonic()
        if row.program == "rr":  # it is read before anything is sent
            stdin = tempfile.TemporaryFile()
            stdin.write(row.stdin)
            stdin.seek(0)
        process = subprocess.Popen(
            [*program, *shlex.split(f"{row.address} {row.options}".format_map(places))],
            env=self.environment,
            stdin=stdin if row.program == "rr" else subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            if row.live or row.signal:
                self.await_ready(row, proxy)
            before = waiting(process)
            for options in row.live:
                self.broker.send(shlex.split(options.format(t=topic)))
            if row.signal:
                if row.live:
                    self.await_count(proxy, PUBLISH, len(row.live))
                    await_output(process, before)
                process.send_signal(row.signal)
            stdout, stderr = process.communicate(None if row.program == "rr" else row.stdin, 30)
        finally:
            process.kill()
            process.wait()
        if row.program == "rr":
            stdin.close()
        seconds = time.monotonic() - started
        wait_for(lambda: all(r.end for r in proxy.recordings), f"{row.name}: its connection ends")
        proxy.close()
        clean = Cleaner(topic, process.pid)
        sent = [packet for recording in proxy.recordings for packet in clean.packets(recording.data(True))]
        return Outcome(process.returncode, clean.text(stdout), stderr.decode(errors="replace"), sent, seconds)

    def await_ready(self, row: Row, proxy: Proxy) -> None:
        """Until it has subscribed, or sent what it was to send."""
        if row.program == "pub":
            self.await_count(proxy, CONNACK, 1)
        elif row.program == "rr":
            self.await_count(proxy, PUBLISH, 1, from_client=True)
        else:
            self.await_count(proxy, UNSUBACK if " -U " in row.options else SUBACK, 1)

    def await_count(self, proxy: Proxy, kind: int, count: int, from_client: bool = False) -> None:
        wait_for(
            lambda: sum(p[0] >> 4 == kind for r in proxy.recordings for p in split(r.data(from_client))) >= count,
            f"{count} packets of type {kind}")
