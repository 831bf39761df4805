"""Sources/CommandLine/completion.bash, as bash would call it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from Support.servers import need

from .tool import PROGRAM, ROOT, TARGET, environment

pytestmark = pytest.mark.skipif(bool(TARGET), reason="bash runs here")
COMPLETION = ROOT / "Sources" / "CommandLine" / "completion.bash"
# Readline hands over the words, of which the last is to be completed.
SCRIPT = """
set -u
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_smq "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""
PACKETS = "connect disconnect publish subscribe unsubscribe will"


def complete(*words: str, program: str = str(PROGRAM), directory: Path | None = None) -> list[str]:
    result = subprocess.run(
        [need("bash"), "-c", SCRIPT, "bash", COMPLETION, program, *words], cwd=directory, capture_output=True,
        text=True, env=environment(), timeout=20)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.split()


@pytest.mark.parametrize("words, wanted", [
    ("", "bench check console help inspect journal pub replay rr stats sub top"),
    ("b", "bench"),
    ("help|", "bench check console help inspect journal pub replay rr stats sub top"),
    ("help|p", "pub"),
    ("pub|--repeat", "--repeat --repeat-delay"),
    ("pub|-r|--will-q", "--will-qos"),  # -r takes no value
    ("sub|--repeat", ""),  # of another command
    ("journal|-", "--check --help --json --pretty --version"),
    ("pub|--tls-engine-k", ""),  # cannot be used
    ("pub|--tls-version|", "tlsv1.2 tlsv1.3"),
    ("check|--keyform|", "engine pem"),
    ("pub|-q|", "0 1 2"),
    ("pub|--qos|=|", "0 1 2"),
    ("pub|--qos|=", "0 1 2"),
    ("pub|--qos|=|1", "1"),
    ("sub|--will-qos|", "0 1 2"),
    ("check|-V|mqttv3", "mqttv31 mqttv311"),
    ("pub|-D|", PACKETS),
    ("pub|--property|p", "publish"),
    ("sub|-D|subscribe|", "subscription-identifier user-property"),
    ("sub|-D|disconnect|s", "session-expiry-interval"),
    ("pub|-D|publish|content-type|", ""),
    ("pub|-m|", ""),
    ("pub|-m|x|", ""),
    ("nothing|-", ""),
])
def test_words(words: str, wanted: str):
    assert complete(*words.split("|")) == wanted.split()


def test_every_option_of_the_help():
    text = subprocess.run([PROGRAM, "pub", "--help"], capture_output=True, text=True, check=True).stdout
    named = re.findall(r"^ +(?:(-\w)(?:, |\b))?(--[\w-]+)?", text, re.M)
    assert set(complete("pub", "-")) == {name for names in named for name in names if name}


@pytest.mark.parametrize("option", ["-f", "--file", "-o", "--unix"])
def test_files(tmp_path: Path, option: str):
    for name in ("message.json", "message.txt", "other"):
        (tmp_path / name).touch()
    assert sorted(complete("pub", option, "mess", directory=tmp_path)) == ["message.json", "message.txt"]


def test_without_the_program_there_is_nothing():
    assert complete("pub", "-", program="/nonexistent/smq") == []
