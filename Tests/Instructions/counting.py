"""What `count` and `growth` share: a program is compiled, and callgrind counts what of the library and of libc it executes."""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# libc has a memcpy() for each kind of processor. This leaves the one that every x86-64 has, so that the numbers are the
# same wherever they are taken; other processors do not know these names, and libc passes them over.
TUNABLES = "glibc.cpu.hwcaps=" + ",".join(
    f"-{feature}" for feature in (
        "AVX", "AVX2", "AVX512F", "AVX512VL", "AVX512BW", "AVX_Fast_Unaligned_Load", "BMI1", "BMI2", "ERMS", "FSRM", "RTM",
        "SSSE3", "SSE4_1", "SSE4_2", "Fast_Unaligned_Copy"))
# No other variable: the environment lies on the stack, and where the stack begins is where its copies are aligned to.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LD_BIND_NOW": "1", "GLIBC_TUNABLES": TUNABLES}


def give_up(line):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {line}")


# What each program is linked with.
LIBRARIES = {"operations": "swiftmqtt", "growth": "swiftmqtt", "stomp": "swiftstomp"}


def compile_program(compiler, build, program):
    """Compiles a program that is called like its source, with the client that it uses."""
    library = LIBRARIES[program.name]
    client = [HERE / "client.c"] if library == "swiftmqtt" else []
    subprocess.run(
        [compiler, "-std=c11", "-O1", "-fno-builtin", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
         HERE / f"{program.name}.c", *client, "-o", program, f"-L{build}", f"-l{library}", f"-Wl,-rpath,{build}"],
        check=True)


def run(command, directory, seconds=120):
    """Runs the program, or what runs it, in its directory, and returns what it printed."""
    command = [str(part) for part in command]
    result = subprocess.run(command, cwd=directory, env=ENVIRONMENT, stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
    if result.returncode != 0:
        give_up(f"{' '.join(command)} ended with {result.returncode}\n{result.stdout.rstrip()}")
    return result.stdout


def own_costs(profile):
    """Instructions of each object in a callgrind profile, without those of the functions that it calls."""
    costs, names, current, is_call = {}, {}, None, False
    for line in profile.read_text(errors="replace").splitlines():
        if match := re.match(r"(c?ob)=\((\d+)\)(?: (.*))?", line):
            kind, number, name = match.groups()
            if name:
                names[number] = name
            if kind == "ob":
                current = number
        elif line.startswith("calls="):
            is_call = True  # the next line is what the called one costs
        elif re.match(r"[+\-*\d]\S* \d+$", line):
            if not is_call:
                costs[current] = costs.get(current, 0) + int(line.split()[1])
            is_call = False
    total = int(re.search(r"^totals: (\d+)", profile.read_text(errors="replace"), re.M).group(1))
    if sum(costs.values()) != total:
        give_up(f"{profile.name} is not as it was understood: {sum(costs.values())} instructions, not {total}")
    return {names[number]: cost for number, cost in costs.items()}


def callgrind(directory, program, arguments, *options, seconds=120):
    """The instructions of the library and of libc, while the program runs in its directory. Not the loader's: they are a few
    more or less from run to run."""
    profile = directory / "-".join(str(argument) for argument in arguments)
    run(["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={profile}", *options, f"./{program}", *arguments],
        directory, seconds)
    costs = {pathlib.Path(name).name: cost for name, cost in own_costs(profile).items()}
    library = f"lib{LIBRARIES[program]}.so"
    if not any(name.startswith(library) for name in costs):
        give_up(f"{' '.join(map(str, arguments))}: nothing of {library} was executed")
    return sum(cost for name, cost in costs.items() if name.startswith((library, "libc.so", "libc-")))
