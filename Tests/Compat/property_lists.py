"""Lists of properties by way of ctypes: what one library makes of some calls, as values that can be compared."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_bool, c_char_p, c_int, c_uint8, c_uint16, c_uint32, c_void_p
from typing import Any

NUMBERS = {"byte": c_uint8, "int16": c_uint16, "int32": c_uint32, "varint": c_uint32}
KINDS = (*NUMBERS, "binary", "string", "string_pair")
COMMANDS = (*range(0x10, 0x101, 0x10), -1, 0, 1, 0x11, 0x110)
UNTOUCHED = 77

libc = ctypes.CDLL(None)
libc.free.argtypes = [c_void_p]


class PropertyList:
    """A list in one of the libraries."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.first = c_void_p()
        for name, types in (
                ("next", [c_void_p]), ("identifier", [c_void_p]), ("copy_all", [c_void_p, c_void_p]),
                ("free_all", [c_void_p]), ("check_all", [c_int, c_void_p]),
                *((f"add_{kind}", [c_void_p, c_int, number]) for kind, number in NUMBERS.items()),
                ("add_binary", [c_void_p, c_int, c_char_p, c_uint16]), ("add_string", [c_void_p, c_int, c_char_p]),
                ("add_string_pair", [c_void_p, c_int, c_char_p, c_char_p]),
                *((f"read_{kind}", [c_void_p, c_int, c_void_p, c_bool]) for kind in (*NUMBERS, "string")),
                ("read_binary", [c_void_p, c_int, c_void_p, c_void_p, c_bool]),
                ("read_string_pair", [c_void_p, c_int, c_void_p, c_void_p, c_bool])):
            function = self.function(name)
            function.argtypes = types
            function.restype = None if name == "free_all" else c_void_p if name.startswith(("read", "next")) else c_int

    def function(self, name: str) -> Any:
        return getattr(self.library, f"mosquitto_property_{name}")

    def add(self, kind: str, identifier: int, *values: object, nowhere: bool = False) -> int:
        return self.function(f"add_{kind}")(None if nowhere else byref(self.first), identifier, *values)

    def nodes(self) -> list[int]:
        found = []
        node = self.first.value
        while node:
            found.append(node)
            node = self.function("next")(node)
        return found

    def identifiers(self) -> list[int]:
        return [self.function("identifier")(node) for node in self.nodes()]

    def place(self, node: int | None) -> int | None:
        return self.nodes().index(node) if node else None

    def read(self, kind: str, identifier: int, skip: bool = False, start: int = 0, wanted: str = "nv") -> list[object]:
        """Where it was found, and what the library put where it was told: bytes, None or UNTOUCHED. wanted: 'n' is the
        first place, 'v' the second if there are two; else it is NULL."""
        nodes = self.nodes()
        node = nodes[start] if start < len(nodes) else None
        function = self.function(f"read_{kind}")
        if kind in NUMBERS:
            number = NUMBERS[kind](UNTOUCHED)
            return [self.place(function(node, identifier, byref(number) if wanted else None, skip)), number.value]
        first, second, size = c_void_p(UNTOUCHED), c_void_p(UNTOUCHED), c_uint16(UNTOUCHED)
        one = byref(first) if "n" in wanted else None
        if kind == "string":
            return [self.place(function(node, identifier, one, skip)), taken(first)]
        if kind == "binary":
            two = byref(size) if "v" in wanted else None
            found = self.place(function(node, identifier, one, two, skip))
            return [found, taken(first, size.value), size.value]
        two = byref(second) if "v" in wanted else None
        found = self.place(function(node, identifier, one, two, skip))
        return [found, taken(first), taken(second)]

    def check(self) -> list[int]:
        return [self.function("check_all")(command, self.first) for command in COMMANDS]

    def copy(self) -> tuple[int, PropertyList]:
        other = PropertyList(self.library)
        return self.function("copy_all")(byref(other.first), self.first), other

    def free(self) -> None:
        self.function("free_all")(byref(self.first))
        assert not self.first.value

    def content(self) -> list[object]:
        """Everything that can be read from it."""
        return [self.identifiers(), self.check(), *(
            (kind, identifier, skip, start, result)
            for kind in KINDS for identifier in range(-1, 45) for skip in (False, True) for start in (0, 1)
            if (result := self.read(kind, identifier, skip, start))[0] is not None or start == 0)]


def taken(pointer: c_void_p, size: int | None = None) -> object:
    """What a library allocated for its caller, with the zero behind it; it is freed, as programs free it."""
    if pointer.value in (None, UNTOUCHED):
        return pointer.value
    copy = ctypes.string_at(pointer.value) if size is None else ctypes.string_at(pointer.value, size + 1)
    libc.free(pointer)
    return copy
