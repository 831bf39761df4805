"""pump.c: an engine, given its settings by pump_ENGINE.c, over a socket.

    pump = Pump.build(directory, "mbedtls")
    (tried,) = pump.run(listeners["good"], ca=certificates.ca_file, count=100)
    assert tried.echoed == 100

What a run prints about a connection are the attributes of a `Tried`: numbers where they are some.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

from Support.servers import need

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
INCLUDE = ROOT / "include"
CAUSES = {int(value): name for name, value in re.findall(
    r"SMQ_TLS_(\w+) = (\d+)", (INCLUDE / "swiftmqtt-tls-engine.h").read_text().partition("Whom a connection is to")[0])}

# MBEDTLS_DIR names another mbedTLS than the system's: a directory that has include/mbedtls and lib/libmbedtls.a.
OTHER_MBEDTLS = os.environ.get("MBEDTLS_DIR")
MBEDTLS = [f"-I{OTHER_MBEDTLS}/include", f"-L{OTHER_MBEDTLS}/lib"] if OTHER_MBEDTLS else []

# What each engine is made of, besides pump_ENGINE.c.
SOURCES = {"openssl": sorted((ROOT / "tls" / "openssl").glob("*.c")),
           "mbedtls": sorted((ROOT / "tls" / "mbedtls").glob("*.c")), "bearssl": []}
LIBRARIES = {"openssl": ["-lssl", "-lcrypto", "-pthread"],
             "mbedtls": [*MBEDTLS, "-lmbedtls", "-lmbedx509", "-lmbedcrypto", "-pthread"],
             "bearssl": ["-lbearssl"]}
STRICT = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]


class Tried(SimpleNamespace):
    """One connection. `why` is the name of its cause."""

    @property
    def why(self) -> str:
        return CAUSES[self.cause]


def parse(text: str) -> list[Tried]:
    found = []
    for paragraph in text.split("\n\n"):
        lines = [line.partition(" ") for line in paragraph.splitlines()]
        if lines:
            found.append(Tried(**{name: int(value) if re.fullmatch(r"-?\d+", value) else value
                                  for name, _, value in lines}))
    return found


class Pump:
    def __init__(self, program: Path, allocator: Path):
        self.program, self.allocator = program, allocator

    @classmethod
    def build(cls, directory: Path, engine: str, *more: object) -> Pump:
        made = cls(directory / f"pump-{engine}", directory / "allocator.so")
        sources = [HERE / "pump.c", HERE / f"pump_{engine}.c", *SOURCES[engine]]
        commands = [
            [*STRICT, f"-I{INCLUDE}", *sources, *more, *LIBRARIES[engine], "-o", made.program],
            # -fno-builtin: else the compiler makes calloc out of malloc, and calls itself.
            [*STRICT, "-shared", "-fPIC", "-fno-builtin", HERE / "allocator.c", "-o", made.allocator],
        ]
        for command in commands:
            done = subprocess.run(["gcc", *map(str, command)], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
        return made

    def run(self, listener: object, *, counted: bool = False, under: list[str] | None = None, **options: object) -> list[Tried]:
        """counted: with the allocator that counts and refuses. under: valgrind, for example."""
        arguments = [f"{name}={value}" for name, value in {"port": listener.port, **options}.items() if value is not None]
        environment = {**os.environ, **({"LD_PRELOAD": str(self.allocator)} if counted else {})}
        done = subprocess.run([*(under or []), self.program, *arguments], env=environment, capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        return parse(done.stdout)

    def one(self, listener: object, **options: object) -> Tried:
        (tried,) = self.run(listener, **options)
        return tried


def valgrind() -> list[str]:
    return [need("valgrind", "tls"), "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"]
