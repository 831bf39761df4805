"""include/swiftmqtt-payload.h as a compiler and a reader see it, and what libswiftmqtt-payload.a has of it."""

import re

import pytest
from conftest import HEADER, ROOT, run

PAYLOAD = HEADER.with_name("swiftmqtt-payload.h")
TEXT = PAYLOAD.read_text()
CODE = re.sub(r"/\*.*?\*/", "", TEXT, flags=re.S)
FUNCTIONS = re.findall(r"/\*((?:(?!\*/).)*)\*/\n(?:int32_t|size_t) (smq_\w+)\(([^;]*)\);", TEXT, re.S)
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LANGUAGES = [("gcc", "c", "c99"), ("gcc", "c", "c11"), ("g++", "c++", "c++11"), ("g++", "c++", "c++20")]

PROGRAM = """
#include <swiftmqtt-payload.h>
#include <swiftmqtt-payload.h>
int main(void) {
    char buffer[64];
    smq_json json;
    smq_cbor cbor;
    smq_senml senml;
    smq_senml_record record = SMQ_SENML_RECORD_INIT;
    smq_bytes payload;
    smq_json_init(&json, buffer, sizeof buffer);
    smq_json_string(&json, smq_string("a"));
    if (smq_json_finish(&json, &payload) != SMQ_OK || payload.size != 3 || buffer[1] != 'a') return 1;
    smq_cbor_init(&cbor, buffer, sizeof buffer);
    smq_cbor_int(&cbor, -1);
    if (smq_cbor_finish(&cbor, &payload) != SMQ_OK || payload.size != 1) return 2;
    if (smq_cbor_finish(&cbor, &payload) != SMQ_OK || smq_cbor_finish(&cbor, NULL) != SMQ_ERR_NULL) return 3;
    record.fields = SMQ_SENML_NAME | SMQ_SENML_VALUE;
    record.name = smq_string("a");
    record.value = 1;
    smq_senml_init(&senml, SMQ_SENML_JSON, buffer, sizeof buffer, 1);
    smq_senml_add(&senml, &record);
    for (int times = 0; times < 2; times++)
        if (smq_senml_finish(&senml, &payload) != SMQ_OK || payload.size != 17) return 4;
    /* Measured first. */
    smq_senml_init(&senml, SMQ_SENML_JSON, NULL, 0, 1);
    smq_senml_add(&senml, &record);
    if (smq_senml_finish(&senml, &payload) != SMQ_ERR_FULL || smq_senml_length(&senml) != 17) return 5;
    if (smq_senml_init(&senml, 2, buffer, sizeof buffer, 1) != SMQ_ERR_OPTION) return 6;
    if (smq_senml_init(&senml, SMQ_SENML_CBOR, NULL, 1, 1) != SMQ_ERR_NULL) return 7;
    if (smq_json_init(&json, NULL, 1) != SMQ_ERR_NULL || smq_json_null(&json) != SMQ_ERR_NULL) return 8;
    if (smq_cbor_init(&cbor, NULL, 1) != SMQ_ERR_NULL || smq_cbor_null(&cbor) != SMQ_ERR_NULL) return 9;
    if (smq_json_null(NULL) != SMQ_ERR_NULL || smq_json_end(NULL) != SMQ_ERR_NULL) return 10;
    if (smq_cbor_null(NULL) != SMQ_ERR_NULL || smq_cbor_end(NULL) != SMQ_ERR_NULL) return 11;
    if (smq_senml_add(NULL, &record) != SMQ_ERR_NULL || smq_senml_length(NULL) != 0) return 12;
    return 0;
}
"""


@pytest.mark.parametrize("compiler, language, standard", LANGUAGES)
def test_a_program_links_with_it_alone(build, tmp_path, compiler, language, standard):
    source, program = tmp_path / "program", tmp_path / "a.out"
    source.write_text(PROGRAM)
    run(compiler, "-x", language, f"-std={standard}", *STRICT, "-Wmissing-field-initializers", f"-I{HEADER.parent}", source,
        "-x", "none", build / "libswiftmqtt-payload.a", "-o", program)
    run(program)


def symbols(build, *options):
    lines = run("nm", *options, build / "libswiftmqtt-payload.a").splitlines()
    return {line.split()[-1] for line in lines if re.search(r"\b[TU] \w+$", line)}


def test_has_what_the_header_says(build):
    """And otherwise names that only its own files know."""
    defined = symbols(build, "-g", "--defined-only")
    declared = set(re.findall(r"\b(smq_\w+)\(", CODE))
    assert {name for name in defined if not name.startswith("smq_payload_")} == declared
    assert declared == {name for _, name, _ in FUNCTIONS} and len(declared) > 30
    assert declared & set(re.findall(r"\bsmq_\w+", HEADER.read_text())) == set()


def test_needs_functions_on_memory_and_strings_alone(build):
    """No allocator, no locale, no stdio, no mathematics: <string.h>, and what hardening puts in."""
    needed = symbols(build, "-u") - symbols(build, "-g", "--defined-only")
    assert needed <= {"memcmp", "memcpy", "memset", "strchr", "strlen", "__memcpy_chk", "__memset_chk", "__stack_chk_fail"}


@pytest.mark.parametrize("comment, name, parameters", FUNCTIONS, ids=[name for _, name, _ in FUNCTIONS])
def test_is_documented(comment, name, parameters):
    text = "\n".join(re.sub(r"^\s*\* ?", "", line) for line in comment.splitlines()).strip()
    names = {re.search(r"(\w+)$", parameter.strip())[1] for parameter in parameters.split(",")}
    assert set(re.findall(r"^([a-z_]\w*)\s{2,}\S", text, re.M)) == names
    assert re.match(r"[A-Z].*[.:]", text, re.S) and re.search(r"^Returns ", text, re.M)


def test_names_in_comments_exist():
    comments = " ".join(re.findall(r"/\*.*?\*/", TEXT, re.S))
    defined = set(re.findall(r"\bSMQ_\w+", CODE + re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)))
    mentioned = set(re.findall(r"\b(SMQ_\w*\w)(?!\w|…)", comments))
    assert {name for name in mentioned if not name.endswith("_")} - defined == set()
    assert set(re.findall(r"\b(smq_\w+)\(", comments)) <= {name for _, name, _ in FUNCTIONS}


def test_the_library_has_nothing_of_it(build):
    exported = run("nm", "-D", "--defined-only", build / "libswiftmqtt.so")
    assert not re.search(r"\bsmq_(json|cbor|senml|payload)_", exported)
    assert not any("swiftmqtt-payload" in path.read_text(errors="replace")
                   for path in (ROOT / "Sources").rglob("*.[ch]"))
