"""libmosquitto as tests see it: mosquitto.h through ctypes, as far as it is compared."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Sequence

INT, CHARS, ANY, BOOL = ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_bool
P = ctypes.POINTER

ERR_SUCCESS, ERR_NO_CONN, ERR_CONN_REFUSED, ERR_CONN_LOST, ERR_KEEPALIVE = 0, 4, 5, 7, 19
OPT_PROTOCOL_VERSION, OPT_RECEIVE_MAXIMUM, OPT_SEND_MAXIMUM, OPT_TCP_NODELAY = 1, 4, 5, 11

Property = tuple[int, object]  # identifier and value: an int, bytes, or a pair of bytes


class RawMessage(ctypes.Structure):
    _fields_ = [
        ("mid", INT),
        ("topic", CHARS),
        ("payload", ANY),
        ("payloadlen", INT),
        ("qos", INT),
        ("retain", BOOL),
    ]

    def bytes(self) -> bytes:
        return ctypes.string_at(self.payload, self.payloadlen) if self.payloadlen else b""


ON_CONNECT = ctypes.CFUNCTYPE(None, ANY, ANY, INT, INT, ANY)
ON_DISCONNECT = ctypes.CFUNCTYPE(None, ANY, ANY, INT, ANY)
ON_PUBLISH = ctypes.CFUNCTYPE(None, ANY, ANY, INT, INT, ANY)
ON_MESSAGE = ctypes.CFUNCTYPE(None, ANY, ANY, P(RawMessage), ANY)
ON_SUBSCRIBE = ctypes.CFUNCTYPE(None, ANY, ANY, INT, INT, P(INT), ANY)
ON_UNSUBSCRIBE = ctypes.CFUNCTYPE(None, ANY, ANY, INT, ANY)

FUNCTIONS = {  # name: (result, arguments)
    "mosquitto_lib_init": (INT, []),
    "mosquitto_lib_version": (INT, [P(INT), P(INT), P(INT)]),
    "mosquitto_strerror": (CHARS, [INT]),
    "mosquitto_new": (ANY, [CHARS, BOOL, ANY]),
    "mosquitto_destroy": (None, [ANY]),
    "mosquitto_int_option": (INT, [ANY, INT, INT]),
    "mosquitto_max_inflight_messages_set": (INT, [ANY, ctypes.c_uint]),
    "mosquitto_will_set": (INT, [ANY, CHARS, INT, ANY, INT, BOOL]),
    "mosquitto_will_set_v5": (INT, [ANY, CHARS, INT, ANY, INT, BOOL, ANY]),
    "mosquitto_username_pw_set": (INT, [ANY, CHARS, CHARS]),
    "mosquitto_connect_bind_v5": (INT, [ANY, CHARS, INT, INT, CHARS, ANY]),
    "mosquitto_reconnect": (INT, [ANY]),
    "mosquitto_disconnect_v5": (INT, [ANY, INT, ANY]),
    "mosquitto_publish_v5": (INT, [ANY, P(INT), CHARS, INT, ANY, INT, BOOL, ANY]),
    "mosquitto_subscribe_v5": (INT, [ANY, P(INT), CHARS, INT, INT, ANY]),
    "mosquitto_subscribe_multiple": (INT, [ANY, P(INT), INT, P(CHARS), INT, INT, ANY]),
    "mosquitto_unsubscribe_v5": (INT, [ANY, P(INT), CHARS, ANY]),
    "mosquitto_unsubscribe_multiple": (INT, [ANY, P(INT), INT, P(CHARS), ANY]),
    "mosquitto_loop": (INT, [ANY, INT, INT]),
    "mosquitto_socket": (INT, [ANY]),
    "mosquitto_want_write": (BOOL, [ANY]),
    "mosquitto_connect_v5_callback_set": (None, [ANY, ON_CONNECT]),
    "mosquitto_disconnect_v5_callback_set": (None, [ANY, ON_DISCONNECT]),
    "mosquitto_publish_v5_callback_set": (None, [ANY, ON_PUBLISH]),
    "mosquitto_message_v5_callback_set": (None, [ANY, ON_MESSAGE]),
    "mosquitto_subscribe_v5_callback_set": (None, [ANY, ON_SUBSCRIBE]),
    "mosquitto_unsubscribe_v5_callback_set": (None, [ANY, ON_UNSUBSCRIBE]),
    "mosquitto_property_add_byte": (INT, [P(ANY), INT, ctypes.c_uint8]),
    "mosquitto_property_add_int16": (INT, [P(ANY), INT, ctypes.c_uint16]),
    "mosquitto_property_add_int32": (INT, [P(ANY), INT, ctypes.c_uint32]),
    "mosquitto_property_add_varint": (INT, [P(ANY), INT, ctypes.c_uint32]),
    "mosquitto_property_add_binary": (INT, [P(ANY), INT, ANY, ctypes.c_uint16]),
    "mosquitto_property_add_string": (INT, [P(ANY), INT, CHARS]),
    "mosquitto_property_add_string_pair": (INT, [P(ANY), INT, CHARS, CHARS]),
    "mosquitto_property_identifier": (INT, [ANY]),
    "mosquitto_property_next": (ANY, [ANY]),
    "mosquitto_property_read_byte": (ANY, [ANY, INT, P(ctypes.c_uint8), BOOL]),
    "mosquitto_property_read_int16": (ANY, [ANY, INT, P(ctypes.c_uint16), BOOL]),
    "mosquitto_property_read_int32": (ANY, [ANY, INT, P(ctypes.c_uint32), BOOL]),
    "mosquitto_property_read_varint": (ANY, [ANY, INT, P(ctypes.c_uint32), BOOL]),
    "mosquitto_property_read_binary": (ANY, [ANY, INT, P(ANY), P(ctypes.c_uint16), BOOL]),
    "mosquitto_property_read_string": (ANY, [ANY, INT, P(ANY), BOOL]),
    "mosquitto_property_read_string_pair": (ANY, [ANY, INT, P(ANY), P(ANY), BOOL]),
    "mosquitto_property_free_all": (None, [P(ANY)]),
}

# Section 2.2.2.2, in the words of the functions.
KINDS = {
    identifier: kind
    for kind, identifiers in {
        "byte": (0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A),
        "int16": (0x13, 0x21, 0x22, 0x23),
        "int32": (0x02, 0x11, 0x18, 0x27),
        "varint": (0x0B,),
        "binary": (0x09, 0x16),
        "string": (0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F),
        "string_pair": (0x26,),
    }.items()
    for identifier in identifiers
}
NUMBERS = {
    "byte": ctypes.c_uint8,
    "int16": ctypes.c_uint16,
    "int32": ctypes.c_uint32,
    "varint": ctypes.c_uint32,
}

libc = ctypes.CDLL(None)
libc.free.argtypes = [ANY]


class Library:
    """One that has these functions: by its name, which finds the system's, or its path. A property list belongs to the
    library that has made it."""

    def __init__(self, path: str):
        self.functions = ctypes.CDLL(path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.functions, name)
            function.restype, function.argtypes = result, arguments
        self.functions.mosquitto_lib_init()

    def version(self) -> tuple[int, int, int]:
        """What mosquitto_lib_version() says."""
        parts = INT(), INT(), INT()
        self.functions.mosquitto_lib_version(*(ctypes.byref(part) for part in parts))
        return tuple(part.value for part in parts)

    def properties(self, pairs: Sequence[Property] = ()) -> Properties:
        return Properties(self.functions, pairs)

    def walk(self, first: int | None) -> list[Property]:
        """The properties of a callback, in their order."""
        found: list[Property] = []
        while first:
            identifier = self.functions.mosquitto_property_identifier(first)
            found.append((identifier, self.read(first, identifier)))
            first = self.functions.mosquitto_property_next(first)
        return found

    def read(self, item: int, identifier: int) -> object:
        """The value of the property that `item` points to."""
        kind = KINDS[identifier]
        get = getattr(self.functions, f"mosquitto_property_read_{kind}")
        if kind in NUMBERS:
            number = NUMBERS[kind]()
            get(item, identifier, ctypes.byref(number), False)
            return number.value
        if kind == "binary":
            data, size = ANY(), ctypes.c_uint16()
            get(item, identifier, ctypes.byref(data), ctypes.byref(size), False)
            return taken(data, size.value)
        texts = (ANY(), ANY()) if kind == "string_pair" else (ANY(),)
        get(item, identifier, *(ctypes.byref(text) for text in texts), False)
        values = tuple(taken(text) for text in texts)
        return values if kind == "string_pair" else values[0]


class Properties:
    """A mosquitto_property list made of pairs; empty ones are NULL."""

    def __init__(self, functions: ctypes.CDLL, pairs: Sequence[Property]):
        self.functions, self.head = functions, ANY()
        for identifier, value in pairs:
            kind, place = KINDS[identifier], ctypes.byref(self.head)
            add = getattr(functions, f"mosquitto_property_add_{kind}")
            if kind == "binary":
                status = add(place, identifier, value, len(value))
            elif kind == "string_pair":
                status = add(place, identifier, *value)
            else:
                status = add(place, identifier, value)
            assert status == 0, (hex(identifier), value, functions.mosquitto_strerror(status))

    def __enter__(self) -> ctypes.c_void_p:
        return self.head

    def __exit__(self, *_: object) -> None:
        self.functions.mosquitto_property_free_all(ctypes.byref(self.head))


def taken(data: ctypes.c_void_p, size: int = -1) -> bytes:
    """A copy of what the library has allocated, which is freed."""
    if not data.value:
        return b""
    value = ctypes.string_at(data.value, size)
    libc.free(data)
    return value
