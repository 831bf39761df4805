"""A program of Debian's, run on libmosquitto and on the drop-in, and all that can be seen of it from outside."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from Support.certificates import Certificates, hashed_directory
from Support.forward_proxies import Microsocks
from Support.many_listeners import PSK_IDENTITY, PSK_KEY
from Support.servers import Mosquitto, Subscriber, free_port, need
from Support.waiting import wait_for

NAME, PASSWORD = "somebody", "secret words"
# Content type, correlation data, expiry, format, user properties, response topic, payload.
PROPERTIES = "%C|%D|%E|%F|%P|%R|%x"


@dataclass(frozen=True)
class Row:
    """One command line. `{t}` in it is a topic of its own, `{file}` a file with a few lines."""

    name: str
    program: str  # mosquitto_…
    options: str
    arrives: int = 0  # messages that the witness gets from it
    code: int = 0
    stdin: bytes = b""
    retained: tuple[str, ...] = ()  # options of mosquitto_pub before it starts
    live: tuple[str, ...] = ()  # and once it has subscribed; with mosquitto_rr, once its request has arrived
    signal: int = 0  # that ends it, once it has connected (and got what is live)
    address: str = "-h {host} -p {port}"
    lasts: float = 0  # seconds, at least
    handshake: bool = False  # TLS fails there: in connect, or in a loop, as the server's answer happens to come


@dataclass
class Outcome:
    stdout: str
    stderr: str
    code: int
    received: list[str]  # by the witness
    wire: list[str]  # what the server says it got from the program and sent to it
    seconds: float = field(default=0, compare=False)
    loaded: list[str] = field(default_factory=list, compare=False)

    def lines(self) -> list[str]:
        """All that has to be the same."""
        return [
            f"exit status: {self.code}", *(f"stdout: {line}" for line in self.stdout.splitlines(True)),
            *(f"stderr: {line}" for line in self.stderr.splitlines(True)),
            *(f"arrives: {line}" for line in sorted(self.received, key=is_of_qos_2)),
            *(f"wire: {line}" for line in self.wire)]


def is_of_qos_2(line: str) -> bool:
    """The witness is told of it when PUBREL has come: whether another message comes before that is a matter of time."""
    return line.split("\t")[1] == "2"


class Broker(Mosquitto):
    """Lets in who gives no name, and who gives the right one; also at a socket in the file system, and over TLS if there are
    certificates."""

    def __init__(self, directory: Path, certificates: Certificates | None = None):
        passwords = directory / "passwords"
        subprocess.run([need("mosquitto_passwd"), "-b", "-c", passwords, NAME, PASSWORD], check=True)
        # pytest changes its own for each test: what a thread starts meanwhile may find none (EFAULT).
        self.environment = dict(os.environ)
        self.socket = str(Path(tempfile.mkdtemp(dir=directory)) / "s")
        super().__init__(
            directory, persistence="false", password_file=passwords, **{"listener 0": self.socket})
        self.secure = {name: free_port() for name in ("tls", "tls_client", "tls_name", "psk")} if certificates else {}
        if certificates:
            self.listen_securely(certificates)
        self.start()

    def listen_securely(self, all_of: Certificates) -> None:
        keys = self.directory / "psk"
        keys.write_text(f"{PSK_IDENTITY}:{PSK_KEY}\n")
        lines = [f"psk_file {keys}"]
        for name, certificate in (("tls", all_of.good), ("tls_client", all_of.good), ("tls_name", all_of.wrong_name)):
            lines += [f"listener {self.secure[name]} {self.host}", f"certfile {certificate.chain}",
                      f"keyfile {certificate.key}"]
            if name == "tls_client":
                lines += [f"cafile {all_of.ca_file}", "require_certificate true"]
        lines += [f"listener {self.secure['psk']} {self.host}", "psk_hint hint"]
        self.config.write_text(self.config.read_text() + "\n".join(lines) + "\n")

    def told(self, since: int = 0) -> list[str]:
        with self.log.open(errors="replace") as log:
            log.seek(since)
            return log.read().splitlines()

    def send(self, options: list[str]) -> None:
        """As a helper, whose lines in the log are not looked at."""
        command = [need("mosquitto_pub"), *self.address, "-I", "helper-", *options]
        subprocess.run(command, check=True, timeout=20, env=self.environment)


def environment(library: str, our_library: Path) -> dict[str, str]:
    """`library`: real or ours."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    return variables | ({"LD_LIBRARY_PATH": str(our_library.parent)} if library == "ours" else {})


class Bench:
    """A broker, a proxy, a witness and the two libraries."""

    def __init__(self, directory: Path, our_library: Path, certificates: Certificates):
        self.directory, self.our_library = directory, our_library
        self.broker = Broker(directory, certificates)
        self.proxies = {"socks": Microsocks(directory / "socks"),
                        "login": Microsocks(directory / "login", login=(NAME, "secret"))}
        for proxy in self.proxies.values():
            proxy.start()
        self.secure = self.broker.secure | {name: proxy.port for name, proxy in self.proxies.items()} | {
            "ca": certificates.ca_file, "other": certificates.other.certificate,
            "capath": hashed_directory(directory / "hashed", certificates.ca_file),
            "cert": certificates.client.file, "key": certificates.client.key, "psk_key": PSK_KEY,
            "psk_identity": PSK_IDENTITY}
        self.file = directory / "lines"
        self.file.write_bytes(b"first\nsecond\n")
        self.witness = Witness(self.broker, "row/#", told=PROPERTIES)

    def close(self) -> None:
        self.witness.close()
        for proxy in self.proxies.values():
            proxy.stop()
        self.broker.stop()

    def arguments(self, row: Row, topic: str) -> list[str]:
        places = {
            "host": self.broker.host, "port": self.broker.port, "t": topic, "file": self.file,
            "socket": self.broker.socket, "closed": free_port(), "id": topic.replace("/", "-"), "name": NAME,
            "password": shlex.quote(PASSWORD), **self.secure}
        return shlex.split(f"{row.address} {row.options}".format_map(places))

    def run(self, row: Row, library: str, number: int) -> Outcome:
        """`library`: real or ours. The names are of one length, so that lengths are the same, too."""
        topic = f"row/{number}/{library}"
        trace = Path(tempfile.mkdtemp(dir=self.directory))
        traced = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(trace / "loader")}
        traced["SSL_CERT_FILE"] = str(self.secure["ca"])  # what the system trusts
        for options in row.retained:
            self.broker.send(["-r", "-q", "1", *shlex.split(options.format(t=topic))])
        self.sync()
        since = self.broker.log.stat().st_size
        started = os.times().elapsed
        process = subprocess.Popen(
            [need(f"mosquitto_{row.program}"), *self.arguments(row, topic)],
            env=environment(library, self.our_library) | traced,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            if row.live or row.signal:
                self.await_ready(row, since, process)
            for options in row.live:
                self.broker.send(shlex.split(options.format(t=topic)))
                # What comes next could overtake a message of QoS 2, which libmosquitto hands out when PUBREL comes.
                if row.program == "sub" and options != row.live[-1]:
                    wait_for(lambda: self.is_released(since), "PUBCOMP")
            if row.signal:
                if row.live:
                    self.await_told(r"Sending PUBLISH to (?!helper-|witness)", since, len(row.live))
                wait_for(lambda: self.is_idle(process), "it has read what the server sent")
                process.send_signal(row.signal)
            stdout, stderr = process.communicate(row.stdin, 30)
        finally:
            process.kill()
            process.wait()
        seconds = os.times().elapsed - started
        names = self.await_end(since)
        self.sync()
        clean = Cleaner(process.pid, topic)
        return Outcome(
            clean(stdout.decode(errors="replace")), clean(stderr.decode(errors="replace")), process.returncode,
            [clean(line) for line in self.witness.all(topic)],
            sorted(clean.wire(self.broker.told(since), names)), seconds,
            [line.split()[-1] for path in trace.iterdir() for line in path.read_text().splitlines()
             if "calling init" in line])

    def await_ready(self, row: Row, since: int, process: subprocess.Popen) -> None:
        if row.program == "pub":
            pattern, count = r"New client connected .* as (?!helper-|witness)", 1
        elif row.program == "rr":
            pattern, count = r"Received PUBLISH from (?!helper-|witness)", 1
        else:
            pattern, count = r"Sending SUBACK to (?!helper-|witness)", 1
            if " -U " in row.options:
                pattern = r"Sending UNSUBACK to (?!helper-|witness)"
        self.await_told(pattern, since, count)

    def is_released(self, since: int) -> bool:
        told = "\n".join(self.broker.told(since))
        sent = len(re.findall(r"Sending PUBLISH to (?!helper-|witness)\S+ \(d0, q2,", told))
        return sent == len(re.findall(r"Received PUBCOMP from (?!helper-|witness)", told))

    def is_idle(self, process: subprocess.Popen) -> bool:
        """Nothing that the server sent is unread, and the program waits."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        to_server = f":{self.broker.port:04X}"
        unread = any(row[2].endswith(to_server) and not row[4].endswith(":00000000") for row in rows)
        return not unread and Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] in "SZ"

    def await_told(self, pattern: str, since: int, count: int) -> None:
        matcher = re.compile(pattern)
        wait_for(
            lambda: sum(bool(matcher.search(line)) for line in self.broker.told(since)) >= count, pattern)

    def await_end(self, since: int) -> list[str]:
        """Until the server has seen all connections of the program end. Their Client Identifiers."""
        matcher = re.compile(r"New client connected from \S+ as (\S+) \(")
        found = [matcher.search(line) for line in self.broker.told(since)]
        names = [match[1] for match in found if match and not match[1].startswith(("helper-", "witness"))]

        def ended() -> bool:
            lines = self.broker.told(since)
            return all(
                sum(f"Client {name} " in line and ("disconnected" in line or "closed" in line) for line in lines)
                >= names.count(name) for name in names)

        wait_for(ended, f"the server has seen the end of {names}")
        return sorted(set(names))

    def sync(self) -> None:
        """Whatever the server has taken has reached the witness."""
        self.witness.sync(self.broker)


class Witness(Subscriber):
    """Keeps whole lines: topic, QoS, whether retained, and what `told` says."""

    def __init__(self, broker: Broker, *topics: str, told: str):
        self.lines: list[str] = []
        self.marks = 0
        command = [need("mosquitto_sub"), *broker.address, "-V", "mqttv5", "-i", "witness", "-q", "2"]
        command += ["-F", f"%t\t%q\t%r\t{told}"]
        # With the 20 that it asks for otherwise it sometimes finds that the server has sent too much, and ends.
        command += ["-D", "connect", "receive-maximum", "65535"]
        for topic in (*topics, "mark"):
            command += ["-t", topic]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.changed = threading.Condition()
        self.ended = False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        wait_for(lambda: any("Sending SUBACK to witness" in line for line in broker.told()), "a witness")

    def read(self) -> None:
        for line in self.process.stdout:
            text = line.rstrip(b"\n").decode(errors="replace")
            with self.changed:
                if text.startswith("mark\t"):
                    self.marks += 1
                else:
                    self.lines.append(text)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def sync(self, broker: Broker) -> None:
        before = self.marks
        broker.send(["-t", "mark", "-m", "", "-q", "2"])  # a handshake does not pass another
        self.until(lambda: self.marks > before)

    def all(self, topic: str) -> list[str]:
        with self.changed:
            return [line for line in self.lines if line.startswith((f"{topic}\t", f"{topic}/", f"/{topic}/"))]


class Cleaner:
    """Takes out what differs by nature:

    - the part of topic and Client Identifier that names the library,
    - the process id in a Client Identifier (-I), and the whole of one that the server or the library made up,
    - the time in JSON,
    - what is left of a Message Expiry Interval of 100 s, when the server hands the message on.

    And from the server's lines: message ids, as the core counts Packet Identifiers of QoS 1 and 2 only; the time; the
    port of the connection; PINGs; their order, as acknowledgements and messages cross.
    """

    def __init__(self, pid: int, topic: str):
        self.pid, self.topic = pid, topic

    def __call__(self, text: str) -> str:
        text = text.replace(self.topic, "TOPIC").replace(self.topic.replace("/", "-"), "ID")
        text = re.sub(r'"tst":\s*"[^"]*"', '"tst":TIME', text)
        text = re.sub(r"(?<=\|)(100|[89]\d)(?=\|)", "EXPIRY", text)
        text = re.sub(r"\bauto-[0-9A-F-]{36}|\bmosq-\w{18}", "CLIENT", text)
        return text.replace(f"publisher-{self.pid}", "publisher-PID")

    def wire(self, lines: list[str], names: list[str]) -> list[str]:
        wanted = [line.partition(": ")[2] for line in lines if any(f" {name}" in line for name in names)]
        wanted = [re.sub(r"\bm\d+\b|Mid: \d+", "m#", self(line)) for line in wanted if "PING" not in line]
        return [re.sub(r" from \S+ as ", " as ", line) for line in wanted]

