"""A CMake project of somebody else's takes the library: installed, from a folder, and for another processor."""

import os
import shutil
from pathlib import Path

import lists
import pytest
from conftest import BOTH, PROGRAM, ROOT, STOMP, attempt, clean_environment, lay_openssl, run, version

SHARED = "target_link_libraries(app PRIVATE SwiftMQTT::swiftmqtt)"
STATIC = "target_link_libraries(app PRIVATE SwiftMQTT::static)"


@pytest.fixture(scope="module")
def moved(build, tmp_path_factory):
    """Installed in one place, then carried to another."""
    directory = tmp_path_factory.mktemp("installed")
    run("make", "-C", ROOT, "install", f"PREFIX={directory}/first")
    return (directory / "first").rename(directory / "second")


def project(directory, *lines):
    directory.mkdir(exist_ok=True)
    (directory / "app.c").write_text(PROGRAM)
    (directory / "CMakeLists.txt").write_text("\n".join([
        "cmake_minimum_required(VERSION 3.25)", "project(app LANGUAGES C)", *lines[:-1],
        "add_executable(app app.c)", lines[-1], ""]))
    return directory


def configure(directory, *options):
    return attempt("cmake", "-S", directory, "-B", directory / "build", "-G", "Ninja", *options)


def built(directory, *options):
    """The program of the project, built."""
    result = configure(directory, *options)
    assert result.returncode == 0, result.stdout
    assert "Warning" not in result.stdout, result.stdout
    run("cmake", "--build", directory / "build")
    return directory / "build" / "app"


@pytest.mark.parametrize("found", ["SwiftMQTT 1 REQUIRED", "SwiftMQTT 1.0 REQUIRED COMPONENTS shared static"])
@pytest.mark.parametrize("link, needs", [(SHARED, True), (STATIC, False)], ids=["shared", "static"])
def test_find_package(moved, tmp_path, found, link, needs):
    app = built(project(tmp_path / "user", f"find_package({found})", link), f"-DCMAKE_PREFIX_PATH={moved}")
    run(app)
    assert ("libswiftmqtt.so.1" in run("readelf", "-d", app)) == needs


WITH_TLS = """
#include <stdio.h>
#include <swiftmqtt-tls.h>
int main(void) {
    puts(smq_tls_openssl()->name);
    return smq_version() != ((SMQ_VERSION_MAJOR << 16) | (SMQ_VERSION_MINOR << 8) | SMQ_VERSION_PATCH);
}
"""


@pytest.mark.parametrize("beside, needs", [("SwiftMQTT::swiftmqtt", True), ("SwiftMQTT::static", False)], ids=["shared", "static"])
def test_tls_goes_with_either_library(moved, tmp_path, beside, needs):
    user = project(tmp_path / "user", "find_package(SwiftMQTT 1 REQUIRED COMPONENTS tls)",
                   f"target_link_libraries(app PRIVATE SwiftMQTT::tls {beside})")
    (user / "app.c").write_text(WITH_TLS)
    app = built(user, f"-DCMAKE_PREFIX_PATH={moved}")
    assert run(app).startswith("OpenSSL 3.")
    dynamic = run("readelf", "-d", app)
    assert "libswiftmqtt-tls.so.1" in dynamic and ("libswiftmqtt.so.1" in dynamic) == needs


WITH_PAYLOAD = """
#include <swiftmqtt-payload.h>
#include <stdio.h>
int main(void) {
    char buffer[32];
    smq_json json;
    smq_bytes payload;
    smq_json_init(&json, buffer, sizeof buffer);
    smq_json_double(&json, 21.5);
    if (smq_json_finish(&json, &payload) != SMQ_OK) return 1;
    printf("%.*s %s\\n", (int)payload.size, buffer, smq_status_name(SMQ_OK));
    return 0;
}
"""


@pytest.mark.parametrize("beside, needs", [("SwiftMQTT::swiftmqtt", True), ("SwiftMQTT::static", False)], ids=["shared", "static"])
def test_payload_goes_with_either_library(moved, tmp_path, beside, needs):
    user = project(tmp_path / "user", "find_package(SwiftMQTT 1 REQUIRED COMPONENTS payload)",
                   f"target_link_libraries(app PRIVATE SwiftMQTT::payload {beside})")
    (user / "app.c").write_text(WITH_PAYLOAD)
    app = built(user, f"-DCMAKE_PREFIX_PATH={moved}")
    assert run(app) == "21.5 SMQ_OK\n"
    assert ("libswiftmqtt.so.1" in run("readelf", "-d", app)) == needs


@pytest.mark.parametrize("component, needs", [("stomp", True), ("stomp_static", False)])
@pytest.mark.parametrize("beside, needs_mqtt", [("", None), ("SwiftMQTT::swiftmqtt", True), ("SwiftMQTT::static", False)],
                         ids=["alone", "beside-shared", "beside-static"])
def test_stomp_is_there_alone_and_beside_either_library(moved, tmp_path, component, needs, beside, needs_mqtt):
    user = project(tmp_path / "user", f"find_package(SwiftMQTT 1 REQUIRED COMPONENTS {component})",
                   f"target_link_libraries(app PRIVATE SwiftMQTT::{component} {beside})")
    (user / "app.c").write_text(BOTH if beside else STOMP)
    app = built(user, f"-DCMAKE_PREFIX_PATH={moved}")
    assert run(app).endswith(" SST_OK\n")
    dynamic = run("readelf", "-d", app)
    assert ("libswiftstomp.so.1" in dynamic) == needs and ("libswiftmqtt.so.1" in dynamic) == bool(needs_mqtt)


@pytest.mark.parametrize("source, names", [(STOMP, ["swiftstomp"]), (BOTH, ["swiftmqtt", "swiftstomp"])], ids=["alone", "beside"])
def test_pkg_config_finds_stomp_where_it_is(moved, tmp_path, source, names):
    (tmp_path / "app.c").write_text(source)
    environment = clean_environment(PKG_CONFIG_PATH=f"{moved}/lib/pkgconfig")
    run("cc", tmp_path / "app.c", *run("pkg-config", "--cflags", "--libs", *names, env=environment).split(),
        f"-Wl,-rpath,{moved}/lib", "-o", tmp_path / "shared")
    flags = run("pkg-config", "--static", "--cflags", "--libs", *names, env=environment).split()
    run("cc", "-static", tmp_path / "app.c", *flags, "-o", tmp_path / "static")
    for program in ("shared", "static"):
        assert run(tmp_path / program).endswith(" SST_OK\n")


def test_pkg_config_finds_payload_where_it_is(moved, tmp_path):
    (tmp_path / "app.c").write_text(WITH_PAYLOAD)
    flags = run("env", f"PKG_CONFIG_PATH={moved}/lib/pkgconfig", "pkg-config", "--cflags", "--libs", "swiftmqtt-payload").split()
    run("cc", tmp_path / "app.c", *flags, f"-Wl,-rpath,{moved}/lib", "-o", tmp_path / "app")
    assert run(tmp_path / "app") == "21.5 SMQ_OK\n"


# ---- Where OpenSSL is looked for


@pytest.fixture
def for_armv7(dist, tmp_path):
    """What CMake says to a tarball that is configured for an armv7 board."""
    def configure(*options, **environment):
        toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/armv7-linux.cmake"
        result = attempt("cmake", "-S", dist, "-B", tmp_path / "armv7", "-G", "Ninja", toolchain, *options,
                         env=clean_environment(**environment))
        built = "build libswiftmqtt-tls.so.1" in (tmp_path / "armv7" / "build.ninja").read_text() if not result.returncode else None
        return " ".join(result.stdout.split()), built
    return configure


def test_without_openssl_it_says_so(for_armv7, tmp_path):
    if Path("/usr/lib/arm-linux-gnueabihf/libssl.so").exists():
        pytest.skip("libssl-dev:armhf is installed")
    said, built = for_armv7()
    assert "-- Without libswiftmqtt-tls: OpenSSL 3 for armv7 is missing" in said and built is False
    # It is not remembered: once it is there, it is found.
    openssl = lay_openssl("armv7", tmp_path / "root")
    said, built = for_armv7(OPENSSL_ROOT_DIR=f"{openssl}/usr")
    assert "Without" not in said and built is True


def test_tls_that_is_asked_for_or_not(for_armv7):
    said, built = for_armv7("-DSWIFTMQTT_TLS=OFF")
    assert "Without" not in said and built is False
    if not Path("/usr/lib/arm-linux-gnueabihf/libssl.so").exists():
        said, built = for_armv7("-DSWIFTMQTT_TLS=ON")
        assert "SWIFTMQTT_TLS is on, but OpenSSL 3 for armv7 is missing" in said and built is None


def test_openssl_where_the_compiler_finds_it(for_armv7, tmp_path):
    """As where Debian's libssl-dev:armhf is installed."""
    root = lay_openssl("armv7", tmp_path / "root") / "usr"
    said, built = for_armv7(f"-DCMAKE_C_FLAGS=-isystem {root}/include -L{root}/lib")
    assert "Without" not in said and built is True


def test_each_library_can_be_there_alone(moved, tmp_path):
    prefix = shutil.copytree(moved, tmp_path / "prefix", symlinks=True)
    (prefix / "lib" / "libswiftmqtt.a").unlink()
    option = f"-DCMAKE_PREFIX_PATH={prefix}"
    run(built(project(tmp_path / "user", "find_package(SwiftMQTT 1 REQUIRED)", SHARED), option))
    wants = project(tmp_path / "wants", "find_package(SwiftMQTT 1 REQUIRED COMPONENTS static)", STATIC)
    result = configure(wants, option)
    assert result.returncode != 0
    assert "no component 'static'" in " ".join(result.stdout.split())
    # Debian's libswiftmqtt-dev has what CMake reads of libswiftstomp, too, which is in a package of its own.
    for library in (prefix / "lib").glob("libswiftstomp.*"):
        library.unlink()
    result = configure(project(tmp_path / "stomp", "find_package(SwiftMQTT 1 REQUIRED COMPONENTS stomp)", SHARED), option)
    assert result.returncode != 0
    assert "no component 'stomp'" in " ".join(result.stdout.split())
    optional = project(tmp_path / "optional", "find_package(SwiftMQTT 1 REQUIRED OPTIONAL_COMPONENTS static)", SHARED)
    run(built(optional, option))


@pytest.mark.parametrize("asked, said", [("2", f"version: {version()}"), ("1 COMPONENTS quic", "no component 'quic'")])
def test_what_is_not_there_is_not_found(moved, tmp_path, asked, said):
    user = project(tmp_path, f"find_package(SwiftMQTT {asked} REQUIRED)", SHARED)
    result = configure(user, f"-DCMAKE_PREFIX_PATH={moved}")
    assert result.returncode != 0
    assert said in " ".join(result.stdout.split())


def test_pkg_config_finds_it_where_it_is(moved, tmp_path):
    (tmp_path / "app.c").write_text(PROGRAM)
    path = f"PKG_CONFIG_PATH={moved}/lib/pkgconfig"
    flags = run("env", path, "pkg-config", "--cflags", "--libs", "swiftmqtt").split()
    run("cc", tmp_path / "app.c", *flags, f"-Wl,-rpath,{moved}/lib", "-o", tmp_path / "app")
    run(tmp_path / "app")


def test_a_directory_that_is_not_below_the_prefix_is_refused(tmp_path):
    result = attempt("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DSWIFTMQTT_LIBDIR=/opt/lib")
    assert result.returncode != 0
    assert "SWIFTMQTT_LIBDIR is '/opt/lib'" in " ".join(result.stdout.split())


def test_a_processor_that_is_not_known_is_refused(tmp_path):
    result = attempt("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DCMAKE_SYSTEM_NAME=Linux",
                     "-DCMAKE_SYSTEM_PROCESSOR=mips", "-DCMAKE_C_COMPILER=cc")
    assert result.returncode != 0
    assert "CMAKE_SYSTEM_PROCESSOR is 'mips'" in " ".join(result.stdout.split())


def test_a_compiler_for_an_older_processor_is_refused(tmp_path):
    """It would link, and the board would find out."""
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/armv7-linux.cmake"
    result = attempt("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", toolchain,
                     "-DCMAKE_C_FLAGS=-march=armv6+fp -marm")
    assert result.returncode != 0
    assert "compiles for another processor or ABI than Swift does, which is armv7" in " ".join(result.stdout.split())


# One by default, because it takes long; make deb-test takes the others. Tests/ABI/test_install.py has the same for the
# machine itself.
@pytest.mark.parametrize("target", os.environ.get("SMQ_PACKAGE_TARGETS", "armv7").split())
def test_fetch_content_across(tmp_path, dist, target):
    """The library and the program in one go, for another processor, with the library's toolchain file. Swift makes the same of
    it as anywhere."""
    user = project(
        tmp_path, "include(FetchContent)", f"FetchContent_Declare(swiftmqtt SOURCE_DIR {ROOT})",
        "FetchContent_MakeAvailable(swiftmqtt)", "add_executable(app_static app.c)",
        "target_link_libraries(app_static PRIVATE SwiftMQTT::static)", SHARED)
    app = built(user, f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/{target}-linux.cmake")
    for program in (app, app.parent / "app_static"):
        run(*lists.CROSS[target].emulator, program)
    library = app.parent / "_deps" / "swiftmqtt-build" / "libswiftmqtt.so"
    assembly = library.parent / "swift" / lists.LIBRARY / f"{lists.LIBRARY}.s"
    assert assembly.read_bytes() == (dist / "assembly" / target / f"{lists.LIBRARY}.s").read_bytes()
    assert "[libswiftmqtt.so.1]" in run("readelf", "-dW", library)
    exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    assert all(name.endswith("SWIFTMQTT_1") for name in exported) and len(exported) > 50
