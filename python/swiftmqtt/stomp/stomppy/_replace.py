"""Takes the place of stomp.py for programs whose imports cannot be changed."""

from __future__ import annotations

import importlib
import sys

MODULES = ("connect", "exception", "listener", "utils")


def replace_stomp() -> None:
    """Makes ``import stomp`` find this package, in this process. Call it before anything imports that."""
    sys.modules["stomp"] = importlib.import_module(__package__)
    for name in MODULES:
        sys.modules[f"stomp.{name}"] = importlib.import_module(f"{__package__}.{name}")
