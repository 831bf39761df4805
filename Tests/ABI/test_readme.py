"""The programs that README.md shows compile as they stand there."""

import re

from conftest import ROOT, run


def test_programs_compile(build, tmp_path):
    blocks = re.findall(r"^```c\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    programs = [block for block in blocks if re.search(r"\bint main\(", block)]
    assert programs, "README.md shows no C program"
    for number, program in enumerate(programs):
        source = tmp_path / f"readme{number}.c"
        source.write_text(program)
        run("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/include", source,
            f"-L{build}", "-lswiftmqtt", "-o", tmp_path / f"readme{number}")
