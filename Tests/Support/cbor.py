"""CBOR as Debian's cbor2 reads it, whichever Python runs the tests."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable

READER = """
import cbor2, sys
for line in sys.stdin:
    print(repr(cbor2.loads(bytes.fromhex(line))))
"""


def decoded(payloads: Iterable[bytes]) -> list[object]:
    """The values; none of them an infinity, NaN, undefined or tagged, which have no literal in Python."""
    lines = "".join(f"{payload.hex()}\n" for payload in payloads)
    read = subprocess.run(["/usr/bin/python3", "-c", READER], input=lines, capture_output=True, text=True, timeout=60)
    assert read.returncode == 0, read.stderr
    return [ast.literal_eval(line) for line in read.stdout.splitlines()]
