"""How much stack each function of the headers takes, as stack.c and stack_stomp.c see it on this machine: less than 2,048 bytes, but for those
that are named here. docs/performance.md has the numbers of one machine: run this with -s to see those of yours."""

import os
import subprocess
from dataclasses import dataclass

import pytest
from conftest import MQTT, ROOT, STOMP, Library, functions, run

LIMIT = 2048

# What takes more: its bound, and why. Where libc has a part in it, another libc may need another bound.
OPTIONS = "all options and up to 16 servers, as they were asked for and as they were checked, are on the stack at once"
THREAD = "libc starts a thread that looks the name up; the first of a program allocates"
NAMED = "libc's pthread_setname_np() prints with sprintf()"
RUNNER = "(the runner's thread)"
LARGE_MQTT = {
    "smq_options_check": (11136, OPTIONS),
    "smq_options_fault": (12544, OPTIONS + ", beside two copies of the struct"),
    "smq_client_size": (11136, OPTIONS),
    "smq_engine_storage_done": (4352, "what an earlier process has left is taken up"),
    "smq_client_init": (13312, OPTIONS + ", and the thread of a journal"),
    "smq_connect": (2688, THREAD),
    "smq_wait": (3072, THREAD),
    "smq_service": (3072, THREAD),
    "smq_group_wait": (3072, THREAD),
    "smq_group_service": (3072, THREAD),
    "smq_runner_start": (3072, NAMED),
    RUNNER: (7680, "what libc keeps at its top, smq_wait(), smq_next_event()"),
    "smq_request": (2560, "publishes with properties, a Topic Alias and an expiry, in a frame of its own"),
}
LARGE_STOMP = {
    "sst_options_check": (9216, OPTIONS),
    "sst_options_fault": (10496, OPTIONS + ", beside two copies of the struct"),
    "sst_client_size": (9216, OPTIONS),
    "sst_client_init": (11008, OPTIONS + ", and the thread of a journal"),
    "sst_connect": (2944, THREAD),
    "sst_wait": (3456, THREAD),
    "sst_service": (3456, THREAD),
    "sst_runner_start": (3072, NAMED),
    RUNNER: (8320, "what libc keeps at its top, sst_wait(), sst_next_event()"),
}


@dataclass(frozen=True)
class Program:
    """One that measures the functions of a library."""

    source: str
    ours: Library
    large: dict

    @property
    def names(self):
        return [*(function.name for function in functions(self.ours)), RUNNER]


PROGRAMS = [Program("stack", MQTT, LARGE_MQTT), Program("stack_stomp", STOMP, LARGE_STOMP)]


def measure(program, build, directory):
    """{function: (bytes, the deepest use)}"""
    made = directory / program.source
    run("gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include",
        ROOT / f"Tests/ABI/{program.source}.c", "-o", made, f"-L{build}", f"-l{program.ours.name}", "-Wl,-z,now",
        f"-Wl,-rpath,{build}")
    table = {}
    for first in ([], ["wait"], ["service", "too"]):
        # At the first call of another function libc has the loader look it up, on the caller's stack: not here.
        result = subprocess.run([made, *first], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=120,
                                env={**os.environ, "LD_BIND_NOW": "1"})
        assert result.returncode == 0, result.stdout
        for name, size, use in (line.split("\t") for line in result.stdout.splitlines()):
            table[name] = max(table.get(name, (0, "")), (int(size), use), key=lambda row: row[0])
    for name, (size, use) in sorted(table.items(), key=lambda row: (-row[1][0], row[0])):
        print(f"| `{name}` | {size:,} | {use} |")
    return table


@pytest.fixture(scope="module")
def measured(build, tmp_path_factory):
    """What a program measures, once."""
    found = {}

    def of(program):
        if program.ours is STOMP and build.name.endswith("-small"):
            pytest.skip("the small profile is one of MQTT")
        if program.source not in found:
            found[program.source] = measure(program, build, tmp_path_factory.mktemp(program.source))
        return found[program.source]

    return of


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.source)
def test_every_function_is_measured(measured, program):
    assert set(measured(program)) == set(program.names)
    assert set(program.large) <= set(program.names)


@pytest.mark.parametrize("program, name", [(program, name) for program in PROGRAMS for name in program.names],
                         ids=lambda value: getattr(value, "source", value))
def test_stack(measured, program, name):
    size, use = measured(program)[name]
    bound, _ = program.large.get(name, (LIMIT, None))
    assert size < bound, f"{name} takes {size} bytes of stack ({use}); the bound is {bound}"
    assert size >= 8, f"{name} takes {size} bytes of stack, less than its return address: nothing was measured"
    if name in program.large:
        assert size > bound - 1024, f"{name} takes {size} bytes of stack: its bound of {bound} can be lower"
