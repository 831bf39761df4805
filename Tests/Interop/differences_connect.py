"""The known differences in connecting, in leaving, and in what is taken up again after a connection has broken."""

from __future__ import annotations

from .explaining import (
    ACKNOWLEDGEMENTS,
    answers,
    breaks,
    explains,
    no_client,
    only_we_send,
    surplus,
    take,
)
from .outcome import Outcome

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
    for outcome in (theirs, ours):  # their answers were held back
        take(outcome.received, lambda packet: packet["type"] == "PINGRESP")
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


@explains("assigned-client-id")
def _(theirs: Outcome, ours: Outcome) -> bool:
    """The server assigns another one to us, and so its CONNACK is a longer one."""
    left, right = theirs.packets("CONNECT")[1], ours.packets("CONNECT")[1]
    found = left["client"].startswith("auto-") and right["client"] == ""
    left |= dict(client="", size=right["size"])
    theirs.received[-1], theirs.events[-2] = ours.received[-1], ours.events[-2]
    return found and ours.received[-1]["type"] == "CONNACK" and ours.events[-2][1] == "connected"


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
