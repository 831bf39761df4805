"""The main job: sensord reads sensors and publishes them to a real Mosquitto.

With SMQ_TARGET that target's sensord runs under qemu-user. The broker is native.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import lists
import pytest

from Support.cbor import decoded
from Support.scripted_broker import CONNECT, PUBACK, Broker, Script
from Support.servers import Received, free_port, need
from Support.waiting import PATIENCE, wait_for

TARGET = lists.chosen()
QEMU = TARGET.emulator if TARGET else []
BUILD = lists.chosen_build()
SENSORD = [*([need(QEMU[0]), *QEMU[1:]] if QEMU else []), str(BUILD / "examples" / "sensord")]

FILES = {  # a made-up board: file -> what is in it
    "proc/loadavg": "0.12 0.34 0.56 1/82 4917\n",
    "proc/uptime": "1159.87 2242.31\n",
    "proc/meminfo": "MemTotal:       24684112 kB\nMemFree:    1 kB\nMemAvailable:   24308144 kB\n",
    "proc/net/dev": "Inter-|   Receive                    |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n"
    "    lo:    3193      29    0    0    0     0          0         0     3194      30    0    0\n"
    "wlan0.7:18446744073709551615 2 3 0 0 0 0 0 4 5 6 0 0 0 0 0\n",
    "sys/class/thermal/thermal_zone0/temp": "41500\n",
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "sys/class/thermal/thermal_zone1/temp": "-7250\n",
    "sys/class/thermal/thermal_zone2/temp": "",  # a sensor that is asleep
    "sys/class/hwmon/hwmon3/name": 'odd "name"/+#\\\n',
    "sys/class/hwmon/hwmon3/temp1_input": "55000\n",
    "sys/class/hwmon/hwmon3/temp2_input": "56001\n",
    "sys/bus/iio/devices/iio:device0/name": "bme280\n",
    "sys/bus/iio/devices/iio:device0/in_temp_input": "21730\n",
    "sys/bus/iio/devices/iio:device0/in_pressure_input": "101.325\n",
    "sys/bus/iio/devices/iio:device1/name": "ads1015\n",
    "sys/bus/iio/devices/iio:device1/in_voltage0_raw": "100\n",
    "sys/bus/iio/devices/iio:device1/in_voltage0_scale": "2.5\n",
    "sys/bus/iio/devices/iio:device1/in_voltage12_raw": "-100\n",
    "sys/bus/iio/devices/iio:device1/in_voltage_scale": "0.5\n",
    "sys/bus/iio/devices/iio:device1/in_count_raw": "7\n",
}
NETWORK = ("rx_bytes", "rx_packets", "rx_errors", "tx_bytes", "tx_packets", "tx_errors")
READINGS = {  # topic below gateway/<id>/ -> QoS, JSON without its time
    "load/average": (0, {"minute_1": 0.12, "minute_5": 0.34, "minute_15": 0.56}),
    "uptime/system": (2, {"seconds": 1159.87}),
    "memory/ram": (1, {"total_kb": 24684112, "available_kb": 24308144}),
    "network/lo": (1, dict(zip(NETWORK, (3193, 29, 0, 3194, 30, 0)))),
    "network/wlan0.7": (1, dict(zip(NETWORK, (18446744073709551615, 2, 3, 4, 5, 6)))),
    "temperature/thermal_zone0_temp": (1, {"sensor": "cpu-thermal", "value": 41.5}),
    "temperature/thermal_zone1_temp": (1, {"sensor": "", "value": -7.25}),
    "temperature/hwmon3_temp1_input": (1, {"sensor": "odd__name_____", "value": 55.0}),
    "temperature/hwmon3_temp2_input": (1, {"sensor": "odd__name_____", "value": 56.001}),
    "iio/iio_device0_in_temp_input": (1, {"sensor": "bme280", "value": 21730.0}),
    "iio/iio_device0_in_pressure_input": (1, {"sensor": "bme280", "value": 101.325}),
    "iio/iio_device1_in_voltage0_raw": (1, {"sensor": "ads1015", "value": 250.0}),
    "iio/iio_device1_in_voltage12_raw": (1, {"sensor": "ads1015", "value": -50.0}),
    "iio/iio_device1_in_count_raw": (1, {"sensor": "ads1015", "value": 7.0}),
}


class Sensord:
    def __init__(self, directory: Path, *flags: object):
        self.out, self.err = directory / "sensord.out", directory / "sensord.err"
        with self.out.open("w") as out, self.err.open("w") as err:
            command = [*SENSORD, *map(str, flags), "--verbose"]
            self.process = subprocess.Popen(command, stdout=out, stderr=err, text=True)

    def wait(self, timeout: float = PATIENCE) -> int:
        return self.process.wait(timeout)

    def log(self) -> str:
        return self.out.read_text()

    def published(self) -> dict[int, Received]:
        """By its own log: cookie -> message."""
        lines = re.findall(r"^published (\d+) ([012]) (\S+) (.*)$", self.log(), re.M)
        return {
            int(cookie): Received(topic, int(qos), 0, payload.encode())
            for cookie, qos, topic, payload in lines
        }

    def completed(self) -> dict[int, str]:
        lines = re.findall(r"^completed (\d+) (\w+)$", self.log(), re.M)
        assert len({cookie for cookie, _ in lines}) == len(lines), "completed twice"
        return {int(cookie): status for cookie, status in lines}

    def figures(self) -> dict[str, float]:
        line = self.log().splitlines()[-1]
        return {name: float(number) for number, name in re.findall(r"([\d.]+) ([a-z ]+)", line)}


@pytest.fixture
def sensord(tmp_path: Path) -> Iterator[Callable[..., Sensord]]:
    started: list[Sensord] = []

    def start(*flags: object) -> Sensord:
        directory = tmp_path / f"sensord-{len(started)}"
        directory.mkdir()
        started.append(Sensord(directory, *flags))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait(10)


@pytest.fixture
def board(tmp_path: Path) -> Path:
    root = tmp_path / "board"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def unordered(messages: object) -> list[Received]:
    return sorted(messages, key=lambda m: (m.topic, m.payload))


def test_a_made_up_board_arrives_exactly(mosquitto, subscriber, sensord, board):
    flags = ("--url", mosquitto.url, "--id", "b1", "--root", board)
    daemon = sensord(*flags, "--period-ms", 20, "--count", 10)
    assert daemon.wait() == 0, daemon.err.read_text()
    sent, done = daemon.published(), daemon.completed()
    assert sorted(done) == sorted(sent) == list(range(1, 10 * len(READINGS) + 3))
    assert set(done.values()) == {"SMQ_OK"}
    received = subscriber.take(len(sent))
    assert unordered(received) == unordered(sent.values())
    for topic, (qos, json_values) in READINGS.items():
        of_topic = [m for m in received if m.topic == f"gateway/b1/{topic}"]
        assert len(of_topic) == 10
        for message in of_topic:
            values = json.loads(message.payload)
            assert abs(values.pop("time") - time.time()) < 60
            assert (message.qos, values) == (qos, json_values)
    assert {m.qos for m in received} == {0, 1, 2}
    status = [m.payload for m in received if m.topic == "gateway/b1/status"]
    assert status == [b"online", b"offline"]
    figures = daemon.figures()
    assert figures["messages"] == figures["acknowledged"] == len(sent)
    assert (figures["failed"], figures["dropped"]) == (0, 0)
    assert figures["bytes"] > sum(len(m.payload) + len(m.topic) for m in sent.values())
    assert figures["send calls"] < len(sent) / 3
    assert figures["packets per send call"] > 3
    assert daemon.err.read_text() == ""


UNITS = {"seconds": "s", "total_kb": "KiB", "available_kb": "KiB", "rx_bytes": "B", "tx_bytes": "B",
         **dict.fromkeys(("rx_packets", "rx_errors", "tx_packets", "tx_errors"), "count")}
LABELS = {-2: "bn", -3: "bt", 0: "n", 1: "u", 2: "v", 3: "vs"}  # RFC 8428, table 4


@pytest.mark.parametrize("format", ["senml", "senml-cbor"])
def test_the_same_as_senml(mosquitto, subscriber, sensord, board, format):
    daemon = sensord("--url", mosquitto.url, "--id", "b9", "--root", board, "--count", 1, "--format", format)
    assert daemon.wait() == 0, daemon.err.read_text()
    received = {m.topic: m for m in subscriber.take(len(READINGS) + 2) if m.payload not in (b"online", b"offline")}
    sent = {m.topic: m.payload for m in daemon.published().values()}
    assert received.keys() == {f"gateway/b9/{topic}" for topic in READINGS}
    for topic, (qos, values) in READINGS.items():
        message = received[f"gateway/b9/{topic}"]
        assert message.qos == qos
        if format == "senml":
            assert message.payload == sent[message.topic]
            records = json.loads(message.payload)
        else:
            assert message.payload.hex().encode() == sent[message.topic]
            (records,) = decoded([message.payload])
            records = [{LABELS[label]: value for label, value in record.items()} for record in records]
        assert records[0].pop("bn") == f"{message.topic}/"
        assert abs(records[0].pop("bt") - time.time()) < 60
        unit = "Cel" if topic.startswith("temperature/") else None
        expected = [{"n": name, "u": UNITS.get(name, unit), "v": value} for name, value in values.items() if name != "sensor"]
        expected = [{key: value for key, value in record.items() if value is not None} for record in expected]
        if topic == "network/wlan0.7":
            expected[0]["v"] = float(expected[0]["v"])  # SenML has doubles
        if "sensor" in values:
            expected.append({"n": "sensor", "vs": values["sensor"]})
        assert records == expected


@pytest.mark.parametrize("format, content_type", [("json", "application/json"), ("senml", "application/senml+json"),
                                                  ("senml-cbor", "application/senml+cbor")])
def test_the_content_type_is_sent(sensord, board, format, content_type):
    with Broker([Script()]) as broker:
        daemon = sensord("--url", broker.url, "--id", "b9", "--root", board, "--count", 1, "--format", format)
        assert daemon.wait() == 0, daemon.err.read_text()
        told = {m.topic: m.properties.get("content_type") for m in broker.messages}
        assert told.pop("gateway/b9/status") is None
        assert set(told.values()) == {content_type}


def test_this_machine_arrives_exactly(mosquitto, subscriber, sensord):
    """Real sensors, until SIGTERM."""
    daemon = sensord("--url", mosquitto.url, "--id", "real", "--period-ms", 50)
    wait_for(lambda: len(daemon.completed()) > 60, "60 messages")
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.wait() == 0, daemon.err.read_text()
    sent, done = daemon.published(), daemon.completed()
    assert set(done.values()) == {"SMQ_OK"} and sorted(done) == sorted(sent)
    received = subscriber.take(len(sent))
    assert unordered(received) == unordered(sent.values())
    for qos in (0, 1, 2):  # what has one QoS stays in order
        assert [m for m in received if m.qos == qos] == [m for m in sent.values() if m.qos == qos]
    assert {m.qos for m in received} == {0, 1, 2}
    kinds = {m.topic.split("/")[2] for m in received}
    assert {"load", "memory", "network", "uptime", "status"} <= kinds
    uptime = [json.loads(m.payload)["seconds"] for m in received if "/uptime/" in m.topic]
    assert uptime == sorted(uptime)
    assert 0 < uptime[-1] <= float(Path("/proc/uptime").read_text().split()[0])
    memory = next(json.loads(m.payload) for m in received if "/memory/" in m.topic)
    assert f"MemTotal: {memory['total_kb']} kB" in re.sub(
        " +", " ", Path("/proc/meminfo").read_text()
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_status_while_it_runs_and_after_a_signal(mosquitto, subscribe, sensord, board, number):
    flags = ("--url", mosquitto.url, "--id", "b2", "--root", board, "--period-ms", 60_000)
    daemon = sensord(*flags)
    witness = subscribe(mosquitto, "gateway/b2/status")
    witness.until(lambda: witness.messages and witness.messages[-1].payload == b"online")
    start = time.monotonic()
    daemon.process.send_signal(number)
    assert daemon.wait() == 0, daemon.err.read_text()
    assert time.monotonic() - start < 30, "it does not wait for the next period"
    witness.until(lambda: witness.messages[-1].payload == b"offline")
    late = subscribe(mosquitto, "gateway/b2/status")
    assert late.take(1) == [Received("gateway/b2/status", 1, 1, b"offline")]


def test_killed_and_started_again(mosquitto, subscribe, sensord, board):
    """kill -9: the Will says offline. The next start is not taken for the old one."""
    flags = ("--url", mosquitto.url, "--id", "b3", "--root", board)
    witness = subscribe(mosquitto, "gateway/b3/status")
    daemon = sensord(*flags, "--period-ms", 5)
    assert [m.payload for m in witness.take(1)] == [b"online"]
    wait_for(lambda: len(daemon.completed()) > 100, "100 messages")
    daemon.process.send_signal(signal.SIGKILL)
    assert daemon.wait() == -signal.SIGKILL
    assert [m.payload for m in witness.take(1)] == [b"offline"]
    late = subscribe(mosquitto, "gateway/b3/#")
    assert late.take(1) == [Received("gateway/b3/status", 1, 1, b"offline")]
    again = sensord(*flags, "--count", 3, "--period-ms", 5)
    assert again.wait() == 0, again.err.read_text()
    assert unordered(late.take(len(again.published()))) == unordered(again.published().values())


def test_the_broker_comes_late(start_mosquitto, subscribe, sensord, board):
    """Readings queue; in the end all is delivered."""
    mosquitto = start_mosquitto()
    mosquitto.stop()
    flags = ("--url", mosquitto.url, "--id", "b4", "--root", board)
    daemon = sensord(*flags, "--period-ms", 100, "--count", 5)
    wait_for(lambda: daemon.err.read_text().count("\n") >= 2, "two attempts")
    lines = daemon.err.read_text().splitlines()
    assert "SMQ_ERR_NETWORK" in lines[0] and "connect" in lines[0]
    assert "Connection refused" in lines[0]
    pauses = [int(re.search(r"in (\d+) ms", line)[1]) for line in lines]
    assert 125 <= pauses[0] <= 250 and 125 <= pauses[1] <= 500
    mosquitto.start()
    assert daemon.wait() == 0, daemon.err.read_text()
    assert len(daemon.published()) == 5 * len(READINGS) + 2


def test_the_broker_goes_and_comes_back(mosquitto, sensord, board):
    flags = ("--url", mosquitto.url, "--id", "b5", "--root", board, "--period-ms", 50)
    daemon = sensord(*flags)
    wait_for(lambda: len(daemon.completed()) > 30, "30 messages")
    mosquitto.stop()
    wait_for(lambda: daemon.err.read_text(), "the loss is told")
    mosquitto.start()
    count = len(daemon.completed())
    wait_for(lambda: len(daemon.completed()) > count + 30, "30 more")
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.wait() == 0, daemon.err.read_text() + daemon.log()[-500:]


def test_no_broker_fails(sensord, board):
    """SIGTERM while nothing could be delivered: the exit status says so."""
    url = f"mqtt://127.0.0.1:{free_port()}"
    daemon = sensord("--url", url, "--id", "b6", "--root", board)
    wait_for(lambda: daemon.err.read_text(), "an attempt")
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.wait() == 1
    assert daemon.figures()["acknowledged"] == 0


def test_a_full_outbox_drops_new_readings_and_counts_them(sensord, board):
    url = f"mqtt://127.0.0.1:{free_port()}"
    daemon = sensord("--url", url, "--id", "b7", "--root", board, "--period-ms", 5)
    wait_for(lambda: len(daemon.published()) >= 256, "a full outbox")
    time.sleep(0.1)  # some more periods
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.wait() == 1
    figures = daemon.figures()
    assert figures["messages"] == 256
    assert figures["dropped"] > 0


def test_what_connect_says(sensord, board):
    with Broker([Script(hold={PUBACK})]) as broker:
        daemon = sensord("--url", broker.url, "--id", "b8", "--root", board)
        broker.wait_for(lambda: broker.of(CONNECT), 30)
        (connect,) = broker.connects
        assert connect["client_id"] == "b8"
        will = connect["will"]
        assert (will.topic, will.payload) == ("gateway/b8/status", b"offline")
        assert (will.qos, will.retain) == (1, 1)
        daemon.process.send_signal(signal.SIGTERM)
        # It waits for the acknowledgements, but not for ever.
        assert daemon.wait() == 1
        assert broker.violations == []


@pytest.mark.parametrize(
    "flags, named",
    [
        (["--period-ms", "0"], "--period-ms"),
        (["--period-ms", "-5"], "--period-ms"),
        (["--period-ms", "1s"], "--period-ms"),
        (["--period-ms", ""], "--period-ms"),
        (["--period-ms", "99999999999999999999"], "--period-ms"),
        (["--count", "-1"], "--count"),
        (["--count", "many"], "--count"),
        (["--count"], "--count"),
        (["--url", "http://x"], "--url"),
        (["--url", "mqtt://"], "--url"),
        (["--url", ""], "--url"),
        (["--id", "a+b"], "--id"),
        (["--id", "#"], "--id"),
        (["--id", ""], "--id"),
        (["--id", "x" * 65], "--id"),
        (["--id", "\udcff"], "--id"),
        (["--id", "a b", "--format", "senml"], "--id"),
        (["--format", "xml"], "--format"),
        (["--format", ""], "--format"),
        (["--format"], "--format"),
        (["--nonsense"], "--nonsense"),
        (["more"], "more"),
    ],
)
def test_bad_flags(flags, named):
    result = subprocess.run([*SENSORD, *flags], capture_output=True, text=True, timeout=20)
    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("sensord: ") or "sensord: " in line
    assert named in line


def test_help():
    result = subprocess.run([*SENSORD, "--help"], capture_output=True, text=True, timeout=20)
    assert (result.returncode, result.stderr) == (0, "")
    for flag in ("--url", "--id", "--period-ms", "--count", "--format", "--root", "--verbose"):
        assert flag in result.stdout
