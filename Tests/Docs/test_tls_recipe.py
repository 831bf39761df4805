"""docs/recipes/tls.md: each case is put into the program of the page, which runs against a server that takes this case, and
against one that has to be refused."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from Support.certificates import hashed_directory, openssl
from Support.many_listeners import PSK_IDENTITY, PSK_KEY
from Support.servers import free_port, need
from Support.waiting import wait_for

from .blocks import ROOT, blocks
from .conftest import BUILD
from .session import STRICT

PAGE = ROOT / "docs" / "recipes" / "tls.md"
BLOCKS = {}
for _block in blocks(PAGE):
    _heading = re.findall(r"^## (.*)$", "\n".join(PAGE.read_text().splitlines()[: _block.line]), re.M)[-1]
    BLOCKS[_heading, _block.language] = _block.text
PROGRAM = BLOCKS["A CA of your own", "c"]
CHOOSE = re.compile(r"^static void choose\(.*?^}\n", re.M | re.S)
LOAD = re.search(r"^static size_t load\(.*?^}\n", BLOCKS["A pre-shared key", "c"], re.M | re.S)[0]


class Board:
    """A directory in place of /etc/sensord and /var/lib/sensord, and the program in it."""

    def __init__(self, directory: Path):
        self.directory = directory

    def lay(self, name: str, content: bytes | Path) -> None:
        (self.directory / name).write_bytes(content.read_bytes() if isinstance(content, Path) else content)

    def compiled(self, url: str, case: str, *replaced: tuple[str, str], flags: tuple[str, ...] = ()) -> None:
        """The page's program with this case in it: in place of its choose(), or behind it."""
        block = BLOCKS[case, "c"] if case else ""
        if re.search(r"\bload\(", block) and LOAD not in block:
            block = LOAD + block
        text = CHOOSE.sub(lambda old: (block if CHOOSE.search(block) else old[0] + block), PROGRAM) if block else PROGRAM
        for old, new in (("mqtts://broker.example", url), *replaced):
            assert old in text, old
            text = text.replace(old, new)
        text = re.sub(r"/(etc|var/lib)/sensord", lambda _: str(self.directory), text)
        source = self.directory / "sensord.c"
        source.write_text(text)
        command = ["gcc", *STRICT, *flags, f"-I{ROOT}/include", source, f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lswiftmqtt-tls",
                   "-lswiftmqtt", "-o", self.directory / "sensord"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    def run(self, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.directory / "sensord"], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)

    def publishes(self, **environment: str) -> str:
        """What it printed about the connection."""
        done = self.run(**environment)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert re.fullmatch(r"TLS_\w+, (new|resumed) session\n", done.stdout), done.stdout
        return done.stdout

    def refuses(self, cause: str, **environment: str) -> None:
        """With the name of the cause, as smq_tls_cause_name() has it, and the certificate's subject."""
        done = self.run(**environment)
        assert done.returncode == 1 and done.stderr.startswith("SMQ_ERR_TLS at stage tls\n") and cause in done.stderr, done


@pytest.fixture
def board(tmp_path: Path, certificates) -> Board:
    board = Board(tmp_path)
    board.lay("ca.pem", certificates.ca_file)
    return board


def test_a_ca_of_your_own(board, listeners):
    board.compiled(listeners["good"].url_for("localhost"), "")
    assert board.publishes().endswith("new session\n")
    for server, cause in ("unknown", "CA"), ("wrong-name", "name"), ("expired", "expired"):
        board.compiled(listeners[server].url_for("localhost"), "")
        board.refuses(cause)
    (board.directory / "ca.pem").unlink()
    done = board.run()
    assert done.returncode == 2 and done.stderr.startswith("the TLS settings: ca_file: No such file")


def test_the_cas_of_the_system(board, listeners, certificates):
    """In place of the system's CAs, the other one."""
    system = hashed_directory(board.directory / "system", certificates.other.certificate)
    for server in "good", "unknown":
        board.compiled(listeners[server].url_for("localhost"), "The CAs of the system")
        board.publishes(SSL_CERT_DIR=str(system))
    board.refuses("CA", SSL_CERT_DIR="/nonexistent")


def test_a_client_certificate(board, listeners, certificates):
    board.compiled(listeners["client"].url_for("localhost"), "A client certificate")
    for certificate, cause in (certificates.client, ""), (certificates.unknown_client, "client certificate"):
        board.lay("client.pem", certificate.chain)
        board.lay("client.key", certificate.key)
        board.refuses("client certificate refused") if cause else board.publishes()
    board.compiled(listeners["client"].url_for("localhost"), "")
    board.refuses("client certificate wanted")


def test_a_pre_shared_key(board, listeners):
    board.compiled(listeners["psk"].url_for("localhost"), "A pre-shared key", ('"gateway"', f'"{PSK_IDENTITY}"'))
    board.lay("psk", bytes.fromhex(PSK_KEY))
    board.publishes()
    board.lay("psk", bytes(32))
    board.refuses("PSK")


def test_pins(board, listeners, certificates):
    """Computed as the page does it; smq check prints the same."""
    for server in "good", "rsa":
        board.lay("server.pem", getattr(certificates, server).file)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", BLOCKS["Pins", "sh"]], cwd=board.directory, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        told = subprocess.run([BUILD / "tools" / "smq", "check", "--cafile", certificates.ca_file,
                               listeners[server].url_for("localhost")], capture_output=True, text=True, timeout=60)
        assert f"sha256//{done.stdout.strip()}" in told.stdout, told.stdout
        board.compiled(listeners["good"].url_for("localhost"), "Pins")
        board.publishes() if server == "good" else board.refuses("pin")


def test_a_revocation_list(board, listeners, certificates):
    board.lay("crl.pem", certificates.crl)
    board.compiled(listeners["good"].url_for("localhost"), "A revocation list")
    board.publishes()
    board.compiled(listeners["revoked"].url_for("localhost"), "A revocation list")
    board.refuses("revoked")


def test_ocsp_stapling(board, listeners, certificates):
    """Mosquitto staples nothing. OpenSSL's server does, and the test speaks MQTT through it."""
    board.compiled(listeners["good"].url_for("localhost"), "OCSP stapling")
    board.refuses("revocation unknown")
    root, port, response = certificates.root, free_port(), board.directory / "response.der"
    request = board.directory / "request.der"
    openssl("ocsp", "-issuer", root.certificate, "-cert", certificates.good.file, "-reqout", request)
    openssl("ocsp", "-index", root.index, "-rsigner", root.certificate, "-rkey", root.key, "-CA", root.certificate,
            "-reqin", request, "-respout", response, "-ndays", "7")
    board.compiled(f"mqtts://localhost:{port}", "OCSP stapling")
    out = board.directory / "said"
    with out.open("wb") as said, subprocess.Popen(
            ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-quiet", "-cert", certificates.good.file, "-key",
             certificates.good.key, "-status_file", response], stdin=subprocess.PIPE, stdout=said, bufsize=0) as server:
        try:
            wait_for(lambda: f"0100007F:{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text(), "s_server listens")
            program = subprocess.Popen([board.directory / "sensord"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            wait_for(lambda: b"MQTT" in out.read_bytes() or program.poll() is not None, "CONNECT")
            server.stdin.write(b"\x20\x02\x00\x00")
            wait_for(lambda: out.read_bytes().endswith(b"up") or program.poll() is not None, "PUBLISH")
            identifier = out.read_bytes().partition(b"gateway/state")[2][:2]
            server.stdin.write(b"\x40\x02" + identifier)
            printed, errors = program.communicate(timeout=30)
            assert (program.returncode, errors) == (0, "") and printed.endswith("new session\n")
        finally:
            server.terminate()


def test_new_certificates_without_a_restart(board, listeners, certificates):
    """It was begun with another CA, and connects after the right one was put in its place."""
    board.lay("ca.pem", certificates.other.certificate)
    renewed = 'rename("/etc/sensord/new.pem", "/etc/sensord/ca.pem");\n    reload(tls);\n    smq_options options'
    board.compiled(listeners["good"].url_for("localhost"), "New certificates without a restart", ("smq_options options", renewed))
    board.lay("new.pem", certificates.ca_file)
    board.publishes()
    board.lay("ca.pem", certificates.ca_file)
    board.lay("new.pem", b"nothing\n")
    done = board.run()
    assert done.returncode == 0 and done.stderr.startswith("the old settings stay: ca_file: "), done


def test_sessions_over_a_reboot(board, listeners):
    board.compiled(listeners["good"].url_for("localhost"), "Sessions over a reboot",
                   ("smq_options options", "restore(tls);\n    smq_options options"),
                   ("    smq_tls_close(tls);", "    save(tls);\n    smq_tls_close(tls);"))
    assert board.publishes().endswith("new session\n")
    assert (board.directory / "sessions").stat().st_mode & 0o777 == 0o600
    assert board.publishes().endswith("resumed session\n")


def test_a_key_in_hardware(board, listeners, certificates):
    need("softhsm2-util", "tls")
    module = "/usr/lib/softhsm/libsofthsm2.so"
    assert module in PAGE.read_text()
    (board.directory / "tokens").mkdir()
    board.lay("softhsm2.conf", f"directories.tokendir = {board.directory}/tokens\n".encode())
    environment = {"SOFTHSM2_CONF": str(board.directory / "softhsm2.conf"), "PKCS11_MODULE_PATH": module}
    pkcs8 = board.directory / "client.pkcs8"
    openssl("pkcs8", "-topk8", "-nocrypt", "-in", certificates.client.key, "-out", pkcs8)
    for arguments in (("--init-token", "--free", "--label", "sensord", "--pin", "9753", "--so-pin", "1234"),
                      ("--import", pkcs8, "--token", "sensord", "--label", "client", "--id", "01", "--pin", "9753")):
        subprocess.run(["softhsm2-util", *map(str, arguments)], env={**os.environ, **environment}, check=True,
                       capture_output=True, timeout=60)
    board.lay("client.pem", certificates.client.chain)
    board.lay("pin", b"9753")
    board.compiled(listeners["client"].url_for("localhost"), "A key in hardware")
    board.publishes(**environment)
    board.lay("pin", b"1111")
    done = board.run(**environment)
    assert done.returncode == 2 and "the TLS settings: key_uri: " in done.stderr, done


def test_a_board_without_a_clock(board, listeners):
    need("faketime", "docs")
    library, = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    in_1970 = {"LD_PRELOAD": str(library), "FAKETIME": "@1970-01-02 00:00:00", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "TZ": "UTC"}
    url = listeners["good"].url_for("localhost")
    board.compiled(url, "")
    board.refuses("clock", **in_1970)
    board.compiled(url, "A board without a clock", flags=(f"-DBUILT_S={int(time.time())}",))
    board.publishes(**in_1970)


def test_each_case_is_tried():
    """The headings, and the tests of this file."""
    names = {re.sub(r"\W+", "_", heading.lower()).strip("_") for heading, _ in BLOCKS}
    assert names == {name.removeprefix("test_") for name in globals() if name.startswith("test_")} - {"each_case_is_tried"}
