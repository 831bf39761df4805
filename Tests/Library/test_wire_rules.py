"""The checker itself: conversations made by hand. It must report the rule that is broken, and no other,
and nothing where none is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from Support import codec, wire_rules
from Support.recording import Chunk, Recording

# A line is a packet. ">" is the client's, "<" the server's; "|" stands for the Remaining Length. Each
# is said ten milliseconds after the one before, or after "@" as many seconds from the beginning of
# the connection. "--" is the end of a connection that was cut, "==" of one that the client hung up.

CONNECT_5 = "> 10 | 0004 4D515454 05 02 003C 00 0001 61"
RETURN_5 = "> 10 | 0004 4D515454 05 00 003C 05 11FFFFFFFF 0001 61"  # to a session that was kept
CONNECT_4 = "> 10 | 0004 4D515454 04 02 003C 0001 61"
RETURN_4 = "> 10 | 0004 4D515454 04 00 003C 0001 61"
CONNECT_3 = "> 10 | 0006 4D5149736470 03 02 003C 0001 61"
RETURN_3 = "> 10 | 0006 4D5149736470 03 00 003C 0001 61"
YES_5, KEPT_5 = "< 20 03 00 00 00", "< 20 03 01 00 00"
YES_4, KEPT_4 = "< 20 02 00 00", "< 20 02 01 00"
HELLO_5, HELLO_4, HELLO_3 = (CONNECT_5, YES_5), (CONNECT_4, YES_4), (CONNECT_3, YES_4)
AGAIN_5, AGAIN_4, AGAIN_3 = (RETURN_5, KEPT_5), (RETURN_4, KEPT_4), (RETURN_3, YES_4)
FIRST_5 = (RETURN_5, YES_5)  # of a session that will be kept

# Topic "a", payload "x", of 5.0
QOS_1, QOS_1_DUP = "> 32 | 0001 61 0001 00 78", "> 3A | 0001 61 0001 00 78"
QOS_2, QOS_2_DUP = "> 34 | 0001 61 0001 00 78", "> 3C | 0001 61 0001 00 78"
PUBACK, PUBREC, PUBREL, PUBCOMP = "40 02 0001", "50 02 0001", "62 02 0001", "70 02 0001"
SUBSCRIBE, SUBACK = "> 82 | 0001 00 0001 61 00", "< 90 | 0001 00 00"


def conversation(*lines: str) -> list[Recording]:
    recordings, begin, now = [Recording()], 0.0, 0.0
    for line in lines:
        moment, line = re.fullmatch(r"(?:@([\d.]+) )?(.*)", line).groups()
        now = begin + float(moment) if moment else now + 0.01
        if line in ("--", "=="):
            recordings[-1].cut, recordings[-1].end = line == "--", now
            recordings.append(Recording())
            begin = now
        else:
            first, _, rest = line[1:].rpartition("|")
            rest = bytes.fromhex(rest)
            data = bytes.fromhex(first) + (shortest(len(rest)) if first else b"") + rest
            recordings[-1].chunks.append(Chunk(now, line[0] == ">", data))
    recordings[-1].end = now
    return recordings


def shortest(number: int) -> bytes:
    high, low = divmod(number, 128)
    return bytes([low | 128]) + shortest(high) if high else bytes([low])


def yes(properties: str) -> str:
    """CONNACK of 5.0."""
    return f"< 20 | 00 00 {len(bytes.fromhex(properties)):02X} {properties}"


def connect(properties: str) -> str:
    """CONNECT of 5.0, with Clean Start."""
    size = len(bytes.fromhex(properties))
    return f"> 10 | 0004 4D515454 05 02 003C {size:02X} {properties} 0001 61"


def published(identifier: int, first: str = "32", topic: str = "61") -> str:
    """By the client, in 5.0."""
    return f"> {first} | 0001 {topic} {identifier:04X} 00 78"


def sent(identifier: int, first: str = "32") -> str:
    """By the server, in 5.0."""
    return f"< {first} | 0001 61 {identifier:04X} 00 78"


WRONG = [
    # -- section 1.5: integers, strings
    ("[MQTT-1.5.5-1]", *HELLO_5, "> C0 80 00"),
    ("[MQTT-1.5.5-1]", *HELLO_5, "> 30 | 0001 61 80 00"),
    ("[1.5.5]", *HELLO_5, "> 30 FF FF FF FF 01 00"),
    ("[1.5.5]", *HELLO_5, "> 30 | 0001 61 FF FF FF FF 01"),
    ("[MQTT-1.5.4-1]", *HELLO_4, "> 30 | 0001 FF 78"),
    ("[MQTT-1.5.4-1]", *HELLO_4, "> 30 | 0003 EDA080 78"),
    ("[MQTT-1.5.4-1]", *HELLO_4, "> 30 | 0002 C080 78"),
    ("[MQTT-1.5.4-1]", *HELLO_5, "> 30 | 0001 61 06 26 0001 80 0000 78"),
    ("[MQTT-1.5.4-1]", "> 10 | 0004 4D515454 04 02 003C 0001 FF", YES_4),
    ("[MQTT-1.5.4-2]", *HELLO_4, "> 30 | 0003 610062 78"),
    # -- chapter 2: headers, identifiers, properties
    ("[2.1.2]", *HELLO_4, "> 00 00"),
    ("[2.1.2]", *HELLO_4, "> D0 00"),
    ("[2.1.2]", *HELLO_4, "< C0 00"),
    ("[2.1.2]", *HELLO_4, "> F0 00"),
    ("[2.1.2]", *HELLO_4, "< E0 00"),
    ("[MQTT-2.1.3-1]", *HELLO_4, "> C1 00"),
    ("[MQTT-2.1.3-1]", *HELLO_5, SUBSCRIBE.replace("> 82", "> 80"), SUBACK),
    ("[MQTT-2.1.3-1]", *HELLO_5, QOS_2, "< " + PUBREC, "> 60 02 0001", "< " + PUBCOMP),
    ("[MQTT-2.1.3-1]", *HELLO_4, "> 8A | 0001 0001 61 00", "< 90 | 0001 00"),
    ("[MQTT-2.1.3-1]", *HELLO_4, "< D8 00"),
    ("[2.1.4]", *HELLO_4, "> C0 01 00"),
    ("[2.1.4]", *HELLO_4, "> 30 | 0005 61"),
    ("[2.1.4]", *HELLO_4, "> 40 01 00"),
    ("[MQTT-2.2.1-3]", *HELLO_4, "> 32 | 0001 61 0000 78"),
    ("[MQTT-2.2.1-3]", *HELLO_5, QOS_1, published(1, topic="62")),
    ("[MQTT-2.2.1-3]", *HELLO_5, QOS_1, QOS_1),
    ("[MQTT-2.2.1-3]", *HELLO_5, QOS_2, "< " + PUBREC, published(1), "> " + PUBREL),
    ("[MQTT-2.2.1-3]", *HELLO_5, SUBSCRIBE, QOS_1, SUBACK),
    ("[MQTT-2.2.1-3]", *HELLO_5, QOS_1, SUBSCRIBE, SUBACK),
    ("[MQTT-2.2.1-3]", *HELLO_5, SUBSCRIBE, "> A2 | 0001 00 0001 61", "< B0 | 0001 00 00"),
    ("[MQTT-2.2.1-3]", *FIRST_5, QOS_1, "--", *AGAIN_5, published(1, topic="62")),
    ("[MQTT-2.2.1-4]", *HELLO_5, sent(0)),
    ("[MQTT-2.2.1-5]", *HELLO_5, "> " + PUBACK),
    ("[MQTT-2.2.1-5]", *HELLO_5, sent(1), "> 40 02 0002", "> " + PUBACK),
    ("[MQTT-2.2.1-5]", *HELLO_5, sent(1), "> " + PUBACK, "> " + PUBACK),
    ("[MQTT-2.2.1-5]", *HELLO_5, sent(1), "> " + PUBREC, "> " + PUBACK),
    ("[MQTT-2.2.1-5]", *HELLO_5, sent(1, "34"), "> " + PUBACK, "> " + PUBREC),
    ("[MQTT-2.2.1-5]", *HELLO_5, "> " + PUBREC),
    ("[MQTT-2.2.1-5]", *HELLO_5, sent(1, "34"), "> " + PUBREC, "> " + PUBCOMP),
    ("[MQTT-2.2.1-5]", *FIRST_5, sent(1), "--", *AGAIN_5, "> " + PUBACK),
    ("[MQTT-2.2.1-5]", *HELLO_5, "< " + PUBACK),
    ("[MQTT-2.2.1-5]", *HELLO_5, "< " + PUBCOMP),
    ("[MQTT-2.2.1-5]", *HELLO_5, "< " + PUBREC, "> 62 03 0001 92", "< 70 03 0001 92"),
    ("[MQTT-2.2.1-6]", *HELLO_5, SUBACK),
    ("[MQTT-2.2.1-6]", *HELLO_5, SUBSCRIBE, "< B0 | 0001 00 00"),
    ("[2.2.2.1]", *HELLO_5, "> 30 | 0001 61 05 01 01"),
    ("[2.2.2.2]", *HELLO_5, "> 30 | 0001 61 02 7E 01"),  # there is no such property
    ("[2.2.2.2]", *HELLO_5, "> 30 | 0001 61 05 11 00000001"),  # not in PUBLISH
    ("[2.2.2.2]", *HELLO_5, "> 30 | 0001 61 04 01 01 01 01"),  # twice
    ("[2.2.2.2]", *HELLO_5, "> 30 | 0001 61 02 01 02"),  # neither 0 nor 1
    ("[2.2.2.2]", connect("21 0000"), YES_5),  # Receive Maximum 0
    ("[2.2.2.2]", connect("27 00000000")),
    ("[2.2.2.2]", *HELLO_5, "> 82 | 0001 02 0B 00 0001 61 00", SUBACK),
    ("[2.2.2.2]", *HELLO_5, "> 82 | 0001 04 0B 01 0B 02 0001 61 00", SUBACK),
    ("[2.2.2.2]", *HELLO_5, "> A2 | 0001 02 0B 01 0001 61", "< B0 | 0001 00 00"),
    ("[2.2.2.2]", *HELLO_5, "> E0 | 00 03 21 0001"),
    ("[2.2.2.2]", CONNECT_5, yes("24 02")),  # Maximum QoS 2 is said by saying nothing
    ("[2.2.2.2]", CONNECT_5, yes("21 0001 21 0002")),
    # -- section 3.1: CONNECT
    ("[MQTT-3.1.0-1]", "> C0 00"),
    ("[MQTT-3.1.0-1]", "> C0 00", YES_5, "@99 --"),
    ("[MQTT-3.1.0-2]", *HELLO_4, CONNECT_4),
    ("[MQTT-3.1.2-1]", "> 10 | 0004 4D515455 04 02 003C 0001 61"),
    ("[3.1.2.2]", "> 10 | 0004 4D515454 06 02 003C 0001 61"),
    ("[3.1.2.2]", "> 10 | 0006 4D5149736470 04 02 003C 0001 61"),
    ("[MQTT-3.1.2-3]", "> 10 | 0004 4D515454 04 03 003C 0001 61", YES_4),
    ("[MQTT-3.1.2-11]", "> 10 | 0004 4D515454 04 0A 003C 0001 61", YES_4),
    ("[MQTT-3.1.2-12]", "> 10 | 0004 4D515454 04 1E 003C 0001 61 0001 77 0000", YES_4),
    ("[MQTT-3.1.2-13]", "> 10 | 0004 4D515454 04 22 003C 0001 61", YES_4),
    ("[3.1.1:MQTT-3.1.2-22]", "> 10 | 0004 4D515454 04 42 003C 0001 61 0001 70", YES_4),
    ("[3.1.1:MQTT-3.1.3-7]", "> 10 | 0004 4D515454 04 00 003C 0000", YES_4),
    ("[3.1:3.1]", "> 10 | 0006 4D5149736470 03 02 003C 0000", YES_4),
    ("[3.1:3.1]", "> 10 | 0006 4D5149736470 03 02 003C 0018" + "61" * 24, YES_4),
    ("[2.1.4]", "> 10 | 0004 4D515454 04 02 003C 0001 61 0000"),
    ("[2.1.4]", "> 10 | 0004 4D515454 04 82 003C 0001 61"),  # a flag, but no user name
    ("[MQTT-4.7.0-1]", "> 10 | 0004 4D515454 04 06 003C 0001 61 0001 23 0000", YES_4),
    ("[MQTT-4.7.3-1]", "> 10 | 0004 4D515454 04 06 003C 0001 61 0000 0000", YES_4),
    ("[2.2.2.2]", "> 10 | 0004 4D515454 05 06 003C 00 0001 61 03 23 0001 0001 77 0000", YES_5),
    ("[3.1.2.11.10]", connect("16 0001 70"), YES_5),
    ("[MQTT-3.1.2-20]", *HELLO_4, "@61 > C0 00"),
    ("[MQTT-3.1.2-20]", *HELLO_4, "@30 > C0 00", "< D0 00", "@95 < D0 00"),
    ("[MQTT-3.1.2-20]", *HELLO_4, "@61 --"),
    ("[MQTT-3.1.2-21]", CONNECT_5, yes("13 0005"), "@6 > C0 00"),
    ("[MQTT-3.1.2-24]", connect("27 00000009"), YES_5, "< 30 | 0001 61 00 78787878"),
    ("[MQTT-3.1.2-26]", connect("22 0001"), YES_5, "< 30 | 0001 61 03 23 0002"),
    ("[MQTT-3.1.2-27]", *HELLO_5, "< 30 | 0001 61 03 23 0001"),
    ("[MQTT-3.1.2-30]", connect("15 0001 6D"), "> C0 00"),
    # -- section 3.2: CONNACK, and its limits
    ("[MQTT-3.2.0-1]", CONNECT_4, "< D0 00"),
    ("[MQTT-3.2.0-2]", *HELLO_4, YES_4),
    ("[MQTT-3.2.2-1]", CONNECT_4, "< 20 02 02 00"),
    ("[MQTT-3.2.2-2]", CONNECT_4, KEPT_4),
    ("[MQTT-3.2.2-6]", CONNECT_4, "< 20 02 01 05"),
    ("[MQTT-3.2.2-8]", CONNECT_4, "< 20 02 00 06"),
    ("[MQTT-3.2.2-8]", CONNECT_5, "< 20 03 00 05 00"),
    ("[MQTT-3.2.2-11]", CONNECT_5, yes("24 01"), QOS_2),
    ("[MQTT-3.2.2-14]", CONNECT_5, yes("25 00"), "> 31 | 0001 61 00 78"),
    ("[MQTT-3.2.2-15]", CONNECT_5, yes("27 00000006"), "> 30 | 0001 61 00 78"),
    ("[MQTT-3.2.2-17]", CONNECT_5, yes("22 0001"), "> 30 | 0001 61 03 23 0002"),
    ("[MQTT-3.2.2-18]", *HELLO_5, "> 30 | 0001 61 03 23 0001"),
    ("[3.2.2.3.11]", CONNECT_5, yes("28 00"), "> 82 | 0001 00 0001 23 00", SUBACK),
    ("[3.2.2.3.12]", CONNECT_5, yes("29 00"), "> 82 | 0001 02 0B 01 0001 61 00", SUBACK),
    (
        "[3.2.2.3.13]",
        CONNECT_5,
        yes("2A 00"),
        "> 82 | 0001 00 000A 2473686172652F732F61 00",
        SUBACK,
    ),
    # -- section 3.3: PUBLISH
    ("[MQTT-3.3.1-1]", *FIRST_5, QOS_1, "--", *AGAIN_5, QOS_1),
    ("[MQTT-3.3.1-1]", *FIRST_5, QOS_2, "--", *AGAIN_5, QOS_2),
    (
        "[MQTT-3.3.1-1]",
        RETURN_4,
        YES_4,
        "> 32 | 0001 61 0001",
        "--",
        *AGAIN_4,
        "> 32 | 0001 61 0001",
    ),
    (
        "[MQTT-3.3.1-1]",
        RETURN_3,
        YES_4,
        "> 32 | 0001 61 0001",
        "--",
        *AGAIN_3,
        "> 32 | 0001 61 0001",
    ),
    ("[MQTT-3.3.1-1]", *FIRST_5, QOS_1, "--", *AGAIN_5, "> 3A | 0001 62 0001 00 78"),
    ("[MQTT-3.3.1-2]", *HELLO_4, "> 38 | 0001 61"),
    ("[MQTT-3.3.1-4]", *HELLO_4, "> 36 | 0001 61 0001"),
    ("[MQTT-3.3.2-2]", *HELLO_4, "> 30 | 0003 612F23"),
    ("[MQTT-3.3.2-2]", *HELLO_4, "> 30 | 0001 2B"),
    ("[MQTT-3.3.2-8]", CONNECT_5, yes("22 0001"), "> 30 | 0001 61 03 23 0000"),
    ("[MQTT-3.3.2-14]", *HELLO_5, "> 30 | 0001 61 04 08 0001 23"),
    ("[3.3.2.3.2]", *HELLO_5, "> 30 | 0001 61 02 01 01 FF"),
    ("[3.3.2.3.4]", CONNECT_5, yes("22 0001"), "> 30 | 0000 03 23 0001"),
    (
        "[3.3.2.3.4]",
        *(CONNECT_5, yes("22 0001"), "> 30 | 0001 61 03 23 0001", "--"),
        *(CONNECT_5, yes("22 0001"), "> 30 | 0000 03 23 0001"),
    ),
    ("[MQTT-3.3.4-6]", *HELLO_5, "> 30 | 0001 61 02 0B 01"),
    ("[MQTT-3.3.4-7]", CONNECT_5, yes("21 0001"), QOS_1, published(2)),
    (
        "[MQTT-3.3.4-7]",
        CONNECT_5,
        yes("21 0001"),
        QOS_2,
        "< " + PUBREC,
        "> " + PUBREL,
        published(2),
    ),
    ("[MQTT-3.3.4-9]", connect("21 0001"), YES_5, sent(1), sent(2), "> 40 02 0001", "> 40 02 0002"),
    ("[MQTT-4.7.3-1]", *HELLO_4, "> 30 | 0000 78"),
    ("[MQTT-4.7.3-1]", *HELLO_5, "> 30 | 0000 00 78"),
    # -- sections 3.4 to 3.7: what answers PUBLISH
    ("[MQTT-3.4.2-1]", *HELLO_5, sent(1), "> 40 03 0001 92"),
    ("[MQTT-3.5.2-1]", *HELLO_5, sent(1, "34"), "> 50 03 0001 01"),
    ("[MQTT-3.6.2-1]", *HELLO_5, QOS_2, "< " + PUBREC, "> 62 03 0001 80", "< " + PUBCOMP),
    ("[MQTT-3.7.2-1]", *HELLO_5, "< " + PUBREL, "> 70 03 0001 10"),
    ("[2.1.4]", *HELLO_4, "< 32 | 0001 61 0001", "> 40 03 0001 00", "> " + PUBACK),
    # -- sections 3.8 to 3.11: SUBSCRIBE, UNSUBSCRIBE and their answers
    ("[MQTT-3.8.3-2]", *HELLO_4, "> 82 02 0001"),
    ("[MQTT-3.8.3-4]", *HELLO_5, "> 82 | 0001 00 000A 2473686172652F732F61 04", SUBACK),
    ("[MQTT-3.8.3-5]", *HELLO_5, "> 82 | 0001 00 0001 61 40", SUBACK),
    ("[MQTT-3.8.3-5]", *HELLO_4, "> 82 | 0001 0001 61 04", "< 90 | 0001 00"),
    ("[3.8.3.1]", *HELLO_4, "> 82 | 0001 0001 61 03", "< 90 | 0001 00"),
    ("[3.8.3.1]", *HELLO_5, "> 82 | 0001 00 0001 61 30", SUBACK),
    ("[MQTT-3.8.4-6]", *HELLO_5, SUBSCRIBE, "< 90 | 0001 00 00 00"),
    ("[MQTT-3.8.4-6]", *HELLO_4, "> 82 | 0001 0001 61 00", "< 90 | 0001"),
    ("[MQTT-3.9.3-2]", *HELLO_5, SUBSCRIBE, "< 90 | 0001 00 03"),
    ("[MQTT-3.9.3-2]", *HELLO_4, "> 82 | 0001 0001 61 00", "< 90 | 0001 87"),
    ("[MQTT-3.10.3-2]", *HELLO_4, "> A2 02 0001"),
    ("[MQTT-3.11.3-2]", *HELLO_5, "> A2 | 0001 00 0001 61", "< B0 | 0001 00 01"),
    ("[MQTT-4.7.1-1]", *HELLO_4, "> 82 | 0001 0003 232F61 00", "< 90 | 0001 00"),
    ("[MQTT-4.7.1-1]", *HELLO_4, "> 82 | 0001 0002 6123 00", "< 90 | 0001 00"),
    ("[MQTT-4.7.1-2]", *HELLO_4, "> 82 | 0001 0004 612B2F62 00", "< 90 | 0001 00"),
    ("[MQTT-4.7.3-1]", *HELLO_4, "> 82 | 0001 0000 00", "< 90 | 0001 00"),
    ("[MQTT-4.8.2-1]", *HELLO_5, "> 82 | 0001 00 0009 2473686172652F2F61 00", SUBACK),
    ("[MQTT-4.8.2-2]", *HELLO_5, "> 82 | 0001 00 000A 2473686172652F2B2F61 00", SUBACK),
    ("[MQTT-4.8.2-2]", *HELLO_5, "> 82 | 0001 00 0008 2473686172652F73 00", SUBACK),
    # -- sections 3.14 and 3.15: DISCONNECT, AUTH
    ("[MQTT-3.14.2-1]", *HELLO_5, "> E0 01 8B"),
    ("[MQTT-3.14.2-2]", *HELLO_5, "< E0 | 00 05 11 00000001"),
    ("[3.14.2.2.2]", *HELLO_5, "> E0 | 00 05 11 00000001"),
    ("[2.1.4]", *HELLO_4, "> E0 01 00"),
    ("[MQTT-3.14.4-1]", *HELLO_4, "> E0 00", "> C0 00"),
    ("[MQTT-3.15.2-1]", connect("15 0001 6D"), "> F0 | 00 04 15 0001 6D"),
    ("[3.15.2.2.2]", connect("15 0001 6D"), "< F0 | 18 00"),
    ("[MQTT-4.12.0-5]", connect("15 0001 6D"), "> F0 | 18 04 15 0001 6E"),
    ("[MQTT-4.12.0-7]", *HELLO_5, "> F0 | 19 04 15 0001 6D"),
    # -- section 4.3: QoS
    ("[4.3]", *HELLO_5, QOS_2, "< " + PUBACK),
    ("[4.3]", *HELLO_5, QOS_1, "< " + PUBREC),
    ("[MQTT-4.3.2-2]", *HELLO_5, QOS_1_DUP),
    ("[MQTT-4.3.2-2]", *FIRST_5, QOS_1, "< " + PUBACK, "@1 --", *AGAIN_5, QOS_1_DUP),
    ("[MQTT-4.3.2-2]", *FIRST_5, QOS_1, "--", RETURN_5, YES_5, QOS_1_DUP),
    ("[MQTT-4.3.2-2]", *HELLO_5, QOS_1, "--", *HELLO_5, QOS_1_DUP),
    ("[MQTT-4.3.3-2]", *HELLO_5, QOS_2_DUP),
    ("[4.3.3]", *HELLO_5, QOS_2, "> " + PUBREL),
    ("[4.3.3]", *HELLO_5, QOS_2, "< " + PUBREC, "> " + PUBREL, "> " + PUBREL),
    ("[MQTT-4.3.3-4]", *HELLO_5, QOS_2, "< " + PUBREC, "@3 < D0 00"),
    ("[MQTT-4.3.3-4]", *FIRST_5, QOS_2, "< " + PUBREC, "--", *AGAIN_5, QOS_2_DUP),
    (
        "[MQTT-4.3.3-6]",
        *(*FIRST_5, QOS_2, "< " + PUBREC, "> " + PUBREL, "--"),
        *(*AGAIN_5, QOS_2_DUP),
    ),
    ("[MQTT-4.3.3-11]", *HELLO_5, "< " + PUBREL, "@3 < D0 00"),
    # -- section 4.4: sending again
    ("[4.4]", *HELLO_5, QOS_1, QOS_1_DUP),
    ("[MQTT-4.4.0-1]", *FIRST_5, QOS_1, "--", *AGAIN_5, published(2)),
    ("[MQTT-4.4.0-1]", *FIRST_5, QOS_1, "--", *AGAIN_5, "@3 > C0 00"),
    # -- sections 4.5 and 4.6: answering, and in which order
    ("[MQTT-4.5.0-2]", *HELLO_5, sent(1), "@3 > C0 00"),
    ("[MQTT-4.5.0-2]", *HELLO_5, sent(1, "34"), "@3 > C0 00"),
    (
        "[MQTT-4.6.0-1]",
        *(*FIRST_5, published(1), published(2, "34"), "--"),
        *(*AGAIN_5, published(2, "3C"), published(1, "3A")),
    ),
    ("[MQTT-4.6.0-2]", *HELLO_5, sent(1), sent(2), "> 40 02 0002", "> 40 02 0001"),
    ("[MQTT-4.6.0-3]", *HELLO_5, sent(1, "34"), sent(2, "34"), "> 50 02 0002", "> 50 02 0001"),
    (
        "[MQTT-4.6.0-4]",
        *(*HELLO_5, published(1, "34"), published(2, "34"), "< 50 02 0001", "< 50 02 0002"),
        *("> 62 02 0002", "> 62 02 0001"),
    ),
    (
        "[MQTT-4.6.0-4]",
        *(*FIRST_5, published(1, "34"), published(2, "34"), "< 50 02 0002", "< 50 02 0001", "--"),
        *(*AGAIN_5, "> 62 02 0001", "> 62 02 0002"),
    ),
]

RIGHT = {
    "all there is in 3.1": (
        *("> 10 | 0006 4D5149736470 03 CE 003C 0001 61 0001 77 0001 78 0001 75 0001 70", YES_4),
        *("> 30 | 0001 61 78", "> 32 | 0001 61 0001", "< " + PUBACK, "> 8A | 0002 0001 61 02"),
        *("< 90 | 0002 02", "> A2 | 0002 0001 61", "< B0 02 0002", "> C0 00", "< D0 00", "> E0 00"),
    ),
    "all there is in 5.0": (
        "> 10 | 0004 4D515454 05 F6 003C 08 21 000A 11 00000001 0001 61"
        " 05 18 00000001 0001 77 0001 78 0001 75 0001 70",
        yes("21 0002 22 0002 24 01 25 01 27 00010000 12 0001 62 13 003C 28 01 29 01 2A 01"),
        "> 30 | 0001 61 0F 23 0002 26 0001 6B 0001 76 01 01 03 0000 C3A4",
        "> 32 | 0000 0001 03 23 0002 78",  # by its alias
        "< 40 | 0001 10 04 1F 0001 6E",
        "> 82 | 0001 02 0B 01 0001 61 2E 000C 2473686172652F732F2B2F23 01",
        "< 90 | 0001 00 02 01",
        "< 30 | 0001 61 04 0B 01 0B 02 78",
        "< 34 | 0001 61 0007 00 78",
        "> 50 02 0007",
        "< 62 02 0007",
        "> 70 02 0007",
        "> A2 | 0002 00 0001 61 0001 62",
        "< B0 | 0002 00 00 11",
        "> E0 | 04 05 11 00000064",
    ),
    "refused": (CONNECT_4, "< 20 02 00 05", "--", CONNECT_5, "< 20 | 00 87 00"),
    "refused by a server that knows no 5.0": (CONNECT_5, "< 20 02 00 01"),
    "authenticated": (
        *(connect("15 0001 6D"), "< F0 | 18 04 15 0001 6D", "> F0 | 18 04 15 0001 6D"),
        *(yes("15 0001 6D"), "> C0 00"),
    ),
    "one byte at a time": tuple(
        f"> {byte:02X}" for byte in bytes.fromhex("100D 0004 4D515454 04 02 003C 0001 61 C000")
    ),
    "the end comes in the middle of a packet": (*HELLO_4, "> 30 05 0001 61", "--", *HELLO_4),
    "identifiers may be used again": (
        *(*HELLO_5, QOS_1, "< " + PUBACK, QOS_2, "< " + PUBREC, "> " + PUBREL, "< " + PUBCOMP),
        *(SUBSCRIBE, SUBACK, QOS_2, "< 50 03 0001 97", QOS_1, "< " + PUBACK),
    ),
    "both sides have identifiers of their own": (
        *HELLO_5,
        QOS_1,
        sent(1),
        "> " + PUBACK,
        "< " + PUBACK,
    ),
    "the connection's requests end with it": (*FIRST_5, SUBSCRIBE, "--", *AGAIN_5, QOS_1),
    "sent again": (
        *(*FIRST_5, published(1), published(2, "34"), published(3, "34"), "< 50 02 0003", "--"),
        *(*AGAIN_5, published(1, "3A"), published(2, "3C"), "> 62 02 0003", published(4)),
        *("< 40 02 0001", "< 50 02 0002", "> 62 02 0002", "< 70 02 0003", "< 70 02 0002"),
        *("< 40 02 0004", "> E0 00"),
    ),
    "sent again in 3.1.1": (
        *(RETURN_4, YES_4, "> 32 | 0001 61 0001", "--", RETURN_4, KEPT_4, "> 3A | 0001 61 0001"),
        *("< " + PUBACK, "> 32 | 0001 61 0001"),
    ),
    "sent again in 3.1, which does not say that it has the session": (
        *(RETURN_3, YES_4, "> 34 | 0001 61 0001", "< " + PUBREC, "> " + PUBREL, "--"),
        *(RETURN_3, YES_4, "> 6A 02 0001", "< " + PUBCOMP),
    ),
    "sent again on the third connection": (
        *(*FIRST_5, QOS_2, "--", *AGAIN_5, QOS_2_DUP, "--", *AGAIN_5, QOS_2_DUP, "< " + PUBREC),
        *("> " + PUBREL, "--", *AGAIN_5, "> " + PUBREL, "< 70 03 0001 92"),
    ),
    "sent again by an alias, or without": (
        *(RETURN_5, yes("22 0001"), "> 32 | 0001 61 0001 03 23 0001 78", "--", *AGAIN_5, QOS_1_DUP),
    ),
    "a new session knows nothing of the old": (
        *(*FIRST_5, QOS_1, "--", *FIRST_5, published(1, topic="62"), "< " + PUBACK),
    ),
    "waiting for the server's Receive Maximum": (
        *(RETURN_5, yes("21 0002"), published(1), published(2), "--", RETURN_5),
        *("< 20 | 01 00 03 21 0001", published(1, "3A"), "@4 > C0 00", "< 40 02 0001"),
        *(published(2, "3A"), "< 40 02 0002", published(3)),
    ),
    "an answer that came as the client hung up": (
        *(*FIRST_5, QOS_1, published(2), "> E0 00", "< 40 02 0001", "< 40 02 0002", "=="),
        *(*AGAIN_5, QOS_1_DUP, published(2, topic="62")),
    ),
    "PUBREC that came as the client hung up": (
        *(*FIRST_5, published(1, "34"), published(2, "34"), "< 50 02 0001", "< 50 02 0002", "=="),
        *(*AGAIN_5, published(1, "3C"), "> 62 02 0002", "< 50 02 0001", "> 62 02 0001"),
    ),
    "QoS 2 said twice by the server is answered twice": (
        *(*HELLO_5, sent(1, "34"), "> " + PUBREC, sent(1, "3C"), "> " + PUBREC),
        *("< " + PUBREL, "> " + PUBCOMP),
    ),
    "refused by the client": (*HELLO_5, sent(1, "34"), "> 50 03 0001 83", sent(1), "> " + PUBACK),
    "acknowledgements of QoS 1 and 2 do not wait for one another": (
        *(*HELLO_5, sent(1), sent(2, "34"), "> 50 02 0002", "> 40 02 0001"),
    ),
    "just in time": (*HELLO_4, "@60 > C0 00", "@120 > C0 00", "@180 --"),
    "no Keep Alive": ("> 10 | 0004 4D515454 04 02 0000 0001 61", YES_4, "@9999 > C0 00"),
    "the server wants none": (CONNECT_5, yes("13 0000"), "@9999 > C0 00"),
    "waiting for CONNACK is not silence": (CONNECT_4, "@100 " + YES_4, "@159 > C0 00"),
    "after DISCONNECT nothing is owed": (*HELLO_5, sent(1), "> E0 00", "@9 --"),
}


@pytest.mark.parametrize("rule, lines", [(rule, lines) for rule, *lines in WRONG])
def test_what_is_wrong_is_reported(rule, lines):
    violations = wire_rules.check(conversation(*lines))
    assert [violation.split()[0] for violation in violations] == [rule], violations


@pytest.mark.parametrize("lines", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_not(lines):
    assert wire_rules.check(conversation(*lines)) == []


def test_a_report_says_where():
    (violation,) = wire_rules.check(conversation(*HELLO_4, "--", *HELLO_4, "> 38 | 0001 61"))
    assert violation == (
        "[MQTT-3.3.1-2] connection 2, packet 3, the client's PUBLISH: DUP with QoS 0: 38 03 00 01 61"
    )


def test_every_rule_is_here():
    """What the checker can say, some conversation above makes it say."""
    sources = [Path(module.__file__).read_text() for module in (codec, wire_rules)]
    known = {rule for source in sources for rule in re.findall(r'"(\[[\w.:-]+\])"', source)}
    assert len(known) > 60
    assert known - {rule for rule, *_ in WRONG} == set()
