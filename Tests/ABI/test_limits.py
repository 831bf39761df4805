"""limits.c on the processor the library is for, under qemu-user where that is another one."""

import os

from conftest import ROOT, run

# SMQ_TARGET: the prefix of Debian's cross tools, and qemu's name.
TARGETS = {
    "aarch64": ("aarch64-linux-gnu", "qemu-aarch64"),
    "armv7": ("arm-linux-gnueabihf", "qemu-arm"),
    "riscv64": ("riscv64-linux-gnu", "qemu-riscv64"),
}


def test_limits(build, tmp_path):
    program = tmp_path / "limits"
    compiler, emulator = "gcc", []
    target = os.environ.get("SMQ_TARGET")
    if target:
        triple, qemu = TARGETS[target]
        compiler, emulator = f"{triple}-gcc", [qemu, "-L", f"/usr/{triple}"]
    run(compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include", ROOT / "Tests/ABI/limits.c",
        "-o", program, f"-L{build}", "-lswiftmqtt", f"-Wl,-rpath,{build}")
    assert run(*emulator, program) == "as they should be\n"
