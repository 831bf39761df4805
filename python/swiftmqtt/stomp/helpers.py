"""Names: chapter 1 of include/swiftstomp.h. Any thread may call these at any time."""

from __future__ import annotations

from ._library import LIBRARY
from .constants import Status
from .errors import ArgumentError, text_of


def library_version() -> tuple[int, int, int]:
    """The version of the library."""
    version = LIBRARY.sst_version()
    return version >> 16, version >> 8 & 0xFF, version & 0xFF


def status_name(status: int) -> str:
    """The name of a status, such as "SST_ERR_FULL"."""
    return text_of(LIBRARY.sst_status_name(_number("status", status)))


def status_text(status: int) -> str:
    """What a status means, such as "the host name has no address"."""
    return text_of(LIBRARY.sst_status_text(_number("status", status)))


def stage_name(stage: int) -> str:
    """The name of a stage, such as "receipt"."""
    return text_of(LIBRARY.sst_stage_name(_number("stage", stage)))


def rule_name(rule: int) -> str:
    """What a rule says, such as "headers are UTF-8"."""
    return text_of(LIBRARY.sst_rule_name(_number("rule", rule)))


def _number(name: str, value: int) -> int:
    if isinstance(value, int):
        return value
    raise ArgumentError(Status.OPTION, f"the {name} is a whole number, not {type(value).__name__}")
