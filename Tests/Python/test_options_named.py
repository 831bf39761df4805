"""An error about an option has its name and, of a number, its value; of two that contradict each other, both."""

from __future__ import annotations

import pytest

import swiftmqtt
from Support.servers import free_port
from swiftmqtt import Client, Will, _abi, _options

URL = "mqtt://127.0.0.1"
ALONE = "the option {} is out of its range, or needs another one"
BOTH = "the options {} and {} contradict each other"
SAID = {
    ALONE.format("outbox_bytes=1"): dict(outbox_bytes=1),
    ALONE.format("dscp=64"): dict(dscp=64),
    ALONE.format("journal_bytes=65536"): dict(journal_bytes=65_536),
    ALONE.format("client_id"): dict(client_id="a\0b"),
    ALONE.format("user_name"): dict(user_name="a" * 65_536),
    ALONE.format("bind_address"): dict(bind_address="nowhere"),
    ALONE.format("websocket_path"): dict(websocket_path="/mqtt"),
    ALONE.format("new_session"): dict(new_session=True),
    BOTH.format("url", "websocket"): dict(websocket=True),
    BOTH.format("host", "url"): dict(host="h"),
    BOTH.format("port=1884", "url"): dict(port=1884),
    BOTH.format("client_id", "keep_session"): dict(keep_session=True),
    BOTH.format("maximum_packet_bytes=4096", "receive_bytes=65536"): dict(maximum_packet_bytes=4096),
    ALONE.format("session_expiry_s=5"): dict(session_expiry_s=5, protocol=4),
    BOTH.format("user_name", "credentials"): dict(user_name="u", credentials=lambda attempt: ("u", "p")),
}


@pytest.mark.parametrize("said", SAID)
def test_the_options_at_fault(said: str):
    with pytest.raises(swiftmqtt.ArgumentError) as caught:
        Client(URL, **SAID[said])
    assert said in str(caught.value)


NUMBERS = {*_abi.OPTION_NUMBERS, *_options.BELOW_NUMBERS} & {*swiftmqtt.Options.__annotations__}


@pytest.mark.parametrize("name", sorted(NUMBERS - {"session_expiry_s"}))  # of which every value is right
def test_every_number(name: str):
    with pytest.raises(swiftmqtt.ArgumentError, match=f"{name}=4294967294"):
        Client(URL, will=Will("gone"), client_id="me", **{name: 0xFFFF_FFFE})


@pytest.mark.parametrize("name", [name for name in swiftmqtt.Options.__annotations__ if len(name) > 4])
def test_an_unknown_name_suggests_the_right_one(name: str):
    """With its last letter but one left out."""
    wrong = name[:-2] + name[-1]
    if wrong in swiftmqtt.Options.__annotations__:
        pytest.skip("it is another option")
    with pytest.raises(TypeError, match=rf"there is no option '{wrong}': did you mean {name}\?"):
        Client(URL, **{wrong: 1})


def test_a_server_that_is_not_there_is_named():
    port = free_port()
    client = Client(f"mqtt://127.0.0.1:{port}", reconnect=False)
    with pytest.raises(swiftmqtt.TransportError) as caught:
        client.connect(10)
    client.close()
    assert f"127.0.0.1:{port}" in str(caught.value)
