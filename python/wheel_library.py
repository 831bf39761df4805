"""Puts the library into a wheel, beside the package: with SWIFTMQTT_WHEEL_LIBRARY, its path, and
SWIFTMQTT_WHEEL_PLATFORM, the platform it is for, such as manylinux_2_34_x86_64. Without them the wheel is for every
platform, and has none."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WithLibrary(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        library = os.environ.get("SWIFTMQTT_WHEEL_LIBRARY")
        if self.target_name != "wheel" or not library:
            return
        build_data["force_include"][library] = "swiftmqtt/libswiftmqtt.so.1"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['SWIFTMQTT_WHEEL_PLATFORM']}"
