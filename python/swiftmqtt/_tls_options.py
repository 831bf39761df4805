"""The options of TLS: keyword arguments for smq_tls_options."""

from __future__ import annotations

import binascii
import ctypes
import os
from collections.abc import Callable, Iterable
from typing import Any, TypedDict, Union

from ._checks import flag, listed
from ._names import meant
from ._tls_library import PASSWORD
from ._tls_library import TLSOptions as Struct
from .constants import Status, TLSFlag, TLSVersion
from .errors import ArgumentError

#: The name of a file.
PathLike = Union[str, "os.PathLike[str]"]
#: What a key is encrypted with, or a function that returns it.
Password = Union[str, bytes, Callable[[], Union[str, bytes]]]

FILES = ("ca_file", "ca_directory", "certificate_file", "key_file", "crl_file", "key_log_file")
PEMS = ("ca_pem", "certificate_pem", "key_pem")
TEXTS = ("key_uri", "key_engine", "psk_identity", "ciphers", "cipher_suites", "groups")
FLAGS = {name.lower(): number for name, number in TLSFlag.__members__.items()}
DIGEST_BYTES = 32


class TLSOptions(TypedDict, total=False):
    """The options of smq_tls_options, with the names of swiftmqtt-tls.h, which describes each. Its flags are bool options.
    None is as if it was not given."""

    ca_file: PathLike | None
    ca_directory: PathLike | None
    ca_pem: str | bytes | None
    certificate_file: PathLike | None
    certificate_pem: str | bytes | None
    key_file: PathLike | None
    key_pem: str | bytes | None
    key_uri: str | None
    key_engine: str | None
    crl_file: PathLike | None
    pins: Iterable[str | bytes] | None
    psk_identity: str | None
    psk: str | bytes | None
    ciphers: str | None
    cipher_suites: str | None
    groups: str | None
    minimum: int | None
    maximum: int | None
    clock_floor_s: int | None
    verify_time_s: int | None
    password: Password | None
    key_log_file: PathLike | None
    # flags
    system_ca: bool
    no_name_check: bool
    no_verify: bool
    no_time: bool
    crl_check: bool
    crl_all: bool
    ocsp: bool
    ocsp_required: bool
    no_resumption: bool
    strict: bool
    common_name: bool


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """Those that are given. TypeError for one that there is not."""
    for name in options:
        if name not in TLSOptions.__annotations__:
            raise TypeError(f"there is no option {name!r} of TLS{meant(name, TLSOptions.__annotations__)}")
    return {name: value for name, value in options.items() if value is not None}


def fill(struct: Struct, options: dict[str, Any], raised: list[BaseException]) -> None:
    for name, value in options.items():
        if name in FLAGS:
            struct.flags |= FLAGS[name] if flag(f"the option {name}", value) else 0
        elif name in _NUMBERS:
            setattr(struct, name, _number(name, value))
        elif name == "password":
            struct.password = PASSWORD(_asking(value, raised))
        else:
            struct.put(name, _given(name, _ENCODERS[name](name, value)))


def _given(name: str, value: bytes) -> bytes:
    """To the library, what is empty is not given: without CAs of the program's it would trust those of the system, and without
    pins any key."""
    if not value:
        raise ArgumentError(Status.OPTION, f"the option {name} is empty; None is as if it was not given")
    return value


def _file(name: str, value: Any) -> bytes:
    try:
        return os.fsencode(value)
    except (TypeError, UnicodeEncodeError):
        raise _wrong(name, "the name of a file", value) from None


def _pem(name: str, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return _encoded(name, value)


def _encoded(name: str, value: Any) -> bytes:
    if not isinstance(value, str):
        raise _wrong(name, "a text", value)
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(Status.UTF8, f"the option {name} has what UTF-8 cannot express") from None


def _psk(name: str, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):  # without the value: it is a secret
        raise ArgumentError(Status.OPTION, f"the option {name} is bytes, or a text of hex digits") from None


def _pins(name: str, value: Any) -> bytes:
    if isinstance(value, (str, bytes, bytearray)):
        value = [value]
    return b"".join(_pin(name, pin) for pin in listed(f"the option {name}", value))


def _pin(name: str, value: Any) -> bytes:
    pin = b""
    try:
        if isinstance(value, (bytes, bytearray)):
            pin = bytes(value)
        elif isinstance(value, str) and value.startswith("sha256//"):
            pin = binascii.a2b_base64(value[len("sha256//") :])
        elif isinstance(value, str):
            pin = bytes.fromhex(value.replace(":", ""))
    except (ValueError, binascii.Error):
        pass
    if len(pin) != DIGEST_BYTES:
        raise _wrong(name, 'a SHA-256: 32 bytes, their hex digits, or "sha256//" and base64', value)
    return pin


_NUMBERS = {"minimum": 0xFFFF, "maximum": 0xFFFF, "clock_floor_s": (1 << 63) - 1, "verify_time_s": (1 << 63) - 1}
_ENCODERS: dict[str, Callable[[str, Any], bytes]] = {
    **dict.fromkeys(FILES, _file),
    **dict.fromkeys(PEMS, _pem),
    **dict.fromkeys(TEXTS, _encoded),
    "psk": _psk,
    "pins": _pins,
}


def _number(name: str, value: Any) -> int:
    try:
        number: int = value.__index__()
    except AttributeError:
        raise _wrong(name, "a whole number", value) from None
    if not 0 <= number <= _NUMBERS[name]:
        raise ArgumentError(Status.OPTION, f"the option {name}={number} is out of range")
    return number


def _asking(password: Any, raised: list[BaseException]) -> Callable[[int, int, int], int]:
    """The function that the library asks for a password. What it raises is in `raised` then."""
    if not callable(password) and not isinstance(password, (str, bytes, bytearray)):
        raise ArgumentError(Status.OPTION, f"the option password is a text, bytes or a function, not {type(password).__name__}")

    def ask(user: int, to: int, size: int) -> int:
        try:
            given = password() if callable(password) else password
            secret = given.encode() if isinstance(given, str) else given
            if not isinstance(secret, (bytes, bytearray)):
                raise ArgumentError(Status.OPTION, f"password() returns a text or bytes, not {type(given).__name__}")
            if len(secret) > size:
                raise ArgumentError(Status.OPTION, f"the password has more than {size} bytes")
            ctypes.memmove(to, bytes(secret), len(secret))
            return len(secret)
        except BaseException as why:
            raised.append(why)
            return -1

    return ask


def _wrong(name: str, what: str, value: Any) -> ArgumentError:
    return ArgumentError(Status.OPTION, f"the option {name} is {what}, not {_shape(value)}")


def _shape(value: Any) -> str:
    """What it is, without what it says, which may be a secret."""
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, (str, bytes, bytearray)) else repr(value)


def with_zero_byte(options: dict[str, Any]) -> str | None:
    """The option that has one: smq_tls_open() does not say which."""
    return next((name for name, value in options.items()
                 if name in (*FILES, *TEXTS) and b"\0" in _ENCODERS[name](name, value)), None)
