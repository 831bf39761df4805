"""Proxies of other people do what is said of them. No test here uses the library."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from Support.address import Address
from Support.forward_proxies import BLOCKED, Dante, Microsocks, Squid, Tinyproxy
from Support.servers import free_port, need
from Support.waiting import PATIENCE

PROXIES = [
    (Microsocks, None),
    (Microsocks, ("user", "p@ss:word")),
    (Dante, None),
    (Tinyproxy, None),
    (Tinyproxy, ("user", "password")),
    (Squid, None),
    (Squid, ("user", "password")),
]


def through(proxy, address: Address, topic: str, payload: str, login=None, host: str = "localhost"):
    """curl, which knows MQTT 3.1.1, publishes. It returns the process and what curl said of each step."""
    name = "socks5h" if proxy.scheme == "socks5" else "http"
    command = [need("curl", "peers"), "-sv", "--max-time", str(int(PATIENCE)), "--noproxy", ""]
    command += ["--proxytunnel", "--proxy-basic"]
    command += ["--proxy", f"{name}://{proxy.host}:{proxy.port}", "-d", payload]
    command += ["--proxy-user", ":".join(login)] if login else []
    command += [f"mqtt://{host}:{address.port}/{topic}"]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE)


@pytest.mark.parametrize("kind, login", PROXIES)
def test_a_message_goes_through_each_proxy(forward, listeners, subscribe, level, kind, login):
    subscriber = subscribe(listeners, level)
    proxy = forward(kind, login=login)
    assert proxy.carried(listeners.port) == 0
    for count, host in enumerate(("localhost", "127.0.0.1"), 1):
        done = through(proxy, listeners["plain"], level, host, login, host)
        assert done.returncode == 0, done.stderr
        assert subscriber.take(1)[0].payload == host.encode()
        proxy.until_carried(listeners.port, count)
    assert proxy.carried(listeners.port) == 2
    refused = through(proxy, Address("mqtt", "", free_port()), level, "x", login)
    assert refused.returncode != 0
    if login:
        for wrong in (None, (login[0], "wrong")):
            assert through(proxy, listeners["plain"], level, "x", wrong).returncode != 0
        assert proxy.carried(listeners.port) == 2


@pytest.mark.parametrize(
    "kind, settings, host, port, says",
    [
        (Microsocks, {}, "localhost", None, "(5)"),
        (Microsocks, {}, "no..name", None, "(1)"),
        (Microsocks, {"login": ("user", "password")}, "localhost", None, "(1 2)"),
        (Dante, {}, "localhost", None, "(5)"),
        (Dante, {}, "no..name", None, "(4)"),
        (Dante, {}, BLOCKED, None, "(2)"),
        (Tinyproxy, {}, "localhost", None, "HTTP/1.1 500"),
        (Tinyproxy, {"allowed": (1,)}, "localhost", None, "HTTP/1.1 403"),
        (Tinyproxy, {"login": ("user", "password")}, "localhost", None, "HTTP/1.0 401"),
        (Squid, {}, "localhost", None, "HTTP/1.1 503"),
        (Squid, {}, "localhost", 1, "HTTP/1.1 403"),
        (Squid, {"login": ("user", "password")}, "localhost", None, "HTTP/1.1 407"),
    ],
)
def test_how_each_proxy_refuses(forward, kind, settings, host, port, says):
    proxy = forward(kind, **settings)
    wrong = ("user", "wrong") if "login" in settings else None
    done = through(proxy, Address("mqtt", "", port or free_port()), "topic", "x", wrong, host)
    assert done.returncode != 0 and says in done.stderr, done.stderr


def test_nothing_is_left_when_a_proxy_has_ended(tmp_path):
    for kind in (Microsocks, Dante, Tinyproxy, Squid):
        with kind(tmp_path / kind.__name__) as proxy:
            pid, port = proxy.process.pid, proxy.port
        children = [path for path in Path("/proc").glob("[0-9]*/stat") if ppid(path) == pid]
        assert not children and not Path(f"/proc/{pid}").exists()
        with socket.socket() as sock:
            assert sock.connect_ex(("127.0.0.1", port)) != 0
    assert not list(Path("/dev/shm").glob(f"squid{port}-*"))


def ppid(path: Path) -> int:
    try:
        return int(path.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
