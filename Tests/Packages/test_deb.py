"""The Debian packages of this machine: built, looked at, and used from a folder. `make deb-test` installs them."""

import re

import lists
import pytest
from conftest import (
    BOTH, PROGRAM, ROOT, attempt, built_elsewhere, clean_environment, debian_packages, files_below, run, version)
from Support.html_links import broken_links

DOCUMENTS = ["changelog.Debian.gz", "changelog.gz", "copyright"]
CMAKE = ["SwiftMQTTConfig", "SwiftMQTTConfigVersion", "SwiftMQTT-shared", "SwiftMQTT-shared-none", "SwiftMQTT-static",
         "SwiftMQTT-static-none", "SwiftMQTT-tls", "SwiftMQTT-tls-none", "SwiftMQTT-payload", "SwiftMQTT-payload-none",
         "SwiftMQTT-stomp", "SwiftMQTT-stomp-none", "SwiftMQTT-stomp_static", "SwiftMQTT-stomp_static-none"]

# As Debian's policy (12.3) has it: with the package that it is about.
BOOK = "usr/share/doc/libswiftmqtt-dev/html"


def pages_of(folder):
    return [f"usr/share/man/man3/{path.name}.gz" for path in (ROOT / "docs" / "manual" / folder).glob("*.3")]


def examples():
    folder = ROOT / "examples-c"
    shown = [*folder.glob("*.[ch]"), *(path for path in (folder / "sparkplug").rglob("*") if path.is_file())]
    return [f"DOC/examples/{path.relative_to(folder)}" for path in shown]


# What each package lays down; LIB is /usr/lib/<multiarch>, DOC the package's folder of documents.
CONTENTS = {
    "libswiftmqtt1": [
        "LIB/libswiftmqtt.so.1", f"LIB/libswiftmqtt.so.{version()}", "DOC/README.md.gz",
        "usr/share/lintian/overrides/libswiftmqtt1"],
    "libswiftmqtt-dev": [
        "usr/include/swiftmqtt.h", "usr/include/swiftmqtt-tls-engine.h", "usr/include/swiftmqtt-payload.h",
        "LIB/libswiftmqtt-payload.a", "LIB/pkgconfig/swiftmqtt-payload.pc", "LIB/libswiftmqtt.a", "LIB/libswiftmqtt.so", "LIB/pkgconfig/swiftmqtt.pc",
        *(f"LIB/cmake/SwiftMQTT/{name}.cmake" for name in CMAKE),
        *pages_of("man3"), *examples()],
    "libswiftmqtt-doc": ["usr/share/doc-base/libswiftmqtt-doc.libswiftmqtt"],  # and the book
    "libswiftmqtt-tls1": ["LIB/libswiftmqtt-tls.so.1", f"LIB/libswiftmqtt-tls.so.{version()}"],
    "libswiftmqtt-tls-dev": [
        "usr/include/swiftmqtt-tls.h", "LIB/libswiftmqtt-tls.so", "LIB/pkgconfig/swiftmqtt-tls.pc", *pages_of("man3-tls")],
    "libswiftstomp1": [
        "LIB/libswiftstomp.so.1", f"LIB/libswiftstomp.so.{version()}", "usr/share/lintian/overrides/libswiftstomp1"],
    "libswiftstomp-dev": [
        "usr/include/swiftstomp.h", "LIB/libswiftstomp.a", "LIB/libswiftstomp.so", "LIB/pkgconfig/swiftstomp.pc",
        *pages_of("man3-stomp"),
        *(f"DOC/examples/{path.name}" for path in (ROOT / "examples-c" / "stomp").glob("*.[ch]")),
        *(f"DOC/examples/locations/{path.name}" for path in (ROOT / "examples-c" / "locations").glob("*.*"))],
    "libswiftmqtt-mosquitto": ["LIB/swiftmqtt/libmosquitto.so.1"],
    "swiftmqtt-tools": [
        "usr/bin/smq", "usr/share/bash-completion/completions/smq",
        *(f"usr/share/man/man1/{path.name}.gz" for path in (ROOT / "docs" / "manual").glob("smq*.1"))],
    "swiftstomp-tools": [
        "usr/bin/sst", "usr/share/bash-completion/completions/sst",
        *(f"usr/share/man/man1/{path.name}.gz" for path in (ROOT / "docs" / "manual").glob("sst*.1"))],
    "python3-swiftmqtt": [
        f"usr/lib/python3/dist-packages/{path.relative_to(ROOT / 'python')}"
        for path in (ROOT / "python" / "swiftmqtt").rglob("*") if path.suffix in (".py", ".typed")],
}


@pytest.fixture(scope="module")
def architecture():
    return run("dpkg", "--print-architecture").strip()


@pytest.fixture(scope="module")
def multiarch():
    return run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()


@pytest.fixture(scope="module")
def debs(tmp_path_factory, architecture):
    return debian_packages(tmp_path_factory, architecture)


def deb(debs, package):
    found = list(debs.glob(f"{package}_*.deb"))
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(scope="module")
def unpacked(debs, tmp_path_factory):
    """All of them in one folder, as on a board's root."""
    directory = tmp_path_factory.mktemp("root")
    for package in CONTENTS:
        run("dpkg-deb", "-x", deb(debs, package), directory)
    return directory


def test_lintian_finds_nothing(debs):
    changes, = debs.glob("*.changes")
    run("lintian", "--allow-root", "--display-info", "--fail-on", "error,warning,info", changes)


def test_these_packages_are_built(debs):
    names = {path.name.split("_")[0] for path in debs.glob("*.deb")}
    assert {name for name in names if not name.endswith("-dbgsym")} == set(CONTENTS)
    assert len(list(debs.glob("*.dsc"))) == 1


@pytest.mark.parametrize("package", CONTENTS)
def test_contents(debs, multiarch, tmp_path, package):
    run("dpkg-deb", "-x", deb(debs, package), tmp_path)
    expected = CONTENTS[package] + [f"DOC/{name}" for name in DOCUMENTS]
    places = {"LIB": f"usr/lib/{multiarch}", "DOC": f"usr/share/doc/{package}"}
    found = {path for path in files_below(tmp_path) if not path.startswith(f"{BOOK}/")}
    assert found == {re.sub(r"^(LIB|DOC)\b", lambda name: places[name[0]], path) for path in expected}


def test_man_finds_the_page_of_each_function(unpacked):
    """What was an .so is a link now, as Debian has it, and leads to a page that is there."""
    pages = unpacked / "usr/share/man/man3"
    for function in re.findall(r"^SMQ_API [^;]*?\b(smq_\w+)\(", (ROOT / "include" / "swiftmqtt.h").read_text(), re.M):
        page = pages / f"{function}.3.gz"
        assert page.is_symlink() and page.resolve().parent == pages.resolve() and page.resolve().is_file(), function
        assert function in run("zcat", page).partition(".SH SYNOPSIS")[0]
    assert (pages / "smq_tls_open.3.gz").resolve().name == "swiftmqtt-tls.3.gz"


def test_the_book_is_whole_and_each_link_in_it_leads_somewhere(debs, tmp_path):
    run("dpkg-deb", "-x", deb(debs, "libswiftmqtt-doc"), tmp_path)
    book = tmp_path / BOOK
    pages = {path.relative_to(ROOT) for folder in ("docs", "docs/recipes", "docs/decisions") for path in (ROOT / folder).glob("*.md")}
    targets = {page.parent / ("index.html" if page.name == "README.md" else f"{page.stem}.html") for page in pages}
    assert len(targets) >= 40 and sorted(target for target in targets if not (book / target).is_file()) == []
    assert (book / "reference" / "swiftmqtt_8h.html").is_file()
    assert broken_links(book) == []
    registered = (tmp_path / "usr/share/doc-base/libswiftmqtt-doc.libswiftmqtt").read_text()
    index, = re.findall(r"^Index: (.*)$", registered, re.M)
    assert (tmp_path / index.lstrip("/")).is_file()


def test_depends_on_the_libc_that_it_needs(debs, unpacked):
    for package, program, also in (
            ("libswiftmqtt1", "libswiftmqtt.so.1", ""), ("libswiftstomp1", "libswiftstomp.so.1", ""), ("libswiftmqtt-mosquitto", "libmosquitto.so.1", ", libssl3 (>= 3.0.0)"),
            ("swiftmqtt-tools", "smq", f", libswiftmqtt1 (>= {version()})"),
            ("swiftstomp-tools", "sst", f", libswiftstomp1 (>= {version()})")):
        path, = (path for path in unpacked.rglob(program) if b"\x7fELF" == path.read_bytes()[:4])
        needed = {tuple(map(int, number.split("."))) for number in
                  re.findall(r"\(GLIBC_([0-9.]+)\)", run("objdump", "-T", path))}
        newest = ".".join(map(str, max(needed)))
        assert run("dpkg-deb", "-f", deb(debs, package), "Depends").strip() == f"libc6 (>= {newest}){also}"


def test_is_hardened(unpacked):
    for name in ("libswiftmqtt.so.1", "libswiftstomp.so.1", "libswiftmqtt-tls.so.1", "libmosquitto.so.1", "bin/smq", "bin/sst"):
        path, = unpacked.rglob(name)
        assert "NOW" in run("readelf", "-dW", path)
        assert "GNU_RELRO" in run("readelf", "-lW", path)
        assert "__stack_chk_fail" in run("nm", "-D", "--undefined-only", path)
        if name.endswith(".so.1") and "X86-64" in run("readelf", "-h", path):
            assert "IBT, SHSTK" in run("readelf", "-nW", path)


def test_a_program_is_built_with_what_is_in_them(unpacked, multiarch, tmp_path):
    library = unpacked / "usr" / "lib" / multiarch
    environment = clean_environment(PKG_CONFIG_PATH=f"{library}/pkgconfig", PKG_CONFIG_SYSROOT_DIR=str(unpacked))
    for source, names in ((PROGRAM, ["swiftmqtt"]), (BOTH, ["swiftmqtt", "swiftstomp"])):
        (tmp_path / "app.c").write_text(source)
        flags = run("pkg-config", "--cflags", "--libs", *names, env=environment).split()
        run("cc", tmp_path / "app.c", *flags, f"-Wl,-rpath,{library}", "-o", tmp_path / "app")
        run(tmp_path / "app")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES C)\nfind_package(SwiftMQTT 1 REQUIRED)\n"
        "add_executable(app app.c)\ntarget_link_libraries(app PRIVATE SwiftMQTT::swiftmqtt SwiftMQTT::stomp)\n")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={unpacked}/usr")
    run("cmake", "--build", tmp_path / "build")
    run(tmp_path / "build" / "app")


def test_the_same_bytes_wherever_it_is_built(debs, architecture, tmp_path):
    assert not built_elsewhere(debs, architecture, tmp_path)


def test_says_what_is_wrong():
    result = attempt(ROOT / "packaging" / "deb", "sparc")
    assert result.returncode == 2
    assert result.stdout == f"deb: 'sparc' is not one of {' '.join(target.debian for target in lists.ALL.values())}\n"
