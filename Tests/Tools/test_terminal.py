"""What comes over the network does nothing to a terminal: control characters of topics, payloads, properties and of a
server's words are shown there, and not obeyed. What goes to a pipe or a file is as it came."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import termios
from pathlib import Path

import pytest

from .misbehaving import PAYLOAD, TEXT, TOPIC
from .tool import SMQ, environment, smq

SHOWN_TOPIC = rb"shown/\x1b[31m\x7f\xc2\x9b1m/" + "\u00e4\u20ac\U0001f600".encode()
SHOWN_PAYLOAD = rb"one%stwo%sthree\x07\x1b]0;title\x07\xc2\x9b2J\x9b3J\xff%s" % (b"\t", b"\n", "\u00e4".encode())


def on_terminal(*arguments: object, descriptors: tuple[str, ...] = ("stdout",)) -> tuple[bytes, int, bytes, bytes]:
    """What a terminal got as these descriptors, the exit status, and what else was printed."""
    master, slave = pty.openpty()
    attributes = termios.tcgetattr(slave)
    attributes[1] &= ~termios.OPOST  # bytes as they are written
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | dict.fromkeys(descriptors, slave)
    process = subprocess.Popen([*SMQ, *map(str, arguments)], stdin=subprocess.DEVNULL, env=environment(), **pipes)
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError:
        pass  # EIO: nobody has the other end any more
    stdout, stderr = process.communicate(timeout=30)
    os.close(master)
    return shown, process.returncode, stdout or b"", stderr or b""


FORMATS = {
    "payload": ([], PAYLOAD, SHOWN_PAYLOAD),
    "topic": (["-v"], TOPIC.encode() + b" " + PAYLOAD, SHOWN_TOPIC + b" " + SHOWN_PAYLOAD),
    "format": (["-F", r"\e[1m%t\e[0m %C %P"], f"\x1b[1m{TOPIC}\x1b[0m type\x1bc na\u009bme:value\x1bc".encode(),
               b"\x1b[1m" + SHOWN_TOPIC + rb"%s[0m type\x1bc na\xc2\x9bme:value\x1bc" % b"\x1b"),
    "payload of a width": (["-F", "%.6t|%8p|"], f"{TOPIC[:6]}|".encode() + PAYLOAD[:8] + b"|", b"shown/|one\ttwo\n|"),
}


@pytest.mark.parametrize("options, raw, shown", FORMATS.values(), ids=FORMATS)
def test_messages(misbehaving, options: list[str], raw: bytes, shown: bytes):
    command = ["sub", *misbehaving("sending"), "-V", "5", "-t", "shown/#", "-C", "1", *options]
    assert smq(*command).stdout == raw + b"\n"
    assert on_terminal(*command)[:2] == (shown + b"\n", 0)


@pytest.mark.parametrize("pretty", [[], ["--pretty"]])
def test_json_on_a_terminal_is_json(misbehaving, pretty: list[str]):
    options = ["-V", "5", "-t", "shown/#", "-C", "1", "-F", "%j"]
    shown, code, _, _ = on_terminal("sub", *misbehaving("sending_text"), *options, *pretty)
    assert code == 0 and not set(shown.replace(b"\n", b"").replace(b"\t", b"")) & {*range(32), 127}
    assert b"\xc2\x9b" not in shown
    found = json.loads(shown)
    assert (found["topic"], found["payload"]) == (TOPIC, TEXT)


def test_an_answer(misbehaving):
    """smq rr prints as smq sub does."""
    command = ["rr", *misbehaving("sending"), "-V", "311", "-t", "asked", "-e", TOPIC, "-m", "x", "-v"]
    shown, code, _, _ = on_terminal(*command)
    assert (shown, code) == (SHOWN_TOPIC + b" " + SHOWN_PAYLOAD + b"\n", 0)


# ---- What a server says. It is for people, so it is the same wherever it goes.

SAID = "no\x1b[2J\x7f\u009b1m\nsmq pub: all is well \u00e4"
SHOWN = rb"no\x1b[2J\x7f\xc2\x9b1m\x0asmq pub: all is well " + "\u00e4".encode()


@pytest.mark.parametrize("descriptors", [(), ("stderr",), ("stdout", "stderr")])
@pytest.mark.parametrize("command", ["pub", "sub", "rr", "bench"])
def test_a_reason_string_and_a_server_reference(misbehaving, command: str, descriptors: tuple[str, ...]):
    """A control character in either is allowed in UTF-8 strings of MQTT but U+0000 (section 1.5.4)."""
    options = {"pub": ["-t", "a", "-m", "x"], "sub": ["-t", "a"], "rr": ["-t", "a", "-e", "b", "-m", "x"], "bench": []}
    shown, code, _, stderr = on_terminal(
        command, *options[command], "-V", "5", *misbehaving("talking"), descriptors=descriptors)
    line = stderr if "stderr" not in descriptors else shown
    assert code == (1 if command == "bench" else 0x9D) or code == 0x9D
    assert b'Server moved: "' + SHOWN + b'"; it points to else\\xc2\\x9bwhere\n' in line
    assert line.count(b"\n") == 1 and not set(line[:-1]) & {*range(32), 127}


@pytest.mark.parametrize("output", [(), ("stdout",)])
def test_check_tells_of_a_reason_string(misbehaving, output: tuple[str, ...]):
    address = misbehaving("talking")
    shown, code, stdout, _ = on_terminal("check", *address, "-V", "5", "-W", "5", descriptors=output)
    text = shown if output else stdout
    assert code == 5 and SHOWN in text and not set(text.replace(b"\n", b"")) & {*range(32), 127}
    found = json.loads(smq("check", *address, "-V", "5", "-W", "5", "--json").stdout)
    assert SHOWN.decode() in found["servers"][0]["steps"][-1]["text"]


def test_a_subscription_that_a_server_refuses(misbehaving):
    """smq sub names the filter, which is the user's own, and yet is shown as what it is."""
    result = smq("sub", *misbehaving("unwilling"), "-t", "a/\x1b[1m", "-t", "b", "-E")
    assert result.stderr.splitlines()[0] == rb"smq sub: -t: the broker refused a/\x1b[1m: Failure", result


def test_what_is_no_json(misbehaving):
    result = smq("sub", *misbehaving("sending"), "-V", "5", "-t", "shown/#", "-F", "%J", "-C", "1")
    assert result.stderr == b"smq sub: the payload on " + SHOWN_TOPIC + b" is not JSON\n"


def test_a_path(tmp_path: Path):
    result = smq("pub", "-t", "a", "-f", tmp_path / "\x1b[1m\u009b")
    assert result.stderr.endswith(b"/\\x1b[1m\\xc2\\x9b: No such file or directory\n")
