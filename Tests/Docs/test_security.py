"""docs/security-on-a-gateway.md: the program with a credential of systemd's, and the unit."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from .blocks import ROOT, blocks

TRIED = {block.language: block for block in blocks(ROOT / "docs" / "security-on-a-gateway.md") if block.directive == "tried by"}


@pytest.fixture
def program(session):
    """Runs it with what LoadCredential= would lay there, and returns its exit status and what it printed."""
    made = session.compile(TRIED["c"], "daemon")
    credentials = session.directory / "credentials"
    credentials.mkdir()

    def run(text: str | None) -> tuple[int, str]:
        if text is not None:
            (credentials / "mqtt-password").write_text(text)
        done = subprocess.run([made, session.broker.url], env={**session.environment, "CREDENTIALS_DIRECTORY": str(credentials)},
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    return run


def test_it_connects_with_the_credential(session, program):
    assert program("secret-7\n") == (0, "connected\n")
    assert "u'greenhouse'" in session.broker.log.read_text()


@pytest.mark.parametrize("text", [None, "", "\n", "x" * 256], ids=["none", "empty", "a line", "too long"])
def test_without_a_credential_it_says_so(session, program, text):
    assert program(text) == (2, "there is no credential mqtt-password\n")
    assert "u'greenhouse'" not in session.broker.log.read_text()


def test_the_unit(tmp_path):
    """Judged by systemd itself where it is installed; its program is replaced by one that exists."""
    verify = shutil.which("systemd-analyze")
    if not verify:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "sensord.service"
    unit.write_text(TRIED["ini"].text.replace("/usr/local/bin/sensord", "/bin/true"))
    result = subprocess.run([verify, "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert [line for line in (result.stdout + result.stderr).splitlines() if "sensord" in line] == []
