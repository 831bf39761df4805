"""make deb-test: the packages as whoever gets them uses them. Those for this machine are installed with apt in a fresh
Debian, used as README.md says, and removed; those for other processors are linked with and run under qemu-user.

pytest takes this file only when it is named: it needs root, Debian's mirror, and minutes. SMQ_DEBS=build/deb takes the
packages that make deb has left there."""

import os
import re
import shutil
import subprocess

import lists
import pytest
from conftest import BOTH, ROOT, built_elsewhere, debian_packages, run

MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
# What README.md takes for granted, and what the packages depend on: all that is not ours.
BEFORE = ["gcc", "libc6-dev", "pkg-config", "python3", "mosquitto", "mosquitto-clients"]
# These may differ afterwards: what apt, dpkg and the processes keep for themselves.
NOT_OURS = re.compile(r"(proc|sys|dev|run|tmp|debs|var/(lib/(apt|dpkg)|log|cache|tmp))(/|$)")
# A private view of mounts, processes and network: nothing of it is left when the command ends.
INSIDE = """
ip link set lo up
mount -t proc proc "$0/proc"
exec chroot "$0" sh -c 'cd /tmp && exec sh -eu -c "$1"' sh "$1"
"""
DROP_IN = """
int mosquitto_lib_version(int *major, int *minor, int *revision);
int main(void) {
    int major, minor, revision;
    mosquitto_lib_version(&major, &minor, &revision);
    return major != 2;
}
"""
CROSS = {target.debian: target for target in lists.CROSS.values()}


@pytest.fixture(scope="module")
def debs(tmp_path_factory):
    return debian_packages(tmp_path_factory)


# ---- Other processors


@pytest.mark.parametrize("architecture", CROSS)
def test_other_processors(debs, tmp_path, architecture):
    target = CROSS[architecture]
    changes, = debs.glob(f"*_{architecture}.changes")
    run("lintian", "--allow-root", "--display-info", "--fail-on", "error,warning,info", changes)
    for package in ("libswiftmqtt1", "libswiftmqtt-dev", "libswiftstomp1", "libswiftstomp-dev", "libswiftmqtt-mosquitto",
                    "swiftmqtt-tools", "swiftstomp-tools"):
        run("dpkg-deb", "-x", next(debs.glob(f"{package}_*_{architecture}.deb")), tmp_path)
    (tmp_path / "app.c").write_text(BOTH)
    library = tmp_path / "usr" / "lib" / target.tools
    run(target.compiler, tmp_path / "app.c", f"-I{tmp_path}/usr/include", f"-L{library}", "-lswiftmqtt", "-lswiftstomp",
        f"-Wl,-rpath,{library}", "-o", tmp_path / "shared")
    run(target.compiler, tmp_path / "app.c", f"-I{tmp_path}/usr/include", library / "libswiftmqtt.a", library / "libswiftstomp.a", "-o",
        tmp_path / "static")
    drop_in = library / "swiftmqtt"
    (tmp_path / "drop_in.c").write_text(DROP_IN)
    run(target.compiler, tmp_path / "drop_in.c", drop_in / "libmosquitto.so.1", f"-Wl,-rpath,{drop_in}", "-o",
        tmp_path / "drop_in")
    for program in ("shared", "static", "drop_in"):
        run(*target.emulator, tmp_path / program)
    run(target.qemu, "-E", f"LD_LIBRARY_PATH={library}", "-L", target.root, tmp_path / "usr/bin/smq", "--version")


@pytest.mark.parametrize("architecture", CROSS)
def test_other_processors_have_the_same_bytes_wherever_it_is_built(debs, tmp_path, architecture):
    assert not built_elsewhere(debs, architecture, tmp_path)


# ---- A fresh Debian


class Debian:
    def __init__(self, directory):
        self.directory = directory

    def remove(self):
        run("rm", "-rf", "--one-file-system", self.directory)

    def bootstrap(self):
        self.remove()
        self.directory.parent.mkdir(exist_ok=True)
        run("debootstrap", "--variant=minbase", "bookworm", self.directory, MIRROR, timeout=1200)
        # Debian's installer writes it.
        (self.directory / "etc/hosts").write_text("127.0.0.1 localhost\n")
        # Nothing is started only because it is installed.
        (self.directory / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (self.directory / "usr/sbin/policy-rc.d").chmod(0o755)

    def apt(self, *arguments):
        """With the network of the machine, and nothing else of it."""
        return run("chroot", self.directory, "apt-get", "-q", "-y", "--no-install-recommends", *arguments, timeout=1200,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})

    def shell(self, script):
        """A shell in it, alone with its own loopback and a minute of time: what it starts ends with it."""
        return run("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-eu", "-c", INSIDE,
                   self.directory, script, timeout=60,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"})

    def files(self):
        listed = subprocess.run(["find", ".", "-xdev", "-printf", "%P\\n"], cwd=self.directory, capture_output=True,
                                text=True, check=True).stdout.split("\n")
        return {name for name in listed if name and not NOT_OURS.match(name)}


@pytest.fixture(scope="module")
def fresh():
    if os.geteuid() != 0:
        pytest.fail("a Debian root can only be made by root")
    debian = Debian(ROOT / "build" / "debian-root")
    debian.bootstrap()
    debian.apt("update")
    debian.apt("install", *BEFORE)
    yield debian
    debian.remove()


@pytest.fixture(scope="module")
def before(fresh):
    return fresh.files()


@pytest.fixture(scope="module")
def debian(fresh, before, debs):
    """With our packages, as a file on a disk."""
    shutil.rmtree(fresh.directory / "debs", ignore_errors=True)
    (fresh.directory / "debs").mkdir()
    architecture = run("dpkg", "--print-architecture").strip()
    for path in debs.glob("*.deb"):
        if re.search(rf"_({architecture}|all)\.deb$", path.name) and "-dbgsym_" not in path.name:
            shutil.copy(path, fresh.directory / "debs")
    names = [f"/debs/{path.name}" for path in sorted((fresh.directory / "debs").iterdir())]
    fresh.apt("install", *names)
    # README.md's programs, as they stand there.
    for name, language in (("app.c", "c"), ("app.py", "python")):
        program, = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
        (fresh.directory / "tmp" / name).write_text(program)
    return fresh


# A server where README.md's program expects it, and what arrives there, in a file.
SERVER = """
mosquitto -v >mosquitto.log 2>&1 &
until mosquitto_pub -t hello -n 2>/dev/null; do kill -0 $!; sleep 0.1; done
mosquitto_sub -t gateway/temperature -C 1 -W 20 -v >arrived &
sub=$!
until grep -q 'Sending SUBACK' mosquitto.log; do kill -0 $sub; sleep 0.1; done
"""


@pytest.mark.parametrize("compile_it", [
    "cc app.c $(pkg-config --cflags --libs swiftmqtt) -o app",
    "cc -static app.c $(pkg-config --static --cflags --libs swiftmqtt) -o app 2>link.log"], ids=["shared", "static"])
def test_readme(debian, compile_it):
    said = debian.shell(f"{compile_it}\n{SERVER}\n./app\nwait $sub\ncat arrived")
    assert "SMQ_OK" in said and said.endswith("gateway/temperature 21.5\n")


def test_readme_in_python(debian):
    assert debian.shell(f"{SERVER}\npython3 app.py").endswith("gateway/greenhouse 21.5\n")


def test_readme_in_the_shell(debian):
    commands, = re.findall(r"^## In the shell\n\n```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    said = debian.shell(f"{SERVER}\n{commands}\nwait $sub\ncat arrived")
    assert said.count("gateway/temperature 21.5\n") == 2


def test_smq_has_its_manual_and_its_completion(debian):
    assert set(debian.shell("ls /usr/share/man/man1").split()) >= {"smq.1.gz", "smq-pub.1.gz", "smq-sub.1.gz"}
    assert set(debian.shell("ls /usr/share/man/man3").split()) >= {"swiftmqtt.3.gz", "smq_publish.3.gz", "smq_tls_open.3.gz"}
    script = "bash -c '. /usr/share/bash-completion/completions/smq; complete -p smq'"
    assert debian.shell(script) == "complete -F _smq smq\n"


def test_without_a_server_it_says_so(debian):
    said = debian.shell("cc app.c $(pkg-config --cflags --libs swiftmqtt) -o app\n! ./app")
    assert "SMQ_ERR_NETWORK" in said


def test_each_example_compiles(debian):
    debian.shell("cp -r /usr/share/doc/libswiftmqtt-dev/examples .\ncd examples\n"
                 "for file in *.c; do cc -Wall -Werror $file $(pkg-config --cflags --libs swiftmqtt) -pthread; done")
    debian.shell("cp -r /usr/share/doc/libswiftstomp-dev/examples stomp\ncd stomp\n"
                 "for file in *.c; do cc -Wall -Werror $file $(pkg-config --cflags --libs swiftstomp swiftmqtt) -pthread; done\n"
                 "cc -Wall -Werror locations/locationd.c $(pkg-config --cflags --libs swiftstomp) -lm")


def test_drop_in_is_used_only_when_it_is_asked_for(debian):
    said = debian.shell("ldd /usr/bin/mosquitto_pub\necho ==\n"
                        "LD_LIBRARY_PATH=$(dirname /usr/lib/*/swiftmqtt/libmosquitto.so.1) ldd /usr/bin/mosquitto_pub")
    usual, asked = said.split("==")
    assert "/swiftmqtt/" not in usual and "/swiftmqtt/libmosquitto.so.1" in asked
    said = debian.shell(f"{SERVER}\nexport LD_LIBRARY_PATH=$(dirname /usr/lib/*/swiftmqtt/libmosquitto.so.1)\n"
                        "mosquitto_pub -t gateway/temperature -m drop-in -q 1\nwait $sub\ncat arrived")
    assert said.endswith("gateway/temperature drop-in\n")


# The last one: afterwards they are gone.
def test_purged_they_leave_nothing(debian, before):
    names = debian.shell("dpkg-query -W -f '${Package} ${Source}\\n' | sed -n 's/ libswiftmqtt$//p; /libswiftmqtt/p' "
                         "| cut -d ' ' -f 1 | sort -u").split()
    assert "libswiftmqtt1" in names and "libswiftmqtt-dev" in names
    debian.apt("purge", *names)
    assert sorted(debian.files() ^ before) == []
