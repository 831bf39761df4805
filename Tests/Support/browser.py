"""A headless Chromium, over the WebDriver protocol of its chromedriver (W3C WebDriver): a page as a person sees it."""

from __future__ import annotations

import base64
import http.client
import json
import os
import subprocess
from pathlib import Path

from .servers import free_port, need
from .waiting import PATIENCE, wait_for

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the name of a reference to an element, in the specification


class Browser:
    def __init__(self, directory: Path, group: str = "locations-test"):
        chromium, driver = need("chromium", group), need("chromedriver", group)
        self.port = free_port()
        with (directory / "chromedriver.log").open("wb") as log:
            # A directory of its own for what Chromium keeps in the home directory.
            self.driver = subprocess.Popen([driver, f"--port={self.port}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           env={**os.environ, "HOME": str(directory)})
        self.session = ""
        # Without a sandbox Chromium also runs as root; the pages are ours.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900",
                     "--no-first-run", "--disable-background-networking", "--disable-component-update", "--no-proxy-server",
                     f"--user-data-dir={directory / 'profile'}"]
        options = {"binary": chromium, "args": arguments}
        try:
            wait_for(self.is_ready, "chromedriver is ready")
            capabilities = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                            "goog:loggingPrefs": {"browser": "ALL"}}}
            self.session = self.ask("POST", "", {"capabilities": capabilities})["sessionId"]
        except BaseException:
            self.close()
            raise

    def is_ready(self) -> bool:
        assert self.driver.poll() is None
        try:
            return self.request("GET", "/status")["ready"]
        except OSError:
            return False

    def request(self, method: str, path: str, body: dict | None = None) -> object:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None)
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise AssertionError(f"{value['error']}: {value['message']}")
        return value

    def ask(self, method: str, path: str, body: dict | None = None) -> object:
        return self.request(method, f"/session/{self.session}{path}" if self.session else f"/session{path}", body)

    def open(self, url: str) -> None:
        self.ask("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: object) -> object:
        """Runs the body of a function, and returns what it returns."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": arguments})

    def find(self, selector: str) -> str:
        return self.ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector: str) -> None:
        """As with a mouse: what is covered or hidden cannot be clicked."""
        self.ask("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self.ask("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def log(self) -> list[dict]:
        """What the page has written to its console since the last call, errors of scripts among it."""
        return self.ask("POST", "/se/log", {"type": "browser"})

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("GET", "/screenshot")))

    def close(self) -> None:
        try:
            if self.session:
                self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(PATIENCE)
