"""The rules of SenML (RFC 8428), for the adapter in payload.py. A pack is a list of dicts with the labels of JSON."""

from __future__ import annotations

import binascii
import math
import re
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

Record = dict[str, Any]

#: Table 4: label in JSON -> in CBOR.
LABELS = {"bver": -1, "bn": -2, "bt": -3, "bu": -4, "bv": -5, "bs": -6, "n": 0, "u": 1, "v": 2, "vs": 3, "vb": 4, "s": 5,
          "t": 6, "ut": 7, "vd": 8}
NAMES = {number: name for name, number in LABELS.items()}
VALUES = ("v", "vs", "vb", "vd")
VERSION = 10
URL_SAFE, NOT_URL_SAFE = str.maketrans("+/", "-_"), str.maketrans("-_", "+/")
#: Section 4.5.3: below it, a time is relative to now.
ABSOLUTE = 1 << 28


def is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an int beyond all floats is one nevertheless
        return True


def is_tolerated(label: object) -> bool:
    """Whether a field with this unknown label may be there (section 4.4)."""
    return not label.endswith("_") if isinstance(label, str) else isinstance(label, int) and not isinstance(label, bool)


def is_text(value: object) -> bool:
    return isinstance(value, str)


#: label -> whether a value is of its kind
KINDS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("bt", "bv", "bs", "v", "s", "t", "ut"), is_number),
    **dict.fromkeys(("bn", "bu", "n", "u", "vs"), is_text),
    "bver": lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    "vb": lambda value: isinstance(value, bool),
    "vd": lambda value: isinstance(value, bytes),
}


def checked(pack: object, strict: bool) -> list[Record]:
    """The pack, if it keeps the rules; ValueError says which it breaks. strict: there are no unknown labels; otherwise those
    that do not end in "_" are tolerated (section 4.4)."""
    if not isinstance(pack, list) or not pack:
        raise ValueError("a pack of SenML is a list with records")
    base, version = "", VERSION
    for number, record in enumerate(pack):
        if not isinstance(record, Mapping) or not record:
            raise ValueError(f"record {number} is no dict with fields")
        for label, value in record.items():
            kind = KINDS.get(label) if isinstance(label, str) else None
            if kind is None and (strict or not is_tolerated(label)):
                raise ValueError(f"record {number} has the unknown field {label!r}")
            if kind is not None and not kind(value):
                raise ValueError(f"record {number}: {label} cannot be {value!r}")
        if number == 0:
            version = record.get("bver", VERSION)
        if version > VERSION or record.get("bver", version) != version:
            raise ValueError(f"record {number} is of another version than {min(version, VERSION)}")
        base = record.get("bn", base)
        check_fields(number, record, base)
    return [dict(record) for record in pack]


def check_fields(number: int, record: Mapping[str, Any], base: str) -> None:
    """Sections 4.2 and 4.5.1; section 5.1.7 has a record of base fields alone."""
    if not any(label in record for label in (*VALUES, "n", "u", "s", "t", "ut")):
        return
    values = [label for label in VALUES if label in record]
    if len(values) > 1 or not values and "s" not in record:
        raise ValueError(f"record {number} has {len(values)} values")
    name = base + record.get("n", "")
    if not re.fullmatch(r"[A-Za-z0-9][-A-Za-z0-9:./_]*", name):
        raise ValueError(f"record {number}: {name!r} is no name")


def to_json(record: Record) -> Record:
    """Data is base64url without padding."""
    if "vd" not in record:
        return record
    data = binascii.b2a_base64(record["vd"], newline=False).decode()
    return {**record, "vd": data.translate(URL_SAFE).rstrip("=")}


def from_json(record: object) -> object:
    if not isinstance(record, dict) or not isinstance(record.get("vd"), str):
        return record
    text = record["vd"]
    try:
        if not re.fullmatch(r"[-_A-Za-z0-9]*", text):
            raise ValueError(f"vd cannot be {text!r}")
        return {**record, "vd": binascii.a2b_base64(text.translate(NOT_URL_SAFE) + "=" * (-len(text) % 4))}
    except binascii.Error as error:
        raise ValueError(f"vd cannot be {text!r}: {error}") from None


def to_cbor(record: Record) -> dict[int, Any]:
    return {LABELS[label]: value for label, value in record.items()}


def from_cbor(record: object) -> object:
    """Labels that are text stay, but for those that have a number."""
    if not isinstance(record, dict):
        return record
    if any(label in LABELS for label in record if isinstance(label, str)):
        raise ValueError("in CBOR the label of a field of RFC 8428 is a number")
    return {label if isinstance(label, bool) else NAMES.get(label, label): value for label, value in record.items()}


def total(base: Any, value: Any) -> Any:
    """CBOR may have decimal fractions, which do not add to a float."""
    return float(base) + float(value) if {type(base), type(value)} == {Decimal, float} else base + value


def resolved(pack: list[Record], now: float | None = None) -> list[Record]:
    """Section 4.6: each record by itself, with its whole name, its absolute time and its unit, in the order of time."""
    now = time.time() if now is None else now
    base: Record = {}
    found = []
    for record in checked(pack, strict=False):
        base.update((label, value) for label, value in record.items() if label in ("bn", "bt", "bu", "bv", "bs", "bver"))
        plain = {label: value for label, value in record.items() if label not in base}
        if not any(label in plain for label in (*VALUES, "s")):
            continue
        plain["n"] = base.get("bn", "") + plain.get("n", "")
        when = total(base.get("bt", 0), plain.get("t", 0))
        plain["t"] = when if when >= ABSOLUTE else total(now, when)
        if "u" in plain or "bu" in base:
            plain["u"] = plain.get("u", base.get("bu"))
        for label in ("v", "s"):
            if label in plain or label == "s" and "bs" in base:
                plain[label] = total(base.get(f"b{label}", 0), plain.get(label, 0))
        if base.get("bver", VERSION) != VERSION:
            plain["bver"] = base["bver"]
        found.append(plain)
    return sorted(found, key=lambda record: float(record["t"]))
