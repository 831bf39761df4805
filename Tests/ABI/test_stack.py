"""How much stack each function of the header takes, as stack.c sees it on this machine: less than 2,048 bytes, but for those
that are named here. docs/performance.md has the numbers of one machine: run this with -s to see those of yours."""

import os
import subprocess

import pytest
from conftest import ROOT, functions, run

LIMIT = 2048

# What takes more: its bound, and why. Where libc has a part in it, another libc may need another bound.
OPTIONS = "all options and up to 16 servers, as they were asked for and as they were checked, are on the stack at once"
THREAD = "libc starts a thread that looks the name up; the first of a program allocates"
RUNNER = "(the runner's thread)"
LARGE = {
    "smq_options_check": (11136, OPTIONS),
    "smq_options_fault": (12416, OPTIONS + ", beside two copies of the struct"),
    "smq_client_size": (11136, OPTIONS),
    "smq_engine_storage_done": (4352, "what an earlier process has left is taken up"),
    "smq_client_init": (13312, OPTIONS + ", and the thread of a journal"),
    "smq_connect": (2688, THREAD),
    "smq_wait": (3072, THREAD),
    "smq_service": (3072, THREAD),
    "smq_group_wait": (3072, THREAD),
    "smq_group_service": (3072, THREAD),
    "smq_runner_start": (3072, "libc's pthread_setname_np() prints with sprintf()"),
    RUNNER: (7680, "what libc keeps at its top, smq_wait(), smq_next_event()"),
    "smq_request": (2560, "publishes with properties, a Topic Alias and an expiry, in a frame of its own"),
}

# What stack.c does not call, and why not.
UNMEASURED = {}

NAMES = [function.name for function in functions()]


@pytest.fixture(scope="module")
def measured(build, tmp_path_factory):
    """{function: (bytes, the deepest use)}"""
    program = tmp_path_factory.mktemp("stack") / "stack"
    run("gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include", ROOT / "Tests/ABI/stack.c",
        "-o", program, f"-L{build}", "-lswiftmqtt", "-Wl,-z,now", f"-Wl,-rpath,{build}")
    table = {}
    for first in ([], ["wait"], ["service", "too"]):
        # At the first call of another function libc has the loader look it up, on the caller's stack: not here.
        result = subprocess.run([program, *first], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=120,
                                env={**os.environ, "LD_BIND_NOW": "1"})
        assert result.returncode == 0, result.stdout
        for name, size, use in (line.split("\t") for line in result.stdout.splitlines()):
            table[name] = max(table.get(name, (0, "")), (int(size), use), key=lambda row: row[0])
    for name, (size, use) in sorted(table.items(), key=lambda row: (-row[1][0], row[0])):
        print(f"| `{name}` | {size:,} | {use} |")
    return table


def test_every_function_is_measured(measured):
    assert set(measured) - {RUNNER} | set(UNMEASURED) == set(NAMES)
    assert not set(measured) & set(UNMEASURED)
    assert set(LARGE) <= {RUNNER, *NAMES}


@pytest.mark.parametrize("name", [*NAMES, RUNNER])
def test_stack(measured, name):
    if name in UNMEASURED:
        pytest.skip(UNMEASURED[name])
    size, use = measured[name]
    bound, _ = LARGE.get(name, (LIMIT, None))
    assert size < bound, f"{name} takes {size} bytes of stack ({use}); the bound is {bound}"
    assert size >= 8, f"{name} takes {size} bytes of stack, less than its return address: nothing was measured"
    if name in LARGE:
        assert size > bound - 1024, f"{name} takes {size} bytes of stack: its bound of {bound} can be lower"
