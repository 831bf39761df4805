"""`make locations` from end to end: two devices, a broker that stops and starts, and the page in a headless Chromium."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import re
import signal
import subprocess
import threading
import uuid
from pathlib import Path

import pytest

from Support.browser import Browser
from Support.servers import RABBITMQ, need
from Support.waiting import PATIENCE, wait_for

from .conftest import ROOT

LEAFLET = Path("/usr/share/javascript/leaflet/leaflet.min.js")
FOLDER = ROOT / "examples-c" / "locations"


@pytest.fixture
def browser(tmp_path: Path):
    browser = Browser(tmp_path)
    yield browser
    browser.close()


class Page:
    """What a person sees and does."""

    def __init__(self, browser: Browser):
        self.browser = browser

    @property
    def state(self) -> str:
        return self.browser.run("return document.getElementById('state').dataset.state")

    def is_in_state(self, state: str) -> None:
        wait_for(lambda: self.state == state, f"the page is {state}, not {self.state}")

    @property
    def pins(self) -> dict[str, tuple[str, str]]:
        """Where each device is on the map."""
        return {name: (latitude, longitude) for name, latitude, longitude in self.browser.run(
            "return [...document.querySelectorAll('.pin')].map(pin => [pin.dataset.device, pin.dataset.lat, pin.dataset.lng])")}

    @property
    def listed(self) -> list[str]:
        return self.browser.run("return [...document.querySelectorAll('#devices li')].map(item => item.dataset.device)")

    def is_visible(self, selector: str) -> bool:
        return self.browser.run("return document.querySelector(arguments[0]).checkVisibility()", selector)

    def on_screen(self) -> bool:
        """All markers are in the part of the map that is shown."""
        return self.browser.run("""
            const map = document.getElementById("map").getBoundingClientRect();
            return [...document.querySelectorAll(".pin")].map(pin => pin.getBoundingClientRect()).every(pin =>
                pin.left >= map.left && pin.right <= map.right && pin.top >= map.top && pin.bottom <= map.bottom)""")

    def all_move(self) -> None:
        before = self.pins
        wait_for(lambda: all(place != before[name] for name, place in self.pins.items()), f"all move on from {before}")

    def send(self, device: str, text: str) -> None:
        self.browser.click(f'#devices li[data-device="{device}"] button')
        self.browser.type("#body", text)
        self.browser.click("#text button")
        wait_for(lambda: self.browser.run("return document.querySelector('#sent li').className") == "confirmed", "a receipt")

    def complaints(self) -> list[str]:
        """Errors of the page's scripts, and what it was not allowed to load."""
        return [entry["message"] for entry in self.browser.log() if entry["level"] == "SEVERE" and "WebSocket" not in entry["message"]]


class Demo:
    """What make locations starts, when all is built and installed."""

    def __init__(self, directory: Path):
        self.mark = f"LOCATIONS_TEST={uuid.uuid4()}"  # inherited by all that it starts
        name, value = self.mark.split("=")
        self.out = directory / "demo.out"
        with self.out.open("wb") as out:
            self.process = subprocess.Popen([FOLDER / "run"], stdin=subprocess.PIPE, stdout=out, stderr=out, text=True,
                                            env={**os.environ, name: value})

    @property
    def said(self) -> str:
        return self.out.read_text()

    def says(self, pattern: str) -> re.Match:
        def found() -> re.Match | None:
            assert self.process.poll() is None, self.said
            return re.search(pattern, self.said, re.M)

        return wait_for(found, f"{pattern} in {self.said}")

    def tell(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def texts(self, device: str) -> list[str]:
        return re.findall(rf"^{device} +Text: (.*)$", self.said, re.M)

    def processes(self) -> dict[str, str]:
        """All that it has started, and that runs."""
        found = {}
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (directory / "environ").read_bytes():
                    found[directory.name] = (directory / "cmdline").read_text().replace("\0", " ")[:100]
            except OSError:
                pass  # it has ended
        return found

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture
def demo(tmp_path: Path):
    need(RABBITMQ, "locations")
    if not LEAFLET.exists():
        need("libjs-leaflet", "locations")
    demo = Demo(tmp_path)
    yield demo
    if demo.process.poll() is None:
        demo.interrupt()
    demo.process.stdin.close()


def test_from_end_to_end(demo, browser, tmp_path):
    page = Page(browser)
    browser.open(demo.says(r"^page +(http://\S+)$")[1])
    assert page.state == "disconnected" and not page.is_visible("#text") and page.pins == {}

    # Two devices: in the list, on the map, and moving.
    browser.click("#connect")
    page.is_in_state("connected")
    assert page.is_visible("#text")
    wait_for(lambda: len(page.pins) == 2, "two devices")
    assert sorted(page.pins) == sorted(page.listed) == ["cyclist", "walker"]
    page.all_move()
    wait_for(page.on_screen, "the map shows all of them")
    browser.click('.pin[data-device="cyclist"]')
    wait_for(lambda: browser.run("return (document.querySelector('.leaflet-popup-content') || {}).textContent") == "Device cyclist",
             "a click on a marker shows its name")

    # A text to one of them only.
    page.send("walker", "hällo <b>you</b>")
    demo.says("^walker +Acknowledged: hällo <b>you</b>$")
    page.send("cyclist", "second")
    demo.says("^cyclist +Acknowledged: second$")
    assert demo.texts("walker") == ["hällo <b>you</b>"] and demo.texts("cyclist") == ["second"]
    browser.screenshot(tmp_path / "devices.png")

    # Without the broker the markers stay. When it is back, so is all the rest, over a socket of its own.
    browser.run("window.before = client.ws")
    demo.tell("stop")
    demo.says("^broker +stopped$")
    wait_for(lambda: page.state in ("waiting", "connecting"), "the page has lost the broker")
    assert sorted(page.pins) == ["cyclist", "walker"] and not page.is_visible("#text")
    browser.screenshot(tmp_path / "without-broker.png")
    demo.tell("start")
    demo.says("^broker +started$")
    page.is_in_state("connected")
    assert browser.run("return client.ws !== window.before && window.before.readyState === WebSocket.CLOSED")
    page.all_move()
    page.send("cyclist", "after")
    demo.says("^cyclist +Acknowledged: after$")
    assert demo.texts("walker") == ["hällo <b>you</b>"]
    browser.screenshot(tmp_path / "again.png")

    # Disconnect clears, Connect shows them again.
    browser.click("#disconnect")
    assert page.state == "disconnected" and page.pins == {} and page.listed == [] and not page.is_visible("#text")
    browser.click("#connect")
    page.is_in_state("connected")
    wait_for(lambda: len(page.pins) == 2, "two devices")

    # Nothing came from elsewhere, and no script has failed.
    origin, loaded = browser.run("return [location.origin, performance.getEntriesByType('resource').map(entry => entry.name)]")
    assert any("stomp.js" in name for name in loaded) and all(name.startswith(f"{origin}/") for name in loaded)
    assert page.complaints() == []

    # Ctrl-C ends all: the devices with their receipts.
    assert len(demo.processes()) >= 5  # itself, epmd, RabbitMQ, two devices
    assert demo.interrupt() == 0
    assert re.findall(r"^(\w+) +DISCONNECTED, attempt", demo.said, re.M).count("walker") == 1
    wait_for(lambda: demo.processes() == {}, f"{demo.processes()} have ended")


# ---- The page alone


@pytest.fixture
def server():
    specification = importlib.util.spec_from_file_location("locations_page", FOLDER / "page.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    server = module.server()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


GOOD = {"deviceID": "a-1_B", "lat": 48, "lng": 11.5, "ts": "2026-05-04T12:00:00+02:00"}
BAD = ["", "hello", "null", "[]", "7", *(json.dumps({**GOOD, **wrong}) for wrong in (
    {"deviceID": "<img src=x onerror=alert(1)>"}, {"deviceID": ""}, {"deviceID": "x" * 65}, {"deviceID": "a.b"}, {"lat": "48"},
    {"lat": 90.1}, {"lng": -180.1}, {"lat": None}, {"ts": "yesterday"}, {"ts": None}))]


def test_what_anybody_may_send(browser, server):
    """Only positions make markers."""
    browser.open(f"http://127.0.0.1:{server.server_port}/")
    for body in BAD:
        browser.run("received(arguments[0])", body)
    page = Page(browser)
    assert page.pins == {}
    browser.run("received(arguments[0])", json.dumps(GOOD))
    assert page.pins == {"a-1_B": ("48", "11.5")}
    assert page.complaints() == []


def test_a_url_that_is_none(browser, server):
    browser.open(f"http://127.0.0.1:{server.server_port}/?url=ftp:x")
    page = Page(browser)
    browser.click("#connect")
    page.is_in_state("disconnected")
    assert browser.run("return document.getElementById('state').textContent") != "Not connected"


@pytest.mark.parametrize("path", ["/run", "/../README.md", "/%2e%2e/README.md", "/leaflet/../stomp.js", "//etc/passwd", "/leaflet/"])
def test_nothing_else_is_served(server, path):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
    connection.request("GET", path)
    assert connection.getresponse().status == 404
    connection.close()


def test_what_is_missing_is_said(tmp_path):
    """The command names what it needs, and how to get it."""
    tree = tmp_path / "examples-c"
    (tree / "locations").mkdir(parents=True)
    for name in ("processes.py", "locations/run", "locations/page.py"):
        (tree / name).write_bytes((ROOT / "examples-c" / name).read_bytes())
    done = subprocess.run(["python3", tree / "locations" / "run"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 1 and re.fullmatch(r"locations: \S+ is missing: .*\n", done.stderr)
