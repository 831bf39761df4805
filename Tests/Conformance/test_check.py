"""What check finds wrong, on small trees of its own; and that it finds nothing wrong with this one."""

import importlib.util
import subprocess
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

CHECK = Path(__file__).resolve().parent / "check"


def load():
    loader = SourceFileLoader("check", str(CHECK))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    loader.exec_module(module)
    return module


check = load()

IDS = ["3.1.1 1.5.3-1", "3.1.1 2.2.2-1", "5.0 3.3.1-2"]
TESTS = {"WireTests/PublishTests/encodes", "Tests/Library/test_faults.py::test_x"}
GOOD = [
    "# statement\ttests\tnote",
    "3.1.1 1.5.3-1\tWireTests/PublishTests/encodes\t",
    "3.1.1 2.2.2-1\tTests/Library/test_faults.py::test_x, WireTests/PublishTests/encodes\tflags",
    "5.0 3.3.1-2\t-\tonly a server could break this",
]


def test_good_lines():
    assert check.problems(IDS, GOOD, TESTS) == []


@pytest.mark.parametrize(
    "number, line, problem",
    [
        (3, "", "5.0 3.3.1-2 has no line"),
        (3, "# 5.0 3.3.1-2", "5.0 3.3.1-2 has no line"),
        (3, GOOD[2], "statements.tsv:4: 3.1.1 2.2.2-1 has a line already"),
        (3, "5.0 3.3.1-9\t-\tonly a server could break this",
         "statements.tsv:4: there is no statement '5.0 3.3.1-9'"),
        (3, "3.3.1-2\t-\tonly a server could break this", "statements.tsv:4: there is no statement '3.3.1-2'"),
        (3, "5.0 3.3.1-2\t-", "statements.tsv:4: 2 columns, not 3"),
        (3, "5.0 3.3.1-2\t-\tonly a\tserver could", "statements.tsv:4: 4 columns, not 3"),
        (3, "5.0 3.3.1-2\t-\t", "statements.tsv:4: 5.0 3.3.1-2 has no test, and its note does not say why"),
        (3, "5.0 3.3.1-2\t-\tthe server's duty",
         "statements.tsv:4: 5.0 3.3.1-2 has no test, and its note does not say why"),
        (3, "5.0 3.3.1-2\t\t", "statements.tsv:4: 5.0 3.3.1-2 has neither test nor -"),
        (3, "5.0 3.3.1-2\t\ta note of many words is no test",
         "statements.tsv:4: 5.0 3.3.1-2 has neither test nor -"),
        (1, "3.1.1 1.5.3-1\tWireTests/PublishTests/decodes\tx",
         "statements.tsv:2: 3.1.1 1.5.3-1: there is no test 'WireTests/PublishTests/decodes'"),
        (1, "3.1.1 1.5.3-1\tTests/Library/test_faults.py::test_x,WireTests/PublishTests/encodes\t",
         "statements.tsv:2: 3.1.1 1.5.3-1: there is no test "
         "'Tests/Library/test_faults.py::test_x,WireTests/PublishTests/encodes'"),
        (1, "3.1.1 1.5.3-1\tWireTests/PublishTests/encodes, -\t",
         "statements.tsv:2: 3.1.1 1.5.3-1: there is no test '-'"),
        (2, "3.1.1 2.2.2-1\tWireTests/PublishTests/encodes, WireTests/PublishTests/encodes\t",
         "statements.tsv:3: 3.1.1 2.2.2-1 names WireTests/PublishTests/encodes twice"),
        (1, "3.1.1 1.5.3-1\tWireTests/PublishTests/encodes\t spaces",
         "statements.tsv:2: 3.1.1 1.5.3-1 has spaces around a column"),
    ],
)
def test_one_line_is_wrong(number, line, problem):
    lines = [*GOOD[:number], line, *GOOD[number + 1:]]
    assert problem in check.problems(IDS, lines, TESTS)


def test_order():
    lines = [GOOD[2], GOOD[1], GOOD[3]]
    assert check.problems(IDS, lines, TESTS) == ["3.1.1 1.5.3-1 is not in the order of ids.txt"]


def test_ids_are_unique():
    assert check.problems([*IDS, IDS[0]], GOOD, TESTS)[-1:] == ["ids.txt has 3.1.1 1.5.3-1 twice"]


SWIFT = r'''
import Testing

struct Helper { func notATest() {} }

@Suite struct PublishTests {
  private static func text() -> String { "@Test func inAString() {" }
  static let quoted = #"{ "@Test" func inARawString() {"#
  static let many = """
    @Test func inManyLines() { }}}
    """
  // @Test func inAComment() {}
  /* @Test func inALongComment() {} */
  @Test func plain() { let closure = { $0 } }
  @Test(arguments: [(1, "a)"), (2, "b")], [false, true])
  func parametrised(number: Int, text: String, flag: Bool) throws { func inner() {} }
  @Test("a name of its own", .timeLimit(.minutes(1))) func named() async {}
  @Test(.disabled("broken")) func disabled() {}
  func helper() {}
  private struct Inner { var x = 1 }
  @Test @MainActor func last() {}
}

@Suite(.serialized) final class OtherTests {
  @Test func plain() {}
}

extension PublishTests {
  @Test func inAnExtension() {}
}
'''


def test_swift_functions():
    assert check.swift_tests(SWIFT) == {
        "PublishTests/plain", "PublishTests/parametrised", "PublishTests/named", "PublishTests/last",
        "OtherTests/plain", "PublishTests/inAnExtension"}


PYTHON = '''
import pytest

def helper(): pass
def test_plain(): pass
async def test_async(): pass
@pytest.mark.parametrize("x", [1, 2])
def test_parametrised(x):
    def test_inner(): pass
@pytest.mark.skip(reason="broken")
def test_skipped(): pass
@pytest.mark.xfail
def test_expected_to_fail(): pass
@pytest.mark.skipif(False, reason="never")
def test_on_some_machines(): pass
"def test_in_a_string(): pass"
class TestGroup:
    def test_inside(self): pass
    def helper(self): pass
class Group:
    def test_not_collected(self): pass
class Test: pass
@pytest.mark.skip
class TestSkipped:
    def test_inside(self): pass
'''


def test_python_functions():
    assert check.python_tests(PYTHON) == {
        "test_plain", "test_async", "test_parametrised", "test_on_some_machines", "TestGroup::test_inside"}


def tree(root, lines=GOOD):
    """A tree with the tests that GOOD names."""
    wire = root / "Tests" / "Unit" / "Wire"
    library = root / "Tests" / "Library"
    conformance = root / "Tests" / "Conformance"
    for folder in (wire, library, conformance):
        folder.mkdir(parents=True)
    (wire / "PublishTests.swift").write_text("@Suite struct PublishTests {\n  @Test func encodes() {}\n}\n")
    (library / "test_faults.py").write_text("def test_x():\n    pass\n")
    (conformance / "ids.txt").write_text("\n".join(IDS) + "\n")
    (conformance / "statements.tsv").write_text("\n".join(lines) + "\n")
    return root


def run(*arguments):
    return subprocess.run([CHECK, *arguments], capture_output=True, text=True)


def test_the_command_on_a_good_tree(tmp_path):
    result = run(tree(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "3 statements, 1 of them without a test, 0 of STOMP, 0 problems\n"


def test_the_command_when_a_test_was_renamed(tmp_path):
    root = tree(tmp_path)
    (root / "Tests/Library/test_faults.py").write_text("def test_y():\n    pass\n")
    result = run(root)
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.splitlines() == [
        "statements.tsv:3: 3.1.1 2.2.2-1: there is no test 'Tests/Library/test_faults.py::test_x'",
        "3 statements, 1 of them without a test, 0 of STOMP, 1 problems"]


def test_this_tree():
    result = run()
    if result.returncode:
        pytest.fail(result.stdout + result.stderr, pytrace=False)
