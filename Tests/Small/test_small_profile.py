"""The small profile (cmake/features.txt) at work: what it has works with a real server, and what it was built without is
refused, by each way to ask for it. SMQ_BUILD_DIR names the build: build/native-small, or build/TARGET-small."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import lists
import pytest

from Support import smq
from Support.proxy import Plan, first
from Support.smq import CONSTANTS, Message, library, reference

ROOT = Path(__file__).resolve().parents[2]
NOT_SUPPORTED = CONSTANTS["SMQ_ERR_NOT_SUPPORTED"]
COUNT = 300


@pytest.fixture(scope="session")
def smallest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("smallest") / "client"
    lists.link_smallest("gcc", smq.BUILD, program)
    return program


def run(program: Path, port: int, protocol: int, qos: int) -> list[int]:
    """What arrives of the numbers that the client publishes."""
    command = [str(program), "127.0.0.1", str(port), str(protocol), str(qos), str(COUNT)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert set(result.stderr.splitlines()) == {"connected"}
    return [int(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_publishes_and_subscribes(smallest, mosquitto, protocol, qos):
    assert run(smallest, mosquitto.port, protocol, qos) == list(range(COUNT))


@pytest.mark.parametrize("qos", [1, 2])
def test_reconnects(smallest, mosquitto, inject, protocol, qos):
    """Two connections are cut in the middle. Nothing is lost, and with QoS 2 nothing arrives twice."""
    plans = first(Plan(fault="reset", at=900), Plan(fault="close", at=1500))
    proxy = inject(mosquitto, plans)
    arrived = run(smallest, proxy.port, protocol, qos)
    assert proxy.accepted >= 3
    if qos == 2:
        assert arrived == list(range(COUNT))
    else:
        assert sorted(set(arrived)) == list(range(COUNT))


def test_a_message_larger_than_the_receive_buffer(mosquitto, clients):
    """It is dropped and reported, as in every build; before 5.0, where the server is not told of a limit."""
    with clients(url=mosquitto.url, protocol=4, receive_bytes=256) as client:
        client.connected()
        client.subscribe("small/#", qos=1, cookie=1)
        client.completed(1)
        mosquitto.publish("small/large", "x" * 5000, "-q", "1")
        mosquitto.publish("small/plain", "y", "-q", "1")
        event = client.wait_event(CONSTANTS["SMQ_EVENT_MESSAGE"])
        assert (event.status, event.payload_total) == (CONSTANTS["SMQ_ERR_RECEIVE_TOO_LARGE"], 5000)
        event = client.wait_event(CONSTANTS["SMQ_EVENT_MESSAGE"])
        assert (event.status, event.topic, event.payload) == (0, b"small/plain", b"y")


# ---- What is refused


def options(**values: object) -> Callable[[], int]:
    """What smq_options_check() answers."""
    values = {"url": "mqtt://127.0.0.1", "protocol": 5, **values}
    return lambda: library.smq_options_check(ctypes.byref(smq.Options(**values)), None)


def flag(name: str, **values: object) -> Callable[[], int]:
    return options(flags=CONSTANTS[f"SMQ_OPTION_{name}"], **values)


def client(call: Callable[[smq.Client], int]) -> Callable[[], int]:
    def answer() -> int:
        with smq.Client(url="mqtt://127.0.0.1", protocol=5) as client:
            before = client.stats
            status = call(client)
            assert client.stats == before, "the call changed something"
            return status

    return answer


def publish(**fields: object) -> Callable[[], int]:
    return client(lambda client: client.publish("topic", b"payload", **fields))


def engine(name: str, *arguments: object) -> Callable[[], int]:
    return client(lambda client: getattr(library, f"smq_engine_{name}")(client.handle, *arguments))


def runner_stop() -> int:
    return library.smq_runner_stop(ctypes.byref(smq.Runner()), 0)


def runner_start(client: smq.Client) -> int:
    return library.smq_runner_start(
        ctypes.byref(smq.Runner()), client.handle, ctypes.byref(smq.RunnerOptions()))


def place() -> object:
    return ctypes.byref(ctypes.c_void_p())


def size() -> object:
    return ctypes.byref(ctypes.c_size_t())


def respond(client: smq.Client) -> int:
    return library.smq_respond(client.handle, ctypes.byref(smq.RawEvent()), ctypes.byref(Message(payload=b"x")))


ADDRESS = b"127.0.0.1"
METHOD = smq.properties(authentication_method="SCRAM")
EXPIRY = smq.properties(message_expiry_interval=5)

# Of each feature, each way to ask for it.
REFUSED: dict[str, list[Callable[[], int]]] = {
    "MQTT_3_1": [options(protocol=3, client_id="small")],
    "FALLBACK": [flag("FALLBACK")],
    "TOPIC_ALIASES": [options(topic_aliases_in=1), options(topic_aliases_out=1), options(topic_alias_bytes=10)],
    "EXPIRY": [publish(expiry_s=5), publish(properties=EXPIRY)],
    "RESERVE": [
        client(lambda client: client.reserve("topic", 10)[0]),
        client(lambda client: client.commit(0)),
        client(lambda client: client.abort()),
    ],
    "STREAMS": [options(stream_bytes=64), client(lambda client: client.stream("topic", 10, lambda *_: 0))],
    "REFERENCES": [options(references=1), client(lambda client: client.lend("topic", (ctypes.c_char * 10)()))],
    "JOURNAL": [
        flag("KEEP_SESSION", client_id="id", journal=b"/tmp/journal"),
        client(lambda client: library.smq_sync(client.handle, 0)),
        client(lambda client: library.smq_journal_state(client.handle, ctypes.byref(smq.JournalInfo()))),
    ],
    "PARTS": [
        flag("PARTS"),
        client(lambda client: client.receive_into((ctypes.c_char * 10)())),
        client(lambda client: client.receive_into(None)),
    ],
    "REPLIES": [
        options(replies=1),
        client(lambda client: client.request("topic", b"x", "reply", 1000)),
        client(respond),
    ],
    "URGENT": [options(urgent_messages=1), options(urgent_bytes=64), publish(urgent=1)],
    "OVERFLOW": [publish(overflow=policy) for policy in (1, 2, 3)],
    "HANDLERS": [
        options(handlers=1),
        options(handler_bytes=10),
        client(lambda client: client.handle_filter(0, "topic")),
        client(lambda client: client.next_match("topic")),
    ],
    "AUTHENTICATION": [options(properties=METHOD), client(lambda client: client.authenticate(0x18))],
    "REDIRECT": [flag("REDIRECT")],
    "RACE": [],
    "QUESTIONS": [
        flag("ASK_CREDENTIALS"),
        flag("ASK_ADDRESSES"),
        options(credential_bytes=64),
        client(lambda client: client.credentials(1, "user", "password")),
        client(lambda client: client.withhold_credentials(1)),
        client(lambda client: client.addresses(1, "127.0.0.1")),
    ],
    "LOG": [client(lambda client: library.smq_set_log(client.handle, 3, smq.LOG(lambda *_: None), None))],
    "TAP": [
        options(trace_bytes=1024),
        client(lambda client: library.smq_add_observer(client.handle, ctypes.byref(smq.Observer()))),
        client(lambda client: library.smq_remove_observer(client.handle, ctypes.byref(smq.Observer()))),
        client(lambda client: library.smq_trace_read(client.handle, 1, None)),
        client(lambda client: library.smq_trace_clear(client.handle)),
        options(inspect="socket"),
    ],
    "WORDS": [],
    "ENGINE": [
        flag("OWN_TRANSPORT"),
        engine("opened", 0),
        engine("closed", 0, 0),
        client(lambda client: library.smq_engine_receive_buffer(client.handle, place(), size())),
        engine("received", 0, 0),
        client(lambda client: library.smq_engine_transmit(client.handle, 0, place(), size())),
        engine("transmitted", 0, 0),
        engine("next_timeout_ms", 0),
        engine("timed_out", 0),
    ],
    "RUNNER": [client(runner_start), runner_stop],
    "GROUP": [
        lambda: library.smq_group_init(smq.Block(4096).address, 4096, 1, place()),
        lambda: library.smq_group_close(smq.Block(4096).address),
        client(lambda client: library.smq_group_add(smq.Block(4096).address, client.handle)),
        client(lambda client: library.smq_group_remove(smq.Block(4096).address, client.handle)),
        lambda: library.smq_group_fd(smq.Block(4096).address),
        lambda: library.smq_group_next_timeout_ms(smq.Block(4096).address),
        lambda: library.smq_group_wait(smq.Block(4096).address, 0),
        lambda: library.smq_group_service(smq.Block(4096).address),
        lambda: library.smq_group_next_ready(smq.Block(4096).address, place()),
    ],
    "FAST_PATHS": [],
    "SUBMIT": [
        options(submit_messages=1),
        options(submit_bytes=64),
        client(lambda client: client.submit("topic", b"x")),
    ],
    "WEBSOCKET": [
        options(url="ws://127.0.0.1"),
        client(lambda client: library.smq_websocket_request(client.handle, None, None)),
    ],
    "PROXY": [options(proxy="socks5://127.0.0.1"), options(proxy="http://127.0.0.1")],
    "UNIX": [],
}


def test_every_feature_is_asked_for():
    assert list(REFUSED) == list(lists.FEATURES)


@pytest.mark.parametrize("name, call", [(name, call) for name, calls in REFUSED.items() for call in calls])
def test_refused(name, call):
    assert smq.status_name(call()) == "SMQ_ERR_NOT_SUPPORTED"


def test_size_and_init_refuse_alike():
    asked = smq.Options(url="mqtt://127.0.0.1", handlers=1)
    assert library.smq_client_size(ctypes.byref(asked)) == 0
    memory = smq.Block(65536)
    handle = ctypes.c_void_p()
    status = library.smq_client_init(memory.address, 65536, ctypes.byref(asked), ctypes.byref(handle))
    assert status == NOT_SUPPORTED
    assert memory.whole()
    assert not handle
