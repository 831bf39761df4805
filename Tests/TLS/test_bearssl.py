"""The engine of examples-c/tls_bearssl.c, over a socket against Mosquitto."""

from __future__ import annotations

import pytest

from .pumping import Pump, valgrind
from .test_examples import BUILD, needs_bearssl

pytestmark = needs_bearssl


@pytest.fixture(scope="module")
def pump(tmp_path_factory):
    return Pump.build(tmp_path_factory.mktemp("bearssl"), "bearssl", f"-L{BUILD}", "-lswiftmqtt", f"-Wl,-rpath,{BUILD}")


@pytest.fixture
def ca(certificates):
    return certificates.ca_file


@pytest.mark.parametrize("how", [
    dict(count=1000), dict(count=200, size=60000), {"count": 20, "in": 1, "out": 1}, dict(count=200, size=60000, lazy=1),
    {"count": 100, "size": 30000, "lazy": 1, "in": 777, "out": 313}],
    ids=lambda how: ",".join(f"{key}={value}" for key, value in how.items()))
def test_messages(pump, listeners, ca, how):
    tried = pump.one(listeners["good"], ca=ca, **how)
    assert (tried.connack, tried.echoed, tried.wrong, tried.end) == (0, how["count"], 0, "notify")


@pytest.mark.parametrize("server", ["good", "rsa", "below"])
def test_no_allocation_from_begin_to_end(pump, listeners, ca, server):
    tried = pump.one(listeners[server], ca=ca, count=500, counted=True)
    assert (tried.echoed, tried.handshake_allocations, tried.steady_allocations, tried.allocations) == (500, 0, 0, 0)


@pytest.mark.parametrize("server, why", [
    ("wrong-name", "NAME"), ("expired", "EXPIRED"), ("unknown", "UNKNOWN_CA"), ("self-signed", "UNKNOWN_CA"),
    ("tls1.3", "VERSION")])
def test_causes(pump, listeners, ca, server, why):
    tried = pump.one(listeners[server], ca=ca)
    assert (tried.why, tried.open) == (why, 0)


def test_an_address_is_refused(pump, listeners, ca):
    assert pump.one(listeners["good"], ca=ca, name="127.0.0.1").why == "NAME"


def test_the_clients_clock(pump, listeners, ca):
    assert pump.one(listeners["good"], ca=ca, now=1).why == "EXPIRED"


def test_an_end_at_every_step(pump, listeners, ca):
    tried = pump.run(listeners["good"], ca=ca, cut=7, count=1)
    assert len(tried) > 100 and tried[-1].echoed == 1
    assert {attempt.end for attempt in tried[:-1]} == {"closed"}


def test_a_changed_byte_is_found(pump, listeners, ca):
    tried = pump.run(listeners["good"], ca=ca, flip=37)
    assert len(tried) > 20
    assert all(attempt.end in ("failure", "silence") and attempt.connack == -1 for attempt in tried[:-1] if not attempt.open)


def test_valgrind_finds_nothing(pump, listeners, ca):
    assert pump.one(listeners["good"], ca=ca, count=10, under=valgrind()).echoed == 10
