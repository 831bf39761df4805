"""Servers of other people, each with a configuration, ports and a directory of its own, and
mosquitto_sub as the witness of what they deliver."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import uuid
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from .address import Address
from .certificates import Certificates
from .waiting import PATIENCE, wait_for

MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"


def need(program: str, group: str = "broker") -> str:
    path = shutil.which(program) or (program if os.access(program, os.X_OK) else None)
    if not path:
        reason = f"{program} is missing: .ci/need {group} installs it"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return path


# The last ports that free_port() gave away, each bound and not listened at.
reserved: deque[socket.socket] = deque(maxlen=64)


def free_port(host: str = "127.0.0.1") -> int:
    """A port at which nobody listens, and which nobody else gets, though tests run at the same time: the kernel gives none
    away that is bound, neither to who asks for any port nor to who connects. A server that asks for it by its number, with
    SO_REUSEADDR as servers do, does get it."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, 0))
    if len(reserved) == reserved.maxlen:
        reserved.popleft().close()
    reserved.append(sock)
    return sock.getsockname()[1]


class Server:
    """A process that listens. It keeps what it writes in `directory`, and says it in `log`."""

    login: tuple[str, str] | None = None  # user name and password that it lets in

    def __init__(self, directory: Path, host: str = "127.0.0.1"):
        self.directory, self.host, self.port = directory, host, free_port(host)
        self.log = directory / f"{type(self).__name__.lower()}.log"
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        login = ":".join(self.login) + "@" if self.login else ""
        return f"mqtt://{login}{host}:{self.port}"

    @property
    def address(self) -> list[str]:
        """For mosquitto_pub and mosquitto_sub."""
        login = ["-u", self.login[0], "-P", self.login[1]] if self.login else []
        return ["-h", self.host, "-p", str(self.port), *login]

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def launch(self) -> subprocess.Popen:
        raise NotImplementedError

    def ports(self) -> list[int]:
        """All at which it listens. One is enough for a server that opens all before it serves any."""
        return [self.port]

    def start(self) -> None:
        """Returns when it listens."""
        self.process = self.launch()

        def accepts(port: int) -> bool:
            assert self.process.poll() is None, self.log.read_text()
            with socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET) as sock:
                return sock.connect_ex((self.host, port)) == 0

        try:
            for port in self.ports():
                wait_for(lambda port=port: accepts(port), f"{type(self).__name__} accepts connections")
        except BaseException:
            self.stop()
            raise

    def run(
        self, command: list[str], environment: dict[str, str] | None = None
    ) -> subprocess.Popen:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.directory,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def send_signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            # Mosquitto loses a SIGTERM that reaches it just before it begins to serve.
            for _ in range(10):
                self.process.send_signal(number)
                try:
                    self.process.wait(1)
                    break
                except subprocess.TimeoutExpired:
                    pass
            self.process.wait(10)
            self.process = None

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def publish(self, topic: str, payload: str, *more: str) -> None:
        """By mosquitto_pub."""
        command = [need("mosquitto_pub"), *self.address, "-t", topic]
        subprocess.run([*command, "-m", payload, *more], check=True, timeout=10)


class Mosquitto(Server):
    """Debian's Mosquitto 2.0. Keyword arguments are lines of its configuration.

    What a test should know of it:

    - Subscribing again changes QoS and Subscription Identifier, and not the other options.
    - A message that matches several subscriptions comes once for each, with its identifier.
    - A connection whose session is taken over by another is closed without DISCONNECT.
    - An AUTH is met by the end of the connection.
    - It looks for missed Keep Alives every five seconds or so: one of a second is missed by six.
    """

    def __init__(self, directory: Path, host: str = "127.0.0.1", **settings: object):
        super().__init__(directory, host)
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

    def launch(self) -> subprocess.Popen:
        return self.run([need(MOSQUITTO), "-c", str(self.config)])


class Ejabberd(Server):
    """Debian's ejabberd, of which only mod_mqtt is loaded: 3.1.1 and 5.0.

    Erlang is started without the wrapper ejabberdctl, and so without distribution: no node name, no
    cookie, no epmd, nothing that could meet another Erlang on this machine, and any user will do.

    A Client Identifier belongs to a user, and whoever gives a password, any but an empty one, is
    let in as the user they say they are.

    What a test should know of it:

    - 3.1 is refused with Connect Return code 1, by its name.
    - CONNACK of 5.0 always has Session Expiry Interval (an hour at most), Server Keep Alive (what was
      asked for, 0 too), Topic Alias Maximum 100 and Shared Subscription Available 0. A SUBSCRIBE to
      $share/… ends the connection: DISCONNECT with 0x9E in 5.0, nothing in 3.1.1.
    - It has one message of QoS 1 or 2 in flight to a client, whatever Receive Maximum says; all others,
      of QoS 0 too, wait for it. Packet Identifiers begin anywhere, and QoS 0 uses them up as well.
    - The client's Maximum Packet Size is ignored, and so is Request Problem Information 0. It sends no
      Topic Alias.
    - The first message that waited for an absent client comes with DUP, though it never went out.
      QoS 0 waits only behind another message.
    - A message that matches several subscriptions comes once for each, with its identifier.
    - UNSUBACK says 0x00 also of what was never subscribed; a SUBSCRIBE without filters is granted.
    - Payloads that say they are UTF-8 are looked at: DISCONNECT with 0x99.
    - PUBACK and PUBREC of 5.0 say 0x10 if nobody has subscribed.
    - Stopping, it closes its connections without DISCONNECT.
    - Over WebSocket it serves the path /mqtt, and all other paths with 404.
    """

    login = ("tester", "any")

    def __init__(self, directory: Path, certificates: Certificates):
        super().__init__(directory)
        self.listeners = {
            scheme: Address(scheme, self.host, free_port(self.host), "/mqtt" if scheme in ("ws", "wss") else "")
            for scheme in ("mqtts", "ws", "wss")
        }
        ports = {scheme: listener.port for scheme, listener in self.listeners.items()}
        web = f'module: ejabberd_http, ip: "{self.host}", request_handlers: {{/mqtt: mod_mqtt}}'
        self.config = directory / "ejabberd.yml"
        # Limits are off: a slow witness is to lose nothing, and topics may be as deep as they like.
        self.config.write_text(f"""\
hosts: [localhost]
loglevel: info
auth_method: [anonymous]
anonymous_protocol: login_anon
allow_multiple_connections: true
listen:
  - {{module: mod_mqtt, ip: "{self.host}", port: {self.port}, max_fsm_queue: 1000000}}
  - {{module: mod_mqtt, ip: "{self.host}", port: {ports["mqtts"]}, max_fsm_queue: 1000000, tls: true}}
  - {{{web}, port: {ports["ws"]}}}
  - {{{web}, port: {ports["wss"]}, tls: true}}
certfiles:
  - {certificates.good.chain}
  - {certificates.good.key}
modules:
  mod_mqtt:
    access_publish: {{}}
    access_subscribe: {{}}
    queue_type: ram
    max_queue: unlimited
    max_topic_depth: infinity
    match_retained_limit: infinity
    session_expiry: 1 hour
""")

    def ports(self) -> list[int]:
        return [self.port, *(listener.port for listener in self.listeners.values())]

    def launch(self) -> subprocess.Popen:
        need("/usr/sbin/ejabberdctl", "interop")
        libraries = next(Path("/usr/lib").glob("*/ejabberd-*/ebin")).parents[1]
        spool = self.directory / "spool"
        spool.mkdir(exist_ok=True)
        environment = {
            "HOME": self.directory,
            "ERL_LIBS": libraries,
            "ERL_CRASH_DUMP": self.directory / "erl_crash.dump",
            "EJABBERD_CONFIG_PATH": self.config,
            "EJABBERD_LOG_PATH": self.directory / "ejabberd-itself.log",
        }
        # Threads that spin while they wait take the processor away from those they wait for: it
        # would start in forty seconds, not two, when others are busy.
        patience = ["+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"]
        return self.run(
            ["erl", *patience, "-noinput", "-mnesia", "dir", f'"{spool}"', "-s", "ejabberd"],
            {name: str(value) for name, value in environment.items()},
        )


class RabbitMQ(Server):
    """Debian's RabbitMQ 3.10 with the plugin rabbitmq_mqtt: 3.1 and 3.1.1, and QoS 2 only by name.

    It insists on Erlang's distribution. So it gets an epmd of its own, on a port of its own.
    """

    def __init__(self, directory: Path):
        super().__init__(directory)
        self.node = f"{directory.name}@localhost"
        self.config = directory / "rabbitmq.conf"
        self.config.write_text(f"""\
listeners.tcp = none
mqtt.listeners.tcp.1 = {self.host}:{self.port}
mqtt.allow_anonymous = true
""")
        (directory / "enabled_plugins").write_text("[rabbitmq_mqtt].\n")
        (directory / "environment").touch()  # in place of the one in /etc
        self.epmd: subprocess.Popen | None = None

    def launch(self) -> subprocess.Popen:
        program = need(RABBITMQ, "rabbitmq")
        names = {"ERL_EPMD_ADDRESS": self.host, "ERL_EPMD_PORT": str(free_port(self.host))}
        self.epmd = self.run([need("epmd", "rabbitmq")], names)
        environment = {
            "HOME": self.directory,  # of the cookie
            "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_DIST_PORT": free_port(self.host),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {"
            + self.host.replace(".", ",")
            + "}",
            "RABBITMQ_CONF_ENV_FILE": self.directory / "environment",
            "RABBITMQ_CONFIG_FILE": self.config,
            "RABBITMQ_ENABLED_PLUGINS_FILE": self.directory / "enabled_plugins",
            "RABBITMQ_MNESIA_BASE": self.directory / "mnesia",
            "RABBITMQ_LOG_BASE": self.directory,
        }
        return self.run(
            [program], names | {name: str(value) for name, value in environment.items()}
        )

    def stop(self, number: int = signal.SIGTERM) -> None:
        super().stop(signal.SIGTERM)  # to a shell, which knows how to pass on just this one
        if self.epmd:
            self.epmd.kill()
            self.epmd.wait(10)
            self.epmd = None


@dataclass(frozen=True)
class Received:
    topic: str
    qos: int
    retain: int
    payload: bytes


class Subscriber:
    """mosquitto_sub. It has subscribed when the constructor returns: a retained probe says so."""

    def __init__(self, broker: Server, *topics: str, qos: int = 2, more: tuple[str, ...] = ()):
        probe = f"probe/{uuid.uuid4()}"
        broker.publish(probe, "here", "-r")
        command = [need("mosquitto_sub"), *broker.address, *more]
        command += ["-q", str(qos), "-F", "%t\t%q\t%r\t%x"]
        for topic in (*(topics or ("#",)), probe):
            command += ["-t", topic]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.changed = threading.Condition()
        self.messages: list[Received] = []
        self.counts: Counter[int] = Counter()  # of all that came, by QoS
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
                    self.counts[int(qos)] += 1
                    self.messages.append(Received(topic, int(qos), int(retain), payload))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> None:
        with self.changed:
            met = self.changed.wait_for(lambda: condition() or self.ended, timeout)
            assert met, f"not within {timeout} s; {len(self.messages)}: {self.messages[-3:]}"
            assert condition(), "mosquitto_sub has ended"

    def take(self, count: int, timeout: float = PATIENCE) -> list[Received]:
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
