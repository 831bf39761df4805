"""limits.c and limits_stomp.c on the processor the library is for."""

from conftest import MQTT, ROOT, run_c


def test_limits(build, ours, tmp_path):
    source = ROOT / "Tests" / "ABI" / ("limits.c" if ours is MQTT else "limits_stomp.c")
    assert run_c(build, tmp_path, source, ours) == "as they should be\n"
