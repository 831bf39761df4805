"""The names the library gives to numbers."""

import ctypes
import re

import pytest

from conftest import HEADER

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

STAGES = ["none", "resolve", "connect", "connack", "connected", "keep alive", "disconnect", "answer", "write",
          "credentials", "proxy", "tls", "websocket"]


@pytest.fixture(scope="module")
def library(library):
    loaded = ctypes.CDLL(str(library))
    for name in ("smq_status_name", "smq_status_text", "smq_stage_name", "smq_reason_code_name"):
        getattr(loaded, name).restype = ctypes.c_char_p
    return loaded


def test_reason_codes(library):
    for code in range(-300, 600):
        expected = {-1: "none", **REASON_CODES}.get(code, "unknown Reason Code")
        assert library.smq_reason_code_name(5, code).decode() == expected, code


def test_return_codes(library):
    for code in range(-300, 600):
        expected = {-1: "none", **RETURN_CODES}.get(code, "unknown Reason Code")
        assert library.smq_reason_code_name(4, code).decode() == expected, code


def test_statuses_are_named_as_in_the_header(library):
    header = {int(value): name for name, value in re.findall(r"\b(SMQ_OK|SMQ_ERR_\w+) = (-?\d+)", HEADER.read_text())}
    assert len(header) > 20
    for status in [*range(-1000, 1000), 2**31 - 1, -(2**31)]:
        assert library.smq_status_name(status).decode() == header.get(status, "unknown status"), status


def test_statuses_have_a_sentence(library):
    """Each status its own, which can follow a colon; and no other value has one."""
    statuses = [int(value) for value in re.findall(r"\b(?:SMQ_OK|SMQ_ERR_\w+) = (-?\d+)", HEADER.read_text())]
    sentences = {status: library.smq_status_text(status).decode() for status in statuses}
    assert len(set(sentences.values())) == len(statuses) > 20
    for status, sentence in sentences.items():
        assert re.fullmatch(r"[a-z].* .*[^.]", sentence), (status, sentence)
    for status in {*range(-1000, 1000), 2**31 - 1, -(2**31)} - {*statuses}:
        assert library.smq_status_text(status) == b"the status is unknown", status


def test_stages(library):
    for stage in [*range(-100, 100), 2**31 - 1, -(2**31)]:
        expected = STAGES[stage] if 0 <= stage < len(STAGES) else "unknown stage"
        assert library.smq_stage_name(stage).decode() == expected, stage


def test_version(library):
    numbers = re.findall(r"#define SMQ_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER.read_text())
    major, minor, patch = map(int, numbers)
    assert library.smq_version() == major << 16 | minor << 8 | patch
