"""What this interface raises beside Python's own exceptions."""


class MQTTException(Exception):
    """A property, a reason code or a subscription is none, or the server refused the connection."""


class MalformedPacket(MQTTException):
    """Bytes that are no properties."""
