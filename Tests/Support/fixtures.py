"""Fixtures: real servers, the scripted broker, and mosquitto_sub as an independent witness."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from . import scripted_broker, wire_rules
from .certificates import Certificates
from .forward_proxies import ForwardProxy
from .many_listeners import ManyListeners
from .nginx import Nginx
from .proxy import Injector, Planner
from .recording import Proxy
from .routes import Routes
from .servers import Ejabberd, Mosquitto, Server, Subscriber


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


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def listeners(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[ManyListeners]:
    """A Mosquitto for all tests. What is retained stays: see `level`."""
    server = ManyListeners(tmp_path_factory.mktemp("listeners"), certificates)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def nginx(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates, listeners: ManyListeners
) -> Iterator[Nginx]:
    """In front of the WebSocket listener of `listeners`."""
    with Nginx(tmp_path_factory.mktemp("nginx"), certificates, listeners["ws"].port) as server:
        yield server


@pytest.fixture
def forward(tmp_path: Path) -> Iterator[Callable[..., ForwardProxy]]:
    """forward(Squid, login=…) is a proxy that has started."""
    started: list[ForwardProxy] = []

    def start(kind: type[ForwardProxy], **settings: object) -> ForwardProxy:
        started.append(kind(tmp_path / f"{kind.__name__.lower()}-{len(started)}", **settings))
        started[-1].start()
        return started[-1]

    yield start
    for proxy in started:
        proxy.stop()


@pytest.fixture(scope="session")
def ejabberd(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[Ejabberd]:
    """One for all tests: it takes a second to start. What is retained stays: see `level`."""
    server = Ejabberd(tmp_path_factory.mktemp("ejabberd"), certificates)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def tls(certificates: Certificates) -> Iterator[object]:
    """Settings that trust the tests' root."""
    from .tls import Tls  # loads the library

    with Tls(ca_file=certificates.ca_file) as settings:
        yield settings


@pytest.fixture(scope="session")
def routes(
    request: pytest.FixtureRequest, tls: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Routes]:
    made = Routes(request, tls, tmp_path_factory.mktemp("routes"))
    with made.stack:
        yield made


@pytest.fixture
def level() -> str:
    """A topic level of this test's own, where the server is not."""
    return f"test-{uuid.uuid4()}"


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
def recorded(tmp_path: Path) -> Iterator[Callable[..., Proxy]]:
    """recorded(server, …) is a proxy before it, for one client. In the end two judges look at all that
    went through: tshark, and our own rules, of which those named by the test may be broken."""
    started: list[tuple[Proxy, tuple[str, ...]]] = []

    def start(server: Server, *allowed: str) -> Proxy:
        started.append((Proxy(server, tmp_path / f"{len(started)}.pcap"), allowed))
        return started[-1][0]

    yield start
    for proxy, allowed in started:
        proxy.close()
    for proxy, allowed in started:
        proxy.dissect()
        violations = wire_rules.check(proxy.recordings)
        assert [v for v in violations if v.split()[0] not in allowed] == []


@pytest.fixture
def inject() -> Iterator[Callable[..., Injector]]:
    """inject(server, plans) is a proxy before it that does what the plans say."""
    made: list[Injector] = []

    def make(server: object, planner: Planner = None, seed: int = 1) -> Injector:
        more = (planner,) if planner else ()
        made.append(Injector(server.port, *more, seed=seed))
        return made[-1]

    yield make
    for injector in made:
        injector.close()


@pytest.fixture
def broker() -> Iterator[scripted_broker.Broker]:
    """The scripted broker, good until a test gives it scripts. No client may have broken a rule."""
    with scripted_broker.Broker() as broker:
        yield broker
        assert broker.violations == []


@pytest.fixture
def clients() -> Iterator[Callable[..., object]]:
    """Makes clients and closes them."""
    from . import smq  # loads the library

    made: list[smq.Client] = []

    def make(**options: object) -> smq.Client:
        made.append(smq.Client(**options))
        return made[-1]

    yield make
    for client in made:
        client.close()
