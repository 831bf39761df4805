"""help() and the book have every option, with the range that the library checks and the default that counts."""

from __future__ import annotations

import os
import pydoc
import re
import subprocess
import sys

import pytest
import swiftmqtt
import swiftmqtt.aio
from swiftmqtt import _abi, _options, _option_texts
from swiftmqtt.errors import ArgumentError
from swiftmqtt.payload import Adapters

from .conftest import ROOT

HEADER = (ROOT / "include" / "swiftmqtt.h").read_text()
STRUCT = re.search(r"typedef struct smq_options \{(.*?)\n\} smq_options;", HEADER, re.S)[1]
UNUSED = ("handlers", "handler_bytes")  # the package has no use for them
NUMBERS = [name for name in ("port", *_abi.OPTION_NUMBERS, *_options.BELOW_NUMBERS) if name not in UNUSED]
RANGE = re.compile(r"(\d(?:[\d,]*\d)?) to (\d(?:[\d,]*\d)?)")
# What an option needs beside it to be accepted.
BESIDE = {
    "journal": {"keep_session": True, "client_id": "a", "journal": "/nonexistent/journal"},
    "websocket": {}, "trace_packet": {"trace_bytes": 4096}, "inspect_bytes": {"inspect": "/nonexistent/socket"}, "port": {"host": "127.0.0.1"}, "reconnect": {},
}


def told_by_the_header(name: str) -> str:
    """The comment of a field, in one line."""
    found = re.search(rf"uint32_t\s+{name}; */\*(.*?)\*/", STRUCT, re.S) or re.search(rf"/\*((?:(?!\*/).)*)\*/\s*uint32_t\s+{name};", STRUCT, re.S)
    return " ".join(re.sub(r"\n\s*\*", " ", found[1]).split())


def build(name: str, value: int) -> None:
    beside = next((more for start, more in BESIDE.items() if name.startswith(start)), {})
    flags = swiftmqtt.constants.OptionFlag.ASK_CREDENTIALS if name == "credential_bytes" else 0
    url = None if "host" in beside else "ws://127.0.0.1" if name.startswith("websocket") else "mqtt://127.0.0.1"
    _options.build(url, flags, Adapters(), {**beside, name: value})


def test_every_option_is_there_once_in_its_type():
    assert sorted(_option_texts.OPTIONS) == sorted(swiftmqtt.Options.__annotations__)
    assert sum(map(len, _option_texts.GROUPS.values())) == len(_option_texts.OPTIONS)
    for name, (kind, _, default, meaning) in _option_texts.OPTIONS.items():
        annotation = swiftmqtt.Options.__annotations__[name]
        annotation = getattr(annotation, "__forward_arg__", annotation)
        assert kind in ("swiftmqtt.Will", "pairs of str") or annotation.split(" | ")[0] == kind.split(" or ")[0], name
        assert meaning and (kind != "bool" or default.startswith(("True", "False"))), name


@pytest.mark.parametrize("cls", [swiftmqtt.Client, swiftmqtt.aio.Client], ids=["client", "aio"])
def test_help_lists_every_option(cls):
    told = pydoc.plain(pydoc.render_doc(cls))
    lines = [line.strip(" |") for line in told.splitlines()]
    for name, (kind, extent, default, meaning) in _option_texts.OPTIONS.items():
        line, = [line for line in lines if line.startswith(f"{name} (")]
        assert all(part in line for part in (kind, extent, default)), name
        assert meaning in " ".join(lines), name
    assert max(map(len, _option_texts.text().splitlines())) <= 120


@pytest.mark.parametrize("name", NUMBERS)
def test_a_range_and_a_default_are_those_of_the_header(name):
    _, extent, default, _ = _option_texts.OPTIONS[name]
    told = told_by_the_header(name)
    if name not in ("websocket_request_bytes", "session_expiry_s"):  # the header gives these no range with two ends
        found = RANGE.search(told)
        assert (found and found[0]) == (RANGE.search(extent) and RANGE.search(extent)[0])
    if name in _options.DEFAULTS:
        assert default == f"{_options.DEFAULTS[name]:,}"
    elif (number := re.fullmatch(r"[\d,]+", default)) and (stated := re.search(r"(?<![\d,])0: ([\d,]*\d)", told)):
        assert number[0] == stated[1]


@pytest.mark.parametrize("name", [name for name in NUMBERS if RANGE.fullmatch(_option_texts.OPTIONS[name][1])])
def test_the_library_checks_this_range(name):
    low, high = (int(number.replace(",", "")) for number in RANGE.fullmatch(_option_texts.OPTIONS[name][1]).groups())
    build(name, low if name != "journal_bytes" else 1 << 24)  # it has to be what the other options need
    for wrong in (high + 1, *([low - 1] if low > 1 else [])):
        with pytest.raises(ArgumentError):
            build(name, wrong)


@pytest.mark.parametrize("page, arguments", [("python-options.md", []), ("python-options-stomp.md", ["stomp"])])
def test_the_page_of_the_book_is_up_to_date(page, arguments):
    command = [sys.executable, ROOT / "docs" / "python-options-page", *arguments]
    made = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    assert made.stdout == (ROOT / "docs" / page).read_text(), "make manual writes it anew"


def test_without_docstrings_there_are_none():
    code = "import swiftmqtt; assert swiftmqtt.Client.__doc__ is None"
    subprocess.run([sys.executable, "-OO", "-c", code], check=True, timeout=20, env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin",
                   "SWIFTMQTT_LIBRARY": os.environ["SWIFTMQTT_LIBRARY"]})
