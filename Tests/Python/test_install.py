"""The package where there is nothing but Python: from a wheel with the library, and from one without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from . import pythons
from .conftest import PACKAGE, ROOT, TLS_LIBRARY
from .test_wheels import packed


def bare(**more: str) -> dict[str, str]:
    """The environment of who has not built anything."""
    left = ("SWIFTMQTT_LIBRARY", "SWIFTSTOMP_LIBRARY", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in left}
    return {**kept, "PATH": "/nowhere", **more}


def test_it_works_where_there_is_nothing_but_python(with_pip, server, level, tmp_path):
    wheel = packed(ROOT, tmp_path / "wheel", "native")
    python = pythons.installed(wheel, tmp_path / "venv")
    command = [python, Path(__file__).with_name("core.py"), server.url, level]
    done = subprocess.run(command, env=bare(), cwd=tmp_path, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0 and done.stdout.startswith("all well"), done.stdout + done.stderr
    code = "import swiftmqtt, swiftmqtt._library as l; print(swiftmqtt.__file__, l.LIBRARY._name)"
    done = subprocess.run([python, "-c", code], env=bare(), cwd=tmp_path, capture_output=True, text=True, timeout=30)
    module, library = done.stdout.split()
    assert Path(library) == Path(module).with_name("libswiftmqtt.so.1") and str(tmp_path) in module
    code = "import swiftmqtt.stomp, swiftmqtt.stomp._library as l; print(l.LIBRARY._name)"
    done = subprocess.run([python, "-c", code], env=bare(), cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == str(Path(module).with_name("libswiftstomp.so.1")), done.stderr
    if TLS_LIBRARY.exists():
        code = "import swiftmqtt, swiftmqtt._tls_library as l; print(swiftmqtt.TLS()); print(l.load()._name)"
        done = subprocess.run([python, "-c", code], env=bare(), cwd=tmp_path, capture_output=True, text=True, timeout=30)
        assert done.stdout.splitlines()[1:] == [str(Path(module).with_name("libswiftmqtt-tls.so.1"))], done.stderr


def test_without_a_library_it_takes_the_systems(with_pip, tmp_path):
    """`pip install ./python`, but for where pip gets the backend from."""
    backend = next(
        python
        for python in (sys.executable, "/usr/bin/python3")
        if subprocess.run([python, "-c", "import hatchling"], capture_output=True).returncode == 0
    )
    command = [backend, "-m", "hatchling", "build", "-d", tmp_path / "built"]
    subprocess.run(command, cwd=PACKAGE, check=True, capture_output=True, timeout=50)
    assert (tmp_path / "built/swiftmqtt-1.0.0.tar.gz").exists()
    python = pythons.installed(tmp_path / "built/swiftmqtt-1.0.0-py3-none-any.whl", tmp_path / "venv")
    command = [python, "-c", "import swiftmqtt; print(swiftmqtt.library_version())"]
    library = ROOT / "build/native/libswiftmqtt.so.1"
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 30}
    done = subprocess.run(command, env=bare(LD_LIBRARY_PATH=str(library.parent)), **options)
    assert done.stdout == "(1, 0, 0)\n", done.stderr
    done = subprocess.run(command, env=bare(SWIFTMQTT_LIBRARY="/nowhere.so"), **options)
    told = done.stderr.splitlines()[-1]
    assert told.startswith("ImportError: swiftmqtt needs libswiftmqtt.so.1, which was not found")
