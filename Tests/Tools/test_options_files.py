"""Files of options: those of -o, and the one in the user's directory that is read without being asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from Support.servers import Mosquitto

from .tool import smq

FORMAT = "%C|%P|%p"


@pytest.mark.parametrize("text, more, printed", [
    ("-m hello", [], "||hello"),
    ("-m hello", ["-m", "goodbye"], "||goodbye"),
    ("-m hello", ["-n"], "||"),
    ("# a comment\n\n  # another\n  -m  one and two \r\n", [], "||one and two"),
    ("-D publish content-type text/plain; charset=UTF-8\n-m x", [], "text/plain; charset=UTF-8||x"),
    ("-D  publish  User-Property  name  and a value\n--property publish user-property a b\n-m x", [],
     "|name:and a value a:b|x"),
    ("-n", ["-D", "publish", "content-type", "none"], "none||"),
], ids=range(7))
@pytest.mark.parametrize("is_default", [True, False])
def test_publish(broker: Mosquitto, tmp_path: Path, text: str, more: list[str], printed: str, is_default: bool):
    (tmp_path / "mosquitto_pub").write_text(text)
    topic = f"options/{tmp_path.name}"
    where = {"XDG_CONFIG_HOME": str(tmp_path)} if is_default else {}
    named = [] if is_default else ["-o", tmp_path / "mosquitto_pub"]
    subscriber = ["sub", *broker.address, "-V", "5", "-t", topic, "-F", FORMAT, "-C", 1, "-W", 15]
    # What is empty is not retained, so the session keeps it.
    session = ["-i", tmp_path.name, "-c", "-q", 1]
    assert smq(*subscriber, *session, "-E").returncode == 0
    assert smq("pub", *broker.address, "-V", "5", "-t", topic, "-q", 1, *named, *more, **where).returncode == 0
    result = smq(*subscriber, *session)
    assert (result.returncode, result.stdout.decode()) == (0, f"{printed}\n")


@pytest.mark.parametrize("text", ["-t \n-q 1\n", "-D publish content-type\n-q 1\n"])
def test_a_value_is_of_its_own_line(tmp_path: Path, text: str):
    file = tmp_path / "options"
    file.write_text(text)
    result = smq("pub", "-t", "a", "-m", "x", "-o", file)
    assert result.returncode == 1 and result.stderr.startswith(f"smq pub: {file}:1: -".encode())
    assert b" needs a " in result.stderr
