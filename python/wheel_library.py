"""Puts libraries into a wheel, beside the package.

SWIFTMQTT_WHEEL_LIBRARIES names a folder that holds them and nothing else, SWIFTMQTT_WHEEL_PLATFORM the platform
they are for, such as manylinux_2_34_x86_64. Without the two the wheel has no library and serves every platform."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WithLibrary(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("SWIFTMQTT_WHEEL_LIBRARIES")
        if self.target_name != "wheel" or not folder:
            return
        for name in sorted(os.listdir(folder)):
            build_data["force_include"][os.path.join(folder, name)] = f"swiftmqtt/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['SWIFTMQTT_WHEEL_PLATFORM']}"
