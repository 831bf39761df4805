"""smq pub, smq sub and smq rr next to mosquitto_pub, mosquitto_sub and mosquitto_rr: standard output, exit status and
the bytes sent are the same, but for what DEVIATIONS has."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from .golden import Golden, Outcome
from .golden_rows import ROWS


@dataclass(frozen=True)
class Deviation:
    """Where smq differs on purpose, or as far as it can: whole lines, as regular expressions."""

    rows: str  # their names
    reason: str  # smq(1) has it, too, under DIFFERENCES
    theirs: tuple[str, ...] = ()  # lines that only Mosquitto's program has
    ours: tuple[str, ...] = ()
    is_certain: bool = True  # else it depends on what comes first


NO_SENSE = "an option that would do nothing is an error"
DEVIATIONS = (
    Deviation(
        "pub (help|version)", "--help and --version are no failure", ("exit status: 1", "stdout: b'mosquitto_pub.*"),
        ("exit status: 0", "stdout: b'smq, .*")),
    Deviation("pub without a (topic|message)", "only --help prints the help", ("stdout: b'HELP'",)),
    Deviation(
        "sub JSON|sub format of mids", "the library keeps Packet Identifiers to itself: %m is 0, and JSON has no mid",
        ("""stdout: b'({.*"mid":1.*|[12] 1.n)'""",), ("stdout: b'({.*|0 1.n)'",)),
    Deviation(
        "sub properties|rr q2", "a message of QoS 2 is handed out once it has come, not when it is released",
        ("sends: 70  #1 b''",), ("sends: e0 b''",)),
    Deviation(
        "sub mqttv.* q2", "a message of QoS 1 may overtake the one of QoS 2 before it, or end the program before PUBREL",
        ("stdout: b'(one|two).n'", "sends: 70  #1 b''"), ("stdout: b'(one|two).n'",), is_certain=False),
    Deviation(
        "rr (q.|3.1.1|with an identifier|format|correlation data|a file|stdin|JSON|verbose .*|properties|by URL)",
        "mosquitto_rr closes the connection without DISCONNECT, and the broker publishes its Will",
        ("sends: 70  #1 b''",), ("sends: e0 b''",)),
    Deviation(
        "rr a file|rr stdin", "mosquitto_rr sends an empty message instead of the file", ("sends: 3.*TOPIC/answer'",),
        ("sends: 3.*(first.nsecond.n|a question)'", "sends: e0 b''")),
    Deviation(
        "sub format width 3", "of a payload that fits in the width mosquitto_sub prints half",
        (r"stdout: b'\[6f.*",), (r"stdout: b'\[6f.*",)),
    Deviation(
        "pub repeat and lines|pub will qos without a topic", NO_SENSE, ("exit status: 0", "sends: .*"),
        ("exit status: 1",)),
    Deviation(
        "pub a property and then a version", "mosquitto_pub publishes nothing, and does not say so",
        ("exit status: 0", "sends: .*"), ("exit status: 1",)),
)


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Golden]:
    golden = Golden(tmp_path_factory.mktemp("golden"), ROWS)
    yield golden
    golden.close()


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_command_line(golden: Golden, row):
    theirs, ours = golden.outcomes[row.name].result(90)
    assert theirs.code == row.code, theirs
    assert min(theirs.seconds, ours.seconds) >= row.lasts
    # -d tells other things, on standard error.
    if " -d" in row.options:
        debug = rb"(?m)^(Client \S+ (sending|received) |Subscribed \(mid|Unsubscribed|Warning: ).*\n"
        theirs.stdout = re.sub(debug, b"", theirs.stdout)
    if difference := differences(row.name, theirs, ours):
        pytest.fail(f"{difference}\nstderr: {ours.stderr}", pytrace=False)
    if ours.code:
        assert ours.code < 0 or "--quiet" in row.options or re.search("(?m)^smq ", ours.stderr), ours.stderr


def differences(name: str, theirs: Outcome, ours: Outcome) -> str:
    """But for those on purpose, of which there has to be one if there may be."""
    found = list(difflib.unified_diff(theirs.lines(), ours.lines(), "mosquitto", "smq", n=3, lineterm=""))[2:]
    known = [deviation for deviation in DEVIATIONS if re.fullmatch(deviation.rows, name)]
    if not found and any(deviation.is_certain for deviation in known):
        return f"there is no difference: {known[0].reason}"
    allowed = {"-": [p for d in known for p in d.theirs], "+": [p for d in known for p in d.ours]}
    unknown = [line for line in found if line[:1] in allowed and line[1:]
               and not any(re.fullmatch(pattern, line[1:]) for pattern in allowed[line[0]])]
    return "\n".join(found) if unknown else ""


def test_the_deviations_are_of_rows():
    for deviation in DEVIATIONS:
        assert any(re.fullmatch(deviation.rows, row.name) for row in ROWS), deviation


def test_there_are_many_rows():
    assert len({row.name for row in ROWS}) == len(ROWS) >= 200
