"""smq_abi_layout() and sst_abi_layout() say what the headers say, on the processor the library is for."""

import re

from conftest import ROOT, run_c


def test_layout(build, ours, tmp_path):
    bits, *told = run_c(build, tmp_path, ROOT / "Tests/ABI/layout.c", ours).splitlines()
    lines = (ROOT / "Tests" / "ABI" / ours.table.format(bits)).read_text().splitlines()
    facts = [line.split("\t") for line in lines if line.startswith(("struct", "field"))]
    # An engine's structs are those of its own header, which no binding needs.
    sizes = {name: size for kind, name, size, *_ in facts if kind == "struct" and not name.startswith("smq_tls_")}
    expected = []
    for struct in re.findall(rf"^}} ({ours.prefix}_\w+);", ours.header.read_text(), re.M):
        fields = [numbers[:2] for kind, name, *numbers in facts if kind == "field" and name.startswith(f"{struct}.")]
        expected.append(" ".join([sizes.pop(struct), str(len(fields)), *(number for field in fields for number in field)]))
    # The tables are what the compiler says of the header: `make abi-check` compares them.
    assert told == expected
    assert not sizes
