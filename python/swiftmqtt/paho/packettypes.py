"""The Control Packets, for whom Properties and ReasonCode ask."""

from __future__ import annotations


class PacketTypes:
    """Numbers of packets, and of the Will, and their names."""

    indexes = range(1, 16)
    (
        CONNECT,
        CONNACK,
        PUBLISH,
        PUBACK,
        PUBREC,
        PUBREL,
        PUBCOMP,
        SUBSCRIBE,
        SUBACK,
        UNSUBSCRIBE,
        UNSUBACK,
        PINGREQ,
        PINGRESP,
        DISCONNECT,
        AUTH,
    ) = indexes
    WILLMESSAGE = 99  # has properties, but is no packet
    Names = tuple(
        "reserved Connect Connack Publish Puback Pubrec Pubrel Pubcomp Subscribe Suback Unsubscribe Unsuback Pingreq "
        "Pingresp Disconnect Auth".split()
    )
