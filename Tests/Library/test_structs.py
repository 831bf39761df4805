"""Whether smq.py lays out the structs as a C compiler does: all other tests stand on it."""

from __future__ import annotations

import ctypes
import re
import subprocess

import pytest

from Support import smq

STRUCTS = {name: kind for name, kind in smq.TYPES.items() if name.startswith("smq_")}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> dict[str, list[str]]:
    """What the compiler says: a line for each struct, offsets of the fields and the size."""
    lines = []
    for name, struct in STRUCTS.items():
        offsets = [f"offsetof({name}, {field})" for field, *_ in struct._fields_]
        values = ", ".join(f"(unsigned)({value})" for value in [*offsets, f"sizeof({name})"])
        lines.append(f'    printf("{name}{" %u" * (len(offsets) + 1)}\\n", {values});')
    source = tmp_path_factory.mktemp("structs") / "structs.c"
    body = "\n".join(lines)
    source.write_text(
        "#include <stdio.h>\n#include <swiftmqtt.h>\n"
        f"int main(void) {{\n{body}\n    return 0;\n}}\n"
    )
    program = source.with_suffix("")
    flags = ["-Wall", "-Werror", "-I", smq.HEADER.parent]
    subprocess.run(["cc", *flags, "-o", program, source], check=True, timeout=60)
    output = subprocess.run([program], check=True, capture_output=True, text=True, timeout=10)
    return {line.split()[0]: line.split()[1:] for line in output.stdout.splitlines()}


@pytest.mark.parametrize("name", STRUCTS)
def test_fields_are_where_the_compiler_puts_them(compiled, name):
    struct = STRUCTS[name]
    offsets = [getattr(struct, field).offset for field, *_ in struct._fields_]
    assert compiled[name] == [str(number) for number in [*offsets, ctypes.sizeof(struct)]]


@pytest.mark.parametrize("name", STRUCTS)
def test_fields_are_those_of_the_header(name):
    header = smq.HEADER.read_text()
    body = header[header.index(f"typedef struct {name} {{") : header.index(f"}} {name};")]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    fields = re.findall(r"(\w+)(?:\[\d+\])?;", body)
    assert fields == [field for field, *_ in STRUCTS[name]._fields_]


def test_no_struct_is_larger_than_promised():
    assert max(ctypes.sizeof(struct) for struct in STRUCTS.values()) <= 4096


def test_every_struct_and_function_of_the_header_is_bound():
    header = smq.HEADER.read_text()
    assert set(STRUCTS) == set(re.findall(r"^typedef struct (smq_\w+) \{", header, re.M))
    functions = re.findall(r"^SMQ_API.*?(smq_\w+)\(([^;]*)\);", header, re.M | re.S)
    assert len(functions) > 60
    for name, parameters in functions:
        count = 0 if parameters == "void" else parameters.count(",") + 1
        assert len(smq.FUNCTIONS[name][1]) == count, name
