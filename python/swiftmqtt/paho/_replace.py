"""Takes the place of paho-mqtt for packages whose imports cannot be changed."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types

MODULES = (
    "client",
    "enums",
    "matcher",
    "packettypes",
    "properties",
    "publish",
    "reasoncodes",
    "subscribe",
    "subscribeoptions",
)


def replace_paho() -> None:
    """Makes ``import paho.mqtt.client`` and similar imports find this package, in this process. Call it
    before anything imports them."""
    top, package = types.ModuleType("paho"), importlib.import_module(__package__)
    # importlib.util.find_spec("paho"), by which packages see whether it is there, asks a module that is loaded for its own.
    top.__spec__ = importlib.machinery.ModuleSpec("paho", None, is_package=True)
    top.__path__ = []
    sys.modules["paho"], sys.modules["paho.mqtt"] = top, package
    top.mqtt = package  # type: ignore[attr-defined]
    for name in MODULES:
        sys.modules[f"paho.mqtt.{name}"] = importlib.import_module(f"{__package__}.{name}")
    sys.modules["paho.mqtt.exception"] = importlib.import_module(f"{__package__}.errors")
