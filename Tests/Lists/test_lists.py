"""The lists agree with the tree; and the check sees each way in which they might not."""

import importlib.machinery
import importlib.util
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
loader = importlib.machinery.SourceFileLoader("lists_check", str(HERE / "check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("lists_check", loader))
loader.exec_module(check)
lists = check.lists

PACKAGE = (check.ROOT / "Package.swift").read_text(encoding="utf-8")
ARCHITECTURE = (check.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_lists_agree_with_the_tree():
    assert list(check.faults()) == []


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A tree of sources with three modules: what `upper` imports is for the test to say."""
    for name, text in (("Ground", "import Synchronization\n"), ("Upper", "")):
        (tmp_path / name / "Folder").mkdir(parents=True)
        (tmp_path / name / "Folder" / "File.swift").write_text(text)
    modules = lists.read_modules("# a comment\n\nSynchronization toolchain\nGround core Synchronization\nUpper core Ground\n")
    monkeypatch.setattr(lists, "SOURCES", tmp_path)
    monkeypatch.setattr(lists, "MODULES", modules)
    return tmp_path / "Upper" / "Folder" / "File.swift"


@pytest.mark.parametrize("line", [
    "import Ground", "public import Ground", "@testable import Ground", "internal import struct Ground.Word",
    "@_spi(Test) public import Ground"])
def test_an_import_is_seen_however_it_is_written(copy, line):
    copy.write_text(f"// import Nothing\n{line}\n")
    assert list(check.check_sources()) == []


def test_an_import_that_the_list_does_not_have(copy):
    copy.write_text("import Ground\nimport Synchronization\n")
    assert list(check.check_sources()) == ["Sources/Upper has Synchronization, which cmake/modules.txt does not"]


def test_an_import_that_no_file_has(copy):
    assert list(check.check_sources()) == ["Sources/Upper does not have Ground, which cmake/modules.txt does"]


def test_a_module_that_the_list_does_not_have(copy):
    copy.write_text("import Ground\n")
    (lists.SOURCES / "More").mkdir()
    assert list(check.check_sources()) == ["Sources has More, which cmake/modules.txt does not"]


@pytest.mark.parametrize("old, new, fault", [
    ('module("MQTTWire", "Storage")', 'module("MQTTWire")', "MQTTWire does not have Storage"),
    ('module("MQTTWire", "Storage")', 'module("MQTTWire", "Storage", "CPlatform")', "MQTTWire has CPlatform"),
    ('module("MQTTWire", "Storage")', "", "Package.swift does not have MQTTWire"),
    ('"smq", "CSwiftMQTT", ', '"smq", ', "smq does not have CSwiftMQTT"),
    ('.target(name: "CPlatform"', '.target(name: "COther"', "Package.swift has COther")])
def test_a_package_that_differs(old, new, fault):
    assert old in PACKAGE
    assert any(fault in found for found in check.check_package(PACKAGE.replace(old, new)))


@pytest.mark.parametrize("old, new, fault", [
    ("| `MQTTWire` | Storage |", "| `MQTTWire` | |", "the table: MQTTWire does not have Storage"),
    ("| `MQTTWire` | Storage |", "| `MQTTWire` | Storage CPlatform |", "the table: MQTTWire has CPlatform"),
    ("| `MQTTWire` |", "| `Wire` |", "the table does not have MQTTWire"),
    ("<!-- picture -->", "", "has no picture")])
def test_a_table_that_differs(old, new, fault):
    assert old in ARCHITECTURE
    assert any(fault in found for found in check.check_picture(ARCHITECTURE.replace(old, new)))


def test_a_picture_that_is_upside_down():
    begin = ARCHITECTURE.index("```text\n") + len("```text\n")
    end = ARCHITECTURE.index("```", begin)
    lines = ARCHITECTURE[begin:end].splitlines(keepends=True)
    faults = list(check.check_picture(ARCHITECTURE[:begin] + "".join(reversed(lines)) + ARCHITECTURE[end:]))
    assert "docs/architecture.md: in the picture Storage is not below MQTTWire, which imports it" in faults
    faults = check.check_picture(ARCHITECTURE[:begin] + ARCHITECTURE[begin:end].replace("MQTTWire", "") + ARCHITECTURE[end:])
    assert list(faults) == ["docs/architecture.md: the picture does not have MQTTWire"]


def test_unit_tests_where_no_source_is(copy, tmp_path):
    for name in ("Upper/Folder", "Upper/Other"):
        (tmp_path / "Unit" / name).mkdir(parents=True)
        (tmp_path / "Unit" / name / "FileTests.swift").write_text("")
    assert list(check.check_unit_tests(tmp_path / "Unit")) == [
        "Tests/Unit/Upper/Other has tests, and there is no Sources/Upper/Other"]


def test_a_processor_that_is_named_where_it_should_not_be():
    files = list(check.tree())
    assert list(check.check_targets([*files, ("Tests/new.py", "# of armv7\n"), ("docs/new.md", "armv7\n")])) == []
    fault, = check.check_targets([*files, ("Tests/new.py", 'TARGETS = ["armv7"]\n')])
    assert fault.startswith("Tests/new.py names a processor")
    without = [(path, text) for path, text in files if path not in ("Makefile", "cmake/toolchains/armv7-linux.cmake")]
    assert list(check.check_targets(without)) == [
        "Tests/Lists/check: FILES has Makefile, which names no processor", "there is no cmake/toolchains/armv7-linux.cmake"]


FEATURE = (lists.MODULES["Storage"].folder / "Feature.swift").read_text(encoding="utf-8")
SIZE = (check.ROOT / "docs" / "size.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("old, new, faults", [
    ("#if WITHOUT_RACE\n", "#if WITHOUT_PACE\n", [
        "Sources/Storage/Feature.swift has PACE, which cmake/features.txt does not",
        "Sources/Storage/Feature.swift does not have RACE, which cmake/features.txt does"]),
    ("hasRace", "hasPace", ["nothing asks for Feature.hasPace"]),
])
def test_a_feature_that_differs(old, new, faults):
    assert old in FEATURE
    assert list(check.check_features(FEATURE.replace(old, new), SIZE)) == faults


def test_a_feature_that_the_book_does_not_have():
    book = "".join(line for line in SIZE.splitlines(True) if not line.startswith("| `RACE` |"))
    assert list(check.check_features(FEATURE, book)) == [
        "docs/size.md: the table of features is not the list of cmake/features.txt"]
