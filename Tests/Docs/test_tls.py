"""docs/tls.md: its blocks need an engine besides the library. The programs are compiled and linked with it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .blocks import ROOT, blocks
from .conftest import BUILD
from .session import STRICT

PAGE = ROOT / "docs" / "tls.md"
TRIED = [block for block in blocks(PAGE) if block.value == Path(__file__).name]
MBEDTLS = [*sorted((ROOT / "tls" / "mbedtls").glob("*.c")), "-lmbedtls", "-lmbedx509", "-lmbedcrypto", "-pthread"]


def compiled(directory: Path, text: str, *arguments: object) -> None:
    source = directory / "block.c"
    source.write_text(text)
    command = ["gcc", "-D_POSIX_C_SOURCE=200809L", f"-I{ROOT}/include", source, *arguments, "-o", directory / "block"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", [block for block in TRIED if block.is_program], ids=lambda block: block.place)
def test_a_program(tmp_path, block):
    engine = MBEDTLS if "mbedtls" in block.text else [f"-L{BUILD}", "-lswiftmqtt-tls", "-lswiftmqtt"]
    if "memory_buffer_alloc" in block.text:
        # Debian's mbedTLS is built without: it can be compiled, not linked.
        engine = ["-c"]
    compiled(tmp_path, block.text, *STRICT, *engine)


def test_the_program_of_openssl_connects(tmp_path, listeners, certificates):
    (block,) = [block for block in TRIED if "mqtts://" in block.text]
    for server, printed, told in ("good", "connected\n", ""), ("expired", "", "TLS: expired\n"):
        text = block.text.replace("mqtts://broker.example", listeners[server].url_for("localhost"))
        compiled(tmp_path, text.replace("/etc/sensord/ca.pem", str(certificates.ca_file)), *STRICT, f"-L{BUILD}",
                 f"-Wl,-rpath,{BUILD}", "-lswiftmqtt-tls", "-lswiftmqtt")
        done = subprocess.run([tmp_path / "block"], capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr, done.returncode) == (printed, told, 0 if printed else 1)


def test_the_pump(tmp_path, listeners, certificates):
    """Each command of the page, for a server of the test."""
    (block,) = [block for block in TRIED if block.language == "sh"]
    text = block.text.replace("port=8883", f"port={listeners['good'].port}").replace("/tmp/", f"{tmp_path}/")
    text = text.replace("/etc/sensord/ca.pem", str(certificates.ca_file)).replace("cut=1", "cut=100")  # each byte takes long
    (tmp_path / "libswiftmqtt").symlink_to(ROOT)
    done = subprocess.run(["bash", "-euc", text], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "\ncause 0\n" in f"\n{done.stdout}" and "broken" not in done.stdout, done.stdout


def test_the_configuration(tmp_path):
    """2.28 takes it as well: the engine compiles, and has less room for what it sends."""
    (configuration,) = [block for block in TRIED if not block.is_program and block.language == "c"]
    (tmp_path / "configuration.h").write_text(configuration.text)
    text = ('#include "configuration.h"\n#include "tls/mbedtls/parts.h"\n'
            "_Static_assert(sizeof(connection) < 13000, \"buffers of 4 KB in both directions\");\n"
            "int main(void) { return 0; }\n")
    compiled(tmp_path, text, f"-I{ROOT}", "-std=c11", "-Wall", "-Werror")
