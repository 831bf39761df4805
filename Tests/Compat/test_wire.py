"""The same calls on both libraries, byte by byte as a server gets them, with what the program is told and what is
logged."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass

import pytest

from .test_client import in_a_process
from .wire_calls import CALLS, Wire


@dataclass(frozen=True)
class Difference:
    """Where ours differs on purpose; what docs/migrating-from-libmosquitto.md has of it, or the log alone."""

    calls: str  # their names, as a regular expression
    reason: str
    lines: tuple[tuple[str, str], ...]  # libmosquitto's, as regular expressions, and ours in their place; "": none


DIFFERENCES = (
    Difference(
        r"publish_again.*", "what is sent again is not logged again", ((r"Client wire sending PUBLISH \(d1, .*", ""),)),
    Difference(
        r"a_receipt_of_nothing.*", "an acknowledgement of nothing is answered, and not logged",
        ((r"Client wire (received PUBREC|sending PUBREL|received PUBCOMP) .*", ""), (r"Warning: Received PUBREC .*", ""))),
    Difference(
        r"an_alias_instead_of_the_topic_and_qos_1 .*",
        "it may have to be sent again on a connection that does not know the alias: the topic goes with it",
        (("PUBLISH 3209000000020323000179", "PUBLISH 320e0005746f70696300020323000179"),)),
    Difference(
        r"a_received_list_whose_first_may_not_be_sent .*", "[MQTT-3.3.4-6]: what is the server's is refused",
        (("publish = 0, m1", "publish = 2, m-1"), ("on_publish", ""), ("PUBLISH .*", ""), (".* sending PUBLISH .*", ""))),
    Difference(
        r"an_alias_that_stands_for_nothing .*", "the server would hang up",
        (("publish = 0, m1", "publish = 3, m-1"), ("on_publish", ""), ("PUBLISH .*", ""), (".* sending PUBLISH .*", ""))),
    Difference(
        r"a_session_that_was_to_end_is_to_stay .*", "§3.14.2.2.2: a Protocol Error",
        (("disconnect_v5 = 0", "disconnect_v5 = 3\\ndisconnect = 0"), ("DISCONNECT .*", "DISCONNECT e000"))),
    Difference(
        r"published_before_connecting .*", "[MQTT-3.3.1-1]: what was never sent has no DUP; and it is not logged",
        (("PUBLISH 3a(.*)", r"PUBLISH 32\1"), ("PUBLISH 3c(.*)", r"PUBLISH 34\1"), (r".* sending PUBLISH \(d1, .*", ""))),
    Difference(
        r"more_aliases_than_there_are_places .*", "each has room for any topic, so there are 64",
        (("CONNECT (.*)22ffff(.*)", r"CONNECT \g<1>220040\2"),)),
)


def lines(library: ctypes.CDLL, name: str) -> list[str]:
    function, version = CALLS[name]
    wire = Wire(library, version)
    function(wire)
    return wire.lines()


@pytest.mark.parametrize("name", CALLS)
def test_the_same_bytes(name: str, real: ctypes.CDLL, ours: ctypes.CDLL) -> None:
    theirs, own = (in_a_process(lambda library=library: lines(library, name)) for library in (real, ours))
    for difference in DIFFERENCES:
        if not re.fullmatch(difference.calls, name):
            continue
        for pattern, other in difference.lines:
            changed = [re.sub(f"^{pattern}$", other, line) for line in theirs]
            theirs = [part for line in changed for part in line.split("\n") if part]
    assert own == theirs


def test_every_difference_is_one(real: ctypes.CDLL) -> None:
    """A row that no call shows any more."""
    for difference in DIFFERENCES:
        shown = [line for name in CALLS if re.fullmatch(difference.calls, name)
                 for line in in_a_process(lambda name=name: lines(real, name))]
        assert shown and all(any(re.fullmatch(pattern, line) for line in shown) for pattern, _ in difference.lines)
