"""The links of a folder of HTML: which lead nowhere."""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r"<[a-zA-Z][^<>]*?\s(?:href|src)\s*=\s*\"([^\"]*)\"")
ANCHOR = re.compile(r"\s(?:id|name)\s*=\s*\"([^\"]*)\"")


def broken_links(directory: Path) -> list[str]:
    """Of all pages below the directory: each relative link whose file or anchor is not there."""
    texts = {str(path.relative_to(directory)): path.read_text(encoding="utf-8") for path in directory.rglob("*.html")}
    anchors = {name: {html.unescape(anchor) for anchor in ANCHOR.findall(text)} for name, text in texts.items()}
    wrong = []
    for name, text in sorted(texts.items()):
        for link in map(html.unescape, LINK.findall(text)):
            if re.match(r"(?i)[a-z][a-z0-9+.-]*:", link):
                continue
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
            if target.startswith("../") or not (directory / target).is_file():
                wrong.append(f"{name}: {link}: is not there")
            elif anchor and unquote(anchor) not in anchors.get(target, ()):
                wrong.append(f"{name}: {link}: has no such anchor")
    return wrong
