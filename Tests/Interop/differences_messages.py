"""The known differences in publishing, subscribing and receiving, and in what does not fit."""

from __future__ import annotations

from .explaining import (
    answers,
    breaks,
    explains,
    only_they_send,
    only_we_send,
    surplus,
    take,
)
from .outcome import Outcome

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


# ---- What does not fit ----


@explains("larger-than-the-buffer")
def _(theirs: Outcome, ours: Outcome) -> bool:
    """Before 5.0 the message comes, and its payload goes nowhere; in 5.0 the server leaves it out."""
    told = take(ours.events, lambda event: event[1:] == ("no room", "large", 10_000))
    left_out = surplus(theirs.received, ours.received, ("PUBLISH",)) and surplus(theirs.sent, ours.sent, ("PUBACK",))
    return take(theirs.events, lambda event: event[1] == "message" and len(event[3]) == 10_000) and told != left_out


@explains("larger-than-the-outbox")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return only_they_send(theirs, ours, "publish", "PUBLISH")


@explains("full-outbox")
def _(theirs: Outcome, ours: Outcome) -> bool:
    there_is_room = take(ours.events, lambda event: event[1] == "room")
    return only_they_send(theirs, ours, "publish", "PUBLISH", our_word="SMQ_ERR_FULL") and there_is_room


@explains("full-requests")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return only_they_send(theirs, ours, "subscribe", "SUBSCRIBE", our_word="SMQ_ERR_FULL")


@explains("handed-out-before-it-was-lost")
def _(theirs: Outcome, ours: Outcome) -> bool:
    return take(ours.events, lambda event: event[1] == "message") and not theirs.packets("PUBCOMP")
