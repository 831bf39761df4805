"""include/swiftmqtt.h and include/swiftstomp.h as a compiler and as a reader see them."""

import re

import pytest
from conftest import HEADER, LIBRARIES, MQTT, STOMP, functions, run

FUNCTIONS = [*functions(MQTT), *functions(STOMP)]
NAMES = [function.name for function in FUNCTIONS]
# Both, for tests that need no build.
EACH = pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
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
        "    smq_server server = SMQ_SERVER_INIT;\n"
        "    smq_subscription wanted = SMQ_SUBSCRIPTION_INIT;\n"
        "    smq_subscriptions subscriptions = SMQ_SUBSCRIPTIONS_INIT;\n"
        "    smq_client *client = NULL;\n"
        "    smq_property property = SMQ_PROPERTY_INIT;\n"
        "    unsigned char buffer[8];\n"
        "    smq_properties list = { buffer, sizeof(buffer), 0 };\n"
        "    message.topic = smq_string(\"a\");\n"
        "    message.properties = smq_property_list(&list);\n"
        "    subscriptions.list = &wanted;\n"
        "    smq_publish_text(client, \"a\", \"21.5\", 1, 0);\n"
        "    smq_subscribe_to(client, \"#\", 2, 7);\n"
        "    smq_unsubscribe_from(client, \"#\", 8);\n"
        "    smq_put_double(buffer, 1.5);\n"
        "    smq_put_float(buffer, smq_get_float(buffer));\n"
        "    return options.size + message.size + event.size + stats.size + server.size + subscriptions.size +\n"
        "                   property.size > 0 && smq_get_uint64(buffer) > 0 && smq_dispatch(NULL, &event) == 0\n"
        "               ? 0 : 1;\n"
        "}\n")
    run(compiler, "-x", language, f"-std={standard}", *STRICT, f"-I{HEADER.parent}", source)


@pytest.mark.parametrize("compiler, language, standard", [
    ("gcc", "c", "c99"), ("gcc", "c", "c11"), ("g++", "c++", "c++17")])
def test_stomp_compiles_alone_and_beside(tmp_path, compiler, language, standard):
    source = tmp_path / "alone"
    for beside in ("", "#include <swiftmqtt.h>\n"):
        source.write_text(
            "#include <swiftstomp.h>\n"
            "#include <swiftstomp.h>\n"
            f"{beside}"
            "int main(void) {\n"
            "    sst_options options = SST_OPTIONS_INIT;\n"
            "    sst_frame frame = SST_FRAME_INIT;\n"
            "    sst_event event = SST_EVENT_INIT;\n"
            "    sst_subscription wanted = SST_SUBSCRIPTION_INIT;\n"
            "    sst_failure failure = SST_FAILURE_INIT;\n"
            "    unsigned char buffer[8];\n"
            "    sst_headers list = { buffer, sizeof(buffer), 0 };\n"
            "    frame.destination = sst_string(\"/queue/a\");\n"
            "    frame.headers = sst_header_list(&list);\n"
            "    return options.size + frame.size + event.size + wanted.size + failure.size > 0 ? 0 : 1;\n"
            "}\n")
        run(compiler, "-x", language, f"-std={standard}", *STRICT, f"-I{HEADER.parent}", source)


# A field that is added to a struct has to be added to its macro; what the macro leaves out is no error in C.
INIT_MACROS = re.findall(r"#define (SMQ_\w+_INIT)\b", HEADER.read_text())
STOMP_MACROS = re.findall(r"#define (SST_\w+_INIT)\b", STOMP.header.read_text())
TLS_MACROS = [(header, macro) for header in ("swiftmqtt-tls-engine", "swiftmqtt-tls", "swiftmqtt-tls-mbedtls")
              for macro in re.findall(r"#define (SMQ_\w+_INIT)\b", (HEADER.parent / f"{header}.h").read_text())]


@pytest.mark.parametrize("header, macro", [*(("swiftmqtt", macro) for macro in INIT_MACROS),
                                           *(("swiftstomp", macro) for macro in STOMP_MACROS), *TLS_MACROS])
@pytest.mark.parametrize("compiler, language, standard", [
    ("gcc", "c", "c99"), ("gcc", "c", "c11"), ("g++", "c++", "c++11"), ("g++", "c++", "c++20")])
def test_an_init_macro_sets_every_field(tmp_path, header, macro, compiler, language, standard):
    struct = macro.removesuffix("_INIT").lower()
    source = tmp_path / "init"
    source.write_text(f"#include <{header}.h>\n{struct} made = {macro};\n")
    run(compiler, "-x", language, f"-std={standard}", *STRICT, "-Wmissing-field-initializers", f"-I{HEADER.parent}", source)


# A program has a buffer, or bytes, for these, or gets them from the library: there is nothing that could be a default.
WITHOUT_INIT = {"smq_completion", "smq_bytes", "smq_properties", "smq_packet", "sst_bytes", "sst_headers", "sst_observed"}


@EACH
def test_every_struct_has_an_init_macro(library):
    text = library.header.read_text()
    structs = set(re.findall(rf"^}} ({library.prefix}_\w+);", text, re.M))
    sized = set(re.findall(rf"^typedef struct ({library.prefix}_\w+) \{{\s+uint32_t size;", text, re.M))
    made = {macro.removesuffix("_INIT").lower() for macro in (INIT_MACROS if library is MQTT else STOMP_MACROS)}
    without = {name for name in WITHOUT_INIT if name.startswith(library.prefix)}
    assert structs - made == without and made <= structs
    assert len(sized) >= 5 and sized <= made | without


# Numbers in a payload are big-endian, at any address, whatever the language.
NUMBERS = """
#include <swiftmqtt.h>
int main(void) {
    unsigned char b[9];
    unsigned char *at = b + 1;
    smq_put_uint16(at, 0x8001);
    if (at[0] != 0x80 || at[1] != 1 || smq_get_uint16(at) != 0x8001) return 1;
    smq_put_uint32(at, 0x80000002u);
    if (at[0] != 0x80 || at[3] != 2 || smq_get_uint32(at) != 0x80000002u) return 2;
    smq_put_uint64(at, 0x8000000000000003ull);
    if (at[0] != 0x80 || at[7] != 3 || smq_get_uint64(at) != 0x8000000000000003ull) return 3;
    smq_put_float(at, -0.1f);
    if (at[0] != 0xBD || at[3] != 0xCD || smq_get_float(at) != -0.1f) return 4;
    smq_put_double(at, -0.1);
    if (at[0] != 0xBF || at[7] != 0x9A || smq_get_double(at) != -0.1) return 5;
    return 0;
}
"""


@pytest.mark.parametrize("compiler, language", [("gcc", "c"), ("g++", "c++")])
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_numbers_in_a_payload(tmp_path, compiler, language, level):
    source, program = tmp_path / "numbers", tmp_path / "program"
    source.write_text(NUMBERS)
    flags = ["-fsanitize=undefined", "-fno-sanitize-recover", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    run(compiler, "-x", language, level, *flags, f"-I{HEADER.parent}", "-o", program, source)
    run(program)


@EACH
def test_has_functions(library):
    names = [function.name for function in functions(library)]
    assert len(names) >= 10
    assert len(set(names)) == len(names)
    # Every SMQ_API but its definitions is one of them: none hides from the pattern.
    assert len(re.findall(rf"^{library.prefix.upper()}_API", library.header.read_text(), re.M)) == len(names)


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


@EACH
def test_names_in_comments_exist(library):
    """Every SMQ_… that a comment mentions is defined; SMQ_ERR_… and the like stand for a family."""
    text = library.header.read_text()
    comments = " ".join(re.findall(r"/\*.*?\*/", text, re.S))
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    defined = set(re.findall(r"\b(S(?:MQ|ST)_\w+)", code))
    # What concerns an engine is in its own header, which swiftstomp.h includes.
    defined |= set(re.findall(r"\b(SMQ_TLS_\w+)", (HEADER.parent / "swiftmqtt-tls-engine.h").read_text()))
    mentioned = set(re.findall(r"\b(S(?:MQ|ST)_\w*\w)(?!\w|…)", comments))
    mentioned = {name for name in mentioned if not name.endswith("_")}
    assert mentioned - defined == set()


@EACH
def test_functions_in_comments_exist(library):
    text = library.header.read_text()
    comments = " ".join(re.findall(r"/\*.*?\*/", text, re.S))
    inline = set(re.findall(rf"static inline \w+ ({library.prefix}_\w+)\(", text))
    inline |= set(re.findall(r"\b(smq_tls_\w+)\(", (HEADER.parent / "swiftmqtt-tls.h").read_text()))
    assert set(re.findall(r"\b(s(?:mq|st)_\w+)\(", comments)) - set(NAMES) - inline == set()


@EACH
def test_error_codes_are_unique_and_in_their_bands(library):
    codes = re.findall(rf"\b({library.prefix.upper()}_ERR_\w+) = (-\d+)", library.header.read_text())
    values = [int(value) for _, value in codes]
    assert len(set(values)) == len(values)
    assert all(-600 < value <= -101 for value in values)
