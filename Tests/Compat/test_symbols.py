"""What the loader and Debian's packaging tools look at: names, versions, and what other packages take of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .programs import environment

LIBRARIES = Path("/usr/lib")
# Programs and modules of packages that depend on libmosquitto1. Those that are installed are looked at.
USERS = (
    "/usr/bin/mosquitto_pub", "/usr/bin/mosquitto_sub", "/usr/bin/mosquitto_rr", "/usr/lib/*/libmosquittopp.so.1",
    "/usr/lib/collectd/mqtt.so", "/usr/lib/*/kamailio/modules/mqtt.so", "/usr/lib/baresip/modules/mqtt.so",
    "/usr/bin/shairport-sync", "/usr/bin/rtpengine")


def lines(*command: object, **options: object) -> list[str]:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=100, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()


def exported(library: Path) -> set[str]:
    """As nm says them: type, name and version."""
    table = lines("nm", "-D", "--with-symbol-versions", "--defined-only", library)
    return {" ".join(line.split()[-2:]) for line in table}


def imported(program: Path) -> set[str]:
    table = lines("nm", "-D", "--with-symbol-versions", "--undefined-only", program)
    return {name for line in table if (name := line.split()[-1]).startswith("mosquitto_")}


def users() -> list[Path]:
    return [path for pattern in USERS for path in sorted(Path("/").glob(pattern[1:]))]


def test_the_same_names_of_the_same_versions(real_path: Path, our_path: Path):
    assert exported(our_path) == exported(real_path)


def test_dpkg_gensymbols(our_path: Path, tmp_path: Path):
    """With -c1 it fails if a name of Debian's list is missing."""
    symbols = next(Path("/var/lib/dpkg/info").glob("libmosquitto1*.symbols"), None)
    if not symbols or not shutil.which("dpkg-gensymbols"):
        pytest.skip("dpkg-dev or libmosquitto1 is not installed: .ci/need compat")
    (tmp_path / "debian").mkdir()
    (tmp_path / "debian" / "control").write_text("Source: mosquitto\n\nPackage: libmosquitto1\nArchitecture: any\n")
    said = lines(
        "dpkg-gensymbols", "-c1", "-plibmosquitto1", "-v2.0.11", f"-I{symbols}", f"-e{our_path}", "-O", cwd=tmp_path)
    names = {line.split()[0] for line in said if line.startswith(" mosquitto_")}
    assert names == {line.split()[0] for line in symbols.read_text().splitlines() if line.startswith(" mosquitto_")}
    assert not [line for line in said if "MISSING" in line]


def test_dpkg_gensymbols_would_see_a_missing_name(tmp_path: Path):
    """A library with the right SONAME and nothing in it."""
    symbols = next(Path("/var/lib/dpkg/info").glob("libmosquitto1*.symbols"), None)
    if not symbols or not shutil.which("dpkg-gensymbols"):
        pytest.skip("dpkg-dev or libmosquitto1 is not installed: .ci/need compat")
    library = tmp_path / "libmosquitto.so.1"
    lines("gcc", "-shared", "-Wl,-soname,libmosquitto.so.1", "-x", "c", "/dev/null", "-o", library)
    (tmp_path / "debian").mkdir()
    (tmp_path / "debian" / "control").write_text("Source: mosquitto\n\nPackage: libmosquitto1\nArchitecture: any\n")
    command = ["dpkg-gensymbols", "-c1", "-plibmosquitto1", "-v2.0.11", f"-I{symbols}", f"-e{library}", "-O"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=100).returncode != 0


@pytest.mark.parametrize("program", users(), ids=lambda path: path.name if path.name != "mqtt.so" else path.parts[3])
def test_what_others_take(program: Path, our_path: Path):
    """Each name with its version is there, and the loader, which resolves all of them at once here, says nothing."""
    wanted = imported(program)
    ours = {line.split()[1].replace("@@", "@") for line in exported(our_path)}
    assert wanted and wanted <= ours
    variables = environment("ours", our_path)
    said = lines("ldd", "-r", program, env=variables)
    loaded = [line for line in said if re.search(r"libmosquitto\.so\.1 =>", line)]
    assert len(loaded) == 1 and str(our_path) in loaded[0]
    assert not [line for line in said if "mosquitto" in line and ("undefined" in line or "version" in line)]
