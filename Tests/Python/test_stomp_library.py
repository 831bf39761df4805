"""Finding libswiftstomp, and that the package is what its header says."""

from __future__ import annotations

import ctypes
import pydoc
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from swiftmqtt import stomp
from swiftmqtt.stomp import _abi, _option_texts, _options, aio, constants

from . import pythons
from .conftest import LIBRARY, PACKAGE, ROOT

HEADER = (ROOT / "include/swiftstomp.h").read_text()
STOMP_LIBRARY = LIBRARY.with_name("libswiftstomp.so.1")
# What the package has no use for: it finds headers itself, and has no transport of the program's. Threads of Python submit
# by call_soon_threadsafe(), and are no runner's.
UNUSED = {"sst_header_find", "sst_describe_event", "sst_tls_cause_name", "sst_submit", "sst_runner_start", "sst_runner_stop",
          "sst_set_log", "sst_set_tap", "sst_log_name", "sst_tls_describe", "sst_tls_describe_certificate"}
UNUSED_STRUCTS = {"sst_runner", "sst_runner_options", "sst_observed"}
UNUSED_OPTIONS = {"submit_frames", "submit_bytes"}


def run(code: str, environment: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**environment, **more}, capture_output=True, text=True, timeout=30
    )


def complaint(environment: dict[str, str], library: str) -> str:
    """The last line of an import that fails."""
    done = run("import swiftmqtt.stomp", environment, SWIFTSTOMP_LIBRARY=library)
    assert done.returncode == 1, done
    return done.stderr.splitlines()[-1]


def made(directory: Path, code: str) -> str:
    """A library of C."""
    source, library = directory / "made.c", directory / "made.so"
    source.write_text(code)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=30)
    return str(library)


def test_there_is_no_library(environment, tmp_path):
    said = complaint(environment, str(tmp_path / "nowhere.so"))
    assert said.startswith("ImportError: swiftmqtt.stomp needs libswiftstomp.so.1, which was not found")
    assert "nowhere.so" in said and "SWIFTSTOMP_LIBRARY" in said


def test_swiftmqtt_alone_does_not_need_it(environment, tmp_path):
    done = run("import swiftmqtt, swiftmqtt.aio", environment, SWIFTSTOMP_LIBRARY=str(tmp_path / "nowhere.so"))
    assert done.returncode == 0, done.stderr


def test_it_is_another_library(environment):
    assert "is not libswiftstomp" in complaint(environment, str(LIBRARY))


def test_it_is_too_new_or_too_old(environment, tmp_path):
    new = made(tmp_path, "unsigned sst_version(void) { return 2 << 16; }")
    assert "is version 2.0.0 of libswiftstomp: this package needs 1" in complaint(environment, new)
    old = made(tmp_path, "unsigned sst_version(void) { return 1 << 16; }")
    assert "is too old a libswiftstomp: it has no sst_" in complaint(environment, old)


def test_it_is_beside_the_package(environment, tmp_path):
    environment.pop("SWIFTSTOMP_LIBRARY", None)
    environment.pop("SWIFTMQTT_LIBRARY")
    shutil.copytree(PACKAGE / "swiftmqtt", tmp_path / "swiftmqtt")
    for library in (LIBRARY, STOMP_LIBRARY):
        shutil.copy(library, tmp_path / "swiftmqtt" / library.name)
    done = run("import swiftmqtt.stomp._library as l; print(l.LIBRARY._name)", environment, PYTHONPATH=str(tmp_path))
    assert done.stdout.strip() == str(tmp_path / "swiftmqtt/libswiftstomp.so.1"), done.stderr


def test_every_struct_is_laid_out_as_in_c(tmp_path):
    assert _abi.ORDER == re.findall(r"^} (sst_\w+);", HEADER, re.M)
    assert [name for name in _abi.ORDER if name not in UNUSED_STRUCTS] == list(_abi.STRUCTS)
    ours, lines = [], []
    for name, struct in _abi.STRUCTS.items():
        ours.append((0, ctypes.sizeof(struct)))
        lines.append(f"{{0, sizeof({name})}}")
        for field, *_ in struct._fields_:
            at = getattr(struct, field)
            ours.append((at.offset, at.size))
            lines.append(f"{{offsetof({name}, {field}), sizeof((({name} *)0)->{field})}}")
    code = "#include <swiftstomp.h>\n#include <stdio.h>\nint main(void) { size_t all[][2] = {" + ",\n".join(lines)
    code += '};\nfor (size_t i = 0; i < sizeof all / sizeof *all; i++) printf("%zu %zu\\n", all[i][0], all[i][1]); }\n'
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text(code)
    subprocess.run(["gcc", f"-I{ROOT / 'include'}", "-o", program, source], check=True, timeout=60)
    told = subprocess.run([program], capture_output=True, text=True, check=True, timeout=20).stdout
    assert [tuple(map(int, line.split())) for line in told.splitlines()] == ours


def test_every_function_is_declared():
    declared = set(re.findall(r"^SST_API [\w ]+[ *](sst_\w+)\(", HEADER, re.M))
    engine = {name for name in declared if name.startswith("sst_engine_")}
    assert declared - engine - UNUSED == set(_abi.FUNCTIONS)


ENUMS = {
    "SST_ERR": (stomp.Status, {"OK"}),
    "SST_STAGE": (stomp.Stage, set()),
    "SST_RULE": (stomp.Rule, set()),
    "SST_STATE": (stomp.State, set()),
    "SST_JITTER": (stomp.Jitter, set()),
    "SST_OPTION": (constants.OptionFlag, set()),
    "SST_SEND": (constants.SendFlag, set()),
    "SST_ACK": (stomp.Ack, set()),
    "SST_EVENT": (constants.EventType, set()),
    "SST_COMPLETED": (stomp.Completes, set()),
    "SST_PART": (stomp.Part, {"MIDDLE"}),
}


@pytest.mark.parametrize("prefix", ENUMS)
def test_every_number_has_its_name(prefix):
    names, own = ENUMS[prefix]
    told = {name: int(value) for name, value in re.findall(rf"^ +{prefix}_(\w+) = (-?\d+)", HEADER, re.M)}
    assert {name: int(value) for name, value in names.__members__.items() if name not in own} == told


def test_versions():
    told = {name: int(value) for name, value in re.findall(r"^ +SST_(STOMP_\w+) = (\d+)", HEADER, re.M)}
    assert {name: int(value) for name, value in stomp.Version.__members__.items()} == told
    assert constants.OFF == 0xFFFFFFFF and stomp.library_version() == (1, 0, 0)
    assert stomp.status_name(-201) == "SST_ERR_FULL" and stomp.stage_name(7) == "receipt"
    assert stomp.status_text(-401) == "the host name has no address" and stomp.rule_name(4) == "headers are UTF-8"


# ---- Options

STRUCT = re.search(r"typedef struct sst_options \{(.*?)\n\} sst_options;", HEADER, re.S)[1]
RANGE = re.compile(r"(\d(?:[\d,]*\d)?) to (\d(?:[\d,]*\d)?)")
NUMBERS = [name for name in _options.NUMBERS if name not in ("oldest", "newest")]


def told_by_the_header(name: str) -> str:
    """The comment of a field, in one line."""
    found = re.search(rf"uint32_t\s+{name}; */\*(.*?)\*/", STRUCT, re.S)
    return " ".join(re.sub(r"\n\s*\*", " ", found[1]).split())


def build(name: str, value: int) -> None:
    url = None if name == "port" else "ws://a" if name.startswith("websocket") else "stomp://a"
    more = {"host": "a"} if name == "port" else {"ask_credentials": True} if name == "credential_bytes" else {}
    if name.startswith("journal"):
        more = {"journal": "/nonexistent/journal"}
    _options.build(url, 0, {**more, name: value}, None)


def test_every_option_is_there_once_in_its_type():
    assert sorted(_option_texts.OPTIONS) == sorted(stomp.Options.__annotations__)
    assert sum(map(len, _option_texts.GROUPS.values())) == len(_option_texts.OPTIONS)
    fields = {name for name, *_ in _abi.Options._fields_} - {"size", "flags", "url", "tls", "tls_settings"}
    assert fields - UNUSED_OPTIONS == set(_option_texts.OPTIONS) - set(_options.FLAGS)


@pytest.mark.parametrize("cls", [stomp.Client, aio.Client], ids=["client", "aio"])
def test_help_lists_every_option(cls):
    lines = [line.strip(" |") for line in pydoc.plain(pydoc.render_doc(cls)).splitlines()]
    for name, (kind, extent, default, meaning) in _option_texts.OPTIONS.items():
        (line,) = [line for line in lines if line.startswith(f"{name} (")]
        assert all(part in line for part in (kind, extent, default)), name
        assert meaning in " ".join(lines), name


@pytest.mark.parametrize("name", NUMBERS)
def test_a_range_and_a_default_are_those_of_the_header(name):
    _, extent, default, _ = _option_texts.OPTIONS[name]
    told = told_by_the_header(name)
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
        with pytest.raises(stomp.ArgumentError, match=rf"{name}={wrong} is out of its range"):
            build(name, wrong)


@pytest.mark.parametrize("version", pythons.found())
def test_each_version_of_python(version, coilmq, level, environment):
    core = Path(__file__).with_name("stomp_core.py")
    command = [pythons.found()[version], "-W", "error", core, coilmq.url, coilmq.virtual_host, f"/queue/{level}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"all well with {version}\n", "")
