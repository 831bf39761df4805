"""The list of modules (cmake/modules.txt) and the list of targets (cmake/targets), for tests and scripts."""

import os
import platform
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "Sources"


# ---- Modules


@dataclass
class Module:
    name: str
    kind: str
    imports: list

    @property
    def folder(self):
        return SOURCES / self.name

    @property
    def include(self):
        """Where the header of a C module is."""
        return self.folder / "include"

    def files(self, suffix):
        return sorted(self.folder.rglob(f"*.{suffix}"))


def read_modules(text):
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {name: Module(name, kind, imports) for name, kind, *imports in rows}


MODULES = read_modules((ROOT / "cmake" / "modules.txt").read_text(encoding="utf-8"))


def of_kind(*kinds):
    """The names of the modules of these kinds, from the ground up."""
    return [module.name for module in MODULES.values() if module.kind in kinds]


CORE = of_kind("core")
(LIBRARY,) = of_kind("library")
(STOMP,) = of_kind("stomp")
(DROP_IN,) = of_kind("drop-in")
PROGRAMS = of_kind("program")


def seen_by(*names):
    """These, what they import, and what that imports, from the ground up."""
    seen = set(names)
    for module in reversed(MODULES.values()):
        if module.name in seen:
            seen.update(module.imports)
    return [MODULES[name] for name in MODULES if name in seen]


def includes(*names):
    """The folders with the C headers that the compiler reads for these modules."""
    return [module.include for module in seen_by(*names) if module.kind == "c"]


def c_files(*names):
    """The C that is linked with these modules."""
    return [file for module in seen_by(*names) if module.kind == "c" for file in module.files("c")]


def swift_flags():
    """How the modules of the core, the library and the drop-in are compiled, but for the processor."""
    lines = (ROOT / "cmake" / "swift-flags.txt").read_text(encoding="utf-8").splitlines()
    return shlex.split(" ".join(line for line in lines if line.startswith("-")))


# ---- Targets


class Target:
    """A processor: its values are attributes, empty if the file says nothing."""

    def __init__(self, path):
        lines = path.read_text(encoding="utf-8").splitlines()
        self.values = dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))
        self.name = path.name

    def __getattr__(self, key):
        if key.startswith("_"):
            raise AttributeError(key)
        return self.values.get(key, "").strip()

    @property
    def compiler(self):
        return f"{self.tools}-gcc"

    @property
    def root(self):
        """Where Debian has the target's libc."""
        return f"/usr/{self.tools}"

    @property
    def emulator(self):
        return [self.qemu, "-L", self.root]


ALL = {path.name: Target(path) for path in sorted((ROOT / "cmake" / "targets").iterdir())}
# Those that are built with a cross compiler: what Swift is told there is known.
CROSS = {name: target for name, target in ALL.items() if target.swift}
NATIVE_SWIFT = ["-target", f"{platform.machine()}-unknown-linux-gnu"]


def this_machine():
    return next(target for target in ALL.values() if re.search(target.called, platform.machine()))


def chosen():
    """The target of SMQ_TARGET; None: this machine."""
    name = os.environ.get("SMQ_TARGET", "")
    return CROSS[name] if name not in ("", "native") else None


def chosen_build():
    """The build that is tested: SMQ_BUILD_DIR, or that of the target."""
    target = chosen()
    return ROOT / os.environ.get("SMQ_BUILD_DIR", f"build/{target.name if target else 'native'}")


# ---- Features, and profiles of the library


def read_features(text):
    return dict(line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#"))


# What can be left out, and what a build without it refuses.
FEATURES = read_features((ROOT / "cmake" / "features.txt").read_text(encoding="utf-8"))


def link_smallest(compiler, build, program):
    """Links the smallest client with the libswiftmqtt.a of a build: what it does not need is dropped."""
    subprocess.run([compiler, "-Os", "-std=c11", "-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-I", ROOT / "include",
                    ROOT / "Tests" / "Small" / "client.c", build / "libswiftmqtt.a", "-Wl,--gc-sections,--as-needed", "-pthread",
                    "-o", program], check=True)
