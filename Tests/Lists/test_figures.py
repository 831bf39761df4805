"""benchmarks/figures.py: a figure is what its comment says, a table is replaced, and what is missing waits or is wrong. And
what the report makes of results, and cmake/size of a list that is stale."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))
import figures  # noqa: E402
import picture  # noqa: E402
import report  # noqa: E402

CELL = {"cpu_ns": 73.49, "ratio": 1.217, "instructions": {"all": 369.07}}
RECORD = {"about": {"versions": {"mosquitto": "2.0.11", "paho": "1.3.11"}},
          "workloads": {"publish-0": {"title": "Publish QoS 0", "peers": {"swiftmqtt": CELL, "raw": {"cpu_ns": 60.41}}}},
          "curve": {"1": {"raw": {"cpu_ns": 2437.2}, "swiftmqtt": {"cpu_ns": 2518.1}}, "64": {"raw": {"cpu_ns": 57.6}}}}


def test_the_figures_are_those_that_are_committed():
    done = subprocess.run([sys.executable, ROOT / "benchmarks" / "figures.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def sources(tmp_path):
    """A tree with a run of record, counts and sizes."""
    files = {"benchmarks/results/2026-11-30-abcdef0.json": json.dumps(RECORD),
             "Tests/Instructions/instructions.tsv": "# a heading\npublish\t1267\tpublish, quiet\nidle\t881\tnothing\n",
             "Tests/Instructions/instructions-board.tsv": "publish\t1392\tpublish, quiet\n",
             "cmake/sizes.tsv": "# a heading\nboard\t169092\nboard-small client\t79993\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return figures.Sources(tmp_path)


@pytest.mark.parametrize("key, value", [
    ("count/publish", "1,267"), ("count@board/publish", "1,392"), ("count/publish - count/idle", "386"),
    ("count@board/publish / count/publish", "1.10"), ("publish-0/swiftmqtt/cpu_ns", "73.5"),
    ("publish-0/swiftmqtt/instructions/all", "369"), ("size/board / 1024", "165"), ("size/board-small client", "79,993"),
    ("workloads/publish-0/peers/raw/cpu_ns", "60.4")])
def test_a_figure(sources, key, value):
    waiting = set()
    assert figures.renew(f"It takes 3,820<!--={key}--> of 5.", sources, waiting) == f"It takes {value}<!--={key}--> of 5."
    assert not waiting


@pytest.mark.parametrize("key, what", [("growth/latest/counts/10", "growth"), ("clients/0/bytes", "clients"),
                                       ("size/other", "size/other")])
def test_what_is_not_measured_yet_stays(sources, key, what):
    waiting, text = set(), f"some 90,000<!--={key}--> bytes\n<!--=table lines-->\n| a | table |\n"
    assert figures.renew(text, sources, waiting) == text
    assert waiting == {what, "lines"}


@pytest.mark.parametrize("text", ["1<!--=count/nothing-->", "1<!--=publish-9/raw/cpu_ns-->", "1<!--=publish-0/raw-->",
                                  "1<!--=count/idle ^ 2-->", "<!--=table other-->\n"])
def test_a_key_that_nothing_has(sources, text):
    with pytest.raises(figures.Wrong):
        figures.renew(text, sources, set())


def test_a_table_is_replaced(sources):
    after = figures.renew("above\n\n<!--=table curve-->\n| old |\n|---|\n| row |\n\n| other |\n", sources, set())
    assert after.startswith("above\n\n<!--=table curve-->\n| CPU ns for each message of 64 bytes, flushed after | 1 | 64 |\n")
    assert after.endswith("| libswiftmqtt | 2,518 | – |\n\n| other |\n") and "old" not in after
    assert figures.renew(after, sources, set()) == after


def test_a_link_leads_to_the_run_of_record(sources):
    text = "[all](benchmarks/results/2026-11-21-14dbedc.md), [pictures](benchmarks/results/headline.svg)"
    assert figures.renew(text, sources, set()) == text.replace("2026-11-21-14dbedc", "2026-11-30-abcdef0")


def test_two_runs_of_record(sources, tmp_path):
    (tmp_path / "benchmarks/results/2026-12-01-abcdef1.json").write_text("{}")
    with pytest.raises(figures.Wrong, match="2 runs"):
        figures.Sources(tmp_path)


def test_what_differs_is_said():
    assert figures.differences("page", "a\nb 1<!--=x-->\n", "a\nb 2<!--=x-->\n") == ["page: not as committed: b 2<!--=x-->"]


# ---- The report


def test_a_table_that_grows():
    assert report.growth_row({"10": 100, "1000": 110, "10000": 130, "60000": 150}) == ["100", "110", "130", "150", "1.50"]
    assert report.growth_row({"10": 100, "1024": 900}) == ["100", "900", "–", "–", "9.00"]
    assert report.growth_row({"10": 100, "60000": None}) == ["100", "–", "–", "–", "–"]


def test_lines_that_did_not_arrive_have_no_time():
    cells = {"smq": {"arrived": 60000, "wall_s": 1.5, "publisher_s": 0.25, "subscriber_s": 0.5},
             "mosquitto": {"arrived": 34467, "wall_s": None, "publisher_s": 0.5, "subscriber_s": 0.5}}
    told = {"lines": {"lines": 60000, "versions": {"smq": "1.0.0", "mosquitto": "2.0.11"}, "qos": {"1": cells}}}
    text = report.lines(told)
    assert "| QoS 1: smq pub -l, smq sub 1.0.0 | 60,000 | 1.50 | – | 0.25 | 0.50 |" in text
    assert "| 34,467 | – | – | 0.50 | 0.50 |" in text


@pytest.mark.parametrize("largest, ticks", [(201, [0, 50, 100, 150, 200]), (72, [0, 10, 20, 30, 40, 50, 60, 70]),
                                            (1.2, [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2])])
def test_the_ticks_of_a_linear_scale(largest, ticks):
    assert picture.Scale([largest / 3, largest], False).ticks() == pytest.approx(ticks)


# ---- cmake/size


def test_a_size_that_is_stale(monkeypatch, tmp_path):
    loader = importlib.machinery.SourceFileLoader("cmake_size", str(ROOT / "cmake" / "size"))
    size = importlib.util.module_from_spec(importlib.util.spec_from_loader("cmake_size", loader))
    loader.exec_module(size)
    monkeypatch.setattr(size, "SIZES", tmp_path / "sizes.tsv")
    size.write({"board": 100_000, "other": 5})
    size.write({"board": 200_000})
    assert size.committed() == {"board": 200_000, "other": 5}
    assert size.stale({"board": 201_900}) == []
    assert size.stale({"board": 203_000, "new": 7}) == [
        "board: text is 203000, and 200000 in cmake/sizes.tsv: make size WRITE=1",
        "new: text is 7, and nothing in cmake/sizes.tsv: make size WRITE=1"]
