"""make install and make uninstall, and a program that uses what they lay down."""

import os
import re
import shutil
import subprocess

import pytest
from conftest import HEADER, ROOT, run

PROGRAM = """
#include <stdio.h>
#include <swiftmqtt.h>
int main(void) {
    printf("%u %s\\n", (unsigned)smq_version(), smq_status_name(SMQ_OK));
    return smq_version() != ((SMQ_VERSION_MAJOR << 16) | (SMQ_VERSION_MINOR << 8) | SMQ_VERSION_PATCH);
}
"""

# Both libraries, each of the version that its header says.
PROGRAM_OF_BOTH = """
#include <stdio.h>
#include <swiftmqtt.h>
#include <swiftstomp.h>
int main(void) {
    printf("%s %s\\n", smq_status_name(SMQ_OK), sst_status_name(SST_OK));
    return smq_version() != ((SMQ_VERSION_MAJOR << 16) | (SMQ_VERSION_MINOR << 8) | SMQ_VERSION_PATCH) ||
           sst_version() != ((SST_VERSION_MAJOR << 16) | (SST_VERSION_MINOR << 8) | SST_VERSION_PATCH);
}
"""


def version():
    lines = [line.split() for line in HEADER.read_text().splitlines() if line.startswith("#define SMQ_VERSION_")]
    return ".".join(words[2] for words in lines)


def make(*arguments):
    # A make that runs the tests must not hand its own options to this one.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "DESTDIR")}
    return run("make", "-C", ROOT, *arguments, env=environment)


def files_below(directory):
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir()}


def installed_files():
    # The drop-in for libmosquitto is installed if it was built.
    drop_in = "libmosquitto.so.1"
    return {
        "include/swiftmqtt.h", "include/swiftmqtt-tls-engine.h", "include/swiftmqtt-tls.h", "include/swiftmqtt-payload.h",
        "lib/libswiftmqtt-payload.a", "lib/pkgconfig/swiftmqtt-payload.pc",
        "include/swiftstomp.h", "lib/libswiftstomp.a", "lib/pkgconfig/swiftstomp.pc",
        *(f"lib/libswiftstomp.so{suffix}" for suffix in ("", ".1", f".{version()}")),
        *(f"lib/libswiftmqtt-tls.so{suffix}" for suffix in ("", ".1", f".{version()}")),
        "lib/pkgconfig/swiftmqtt-tls.pc", *(f"lib/cmake/SwiftMQTT/SwiftMQTT-tls{suffix}.cmake" for suffix in (
            "", "-minsizerel")), "lib/libswiftmqtt.a", "lib/libswiftmqtt.so", "lib/libswiftmqtt.so.1",
        f"lib/libswiftmqtt.so.{version()}", "lib/pkgconfig/swiftmqtt.pc",
        "bin/smq", "share/bash-completion/completions/smq", "share/man/man1/smq.1",
        "bin/sst", "share/bash-completion/completions/sst", "share/man/man1/sst.1",
        *(f"share/man/man1/sst-{command}.1" for command in ("bench", "check", "inspect", "journal", "receive", "send", "stats")),
        *(f"share/man/man1/smq-{command}.1" for command in ("bench", "check", "console", "inspect", "journal", "pub", "replay", "rr", "stats", "sub", "top")),
        *(f"share/man/man3/{page.name}" for folder in ("man3", "man3-tls", "man3-stomp")
          for page in (ROOT / "docs" / "manual" / folder).glob("*.3")),
        *(f"lib/cmake/SwiftMQTT/{name}.cmake" for name in (
            "SwiftMQTTConfig", "SwiftMQTTConfigVersion", "SwiftMQTT-shared", "SwiftMQTT-shared-minsizerel",
            "SwiftMQTT-static", "SwiftMQTT-static-minsizerel", "SwiftMQTT-payload", "SwiftMQTT-payload-minsizerel",
            "SwiftMQTT-stomp", "SwiftMQTT-stomp-minsizerel", "SwiftMQTT-stomp_static", "SwiftMQTT-stomp_static-minsizerel")),
        *([f"lib/swiftmqtt/{drop_in}"] if (ROOT / "build" / "native" / "compat" / drop_in).exists() else [])}


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    directory = tmp_path_factory.mktemp("prefix")
    make("install", f"PREFIX={directory}")
    return directory


@pytest.fixture
def program(tmp_path):
    source = tmp_path / "app.c"
    source.write_text(PROGRAM)
    return source


@pytest.fixture
def program_of_both(program):
    program.write_text(PROGRAM_OF_BOTH)
    return program


def pkg_config(prefix, *options, names=("swiftmqtt",)):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    return run("pkg-config", *options, *names, env=environment).split()


def test_lays_exactly_these_files(prefix):
    assert files_below(prefix) == installed_files()
    assert os.readlink(prefix / "lib" / "libswiftmqtt.so") == "libswiftmqtt.so.1"
    assert os.readlink(prefix / "lib" / "libswiftmqtt.so.1") == f"libswiftmqtt.so.{version()}"


def test_what_is_stale_is_built_first_by_whose_build_it_is(tmp_path):
    if os.getuid() != 0:
        pytest.skip("only root may install for somebody else")
    (tmp_path / "libswiftmqtt.a").touch()
    for owner, command in ((0, "cmake"), (12345, "setpriv --reuid=12345 --regid=12345 --clear-groups cmake")):
        os.chown(tmp_path, owner, owner)
        said = make("-n", "--no-print-directory", "install", f"BUILD={tmp_path}")
        assert re.search(rf"^{command} --build {tmp_path} [^;]*\n.* cmake --install {tmp_path} ", said, re.M | re.S)


@pytest.mark.parametrize("library", ["libswiftmqtt.so", "libswiftstomp.so"])
def test_ldd_shows_libc_only(prefix, library):
    names = {line.split()[0].rpartition("/")[2] for line in run("ldd", prefix / "lib" / library).splitlines()}
    assert "libc.so.6" in names
    assert all(re.fullmatch(r"libc\.so\.6|ld-linux.*|linux-vdso\.so\.1", name) for name in names), names


def test_pkg_config_knows_the_version(prefix):
    assert pkg_config(prefix, "--modversion", names=("swiftmqtt", "swiftstomp")) == [version()] * 2


def test_program_links_with_pkg_config(prefix, program, tmp_path):
    run("cc", program, *pkg_config(prefix, "--cflags", "--libs"), "-o", tmp_path / "app")
    output = run(tmp_path / "app", env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")})
    assert output.endswith("\n")


def test_program_links_statically(prefix, program, tmp_path):
    flags = pkg_config(prefix, "--cflags", "--libs", "--static")
    run("cc", program, *[flag for flag in flags if flag != "-lswiftmqtt"], prefix / "lib" / "libswiftmqtt.a",
        "-o", tmp_path / "app")
    run(tmp_path / "app")
    assert "libswiftmqtt" not in run("readelf", "-d", tmp_path / "app")


def test_program_links_with_both_libraries(prefix, program_of_both, tmp_path):
    """The SONAME of libswiftstomp has the version of the project: its header has to say the same."""
    flags = pkg_config(prefix, "--cflags", "--libs", "--static", names=("swiftmqtt", "swiftstomp"))
    run("cc", program_of_both, *flags, "-o", tmp_path / "shared")
    both = ("-lswiftmqtt", "-lswiftstomp")
    archives = [prefix / "lib" / f"lib{name[2:]}.a" for name in both]
    run("cc", program_of_both, *[flag for flag in flags if flag not in both], *archives, "-o", tmp_path / "static")
    for app, needed in (("shared", True), ("static", False)):
        assert run(tmp_path / app, env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}) == "SMQ_OK SST_OK\n"
        dynamic = run("readelf", "-d", tmp_path / app)
        assert all((f"lib{name[2:]}.so.1" in dynamic) == needed for name in both)
    numbers = re.findall(r"^#define SST_VERSION_\w+ (\d+)$", (HEADER.parent / "swiftstomp.h").read_text(), re.M)
    assert ".".join(numbers) == version()


def test_destdir_stands_before_the_prefix_and_not_in_the_files(build, tmp_path):
    make("install", "PREFIX=/opt/mqtt", f"DESTDIR={tmp_path}")
    assert files_below(tmp_path) == {f"opt/mqtt/{name}" for name in installed_files()}
    for name in ("pkgconfig/swiftmqtt.pc", "pkgconfig/swiftstomp.pc", *(
            f"cmake/SwiftMQTT/SwiftMQTT-{component}{kind}.cmake"
            for component in ("shared", "stomp", "stomp_static") for kind in ("", "-minsizerel"))):
        text = (tmp_path / "opt/mqtt/lib" / name).read_text()
        assert "/opt/mqtt" not in text and str(tmp_path) not in text and str(ROOT) not in text
    make("uninstall", "PREFIX=/opt/mqtt", f"DESTDIR={tmp_path}")
    assert files_below(tmp_path) == set()


def test_smq_finds_the_library_wherever_it_was_laid(prefix, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(prefix, moved, symlinks=True)
    for directory in (prefix, moved):
        assert run(directory / "bin" / "smq", "--version").startswith("smq, an MQTT client")
        assert f"{directory}/bin/../lib/libswiftmqtt.so.1" in run("ldd", directory / "bin" / "smq")


def test_in_usr_smq_has_no_path_of_its_own(build, tmp_path):
    for directory, wanted in (("/usr", []), ("/usr/local", ["[$ORIGIN/../lib]"])):
        make("install", f"PREFIX={directory}", f"DESTDIR={tmp_path}")
        lines = run("readelf", "-d", f"{tmp_path}{directory}/bin/smq").splitlines()
        assert [line.split()[-1] for line in lines if "(RPATH)" in line or "(RUNPATH)" in line] == wanted


def test_in_usr_pkg_config_leaves_out_what_the_compiler_knows(build, tmp_path):
    make("install", "PREFIX=/usr", f"DESTDIR={tmp_path}")
    directories = {"PKG_CONFIG_PATH": f"{tmp_path}/usr/lib/pkgconfig"}
    command = ("pkg-config", "--cflags", "--libs", "swiftmqtt")
    assert run(*command, env={**os.environ, **directories}).split() == ["-lswiftmqtt"]
    sysroot = {"PKG_CONFIG_SYSROOT_DIR": str(tmp_path)}
    assert run(*command, env={**os.environ, **directories, **sysroot}).split() == [
        f"-I{tmp_path}/usr/include", f"-L{tmp_path}/usr/lib", "-lswiftmqtt"]


def test_uninstall_removes_just_that(build, tmp_path):
    make("install", f"PREFIX={tmp_path}")
    neighbour = tmp_path / "lib" / "libother.so.1"
    neighbour.write_text("not ours")
    make("uninstall", f"PREFIX={tmp_path}")
    assert files_below(tmp_path) == {"lib/libother.so.1"}
    assert not (tmp_path / "lib/cmake/SwiftMQTT").exists() and not (tmp_path / "lib/swiftmqtt").exists()
    # A second time there is nothing to do, and no error.
    make("uninstall", f"PREFIX={tmp_path}")


def test_works_as_a_subdirectory(build, program_of_both, tmp_path):
    """Another CMake project takes the libraries in with add_subdirectory, shared and static, and gets the
    same bytes as our own build."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(app LANGUAGES C)\n"
        "set(SWIFTMQTT_STOMP ON)\n"
        f"add_subdirectory({ROOT} swiftmqtt)\n"
        "add_executable(app app.c)\n"
        "target_link_libraries(app PRIVATE SwiftMQTT::swiftmqtt SwiftMQTT::stomp)\n"
        "add_executable(app_static app.c)\n"
        "target_link_libraries(app_static PRIVATE SwiftMQTT::static SwiftMQTT::stomp_static)\n")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=MinSizeRel")
    run("cmake", "--build", tmp_path / "build")
    for name in ("app", "app_static"):
        assert subprocess.run([tmp_path / "build" / name], stdout=subprocess.DEVNULL).returncode == 0
    for name in ("libswiftmqtt.so", "libswiftmqtt.a", "libswiftstomp.so", "libswiftstomp.a"):
        assert (tmp_path / "build" / "swiftmqtt" / name).read_bytes() == (build / name).read_bytes()
