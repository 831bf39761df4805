"""Topic matching, and what is a Topic Name, a Topic Filter and UTF-8: a million random pairs, put to both libraries."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

from Support import smq

PAIRS = 1_000_000
SEED = os.environ.get("SMQ_TOPIC_SEED", "1")  # "new" draws one; it is printed
SHOWN = {  # the rows of docs/differences.md
    "discouraged-characters",
    "empty-topic-check",
    "share-matching",
    "share-check",
    "match-of-invalid",
    "no-match-of-invalid",
}


def test_both_agree_on_topics(tmp_path: Path) -> None:
    program = tmp_path / "topics"
    source = Path(__file__).with_name("topics.c")
    places = [f"-I{smq.HEADER.parent}", f"-L{smq.BUILD}", f"-Wl,-rpath,{smq.BUILD}"]
    subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-Werror", str(source), *places, "-lswiftmqtt", "-lmosquitto", "-o", program],
        check=True,
        timeout=60,
    )
    seed = str(random.getrandbits(64)) if SEED == "new" else SEED
    result = subprocess.run([program, seed, str(PAIRS)], capture_output=True, text=True, timeout=60)
    print(f"seed {seed}\n{result.stdout}")
    assert result.returncode == 0, f"an answer that differs in no way that docs/differences.md has:\n{result.stdout}"
    seen = dict(re.findall(r"^difference (\S+) (\d+)$", result.stdout, re.M))
    assert set(seen) == SHOWN
    assert all(int(count) for count in seen.values()), "listed, and not seen any more"
