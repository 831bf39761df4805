"""Without libmosquitto there is nothing to compare."""

from __future__ import annotations

import ctypes
import os

import pytest

try:
    ctypes.CDLL("libmosquitto.so.1")
except OSError:
    if os.environ.get("CI"):
        raise
    pytest.skip("libmosquitto is missing: .ci/need interop installs it", allow_module_level=True)
