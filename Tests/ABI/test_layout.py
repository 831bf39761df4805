"""smq_abi_layout() says what the header says, on the processor the library is for."""

import re

from conftest import HEADER, ROOT, run_c


def test_layout(build, tmp_path):
    bits, *told = run_c(build, tmp_path, ROOT / "Tests/ABI/layout.c").splitlines()
    lines = (ROOT / f"Tests/ABI/abi-{bits}.tsv").read_text().splitlines()
    facts = [line.split("\t") for line in lines if line.startswith(("struct", "field"))]
    # An engine's structs are those of its own header, which no binding needs.
    sizes = {name: size for kind, name, size, *_ in facts if kind == "struct" and not name.startswith("smq_tls_")}
    expected = []
    for struct in re.findall(r"^} (smq_\w+);", HEADER.read_text(), re.M):
        fields = [numbers[:2] for kind, name, *numbers in facts if kind == "field" and name.startswith(f"{struct}.")]
        expected.append(" ".join([sizes.pop(struct), str(len(fields)), *(number for field in fields for number in field)]))
    # The tables are what the compiler says of the header: `make abi-check` compares them.
    assert told == expected
    assert not sizes
