"""WebSocket, sockets in the file system, proxies, and where connections come from: with real servers and proxies."""

from __future__ import annotations

import asyncio

import pytest
import swiftmqtt
from Support.forward_proxies import BLOCKED, Dante, Microsocks, Squid, Tinyproxy
from Support.nginx import LOCATION, LOGIN
from Support.servers import free_port
from Support.waiting import wait_for
from swiftmqtt import TLS, Client, ProxyError, Stage, Status, WebSocketError, aio

from .conftest import TLS_LIBRARY

over_tls = pytest.mark.skipif(not TLS_LIBRARY.exists(), reason="libswiftmqtt-tls was not built here")


def echoed(client: Client, level: str) -> str:
    client.subscribe(level, qos=1).wait(10)
    client.publish(level, "arrived", qos=1).wait(10)
    return client.receive(10).text()


def failing(url: str, **options: object) -> swiftmqtt.Error:
    client = Client(url, connect_timeout_ms=20_000, **options)
    with pytest.raises(swiftmqtt.Error) as told:
        client.connect()
    client.close()
    return told.value


# ---- WebSocket


@pytest.mark.parametrize("scheme", ["ws", pytest.param("wss", marks=over_tls)])
def test_a_websocket(listeners, nginx, certificates, level, scheme):
    tls = TLS(ca_file=certificates.ca_file) if scheme == "wss" else None
    for address in (listeners[scheme], nginx.at(scheme, "/mqtt"), nginx.at(scheme, "/without-subprotocol")):
        with Client(address.url, tls=tls) as client:
            assert echoed(client, level) == "arrived"
            assert (client.tls_info is not None) == (scheme == "wss")
    address = nginx.at(scheme, "/mqtt")
    options = {"host": address.host, "port": address.port, "websocket": True, "websocket_path": "/mqtt?a=b"}
    with Client(**options, tls=tls, websocket_bytes=256) as client:
        assert echoed(client, level) == "arrived"


def test_headers_of_the_request(nginx, level):
    url = nginx.at("ws", "/token").url
    for headers in ({"X-Token": "secret"}, [("X-Token", "secret")], "X-Token: secret\r\n", b"X-Token: secret\r\n"):
        with Client(url, websocket_headers=headers) as client:
            assert echoed(client, level) == "arrived"
    assert failing(url).failure.http_status == 403


REFUSALS = {"/403": (403, ""), "/404": (404, ""), "/502": (502, ""), "/302": (302, LOCATION), "/401": (401, "")}


@pytest.mark.parametrize("path", REFUSALS)
def test_a_refusal(nginx, path):
    status, text = REFUSALS[path]
    told = failing(nginx.at("ws", path).url)
    assert isinstance(told, WebSocketError) and told.status == Status.WEBSOCKET and told.stage == Stage.WEBSOCKET
    assert told.failure.http_status == status and f"HTTP status {status}" in str(told)
    assert text in str(told)


def test_no_websocket_there(listeners, nginx):
    for port in (listeners["plain"].port, free_port("127.0.0.1")):
        told = failing(f"ws://127.0.0.1:{port}/mqtt")
        assert isinstance(told, swiftmqtt.TransportError) and told.failure.status == told.status


# ---- A request of its own for each attempt


def test_a_request_for_each_attempt(nginx, level):
    """A URL that is signed anew, and a token that is wrong first."""
    asked: list[int] = []

    def request(attempt: int) -> object:
        asked.append(attempt)
        return f"/token?signature={attempt}", {"X-Token": "secret" if len(asked) > 1 else "old"}

    client = Client(nginx.at("ws", "/mqtt").url, websocket_request=request, reconnect_min_ms=10, reconnect_max_ms=10)
    client.connect(20, retry=True)
    assert echoed(client, level) == "arrived" and asked == [1, 2]
    client.disconnect()
    client.close()
    paths = [path for path, status in nginx.requests if path.startswith("/token?signature=")]
    assert "/token?signature=1" in paths


def test_what_the_hook_returns(nginx, level):
    at = nginx.at("ws", "/mqtt")
    for answer in ("/mqtt", at.url + "?X-Amz=1", (at.url, {"X-Token": "b"}), ("/mqtt", b"")):
        with Client(at.url, websocket_request=lambda attempt, answer=answer: answer) as client:
            assert echoed(client, level) == "arrived"
    long = f"/204?{level}=" + "x" * 2000  # Mosquitto takes none that is so long
    assert failing(at.url, websocket_request=lambda attempt: long).failure.http_status == 204
    # nginx answers first, and then writes it down.
    wait_for(lambda: (long, 204) in nginx.requests)
    for answer, said in (
        (5, "a path, or"),
        ("wss://other.example/mqtt", "'other.example', which is no server"),
        (("/mqtt", {"X": "a\r\nHost: b"}), "a line end"),
        (("/mqtt", 5), "a dict of headers"),
        ("no slash", "the websocket_request hook returned"),
        ("/" + "x" * 9000, "the websocket_request hook returned"),
    ):
        client = Client(at.url, websocket_request=lambda attempt, answer=answer: answer, run=False)
        with pytest.raises(swiftmqtt.ArgumentError, match=said):
            client.connect(20)
        client.close()
    client = Client(at.url, websocket_request=lambda attempt: None)
    with pytest.raises(swiftmqtt.TransportError) as told:
        client.connect()
    assert told.value.status == Status.CREDENTIALS
    client.close()


def test_the_hook_and_user_name_and_password(closed_websocket):
    """Those of the options are sent all the same; and those of the other hook."""
    url = closed_websocket
    request = lambda attempt: "/mqtt"  # noqa: E731
    with Client(url, websocket_request=request, user_name="somebody", password="right") as client:
        assert client.is_connected
    with Client(url, websocket_request=request, credentials=lambda attempt: ("somebody", "right")) as client:
        assert client.is_connected
    told = failing(url, websocket_request=request, user_name="somebody", password="wrong")
    assert isinstance(told, swiftmqtt.PeerError)


@pytest.fixture(scope="module")
def closed_websocket(tmp_path_factory):
    """A WebSocket listener that lets in who knows the password."""
    import subprocess

    from Support.servers import Mosquitto
    directory = tmp_path_factory.mktemp("closed")
    subprocess.run(
        ["mosquitto_passwd", "-c", "-b", directory / "passwords", "somebody", "right"], check=True, timeout=30
    )
    server, port = Mosquitto(directory), free_port("127.0.0.1")
    lines = f"\nlistener {port} lo\nprotocol websockets\nallow_anonymous false\npassword_file {directory}/passwords\n"
    text = server.config.read_text().replace("allow_anonymous true", "allow_anonymous false")
    server.config.write_text(text + lines)
    server.start()
    wait_for(lambda: " running\n" in server.log.read_text(), "all listeners are open")
    yield f"ws://127.0.0.1:{port}/mqtt"
    server.stop()


# ---- A socket in the file system


def test_a_socket_in_the_file_system(listeners, level):
    address = listeners["unix"]
    with Client(address.url) as client:
        assert echoed(client, level) == "arrived"
    with Client(host=address.path) as client:
        assert echoed(client, level) == "arrived"
    told = failing("unix:/nowhere/at/all")
    assert told.server == "unix:/nowhere/at/all" and "No such file" in str(told)


# ---- Proxies


@pytest.mark.parametrize("kind", [Microsocks, Dante, Tinyproxy, Squid])
def test_through_a_proxy(listeners, certificates, forward, level, kind):
    proxy = forward(kind)
    with Client(listeners["plain"].url, proxy=proxy.url) as client:
        assert echoed(client, level) == "arrived"
    proxy.until_carried(listeners["plain"].port)
    if TLS_LIBRARY.exists():
        url = listeners["wss"].url_for("localhost")
        with Client(url, proxy=proxy.url, tls=TLS(ca_file=certificates.ca_file)) as client:
            assert echoed(client, level) == "arrived"


@pytest.mark.parametrize("kind", [Microsocks, Tinyproxy])
def test_a_proxy_with_a_password(listeners, forward, kind):
    proxy = forward(kind, login=("user", "pass"))
    url, bare = listeners["plain"].url, proxy.url.replace("user:pass@", "")
    with Client(url, proxy=proxy.url) as client:
        assert client.is_connected
    for wrong in (bare, proxy.url.replace(":pass@", ":other@")):
        told = failing(url, proxy=wrong)
        assert isinstance(told, ProxyError) and told.stage == Stage.PROXY and "other" not in str(told)
        if kind is Tinyproxy:
            assert told.failure.http_status in (401, 407) and "HTTP status 40" in str(told)
        else:
            assert told.failure.socks_reply in (256, 257) and "user and password" in str(told)


def test_what_a_proxy_refuses(forward):
    dante = forward(Dante)
    told = failing(f"mqtt://{BLOCKED}:1883", proxy=dante.url)
    assert told.failure.socks_reply == 2 and "not allowed by its rules" in str(told)
    told = failing(f"mqtt://127.0.0.1:{free_port('127.0.0.1')}", proxy=dante.url)
    assert isinstance(told, ProxyError) and told.failure.socks_reply
    squid = forward(Squid)
    assert failing("mqtt://127.0.0.1:1", proxy=squid.url).failure.http_status == 403
    told = failing("mqtt://127.0.0.1:1883", proxy=f"socks5://127.0.0.1:{free_port('127.0.0.1')}")
    assert isinstance(told, swiftmqtt.TransportError) and "refused" in str(told).lower()


def test_an_error_names_the_proxy(listeners, forward):
    url = listeners["plain"].url
    server, port = url.partition("://")[2], free_port("127.0.0.1")
    told = failing(url, proxy=f"http://user:word@127.0.0.1:{port}")
    assert (told.server, told.proxy) == (server, f"http://127.0.0.1:{port}")
    assert f"{server} through http://127.0.0.1:{port}, " in str(told) and "word" not in str(told)
    squid = forward(Squid)
    assert f"through {squid.url}, " in str(failing("mqtt://127.0.0.1:1", proxy=squid.url))
    assert failing(f"mqtt://127.0.0.1:{port}").proxy == ""


# ---- Sockets


def test_options_of_the_socket(listeners, level):
    address = listeners["plain"]
    options = {"bind_address": "127.0.0.3", "dscp": 46, "tcp_keep_alive_s": 60, "busy_poll_us": 50}
    with Client(address.url, client_id=level, **options) as client:
        assert echoed(client, level) == "arrived"
    line = next(line for line in listeners.log.read_text().splitlines() if level in line and "connected from" in line)
    assert "127.0.0.3" in line
    with Client(address.url, bind_device="lo") as client:
        assert echoed(client, level) == "arrived"


# ---- asyncio


def test_asyncio(listeners, nginx, forward, level):
    async def main() -> None:
        asked = []

        def request(attempt: int) -> object:
            asked.append(attempt)
            return "/token", {"X-Token": "secret"}

        proxy = forward(Microsocks)
        for url, options in (
            (listeners["unix"].url, {}),
            (listeners["plain"].url, {"proxy": proxy.url}),
            (nginx.at("ws", "/mqtt").url, {"websocket_request": request, "proxy": proxy.url}),
        ):
            async with aio.Client(url, **options) as client:
                await client.subscribe(level, qos=1)
                await client.publish(level, url, qos=1)
                assert (await client.receive()).text() == url
        assert asked == [1]
        with pytest.raises(WebSocketError, match="HTTP status 403") as told:
            client = aio.Client(nginx.at("ws", "/403").url)
            async with client:
                pass
        assert client.failure is told.value.failure

    asyncio.run(asyncio.wait_for(main(), 50))


# ---- What is wrong before a connection


@pytest.mark.parametrize(
    "url, options, said",
    [
        ("mqtt://localhost", {"proxy": "localhost:1080"}, "proxy is a URL"),
        ("mqtt://localhost", {"proxy": "socks4://localhost"}, "proxy is a URL"),
        ("mqtt://localhost", {"proxy": "socks5://user@"}, "the option proxy"),
        ("mqtt://localhost", {"proxy": 5}, "a text"),
        ("mqtt://localhost", {"websocket_path": "/mqtt"}, "websocket_path"),
        ("mqtt://localhost", {"websocket_headers": {"a": "b"}}, "websocket_headers"),
        ("ws://localhost", {"websocket_headers": {"a": "b\r\nc: d"}}, "line end"),
        ("ws://localhost", {"websocket_headers": 5}, "a dict of headers"),
        ("ws://localhost", {"websocket_headers": ["a: b"]}, "a dict of headers"),
        ("ws://localhost", {"websocket_headers": {"Upgrade": "other"}}, "cannot have Upgrade"),
        ("ws://localhost", {"websocket_bytes": 5}, "websocket_bytes=5"),
        ("mqtt://localhost", {"dscp": 64}, "dscp=64"),
        ("mqtt://localhost", {"tcp_keep_alive_s": 40_000}, "tcp_keep_alive_s"),
        ("mqtt://localhost", {"busy_poll_us": 1_000_001}, "busy_poll_us"),
        ("mqtt://localhost", {"bind_address": "localhost"}, "bind_address"),
        ("mqtt://localhost", {"bind_device": "x" * 16}, "bind_device"),
        ("unix:/tmp/s", {"dscp": 1}, "dscp"),
        ("unix:relative", {}, "from the root"),
        ("mqtt://localhost", {"websocket_request": lambda attempt: "/"}, "is for a WebSocket"),
        ("ws://me:secret@localhost", {"websocket_request": lambda attempt: "/"}, "not in the URL"),
        ("ws://localhost", {"websocket_request": "/"}, "a function"),
    ],
)
def test_wrong_options(url, options, said):
    with pytest.raises(swiftmqtt.ArgumentError, match=said) as told:
        Client(url, **options)
    assert "secret" not in str(told.value)


def test_names_of_other_clients():
    for name, said in (("transport", "the scheme says it"), ("ws", "ws:// or wss://"), ("headers", "websocket_headers")):
        with pytest.raises(TypeError, match=said):
            Client("mqtt://localhost", **{name: "x"})
    for url, said in (("tls://localhost", "mqtts://"), ("https://localhost", "wss://")):
        with pytest.raises(swiftmqtt.ArgumentError, match=said):
            Client(url)


def test_the_login_of_a_web_server(nginx, level):
    import base64

    value = base64.b64encode(":".join(LOGIN).encode()).decode()
    with Client(nginx.at("ws", "/login").url, websocket_headers={"Authorization": f"Basic {value}"}) as client:
        assert echoed(client, level) == "arrived"
