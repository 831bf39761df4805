"""limits.c on the processor the library is for."""

from conftest import ROOT, run_c


def test_limits(build, tmp_path):
    assert run_c(build, tmp_path, ROOT / "Tests/ABI/limits.c") == "as they should be\n"
