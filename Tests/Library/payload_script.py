"""The writers of swiftmqtt-payload.h: payload_script.c, which makes the calls that its input names, and what it says.

With SMQ_TARGET it is that target's, with that target's libswiftmqtt-payload.a, under qemu-user."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from Support.servers import need
from .test_sensord import BUILD, QEMU, TARGET

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
STRICT = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", HERE / "payload_script.c"]
OK, NULL, STRUCT_SIZE, STATE, OPTION, UTF8, TOO_LARGE, FULL = 0, -101, -102, -106, -107, -113, -114, -201
UNTOUCHED = 0xA5
SANITIZED = ["-g", "-DON_HEAP", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@dataclass
class Made:
    status: int  # of finish
    last: int  # of the last call before it
    length: int  # what the payload needs
    buffer: bytes

    @property
    def payload(self) -> bytes:
        assert self.status == OK, self
        return self.buffer[: self.length]


class Scripts:
    """Runs many scripts in one process: (format, size, calls)."""

    def __init__(self, program: Path, emulator: list[str], environment: dict[str, str]):
        self.command = [*([need(emulator[0]), *emulator[1:]] if emulator else []), str(program)]
        self.environment = {**os.environ, **environment}

    def run(self, scripts: Iterable[tuple[str, int, str]]) -> list[Made]:
        lines = [f"{format} {size} {calls}\n" for format, size, calls in scripts]
        result = subprocess.run(self.command, input="".join(lines), capture_output=True, text=True, timeout=300,
                                env=self.environment)
        assert (result.returncode, result.stderr) == (0, "")
        made = []
        for line in result.stdout.splitlines():
            status, last, length, *buffer = line.split()
            made.append(Made(int(status), int(last), int(length), bytes.fromhex("".join(buffer))))
        assert len(made) == len(lines)
        return made

    def one(self, format: str, calls: str, size: int = 4096) -> Made:
        return self.run([(format, size, calls)])[0]


def compiled(directory: Path, compiler: str, *arguments: object) -> Path:
    program = directory / "payload_script"
    subprocess.run([compiler, *STRICT, *arguments, "-o", program], check=True, timeout=120)
    return program


@pytest.fixture(scope="session")
def scripts(tmp_path_factory) -> Scripts:
    """On the library as it is shipped; on this machine every call of an allocator fails it, too."""
    directory = tmp_path_factory.mktemp("payload")
    program = compiled(directory, TARGET.compiler if TARGET else "cc", BUILD / "libswiftmqtt-payload.a")
    if QEMU:
        return Scripts(program, QEMU, {})
    interposer = directory / "count_malloc.so"
    flags = ["-std=gnu11", "-O2", "-shared", "-fPIC", "-fno-builtin"]
    subprocess.run(["cc", *flags, "-o", interposer, HERE / "count_malloc.c"], check=True, timeout=60)
    return Scripts(program, [], {"LD_PRELOAD": str(interposer)})


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory) -> Scripts:
    """On the sources, with the sanitizers of addresses and of undefined behaviour, and every buffer a block of its own."""
    if TARGET:
        pytest.skip("the sanitizers run on this machine")
    sources = sorted((ROOT / "payload").glob("*.c"))
    return Scripts(compiled(tmp_path_factory.mktemp("sanitized"), "gcc", *SANITIZED, *sources), [], {})


def seeded() -> random.Random:
    """With SMQ_SEED, that seed; the seed is printed, and pytest shows it if the test fails."""
    seed = int(os.environ.get("SMQ_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"SMQ_SEED={seed}")
    return random.Random(seed)


def bits(value: float) -> str:
    return struct.pack(">d", value).hex()


def text(value: str | bytes) -> str:
    return (value.encode() if isinstance(value, str) else value).hex()


def double_of(number: int) -> float:
    return struct.unpack(">d", number.to_bytes(8, "big"))[0]


def random_double(source: random.Random) -> float:
    """Any finite one: any bits, few decimals, ends of binades, subnormal, whole."""
    kinds = (
        lambda: double_of(source.getrandbits(64)),
        lambda: source.randrange(-(10**9), 10**9) / 10 ** source.randrange(9),
        lambda: double_of(source.randrange(2047) << 52 | source.choice((0, 1, (1 << 52) - 1))),
        lambda: double_of(source.getrandbits(52) >> source.randrange(52)),
        lambda: float(source.getrandbits(source.randrange(1, 80))),
    )
    while True:
        value = source.choice(kinds)()
        if value - value == 0:
            return value


# Ill-formed UTF-8 (the Unicode Standard, table 3-7).
ILL_FORMED = ["80", "bf", "c0af", "c180", "c2", "c241", "e08080", "e09fbf", "e0a0", "eda080", "edbfbf", "f0808080", "f08fbfbf",
              "f0908f", "f4908080", "f5808080", "ff", "61e2", "61e28261"]


def grows_token_by_token(scripts: Scripts, format: str, calls: list[str]) -> None:
    """At each size from 0 to the full one: the length is the same, and the buffer has whole tokens from the beginning, and
    nothing behind them."""
    whole = scripts.one(format, " ".join(calls), 4000)
    ends = sorted({scripts.one(format, " ".join(calls[:n]), 4000).length for n in range(len(calls) + 1)} | {whole.length})
    for size, made in enumerate(scripts.run((format, size, " ".join(calls)) for size in range(whole.length + 1))):
        assert made.length == whole.length
        assert made.status == (OK if size == whole.length else FULL)
        fits = size if format.startswith("senml") and size < whole.length else max(end for end in ends if end <= size)
        written = len(made.buffer.rstrip(bytes([UNTOUCHED])))
        assert made.buffer[:written] == whole.payload[:written]
        assert written <= fits if format.startswith("senml") else written == fits
