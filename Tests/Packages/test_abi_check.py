"""make abi-check: each kind of change is found, and told by its name; what is added is written down when asked."""

import shutil

import pytest
from conftest import HEADER, ROOT, attempt, run

CHECK = ROOT / "Tests" / "ABI" / "check"
TABLE = ROOT / "Tests" / "ABI" / "abi-64.tsv"
SYMBOLS = ROOT / "packaging" / "debian" / "libswiftmqtt1.symbols"
MAP = "SWIFTMQTT_1 { global: smq_*; local: *; };"
ACK = ("SMQ_API int32_t smq_ack(smq_client *client, uint64_t token, uint32_t reason_code, "
       "const smq_bytes *properties);\n", "")
VERSION = "SMQ_API uint32_t smq_version(void);\n"
NEW = (VERSION, f"{VERSION}SMQ_API int32_t smq_new(void);\n")


@pytest.fixture
def world(build, tmp_path):
    return World(build, tmp_path)


class World:
    """A header, a library and a table that may be changed."""

    def __init__(self, build, directory):
        self.build, self.directory = build, directory
        self.header = shutil.copy(HEADER, directory / "swiftmqtt.h")
        shutil.copy(HEADER.parent / "swiftmqtt-tls-engine.h", directory)
        self.table = shutil.copy(TABLE, directory / "abi-64.tsv")
        self.symbols = shutil.copy(SYMBOLS, directory / "symbols")
        self.library = build / "libswiftmqtt.so"

    def change_header(self, *changes):
        text = self.header.read_text()
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.header.write_text(text)

    def link(self, script=MAP, soname="libswiftmqtt.so.1", more=""):
        """The same library, exporting something else."""
        self.library = self.directory / "libswiftmqtt.so"
        (self.directory / "map").write_text(script)
        (self.directory / "more.c").write_text(more)
        run("cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", f"-Wl,--version-script={self.directory}/map",
            self.directory / "more.c", "-Wl,--whole-archive", self.build / "libswiftmqtt.a", "-Wl,--no-whole-archive",
            "-o", self.library)

    def check(self, *options):
        result = attempt(CHECK, "--header", self.header, "--library", self.library, "--table", self.table,
                         "--symbols", self.symbols, *options)
        return result.returncode, result.stdout

    def breaks(self, *lines):
        """It is told, and is not written down either."""
        before = self.table.read_bytes()
        for options in ([], ["--write"]):
            status, output = self.check(*options)
            assert status == 1, output
            for line in lines:
                assert f"abi-check: {line}\n" in output
            assert output.endswith("programs that were built against version 1 would break\n")
        assert self.table.read_bytes() == before


def test_libswiftstomp_is_compared_with_its_own_table(build, tmp_path):
    """As it is; and with a function that it does not export, which is in no header of libswiftmqtt."""
    options = ["--header", tmp_path / "swiftstomp.h", "--table", shutil.copy(TABLE.with_name("abi-stomp-64.tsv"), tmp_path),
               "--symbols", shutil.copy(SYMBOLS.with_name("libswiftstomp1.symbols"), tmp_path)]
    for name in ("swiftstomp.h", "swiftmqtt-tls-engine.h"):
        shutil.copy(HEADER.parent / name, tmp_path)
    result = attempt(CHECK, "swiftstomp", *options)
    assert result.returncode == 0 and "facts, as in abi-stomp-64.tsv" in result.stdout
    version = "SST_API uint32_t sst_version(void);\n"
    text = (tmp_path / "swiftstomp.h").read_text()
    assert version in text
    (tmp_path / "swiftstomp.h").write_text(text.replace(version, f"{version}SST_API int32_t sst_new(void);\n"))
    result = attempt(CHECK, "swiftstomp", *options)
    assert result.returncode == 1 and "abi-check: sst_new is in the header and not exported\n" in result.stdout
    (tmp_path / "new.c").write_text("int sst_new(void) { return 0; }")
    run("cc", "-shared", "-fPIC", "-Wl,-soname,libswiftstomp.so.1", f"-Wl,--version-script={ROOT}/cmake/swiftstomp.map",
        tmp_path / "new.c", "-Wl,--whole-archive", build / "libswiftstomp.a", "-Wl,--no-whole-archive", "-o", tmp_path / "new.so")
    assert attempt(CHECK, "swiftstomp", *options, "--library", tmp_path / "new.so", "--write").returncode == 0
    added = set((tmp_path / "libswiftstomp1.symbols").read_text().splitlines())
    added -= set(SYMBOLS.with_name("libswiftstomp1.symbols").read_text().splitlines())
    assert added == {" sst_new@SWIFTSTOMP_1 1.0.0"}


# Tests/ABI/test_library.py checks what is built, for every target.
def test_the_same_from_the_static_library(world):
    world.link()
    assert world.check()[0] == 0


def test_a_function_is_removed(world):
    world.change_header(ACK)
    world.link("SWIFTMQTT_1 { global: smq_*; local: smq_ack; *; };")
    world.breaks("removed: function smq_ack SWIFTMQTT_1 int32_t (smq_client *, uint64_t, uint32_t, const smq_bytes *)")


def test_a_function_is_only_promised(world):
    world.link("SWIFTMQTT_1 { global: smq_*; local: smq_ack; *; };")
    world.breaks("smq_ack is in the header and not exported")


def test_a_function_is_exported_that_nobody_knows(world):
    world.link(more="int smq_secret(void) { return 1; }")
    world.breaks("smq_secret is exported and not in the header")


def test_a_parameter_changes(world):
    world.change_header(("smq_client *client, uint64_t token, uint32_t reason_code, const",
                         "smq_client *client, uint32_t token, uint32_t reason_code, const"))
    signature = "(smq_client *, uint{}_t, uint32_t, const smq_bytes *)"
    world.breaks(f"changed: function smq_ack is SWIFTMQTT_1 int32_t {signature.format(32)}, "
                 f"was SWIFTMQTT_1 int32_t {signature.format(64)}")


def test_the_version_node_changes(world):
    world.link("SWIFTMQTT_2 { global: smq_*; local: *; };")
    world.breaks("changed: function smq_version is SWIFTMQTT_2 uint32_t (void), was SWIFTMQTT_1 uint32_t (void)")


def test_the_soname_changes(world):
    world.link(soname="libswiftmqtt.so.2")
    world.breaks("removed: soname libswiftmqtt.so.1 ")


def test_a_field_moves(world):
    world.change_header(("    int32_t status;             /* 0 or", "    uint32_t extra;\n    int32_t status; /* 0 or"))
    world.breaks("changed: field smq_event.status is 12 4 int32_t, was 8 4 int32_t")


def test_a_field_is_renamed(world):
    world.change_header(("    int32_t status;             /* 0 or", "    int32_t state; /* 0 or"))
    world.breaks("removed: field smq_event.status 8 4 int32_t")


def test_a_struct_without_a_size_grows(world):
    world.change_header(("    size_t size;      /* bytes */\n", "    size_t size;\n    size_t more;\n"))
    status, output = world.check()
    assert status == 1 and "would break" in output
    assert "changed: field smq_message.payload is " in output


@pytest.mark.parametrize("old, new, line", [
    ("SMQ_ERR_FULL = -201,", "SMQ_ERR_FULL = -299,", "changed: constant SMQ_ERR_FULL is -299, was -201"),
    ("#define SMQ_MEMORY_ALIGNMENT 8 ", "#define SMQ_MEMORY_ALIGNMENT 16 ",
     "changed: constant SMQ_MEMORY_ALIGNMENT is 16, was 8"),
    ("    SMQ_STAGE_WRITE = 8, ", "    ", "removed: constant SMQ_STAGE_WRITE 8")])
def test_a_constant_changes(world, old, new, line):
    world.change_header((old, new))
    world.breaks(line)


def told_then_written(world, *lines):
    status, output = world.check()
    assert status == 1
    for line in lines:
        assert f"abi-check: {line}\n" in output
    assert output.endswith("make abi-check WRITE=1 writes it down\n")
    assert world.check("--write")[0] == 0
    status, output = world.check()
    assert status == 0 and output.count("\n") == 1


def test_a_function_is_added(world):
    world.change_header(NEW, ("SMQ_VERSION_MINOR 0", "SMQ_VERSION_MINOR 1"))
    world.link(more="int smq_new(void) { return 0; }")
    told_then_written(world, "added: function smq_new SWIFTMQTT_1 int32_t (void)")
    added = set(world.symbols.read_text().splitlines()) - set(SYMBOLS.read_text().splitlines())
    assert added == {" smq_new@SWIFTMQTT_1 1.1.0"}


def test_a_constant_is_added(world):
    world.change_header(("    SMQ_OK = 0,\n", "    SMQ_OK = 0,\n    SMQ_NEW = 7,\n"))
    told_then_written(world, "added: constant SMQ_NEW 7")


def test_a_struct_that_says_its_size_grows(world):
    text = world.header.read_text()
    end = text.index("} smq_event;")
    world.header.write_text(f"{text[:end]}    uint64_t more;\n{text[end:]}")
    told_then_written(world, "added: field smq_event.more 208 8 uint64_t",
                      "changed: struct smq_event is 216 8, was 208 8")
