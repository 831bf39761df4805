"""The names the library gives to numbers."""

import ctypes
import re

import pytest

from conftest import MQTT, STOMP

# 5.0, section 2.4.
REASON_CODES = {
    0x00: "Success",
    0x01: "Granted QoS 1",
    0x02: "Granted QoS 2",
    0x04: "Disconnect with Will Message",
    0x10: "No matching subscribers",
    0x11: "No subscription existed",
    0x18: "Continue authentication",
    0x19: "Re-authenticate",
    0x80: "Unspecified error",
    0x81: "Malformed Packet",
    0x82: "Protocol Error",
    0x83: "Implementation specific error",
    0x84: "Unsupported Protocol Version",
    0x85: "Client Identifier not valid",
    0x86: "Bad User Name or Password",
    0x87: "Not authorized",
    0x88: "Server unavailable",
    0x89: "Server busy",
    0x8A: "Banned",
    0x8B: "Server shutting down",
    0x8C: "Bad authentication method",
    0x8D: "Keep Alive timeout",
    0x8E: "Session taken over",
    0x8F: "Topic Filter invalid",
    0x90: "Topic Name invalid",
    0x91: "Packet Identifier in use",
    0x92: "Packet Identifier not found",
    0x93: "Receive Maximum exceeded",
    0x94: "Topic Alias invalid",
    0x95: "Packet too large",
    0x96: "Message rate too high",
    0x97: "Quota exceeded",
    0x98: "Administrative action",
    0x99: "Payload format invalid",
    0x9A: "Retain not supported",
    0x9B: "QoS not supported",
    0x9C: "Use another server",
    0x9D: "Server moved",
    0x9E: "Shared Subscriptions not supported",
    0x9F: "Connection rate exceeded",
    0xA0: "Maximum connect time",
    0xA1: "Subscription Identifiers not supported",
    0xA2: "Wildcard Subscriptions not supported",
}

# 3.1.1, section 3.2.2.3.
RETURN_CODES = {
    0: "Connection Accepted",
    1: "Unacceptable protocol version",
    2: "Identifier rejected",
    3: "Server unavailable",
    4: "Bad user name or password",
    5: "Not authorized",
    0x80: "Failure",  # of SUBACK
}

STAGES = {
    "smq": ["none", "resolve", "connect", "connack", "connected", "keep alive", "disconnect", "answer", "write", "credentials",
            "proxy", "tls", "websocket"],
    "sst": ["none", "resolve", "connect", "accept", "connected", "heart-beat", "disconnect", "receipt", "write", "credentials",
            "proxy", "tls", "websocket"],
}
BEYOND = (2**31 - 1, -(2**31))


class Names:
    """What a library calls its numbers, and what its header says of them."""

    def __init__(self, build, ours):
        self.header, self.prefix = ours.header.read_text(), ours.prefix
        self.loaded = ctypes.CDLL(str(build / f"lib{ours.name}.so"))

    def name(self, what, *numbers):
        """The answer of smq_…_name(), or sst_…_name()."""
        function = getattr(self.loaded, f"{self.prefix}_{what}")
        function.restype = ctypes.c_char_p
        return function(*numbers).decode()

    def numbers(self, names):
        """{number: name} of an enum of the header. names: SMQ_ and SST_ are left out."""
        found = re.findall(rf"\b({self.prefix.upper()}_(?:{names})) = (-?\d+)", self.header)
        return {int(value): name for name, value in found}


@pytest.fixture
def names(build, ours):
    return Names(build, ours)


@pytest.fixture
def mqtt(build):
    return Names(build, MQTT)


def test_reason_codes(mqtt):
    for code in range(-300, 600):
        expected = {-1: "none", **REASON_CODES}.get(code, "unknown Reason Code")
        assert mqtt.name("reason_code_name", 5, code) == expected, code


def test_return_codes(mqtt):
    for code in range(-300, 600):
        expected = {-1: "none", **RETURN_CODES}.get(code, "unknown Reason Code")
        assert mqtt.name("reason_code_name", 4, code) == expected, code


def test_statuses_are_named_as_in_the_header(names):
    header = names.numbers(r"OK|ERR_\w+")
    assert len(header) > 20
    for status in [*range(-1000, 1000), *BEYOND]:
        assert names.name("status_name", status) == header.get(status, "unknown status"), status


def test_statuses_have_a_sentence(names):
    """Each status its own, which can follow a colon; and no other value has one."""
    statuses = names.numbers(r"OK|ERR_\w+")
    sentences = {status: names.name("status_text", status) for status in statuses}
    assert len(set(sentences.values())) == len(statuses) > 20
    for status, sentence in sentences.items():
        assert re.fullmatch(r"[a-z].* .*[^.]", sentence), (status, sentence)
    for status in {*range(-1000, 1000), *BEYOND} - {*statuses}:
        assert names.name("status_text", status) == "the status is unknown", status


def test_stages(names):
    expected = STAGES[names.prefix]
    header = names.numbers(r"STAGE_\w+")
    assert {*range(len(expected))} == {*header}
    for stage in [*range(-100, 100), *BEYOND]:
        assert names.name("stage_name", stage) == (expected[stage] if stage in header else "unknown stage"), stage


def test_rules_have_a_text(names):
    """Each rule of the header its own; and no other value has one."""
    rules = names.numbers(r"RULE_\w+")
    texts = {rule: names.name("rule_name", rule) for rule in rules}
    assert len(set(texts.values())) == len(rules) > 10 and all(texts.values())
    for rule in {*range(-1000, 1000), *BEYOND} - {*rules}:
        assert names.name("rule_name", rule) == "unknown rule", rule


def test_causes_of_tls_are_the_same_in_both(build, mqtt):
    if build.name.endswith("-small"):
        pytest.skip("the small profile is one of MQTT")
    stomp = Names(build, STOMP)
    told = [(mqtt.name("tls_cause_name", cause), stomp.name("tls_cause_name", cause)) for cause in [*range(-100, 100), *BEYOND]]
    assert all(one == other for one, other in told) and len(set(told)) > 10


def test_the_version(names):
    numbers = re.findall(rf"#define {names.prefix.upper()}_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", names.header)
    major, minor, patch = map(int, numbers)
    assert getattr(names.loaded, f"{names.prefix}_version")() == major << 16 | minor << 8 | patch
