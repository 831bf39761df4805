"""What this interface raises beside Python's own exceptions."""


class MQTTException(Exception):
    """A property, a reason code or a subscription is none, or the server refused the connection."""


class MalformedPacket(MQTTException):
    """Bytes that are no properties."""


class WebsocketConnectionError(ConnectionError):
    """The WebSocket could not be opened."""


class WrongType(TypeError, ValueError):
    """What paho-mqtt 2.2 tells with TypeError, and 2.1 with ValueError."""
