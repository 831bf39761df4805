"""Where the loader looks for libraries of what is built and installed: in no place that depends on where one is."""

import pytest
from conftest import ROOT, run
from test_install import make

ELF = b"\x7fELF"


def programs_below(directory):
    """Every ELF file that the loader reads."""
    found = []
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix not in (".o", ".a"):
            with open(path, "rb") as file:
                if file.read(4) == ELF:
                    found.append(path)
    return found


def places(path):
    """The entries of RPATH and RUNPATH."""
    found = []
    for line in run("readelf", "-dW", path).splitlines():
        if "(RPATH)" in line or "(RUNPATH)" in line:
            found += line.partition("[")[2].rpartition("]")[0].split(":")
    return found


def check(files, names):
    assert names <= {path.name for path in files}
    for path in files:
        for place in places(path):
            # An empty entry is the current directory, and a relative one is below it.
            assert place.startswith("$ORIGIN/"), f"{path} has '{place}' in its RUNPATH"


def test_what_is_built(build):
    libraries = [*build.glob("libswiftmqtt.so.1.*"), *build.glob("libswiftstomp.so.1.*"), *build.glob("compat/libmosquitto.so.1")]
    check(programs_below(build), {"smq", "publish", "gateway", "bridge", *(path.name for path in libraries)})


@pytest.mark.parametrize("prefix", ["/usr", "/usr/local", "/opt/mqtt"])
def test_what_is_installed(build, tmp_path, prefix):
    make("install", f"PREFIX={prefix}", f"DESTDIR={tmp_path}")
    files = programs_below(tmp_path)
    check(files, {"smq"})
    if prefix == "/usr":
        assert not any(places(path) for path in files)


def test_another_folder_for_libraries(build, tmp_path):
    """One whose name is longer than what was built has room for, if anything is."""
    directory = tmp_path / "build"
    run("cmake", "-S", ROOT, "-B", directory, "-G", "Ninja", "-DCMAKE_INSTALL_LIBDIR=lib/a-folder/of-its-own")
    text = (directory / "build.ninja").read_text()
    assert "a-folder" in text and ":::" not in text
