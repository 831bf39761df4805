"""Payloads: an ordered chain of adapters between Python's values and bytes.

When publishing, the first adapter that accepts the value encodes it, unless a content type selects one; in
MQTT 5.0 the adapter's content type and payload format are sent with the message. When receiving, the
message's content type selects the adapter, or the caller does: :meth:`swiftmqtt.Message.decode`.
"""

from __future__ import annotations

import importlib
import json
import plistlib
from collections.abc import Iterable, Iterator
from typing import Any

from . import _senml
from .constants import Status
from .errors import ArgumentError


class Adapter:
    """One kind of payload. Derive from this for your own.

    content_types  the first is sent to the server in 5.0 (none: nothing is sent); all are decoded
    text           whether the payload is UTF-8: the Payload Format Indicator of 5.0
    types          types of values that it encodes by default, and that ``decode(as_=…)`` may ask for
    """

    content_types: tuple[str, ...] = ()
    text: bool = False
    types: tuple[type, ...] = ()

    def encodes(self, value: object) -> bool:
        """Whether this adapter encodes the value if no content type is given."""
        return isinstance(value, self.types)

    def encode(self, value: Any) -> bytes:
        """The payload. TypeError or ValueError if the value cannot be encoded: then the next adapter is
        asked."""
        raise NotImplementedError

    def decode(self, data: bytes, as_: type | None = None) -> Any:
        """The value; `as_` is the type that the caller asked for, if any. ValueError if the payload is
        invalid."""
        raise NotImplementedError

    def content_type(self, value: object) -> str | None:
        """The content type that 5.0 sends for this value."""
        return self.content_types[0] if self.content_types else None


class Raw(Adapter):
    """bytes, bytearray, memoryview and other objects with a buffer: as they are, and without a content type."""

    types = (bytes, bytearray, memoryview)

    def encode(self, value: Any) -> bytes:
        return bytes(value)

    def decode(self, data: bytes, as_: type | None = None) -> Any:
        return as_(data) if as_ in self.types else data


class Octets(Raw):
    """The same for programs that ask for it: application/octet-stream."""

    content_types = ("application/octet-stream",)

    def encodes(self, value: object) -> bool:
        return False


class Text(Adapter):
    """str, as UTF-8."""

    content_types = ("text/plain",)
    text = True
    types = (str,)

    def encode(self, value: Any) -> bytes:
        if not isinstance(value, str):
            raise TypeError("text/plain takes a str")
        return value.encode()

    def decode(self, data: bytes, as_: type | None = None) -> str:
        return data.decode()


class JSON(Adapter):
    """dict, list, tuple, int, float, bool and None, as JSON (RFC 8259: no NaN and no infinity)."""

    content_types = ("application/json",)
    text = True
    types = (dict, list, tuple, int, float, bool, type(None))

    def encode(self, value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    def decode(self, data: bytes, as_: type | None = None) -> Any:
        return json.loads(data)


class PropertyList(Adapter):
    """What JSON cannot express and Apple's property lists can: dict and list with bytes or datetime inside."""

    content_types = ("application/x-plist",)
    types = (dict, list)

    def __init__(self, binary: bool = False):
        self.format = plistlib.FMT_BINARY if binary else plistlib.FMT_XML

    def encode(self, value: Any) -> bytes:
        try:
            return plistlib.dumps(value, fmt=self.format, sort_keys=False)
        except OverflowError as error:
            raise ValueError(str(error)) from None

    def decode(self, data: bytes, as_: type | None = None) -> Any:
        try:
            return plistlib.loads(data)
        except Exception as error:  # plistlib raises what its parsers do
            raise ValueError(f"no property list: {error}") from None


class Protobuf(Adapter):
    """Messages of Google's protobuf, when it is installed. Decoding needs to know which: ``decode(as_=Reading)``."""

    content_types = ("application/x-protobuf", "application/protobuf", "application/vnd.google.protobuf")

    def encodes(self, value: object) -> bool:
        return hasattr(value, "SerializeToString") and hasattr(value, "DESCRIPTOR")

    def encode(self, value: Any) -> bytes:
        if not self.encodes(value):
            raise TypeError("application/x-protobuf takes a protobuf message")
        return bytes(value.SerializeToString())

    def decode(self, data: bytes, as_: type | None = None) -> Any:
        if as_ is None or not hasattr(as_, "FromString"):
            raise ValueError("a protobuf payload does not say which message it is: decode(as_=the message's class)")
        try:
            return as_.FromString(data)
        except self._decode_error() as error:
            raise ValueError(f"no {as_.__name__}: {error}") from None

    @staticmethod
    def _decode_error() -> type[Exception]:
        module = importlib.import_module("google.protobuf.message")
        found: type[Exception] = module.DecodeError
        return found


class CBOR(Adapter):
    """Whatever cbor2 encodes (RFC 8949), for a message whose content type asks for it: ``publish(topic, value,
    content_type="application/cbor")``. Needs cbor2: ``pip install cbor2``."""

    content_types = ("application/cbor",)

    def encodes(self, value: object) -> bool:
        return False

    def encode(self, value: Any) -> bytes:
        cbor2 = self._cbor2()
        try:
            return bytes(cbor2.dumps(value))
        except Exception as error:  # its errors have been of several types
            raise ValueError(f"cannot be encoded as CBOR: {error}") from None

    def decode(self, data: bytes, as_: type | None = None) -> Any:
        cbor2 = self._cbor2()
        try:
            if data[:1] == b"\xff":
                raise ValueError("a break without a beginning")
            value = cbor2.loads(data)
        except Exception as error:
            raise ValueError(f"no CBOR: {error}") from None
        try:
            # It does not say where the item ended. No beginning of an item is one: if this is, something is behind it.
            cbor2.loads(data[:-1])
        except Exception:
            return value
        raise ValueError("no CBOR: something follows the item")

    @staticmethod
    def _cbor2() -> Any:
        try:
            return importlib.import_module("cbor2")
        except ImportError:
            raise ArgumentError(
                Status.NOT_SUPPORTED, "CBOR needs cbor2, which is not installed: pip install cbor2"
            ) from None


class SenML(Adapter):
    """A pack of sensor measurements (RFC 8428), for a message whose content type asks for it: a list of dicts with the
    labels of JSON, such as ``[{"bn": "urn:dev:x:", "n": "temperature", "u": "Cel", "v": 21.5}]``; "vd" is bytes. A
    pack that breaks a rule of the RFC is a ValueError, in both directions.

    cbor   as application/senml+cbor, which needs cbor2; otherwise as application/senml+json
    """

    def __init__(self, cbor: bool = False):
        self._cbor = CBOR() if cbor else None
        self.content_types = ("application/senml+cbor" if cbor else "application/senml+json",)
        self.text = not cbor

    def encodes(self, value: object) -> bool:
        return False

    def encode(self, value: Any) -> bytes:
        pack = _senml.checked(value, strict=True)
        if self._cbor is not None:
            return self._cbor.encode([_senml.to_cbor(record) for record in pack])
        return JSON().encode([_senml.to_json(record) for record in pack])

    def decode(self, data: bytes, as_: type | None = None) -> list[dict[str, Any]]:
        read = self._cbor.decode(data) if self._cbor is not None else JSON().decode(data)
        convert = _senml.from_cbor if self._cbor is not None else _senml.from_json
        return _senml.checked([convert(record) for record in read] if isinstance(read, list) else read, strict=False)

    @staticmethod
    def resolved(pack: list[dict[str, Any]], now: float | None = None) -> list[dict[str, Any]]:
        """Each record by itself (section 4.6): its whole name, unit and value, and its time, in seconds since 1970. In the
        order of time. `now`: what relative times refer to; None: now."""
        return _senml.resolved(pack, now)


#: What ``decode(as_=…)`` may say instead of a content type.
SHORT = {
    "json": "application/json",
    "text": "text/plain",
    "plist": "application/x-plist",
    "cbor": "application/cbor",
    "senml": "application/senml+json",
}


class Adapters:
    """The chain: the first adapter that accepts a value encodes it. Put your own in front: ``Adapters(Mine(),
    *Adapters())``."""

    def __init__(self, *chain: Adapter):
        self.chain = chain or (
            Raw(), Text(), JSON(), PropertyList(), Protobuf(), CBOR(), SenML(), SenML(cbor=True), Octets())

    def __iter__(self) -> Iterator[Adapter]:
        return iter(self.chain)

    def encode(self, value: object, content_type: str | None = None) -> tuple[bytes, str | None, bool]:
        """Payload, content type and whether it is UTF-8."""
        if type(value) is bytes:
            return value, content_type, False
        reasons: list[str] = []
        for adapter in self._for(content_type, value):
            try:
                return adapter.encode(value), content_type or adapter.content_type(value), adapter.text
            except (TypeError, ValueError, RecursionError) as error:
                reasons.append(f"{type(adapter).__name__}: {error}")
        why = f": {'; '.join(reasons)}" if reasons else ""
        raise ArgumentError(Status.OPTION, f"no adapter takes a payload of type {type(value).__name__}{why}")

    def decode(self, data: bytes, content_type: str | None, as_: type | str | Adapter | None, utf8: bool) -> Any:
        """The value: by what is asked for, else by content type, else text if it says to be UTF-8, else bytes."""
        if isinstance(as_, Adapter):
            return as_.decode(data)
        if isinstance(as_, str):
            content_type = SHORT.get(as_, as_)
        elif as_ is not None:
            for adapter in self.chain:
                if as_ in adapter.types or isinstance(adapter, Protobuf) and hasattr(as_, "FromString"):
                    return adapter.decode(data, as_)
            raise ArgumentError(Status.OPTION, f"no adapter decodes to {as_.__name__}")
        found = self._decoder(content_type)
        if found is not None:
            return found.decode(data)
        if isinstance(as_, str):
            raise ArgumentError(Status.OPTION, f"no adapter decodes {as_!r}")
        return data.decode() if utf8 else data

    def _for(self, content_type: str | None, value: object) -> Iterable[Adapter]:
        """Those to ask: the one of the content type if it has one, and any for a value that is no bytes or text."""
        named = self._decoder(content_type)
        if named is not None and not isinstance(value, (bytes, bytearray, memoryview, str)):
            return [named]
        return [adapter for adapter in self.chain if adapter.encodes(value)]

    def _decoder(self, content_type: str | None) -> Adapter | None:
        if not content_type:
            return None
        wanted = content_type.partition(";")[0].strip().lower()
        return next((a for a in self.chain if wanted in a.content_types), None)
