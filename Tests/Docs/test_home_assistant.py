"""docs/home-assistant.md: both devices against a Mosquitto, where the test plays Home Assistant."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from Support.servers import Received, Subscriber

from .blocks import ROOT, blocks

C, PYTHON = blocks(ROOT / "docs" / "home-assistant.md")
DEVICE = {"identifiers": ["greenhouse-1"], "name": "Greenhouse"}
CONFIGS = {
    "homeassistant/sensor/greenhouse/temperature/config": {
        "name": "Temperature", "unique_id": "greenhouse-1-temperature", "state_topic": "greenhouse/temperature",
        "device_class": "temperature", "state_class": "measurement", "unit_of_measurement": "°C",
        "availability_topic": "greenhouse/status", "device": DEVICE},
    "homeassistant/switch/greenhouse/pump/config": {
        "name": "Pump", "unique_id": "greenhouse-1-pump", "state_topic": "greenhouse/pump",
        "command_topic": "greenhouse/pump/set", "availability_topic": "greenhouse/status", "device": DEVICE},
}


class Home:
    """What Home Assistant sees: all that is published, and what a new subscriber finds retained."""

    def __init__(self, session):
        self.broker, self.seen = session.broker, Subscriber(session.broker)

    def sees(self, topic: str, payload: str, times: int = 1) -> None:
        self.seen.until(lambda: sum((each.topic, each.payload.decode()) == (topic, payload) for each in self.seen.messages) >= times)

    def retained(self, *topics: str) -> dict[str, Received]:
        """What the server has kept, by topic: the last message is one that this sends, behind it there is nothing more."""
        later = Subscriber(self.broker, *topics, "home/end")
        try:
            self.broker.publish("home/end", "here")
            later.until(lambda: any(each.topic == "home/end" for each in later.messages))
            return {each.topic: each for each in later.messages if each.retain}
        finally:
            later.close()


@pytest.fixture
def home(session) -> Iterator[Home]:
    home = Home(session)
    yield home
    home.seen.close()


@pytest.fixture(params=["c", "python"])
def start(request, session) -> Iterator[Callable[[], subprocess.Popen]]:
    """Starts the device of the page, once or again."""
    if request.param == "c":
        command = [session.compile(C, "device"), session.broker.url]
    else:
        command = [sys.executable, session.write("device.py", PYTHON.text), session.broker.url]
    started = []

    def start() -> subprocess.Popen:
        started.append(subprocess.Popen([str(part) for part in command], env=session.environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_it_is_discovered(home, start):
    start()
    home.sees("greenhouse/status", "online")
    home.sees("greenhouse/temperature", "21.5")
    found = home.retained("homeassistant/+/+/+/config")
    assert {topic: json.loads(message.payload) for topic, message in found.items()} == CONFIGS
    assert all(message.qos == 1 for message in found.values())
    state = home.retained("greenhouse/#")
    assert {topic: message.payload for topic, message in state.items()} == {"greenhouse/status": b"online", "greenhouse/pump": b"OFF"}


def test_it_is_switched_and_says_so(home, start):
    start()
    home.sees("greenhouse/temperature", "21.5")
    # Commands are not retained: the device gets them once it has subscribed, of which the birth message is a sign.
    birth(home, 2)
    home.sees("greenhouse/pump", "OFF", 2)  # from the start, and as the answer
    for command in ("ON", "nonsense", "OFF"):
        home.broker.publish("greenhouse/pump/set", command)
    home.sees("greenhouse/pump", "OFF", 3)
    states = [each.payload for each in home.seen.messages if each.topic == "greenhouse/pump"]
    assert list(dict.fromkeys(states)) == [b"OFF", b"ON"] and states[-1] == b"OFF"
    assert home.retained("greenhouse/pump")["greenhouse/pump"].payload == b"OFF"


def birth(home: Home, times: int) -> None:
    """Home Assistant starts, until the device has answered: it may not have subscribed yet."""
    for _ in range(50):
        home.broker.publish("homeassistant/status", "online", "-r")
        try:
            return home.seen.until(lambda: sum(each.topic == "greenhouse/temperature" for each in home.seen.messages) >= times, 2)
        except AssertionError:
            continue
    raise AssertionError("the device did not answer the birth message")


def test_the_birth_message_is_answered_with_the_state(home, start):
    start()
    home.sees("greenhouse/temperature", "21.5")
    birth(home, 2)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_it_is_unavailable_when_it_is_gone(home, start, number):
    device = start()
    birth(home, 2)
    device.send_signal(number)
    assert device.wait(20) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    home.sees("greenhouse/status", "offline")
    assert home.retained("greenhouse/status")["greenhouse/status"].payload == b"offline"


def test_it_is_available_again(home, start):
    """After the Will, the next connection says online."""
    first = start()
    birth(home, 2)
    first.kill()
    first.wait()
    home.sees("greenhouse/status", "offline")
    start()
    home.sees("greenhouse/status", "online", 2)
    assert home.retained("greenhouse/status")["greenhouse/status"].payload == b"online"
