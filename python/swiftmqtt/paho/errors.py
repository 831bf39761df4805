"""What this interface raises beside Python's own exceptions."""


class MQTTException(Exception):
    """A property, a reason code or a subscription is none, or the server refused the connection."""


class MalformedPacket(MQTTException):
    """Bytes that are no properties."""


class WebsocketConnectionError(ConnectionError):
    """Never raised, as there are no WebSockets yet: for programs that catch it."""


class WrongType(TypeError, ValueError):
    """What paho-mqtt 2.2 tells with TypeError, and 2.1 with ValueError."""
