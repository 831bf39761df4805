"""The tables of the book against the header and the list of statements: whole, and nothing that is not there."""

from __future__ import annotations

import ctypes
import re

import pytest

from .blocks import ROOT, Block, blocks
from .conftest import BUILD

HEADER = (ROOT / "include" / "swiftmqtt.h").read_text()
HEADERS = "".join(path.read_text() for path in sorted((ROOT / "include").glob("*.h")))
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
CONSTANTS = {name: int(value, 0) for name, value in re.findall(r"\b(SMQ_[A-Z0-9_]+) = (-?\w+)", CODE)}
ERRORS = (ROOT / "docs" / "errors.md").read_text()
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()
MEMORY = (ROOT / "docs" / "memory.md").read_text()


def named(prefix: str) -> dict[str, int]:
    return {name: value for name, value in CONSTANTS.items() if name.startswith(prefix)}


def rows(text: str) -> list[list[str]]:
    """The cells of each row of each table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def function_names() -> list[str]:
    return re.findall(r"\b(smq_[a-z0-9_]+)\(", re.sub(r"/\*.*?\*/", "", HEADERS, flags=re.S))


# ---- errors.md


def test_every_status():
    """Each once, with its value, in its band, and with something to do."""
    told = {row[0].strip("`"): row for row in rows(ERRORS) if row[0].startswith("`SMQ_ERR_")}
    assert list(told) == list(named("SMQ_ERR_"))
    for name, row in told.items():
        assert int(row[1].replace("−", "-")) == CONSTANTS[name], name
        assert len(row) == 4 and row[2] and row[3], name
    for band, text in re.findall(r"^## (−\dxx).*?\n(.*?)(?=^## |\Z)", ERRORS, re.M | re.S):
        for name in re.findall(r"^\| `(SMQ_ERR_\w+)`", text, re.M):
            assert -CONSTANTS[name] // 100 == int(band[1]), name


def test_every_stage():
    library = ctypes.CDLL(str(BUILD / "libswiftmqtt.so"))
    library.smq_stage_name.restype = ctypes.c_char_p
    told = {row[0].strip("`"): row[1] for row in rows(ERRORS) if row[0].startswith("`SMQ_STAGE_")}
    assert told.keys() == named("SMQ_STAGE_").keys()
    for name, words in told.items():
        assert library.smq_stage_name(CONSTANTS[name]).decode() == words


def test_every_cause_of_tls():
    """In the header's order, under the name that the library gives it, and with something to do."""
    library = ctypes.CDLL(str(BUILD / "libswiftmqtt.so"))
    library.smq_tls_cause_name.restype = ctypes.c_char_p
    causes = re.search(r"enum \{(.*?)\n\};", (ROOT / "include" / "swiftmqtt-tls-engine.h").read_text(), re.S)[1]
    causes = {name: int(value) for name, value in re.findall(r"\b(SMQ_TLS_\w+) = (\d+)", causes)}
    assert causes.pop("SMQ_TLS_NONE") == 0 and len(causes) >= 25
    told = {row[0].strip("`"): row for row in rows(ERRORS) if row[0].startswith("`SMQ_TLS_")}
    assert list(told) == list(causes)
    for name, row in told.items():
        assert row[1] == library.smq_tls_cause_name(causes[name]).decode()
        assert len(row) == 4 and row[2] and row[3], name


# ---- What every page says of the interface


@pytest.mark.parametrize("page", [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "recipes").glob("*.md"),
                                  ROOT / "README.md"], ids=lambda page: page.name)
def test_names_exist(page):
    """A name in a page is one of a header."""
    text = page.read_text()
    for name in set(re.findall(r"\b(SMQ_[A-Z0-9_]+[A-Z0-9])\b(?!_|…)", text)):
        assert re.search(rf"\b{name}\b", HEADERS), name
    for name in set(re.findall(r"\b(smq_[a-z0-9_]+)\(", text)):
        assert name in function_names(), name


# ---- memory.md


def test_every_capacity():
    """Each option that takes memory is in the table: those whose comment gives bytes, or which is bytes."""
    struct = re.search(r"typedef struct smq_options \{(.*?)\n\} smq_options;", HEADER, re.S)[1]
    struct = struct[struct.index("Capacities.") :]
    fields = re.findall(r"uint32_t\s+(\w+);\s*(/\*.*?\*/)", struct, re.S)
    takes = {name for name, comment in fields if name.endswith("_bytes") or re.search(r"takes\s+\d+", comment)}
    takes -= {"maximum_packet_bytes"}  # a limit
    told = set(re.findall(r"`(\w+)`", " ".join(row[0] for row in rows(MEMORY.split("\n## STOMP\n")[0]))))
    assert takes <= told


# ---- protocol.md


def test_every_property():
    told = {row[0].strip("`"): row for row in rows(PROTOCOL) if row[0].startswith("`SMQ_PROPERTY_")}
    assert list(told) == [name for name in named("SMQ_PROPERTY_") if name != "SMQ_PROPERTY_INIT"]
    for name, row in told.items():
        assert int(row[1], 16) == CONSTANTS[name], name
        assert len(row) == 5 and row[2] and (row[3] or row[4]), name


def test_every_packet():
    packets = ("CONNECT CONNACK PUBLISH PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE UNSUBACK PINGREQ "
               "PINGRESP DISCONNECT AUTH").split()
    section = re.search(r"^## Packets\n(.*?)(?=^## )", PROTOCOL, re.M | re.S)[1]
    assert [row[0] for row in rows(section)[2:]] == packets


def places() -> dict[int, set[str]]:
    """By identifier: where a property may stand, as Sources/MQTTWire/Property.swift has it."""
    text = (ROOT / "Sources" / "MQTTWire" / "Property.swift").read_text()
    identifiers = {name: int(value, 16) for name, value in re.findall(r"static var (\w+): Self \{ Self\(known: (0x\w+)\) \}", text)}
    sets = {"will": {"Will"}}

    def union(expression: str) -> set[str]:
        found: set[str] = set()
        for part in expression.split("|"):
            packet = re.fullmatch(r"\s*(?:client|server|both)\(\.(\w+)\)\s*", part)
            found |= {packet[1].upper()} if packet else sets[part.strip()]
        return found

    for name, body in re.findall(r"private static var (\w+): UInt32 \{([^}]*)\}", text):
        sets[name] = union(body)
    rules = re.findall(r"case \.(\w+): rule\(\.\w+, ((?:[^(),]|\([^)]*\))*)", text)
    return {identifiers[name]: union(expression) for name, expression in rules}


def test_where_each_property_may_stand():
    told = {int(row[1], 16): set(row[2].split(", ")) for row in rows(PROTOCOL) if row[0].startswith("`SMQ_PROPERTY_")}
    assert told == places()


def statements() -> dict[tuple[str, str], int]:
    """version and chapter -> how many statements there are."""
    counts: dict[tuple[str, str], int] = {}
    for line in (ROOT / "Tests" / "Conformance" / "statements.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            statement, tests, _ = line.split("\t")
            assert tests != "-", f"{statement}: the page says that each has a test"
            version, number = statement.split(" ", 1)
            chapter = ".".join(number.strip("§").split("-")[0].split(".")[:2]).removesuffix(".0")
            counts[version, chapter] = counts.get((version, chapter), 0) + 1
    return counts


def test_counts_of_statements():
    """The table is what the list says; if not, this is what it should be."""
    section = re.search(r"^## Statements\n(.*?)(?=^## |\Z)", PROTOCOL, re.M | re.S)[1]
    *told, total = rows(section)[2:]
    assert {(version, chapter.split()[0]): int(count) for version, chapter, count in told} == statements()
    assert int(total[2]) == sum(statements().values())


# ---- README.md and memory.md


def test_sizes_of_clients(session):
    """The default client, and the one with what docs/recipes/static-memory.md calls the smallest of everything."""
    smallest = blocks(ROOT / "docs" / "recipes" / "static-memory.md")[-1].text
    program = "\n".join((
        "#include <stdio.h>", "#include <swiftmqtt.h>", "int main(void) {", "smq_options options = SMQ_OPTIONS_INIT;",
        'options.url = smq_string("mqtt://127.0.0.1");', 'printf("%zu\\n", smq_client_size(&options));', smallest,
        'printf("%zu\\n", smq_client_size(&options));', "return 0;", "}"))
    source = session.write("sizes.c", program)
    run = Block(source, 1, "c", "")
    session.call(["gcc", source, f"-I{ROOT}/include", f"-L{session.build}", "-lswiftmqtt", "-o", "sizes"], run)
    sizes = [f"{int(size):,}" for size in session.call([session.directory / "sizes"], run).split()]
    assert f"| {', '.join(sizes)}, " in (ROOT / "README.md").read_text()
    assert f"The default client takes {sizes[0]} bytes, the smallest {sizes[1]};" in MEMORY


# ---- memory.md, of STOMP


STOMP_HEADER = (ROOT / "include" / "swiftstomp.h").read_text()
STOMP_MEMORY = MEMORY.split("\n## STOMP\n")[1]
# The fields that take memory, with the values of which the second takes more than the first by what the table says.
STOMP_CAPACITIES = {
    "outbox_bytes": (1024, 65_536), "outbox_frames": (8, 256), "receive_bytes": (1024, 4096), "control_bytes": (256, 1024),
    "subscriptions": (2, 8), "held_messages": (8, 64), "transactions": (4, 256), "urgent_frames": (8, 16), "addresses": (2, 8),
    "submit_frames": (8, 64),
}


def test_every_capacity_of_stomp():
    """Each field whose comment or name gives bytes is in the table."""
    struct = re.search(r"typedef struct sst_options \{(.*?)\n\} sst_options;", STOMP_HEADER, re.S)[1]
    fields = set(re.findall(r"uint32_t (\w+_(?:bytes|frames|messages)|subscriptions|transactions|addresses);", struct))
    told = set(re.findall(r"`(\w+)`", " ".join(row[0] for row in rows(STOMP_MEMORY))))
    assert fields >= STOMP_CAPACITIES.keys() and fields <= told


def test_sizes_of_clients_of_stomp(session):
    """The default client, the one with the smallest of everything, and what each capacity takes."""
    smallest = {name: 1 for name in STOMP_CAPACITIES} | {
        "outbox_bytes": 64, "receive_bytes": 64, "control_bytes": 128, "subscription_bytes": 64, "held_bytes": 16,
        "urgent_frames": 0, "submit_frames": 0}
    program = ["#include <stdio.h>", "#include <swiftstomp.h>", "int main(void) {", "sst_options options = SST_OPTIONS_INIT;",
               'options.url = sst_string("stomp://127.0.0.1");', 'printf("%zu\\n", sst_client_size(&options));']
    for name, values in STOMP_CAPACITIES.items():
        for value in values:
            program += [f"options.{name} = {value};", 'printf("%zu\\n", sst_client_size(&options));']
        program.append(f"options.{name} = 0;")
    program += [f"options.{name} = {value};" for name, value in smallest.items()]
    program += ['printf("%zu\\n", sst_client_size(&options));', "return 0;", "}"]
    source = session.write("sizes.c", "\n".join(program))
    run = Block(source, 1, "c", "")
    session.call(["gcc", source, f"-I{ROOT}/include", f"-L{session.build}", "-lswiftstomp", "-o", "sizes"], run)
    default, *measured, least = map(int, session.call([session.directory / "sizes"], run).split())
    assert f"it takes {default:,} bytes, and with the smallest of everything {least:,}." in " ".join(STOMP_MEMORY.split())
    defaults = {"subscription_bytes": 256, "held_bytes": 128, "urgent_bytes": 128, "submit_bytes": 256}
    for name, (one, other), (small, large) in zip(STOMP_CAPACITIES, STOMP_CAPACITIES.values(), zip(measured[::2], measured[1::2])):
        row = next(row for row in rows(STOMP_MEMORY) if row[0].startswith(f"`{name}`"))
        each = 1 if row[1] == "as many" else int(re.match(r"\d+", row[1])[0])
        each += next((size for other, size in defaults.items() if f"`{other}`" in row[0]), 0)
        # The block's parts are aligned.
        assert abs(large - small - each * (other - one)) < 16, name


# ---- performance.md


def test_the_stack_of_every_function():
    """Each exported one has a row, or is counted among the others."""
    text = (ROOT / "docs" / "performance.md").read_text().split("\n## Stack\n")[1]
    exported = set(re.findall(r"^SMQ_API [^;]*?\b(smq_\w+)\(", CODE, re.M))
    named = re.findall(r"^\| `(smq_\w+)` \|", text, re.M)
    others = int(re.search(r"^\| the other (\d+) \|", text, re.M)[1])
    assert set(named) <= exported and len(named) + others == len(exported)
    assert f"each of the {len(exported)} exported functions" in text
