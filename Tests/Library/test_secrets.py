"""User name, password and authentication data are in the client's block as long as they are needed, and no longer."""

from __future__ import annotations

import ctypes

import pytest

from Support import smq
from Support.scripted_broker import AUTH, Script, accept, auth

V5 = smq.PROTOCOL_5_0
NAME, PASSWORD = b"name-of-the-user", b"the-secret-itself"
METHOD = dict(authentication_method="SCRAM-SHA-256")


def block(client: smq.Client) -> bytes:
    return ctypes.string_at(client.block.address, client.block.size)


@pytest.mark.parametrize("fallback", [0, smq.OPTION_FALLBACK])
def test_closing_wipes_credentials(clients, mosquitto, protocol, fallback):
    options = dict(client_id="c", user_name=NAME, password=PASSWORD, flags=fallback)
    client = clients(url=mosquitto.url, protocol=protocol, **options)
    client.connected()
    # Once for each version that may be spoken.
    assert block(client).count(PASSWORD) == (protocol - 2 if fallback else 1)
    client.close()
    assert NAME not in block(client) and PASSWORD not in block(client)


def test_closing_wipes_what_a_url_said(clients, mosquitto):
    client = clients(url=mosquitto.url.replace("//", f"//{NAME.decode()}:{PASSWORD.decode()}@"))
    client.connected()
    assert PASSWORD in block(client)
    client.close()
    assert NAME not in block(client) and PASSWORD not in block(client)


def test_closing_wipes_authentication_data(clients, broker):
    challenge = auth(smq.REASON_CONTINUE_AUTHENTICATION, **METHOD, authentication_data=b"the-servers-challenge")
    broker.scripts = [Script(at={1: challenge}, on={AUTH: [accept]}, connack=METHOD)]
    listed = smq.properties(**METHOD, authentication_data=b"the-first-data")
    client = clients(url=broker.url, protocol=V5, properties=listed)
    assert client.connect() == smq.OK
    client.wait_event(smq.EVENT_AUTHENTICATE)
    assert client.authenticate(smq.REASON_CONTINUE_AUTHENTICATION, b"the-clients-answer") == smq.OK
    client.wait_event(smq.EVENT_CONNECTED)
    secrets = (b"the-first-data", b"the-servers-challenge", b"the-clients-answer")
    assert b"the-first-data" in block(client)
    client.close()
    assert [secret for secret in secrets if secret in block(client)] == []


@pytest.mark.parametrize("later", [b"", b"x", b"much longer than it was before"])
def test_new_credentials_leave_nothing_of_the_old(clients, mosquitto, later):
    flags = smq.OPTION_ASK_CREDENTIALS | smq.OPTION_FALLBACK
    client = clients(url=mosquitto.url, protocol=V5, flags=flags)
    for name, password in ((NAME, PASSWORD), (b"n", later)):
        assert client.connect() == smq.OK
        event = client.wait_event(smq.EVENT_CREDENTIALS)
        assert client.credentials(event.attempt, name, password) == smq.OK
        client.wait_event(smq.EVENT_CONNECTED)
        client.leave()
    assert [secret for secret in (NAME, PASSWORD, PASSWORD[-8:]) if secret in block(client)] == []
