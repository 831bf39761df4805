"""The external tree in packaging/buildroot: Kconfig reads its options, and GNU make builds its package for an armv7
board. Buildroot, which cannot be had here, is stood in for by buildroot/Makefile."""

import importlib
import shutil
import sys

import pytest
from conftest import ROOT, attempt, files_below, lay_openssl, run, runs_on_the_board, version

TREE = ROOT / "packaging" / "buildroot"
LIBRARY = "BR2_PACKAGE_LIBSWIFTMQTT"
TOOLCHAIN = {"BR2_TOOLCHAIN_USES_GLIBC", "BR2_TOOLCHAIN_HAS_THREADS"}
ARMV7 = {"BR2_arm", "BR2_ARM_EABIHF", "BR2_ARM_CPU_ARMV7A"}
RISCV64 = {"BR2_RISCV_64", "BR2_RISCV_ABI_LP64D", "BR2_RISCV_ISA_RVC"}
# All of Buildroot's that the tree asks about, and one of another processor.
BUILDROOT = sorted(TOOLCHAIN | ARMV7 | RISCV64 | {
    "BR2_aarch64", "BR2_x86_64", "BR2_mips", "BR2_ARM_CPU_ARMV6", "BR2_ARM_CPU_ARMV8A", "BR2_STATIC_LIBS",
    "BR2_PACKAGE_PYTHON3", "BR2_PACKAGE_OPENSSL", "BR2_PACKAGE_OPENSSL_FORCE_LIBOPENSSL"})


@pytest.fixture
def board(tools, tmp_path, monkeypatch):
    """The options of the tree, as a configuration has them in which these of Buildroot's are set."""
    monkeypatch.setattr(sys, "path", [*sys.path, *map(str, tools.parent.glob("lib/python3*/site-packages"))])
    kconfiglib = importlib.import_module("kconfiglib")
    monkeypatch.setenv("BR2_EXTERNAL_SWIFTMQTT_PATH", str(TREE))
    monkeypatch.setenv("CONFIG_", "")  # Buildroot's names have no prefix
    stand_in = [f'config {name}\n\tbool "{name}"\n' for name in BUILDROOT] + [f'source "{TREE}/Config.in"\n']
    (tmp_path / "Config.in").write_text("".join(stand_in))

    def board(chosen):
        options = kconfiglib.Kconfig(str(tmp_path / "Config.in"), warn_to_stderr=False)
        for name in chosen:
            assert name in BUILDROOT
            options.syms[name].set_value("y")
        assert options.warnings == []
        undefined = {symbol.name for symbol in options.syms.values() if not symbol.nodes and not symbol.is_constant}
        assert {name for name in undefined if name.startswith("BR2_")} == set()
        return options
    return board


def make(directory, options, *arguments, tree=TREE):
    """What make says to that configuration."""
    options.write_config(str(directory / ".config"))
    return attempt("make", "-f", ROOT / "Tests" / "Packages" / "buildroot" / "Makefile",
                   f"DOTCONFIG={directory}/.config", f"BUILD_DIR={directory}/build",
                   f"BR2_EXTERNAL_SWIFTMQTT_PATH={tree}", *arguments)


@pytest.mark.parametrize("chosen, offered", [
    (ARMV7 | TOOLCHAIN, True),
    ({"BR2_arm", "BR2_ARM_EABIHF", "BR2_ARM_CPU_ARMV8A"} | TOOLCHAIN, True),
    ({"BR2_aarch64"} | TOOLCHAIN, True),
    ({"BR2_x86_64"} | TOOLCHAIN, True),
    (RISCV64 | TOOLCHAIN, True),
    ({"BR2_arm", "BR2_ARM_EABIHF", "BR2_ARM_CPU_ARMV6"} | TOOLCHAIN, False),
    ({"BR2_arm", "BR2_ARM_CPU_ARMV7A"} | TOOLCHAIN, False),
    (RISCV64 - {"BR2_RISCV_ISA_RVC"} | TOOLCHAIN, False),
    ({"BR2_mips"} | TOOLCHAIN, False),
    (ARMV7 | {"BR2_TOOLCHAIN_USES_GLIBC"}, False),
    (ARMV7 | {"BR2_TOOLCHAIN_HAS_THREADS"}, False),
    (ARMV7 | TOOLCHAIN | {"BR2_STATIC_LIBS"}, False),
], ids=lambda value: "-".join(sorted(value - TOOLCHAIN)) if isinstance(value, set) else str(value))
def test_offered_where_it_can_be_built(board, chosen, offered):
    options = board(chosen)
    symbol = options.syms[LIBRARY]
    assert (symbol.visibility == 2) == offered
    symbol.set_value("y")
    assert (symbol.str_value == "y") == offered


def test_what_it_says_of_the_sources(board, tmp_path):
    options = board(ARMV7 | TOOLCHAIN)
    options.syms[LIBRARY].set_value("y")
    result = make(tmp_path, options, "show")
    assert result.returncode == 0, result.stdout
    said = dict(line.split("=", 1) for line in result.stdout.splitlines())
    assert said["VERSION"] == version() and said["SITE"] == str(ROOT)
    assert (ROOT / said["LICENSE_FILES"]).exists()
    assert not {"python3", "openssl"} & set(said["DEPENDENCIES"].split())
    assert {"-DSWIFTMQTT_TLS=OFF", "-DSWIFTMQTT_STOMP=OFF"} <= set(said["CONF_OPTS"].split())
    assert f"-DSWIFTMQTT_SWIFTC={shutil.which('swiftc')}" in said["CONF_OPTS"].split()


def test_tls_brings_openssl(board, tmp_path):
    options = board(ARMV7 | TOOLCHAIN)
    for name in (LIBRARY, f"{LIBRARY}_TLS"):
        options.syms[name].set_value("y")
    assert options.syms["BR2_PACKAGE_OPENSSL"].str_value == "y"
    said = dict(line.split("=", 1) for line in make(tmp_path, options, "show").stdout.splitlines())
    assert "openssl" in said["DEPENDENCIES"].split() and "-DSWIFTMQTT_TLS=ON" in said["CONF_OPTS"].split()


def test_says_at_once_that_there_is_no_compiler(board, tmp_path):
    options = board(ARMV7 | TOOLCHAIN)
    options.syms[LIBRARY].set_value("y")
    options.syms[f"{LIBRARY}_SWIFTC"].set_value("swiftc-of-tomorrow")
    result = make(tmp_path, options, "libswiftmqtt")
    assert result.returncode == 2
    assert "libswiftmqtt: there is no 'swiftc-of-tomorrow' on this machine" in result.stdout
    assert not (tmp_path / "build").exists()
    # It is nobody's trouble who does not build it.
    assert make(tmp_path, options, "show").returncode == 0


@pytest.mark.parametrize("tls", [True, False], ids=["tls", "without-tls"])
def test_built_for_a_board(board, tmp_path, dist, tls):
    """Of a tarball, without Swift. With all, or without TLS and STOMP."""
    if tls:
        lay_openssl("armv7", tmp_path / "build" / "staging")
    options = board(ARMV7 | TOOLCHAIN | {"BR2_PACKAGE_PYTHON3"})
    for name in (LIBRARY, f"{LIBRARY}_TOOLS", f"{LIBRARY}_MOSQUITTO", f"{LIBRARY}_PYTHON", *([f"{LIBRARY}_TLS", f"{LIBRARY}_STOMP"] if tls else [])):
        options.syms[name].set_value("y")
    result = make(tmp_path, options, "-j2", "libswiftmqtt", tree=dist / "packaging" / "buildroot")
    assert result.returncode == 0, result.stdout[-3000:]
    target = tmp_path / "build" / "target"
    assert {
        "usr/lib/libswiftmqtt.so.1", f"usr/lib/libswiftmqtt.so.{version()}", "usr/bin/smq",
        "usr/lib/swiftmqtt/libmosquitto.so.1", "usr/lib/python3.12/site-packages/swiftmqtt/__init__.py",
    } <= files_below(target)
    assert ("usr/lib/libswiftmqtt-tls.so.1" in files_below(target)) == tls
    assert ("usr/lib/libswiftstomp.so.1" in files_below(target)) == ("usr/bin/sst" in files_below(target)) == tls
    assert any("stomp" in str(name) for name in files_below(target)) == tls
    assert not (tmp_path / "build" / "libswiftmqtt-custom" / "build").exists()  # what was built in the tree stays there
    library = run("readelf", "-hdW", target / "usr/lib/libswiftmqtt.so.1")
    assert "hard-float ABI" in library and "[libswiftmqtt.so.1]" in library
    runs_on_the_board(tmp_path / "build" / "staging", "armv7", tmp_path)
