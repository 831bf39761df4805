"""The last packets that went over a client's connections."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from . import _abi
from ._library import LIBRARY
from .errors import check

#: The names of the Control Packets (section 2.1.2), by their types.
NAMES = (
    "bytes that are no packet,CONNECT,CONNACK,PUBLISH,PUBACK,PUBREC,PUBREL,PUBCOMP,SUBSCRIBE,SUBACK,UNSUBSCRIBE,UNSUBACK,"
    "PINGREQ,PINGRESP,DISCONNECT,AUTH"
).split(",")


@dataclass(frozen=True)
class Packet:
    """A Control Packet that was sent or received, or its beginning. Passwords and Authentication Data in it are covered by
    asterisks."""

    sent: bool  # False: it was received
    time_ms: int  # when, by the clock of time.monotonic(), in milliseconds; it starts again at 2**32
    type: int  # 1 CONNECT to 15 AUTH; 0: these bytes are no packet
    length: int  # in bytes, of the whole packet
    data: bytes  # as much of it as is there

    @property
    def name(self) -> str:
        """Such as PUBLISH."""
        return NAMES[self.type]

    def __str__(self) -> str:
        return f"{'sent' if self.sent else 'received'} {self.name}, {self.length} bytes"


def read_trace(handle: int) -> list[Packet]:
    """What is in the trace, the oldest first."""
    found: list[Packet] = []
    raised: list[BaseException] = []

    def tap(user: int, raw: Any) -> None:
        try:
            packet = raw.contents
            data = ctypes.string_at(packet.data.data, packet.data.size)
            found.append(Packet(packet.direction == 1, packet.time_ms, packet.type, packet.length, data))
        except BaseException as why:  # Ctrl-C, which ctypes would drop
            raised.append(why)

    check(LIBRARY.smq_trace_read(handle, _abi.TAP(tap), None))
    if raised:
        raise raised[0]
    return found
