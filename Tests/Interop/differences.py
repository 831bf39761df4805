"""The differences between the two libraries that we know of, as far as a test can tell them: docs/differences.md says
of each which of the two follows the specification, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from .outcome import Outcome

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
ACKNOWLEDGEMENTS = ("PUBACK", "PUBREC", "PUBCOMP", "SUBACK", "UNSUBACK")

# Finds a difference in (libmosquitto's, ours), takes it out of both, and says whether it was there.
Explanation = Callable[[Outcome, Outcome], bool]
EXPLANATIONS: dict[str, Explanation] = {}


def listed() -> list[str]:
    """The identifiers of the tables in the document, in their order."""
    return re.findall(r"^\| `([a-z0-9-]+)` \|", DOCUMENT.read_text(), re.M)


def explains(*identifiers: str) -> Callable[[Explanation], Explanation]:
    """Enters a function into the table."""

    def enter(explanation: Explanation) -> Explanation:
        EXPLANATIONS.update(dict.fromkeys(identifiers, explanation))
        return explanation

    return enter


# ---- What explanations are made of. Each changes the outcomes, and says whether there was something to change. ----


def take(items: list, wanted: Callable[[object], object]) -> bool:
    """Takes out of a list what is wanted."""
    count = len(items)
    items[:] = [item for item in items if not wanted(item)]
    return len(items) < count


def surplus(more: list, less: list, types: Iterable[str] = ()) -> bool:
    """Takes out of a list what another one does not have: packets of these types, or anything."""
    left = list(less)

    def extra(item: object) -> bool:
        if item in left:
            left.remove(item)
            return False
        return not types or item["type"] in types

    return take(more, extra)


def breaks(outcome: Outcome, *statements: str) -> bool:
    """Takes out the rules that were broken, each as often as it stands here."""
    there = all(outcome.broken.count(statement) >= statements.count(statement) for statement in statements)
    for statement in statements if there else ():
        outcome.broken.remove(statement)
    return there


def answers(theirs: Outcome, ours: Outcome, call: str, their_word: str, our_word: str) -> list[int]:
    """Makes calls equal that were answered in two ways; the numbers of those calls."""
    numbers = []
    for index, (left, right) in enumerate(zip(theirs.calls, ours.calls, strict=False)):
        if left[1] == call and left[:-1] == right[:-1] and (left[-1], right[-1]) == (their_word, our_word):
            theirs.calls[index] = right
            numbers.append(left[2] if len(left) > 3 else 0)
    return numbers


def only_they_send(theirs: Outcome, ours: Outcome, call: str, *types: str) -> bool:
    """What we refuse, and they send: out with it, and all that follows from it."""
    numbers = answers(theirs, ours, call, "ok", "refused")
    surplus(theirs.sent, ours.sent, types)
    surplus(theirs.received, ours.received, ACKNOWLEDGEMENTS)
    surplus(theirs.witnessed, ours.witnessed)
    take(theirs.events, lambda event: event[1] in ("published", "subscribed", "unsubscribed") and event[2] in numbers)
    return bool(numbers)


def only_we_send(theirs: Outcome, ours: Outcome, types: Iterable[str]) -> bool:
    """Packets of ours, and their answers, that they do not have."""
    surplus(ours.received, theirs.received, ACKNOWLEDGEMENTS)
    return surplus(ours.sent, theirs.sent, types)


def no_client(theirs: Outcome, ours: Outcome) -> bool:
    """We make no client of settings that theirs connects with."""
    if not take(ours.events, lambda event: event == ("no such client",)):
        return False
    there = bool(theirs.packets("CONNECT"))
    for items in (theirs.sent, theirs.received, theirs.events, theirs.calls):
        items.clear()
    return there


# ---- Connecting ----


@explains("no-client-id-3-1")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return no_client(theirs, ours)


@explains("client-id-24-bytes-3-1")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return no_client(theirs, ours) and breaks(theirs, "[3.1:3.1]")


@explains("will-without-topic")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return no_client(theirs, ours) and breaks(theirs, "[MQTT-4.7.3-1]")


@explains("will-qos-3")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return no_client(theirs, ours) and breaks(theirs, "[MQTT-3.1.2-12]")


@explains("empty-password")
def _(theirs: Outcome, ours: Outcome) -> bool:
    packet, ours_ = theirs.packets("CONNECT")[0], ours.packets("CONNECT")[0]
    packet["size"] -= 2
    return packet.pop("password", None) == b"" and packet == ours_


@explains("limits")
def _(theirs: Outcome, ours: Outcome) -> bool:
    left, right = theirs.packets("CONNECT")[0], ours.packets("CONNECT")[0]
    found = (left["properties"], right["properties"]) == ({0x21: [20]}, {0x21: [64], 0x27: [4096]})
    left |= dict(size=right["size"], properties=right["properties"])
    return found


@explains("session-expiry")
def _(theirs: Outcome, ours: Outcome) -> bool:
    packet = ours.packets("CONNECT")[0]
    packet["size"] -= 5
    return packet["properties"].pop(0x11, None) == [0xFFFFFFFF]


@explains("clean-start-once")
def _(theirs: Outcome, ours: Outcome) -> bool:
    left, right = theirs.packets("CONNECT")[1], ours.packets("CONNECT")[1]
    found = left["clean"] and not right["clean"]
    left["clean"] = right["clean"]
    for outcome in (theirs, ours):
        outcome.packets("CONNACK", "received")[1].pop("session_present")
        outcome.events = [(*e[:2], *e[3:]) if e[1] == "connected" else e for e in outcome.events]
    # What the session had kept comes to us alone.
    surplus(ours.received, theirs.received, ("PUBLISH",))
    surplus(ours.sent, theirs.sent, ("PUBACK",))
    take(ours.events, lambda event: event[1] == "message")
    return found


@explains("keep-alive-below-5")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = take(theirs.events, lambda event: event[1:] == ("refused", "by the library")) and not theirs.sent
    found = found and bool(ours.packets("CONNACK", "received"))
    for items in (ours.sent, ours.received, ours.events, ours.calls):
        items.clear()
    return found


@explains("ping-at-once")
def _(theirs: Outcome, ours: Outcome) -> bool:
    surplus(theirs.received, ours.received, ("PINGRESP",))
    return surplus(theirs.sent, ours.sent, ("PINGREQ",))


@explains("ping-again")
def _(theirs: Outcome, ours: Outcome) -> bool:
    surplus(ours.received, theirs.received, ("PINGRESP",))
    return surplus(ours.sent, theirs.sent, ("PINGREQ",))


@explains("refusal-told-twice")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return take(theirs.events, lambda event: event[1] == "down" and str(event[-1]).startswith("MOSQ_ERR"))


@explains("disconnect-without-connection")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return bool(answers(theirs, ours, "disconnect", "no connection", "ok"))


@explains("reason-code-before-5-0")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return take(ours.calls, lambda call: call[1:] == ("disconnect", "refused"))


# ---- Publishing ----


@explains("queued-without-connection")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return bool(answers(theirs, ours, "publish", "no connection", "ok"))


@explains("qos-0-without-connection")
def _(theirs: Outcome, ours: Outcome) -> bool:
    surplus(ours.witnessed, theirs.witnessed)
    surplus(ours.events, theirs.events)
    return only_we_send(theirs, ours, ("PUBLISH",))


@explains("dup-at-first")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = False
    first: set[str] = set()
    for packet in theirs.packets("PUBLISH"):
        if packet["dup"] and packet["id"] not in first:
            packet["dup"], found = False, True
            found &= breaks(theirs, "[MQTT-4.3.2-2]" if packet["qos"] == 1 else "[MQTT-4.3.3-2]")
        first.add(packet.get("id"))
    return found


@explains("expiry-while-queued")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = False
    for left, right in zip(theirs.packets("PUBLISH"), ours.packets("PUBLISH"), strict=False):
        found |= left["properties"][0x02][0] > right["properties"][0x02][0]
        left["properties"] = right["properties"]
    for left, right in zip(theirs.witnessed, ours.witnessed, strict=False):
        left["properties"] = right["properties"]
    if expired := [event for event in ours.events if event[-1] == "SMQ_ERR_EXPIRED"]:
        found = surplus(theirs.sent, ours.sent, ("PUBLISH",)) and surplus(theirs.witnessed, ours.witnessed)
        surplus(theirs.received, ours.received, ("PUBACK",))
        take(ours.events, lambda event: event in expired)
        take(theirs.events, lambda event: event[1] == "published")
    return found


@explains("qos-0-overtakes")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = [p["qos"] for p in theirs.packets("PUBLISH")] != [p["qos"] for p in ours.packets("PUBLISH")]
    for outcome in (theirs, ours):
        for items in (outcome.sent, outcome.events, outcome.witnessed):
            items.sort(key=repr)
    return found


@explains("retain-not-available")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return only_they_send(theirs, ours, "publish", "PUBLISH")


@explains("subscription-identifier-in-publish")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return only_they_send(theirs, ours, "publish", "PUBLISH") and breaks(theirs, "[MQTT-3.3.4-6]")


@explains("response-topic-with-wildcards")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return only_they_send(theirs, ours, "publish", "PUBLISH") and breaks(theirs, "[MQTT-3.3.2-14]")


@explains("control-characters")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = bool(answers(theirs, ours, "publish", "refused", "ok"))
    take(ours.events, lambda event: event[1] == "published")
    surplus(ours.witnessed, theirs.witnessed)
    return found and only_we_send(theirs, ours, ("PUBLISH",))


# ---- Subscribing and receiving ----


@explains("subscribe-without-connection")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = bool(answers(theirs, ours, "subscribe", "no connection", "ok"))
    take(ours.events, lambda event: event[1] == "subscribed")
    return found and only_we_send(theirs, ours, ("SUBSCRIBE",))


@explains("empty-filter")
def _(theirs: Outcome, ours: Outcome) -> bool:
    """The server hangs up on it, and so all that follows differs."""
    kind = "subscribe" if theirs.packets("SUBSCRIBE") else "unsubscribe"
    found = only_they_send(theirs, ours, kind, kind.upper())
    surplus(theirs.received, ours.received, ("DISCONNECT",))
    surplus(ours.sent, theirs.sent, ("DISCONNECT",))
    take(theirs.events, lambda event: event[1] == "down")
    take(ours.events, lambda event: event[1] == "disconnected")
    take(ours.calls, lambda call: call[1] == "disconnect")
    return found and breaks(theirs, "[MQTT-4.7.3-1]")


@explains("share-without-name")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = only_they_send(theirs, ours, "subscribe", "SUBSCRIBE")
    # Before 5.0 nobody who reads the packet knows what "$share/" is to mean.
    breaks(theirs, "[MQTT-4.8.2-1]", "[MQTT-4.8.2-2]", "[MQTT-4.8.2-2]")
    return found


@explains("share-no-local")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return only_they_send(theirs, ours, "subscribe", "SUBSCRIBE") and breaks(theirs, "[MQTT-3.8.3-4]")


@explains("subscription-options-before-5-0")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return only_they_send(theirs, ours, "subscribe", "SUBSCRIBE")


@explains("unsuback-codes")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = False
    for outcome, told in ((theirs, False), (ours, True)):
        for index, event in enumerate(outcome.events):
            if event[1] == "unsubscribed":
                found |= told == bool(event[3])
                outcome.events[index] = (*event[:3], None, event[4])
    return found


@explains("qos-2-at-once")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = theirs.events != ours.events
    for outcome in (theirs, ours):
        messages = [event for event in outcome.events if event[1] == "message"]
        others = [event for event in outcome.events if event[1] != "message"]
        outcome.events = others + sorted(messages, key=repr)
    return found


# ---- Connections that break ----


@explains("subscribes-again")
def _(theirs: Outcome, ours: Outcome) -> bool:
    again = [packet for packet in ours.packets("SUBSCRIBE") if packet["connection"] > 1]
    return bool(again) and only_we_send(theirs, ours, ("SUBSCRIBE",))


@explains("asks-again")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = only_we_send(theirs, ours, ("SUBSCRIBE",))
    return found and take(ours.events, lambda event: event[1] == "subscribed")


@explains("dup-in-a-new-session")
def _(theirs: Outcome, ours: Outcome) -> bool:
    left, right = theirs.packets("PUBLISH")[1], ours.packets("PUBLISH")[1]
    found = left["dup"] and not right["dup"]
    theirs.sent.remove(left)
    ours.sent.remove(right)
    for outcome in (theirs, ours):
        found &= take(outcome.received, lambda packet: packet["type"] == "PUBACK")
    return found and breaks(theirs, "[MQTT-4.3.2-2]")


@explains("qos-2-in-a-new-session")
def _(theirs: Outcome, ours: Outcome) -> bool:
    found = take(ours.events, lambda event: event[-1] == "SMQ_ERR_SESSION_LOST")
    found &= take(theirs.events, lambda event: event[1] == "published")
    surplus(theirs.received, ours.received, ACKNOWLEDGEMENTS)
    surplus(theirs.witnessed, ours.witnessed)
    found &= surplus(theirs.sent, ours.sent, ("PUBLISH", "PUBREL"))
    return found and breaks(theirs, "[MQTT-4.3.3-2]")


@explains("pubrel-in-a-new-session")
def _(theirs: Outcome, ours: Outcome) -> bool:
    surplus(theirs.received, ours.received, ("PUBCOMP",))
    found = surplus(theirs.sent, ours.sent, ("PUBREL",))
    return found and breaks(theirs, "[4.3.3]", "[MQTT-2.2.1-5]")
