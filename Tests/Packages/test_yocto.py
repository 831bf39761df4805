"""The layer in packaging/yocto: BitBake itself parses the recipe and runs its tasks, for an aarch64 board. The classes
of OpenEmbedded, which cannot be had here, are stood in for by those in yocto/."""

import hashlib
import json
import pathlib

import pytest
from conftest import HEADER, ROOT, files_below, lay_openssl, run, runs_on_the_board, version

LAYER = ROOT / "packaging" / "yocto"
# Of oelint-adv, what does not apply here.
SUPPRESSED = [
    "oelint.var.mandatoryvar.HOMEPAGE", "oelint.var.suggestedvar.BUGTRACKER",  # the project has no public address
    "oelint.var.bbclassextend",  # native and nativesdk: nothing on the build host wants it
    "oelint.task.noanonpython",  # it is how a recipe is skipped with a reason
]
OURS = ["EXTERNALSRC_SYMLINKS", "PRIVATE_LIBS", "SWIFTMQTT_SRC_URI", "SWIFTMQTT_SWIFTC", "SWIFTMQTT_TREE",
        "TLS_OF_PROGRAMS"]


@pytest.fixture(scope="module")
def bitbake(tools):
    """What the recipe says with these settings, after these tasks."""
    def bitbake(directory, *arguments, layer=LAYER):
        said = run(tools / "python", ROOT / "Tests" / "Packages" / "yocto" / "recipe", layer, directory, *arguments)
        return json.loads(said.splitlines()[-1])
    return bitbake


def test_the_linter_finds_nothing(tools, tmp_path):
    (tmp_path / "known.json").write_text(json.dumps({"variables": {"known": OURS}}))
    run(tools / "oelint-adv", "--quiet", "--release", "scarthgap", f"--constantmods=+{tmp_path}/known.json",
        *(f"--suppress={name}" for name in SUPPRESSED), *LAYER.rglob("*.bb"), *LAYER.rglob("*.conf"))


@pytest.mark.parametrize("settings, reason", [
    ([], "is not of a tarball of make dist: take one, or set SWIFTMQTT_SWIFTC to the path of swiftc"),
    (["SWIFTMQTT_SWIFTC=swiftc"], "SWIFTMQTT_SWIFTC is 'swiftc', which is not the path of a program"),
    (["SWIFTMQTT_SWIFTC=/nowhere/swiftc"], "SWIFTMQTT_SWIFTC is '/nowhere/swiftc', which is not the path of a program"),
    (["SWIFTMQTT_SWIFTC=/bin/sh", "EXTERNALSRC=/nowhere"], "'/nowhere' has no sources of libswiftmqtt"),
])
def test_says_at_once_what_is_missing(bitbake, tmp_path, settings, reason):
    assert reason in bitbake(tmp_path, *settings)["skipped"]


def test_what_it_says_of_the_sources(bitbake, tmp_path, swiftc):
    said = bitbake(tmp_path, f"SWIFTMQTT_SWIFTC={swiftc}")
    assert said["PV"] == version()
    assert said["S"] == str(ROOT) and said["SRC_URI"] == ""
    assert "openssl" in said["DEPENDS"].split() and "-DSWIFTMQTT_TLS=ON" in said["EXTRA_OECMAKE"].split()
    assert "-DSWIFTMQTT_STOMP=ON" in said["EXTRA_OECMAKE"].split()
    name, digest = said["LIC_FILES_CHKSUM"].removeprefix("file://").split(";md5=")
    assert hashlib.md5((ROOT / name).read_bytes()).hexdigest() == digest
    said = bitbake(tmp_path, f"SWIFTMQTT_SWIFTC={swiftc}", "PACKAGECONFIG=tools")
    assert "openssl" not in said["DEPENDS"].split() and "-DSWIFTMQTT_TLS=OFF" in said["EXTRA_OECMAKE"].split()
    assert "-DSWIFTMQTT_STOMP=OFF" in said["EXTRA_OECMAKE"].split()
    own = "git://git.example.com/mqtt.git;branch=main"
    said = bitbake(tmp_path, f"SWIFTMQTT_SWIFTC={swiftc}", f"SWIFTMQTT_SRC_URI={own}")
    assert said["SRC_URI"] == own and said["EXTERNALSRC"] == ""
    assert said["S"] == str(tmp_path / "work" / f"libswiftmqtt-{version()}")


def belongs_to(packages, path):
    """The package that takes a file: the first with a pattern that it, or a directory above it, matches."""
    above = [path, *path.parents]
    for package, patterns in packages:
        if any(place.match(pattern) for pattern in patterns for place in above):
            return package
    return None


@pytest.mark.parametrize("tls", [True, False], ids=["tls", "without-tls"])
def test_built_for_a_board(bitbake, tmp_path, dist, tls):
    """Of a tarball, without Swift. With all, or without TLS and STOMP."""
    if tls:
        lay_openssl("aarch64", tmp_path / "work" / "recipe-sysroot")
    said = bitbake(tmp_path, *([] if tls else ["PACKAGECONFIG=tools python"]), "do_configure", "do_compile", "do_install", layer=dist / "packaging" / "yocto")
    image = pathlib.Path(said["D"])
    owners = {name: belongs_to(said["packages"], pathlib.Path("/") / name) for name in files_below(image)}
    expected = {
        "usr/lib/libswiftmqtt.so.1": "libswiftmqtt", f"usr/lib/libswiftmqtt.so.{version()}": "libswiftmqtt",
        "usr/lib/libswiftmqtt.so": "libswiftmqtt-dev", f"usr/include/{HEADER.name}": "libswiftmqtt-dev",
        "usr/lib/pkgconfig/swiftmqtt.pc": "libswiftmqtt-dev", "usr/lib/libswiftmqtt.a": "libswiftmqtt-staticdev",
        "usr/lib/libswiftmqtt-payload.a": "libswiftmqtt-staticdev", "usr/include/swiftmqtt-payload.h": "libswiftmqtt-dev",
        "usr/lib/cmake/SwiftMQTT/SwiftMQTTConfig.cmake": "libswiftmqtt-dev", "usr/bin/smq": "swiftmqtt-tools",
        "usr/share/bash-completion/completions/smq": "swiftmqtt-tools", "usr/share/man/man1/smq.1": "libswiftmqtt-doc",
        "usr/lib/python3.12/site-packages/swiftmqtt/__init__.py": "python3-swiftmqtt",
    }
    if tls:
        expected |= {"usr/bin/sst": "swiftstomp-tools", "usr/share/bash-completion/completions/sst": "swiftstomp-tools"}
        expected |= {"usr/lib/libswiftstomp.so.1": "libswiftstomp", "usr/lib/libswiftstomp.so": "libswiftmqtt-dev",
                     "usr/include/swiftstomp.h": "libswiftmqtt-dev", "usr/lib/libswiftstomp.a": "libswiftmqtt-staticdev"}
        expected |= {"usr/lib/libswiftmqtt-tls.so.1": "libswiftmqtt-tls", "usr/lib/libswiftmqtt-tls.so": "libswiftmqtt-dev",
                     "usr/include/swiftmqtt-tls.h": "libswiftmqtt-dev"}
    assert {name: owners.get(name) for name in expected} == expected
    assert any("swiftmqtt-tls.so" in name for name in owners) == any("stomp" in name for name in owners) == tls
    assert [name for name, owner in owners.items() if owner is None] == []
    assert all(package in owners.values() for package, _ in said["packages"]
               if package not in ("libswiftmqtt-mosquitto", *([] if tls else ["libswiftmqtt-tls", "libswiftstomp", "swiftstomp-tools"])))
    library = run("readelf", "-hdW", image / "usr/lib/libswiftmqtt.so.1")
    assert "AArch64" in library and "[libswiftmqtt.so.1]" in library
    # The quality assurance of OpenEmbedded refuses files that say where they were built.
    said_where = [name for name in owners if str(tmp_path).encode() in (image / name).read_bytes()]
    assert said_where == []
    runs_on_the_board(image, "aarch64", tmp_path)
