"""The tarball of `make dist`: with gcc and make alone it comes to the same bytes as the sources with Swift, on each processor."""

import os
import re
import shutil

import lists
import pytest
from conftest import BOTH, ROOT, clean_environment, files_below, run, version

# What a build may use besides the compiler's own programs: POSIX.
TOOLS = ["awk", "cat", "cmp", "cp", "cut", "echo", "find", "grep", "head", "install", "ln", "ls", "make", "mkdir", "mv", "printf",
         "rm", "rmdir", "sed", "sh", "sort", "touch", "tr", "true"]
TARGETS = [None, *lists.CROSS]


def called(target):
    return target or "native"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A PATH on which there are a C compiler for each target, make and what POSIX has, but no Swift, CMake or Python."""
    directory = tmp_path_factory.mktemp("bin")
    compilers = ["gcc", *(target.compiler for target in lists.CROSS.values())]
    prefixes = ["", *(f"{target.tools}-" for target in lists.CROSS.values())]
    for program in [*TOOLS, *compilers, *(prefix + tool for prefix in prefixes for tool in ("as", "ld", "ar", "objcopy"))]:
        (directory / program).symlink_to(shutil.which(program))
    assert not any((directory / program).exists() for program in ("swiftc", "cmake", "python3", "clang"))
    return directory


@pytest.fixture(scope="module")
def made(dist, bare, tmp_path_factory):
    """Builds the tarball for a target with that PATH; gives its tree."""
    trees = {}

    def made(target):
        if target not in trees:
            trees[target] = tree = shutil.copytree(dist, tmp_path_factory.mktemp(called(target)) / "tree", symlinks=True)
            said = make(tree, bare, target, "-j2", "all", "mosquitto")
            assert "warning" not in said.lower(), said
        return trees[target]
    return made


def make(tree, bare, target, *arguments):
    compiler = lists.CROSS[target].compiler if target else "gcc"
    return run("make", "-C", tree, f"CC={compiler}", *arguments, env={"PATH": str(bare), "LC_ALL": "C"})


@pytest.mark.parametrize("target", TARGETS, ids=called)
def test_the_same_bytes_as_with_swift(made, target):
    tree = made(target)
    with_swift = ROOT / "build" / called(target)
    run("make", "-C", ROOT, "--no-print-directory", *(["cross-build", f"TARGET={target}"] if target else ["all"]),
        env=clean_environment())
    run("cmake", "--build", with_swift, "--target", "mosquitto_compat")
    for name in (f"libswiftmqtt.so.{version()}", "libswiftmqtt.a", f"libswiftstomp.so.{version()}", "libswiftstomp.a"):
        assert (tree / "build" / name).read_bytes() == (with_swift / name).read_bytes(), name
    # It says where the library is, which is another place, and so all else lies elsewhere.
    # $x and $d say where code and data begin; the linker adds some for aarch64, by where code lies (erratum 843419).
    for name in ("smq", "sst"):
        here, there = ([line.split()[1:] for line in run("nm", "-S", program).splitlines() if not re.search(r" \$[xd]$|e843419@", line)]
                       for program in (tree / "build" / name, with_swift / "tools" / name))
        assert sorted(here) == sorted(there) and len(here) > 500


@pytest.mark.parametrize("target", TARGETS, ids=called)
def test_what_is_installed_is_used(made, bare, tmp_path, target):
    """With pkg-config's flags and statically, both libraries in one program; and smq."""
    tree = made(target)
    root = tmp_path / "root"
    make(tree, bare, target, "install", "PREFIX=/usr", f"DESTDIR={root}")
    (tmp_path / "app.c").write_text(BOTH)
    compiler, emulator = (lists.CROSS[target].compiler, lists.CROSS[target].emulator) if target else ("gcc", [])
    flags = run("pkg-config", "--cflags", "--libs", "swiftmqtt", "swiftstomp", env=clean_environment(
        PKG_CONFIG_PATH=f"{root}/usr/lib/pkgconfig", PKG_CONFIG_SYSROOT_DIR=str(root))).split()
    run(compiler, tmp_path / "app.c", *flags, f"-Wl,-rpath,{root}/usr/lib", "-o", tmp_path / "shared")
    run(compiler, tmp_path / "app.c", f"-I{root}/usr/include", root / "usr/lib/libswiftmqtt.a", root / "usr/lib/libswiftstomp.a",
        "-o", tmp_path / "static")
    for program in ("shared", "static"):
        assert run(*emulator, tmp_path / program) == "SMQ_OK SST_OK\n"
    dynamic = run("readelf", "-d", tmp_path / "shared")
    assert "[libswiftmqtt.so.1]" in dynamic and "[libswiftstomp.so.1]" in dynamic
    found = ["-E", f"LD_LIBRARY_PATH={root}/usr/lib"] if target else []
    command = [emulator[0], *found, *emulator[1:]] if target else ["env", f"LD_LIBRARY_PATH={root}/usr/lib"]
    for name in ("smq", "sst"):
        assert run(*command, root / "usr/bin" / name, "--version").strip().endswith(version())


def test_lays_what_cmake_lays(made, bare, build, tmp_path):
    """But for what CMake writes about its own types of build."""
    make(made(None), bare, None, "install", f"PREFIX={tmp_path}/plain")
    run("make", "-C", ROOT, "install", f"PREFIX={tmp_path}/cmake", env=clean_environment())
    # The two link OpenSSL's engine, and the drop-in with it, from objects in another order.
    plain, cmake = ({path for path in files_below(tmp_path / place) if "tls" not in path and "libmosquitto" not in path}
                    for place in ("plain", "cmake"))
    assert plain == {path for path in cmake if not path.endswith("-minsizerel.cmake")}
    same = {path for path in plain if (tmp_path / "plain" / path).read_bytes() == (tmp_path / "cmake" / path).read_bytes()}
    assert plain - same <= {"bin/smq", "bin/sst", *(f"lib/cmake/SwiftMQTT/{name}.cmake" for name in (
        "SwiftMQTT-shared", "SwiftMQTT-static", "SwiftMQTT-payload", "SwiftMQTT-stomp", "SwiftMQTT-stomp_static",
        "SwiftMQTTConfigVersion"))}
    paths = [line.split()[-1] for line in run("readelf", "-d", tmp_path / "plain/bin/smq").splitlines() if "PATH)" in line]
    assert paths == ["[$ORIGIN/../lib]"]
    make(made(None), bare, None, "uninstall", f"PREFIX={tmp_path}/plain")
    assert files_below(tmp_path / "plain") == set()


def test_libswiftstomp_can_be_left_out(made, bare, tmp_path):
    make(made(None), bare, None, "install", f"PREFIX={tmp_path}", "STOMP=")
    assert not any("stomp" in path or "sst" in path for path in files_below(tmp_path)) and (tmp_path / "lib/libswiftmqtt.a").exists()


@pytest.mark.parametrize("libdir", ["lib", "lib/x86_64-linux-gnu"])
def test_cmake_finds_what_it_lays(made, bare, tmp_path, libdir):
    make(made(None), bare, None, "install", f"PREFIX={tmp_path}/first", f"LIBDIR={libdir}")
    moved = (tmp_path / "first").rename(tmp_path / "second")
    (tmp_path / "app.c").write_text(BOTH)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES C)\n"
        "find_package(SwiftMQTT 1...2 REQUIRED COMPONENTS shared static stomp stomp_static)\nfind_package(SwiftMQTT 1.0)\n"
        "find_package(SwiftMQTT 2 QUIET)\nif(SwiftMQTT_FOUND)\n  message(FATAL_ERROR \"2 was found\")\nendif()\n"
        "add_executable(shared app.c)\ntarget_link_libraries(shared PRIVATE SwiftMQTT::swiftmqtt SwiftMQTT::stomp)\n"
        "add_executable(static app.c)\ntarget_link_libraries(static PRIVATE SwiftMQTT::static SwiftMQTT::stomp_static)\n")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={moved}",
        f"-DCMAKE_LIBRARY_ARCHITECTURE={libdir.partition('/')[2]}")
    run("cmake", "--build", tmp_path / "build")
    for program in ("shared", "static"):
        run(tmp_path / "build" / program)


def test_a_compiler_for_an_older_processor_is_refused(dist, bare):
    for flags in ("-march=armv6+fp -marm", "-mfloat-abi=softfp"):
        with pytest.raises(AssertionError, match="compiles for another processor or ABI than these"):
            make(dist, bare, "armv7", "-n", f"CFLAGS={flags}")


def test_the_same_bytes_twice(dist, tmp_path):
    """And none that say where they were made."""
    tarball = f"libswiftmqtt-{version()}.tar.gz"
    run(ROOT / "packaging" / "dist", "--output", tmp_path, env=clean_environment())
    assert (tmp_path / tarball).read_bytes() == (ROOT / "build" / "dist" / tarball).read_bytes()
    for target in lists.ALL:
        for module in (lists.LIBRARY, lists.STOMP, lists.DROP_IN, *lists.PROGRAMS):
            assembly = (dist / "assembly" / target / f"{module}.s").read_text()
            assert str(ROOT) not in assembly and os.path.expanduser("~/") not in assembly


def test_what_is_in_it(dist):
    """The sources that it was made of, and the licence of what the compiler puts in; nothing of the tests."""
    assert (dist / "LICENSE").exists() and "Runtime Library Exception" in (dist / "assembly" / "LICENSE-Swift").read_text()
    assert re.match(r"Swift version 6\.", (dist / "assembly" / "COMPILER").read_text())
    for module in lists.MODULES.values():
        if module.kind != "toolchain":
            assert files_below(dist / "Sources" / module.name) == {
                path for path in files_below(ROOT / "Sources" / module.name) if "__pycache__" not in path}
    assert not (dist / "Tests").exists()
