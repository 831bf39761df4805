"""What is asked for a subscription in MQTT 5.0."""

from __future__ import annotations

from typing import Any

from .errors import MQTTException

_NAMES = ["QoS", "noLocal", "retainAsPublished", "retainHandling"]


class SubscribeOptions:
    """The Subscription Options (section 3.8.3.1).

    qos                the highest to be sent with: 0 to 2
    noLocal            not what this client itself publishes
    retainAsPublished  the RETAIN flag as the publisher set it
    retainHandling     retained messages: RETAIN_SEND_ON_SUBSCRIBE, RETAIN_SEND_IF_NEW_SUB or RETAIN_DO_NOT_SEND
    """

    RETAIN_SEND_ON_SUBSCRIBE, RETAIN_SEND_IF_NEW_SUB, RETAIN_DO_NOT_SEND = range(3)

    QoS: int
    noLocal: bool
    retainAsPublished: bool
    retainHandling: int

    def __init__(
        self,
        qos: int = 0,
        noLocal: bool = False,
        retainAsPublished: bool = False,
        retainHandling: int = RETAIN_SEND_ON_SUBSCRIBE,
    ):
        self.QoS, self.noLocal = qos, noLocal
        self.retainAsPublished, self.retainHandling = retainAsPublished, retainHandling
        self._check()

    @property
    def names(self) -> list[str]:
        """Of the options."""
        return list(_NAMES)

    def pack(self) -> bytes:
        """The byte of SUBSCRIBE."""
        self._check()
        flags = bool(self.retainAsPublished) << 3 | bool(self.noLocal) << 2
        return bytes([self.retainHandling << 4 | flags | self.QoS])

    def unpack(self, buffer: bytes) -> int:
        """Becomes what a byte says; returns how many were used."""
        byte = buffer[0]
        self.QoS, self.noLocal = byte & 3, bool(byte & 4)
        self.retainAsPublished, self.retainHandling = bool(byte & 8), byte >> 4 & 3
        self._check()
        return 1

    def json(self) -> dict[str, Any]:
        """The options by their names."""
        return {name: getattr(self, name) for name in _NAMES}

    def _check(self) -> None:
        if self.retainHandling not in (0, 1, 2):
            raise AssertionError(f"retainHandling is 0, 1 or 2, not {self.retainHandling}")
        if self.QoS not in (0, 1, 2):
            raise AssertionError(f"QoS is 0, 1 or 2, not {self.QoS}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _NAMES:
            raise MQTTException(f"{name}: the options are {_NAMES}")
        object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}={value}" for name, value in self.json().items()) + "}"

    __repr__ = __str__
