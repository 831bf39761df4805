"""The examples, as somebody would run them, against a real Mosquitto. sensord and small have files of their own.

With SMQ_TARGET that target's programs run under qemu-user. The broker is native.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from Support.servers import free_port, need
from Support.waiting import PATIENCE, wait_for
from .test_sensord import BUILD, QEMU, TARGET

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "examples-c").glob("*.[ch]"))
# Those that need another library are tried in Tests/TLS.
PROGRAMS = [path.stem for path in SOURCES if path.suffix == ".c" and path.stem not in ("tls", "tls_bearssl")]
BRIDGE = """
import os, select, socket, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    for ready in select.select([0, server], [], [])[0]:
        data = os.read(0, 4096) if ready == 0 else server.recv(4096)
        if not data:
            sys.exit()
        server.sendall(data) if ready == 0 else os.write(1, data)
"""


class Program(subprocess.Popen):
    """One that runs; what it says can be read while it does."""

    def __init__(self, directory: Path, name: str, *arguments: object, out: str = "out"):
        self.out, self.err = directory / out, directory / "err"
        emulator = [need(QEMU[0]), *QEMU[1:]] if QEMU else []
        with self.out.open("wb") as out, self.err.open("wb") as err:
            super().__init__(
                [*emulator, str(BUILD / "examples" / name), *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                text=True,
            )

    @property
    def said(self) -> str:
        return self.out.read_text()

    @property
    def complained(self) -> str:
        return self.err.read_text()

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> None:
        wait_for(lambda: condition() or self.poll() is not None, self.complained, timeout)
        assert condition(), f"it ended with {self.returncode}: {self.complained}"

    def end(self, number: int = signal.SIGTERM, timeout: float = PATIENCE) -> int:
        self.send_signal(number)
        return self.wait(timeout)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    running: list[Program] = []

    def start(name: str, *arguments: object, **more: str) -> Program:
        directory = tmp_path / f"{name}-{len(running)}"
        directory.mkdir()
        running.append(Program(directory, name, *arguments, **more))
        return running[-1]

    yield start
    for program in running:
        program.kill()
        program.wait()
        program.stdin.close()


@pytest.fixture
def returning(mosquitto, subscribe):
    """A witness for whom the server keeps everything, however often it is stopped and started."""
    return lambda *topics: subscribe(mosquitto, *topics, more=("-c", "-i", "returning"))


def payloads(witness, topic: str) -> list[str]:
    return [m.payload.decode() for m in list(witness.messages) if m.topic == topic]


# ---- What holds for all of them ----


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_short_enough_to_be_read(path):
    assert len(path.read_text().splitlines()) < 150


def test_each_has_a_test():
    here = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in PROGRAMS if not re.search(rf'run\("{name}"|"examples" / "{name}"', here)] == []


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("dry", "sensord", "through")])
def test_wrong_url(run, name):
    """It says where, and tells nobody the password."""
    program = run(name, "mqtt://user:secret@host:99999")
    assert program.wait(PATIENCE) in (1, 2)
    assert program.complained.startswith("SMQ_ERR_URL: wrong at byte 24; a URL is mqtt://")
    assert "secret" not in program.complained


@pytest.mark.parametrize("name", ["fleet", "listen", "logger", "submit", "subscribe", "transit"])
def test_told_to_stop_while_nobody_is_there(run, name):
    program = run(name, f"mqtt://127.0.0.1:{free_port()}")
    program.until(lambda: "Connection refused" in program.complained)
    assert program.end() in (0, 1)


@pytest.mark.parametrize("name, wrong", [
    ("fleet", "DEVICES"), ("logger", "PERIOD_MS"), ("small", "COUNT"), ("submit", "SAMPLES")])
@pytest.mark.parametrize("text", ["0", "-1", "x", "1x", "", "99999999999"])
def test_wrong_number(run, name, wrong, text):
    program = run(name, "mqtt://127.0.0.1", text)
    assert program.wait(PATIENCE) == 2
    assert program.complained.startswith(f"{name}: {wrong} takes a number from 1 to ")


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("dry", "sensord", "through")])
def test_too_many_arguments(run, name):
    """It does not leave out what it does not know."""
    program = run(name, "mqtt://127.0.0.1", *["1", "1", "1", "1"][: usage(name).count("[") - 1], "surplus")
    assert program.wait(PATIENCE) == 2
    assert program.complained == f"{name}: surplus is one argument too many\n"


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("dry", "sensord", "through")])
def test_an_empty_url(run, name):
    program = run(name, "")
    assert program.wait(PATIENCE) in (1, 2)
    assert program.complained == "SMQ_ERR_OPTION: the URL is empty\n"


@pytest.mark.parametrize("name", ["dry", "listen", "request", "runner", "small", "submit", "subscribe"])
def test_what_it_prints_goes_nowhere(run, mosquitto, name):
    mosquitto.publish("gateway/a/load", "b", "-r")
    arguments = {"dry": [], "submit": [mosquitto.url, 3]}.get(name, [mosquitto.url])
    program = run(name, *arguments, out="/dev/full")
    assert program.wait(PATIENCE) == 2
    assert program.complained == f"{name}: cannot print: No space left on device\n"


def usage(name: str) -> str:
    """As the comment at the head of its source has it."""
    return re.search(rf"\b{name} \[URL[^.:\n]*\]", (ROOT / "examples-c" / f"{name}.c").read_text())[0]


# ---- One by one ----


def test_publish(run, mosquitto, subscriber):
    assert run("publish", mosquitto.url).wait(PATIENCE) == 0
    (message,) = subscriber.take(1)
    assert (message.topic, message.qos, message.payload) == ("greetings/hello", 1, b"Hello from C")
    alone = run("publish", f"mqtt://127.0.0.1:{free_port()}")
    assert alone.wait(PATIENCE) == 1
    assert alone.complained == "SMQ_ERR_NETWORK, stage connect: Connection refused\n"


def test_subscribe(run, mosquitto):
    """Each message goes to the first handler that matches; the program outlives its server."""
    program = run("subscribe", mosquitto.url)
    mosquitto.publish("gateway/b1/status", "online", "-r")
    program.until(lambda: program.said)
    assert program.said in ("b1 is online\n", "b1 is online, as it was before\n")
    for value in (20, 21):
        mosquitto.publish("gateway/b2/temperature/cpu", str(value))
    mosquitto.publish("gateway/b2/load/average", "x" * 5000, "-q", "1")
    mosquitto.publish("gateway/b2/load/average", "0.1")
    program.until(lambda: program.said.endswith("average: 0.1\n"))
    assert program.said.splitlines()[1:] == [
        "b2, temperature 1 of cpu: 20",
        "b2, temperature 2 of cpu: 21",
        "gateway/b2/load/average: 0.1",  # the other one the server was told not to send
    ]
    mosquitto.stop()
    program.until(lambda: "SMQ_ERR_" in program.complained)
    mosquitto.start()
    mosquitto.publish("gateway/b3/status", "offline", "-r")
    program.until(lambda: "b3 is offline" in program.said)
    assert program.end() == 0


def test_subscribe_to_what_is_no_filter(run, mosquitto):
    program = run("subscribe", mosquitto.url, "a/#/b")
    assert program.wait(PATIENCE) == 1
    assert program.complained == "SMQ_ERR_TOPIC_FILTER\n"


def test_request(run, mosquitto):
    program = run("request", mosquitto.url)
    assert program.wait(PATIENCE) == 0, program.complained
    assert re.fullmatch(r"\d\d:\d\d:\d\d\n", program.said)
    mosquitto.stop()
    alone = run("request", mosquitto.url)
    assert alone.wait(PATIENCE) == 1
    assert "Connection refused" in alone.complained


def test_gateway(run, mosquitto, returning):
    """While the server is away only the latest value of each topic is kept, and the alarm goes first."""
    witness = returning("alarm", "t/+")
    mosquitto.stop()
    gateway = run("gateway", mosquitto.url)
    for number in range(50):
        gateway.stdin.write(f"t/{number % 5} {number}\n")
    gateway.stdin.write("!alarm fire\n")
    gateway.stdin.flush()
    gateway.until(lambda: "waiting " in gateway.complained)
    time.sleep(0.3)  # for the lines, which go another way; should it read them later it fails below
    mosquitto.start()
    got = [(m.topic, m.payload) for m in witness.take(6)]
    assert got == [("alarm", b"fire"), *((f"t/{n}", b"%d" % (45 + n)) for n in range(5))]
    gateway.stdin.close()
    assert gateway.wait(PATIENCE) == 0
    assert "attempt 1 0\n" in gateway.complained and "connected 4 0\n" in gateway.complained


def test_gateway_whose_input_ends_at_once(run, mosquitto, subscriber):
    """What was read before there is a connection arrives all the same, the last line without its end too."""
    gateway = run("gateway", mosquitto.url)
    gateway.communicate("t/1 a\n!alarm b\nt/2 c", timeout=PATIENCE)
    assert gateway.returncode == 0
    assert [(m.topic, m.payload) for m in subscriber.take(3)] == [("alarm", b"b"), ("t/1", b"a"), ("t/2", b"c")]


def test_gateway_with_nobody_there(run):
    """It does not wait for ever, and does not say that all is well."""
    start = time.monotonic()
    gateway = run("gateway", f"mqtt://127.0.0.1:{free_port()}")
    gateway.communicate("t/1 a\n" + "!alarm b\n" * 17, timeout=PATIENCE)
    assert gateway.returncode == 1
    assert 5 <= time.monotonic() - start
    assert gateway.complained.count("alarm lost: alarm: SMQ_ERR_FULL\n") == 1
    assert gateway.complained.endswith("messages not delivered: 17\n")


def test_fleet(run, mosquitto, subscribe):
    """A thousand clients, each of whom the server knows; they leave without a Will, and are lost with one."""
    devices = 50 if TARGET else 1000
    witness = subscribe(mosquitto, "fleet/#")

    def latest() -> list[bytes]:
        return list({m.topic: m.payload for m in list(witness.messages) if m.topic.endswith("/status")}.values())

    def are(payload: bytes) -> Callable[[], bool]:
        return lambda: latest() == [payload] * devices

    fleet = run("fleet", mosquitto.url, devices, 2)
    fleet.until(are(b"online"))
    assert f"{devices} connected\n" in fleet.said
    fleet.until(lambda: len({m.topic for m in list(witness.messages) if m.topic.endswith("/uptime")}) == devices)
    assert fleet.end() == 0, fleet.complained
    assert fleet.complained == ""
    wait_for(are(b"offline"))
    fleet = run("fleet", mosquitto.url, devices, 2)
    fleet.until(are(b"online"))
    fleet.kill()
    wait_for(are(b"offline"))


def test_logger(run, mosquitto, returning):
    """What is not delivered is counted: every number has come, or is in log/lost."""
    witness = returning("log/#")
    logger = run("logger", mosquitto.url, 5, 50)
    logger.until(lambda: len(witness.messages) > 20)
    mosquitto.stop()
    logger.until(lambda: "Connection refused" in logger.complained)
    time.sleep(1)  # more records than there is room for
    mosquitto.start()
    logger.until(lambda: payloads(witness, "log/lost"))
    count = len(witness.messages)
    logger.until(lambda: len(witness.messages) > count + 60)
    assert logger.end() == 0, logger.complained

    def numbers() -> list[int]:
        return sorted({int(text.split()[0]) for text in payloads(witness, "log/load")})

    wait_for(lambda: numbers()[-1] - len(numbers()) == int(payloads(witness, "log/lost")[-1]), "a balance")
    assert int(payloads(witness, "log/lost")[-1]) > 0
    first_gap = next(n for n, after in zip(numbers(), numbers()[1:]) if after != n + 1)
    assert first_gap > 20


def test_logger_with_a_journal(run, mosquitto, returning, tmp_path):
    """Records that one logger could not deliver before it was killed are the next one's."""
    mosquitto.stop()
    journal = tmp_path / "log.journal"
    first = run("logger", mosquitto.url, 10, 500, journal)
    first.until(lambda: first.complained.count("Connection refused") > 1)
    first.kill()
    mosquitto.start()
    witness = returning("log/#")
    second = run("logger", mosquitto.url, 10, 500, journal)
    second.until(lambda: len(payloads(witness, "log/load")) > 60)
    assert second.end() == 0, second.complained
    recovered = int(second.complained.split("records of an earlier logger: ")[1].split()[0])
    numbers = [int(text.split()[0]) for text in payloads(witness, "log/load")]
    assert recovered > 10 and numbers[:recovered] == list(range(1, recovered + 1))


def test_logger_that_stood_still(run, mosquitto, subscribe):
    """It does not make up for the records that it could not take."""
    witness = subscribe(mosquitto, "log/load")
    logger = run("logger", mosquitto.url, 100)
    witness.until(lambda: len(witness.messages) > 2)
    logger.send_signal(signal.SIGSTOP)
    time.sleep(3)
    stood = len(witness.messages)
    logger.send_signal(signal.SIGCONT)
    witness.until(lambda: len(witness.messages) > stood + 30)
    seconds = [text.split()[1] for text in payloads(witness, "log/load")]
    assert max(map(seconds.count, seconds)) <= 12  # ten, and two for the edges


def test_logger_that_ends_without_a_server(run):
    logger = run("logger", f"mqtt://127.0.0.1:{free_port()}", 5, 50)
    logger.until(lambda: "Connection refused" in logger.complained)
    assert logger.end() == 1
    assert re.search(r"^records not delivered: [1-9]\d*$", logger.complained, re.M)


def test_transit(run, mosquitto):
    """What arrives is shown for each vehicle, and what is no position is counted. test_transit.py has the feed."""
    program = run("transit", mosquitto.url)
    program.until(lambda: "Received SUBSCRIBE" in mosquitto.log.read_text())
    topic = "/hfp/v2/journey/ongoing/vp/bus/0022/%s/2551/1"
    mosquitto.publish(topic % "00001", '{"VP":{"desi":"550","lat":60.5,"long":null,"dl":-62}}')
    mosquitto.publish(topic % "00002", '{"VP":')
    mosquitto.publish("/hfp/v2/journey/ongoing/vp/bus/0022", '{"VP":{}}')
    program.until(lambda: "0022/00001" in program.said)
    assert program.end() == 0
    assert program.said.split() == ["0022/00001", "550", "60.5", "-", "-62", "-"]
    assert program.complained.startswith("3 messages of 1 vehicles, 2 malformed, 0 ")


def test_submit(run, mosquitto, subscriber):
    program = run("submit", mosquitto.url, 30)
    assert program.wait(PATIENCE) == 0, program.complained
    assert re.fullmatch(r"30 samples, 0 missed, 0 not sent, at most \d+ waiting\n", program.said)
    samples = subscriber.take(30)
    assert {m.topic for m in samples} == {"example/lateness-us"}
    assert all(int(m.payload) >= 0 for m in samples)


def test_submit_stopped(run, mosquitto, subscriber):
    program = run("submit", mosquitto.url, 1_000_000)
    subscriber.until(lambda: len(subscriber.messages) > 10)
    status = program.end()
    taken, missed, lost = map(int, re.findall(r"\d+", program.said)[:3])
    # It keeps a time: where others have the processor for long, it misses samples, and says so.
    assert (status, lost) == (1 if missed else 0, 0), program.complained
    assert len(subscriber.take(taken - missed)) == taken - missed


def test_submit_with_nobody_there(run):
    submit = run("submit", f"mqtt://127.0.0.1:{free_port()}", 3)
    assert submit.wait(PATIENCE) == 1
    assert submit.said.startswith("3 samples, 0 missed, 3 not sent")


def test_runner(run, mosquitto, subscriber):
    program = run("runner", mosquitto.url)
    assert program.wait(PATIENCE) == 0, program.complained
    assert program.said == "200 of 200 delivered\n"
    subscriber.until(lambda: len(subscriber.messages) == 200)
    for topic in ("count/one", "count/two"):
        assert payloads(subscriber, topic) == [str(number) for number in range(1, 101)]
    alone = run("runner", f"mqtt://127.0.0.1:{free_port()}")
    assert alone.wait(PATIENCE) == 1
    assert alone.said == "0 of 200 delivered\n"
    assert "Connection refused" in alone.complained


def test_listen(run, mosquitto):
    mosquitto.publish("a/b", "c", "-r")
    listen = run("listen", mosquitto.url, "a/+")
    listen.until(lambda: listen.said == "a/b: c\n")
    mosquitto.publish("a/c", "x" * 5000)
    listen.until(lambda: listen.complained == "SMQ_ERR_RECEIVE_TOO_LARGE\n")  # and not as if it were empty
    mosquitto.publish("a/d", "e")
    listen.until(lambda: listen.said == "a/b: c\na/d: e\n")
    assert listen.end(signal.SIGINT) == 0


def test_through(run, mosquitto, tmp_path):
    """The engine speaks through a command, and starts another one when that has ended."""
    bridge = tmp_path / "bridge.py"
    bridge.write_text(BRIDGE)
    mosquitto.publish("a/b", "1", "-r")
    through = run("through", "a/#", sys.executable, bridge, mosquitto.port)
    through.until(lambda: through.said == "a/b: 1\n")
    mosquitto.kill()
    mosquitto.start()
    mosquitto.publish("a/c", "2", "-r")
    through.until(lambda: "a/c: 2\n" in through.said)
    assert through.end() == 0


def test_through_a_command_that_ends_at_once(run):
    """It is told as soon as that is seen, whether reading or sending shows it, and tried again."""
    through = run("through", "#", "false")
    through.until(lambda: through.complained.count("\n") >= 2)
    for line in through.complained.splitlines()[:2]:
        assert line.startswith(("SMQ_ERR_CLOSED, ", "SMQ_ERR_NETWORK, "))
    assert through.end() == 0


def test_through_a_command_that_heeds_no_signal(run):
    through = run("through", "#", "sh", "-c", "trap '' TERM; echo ready >&2; while :; do sleep 0.1; done")
    through.until(lambda: "ready\n" in through.complained)
    assert through.end() == 0


def test_through_no_command(run):
    through = run("through", "#", "/no such command")
    through.until(lambda: through.complained.startswith("/no such command: No such file or directory\n"))


def test_dry(run):
    """A day in no time: a PINGREQ each ten seconds at most, and no more than one in eight."""
    dry = run("dry")
    assert dry.wait(PATIENCE) == 0
    *sent, last = dry.said.splitlines()
    assert sent[0].endswith("first 0x10")
    assert last.endswith("still connected")
    pings = (int(last.split()[3]) - 20) // 2
    assert 8640 <= pings <= 10800
