"""The exceptions of stomp.exception."""

__all__ = [
    "ConnectFailedException",
    "ConnectionClosedException",
    "InterruptedException",
    "NotConnectedException",
    "StompException",
]


class StompException(Exception):
    """The base class."""


class ConnectionClosedException(StompException):
    """The server closed the connection. Nothing here raises it: on_disconnected tells."""


class NotConnectedException(StompException):
    """There is no connection."""


class ConnectFailedException(StompException):
    """No connection came up."""


class InterruptedException(StompException):
    """A signal cut a read short. Nothing here raises it."""
