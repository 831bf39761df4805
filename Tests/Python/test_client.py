"""The synchronous client, against Mosquitto."""

from __future__ import annotations

import itertools
import json
import re

import pytest
import swiftmqtt
from Support.servers import free_port
from swiftmqtt import Client, Completed, Overflow, Protocol, Stage, State, Status, Subscription, Will

VERSIONS = pytest.mark.parametrize("protocol", [Protocol.MQTT_3_1, Protocol.MQTT_3_1_1, Protocol.MQTT_5_0])


@VERSIONS
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_there_and_back(server, level, protocol, qos):
    with Client(server.url, protocol=protocol, client_id="there-and-back") as client:
        assert client.connected.protocol == client.protocol == protocol and not client.connected.session_present
        assert client.subscribe(f"{level}/#", qos).wait(5).reason_codes == (qos,)
        answer = client.publish(f"{level}/a", b"\0\xff" * 20, qos=qos).wait(5)
        assert answer.reason_code == (0 if qos and protocol == 5 else -1) and (answer.latency_ms >= 0) == (qos > 0)
        message = client.receive(5)
        assert (message.topic, message.payload, message.qos) == (f"{level}/a", b"\0\xff" * 20, qos)
        assert not message.retain and not message.duplicate
        assert client.unsubscribe(f"{level}/#").wait(5).reason_code in (-1, 0)


def test_url_or_host(server):
    with Client(host=server.host, port=server.port, client_id="gateway-%%") as client:
        assert len(client.client_id) == len("gateway-") + 4
    with Client(f"mqtt://user:pass@{server.host}:{server.port}"):
        pass


def test_properties_there_and_back(server, level):
    given = dict(
        content_type="text/csv",
        payload_format_indicator=1,
        response_topic="answers",
        correlation_data=b"\0\1",
        user_properties=[("a", "1"), ("ä", "2"), ("a", "3")],
    )
    with Client(server.url) as client:
        client.subscribe(level, identifier=7).wait(5)
        client.publish(level, b"1;2", expiry_s=100, **given).wait(5)
        message = client.receive(5)
        assert {name: getattr(message.properties, name) for name in given} == given
        assert message.properties.message_expiry_interval in (99, 100)
        assert message.subscription_identifier == 7 and message.properties.subscription_identifiers == [7]
        same = swiftmqtt.Properties(**given)
        client.publish(level, properties=same, user_properties={"b": "4"}).wait(5)
        assert client.receive(5).properties.user_properties == [("b", "4")]


def test_a_wrong_property_is_named(server):
    with Client(server.url) as client:
        for wrong in (
            dict(payload_format_indicator=2),
            dict(content_type=b"x"),
            dict(content_type="\0"),
            dict(correlation_data="text"),
            dict(user_properties=[("a",)]),
            dict(response_topic="\ud800"),
        ):
            with pytest.raises(swiftmqtt.ArgumentError, match=next(iter(wrong))):
                client.publish("a", **wrong)
        with pytest.raises(swiftmqtt.ArgumentError) as told:
            client.publish("a", properties=swiftmqtt.Properties(session_expiry_interval=3))
        assert told.value.status == Status.PROPERTY
    with Client(server.url, protocol=4) as old, pytest.raises(swiftmqtt.ArgumentError):
        old.publish("a", content_type="text/plain")


def test_wrong_arguments(server):
    with Client(server.url) as client:
        for call, status in {
            lambda: client.publish("a/+"): Status.TOPIC_NAME,
            lambda: client.publish(""): Status.TOPIC_NAME,
            lambda: client.publish("a\0"): Status.UTF8,
            lambda: client.publish("\ud800"): Status.UTF8,
            lambda: client.publish("a", qos=3): Status.QOS,
            lambda: client.publish("a", qos=256): Status.QOS,
            lambda: client.publish("a", qos=-1): Status.QOS,
            lambda: client.publish("a", overflow=9): Status.OPTION,
            lambda: client.publish("a", expiry_s=1 << 32): Status.OPTION,
            lambda: client.publish("a", b"x" * (1 << 21)): Status.TOO_LARGE,
            lambda: client.publish("a", object()): Status.OPTION,
            lambda: client.publish(7): Status.OPTION,
            lambda: client.subscribe("a/#/b"): Status.TOPIC_FILTER,
            lambda: client.subscribe("a", 3): Status.QOS,
            lambda: client.subscribe([]): Status.OPTION,
            lambda: client.subscribe("a", identifier=1 << 30): Status.OPTION,
            lambda: client.connect(): Status.STATE,
        }.items():
            with pytest.raises(swiftmqtt.ArgumentError) as told:
                call()
            assert told.value.status == status and isinstance(told.value, ValueError)
        assert client.stats["messages_published"] == 0


@pytest.mark.parametrize(
    "options, named",
    [
        (dict(keep_alive_s=70_000), "keep_alive_s=70000"),
        (dict(port=70_000), "port=70000"),
        (dict(protocol=6), "SMQ_ERR_NOT_SUPPORTED"),
        (dict(outbox_bytes=1), "outbox_bytes=1"),
        (dict(outbox_bytes=-1), "outbox_bytes=-1"),
        (dict(outbox_bytes="big"), "outbox_bytes"),
        (dict(outbox_bytes=1 << 33), "outbox_bytes"),
        (dict(client_id=b"bytes"), "client_id"),
        (dict(client_id="\0"), "client_id"),
        (dict(keep_session=True), "keep_session"),
        (dict(new_session=True), "new_session"),
        (dict(client_id="a", protocol=4, keep_session=True, new_session=True), "new_session"),
        (dict(url="mqtt://127.0.0.1"), "options host and url contradict each other"),
        (dict(url="mqtt://u@127.0.0.1", host="", user_name="u"), "user_name"),
        (dict(protocol=4, session_expiry_s=3), "session_expiry_s"),
        (dict(protocol=4, password="x"), "password"),
        (dict(user_properties=[("a", 3)]), "user_properties"),
        (dict(will=Will("a/#")), "the Will's topic"),
        (dict(will=Will("a", qos=3)), "Will"),
    ],
)
def test_a_wrong_option_is_named(options, named):
    with pytest.raises(swiftmqtt.ArgumentError, match=named):
        Client(**{"host": "127.0.0.1", **options})


def test_options_that_there_are_not():
    for wrong, told in {
        "keepalive": "there is no option 'keepalive': did you mean keep_alive_s?",
        "keep_alive": "there is no option 'keep_alive': did you mean keep_alive_s?",
        "username": "there is no option 'username': did you mean user_name?",
        "clientid": "there is no option 'clientid': did you mean client_id?",
        "on_message": "there is no option 'on_message': messages come from receive(), messages(), or a loop: for message "
        "in client",
    }.items():
        with pytest.raises(TypeError, match=re.escape(told) + "$"):
            Client("mqtt://127.0.0.1", **{wrong: 3})
    with pytest.raises(swiftmqtt.ArgumentError, match="neither a URL nor the option host"):
        Client()
    with pytest.raises(swiftmqtt.ArgumentError, match="wrong at byte 17") as told:
        Client("mqtt://127.0.0.1:99999")
    assert told.value.status == Status.URL
    with pytest.raises(swiftmqtt.ArgumentError) as told:
        Client("mqtt://user:secret@host:x")
    assert "secret" not in str(told.value)


def test_nobody_listens():
    client = Client(f"mqtt://127.0.0.1:{free_port()}")
    with pytest.raises(swiftmqtt.TransportError) as told, client:
        pass
    error = told.value
    assert (error.status, error.status_name, error.stage) == (Status.NETWORK, "SMQ_ERR_NETWORK", Stage.CONNECT)
    assert isinstance(error, ConnectionError) and error.errno == error.os_error == 111 and error.attempt == 1
    assert "Connection refused" in str(error) and "connect" in str(error) and error.server in str(error)
    assert client.closed


def test_a_name_without_an_address():
    with pytest.raises(swiftmqtt.TransportError) as told, Client("mqtt://does.not.exist.invalid"):
        pass
    assert told.value.status == Status.RESOLVE and "EAI_" in str(told.value)


def test_refused(start_mosquitto):
    server = start_mosquitto(allow_anonymous="false")
    for protocol, code in ((4, 5), (5, 0x87)):
        with pytest.raises(swiftmqtt.PeerError) as told, Client(server.url, protocol=protocol):
            pass
        assert (told.value.status, told.value.reason_code) == (Status.REFUSED, code)
        assert "uthori" in str(told.value) and told.value.stage == Stage.CONNACK


def test_connect_retries_if_it_is_told_to(start_mosquitto):
    server = start_mosquitto()
    server.stop()
    client = Client(server.url, reconnect_min_ms=10, reconnect_max_ms=50)
    with pytest.raises(TimeoutError):
        client.connect(0.3, retry=True)
    assert client.state == State.DISCONNECTED and client.stats["attempts"] > 1
    ended = []

    def starts_in_the_end(error):
        ended.append(error)
        if len(ended) == 3:
            server.start()

    client.on_disconnected = starts_in_the_end
    assert client.connect(30, retry=True).attempt > 3
    client.close()


def test_it_stays_connected_and_subscribed(start_mosquitto, level):
    server = start_mosquitto()
    with Client(server.url, reconnect_min_ms=10, reconnect_max_ms=100) as client:
        came, went = [], []
        client.on_connected, client.on_disconnected = came.append, went.append
        client.subscribe(f"{level}/#", 1).wait(5)
        server.kill()
        token = client.publish(f"{level}/a", "kept", qos=1)
        with pytest.raises(TimeoutError):
            token.wait(0.2)
        server.start()
        token.wait(20)
        assert client.receive(10).text() == "kept"
        assert len(came) == 1 and went and all(isinstance(e, swiftmqtt.TransportError) for e in went)


def test_iteration_ends_when_the_client_is_disconnected(server, level):
    with pytest.raises(swiftmqtt.UndeliveredError, match="was disconnected"), Client(server.url) as client:
        client.subscribe(level).wait(5)
        for number in range(5):
            client.publish(level, number)
        seen = []
        for message in client:
            seen.append(message.json())
            if len(seen) == 5:
                client.disconnect()
        assert seen == [0, 1, 2, 3, 4] and client.state == State.DISCONNECTED
        assert list(client) == []
        with pytest.raises(swiftmqtt.ArgumentError):
            client.receive(1)
        with pytest.raises(swiftmqtt.ArgumentError):
            client.publish(level).wait()
    assert list(client) == []


def test_iteration_without_reconnecting_ends_with_the_reason(start_mosquitto):
    server = start_mosquitto()
    with Client(server.url, reconnect=False) as client:
        server.stop()
        with pytest.raises(swiftmqtt.Error):
            list(client)
        server.start()
        client.connect()


def test_messages_that_come_while_something_else_is_awaited(server, level):
    with Client(server.url, receive_maximum=4) as client:
        client.subscribe(level, 1).wait(5)
        for number in range(50):
            client.publish(level, number, qos=1)
        assert client.publish(level, "last", qos=1).wait(5).reason_code == 0
        got = [client.receive(5).decode() for _ in range(51)]
        assert got == [*range(50), "last"]
        client.run(0.05)
        assert client.stats["unacknowledged"] == 0


def test_messages_with_a_timeout(server, level):
    with Client(server.url) as client:
        client.subscribe(level).wait(5)
        client.publish(level, b"1").wait()
        assert [m.payload for m in client.messages(timeout=0.2)] == [b"1"]
        with pytest.raises(TimeoutError):
            client.receive(0.01)


def test_many_filters(start_mosquitto, tmp_path):
    acl = tmp_path / "acl"
    acl.write_text("topic readwrite open/#\n")
    acl.chmod(0o700)
    server = start_mosquitto(acl_file=str(acl))
    with Client(server.url) as client:
        token = client.subscribe(["open/a", Subscription("open/b", qos=2, retain_handling=2), ("open/c")], 1)
        assert token.wait(5).reason_codes == (1, 2, 1)
        assert client.unsubscribe(["open/a", "never"]).wait(5).reason_codes == (0, 0x11)


def test_retained_and_will(server, level):
    will = Will(f"{level}/will", {"gone": True}, qos=1, retain=True, user_properties=[("why", "unknown")])
    with Client(server.url, will=will) as doomed, Client(server.url) as witness:
        doomed.publish(f"{level}/kept", "21", qos=1, retain=True).wait()
        witness.subscribe(f"{level}/#", 1).wait(5)
        message = witness.receive(5)
        assert message.retain and message.text() == "21"
        doomed.close()
        message = witness.receive(5)
        assert message.topic == f"{level}/will" and message.decode() == {"gone": True}
        assert message.properties.user_properties == [("why", "unknown")]
        for topic in ("kept", "will"):
            witness.publish(f"{level}/{topic}", b"", retain=True).wait()


def test_a_session_that_is_kept(server, level):
    options = dict(client_id=level, keep_session=True, session_expiry_s=60)
    with Client(server.url, **options) as client:
        client.subscribe(level, 2).wait(5)
    with Client(server.url) as other:
        other.publish(level, "while away", qos=2).wait(5)
    with Client(server.url, **options) as client:
        assert client.connected.session_present
        assert client.receive(5).text() == "while away"
        client.disconnect(session_expiry_interval=0)


@pytest.mark.parametrize("seconds, kept", [(60, True), (0, False)])
def test_a_session_expiry_of_0(server, level, seconds, kept):
    with Client(server.url, client_id=level, keep_session=True) as client:
        client.subscribe(level, 1).wait(5)
    with Client(server.url) as other:
        other.publish(level, "while away", qos=1).wait(5)
    with Client(server.url, client_id=level, keep_session=True, session_expiry_s=seconds) as client:
        assert client.connected.session_present and client.server.session_expiry_s == seconds
        assert client.receive(5).text() == "while away"
    with Client(server.url, client_id=level, keep_session=True) as client:
        assert client.connected.session_present == kept
        client.disconnect(session_expiry_interval=0)


def test_a_session_expiry_of_0_before_5_0(server, level):
    """There it says nothing: a session that is kept has no limit."""
    options = dict(client_id=level, keep_session=True, protocol=4)
    for expected in (False, True):
        with Client(server.url, session_expiry_s=0, **options) as client:
            assert client.connected.session_present == expected
    with Client(server.url, client_id=level, protocol=4):  # and removes it
        pass


def test_what_an_answer_is_of(server, level):
    with Client(server.url) as client:
        assert client.subscribe(level, 1).wait(5).completed is Completed.SUBSCRIBE
        for qos in (0, 1, 2):
            assert client.publish(level, b"x", qos=qos).wait(5).completed is Completed.PUBLISH
        assert client.submit(level, b"x", qos=1).result(5).completed is Completed.PUBLISH
        assert client.unsubscribe(level).wait(5).completed is Completed.UNSUBSCRIBE


def test_acknowledging_by_hand(server, level):
    options = dict(client_id=level, keep_session=True, session_expiry_s=60, manual_ack=True)
    with Client(server.url, **options) as client:
        client.subscribe(level, 1).wait(5)
        for number in range(2):
            client.publish(level, number, qos=1).wait(5)
        first, second = client.receive(5), client.receive(5)
        assert client.stats["unacknowledged"] == 2
        first.ack()
        first.ack()  # has it already
        client.run(0.05)
        client.close()
        second.ack.__self__._token = 0  # its client is closed
    with Client(server.url, **options) as client:
        again = client.receive(5)
        assert again.json() == 1 and again.duplicate
        again.ack(0x99, reason_string="no good")
        client.run(0.05)


def test_larger_than_the_buffer(server, level):
    payload = bytes(range(256)) * 2000
    with Client(server.url, receive_bytes=4096, message_maximum=600_000) as client:
        client.subscribe(level, 1).wait(5)
        client.publish_stream(level, payload, qos=1).wait(10)
        message = client.receive(10)
        assert message.payload == payload and message.status == 0
        assert message.view[256:258] == b"\0\1"
        client.publish_stream(level, payload + payload, qos=1)
        message = client.receive(10)
        assert (message.payload, message.status) == (b"", Status.RECEIVE_TOO_LARGE)
        assert message.payload_total == 2 * len(payload)


def test_larger_than_what_the_program_takes(server, level):
    with Client(server.url, message_maximum=100) as client:
        client.subscribe(level, 1).wait(5)
        for size in (101, 100):
            client.publish(level, b"x" * size, qos=1)
        large, fits = client.receive(5), client.receive(5)
        assert (large.payload, large.status, large.payload_total) == (b"", Status.RECEIVE_TOO_LARGE, 101)
        assert (fits.payload, fits.status) == (b"x" * 100, 0)


def test_each_server_of_a_url_is_tried_once(server):
    url = "mqtt://127.0.0.1:1,127.0.0.1:2"
    ended: list[object] = []
    with Client(f"{url},{server.host}:{server.port}") as client:
        assert client.connected and client.connected.server == 2
    client = Client(url)
    client.on_disconnected = ended.append
    with pytest.raises(swiftmqtt.TransportError, match="Connection refused"):
        client.connect(10)
    assert len([why for why in ended if why]) == 2 and client.state == State.DISCONNECTED
    client.close()


def test_a_payload_from_a_file_and_from_a_function(server, level, tmp_path):
    payload = bytes(range(256)) * 500
    (tmp_path / "payload").write_bytes(payload)
    with Client(server.url, receive_bytes=4096) as client:
        client.subscribe(level).wait(5)
        with open(tmp_path / "payload", "rb") as file:
            client.publish_stream(level, file).wait(10)
        client.publish_stream(level, lambda offset, size: payload[offset : offset + size], len(payload)).wait(10)
        client.publish_stream(level, memoryview(payload)[::2]).wait(10)
        assert [client.receive(10).payload for _ in range(3)] == [payload, payload, payload[::2]]
        with pytest.raises(swiftmqtt.ArgumentError, match="size"):
            client.publish_stream(level, lambda offset, size: b"")


def test_a_source_that_gives_up(server, level):
    def broken(offset, size):
        raise OSError("the disk is gone")

    with Client(server.url, reconnect_min_ms=10) as client:
        with pytest.raises(swiftmqtt.TransportError) as told:
            client.publish_stream(level, broken, 10).wait(10)
        assert told.value.status == Status.STREAM
        assert isinstance(told.value.__cause__, OSError)
        with pytest.raises(swiftmqtt.TransportError) as told:
            client.publish_stream(level, lambda offset, size: b"more" * size, 10).wait(10)
        assert isinstance(told.value.__cause__, swiftmqtt.ArgumentError)


def test_control_c_in_a_source(server, level):
    def interrupted(offset, size):
        raise KeyboardInterrupt

    with Client(server.url) as client:
        token = client.publish_stream(level, interrupted, 10)
        with pytest.raises(KeyboardInterrupt):
            token.wait(10)
        assert token.error.status == Status.STREAM


def test_request_and_response(server, level):
    with Client(server.url) as asks, Client(server.url) as answers:
        answers.subscribe(level).wait(5)
        token = asks.request(level, {"add": [1, 2]}, timeout=10)
        asks.flush()
        question = answers.receive(5)
        question.reply(sum(question.decode()["add"]), qos=1).wait(5)
        assert token.wait(5).decode() == 3
        with pytest.raises(swiftmqtt.ArgumentError, match="Response Topic"):
            token.wait().reply()
        late = asks.request(level, timeout=0.05)
        with pytest.raises(swiftmqtt.TransportError) as told:
            late.wait(5)
        assert told.value.status == Status.TIMEOUT


def test_full_and_room(server, level):
    with Client(server.url, outbox_bytes=2000, outbox_messages=10, run=False) as client:
        tokens = []
        with pytest.raises(swiftmqtt.NoRoomError) as told:
            for number in itertools.count():
                tokens.append(client.publish(level, number))
        assert told.value.status == Status.FULL and len(tokens) == 10
        for number in range(100):
            tokens.append(client.publish(level, number, qos=1, timeout=5))
        assert all(token.wait(5) for token in tokens)


def test_overflow():
    client = Client(f"mqtt://127.0.0.1:{free_port()}", outbox_messages=4)
    latest = [client.publish("latest", n, overflow=Overflow.LATEST) for n in range(2)]
    dropped = [client.publish("a", n, overflow="drop_newest") for n in range(8)]
    with pytest.raises(swiftmqtt.PeerError) as told:
        latest[0].wait(1)
    assert told.value.status == Status.REPLACED
    assert not latest[1].done
    ended = [token.error.status for token in dropped if token.done]
    assert ended and set(ended) == {Status.DROPPED}
    with pytest.warns(swiftmqtt.UndeliveredWarning, match=r"'a' \(\d\) and 'latest'; connect"):
        client.close()


def test_urgent_goes_first(start_mosquitto, level):
    server = start_mosquitto()
    with Client(server.url) as witness:
        witness.subscribe(level, 1).wait(5)
        client = Client(server.url)
        client.publish(level, "slow", qos=1)
        client.publish(level, "alarm", qos=1, urgent=True)
        with client:
            assert [witness.receive(5).text() for _ in range(2)] == ["alarm", "slow"]


def test_expired_and_quiet():
    client = Client(f"mqtt://127.0.0.1:{free_port()}")
    token, quiet = client.publish("a", "news", expiry_s=1), client.publish("a", quiet=True)
    with pytest.raises(swiftmqtt.PeerError) as told:
        token.wait(5)
    assert told.value.status == Status.EXPIRED and not quiet.done
    with pytest.warns(swiftmqtt.UndeliveredWarning, match="1 whose topics are not known"):
        client.close()


def test_callbacks_of_tokens(server, level):
    with Client(server.url) as client:
        seen = []
        token = client.publish(level, qos=1)
        token.add_done_callback(seen.append)
        token.wait(5)
        token.add_done_callback(seen.append)
        assert seen == [token, token]


def test_log(server):
    told = []
    with Client(server.url, log=lambda *what: told.append(what), log_level=swiftmqtt.LogLevel.DEBUG) as client:
        items = [what for _, what, _, _ in told]
        assert items[0] == swiftmqtt.LogItem.ATTEMPT and swiftmqtt.LogItem.CONNECTED in items
        # It may call the client: a log handler that publishes.
        client.set_log(lambda level, what, number, other: client.publish("log", str(what), quiet=True))
        client.network_changed()
        client.run(0.05)
        assert client.stats["messages_completed"] == 1
        client.set_log(None)
        with pytest.raises(swiftmqtt.ArgumentError):
            client.set_log(print, 9)


def test_stats_and_server(server):
    with Client(server.url) as client:
        client.publish("a").wait()
        stats = client.stats
        assert stats["connections"] == stats["messages_completed"] == 1 and len(stats["latency"]) == 16
        assert client.server.maximum_qos == 2 and client.server.retain_available is True
        json.dumps(stats)
    with pytest.raises(swiftmqtt.ClosedError):
        client.stats  # noqa: B018


def test_hooks_for_credentials_and_addresses(start_mosquitto, tmp_path):
    passwords = tmp_path / "passwords"
    passwords.touch(0o600)
    import subprocess

    subprocess.run(["mosquitto_passwd", "-b", passwords, "me", "secret"], check=True, capture_output=True)
    server = start_mosquitto(allow_anonymous="false", password_file=str(passwords))
    given = iter([("me", "wrong"), None, ("me", b"secret")])
    asked = []

    def credentials(attempt):
        asked.append(attempt)
        return next(given)

    def resolve(host, port):
        asked.append((host, port))
        return ["127.0.0.1"]

    client = Client(
        f"mqtt://a.name.invalid:{server.port}", credentials=credentials, resolve=resolve, reconnect_min_ms=10
    )
    ended = []
    client.on_disconnected = ended.append
    client.connect(20, retry=True)
    assert [e.status for e in ended] == [Status.REFUSED, Status.CREDENTIALS]
    assert asked == [1, ("a.name.invalid", server.port), 2, 3, ("a.name.invalid", server.port)]
    client.close()


def test_enhanced_authentication(broker):
    from Support.scripted_broker import AUTH, Script, accept, auth

    method = dict(authentication_method="PLUS-ONE")
    ask = auth(0x18, **method, authentication_data=b"41")
    broker.scripts = [Script(at={1: ask}, on={AUTH: [accept]}, connack=method)]
    with Client(broker.url, **method, authenticate=lambda data: b"%d" % (int(data) + 1)) as client:
        assert client.connected.properties.authentication_method == "PLUS-ONE"
    assert broker.of(AUTH)[0].reason()[1]["authentication_data"] == b"42"


def test_falling_back_to_what_the_server_speaks(broker):
    from Support.scripted_broker import Script, refuse

    broker.scripts = [Script(at={1: refuse(0x84)}), Script()]
    with Client(broker.url) as client:
        assert client.protocol == Protocol.MQTT_3_1_1
        client.publish("a", {"without": "content type"}, qos=1).wait(5)


def test_what_the_server_says_at_the_end(broker):
    from Support.scripted_broker import PUBLISH, Script, disconnect

    broker.scripts = [Script(on={PUBLISH: disconnect(0x98, reason_string="so long")})]
    with Client(broker.url, reconnect=False) as client:
        client.publish("a")
        with pytest.raises(swiftmqtt.PeerError) as told:
            list(client)
        error = told.value
        assert (error.status, error.reason_code, error.reason_string) == (Status.SERVER_CLOSED, 0x98, "so long")
        assert error.stage == Stage.CONNECTED and error.properties.reason_string == "so long"
        assert client.error is error and "'so long'" in str(error)
