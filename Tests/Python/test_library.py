"""Finding the library, and seeing that it is the right one; that the package is what the header says."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from .conftest import LIBRARY, PACKAGE, ROOT

HEADER = (ROOT / "include/swiftmqtt.h").read_text()
ENGINE_HEADER = (ROOT / "include/swiftmqtt-tls-engine.h").read_text()
TLS_HEADER = (ROOT / "include/swiftmqtt-tls.h").read_text()
# What the package has no use for: it has ways of its own, or no transport of the program's.
UNUSED = {
    "smq_add_observer",
    "smq_remove_observer",
    "smq_handle",
    "smq_next_match",
    "smq_respond",
    "smq_wait",
    "smq_next_event",
    "smq_describe_event",
    "smq_hold",
    "smq_receive_into",
    "smq_publish_reserve",
    "smq_publish_text",
    "smq_subscribe_to",
    "smq_unsubscribe_from",
    "smq_publish_commit",
    "smq_publish_abort",
    "smq_runner_start",
    "smq_runner_stop",
    "smq_group_size",
    "smq_group_init",
    "smq_group_close",
    "smq_group_add",
    "smq_group_remove",
    "smq_group_fd",
    "smq_group_next_timeout_ms",
    "smq_group_wait",
    "smq_group_service",
    "smq_group_next_ready",
    "smq_expand_template",
}


def run(code: str, environment: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**environment, **more}, capture_output=True, text=True, timeout=30
    )


def made(directory: Path, code: str) -> Path:
    """A library of C."""
    source, library = directory / "made.c", directory / "made.so"
    source.write_text(code)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=30)
    return library


def complaint(environment: dict[str, str], **more: str) -> str:
    """The last line of an import that fails."""
    done = run("import swiftmqtt", environment, **more)
    assert done.returncode == 1, done
    return done.stderr.splitlines()[-1]


def test_there_is_no_library(environment, tmp_path):
    said = complaint(environment, SWIFTMQTT_LIBRARY=str(tmp_path / "nowhere.so"))
    assert said.startswith("ImportError: swiftmqtt needs libswiftmqtt.so.1, which was not found")
    assert "nowhere.so" in said and "SWIFTMQTT_LIBRARY" in said


def test_it_is_another_library(environment):
    assert "is not libswiftmqtt" in complaint(environment, SWIFTMQTT_LIBRARY="libc.so.6")


def test_it_is_too_new(environment, tmp_path):
    library = made(tmp_path, "unsigned smq_version(void) { return 2 << 16; }")
    assert "is version 2.0.0 of libswiftmqtt: this package needs 1" in complaint(
        environment, SWIFTMQTT_LIBRARY=str(library)
    )


def test_it_is_too_old(environment, tmp_path):
    library = made(tmp_path, "unsigned smq_version(void) { return 1 << 16; }")
    assert "is too old a libswiftmqtt: it has no smq_" in complaint(environment, SWIFTMQTT_LIBRARY=str(library))


def test_it_is_where_the_loader_looks(environment, tmp_path):
    environment.pop("SWIFTMQTT_LIBRARY")
    if shutil.which("ldconfig") is None and Path("/usr/lib/libswiftmqtt.so.1").exists():
        pytest.skip("libswiftmqtt is installed here")
    code = "import swiftmqtt; print(swiftmqtt.library_version())"
    found = run(code, environment, LD_LIBRARY_PATH=str(LIBRARY.parent))
    assert found.stdout == "(1, 0, 0)\n", found


def test_it_is_beside_the_package(environment, tmp_path):
    environment.pop("SWIFTMQTT_LIBRARY")
    shutil.copytree(PACKAGE / "swiftmqtt", tmp_path / "swiftmqtt")
    shutil.copy(LIBRARY, tmp_path / "swiftmqtt/libswiftmqtt.so.1")
    code = "import swiftmqtt._library as l; print(l.LIBRARY._name)"
    assert run(code, environment, PYTHONPATH=str(tmp_path)).stdout.strip() == str(
        tmp_path / "swiftmqtt/libswiftmqtt.so.1"
    )


# ---- The header


def test_every_struct_is_laid_out_as_in_c(tmp_path):
    """ctypes and the C compiler agree on each size, and on each field's offset and size."""
    from swiftmqtt import _abi, _tls_library

    assert _abi.ORDER == re.findall(r"^} (smq_\w+);", HEADER, re.M)
    assert set(_abi.ORDER) - set(_abi.STRUCTS) == {"smq_runner", "smq_runner_options", "smq_storage", "smq_observer"}
    ours, lines = [], []
    tls = {**_abi.TLS_STRUCTS, "smq_tls_options": _tls_library.TLSOptions}
    for name, struct in {**_abi.STRUCTS, **tls}.items():
        ours.append((0, ctypes.sizeof(struct)))
        lines.append(f"{{0, sizeof({name})}}")
        for field, *_ in struct._fields_:
            ours.append((getattr(struct, field).offset, getattr(struct, field).size))
            lines.append(f"{{offsetof({name}, {field}), sizeof((({name} *)0)->{field})}}")
    (tmp_path / "layout.c").write_text(
        "#include <stdio.h>\n#include <swiftmqtt-tls.h>\nstatic const size_t all[][2] = {" + ",\n".join(lines) + "};\n"
        "int main(void) { for (size_t i = 0; i < sizeof all / sizeof *all; i++)"
        ' printf("%zu %zu\\n", all[i][0], all[i][1]); }'
    )
    program = tmp_path / "layout"
    subprocess.run(["gcc", "-I", ROOT / "include", "-o", program, tmp_path / "layout.c"], check=True, timeout=30)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert ours == [tuple(map(int, line.split())) for line in said.splitlines()]


class Layouts:
    """A library that says this of its structs."""

    def __init__(self, layouts):
        flat = []
        for size, fields in layouts:
            flat += [size, len(fields), *(number for field in fields for number in field)]
        self.numbers = [*flat, 0]

    def smq_abi_layout(self):
        return self.numbers


@pytest.mark.parametrize(
    "struct, change, said",
    [
        ("smq_runner", lambda size, fields: (size, fields), None),  # it is as it was
        ("smq_message", lambda size, fields: (size + 8, [*fields, (size, 8)]), None),  # a newer library
        ("smq_property", lambda size, fields: (size, [*fields[:3], (12, 4), *fields[3:]]), None),  # reserved no longer
        ("smq_runner", lambda size, fields: (size + 8, []), None),  # not used here
        ("smq_bytes", lambda size, fields: (size + 8, fields), "smq_bytes has 24 bytes there, 16 here"),
        ("smq_event", lambda size, fields: (size - 8, fields), "smq_event has 200 bytes there, 208 here"),
        ("smq_options", lambda size, fields: (size, fields[:2] + fields[3:]), "smq_options.url, 16 bytes at 8, is "),
        ("smq_stats", lambda size, fields: (size, [fields[0], (4, 8), *fields[2:]]), "smq_stats.connections, 4 bytes at"),
        ("smq_packet", lambda size, fields: None, "it has no smq_packet"),
    ],
)
def test_a_library_with_other_structs_is_refused(struct, change, said):
    from swiftmqtt import _abi, _library

    assert list(_library.differences(_library.LIBRARY)) == []
    layouts = dict(zip(_abi.ORDER, _library.told_layouts(_library.LIBRARY)))
    layouts[struct] = change(*layouts[struct])
    told = list(_library.differences(Layouts(takewhile(bool, layouts.values()))))
    assert len(told) == (said is not None) and all(line.startswith(said) for line in told), told


def test_the_import_fails_if_structs_differ(environment, tmp_path):
    """A library of 1.0 with every function, whose first struct has a byte more."""
    from swiftmqtt import _abi

    own = "smq_version", "smq_abi_layout"
    library = made(
        tmp_path,
        "unsigned smq_version(void) { return 1 << 16; }"
        "const unsigned short *smq_abi_layout(void)"
        "{ static const unsigned short list[] = {17, 2, 0, 8, 8, 9, 0}; return list; }"
        + "".join(f"void {name}(void) {{}}\n" for name in _abi.FUNCTIONS if name not in own),
    )
    said = complaint(environment, SWIFTMQTT_LIBRARY=str(library))
    assert said == (
        f"ImportError: {library} has another ABI than this package: "
        "smq_bytes.size, 8 bytes at 8, is elsewhere or of another size there"
    )


def test_every_function_is_there_or_left_out_on_purpose():
    from swiftmqtt import _abi, _tls_library

    declared = set(re.findall(r"^SMQ_API .*?\b(smq_\w+)\(", HEADER, re.M))
    left_out = UNUSED | {name for name in declared if name.startswith("smq_engine_")}
    assert set(_abi.FUNCTIONS) | left_out >= declared
    assert set(_abi.FUNCTIONS) <= declared and not set(_abi.FUNCTIONS) & left_out
    declared = set(re.findall(r"^SMQ_API .*?\b(smq_\w+)\(", TLS_HEADER, re.M))
    assert set(_tls_library.FUNCTIONS) == declared


def test_every_number_is_that_of_the_header():
    from swiftmqtt import constants

    prefixes = {
        "SMQ_ERR_": constants.Status,
        "SMQ_STAGE_": constants.Stage,
        "SMQ_RULE_": constants.Rule,
        "SMQ_PROPERTY_": constants.PropertyId,
        "SMQ_OVERFLOW_": constants.Overflow,
        "SMQ_OPTION_": constants.OptionFlag,
        "SMQ_JITTER_": constants.Jitter,
        "SMQ_RESUBSCRIBE_": constants.Resubscribe,
        "SMQ_STATE_": constants.State,
        "SMQ_REASON_": constants.ReasonCode,
        "SMQ_EVENT_": constants.EventType,
        "SMQ_COMPLETED_": constants.Completed,
        "SMQ_JOURNAL_": {**constants.JournalFlag.__members__, **constants.JournalNews.__members__},
    }
    numbers = re.findall(r"^\s+(SMQ_[A-Z0-9_]+) =\s+(-?\d\w*)", HEADER, re.M)
    assert len(numbers) > 150
    checked = 0
    for name, value in numbers:
        for prefix, names in prefixes.items():
            if name.startswith(prefix):
                assert names[name[len(prefix) :]] == int(value, 0), name
                checked += 1
    logs = {**constants.LogLevel.__members__, **constants.LogItem.__members__}
    for name, value in numbers:
        if name.startswith("SMQ_LOG_"):
            assert logs[name[len("SMQ_LOG_") :]] == int(value, 0)
            checked += 1
    for header, names in ((ENGINE_HEADER, constants.TLSCause), (TLS_HEADER, constants.TLSFlag)):
        found = re.findall(r"^\s+SMQ_TLS_([A-Z0-9_]+) =\s+(\d+)", header, re.M)
        told = {name: int(value) for name, value in found if name != "ENGINE_NO_HEAP"}
        assert told == dict(names.__members__) and len(told) > 10
    assert checked == len(numbers) - 15  # SMQ_OK, SMQ_DROPPED, SMQ_PROTOCOL_…, SMQ_PART_…, SMQ_STORE_…, SMQ_STORAGE_…, SMQ_PACKET_…, SMQ_OBSERVE_…


def test_every_option_of_the_header_can_be_given():
    from swiftmqtt import _abi, _options

    fields = {name for name, *_ in _abi.Options._fields_}
    ours = set(_options.Options.__annotations__) | {"url"}
    elsewhere = {"size", "flags", "properties", "handlers", "handler_bytes", "tls", "tls_settings"}
    assert fields - ours == elsewhere


def test_every_option_of_tls_can_be_given():
    from swiftmqtt import TLSOptions, _tls_library
    from swiftmqtt.constants import TLSFlag

    fields = {name for name, *_ in _tls_library.TLSOptions._fields_}
    ours = set(TLSOptions.__annotations__)
    assert fields - ours == {"size", "flags", "password_user", "ssl_ctx"}
    assert ours - fields == {name.lower() for name in TLSFlag.__members__}


def test_every_cause_has_words():
    from swiftmqtt import Failure, Stage, TLSCause

    for cause in TLSCause:
        if cause not in (TLSCause.NONE, TLSCause.OTHER):
            said = str(Failure(stage=Stage.TLS, tls_cause=cause))
            assert said and said != Failure(tls_cause=cause).cause_name, cause
    assert str(Failure(stage=Stage.TLS, tls_cause=TLSCause.OTHER, text="a\nb")).endswith(r"'a\nb'")


def test_names():
    import swiftmqtt

    assert swiftmqtt.status_name(-201) == "SMQ_ERR_FULL"
    assert swiftmqtt.status_text(-201) == "there is no room now"
    assert swiftmqtt.reason_code_name(0x87) == "Not authorized"
    assert swiftmqtt.stage_name(3) == "connack"
    assert "[MQTT-1.5.4-1]" in swiftmqtt.rule_name(swiftmqtt.Rule.UTF8)
    assert swiftmqtt.topic_matches("a/+/c", "a/b/c") and not swiftmqtt.topic_matches("a/+", "a/b/c")
    for wrong in ("a/#/b", "", "a+", "\0"):
        with pytest.raises(ValueError):
            swiftmqtt.topic_filter_check(wrong)
    with pytest.raises(swiftmqtt.ArgumentError) as told:
        swiftmqtt.topic_name_check("a/#")
    assert told.value.status == swiftmqtt.Status.TOPIC_NAME


def test_everything_public_says_what_it_is():
    import inspect

    import swiftmqtt
    import swiftmqtt.aio
    import swiftmqtt.paho.client
    import swiftmqtt.payload

    silent = []
    for module in (swiftmqtt, swiftmqtt.aio, swiftmqtt.payload, swiftmqtt.paho.client):
        for name, value in vars(module).items():
            if name.startswith("_") or not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            if not value.__module__.startswith("swiftmqtt"):
                continue
            if not value.__doc__:
                silent.append(f"{module.__name__}.{name}")
            for member, thing in vars(value).items() if inspect.isclass(value) else ():
                function = thing.fget if isinstance(thing, property) else thing
                if member.startswith("_") or not inspect.isfunction(function):
                    continue
                if not inspect.getdoc(getattr(value, member)):
                    silent.append(f"{module.__name__}.{name}.{member}")
    assert silent == []
