"""Whatever is handed over, in whatever place: it is accepted, or one of our exceptions says what is wrong; nothing
hangs, and the client goes on."""

from __future__ import annotations

import asyncio
import os
import time
import warnings

import pytest

import swiftmqtt
from swiftmqtt import Client, Will, aio

from .conftest import TLS_LIBRARY

WRONG = [
    None, object(), b"\xff\xfe", "\ud800", "\0", -1, 1 << 70, 1.5, float("nan"), float("inf"), [], [None], {}, {1: 2},
    (1, 2, 3), lambda: 0, "x" * 70_000, True,
]  # fmt: skip
ACCEPTED = (swiftmqtt.Error, TimeoutError)

PUBLISH = "payload qos retain expiry_s overflow urgent quiet stored content_type payload_format_indicator response_topic "
PUBLISH += "correlation_data user_properties properties"
SUBSCRIBE = "qos no_local retain_as_published retain_handling identifier user_properties"

# What a synchronous client is asked to do with a wrong value; none of it waits.
CALLS = {
    "publish": lambda c, v: c.publish(v),
    **{f"publish {name}": lambda c, v, name=name: c.publish("a", **{name: v}) for name in PUBLISH.split()},
    "publish_stream": lambda c, v: c.publish_stream("a", v),
    "publish_stream size": lambda c, v: c.publish_stream("a", b"abc", v),
    "subscribe": lambda c, v: c.subscribe(v),
    "subscribe list": lambda c, v: c.subscribe([v]),
    **{f"subscribe {name}": lambda c, v, name=name: c.subscribe("a", **{name: v}) for name in SUBSCRIBE.split()},
    "unsubscribe": lambda c, v: c.unsubscribe(v),
    "unsubscribe user_properties": lambda c, v: c.unsubscribe("a", user_properties=v),
    "request": lambda c, v: c.request(v, response_topic="r"),
    "request response_topic": lambda c, v: c.request("a", response_topic=v or 0),
    "request timeout": lambda c, v: c.request("a", response_topic="r", timeout=v),
    "submit": lambda c, v: c.submit(v),
    "submit payload": lambda c, v: c.submit("a", v),
    "set_log": lambda c, v: c.set_log(v),
    "set_log level": lambda c, v: c.set_log(print, v),
    "reauthenticate": lambda c, v: c.reauthenticate(v),
    "network_changed": lambda c, v: c.network_changed(v),
}
OPTIONS = [*swiftmqtt.Options.__annotations__, "reconnect", "manual_ack", "message_maximum", "adapters", "credentials"]
OPTIONS += ["resolve", "authenticate", "log", "log_level", "tls", "websocket_request"]
HELPERS = [swiftmqtt.status_name, swiftmqtt.status_text, swiftmqtt.stage_name, swiftmqtt.rule_name, swiftmqtt.reason_code_name]
HELPERS += [swiftmqtt.topic_name_check, swiftmqtt.topic_filter_check]


def refused(call, *arguments) -> int:
    """How many of the wrong values one of our exceptions answers."""
    count = 0
    for value in WRONG:
        try:
            call(*arguments, value)
        except ACCEPTED as error:
            assert str(error)
            count += 1
        except Exception as error:
            raise AssertionError(f"{value!r:.40}: {type(error).__name__}: {error}") from error
    return count


@pytest.mark.parametrize("name", CALLS)
def test_a_call(name):
    client = Client("mqtt://127.0.0.1")  # not connected: what is accepted waits in the outbox
    count = refused(CALLS[name], client)
    flags = ("retain", "urgent", "quiet", "stored", "no_local", "published", "changed")  # whatever Python holds for true or false
    assert count >= 3 or name.endswith((*flags, "properties", "set_log level"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", swiftmqtt.UndeliveredWarning)
        client.close()


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option(name):
    refused(lambda value: Client("mqtt://127.0.0.1", **{name: value}).close())


@pytest.mark.parametrize("name", [name for name in OPTIONS if name.startswith("websocket_")])
def test_an_option_of_a_websocket(name):
    refused(lambda value: Client("ws://127.0.0.1", **{name: value}).close())


@pytest.mark.parametrize("name", swiftmqtt.TLSOptions.__annotations__)
def test_an_option_of_tls(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # key_log_file is made, whatever its name
    if not TLS_LIBRARY.exists():
        pytest.skip("libswiftmqtt-tls was not built here")
    assert refused(lambda value: swiftmqtt.TLS(**{name: value})) >= 3


@pytest.mark.parametrize("name", Will.__annotations__)
def test_a_will(name):
    refused(lambda value: Client("mqtt://127.0.0.1", will=Will(**{"topic": "a", name: value})).close())


def test_urls_and_helpers():
    assert refused(lambda value: Client(value).close()) == len(WRONG)
    assert all(refused(helper) >= 3 for helper in HELPERS)
    assert refused(lambda value: swiftmqtt.topic_matches(value, "a")) == len(WRONG)


def test_a_client_goes_on_after_all_of_them(server, level):
    """Connected, and with calls that wait."""
    with Client(server.url, outbox_messages=20_000) as client:
        client.subscribe(level, 1).wait(5)
        for name, call in CALLS.items():
            if not name.startswith("network"):
                refused(call, client)
        for wrong in (object(), "1", float("nan"), [1], b"1"):
            for wait in (client.receive, client.run, lambda v: client.publish("b").wait(v), client.disconnect):
                with pytest.raises(swiftmqtt.ArgumentError, match="seconds"):
                    wait(wrong)
        for wrong in (None, "1", 1.5, -1, 256, 1 << 40):
            with pytest.raises(swiftmqtt.ArgumentError, match="reason_code"):
                client.disconnect(reason_code=wrong)
        client.publish(level, "still here", qos=1).wait(10)
        assert next(message for message in client if message.topic == level).text() == "still here"


def test_asyncio(server, level):
    async def attempt(client: aio.Client, name: str, value: object) -> None:
        method = getattr(client, name.split()[0])
        keywords = {"size": "size"}.get(name.partition(" ")[2], name.partition(" ")[2])
        call = method("a", **{keywords: value}) if keywords else method(value)
        await asyncio.wait_for(call, 0.05)

    async def main() -> None:
        names = ["publish", "subscribe", "unsubscribe", *(f"publish {n}" for n in PUBLISH.split() if n != "quiet")]
        names += [f"subscribe {name}" for name in SUBSCRIBE.split()] + ["request", "request timeout", "connect"]
        names += ["disconnect", "publish_stream source"]
        for name in names:
            client = aio.Client("mqtt://127.0.0.1")  # not connected: what is accepted waits
            for value in WRONG:
                try:
                    await attempt(client, name, value)
                except (*ACCEPTED, asyncio.TimeoutError):
                    pass
            client.close()

    begin = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begin < 55


# ---- Payloads that cannot be read


def unreadable(path) -> list:
    """What claims to be something to read from, and is not."""

    class Fails:
        def seek(self, *_):
            return 10

        def readinto(self, _):
            raise OSError("gone")

        def read(self, _):
            raise OSError("gone")

    (path / "file").write_bytes(b"x" * 100_000)
    closed = open(path / "file", "rb")
    closed.close()
    return [Fails(), closed, open(path / "file", "ab"), open(path / "file"), lambda offset, size: None,
            lambda offset, size: "text", lambda offset, size: b"", lambda: 0, os.open]  # fmt: skip


def test_a_payload_that_cannot_be_read(server, level, tmp_path):
    for source in unreadable(tmp_path):
        with Client(server.url) as client, pytest.raises(swiftmqtt.Error):
            client.publish_stream(level, source, 100_000 if callable(source) else None, qos=1).wait(10)
    assert not client._pending


def test_what_arrives_may_be_anything(server, level):
    """Bytes that are no text, no JSON, and not what their content type says."""
    with Client(server.url) as client:
        client.subscribe(f"{level}/#", qos=1).wait(5)
        for content_type in ("application/json", "text/plain", "application/x-plist", "application/x-protobuf", None):
            client.publish(f"{level}/a", b"\xff\xfe{", content_type=content_type)
            message = client.receive(5)
            for read in (message.text, message.json, lambda: message.decode("plist"), lambda: message.decode(dict)):
                with pytest.raises(ValueError):
                    read()
            if content_type is None:
                assert message.decode() == b"\xff\xfe{"
            else:
                with pytest.raises(ValueError):
                    message.decode()
            with pytest.raises(swiftmqtt.ArgumentError):
                message.reply("no request")
