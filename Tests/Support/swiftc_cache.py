#!/usr/bin/env python3
"""swiftc_cache.py SWIFTC CACHE ARGUMENT…: runs SWIFTC with these arguments, or gives what it made for the same before.

The tests build the library many times: as a Debian package, by the recipes of other distributions, from another
project. Each time the same sources are compiled with the same flags in another directory. An entry's key is all that
the compiler sees: its own identity, the flags, the content of the sources, headers and modules, but no directory's
name. Kept is only what compiles to one file without a warning; so it does not matter either whether warnings were
errors.

A test that compares two compilations has to call the compiler itself: uncached_path() is a PATH for it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

KEPT_BYTES = 500_000_000  # of what was used last; all that the tests compile of one tree is a tenth of that
OUTPUTS = {"-o": {"-c", "-S"}, "-emit-module-path": {"-emit-module"}}  # what the option of each goes with
SEEN = {".h", ".modulemap", ".swiftmodule"}  # what the compiler reads below a folder of -I


class NotKept(Exception):
    """This call is one for the compiler alone."""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Cache:
    def __init__(self, directory: Path):
        self.directory = directory
        (directory / "keys").mkdir(parents=True, exist_ok=True)

    def identity(self, file: Path) -> str:
        """A file's content. A module has the names of its sources' directories within: that of one that was made here
        is its key."""
        content = digest(file.read_bytes())
        with contextlib.suppress(FileNotFoundError):
            return (self.directory / "keys" / content).read_text()
        return content

    @contextlib.contextmanager
    def locked(self, key: str) -> Iterator[Path]:
        """The entry's path. Who wants it while another makes it waits for that."""
        with (self.directory / f"{key}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.directory / key

    def keep(self, output: Path, entry: Path) -> None:
        made = entry.with_suffix(f".{os.getpid()}")
        shutil.copyfile(output, made)
        made.rename(entry)
        (self.directory / "keys" / digest(output.read_bytes())).write_text(entry.name)

    def forget_the_old(self) -> None:
        size = 0
        files = (path for path in self.directory.rglob("*") if path.is_file() and path.parent.name != "bin")
        entries = {path: path.stat() for path in files}
        for path in sorted(entries, key=lambda path: entries[path].st_mtime, reverse=True):
            size += entries[path].st_size
            if size > KEPT_BYTES:
                path.unlink(missing_ok=True)


def key_and_output(compiler: Path, arguments: list[str], cache: Cache) -> tuple[str, Path]:
    described = [str(compiler), str(compiler.stat().st_mtime_ns), str(compiler.stat().st_size)]
    folders: list[dict[str, str]] = []
    output = None
    rest = iter(arguments)
    for argument in rest:
        if argument in OUTPUTS:
            if output is not None or not OUTPUTS[argument].intersection(arguments):
                raise NotKept
            output = Path(next(rest))
            described += [argument, output.suffix]
        elif argument == "-module-cache-path":
            next(rest)
        elif argument == "-warnings-as-errors":
            pass
        elif argument == "-module-name":
            described += [argument, next(rest)]
        elif argument.startswith("-I"):
            folder = Path(argument[2:] or next(rest))
            files = (path for path in folder.rglob("*") if path.suffix in SEEN)
            folders.append({str(path.relative_to(folder)): cache.identity(path) for path in sorted(files)})
        elif argument.endswith(".swift"):
            described += [Path(argument).name, digest(Path(argument).read_bytes())]
        elif os.path.exists(argument):
            raise NotKept
        else:
            described.append(argument)
    # Each folder may have a module map of its own; of others with one name, which is taken depends on the order.
    names = [name for files in folders for name in files if name != "module.modulemap"]
    if output is None or "-wmo" not in arguments or len(names) != len(set(names)):
        raise NotKept
    contents = sorted(sorted(files.items()) for files in folders if files)
    return digest(repr((described, contents)).encode()), output


def main() -> int:
    compiler, directory, *arguments = sys.argv[1:]
    cache = Cache(Path(directory))
    try:
        key, output = key_and_output(Path(compiler), arguments, cache)
    except (NotKept, OSError, StopIteration):
        return subprocess.run([compiler, *arguments]).returncode
    with cache.locked(key) as entry:
        if entry.exists():
            os.utime(entry)
            shutil.copyfile(entry, output)
            return 0
        done = subprocess.run([compiler, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        sys.stderr.buffer.write(done.stdout)
        if done.returncode == 0 and not done.stdout and output.exists():
            cache.keep(output, entry)
        return done.returncode


# ---- For those that run tests


def install(directory: Path) -> Path | None:
    """Lays a swiftc that keeps what it makes into `directory`; returns the folder that belongs in front of the PATH."""
    compiler = shutil.which("swiftc", path=uncached_path())
    if compiler is None:
        return None
    folder = directory / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    Cache(directory).forget_the_old()
    script = folder / f"swiftc.{os.getpid()}"
    command = [sys.executable, str(Path(__file__).resolve()), compiler, str(directory)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    script.chmod(0o755)
    script.rename(folder / "swiftc")
    return folder


def uncached_path() -> str:
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not folder.endswith("/swiftc-cache/bin"))


if __name__ == "__main__":
    sys.exit(main())
