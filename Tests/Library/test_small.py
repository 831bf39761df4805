"""The smallest client there can be, at work: examples-c/small.c, 2 KiB on 32 bits.

With SMQ_TARGET that target's program runs under qemu-user. The broker is native.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from Support.servers import need
from .test_sensord import BUILD, QEMU, TARGET

ROOM = 2272 if TARGET and TARGET.name == "armv7" else 3080


@pytest.mark.parametrize("count", [1, 500])
def test_small(mosquitto, count):
    command = [*([need(QEMU[0]), *QEMU[1:]] if QEMU else []), BUILD / "examples" / "small"]
    result = subprocess.run([*command, mosquitto.url, str(count)], capture_output=True, text=True, timeout=60)
    assert result.stderr == ""
    *numbers, last = result.stdout.splitlines()
    assert numbers == [str(number) for number in range(count)]
    assert int(re.fullmatch(r"in (\d+) bytes", last)[1]) <= ROOM


def test_a_message_too_large_for_it(mosquitto):
    """Somebody else's: it says so, and goes on."""
    mosquitto.publish("small/number", "x" * 100, "-r", "-q", "1")
    command = [*([need(QEMU[0]), *QEMU[1:]] if QEMU else []), BUILD / "examples" / "small"]
    result = subprocess.run([*command, mosquitto.url, "3"], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "SMQ_ERR_RECEIVE_TOO_LARGE\n")
    assert result.stdout.splitlines()[:3] == ["0", "1", "2"]


def test_nobody_there(mosquitto):
    mosquitto.stop()
    command = [*([need(QEMU[0]), *QEMU[1:]] if QEMU else []), BUILD / "examples" / "small"]
    result = subprocess.run([*command, mosquitto.url], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert result.stderr == "SMQ_ERR_NETWORK, stage connect: Connection refused\n"
