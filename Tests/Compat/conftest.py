"""The drop-in for libmosquitto next to libmosquitto itself, so that the same calls can be made on both."""

from __future__ import annotations

import ctypes
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXTS = ("strerror", "connack_string", "reason_string", "property_identifier_to_string")


def load(path: pathlib.Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path), use_errno=True)
    for name in TEXTS:
        getattr(library, f"mosquitto_{name}").restype = ctypes.c_char_p
    return library


def installed() -> pathlib.Path | None:
    """libmosquitto of this machine, if it is one that can be loaded here."""
    for path in sorted(pathlib.Path("/usr/lib").glob("*/libmosquitto.so.1")):
        try:
            ctypes.CDLL(str(path))
        except OSError:
            continue
        return path
    return None


@pytest.fixture(scope="session")
def real_path() -> pathlib.Path:
    path = installed()
    if path is None:
        pytest.skip("libmosquitto is not installed (libmosquitto1)")
    return path


@pytest.fixture(scope="session")
def our_path() -> pathlib.Path:
    path = ROOT / os.environ.get("SMQ_BUILD_DIR", "build/native") / "compat" / "libmosquitto.so.1"
    if not path.exists():
        pytest.fail(f"{path} is not there: run make compat")
    return path


@pytest.fixture(scope="session")
def real(real_path: pathlib.Path) -> ctypes.CDLL:
    return load(real_path)


@pytest.fixture(scope="session")
def ours(our_path: pathlib.Path) -> ctypes.CDLL:
    return load(our_path)
