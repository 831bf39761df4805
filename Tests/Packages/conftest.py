"""What the tests of the packages share. Whoever takes the library another way than `make install` is tried here:
CMake, Debian's packages, what the recipes of other distributions say."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "Tests"), str(ROOT / "Tests" / "Python")]

import lists  # noqa: E402
import pythons  # noqa: E402
from Support import foreign, swiftc_cache  # noqa: E402

HEADER = ROOT / "include" / "swiftmqtt.h"

PROGRAM = """
#include <stdio.h>
#include <swiftmqtt.h>
int main(void) {
    printf("%u %s\\n", (unsigned)smq_version(), smq_status_name(SMQ_OK));
    return smq_version() != ((SMQ_VERSION_MAJOR << 16) | (SMQ_VERSION_MINOR << 8) | SMQ_VERSION_PATCH);
}
"""

# libswiftstomp, alone and beside libswiftmqtt.
STOMP = """
#include <stdio.h>
#include <swiftstomp.h>
int main(void) {
    printf("%u %s\\n", (unsigned)sst_version(), sst_status_name(SST_OK));
    return sst_version() != ((SST_VERSION_MAJOR << 16) | (SST_VERSION_MINOR << 8) | SST_VERSION_PATCH);
}
"""

BOTH = """
#include <stdio.h>
#include <swiftmqtt.h>
#include <swiftstomp.h>
int main(void) {
    printf("%s %s\\n", smq_status_name(SMQ_OK), sst_status_name(SST_OK));
    return smq_version() != ((SMQ_VERSION_MAJOR << 16) | (SMQ_VERSION_MINOR << 8) | SMQ_VERSION_PATCH) ||
           sst_version() != ((SST_VERSION_MAJOR << 16) | (SST_VERSION_MINOR << 8) | SST_VERSION_PATCH);
}
"""


def clean_environment(**more):
    """Ours, without what a make that runs the tests hands to another."""
    names = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR")
    return {**{name: value for name, value in os.environ.items() if name not in names}, **more}


def attempt(*command, **options):
    options = {"env": clean_environment(), "timeout": 600, **options}
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", **options)


def run(*command, **options):
    """Runs a command and returns its output; what it said is in the test's failure if it failed."""
    result = attempt(*command, **options)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}"
    return result.stdout


def version():
    return ".".join(re.findall(r"^#define SMQ_VERSION_\w+ (\d+)$", HEADER.read_text(), re.M))


def files_below(directory):
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_symlink() or not path.is_dir()}


@pytest.fixture(scope="session")
def build():
    directory = ROOT / "build" / "native"
    if not (directory / "libswiftmqtt.so").exists():
        pytest.fail(f"{directory} has no libswiftmqtt.so: run make")
    return directory


@pytest.fixture(scope="session")
def tools():
    """The programs of a Python that has requirements.txt."""
    try:
        return pythons.with_requirements(pathlib.Path(__file__).with_name("requirements.txt"), "recipes").parent
    except pythons.Unavailable as why:
        pytest.skip(f"requirements.txt cannot be installed here: {why}")


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    """The tree of a tarball of `make dist`: what is built of it needs no Swift."""
    directory = tmp_path_factory.mktemp("dist")
    run("make", "-C", ROOT, "--no-print-directory", "dist", timeout=1200)
    run("tar", "-xzf", ROOT / "build" / "dist" / f"libswiftmqtt-{version()}.tar.gz", "-C", directory)
    return directory / f"libswiftmqtt-{version()}"


@pytest.fixture(scope="session")
def swiftc():
    return shutil.which("swiftc") or pytest.fail("there is no swiftc")


def debian_packages(tmp_path_factory, *architectures):
    """Where they are: newly built, or in the directory that SMQ_DEBS names."""
    if "SMQ_DEBS" in os.environ:
        return pathlib.Path(os.environ["SMQ_DEBS"]).resolve(strict=True)
    directory = tmp_path_factory.mktemp("deb")
    run(ROOT / "packaging" / "deb", "--output", directory, *architectures, timeout=2400)
    return directory


def built_elsewhere(debs, architecture, directory):
    """Builds the packages of an architecture again, from the source package, in another place, with another user's habits;
    returns what has become different."""
    source = directory / "somewhere else" / f"libswiftmqtt-{version()}"
    source.parent.mkdir()
    orig, = debs.glob("*.orig.tar.gz")
    run("tar", "-xf", orig, "-C", source.parent)
    epoch = str(int((source / "Makefile").stat().st_mtime))
    maintainer = run("dpkg-deb", "-f", next(debs.glob(f"libswiftmqtt1_*_{architecture}.deb")), "Maintainer")
    name, address = re.fullmatch(r"(.*) <(.*)>\n", maintainer).groups()
    run("git", "init", "-q", source)
    output = directory / "output"
    run("sh", "-c", "umask 077; exec \"$@\"", "sh", source / "packaging" / "deb", "--output", output, architecture,
        env=clean_environment(SOURCE_DATE_EPOCH=epoch, DEBFULLNAME=name, DEBEMAIL=address, TZ="Asia/Tokyo",
                              LC_ALL="C", CFLAGS="-O0", HOME=str(directory), PATH=swiftc_cache.uncached_path()), timeout=1200)
    # .buildinfo and .changes say where and when; all the rest has to be the same.
    expected, found = (
        {path.name: path.read_bytes() for path in place.iterdir()
         if path.suffix not in (".buildinfo", ".changes", ".log")
         and (path.suffix != ".deb" or re.search(rf"_({architecture}|all)\.deb$", path.name))}
        for place in (debs, output))
    assert len(expected) > 10
    return [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]


def lay_openssl(target, directory):
    """OpenSSL's headers and libraries for a processor, as the root directory of a board has them: usr/include, usr/lib."""
    cross = lists.CROSS[target]
    debian = foreign.unpacked(cross, "libssl3", "libssl-dev") / "usr"
    include, library = directory / "usr" / "include", directory / "usr" / "lib"
    shutil.copytree(debian / "include" / "openssl", include / "openssl")
    shutil.copytree(debian / "include" / cross.tools / "openssl", include / "openssl", dirs_exist_ok=True)
    library.mkdir(parents=True, exist_ok=True)
    for file in (debian / "lib" / cross.tools).glob("lib*.so*"):
        shutil.copy(file, library, follow_symlinks=False)
    return directory


def runs_on_the_board(image, target, directory):
    """A program is built with what lies below `image`, /usr of a board, and runs there; and so does smq."""
    (directory / "app.c").write_text(PROGRAM)
    library = image / "usr" / "lib"
    run(lists.CROSS[target].compiler, directory / "app.c", f"-I{image}/usr/include", f"-L{library}", "-lswiftmqtt",
        f"-Wl,-rpath,{library}", "-o", directory / "app")
    qemu, *root = lists.CROSS[target].emulator
    run(qemu, *root, directory / "app")
    found = ("-E", f"LD_LIBRARY_PATH={library}")
    assert run(qemu, *found, *root, image / "usr" / "bin" / "smq", "--version").strip()
