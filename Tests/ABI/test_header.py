"""include/swiftmqtt.h as a compiler and as a reader see it."""

import re

import pytest
from conftest import HEADER, functions, run

FUNCTIONS = functions()
NAMES = [function.name for function in FUNCTIONS]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


@pytest.mark.parametrize("compiler, language, standard", [
    ("gcc", "c", "c99"), ("gcc", "c", "c11"), ("g++", "c++", "c++17")])
def test_compiles_alone(tmp_path, compiler, language, standard):
    source = tmp_path / "alone"
    source.write_text(
        "#include <swiftmqtt.h>\n"
        "#include <swiftmqtt.h>\n"
        "int main(void) {\n"
        "    smq_options options = SMQ_OPTIONS_INIT;\n"
        "    smq_message message = SMQ_MESSAGE_INIT;\n"
        "    smq_event event = SMQ_EVENT_INIT;\n"
        "    smq_stats stats = SMQ_STATS_INIT;\n"
        "    message.topic = smq_string(\"a\");\n"
        "    return options.size + message.size + event.size + stats.size > 0 ? 0 : 1;\n"
        "}\n")
    run(compiler, "-x", language, f"-std={standard}", *STRICT, f"-I{HEADER.parent}", source)


def test_has_functions():
    assert len(FUNCTIONS) >= 10
    assert len(set(NAMES)) == len(NAMES)
    # Every SMQ_API but its definitions is one of them: none hides from the pattern.
    assert len(re.findall(r"^SMQ_API", HEADER.read_text(), re.M)) == len(NAMES)


@pytest.mark.parametrize("function", FUNCTIONS, ids=NAMES)
def test_is_documented(function):
    comment = function.comment
    assert comment, "no comment block directly above"
    summary = re.split(r"\n\s*\n", comment)[0]
    assert re.match(r"[A-Z].*[.:]", summary, re.S), f"the summary is not a sentence: {summary}"
    for parameter in function.parameters:
        assert re.search(rf"^{parameter}\s{{2,}}\S", comment, re.M), f"parameter {parameter} is not described"
    assert re.search(r"^Returns ", comment, re.M), "it does not say what it returns"


@pytest.mark.parametrize("function", FUNCTIONS, ids=NAMES)
def test_describes_no_parameter_it_does_not_have(function):
    described = re.findall(r"^([a-z_]\w*)\s{2,}\S", function.comment, re.M)
    assert set(described) <= set(function.parameters)


def test_names_in_comments_exist():
    """Every SMQ_… that a comment mentions is defined; SMQ_ERR_… and the like stand for a family."""
    text = HEADER.read_text()
    comments = " ".join(re.findall(r"/\*.*?\*/", text, re.S))
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    defined = set(re.findall(r"\b(SMQ_\w+)", code))
    mentioned = set(re.findall(r"\b(SMQ_\w*\w)(?!\w|…)", comments))
    mentioned = {name for name in mentioned if not name.endswith("_")}
    assert mentioned - defined == set()


def test_functions_in_comments_exist():
    comments = " ".join(re.findall(r"/\*.*?\*/", HEADER.read_text(), re.S))
    inline = set(re.findall(r"static inline \w+ (smq_\w+)\(", HEADER.read_text()))
    assert set(re.findall(r"\b(smq_\w+)\(", comments)) - set(NAMES) - inline == set()


def test_error_codes_are_unique_and_in_their_bands():
    codes = re.findall(r"\b(SMQ_ERR_\w+) = (-\d+)", HEADER.read_text())
    values = [int(value) for _, value in codes]
    assert len(set(values)) == len(values)
    assert all(-500 < value <= -101 for value in values)
