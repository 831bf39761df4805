"""The interface of paho-mqtt: the same scripts on paho-mqtt and, with only the import changed, on ours.

What paho-mqtt made of them is in paho_scripts/*.txt; where it can be installed from PyPI it is compared with that, too.
SMQ_PAHO_WRITE=1 writes it anew."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from Support.waiting import wait_for

from .conftest import PACKAGE, descriptors

SCRIPTS = sorted((Path(__file__).parent / "paho_scripts").glob("*.py"))
NAMES = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)


@pytest.fixture(scope="session")
def closed_server(tmp_path_factory):
    """A server that lets in who knows the password."""
    from Support.servers import Mosquitto

    directory = tmp_path_factory.mktemp("closed")
    command = ["mosquitto_passwd", "-c", "-b", directory / "passwords", "somebody", "right"]
    subprocess.run(command, check=True, timeout=30)
    server = Mosquitto(directory, allow_anonymous="false", password_file=str(directory / "passwords"))
    server.start()
    yield server
    server.stop()


def ways(request: pytest.FixtureRequest) -> str:
    """What the scripts over_… are told, in JSON: ports, files and proxies."""
    from Support.forward_proxies import Microsocks, Tinyproxy

    listeners, made, nginx = (request.getfixturevalue(name) for name in ("listeners", "certificates", "nginx"))
    forward = request.getfixturevalue("forward")
    return json.dumps(
        {
            **{name: address.port for name, address in listeners.listeners.items()},
            "unix": listeners["unix"].path,
            "nginx": nginx.port,
            "ca": str(made.ca_file),
            "certificate": str(made.client.file),
            "key": str(made.client.encrypted_key("secret of the key")),
            "socks": forward(Microsocks, login=("user", "pass")).port,
            "http": forward(Tinyproxy).port,
        }
    )


@pytest.fixture
def output(server, closed_server, level, tmp_path, request):
    def run(script: Path, python: str | Path, source: str) -> str:
        chosen = closed_server if script.stem in ("refused", "password") else server
        more = [ways(request)] if script.stem.startswith("over_") else []
        copy = tmp_path / script.name
        copy.write_text(source)
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [python, copy, chosen.host, str(chosen.port), level, *more],
            env=environment,
            capture_output=True,
            text=True,
            timeout=50,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        if "swiftmqtt" in source and not more:
            assert "Traceback" not in done.stderr and "swiftmqtt" not in done.stderr
        return done.stdout

    return run


# Before 3.11 an IntEnum prints otherwise; there the two are compared with each other alone.
PRINTS_AS_WRITTEN = sys.version_info >= (3, 11)


@NAMES
def test_as_paho_does(script, output, request):
    if PRINTS_AS_WRITTEN:
        expected = script.with_suffix(".txt").read_text()
    else:
        expected = output(script, request.getfixturevalue("with_requirements"), script.read_text())
    source = script.read_text().replace("paho.mqtt", "swiftmqtt.paho")
    assert output(script, sys.executable, source) == expected


@pytest.mark.skipif(not PRINTS_AS_WRITTEN, reason="what is written down is what Python 3.11 and later print")
@NAMES
def test_that_this_is_what_paho_does(script, output, with_requirements):
    said = output(script, with_requirements, script.read_text())
    if os.environ.get("SMQ_PAHO_WRITE"):
        script.with_suffix(".txt").write_text(said)
    assert said == script.with_suffix(".txt").read_text()


def test_everything_that_paho_has_is_there(with_requirements):
    """The public names of its modules, and those of its client."""
    listing = """
import importlib, sys
sys.path.insert(0, sys.argv[2])
client = importlib.import_module(f"{sys.argv[1]}.client")
print(*(name for name in vars(client) if name.startswith(("MQTT", "CONN", "mqtt_ms"))), sep="\\n")
modules = [("properties", "Properties"), ("reasoncodes", "ReasonCode"), ("subscribeoptions", "SubscribeOptions")]
modules += [("client", "Client"), ("client", "MQTTMessage"), ("client", "MQTTMessageInfo")]
modules += [("packettypes", "PacketTypes"), ("matcher", "MQTTMatcher")]
for module, name in modules:
    known = getattr(importlib.import_module(f"{sys.argv[1]}.{module}"), name)
    print(*(f"{name}.{member}" for member in dir(known) if not member.startswith("_")), sep="\\n")
for module in ("publish", "subscribe", "enums"):
    known = importlib.import_module(f"{sys.argv[1]}.{module}")
    functions = [n for n, v in vars(known).items() if getattr(v, "__module__", "") == known.__name__ and n[0] != "_"]
    print(*functions, sep="\\n")
"""

    def names(package: str) -> set[str]:
        command = [with_requirements, "-c", listing, package, PACKAGE]
        run = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert run.returncode == 0, run.stderr
        return set(run.stdout.split())

    # Its own parsers, an iterator's second name; and what python/README.md says there is not.
    inner = {"Properties.readProperty", "Properties.writeProperty", "MQTTMatcher.Node", "MQTTMessageInfo.next"}
    assert names("paho.mqtt") - names("swiftmqtt.paho") == inner | {"Client.drop_out_messages"}


# ---- What only ours is asked


@pytest.fixture
def mqtt():
    import swiftmqtt.paho.client

    return swiftmqtt.paho.client


def test_the_module_itself_has_the_names(mqtt):
    import swiftmqtt.paho

    assert swiftmqtt.paho.Client is mqtt.Client and swiftmqtt.paho.MQTTv5 == 5
    assert issubclass(swiftmqtt.paho.MQTTException, Exception)


@pytest.mark.parametrize("call", ["enable_bridge_mode()", "connect_srv('example.org')"])
def test_what_there_is_not_says_so(mqtt, call):
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    with pytest.raises(NotImplementedError, match="libswiftmqtt"):
        eval(f"client.{call}")
    with pytest.raises(ValueError, match="bind_port"):
        client.connect("localhost", bind_port=1234)


@pytest.mark.parametrize("arguments", [(), (False,), (False, "my data"), (False, "my data", 3)])
def test_the_arguments_of_paho_1(mqtt, arguments):
    """The client id comes first, and callbacks are those of version 1."""
    with pytest.warns(DeprecationWarning) as warned:
        client = mqtt.Client("my client id", *arguments)
    assert warned[0].filename == __file__
    given = (client._client_id, client._clean_session, client.user_data_get(), client.protocol)
    assert given == (b"my client id", *[*arguments, *(True, None, 4)[len(arguments) :]])
    assert client.callback_api_version is mqtt.CallbackAPIVersion.VERSION1
    client.message_retry_set(20)


def test_a_logger_of_its_own(mqtt):
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.enable_logger()
    assert client.logger.name == mqtt.__name__


def test_what_packages_on_top_of_paho_ask_for(mqtt, server):
    """aiomqtt and asyncio-mqtt catch an exception that is never raised, and look at attributes that are not public."""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, "somebody")
    client.transport = "tcp"
    with pytest.raises(ValueError, match='must be "websockets", "tcp" or "unix", not udp'):
        client.transport = "udp"
    assert client._sock is None and client._client_id == b"somebody"
    try:
        client.connect(server.host, server.port)
    except mqtt.WebsocketConnectionError:
        raise
    assert client._sock is client.socket()
    client.socket().setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)
    with pytest.raises(RuntimeError):
        client.transport = "tcp"
    client.disconnect()


def test_a_loop_of_ones_own_that_only_reads(mqtt, server, level):
    """What there is to do is done by loop_read(): nothing waits for the next loop_misc()."""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    got: list[int] = []
    client.on_connect = lambda c, *_: c.subscribe(level, 1)
    client.on_subscribe = lambda c, *_: c.publish(level, bytes(200_000), 1)
    client.on_message = lambda c, u, message: got.append(len(message.payload))
    client.connect(server.host, server.port)
    while not got:
        assert select.select([client.socket()], [], [], 20)[0]
        client.loop_read()
    assert got == [200_000]
    client.disconnect()


def test_in_the_place_of_paho(environment):
    """For packages on top of paho-mqtt, whether that is there or not."""
    code = """
import swiftmqtt.paho
swiftmqtt.paho.replace_paho()
import paho.mqtt, paho.mqtt.client as mqtt, paho.mqtt.publish
from paho import mqtt as package
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt import client, MQTTException
from paho.mqtt.exception import MalformedPacket
import paho.mqtt.properties, paho.mqtt.packettypes
import importlib.util
assert all(importlib.util.find_spec(name) for name in ("paho", "paho.mqtt", "paho.mqtt.client"))
assert paho.mqtt.__version__ == "2.2.0"
assert issubclass(MalformedPacket, MQTTException)
assert mqtt is client is swiftmqtt.paho.client and paho.mqtt is package is swiftmqtt.paho
assert CallbackAPIVersion is mqtt.CallbackAPIVersion and paho.mqtt.properties.Properties is mqtt.Properties
"""
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=30)


def test_the_keep_alive_of_the_server(mqtt, start_mosquitto):
    """What the server says counts (MQTT 5.0, 3.2.2.3.14), and is no reason for another link."""
    server = start_mosquitto(max_keepalive="42")
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    client.connect(server.host, server.port)
    while not client.is_connected() or client.keepalive == 60:
        client.loop()
    assert client.keepalive == 42
    link = client._link
    client.reconnect()
    assert client._link is link
    client.disconnect()


@pytest.mark.parametrize("protocol", [4, 5])
def test_reconnecting(mqtt, start_mosquitto, level, protocol):
    """The loop's thread connects again; what has QoS 1 and 2 is delivered then; subscriptions are on_connect's
    affair."""
    server = start_mosquitto()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=protocol)
    told: list[str] = []
    got: list[bytes] = []

    def on_connect(client, userdata, flags, code, properties):
        told.append("connect")
        client.subscribe(level, 2)

    client.on_connect = on_connect
    client.on_subscribe = lambda *_: told.append("subscribe")
    client.on_disconnect = lambda c, u, flags, code, p: told.append(f"disconnect {code}")
    client.on_connect_fail = lambda *_: told.append("fail")
    client.on_pre_connect = lambda *_: told.append("before")
    client.on_message = lambda c, u, message: got.append(message.payload)
    client.reconnect_delay_set(1, 1)
    client.connect(server.host, server.port)
    client.loop_start()
    wait_for(lambda: "subscribe" in told)
    server.kill()
    wait_for(lambda: "fail" in told)
    infos = [client.publish(level, f"{qos}", qos) for qos in (0, 1, 2)]
    assert [info.rc for info in infos] == [mqtt.MQTT_ERR_NO_CONN] * 3
    server.start()
    for info in infos[1:]:
        info.rc = 0
        info.wait_for_publish(20)
    wait_for(lambda: len(got) == 2)
    assert sorted(got) == [b"1", b"2"] and not client._unfinished
    assert told[:3] == ["before", "connect", "subscribe"]
    assert told[3].startswith("disconnect ") and told[-2:] == ["connect", "subscribe"]
    client.disconnect()
    client.loop_stop()


def test_options_that_change_between_connections(mqtt, start_mosquitto, level):
    """A new password: what was not delivered goes with the new connection."""
    server = start_mosquitto()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.reconnect_delay_set(1, 1)
    passwords = []

    def on_pre_connect(client, userdata):
        passwords.append(f"token {len(passwords)}")
        client.username_pw_set("me", passwords[-1])

    client.on_pre_connect = on_pre_connect
    client.connect(server.host, server.port)
    client.loop_start()
    wait_for(client.is_connected)
    server.kill()
    wait_for(lambda: not client.is_connected())
    info = client.publish(level, "kept", 1, retain=True)
    server.start()
    wait_for(lambda: info._published)
    assert len(passwords) > 1
    client.disconnect()
    client.loop_stop()


def test_connect_again_from_on_disconnect(mqtt, server):
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    connected = []

    def on_disconnect(client, userdata, flags, code, properties):
        if len(connected) < 3:
            client.reconnect()

    def on_connect(client, *_):
        connected.append(1)
        client.disconnect()

    client.on_connect, client.on_disconnect = on_connect, on_disconnect
    client.connect(server.host, server.port)
    client.loop_forever()
    assert len(connected) == 3


def test_connecting_again_waits_for_nothing(mqtt, server, monkeypatch):
    """But for what happens on the way: a wait for anything else would never end here."""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    sleep = client._sleep

    def wait_long(link, seconds):
        began = time.monotonic()
        sleep(link, 30)
        assert time.monotonic() - began < 30

    client.connect(server.host, server.port)
    while not client.is_connected():
        client.loop()
    monkeypatch.setattr(client, "_sleep", wait_long)
    for _ in range(4):
        client.reconnect()
    client._close_connection()


def test_a_callback_may_wait_for_another_thread_that_publishes(mqtt, server, level):
    """No lock is held while a callback runs."""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    done = threading.Event()

    def on_message(client, userdata, message):
        if message.payload == b"begin":
            thread = threading.Thread(target=client.publish, args=(level, "end"))
            thread.start()
            thread.join(10)
            assert not thread.is_alive()
        else:
            done.set()

    client.on_connect = lambda c, *_: c.subscribe(level)
    client.on_subscribe = lambda c, *_: c.publish(level, "begin")
    client.on_message = on_message
    client.connect(server.host, server.port)
    client.loop_start()
    assert done.wait(20)
    client.disconnect()
    client.loop_stop()


def test_the_bell_is_heard_however_often_it_rings(mqtt, monkeypatch):
    """A ring that comes while another is heard does not make it dumb."""
    from swiftmqtt import _bell

    bell, read = _bell.Bell(), os.read
    bell.ring()

    def read_late(descriptor: int, size: int) -> bytes:
        bell.ring()
        return read(descriptor, size)

    with monkeypatch.context() as patched:
        patched.setattr(_bell.os, "read", read_late)
        bell.quiet()
    bell.ring()
    assert select.select([bell.fileno()], [], [], 0)[0]


def test_more_than_fits(mqtt, server, level):
    """A payload that is larger than the outbox, and more messages than it has places."""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    large = bytes(range(256)) * 24_000  # six megabytes
    got: list[int] = []
    client.on_message = lambda c, u, message: got.append(len(message.payload))
    subscribed = threading.Event()
    client.on_subscribe = lambda *_: subscribed.set()
    client.on_connect = lambda c, *_: c.subscribe(level, 1)
    client.connect(server.host, server.port)
    client.loop_start()
    assert subscribed.wait(10)
    infos = [client.publish(level, large, 1)] + [client.publish(level, b"x" * 1000, 1) for _ in range(10_000)]
    for info in infos:
        info.wait_for_publish(40)
    wait_for(lambda: len(got) == 10_001)
    assert got[0] == len(large) and set(got[1:]) == {1000}
    client.disconnect()
    client.loop_stop()


def test_nothing_is_left_of_clients_that_come_and_go(mqtt, server):
    def once() -> None:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.connect(server.host, server.port)
        client.loop_start()
        client.publish("a", "b", 1).wait_for_publish(10)
        client.disconnect()
        client.loop_stop()

    once()
    before = descriptors()
    for _ in range(20):
        once()
    assert descriptors() == before and threading.active_count() == 1


def test_settings_are_for_a_client_without_a_connection(with_requirements, server):
    """From connect() on they raise, until disconnect(): what paho-mqtt does, said by both."""
    script = """
import sys, threading
import paho.mqtt.client as mqtt
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
names = dict(host="h", port=1, keepalive=5, connect_timeout=3, username="u", password="p", transport="tcp",
             max_inflight_messages=5, max_queued_messages=7)
def attempt(when):
    for name, value in names.items():
        try:
            setattr(client, name, value)
            print(when, name, "is set")
        except Exception as error:
            print(when, name, type(error).__name__, error)
    for call in (lambda: client.max_inflight_messages_set(3), lambda: client.max_queued_messages_set(3),
                 lambda: client.username_pw_set("a", "b"), lambda: client.will_set("w"), client.will_clear):
        try:
            call()
            print(when, "called")
        except Exception as error:
            print(when, type(error).__name__, error)
attempt("before")
client.username_pw_set(None)
ready = threading.Event()
client.on_connect = lambda *_: ready.set()
client.connect(sys.argv[1], int(sys.argv[2]))
attempt("behind connect()")
client.loop_start()
assert ready.wait(20)
attempt("connected")
client.disconnect()
client.loop_stop()
attempt("afterwards")
"""

    def output(python: object, source: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [str(python), "-c", source, server.host, str(server.port)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50)
        assert done.returncode == 0, done.stderr
        return done.stdout

    ours = output(sys.executable, script.replace("paho.mqtt", "swiftmqtt.paho"))
    assert ours == output(with_requirements, script)
    assert "connected username RuntimeError updating username on established connection is not supported" in ours


@pytest.mark.parametrize("qos", [1, 2])
def test_the_mid_of_a_message_that_arrived_is_the_wires(mqtt, broker, qos):
    from Support.scripted_broker import SUBSCRIBE, Script, answer_then, publish

    sends = [publish("a", b"x", qos, identifier=identifier) for identifier in (9, 65_535)]
    sends.append(publish("a", b"x", qos, identifier=300, dup=1))
    broker.scripts = [Script(on={SUBSCRIBE: [answer_then(*sends)]})]
    client, came, done = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, manual_ack=True), [], threading.Event()

    def on_message(client, userdata, message):
        came.append((message.mid, message.qos, message.dup))
        assert client.ack(message.mid, message.qos) == mqtt.MQTT_ERR_SUCCESS
        if len(came) == 3:
            done.set()

    client.on_message = on_message
    client.on_connect = lambda *_: client.subscribe("a", qos)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    assert done.wait(20)
    client.disconnect()
    client.loop_stop()
    assert came == [(9, qos, False), (65_535, qos, False), (300, qos, True)]
