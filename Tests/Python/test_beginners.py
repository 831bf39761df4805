"""Small scripts as somebody writes them who has not read the manual: each does what was meant, or says what is wrong,
and with another status than 0. None loses a message in silence."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
import swiftmqtt
import swiftmqtt.aio
from Support.servers import free_port

from . import pythons

IMPORTS = "import os, sys, time, threading\nimport swiftmqtt\nfrom swiftmqtt import Client\n"


@pytest.fixture
def script(server, level, environment):
    """Runs a script to its end: status, stdout, stderr."""

    def run(text: str, *, python: str = sys.executable, url: str = server.url, **more: Any) -> tuple[int, str, str]:
        text = IMPORTS + f"URL, TOPIC = {url!r}, {level!r}\n" + text
        command = [python, "-X", "dev", "-c", text]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, **more)
        assert "Fatal" not in done.stderr and done.returncode >= 0, done.stderr
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def arrived(server, level):
    """The payloads that came, once there are so many."""
    with swiftmqtt.Client(server.url) as witness:
        witness.subscribe(f"{level}/#", 2).wait(10)
        yield lambda count: [witness.receive(10).text() for _ in range(count)]


EVERY_PYTHON = pytest.mark.parametrize("python", pythons.found().values(), ids=pythons.found())

PUBLISHING = {
    "ends behind publish()": "client = Client(URL); client.connect(); client.publish(TOPIC, 'a', qos=QOS)",
    "sleeps": "client = Client(URL); client.connect(); client.publish(TOPIC, 'a', qos=QOS); time.sleep(0.5); os._exit(0)",
    "leaves a block": "with Client(URL) as client: client.publish(TOPIC, 'a', qos=QOS)",
    "a function's own": "def f():\n client = Client(URL); client.connect(); client.publish(TOPIC, 'a', qos=QOS)\nf()",
    "a thread's": "client = Client(URL); client.connect()\n"
    "threading.Thread(target=lambda: (time.sleep(0.1), client.publish(TOPIC, 'a', qos=QOS))).start()",
    "in a callback": "client = Client(URL); client.on_connected = lambda _: client.publish(TOPIC, 'a', qos=QOS)\n"
    "client.connect()",
    "before connect()": "client = Client(URL); client.publish(TOPIC, 'a', qos=QOS); client.connect()",
    "with an exit": "client = Client(URL); client.connect(); client.publish(TOPIC, 'a', qos=QOS); sys.exit(0)",
    "submits": "client = Client(URL); client.connect(); client.submit(TOPIC, 'a', qos=QOS)",
    "of a process of multiprocessing": "import multiprocessing\n"
    "def f():\n client = Client(URL); client.connect(); client.publish(TOPIC, 'a', qos=QOS)\n"
    "child = multiprocessing.get_context('fork').Process(target=f); child.start(); child.join(); sys.exit(child.exitcode)",
    "of a process of multiprocessing whose parent had a client": "import multiprocessing.util\nClient(URL).close()\n"
    "def f():\n global client; client = Client(URL); client.connect(wait=False); client.publish(TOPIC, 'a', qos=QOS)\n"
    "child = multiprocessing.get_context('fork').Process(target=f); child.start(); child.join(); sys.exit(child.exitcode)",
    "an exit in a block": "client = Client(URL); client.connect(wait=False)\n"
    "with client: client.publish(TOPIC, 'a', qos=QOS); sys.exit(0)",
    "a generator that is left": "def f():\n"
    " client = Client(URL); client.connect(wait=False)\n"
    " with client: client.publish(TOPIC, 'a', qos=QOS); yield\n"
    "next(f())",
    "a task that has not begun": "import asyncio, swiftmqtt.aio\n"
    "async def main():\n"
    " async with swiftmqtt.aio.Client(URL) as client: task = asyncio.create_task(client.publish(TOPIC, 'a', qos=QOS))\n"
    " await task\n"
    "asyncio.run(main())",
    "a task that has not begun, and disconnect()": "import asyncio, swiftmqtt.aio\n"
    "async def main():\n"
    " client = swiftmqtt.aio.Client(URL); await client.connect()\n"
    " task = asyncio.create_task(client.publish(TOPIC, 'a', qos=QOS)); await client.disconnect(); await task\n"
    "asyncio.run(main())",
}


@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize("name", PUBLISHING)
def test_a_message_arrives(script, arrived, name, qos):
    status, out, err = script(PUBLISHING[name].replace("QOS", str(qos)))
    assert (status, out, err) == (0, "", "")
    assert arrived(1) == ["a"]


@pytest.mark.parametrize("leaves", ["sys.exit(0)", "pass"])
def test_an_exit_in_a_block_of_asyncio(script, arrived, leaves):
    status, out, err = script(f"""
import asyncio, swiftmqtt.aio
async def main():
    async with swiftmqtt.aio.Client(URL, in_flight_maximum=1) as client:
        for number in range(50):
            client.publish_soon(TOPIC, number, qos=1)
        {leaves}
asyncio.run(main())
""")
    assert (status, out, err) == (0, "", "")
    assert arrived(50) == [str(number) for number in range(50)]


PAHO = """import swiftmqtt.paho.client as paho
client = paho.Client(paho.CallbackAPIVersion.VERSION2)
def connect(): client.connect("127.0.0.1", int(URL.rpartition(":")[2]))
"""
PUBLISHING_WITH_PAHO = {
    "no loop": "connect(); client.publish(TOPIC, 'a', QOS)",
    "no loop, and a sleep": "connect(); client.publish(TOPIC, '', QOS)\n"
    "time.sleep(0.5); client.publish(TOPIC, 'a', QOS); time.sleep(0.5); os._exit(0)",
    "no loop, and disconnect()": "connect(); client.publish(TOPIC, 'a', QOS); client.disconnect()",
    "a thread": "connect(); client.loop_start(); client.publish(TOPIC, 'a', QOS)",
    "a thread, and disconnect()": "connect(); client.loop_start(); client.publish(TOPIC, 'a', QOS); client.disconnect()",
    "a thread that ended": "connect(); client.loop_start(); client.publish(TOPIC, 'a', QOS); client.loop_stop()",
    "on_connect raises": "client.on_connect = lambda *_: 1 / 0; client.suppress_exceptions = True; connect()\n"
    "client.loop_start(); time.sleep(0.5); client.publish(TOPIC, 'a', QOS); client.disconnect()",
}


@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize("name", PUBLISHING_WITH_PAHO)
def test_a_message_of_a_paho_client_arrives(script, arrived, name, qos):
    began = time.monotonic()
    status, out, err = script(PAHO + PUBLISHING_WITH_PAHO[name].replace("QOS", str(qos)))
    assert (status, out, err) == (0, "", "") and time.monotonic() - began < 20
    came = arrived(2 if name == "no loop, and a sleep" else 1)
    assert came[-1] == "a"


def test_a_paho_client_whose_on_connect_raises(script, arrived):
    """The exception ends the loop, as with paho-mqtt; what is published goes out all the same."""
    began = time.monotonic()
    status, _, err = script(PAHO + """
client.on_connect = lambda *_: 1 / 0
connect()
try:
    client.loop_forever()
except ZeroDivisionError:
    client.publish(TOPIC, "a", 1)
    client.disconnect()
""")
    assert (status, err) == (0, "") and time.monotonic() - began < 20
    assert arrived(1) == ["a"]


def test_a_message_of_a_paho_client_that_cannot_arrive(script):
    status, _, err = script(PAHO + "client.publish(TOPIC, 'a', 1)")
    assert status == 120 and "swiftmqtt: 1 message was not delivered" in err


def test_a_child_leaves_the_messages_of_its_parent_alone(script, arrived):
    status, out, err = script(PAHO + """
import multiprocessing, swiftmqtt.aio, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork() with threads, from Python 3.12 on
mine = swiftmqtt.aio.Client(URL)
mine.submit("lost", "b")
connect(); client.publish(TOPIC, "a", 1)
for _ in range(2):
    child = multiprocessing.get_context("fork").Process(target=print); child.start(); child.join()
    assert child.exitcode == 0
warnings.simplefilter("ignore", swiftmqtt.UndeliveredWarning)
mine.close()
if os.fork() == 0:
    sys.exit(0)
assert os.wait()[1] == 0
""")
    assert (status, err) == (0, "") and arrived(1) == ["a"]


def test_a_sensor_that_sleeps(script, arrived):
    """Nothing runs the client but its own thread: it also stays alive, longer than its keep_alive_s."""
    status, out, err = script("""
client = Client(URL, keep_alive_s=1)
client.connect()
for number in range(4):
    client.publish(TOPIC, number)
    time.sleep(1)
assert client.is_connected and client.stats["connections"] == 1
client.disconnect()
""")
    assert (status, out, err) == (0, "", "")
    assert arrived(4) == ["0", "1", "2", "3"]


def test_printing_for_a_while(script, level):
    status, out, err = script("""
with Client(URL) as client:
    client.subscribe(TOPIC)
    client.publish(TOPIC, "hello")
    for message in client.messages(timeout=1):
        print(message.topic, message.text())
""")
    assert (status, out, err) == (0, f"{level} hello\n", "")


NOWHERE = f"mqtt://127.0.0.1:{free_port()}"
REFUSED = f"SMQ_ERR_NETWORK: the network failed, {NOWHERE[7:]}, Connection refused, stage connect"
#: What a script does, and what it says. Status 120 is all that Python has for the end of a script.
LOSING = {
    "no connection in a block": (
        "client = Client(URL); client.connect(wait=False)\nwith client: client.publish(TOPIC, 'a')",
        1,
        rf"swiftmqtt.errors.UndeliveredError: 1 message was not delivered: '(\S+)'; {REFUSED}",
    ),
    "no connection at the end": (
        "client = Client(URL); client.connect(wait=False); [client.publish(TOPIC, 'a', qos=1) for _ in range(3)]",
        120,
        rf"swiftmqtt: 3 messages were not delivered: '(\S+)' \(3\); {REFUSED}",
    ),
    "never connected": (
        "Client(URL).publish(TOPIC, 'a'); client = Client(URL); client.publish(TOPIC, 'b')",
        120,
        r"swiftmqtt: 1 message was not delivered: '(\S+)'; connect\(\) was never called",
    ),
    "an exit with a status": (
        "client = Client(URL); client.publish(TOPIC, 'b'); sys.exit(3)",
        120,
        r"swiftmqtt: 1 message was not delivered: '(\S+)'; connect\(\) was never called",
    ),
    "an exit in a block": (
        "client = Client(URL); client.connect(wait=False)\nwith client: client.publish(TOPIC, 'a'); sys.exit(0)",
        1,
        rf"swiftmqtt.errors.UndeliveredError: 1 message was not delivered: '(\S+)'; {REFUSED}",
    ),
    "a generator that is left": (
        "def f():\n"
        " client = Client(URL); client.connect(wait=False)\n"
        " with client: client.publish(TOPIC, 'a'); yield\n"
        "next(f())",
        0,
        r".*UndeliveredWarning: 1 message was not delivered: '(\S+)'; .*",
    ),
    "closed at once": (
        "client = Client(URL); client.publish(TOPIC, 'a'); client.close()",
        0,
        r".*UndeliveredWarning: 1 message was not delivered: '(\S+)'; connect\(\) was never called",
    ),
    "an exception on its way": (
        "client = Client(URL); client.connect(wait=False)\nwith client:\n client.publish(TOPIC, 'a'); 1 / 0",
        1,
        rf".*UndeliveredWarning: 1 message was not delivered: '(\S+)'; [\s\S]*\nZeroDivisionError: division by zero",
    ),
    "of a process of multiprocessing": (
        "import multiprocessing\n"
        "def f():\n global client; client = Client(URL); client.publish(TOPIC, 'a')\n"
        "child = multiprocessing.get_context('fork').Process(target=f); child.start(); child.join()\n"
        "sys.exit(child.exitcode)",
        1,
        r"swiftmqtt: 1 message was not delivered: '(\S+)'; connect\(\) was never called",
    ),
    "a thread of one's own": (
        "client = Client(URL, run=False); client.publish(TOPIC, 'a', qos=1)",
        120,
        r"swiftmqtt: 1 message was not delivered: '(\S+)'; connect\(\) was never called",
    ),
}


@pytest.mark.parametrize("name", LOSING)
def test_a_message_that_cannot_arrive(script, level, name):
    text, wanted, told = LOSING[name]
    status, _, err = script(text, url=NOWHERE)
    found = re.search(rf"^{told}$", err.strip(), re.M)
    assert found and found[1] == level and status == wanted, (status, err)


@EVERY_PYTHON
def test_the_end_of_a_script_under_every_python(script, arrived, python):
    """Also with threads that wait, and a callback that does not return: no crash, the status, and what was published."""
    status, _, err = script(
        """
client = Client(URL); client.connect(); client.publish(TOPIC, "a", qos=2)
other = Client(URL); other.connect(); other.subscribe("never")
threading.Thread(target=other.receive, daemon=True).start()
lost = Client(URL); lost.publish("lost", "b")
""",
        python=python,
    )
    assert status == 120 and "1 message was not delivered: 'lost'" in err and "Traceback" not in err
    assert arrived(1) == ["a"]


def test_a_callback_that_does_not_return(script, arrived):
    began = time.monotonic()
    status, _, err = script("""
client = Client(URL); client.on_connected = lambda _: time.sleep(100)
client.connect(wait=False); time.sleep(0.5); client.publish(TOPIC, "a")
""")
    assert time.monotonic() - began < 30 + 20 and "has not returned" in err or "was not delivered" in err
    assert arrived(1) == ["a"]


def test_a_wrong_host_and_a_wrong_port(script):
    status, _, err = script("with Client('mqtt://no.such.host.invalid'): pass")
    assert status == 1 and "no.such.host.invalid:1883" in err and "the host name has no address" in err
    status, _, err = script("Client(URL).connect()", url=NOWHERE)
    assert status == 1 and err.strip().endswith(f"swiftmqtt.errors.TransportError: {REFUSED}")
    status, _, err = script("Client(host='127.0.0.1', port=1).connect()")
    assert status == 1 and "127.0.0.1:1" in err


@pytest.mark.parametrize(
    "text, told",
    [
        ("Client(URL, keepalive=60)", "TypeError: there is no option 'keepalive': did you mean keep_alive_s?"),
        (
            "Client(URL).on_message = print",
            "AttributeError: a swiftmqtt client has no attribute 'on_message': messages come from receive(), messages(), "
            "or a loop: for message in client",
        ),
        (
            "Client(URL).on_conected = print",
            "AttributeError: a swiftmqtt client has no attribute 'on_conected': did you mean on_connected?",
        ),
        ("Client(URL).qos = 1", "AttributeError: a swiftmqtt client has no attribute 'qos'"),
        (
            "Client(URL).recieve()",
            "AttributeError: a swiftmqtt client has no attribute 'recieve': did you mean receive?",
        ),
        (
            "class Mine(Client):\n def on_message(self, message): pass",
            "TypeError: a method on_message() would never be called: messages come from receive(), messages(), or a loop: "
            "for message in client",
        ),
        ("import swiftmqtt.aio; swiftmqtt.aio.Client(URL).on_message = print", "AttributeError: a swiftmqtt client has"),
    ],
)
def test_a_typing_error(script, text, told):
    status, _, err = script(text)
    assert status == 1 and err.strip().splitlines()[-1].startswith(told)


@pytest.mark.parametrize("text", ["for m in client: pass", "client.run()", "client.run(1)", "client.receive(1)"])
def test_a_forgotten_connect(script, text):
    status, _, err = script(f"client = Client(URL); {text}" if text[0] != "f" else f"client = Client(URL)\n{text}")
    assert status == 1 and err.strip().endswith("ArgumentError: SMQ_ERR_STATE: connect() was never called")


def test_a_forgotten_connect_with_asyncio(script):
    status, _, err = script("""
import asyncio, swiftmqtt.aio
async def main():
    async for message in swiftmqtt.aio.Client(URL).messages:
        pass
asyncio.run(main())
""")
    assert status == 1 and err.strip().endswith("ArgumentError: SMQ_ERR_STATE: connect() was never called")


@pytest.mark.parametrize(
    "call, told",
    [
        ("c.subscribe({'a/b': 2})", 'filters is a list of Subscription("a/b", qos=2), not dict'),
        ("c.subscribe([])", "filters is empty"),
        ("c.unsubscribe([])", "filters is empty"),
        ("c.subscribe(('a', 1))", 'a filter is a text, or Subscription("a/b", qos=1), not 1'),
        ("c.subscribe([('a', 1)])", """a filter is a text, or Subscription("a/b", qos=1), not ('a', 1)"""),
        ("c.subscribe(b'a')", "filters is a text, a Subscription, or a list of these, not bytes"),
        ("c.subscribe('a', no_local='no')", "no_local is True or False, not 'no'"),
        ("c.publish('a', retain='false')", "retain is True or False, not 'false'"),
        ("c.publish('a', retain=2)", "retain is True or False, not 2"),
        ("c.publish('a', urgent=None)", "urgent is True or False, not None"),
        ("c.publish('a', quiet='yes')", "quiet is True or False, not 'yes'"),
        ("c.publish('a', properties={'content_type': 'b'})", "properties is a swiftmqtt.Properties, not dict"),
        ("setattr(c, 'on_connected', 5)", "on_connected is a function, not int"),
        ("c.connect(wait='no')", "wait is True or False, not 'no'"),
        ("Client(U, run='no')", "run is True or False, not 'no'"),
        ("Client(U, reconnect='no')", "reconnect is True or False, not 'no'"),
        ("Client(U, keep_session='no')", "the option keep_session is True or False, not 'no'"),
        ("Client(U, will=swiftmqtt.Will('a', retain='no'))", "the Will's retain is True or False, not 'no'"),
        ("Client('localhost:x')", "the URL 'localhost:x' is wrong at byte 10: 'x'"),
        ("Client('me:secret@h:0')", "the URL '…@h:0' is wrong at byte 12: '0'"),
        ("Client('localhost/topic')", "the URL 'localhost/topic' is wrong at byte 10: 'topic'"),
        ("Client('a b')", "the URL 'a b' is wrong at byte 1: ' b'"),
        ("Client(host='mqtt://h')", "the option host is a name or an address; a URL is the first argument"),
        ("Client('ssl://h')", "the scheme is mqtts://"),
        ("Client('https://h')", "the scheme is mqtt:// or mqtts://, and for a WebSocket ws:// or wss://"),
        ("Client('stomp://h')", "the scheme is STOMP's, which swiftmqtt.stomp.Client speaks"),
        ("Client('amqp://h')", "the URL begins with amqp://, and MQTT has mqtt://, mqtts://, ws://, wss:// and unix:/"),
        ("Client('me:secret@h://')", "the URL '…@h://' is wrong at byte 12: '//'"),
        (
            "c.publish('a', overflow='newest')",
            "overflow is \"refuse\" or \"drop_oldest\" or \"drop_newest\" or \"latest\", not 'newest'",
        ),
        ("Client('unix:socket')", "'unix:socket' is no URL: unix:/path, with a path from the root on"),
        ("Client(U, proxy='localhost:1080')", "the option proxy is a URL, socks5://[user:password@]host[:port] or http://…"),
        ("Client('TCP://h')", "the scheme is mqtt://"),
        ("Client(U, tls='yes')", "tls is True, a swiftmqtt.TLS or a swiftmqtt.TLSContext, not str"),
        ("Client(U, ca_certs='ca.pem')", "there is no option 'ca_certs': it is a part of tls: tls=swiftmqtt.TLS(ca_file=…)"),
        (
            "Client(U, transport='websockets')",
            "there is no option 'transport': the scheme says it: mqtt://, mqtts://, ws://, wss:// or unix:",
        ),
        (
            "c.publish('a', bytes(2_000_000))",
            "topic, properties and payload have 2000001 bytes, and outbox_bytes is 1048576: publish_stream() has no such "
            "limit, or make it larger",
        ),
        (
            "c.submit('a', bytes(2000))",
            "topic, properties and payload have 2001 bytes, and submit_bytes is 1024: publish() takes larger ones, or make "
            "it larger",
        ),
        (
            "[c.publish('a', bytes(200_000)) for _ in range(9)]",
            "there is no room now: outbox_messages is 4096 and outbox_bytes 1048576; publish(…, timeout=None) waits for "
            "room, and overflow says what may be dropped",
        ),
        ("[c.submit('a') for _ in range(999)]", "there is no room now: submit_messages is 256; try again later, or make it larger"),
        ("swiftmqtt.aio.Client(U).__enter__()", "swiftmqtt.aio.Client is for async with, not for with"),
        ("next(iter(swiftmqtt.aio.Client(U)))", "messages come from async for message in client.messages"),
        ("asyncio.run(over(swiftmqtt.aio.Client(U)))", "messages come from async for message in client.messages"),
        ("asyncio.run(into(c))", "swiftmqtt.Client is for with, not for async with: that is swiftmqtt.aio.Client"),
        ("asyncio.run(over(c))", "swiftmqtt.Client is for for, not for async for: that is swiftmqtt.aio.Client"),
    ],
)
@pytest.mark.filterwarnings("ignore::swiftmqtt.UndeliveredWarning")
def test_what_is_wrong_is_said_in_words(call, told):
    async def over(client):
        async for _ in client:
            pass

    async def into(client):
        async with client:
            pass

    with contextlib.closing(swiftmqtt.Client(NOWHERE)) as c:
        known = {"c": c, "U": NOWHERE, "Client": swiftmqtt.Client, "over": over, "into": into}
        with pytest.raises((swiftmqtt.Error, TypeError)) as raised:
            eval(call, {**globals(), **known})
        assert (getattr(raised.value, "detail", "") or str(raised.value)) == told
        c.on_connected = None


def test_a_host_and_a_port_where_a_url_is(server, level):
    for place in (server.url.removeprefix("mqtt://"), server.url.removeprefix("mqtt://") + "/"):
        with swiftmqtt.Client(place) as client:
            client.subscribe(level).wait(10)
            client.publish(level, place).wait(10)
            assert client.receive(10).text() == place
    with pytest.raises(swiftmqtt.TransportError, match=REFUSED):
        swiftmqtt.Client(NOWHERE.removeprefix("mqtt://"), reconnect=False).connect()


def test_the_server_takes_no_packets_so_large(start_mosquitto):
    server = start_mosquitto(max_packet_size="1000")
    with swiftmqtt.Client(server.url) as client:
        with pytest.raises(swiftmqtt.ArgumentError, match="have 2001 bytes, and the server takes packets of up to 1000 bytes"):
            client.publish("a", bytes(2000))


def test_publishing_while_leaving(server, level):
    told = []

    def publish(_):
        try:
            client.publish(level)
        except swiftmqtt.ArgumentError as error:
            told.append(error.detail)

    client = swiftmqtt.Client(server.url)
    client.on_connected = lambda _: (client.disconnect(), publish(_))
    client.connect(wait=False)
    client.run(10)
    client.close()
    assert told == ["the client is leaving the server"]


@pytest.mark.parametrize(
    "answer, told", [("me:secret", "str"), (("me",), "tuple of 1"), ({"me": "secret"}, "dict"), (["a", "b", "c"], "list of 3")]
)
def test_credentials_of_a_wrong_shape(server, answer, told, monkeypatch):
    seen = []
    monkeypatch.setattr(threading, "excepthook", seen.append)
    client = swiftmqtt.Client(server.url, credentials=lambda attempt: answer)
    with pytest.raises(swiftmqtt.TransportError):
        client.connect()
    client.close()
    assert seen[0].exc_value.detail == f"the credentials hook returns (user_name, password), not {told}"


def test_an_address_and_not_a_list_of_them(server):
    port = int(server.url.rpartition(":")[2])
    with swiftmqtt.Client(host="some.where", port=port, resolve=lambda host, port: "127.0.0.1") as client:
        assert client.is_connected


def test_a_class_of_ones_own_has_what_it_wants(server, level):
    class Mine(swiftmqtt.Client):
        def __init__(self, url: str):
            super().__init__(url)
            self.count = 0

        def on_connected(self, connected: swiftmqtt.Connected) -> None:
            self.count += 1

    with Mine(server.url) as client:
        assert client.count == 1
        with pytest.raises(AttributeError):
            client.on_publish = print


def test_an_exception_in_a_callback_is_shown_and_the_client_goes_on(script, arrived):
    status, _, err = script("""
def on_connected(connected):
    print(1 / 0)
with Client(URL) as client:
    client.on_connected = on_connected
    client.disconnect()
    client.connect()
    client.publish(TOPIC, "after it", qos=1).wait(10)
""")
    assert status == 0 and "Exception in thread swiftmqtt" in err and "ZeroDivisionError: division by zero" in err
    assert "in on_connected" in err and arrived(1) == ["after it"]


@pytest.mark.parametrize("waiting", ["client.receive(20)", "token.wait()", "[time.sleep(0.05) or client.publish('a') for _ in iter(int, 1)]"])
def test_an_exit_in_a_callback_ends_the_program(script, waiting):
    status, _, err = script(f"""
with Client(URL) as client:
    token = client.request("nobody", response_topic="listens", timeout=30)
    client.publish(TOPIC, qos=1).add_done_callback(lambda token: sys.exit("that is enough"))
    {waiting}
""")
    assert status == 1 and "that is enough" in err and "Traceback" not in err


@pytest.mark.parametrize(
    "call",
    ["client.receive()", "client.publish('a', qos=1).wait()", "client.connect()", "client.run(5)", "next(iter(client))",
     "client.request('a').wait()"],
)  # fmt: skip
def test_a_callback_cannot_wait(script, call):
    """It says so, instead of waiting for itself; what does not wait, it may call."""
    status, out, err = script(f"""
def on_connected(connected):
    try:
        {call}
    except swiftmqtt.ArgumentError as error:
        print(error)
    client.publish(TOPIC, "x").add_done_callback(lambda token: client.disconnect())
client = Client(URL)
client.on_connected = on_connected
client.connect()
client.run(10)
assert client.state == swiftmqtt.State.DISCONNECTED
""")
    assert (status, err) == (0, "")
    assert "a callback cannot wait" in out or call == "client.connect()" and "connect() is for a client" in out


def test_control_c_in_a_loop_that_sleeps(server, level, environment):
    text = f"""{IMPORTS}
with Client({server.url!r}) as client:
    print("runs", flush=True)
    while True:
        client.publish({level!r}, "x")
        time.sleep(0.05)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", text], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "runs\n"
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert told.splitlines()[-1] == "KeyboardInterrupt" and process.returncode == -signal.SIGINT


def test_after_fork_the_client_is_the_parents(script, arrived):
    status, out, err = script("""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork() with threads, from Python 3.12 on
client = Client(URL); client.connect()
if os.fork() == 0:
    try:
        client.publish(TOPIC, "child")
    except swiftmqtt.ClosedError as error:
        print(error, flush=True)
    with Client(URL) as own:
        own.publish(TOPIC, "of its own", qos=1)
    sys.exit(0)
os.wait()
client.publish(TOPIC, "parent", qos=1)
""")
    assert (status, err) == (0, "") and "after fork() the client is the parent's" in out
    assert arrived(2) == ["of its own", "parent"]


def test_a_message_that_was_refused_is_told(start_mosquitto, tmp_path):
    """Whoever looks at the token knows; who does not, is told at the end of the block."""
    acl = tmp_path / "acl"
    acl.write_text("topic readwrite open/#\n")
    acl.chmod(0o700)
    server = start_mosquitto(acl_file=str(acl))
    with pytest.raises(swiftmqtt.UndeliveredError, match="'closed'.*Not authorized") as told:
        with swiftmqtt.Client(server.url) as client:
            client.publish("closed", "a", qos=1)
            client.publish("open/a", "a", qos=1)
    assert (told.value.count, told.value.topics) == (1, ("closed",))
    assert isinstance(told.value.__cause__, swiftmqtt.PeerError)
    with swiftmqtt.Client(server.url) as client, pytest.raises(swiftmqtt.PeerError):
        client.publish("closed", "a", qos=1).wait(10)


def test_many_threads_use_one_client(server, level):
    """Publishing, and taking what came, each thread as it likes."""
    with swiftmqtt.Client(server.url) as client:
        client.subscribe(level, 1).wait(10)
        came: list[str] = []
        def publish(number: int) -> None:
            for count in range(200):
                client.publish(level, f"{number} {count}", qos=1, timeout=20)

        def take() -> None:
            for _ in range(400):
                came.append(client.receive(20).text())

        threads = [threading.Thread(target=publish, args=(number,)) for number in range(4)]
        threads += [threading.Thread(target=take) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(40)
        assert sorted(came) == sorted(f"{number} {count}" for number in range(4) for count in range(200))


@pytest.mark.parametrize("protocol", [4, 5])
def test_a_program_that_does_not_keep_up(server, level, protocol):
    """Messages wait at the server then, and nothing is lost, though Mosquitto does not count what it has sent."""
    with swiftmqtt.Client(server.url) as sends, swiftmqtt.Client(server.url, protocol=protocol, inbox_maximum=10) as slow:
        slow.subscribe(level, 1).wait(10)
        for number in range(2000):
            token = sends.publish(level, number, qos=1, timeout=10)
        token.wait(10)
        time.sleep(0.2)
        assert len(slow._waiting_messages) <= 10
        assert [slow.receive(10).text() for _ in range(2000)] == [str(number) for number in range(2000)]
        assert slow.stats["connections"] == 1
