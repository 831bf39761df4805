"""The language of scenarios. A scenario is a short script that is run with a client of each library, each time
against a server of its own, through a proxy that records:

    @scenario(versions=(3, 4, 5), shows="an-identifier of docs/differences.md")
    def qos_1_is_acknowledged(run):
        client = run.connected()
        client.publish("a/b", b"21.5", qos=1)

What is still connected in the end is disconnected; then what was recorded, told and witnessed is compared.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from Support import smq, wire_rules
from Support.recording import Proxy
from Support.servers import Mosquitto
from Support.waiting import wait_for

from . import mosq
from .clients import Client, Settings
from .mosq_client import MosqClient
from .outcome import Outcome, conversation, witnessed
from .peer import Peer
from .smq_client import SmqClient

THEIRS = mosq.Library("libmosquitto.so.1")
DROP_IN_PATH = str(smq.BUILD / "compat" / "libmosquitto.so.1")
DROP_IN = mosq.Library(DROP_IN_PATH)
LIBRARIES: dict[str, Callable[[Settings], Client]] = {
    "libmosquitto": lambda settings: MosqClient(settings, THEIRS),
    "libswiftmqtt": SmqClient,
    "drop-in": lambda settings: MosqClient(settings, DROP_IN),
}
VERSIONS = {3: "3.1", 4: "3.1.1", 5: "5.0"}


PORTS = itertools.count(20_000 + os.getpid() % 10_000)


def free_port() -> int:
    """None of those that the system gives away by itself: many runs are under way, and until a server listens the port
    could go to another one's proxy."""
    while True:
        port = next(PORTS)
        with socket.socket() as sock:
            # For a moment a process that another thread starts may have this socket, too: it may not bar the server.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class Run:
    """One of the two runs of a scenario."""

    def __init__(self, library: str, version: int, directory: Path, server: dict[str, object], login: tuple | None):
        self.library, self.version, self.login = library, version, login
        self.directory = directory
        port = free_port()
        self.server = Mosquitto(directory, listener=f"{port} 127.0.0.1", **server)
        self.server.port = port
        self.server.start()
        self.clients: list[Client] = []
        self.proxies: list[Proxy] = []
        self.peers: list[Peer] = []
        self.notes: list[tuple] = []
        self.witness = self.peer("witness")
        self.witness.subscribe()

    def settings(self, port: int, **values: object) -> Settings:
        return Settings(**{"port": port, "protocol": self.version, **values})

    def client(self, **values: object) -> Client | None:
        """A client with a proxy of its own, not connected; none if the library makes none with these settings."""
        proxy = Proxy(self.server, self.directory / f"{len(self.proxies)}.pcap")
        self.proxies.append(proxy)
        try:
            self.clients.append(LIBRARIES[self.library](self.settings(proxy.port, **values)))
            self.clients[-1].proxy = proxy
        except ValueError:
            self.notes.append(("no such client",))
            return None
        return self.clients[-1]

    def connected(self, **values: object) -> Client:
        """A client that is connected."""
        client = self.client(**values)
        client.connect()
        assert client.is_up, client.events
        return client

    def again(self, client: Client, **values: object) -> Client:
        """What a later process is: a client like that one, which is gone, with other settings here and there."""
        like = {name: value for name, value in vars(client.settings).items() if name != "port"}
        return self.connected(**like | values)

    def peer(self, client_id: str = "peer") -> Peer:
        """A third client."""
        self.peers.append(Peer(self.server.port, client_id, self.login))
        return self.peers[-1]

    def restart(self) -> None:
        """The server goes and comes back, with what it had kept; so does the witness."""
        self.server.stop()
        self.witness.close()
        self.server.start()
        seen = self.witness.messages
        self.witness = self.peer("witness")
        self.witness.messages = seen
        self.witness.subscribe()

    def finish(self) -> Outcome:
        """Leaves, and gathers what was seen."""
        for client in self.clients:
            client.proxy.release()
            if client.is_up:
                client.settle()
                client.disconnect()
        for proxy in self.proxies:
            wait_for(lambda proxy=proxy: all(r.end for r in proxy.recordings), "every connection has ended")
        self.witness.settle()
        outcome = Outcome(events=list(self.notes))
        for number, client in enumerate(self.clients):
            outcome.events += [(number, *event) for event in client.events]
            outcome.calls += [(number, *call) for call in client.calls]
        for proxy in self.proxies:
            conversation(proxy.recordings, outcome)
            # Which packet it was is a matter of time, the statement and what is wrong is not.
            outcome.broken += [v.split()[0] for v in wire_rules.check(proxy.recordings)]
        outcome.witnessed = witnessed(self.witness.messages)
        return outcome

    def close(self) -> None:
        for client in self.clients:
            client.close()
        for peer in self.peers:
            peer.close()
        for proxy in self.proxies:
            proxy.close()
        self.server.stop()


@dataclass(frozen=True)
class Scenario:
    """A script, the version it is run with, and the differences that it shows."""

    script: Callable[[Run], None]
    version: int
    shows: tuple[str, ...]
    server: dict[str, object] = field(default_factory=dict)
    login: tuple[str, str] | None = None
    slow: bool = False  # runs beside the others
    files: Callable[[Path], dict[str, object]] | None = None  # writes what the server needs; its settings

    @property
    def name(self) -> str:
        return f"{self.script.__name__}[{VERSIONS[self.version]}]"

    def outcome(self, library: str, directory: Path) -> Outcome:
        """Of one of its runs."""
        directory.mkdir()
        settings = self.server | (self.files(directory) if self.files else {})
        run = Run(library, self.version, directory, settings, self.login)
        try:
            self.script(run)
            return run.finish()
        finally:
            run.close()

    def outcomes(self, directory: Path) -> dict[str, Outcome]:
        """Of all, at the same time: most of it is waiting."""
        found: dict[str, Outcome] = {}
        errors: list[BaseException] = []

        def one(library: str) -> None:
            try:
                found[library] = self.outcome(library, directory / library)
            except BaseException as error:
                error.add_note(f"with {library}")
                errors.append(error)

        threads = [threading.Thread(target=one, args=(library,)) for library in LIBRARIES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return found


SCENARIOS: list[Scenario] = []


def scenario(
    versions: Sequence[int] = (3, 4, 5),
    shows: str | dict[int, str] = "",
    server: dict[str, object] | None = None,
    login: tuple[str, str] | None = None,
    slow: bool = False,
    files: Callable[[Path], dict[str, object]] | None = None,
) -> Callable[[Callable[[Run], None]], Callable[[Run], None]]:
    """Enters a script into the list, once for each version. `shows` has identifiers with spaces between them, or those
    of each version."""

    def enter(script: Callable[[Run], None]) -> Callable[[Run], None]:
        for version in versions:
            names = shows.get(version, "") if isinstance(shows, dict) else shows
            SCENARIOS.append(Scenario(script, version, tuple(names.split()), server or {}, login, slow, files))
        return script

    return enter
