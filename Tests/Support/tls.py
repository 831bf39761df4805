"""libswiftmqtt-tls as tests use it: the settings of a client's TLS.

    with Tls(ca_file=certificates.ca_file) as tls:
        client = clients(url="mqtts://localhost", tls=tls)
        client.connected()
        describe(client).version == 0x0304
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from . import smq

ENGINE_HEADER, HEADER = (smq.ROOT / "include" / name for name in ("swiftmqtt-tls-engine.h", "swiftmqtt-tls.h"))
ENGINE_TEXT, TEXT = smq.without_comments(ENGINE_HEADER), smq.without_comments(HEADER)
LIBRARY = smq.BUILD / "libswiftmqtt-tls.so"

CONSTANTS = {
    name: int(value, 0) for name, value in re.findall(r"\b(SMQ_TLS_[A-Z0-9_]+)\s*=\s*(-?\d+)", ENGINE_TEXT + TEXT)
}
# UNKNOWN_CA, NO_VERIFY, … as the headers have them.
globals().update({name.removeprefix("SMQ_TLS_"): value for name, value in CONSTANTS.items()})
CAUSES = {
    int(value): name
    for name, value in re.findall(r"SMQ_TLS_(\w+)\s*=\s*(\d+)", ENGINE_TEXT.partition("enum {")[2].partition("}")[0])
}


@smq.declared("smq_tls_failure", ENGINE_TEXT)
class OpenFailure(smq.Sized):
    """smq_tls_failure"""


@smq.declared("smq_tls_info", ENGINE_TEXT)
class Info(smq.Sized):
    """smq_tls_info"""


@smq.declared("smq_tls_certificate", ENGINE_TEXT)
class Certificate(smq.Sized):
    """smq_tls_certificate"""


@smq.declared("smq_tls_engine", ENGINE_TEXT)
class Engine(smq.Sized):
    """smq_tls_engine"""


@smq.declared("smq_tls_options", TEXT)
class TlsOptions(smq.Sized):
    """smq_tls_options"""


library = ctypes.CDLL(str(LIBRARY))
library.smq_tls_openssl.restype = ctypes.c_void_p
library.smq_tls_close.argtypes = [ctypes.c_void_p]
library.smq_tls_reload.argtypes = [ctypes.c_void_p] * 3
library.smq_tls_sessions.argtypes = [ctypes.c_void_p] * 3


class Tls:
    """A smq_tls. A path is given as text."""

    def __init__(self, **values: object):
        self.handle, why = ctypes.c_void_p(), OpenFailure()
        given = _options(values)
        status = library.smq_tls_open(ctypes.byref(given), ctypes.byref(self.handle), ctypes.byref(why))
        assert status == 0, (smq.status_name(status), why.text)

    def __enter__(self) -> Tls:
        return self

    def __exit__(self, *error: object) -> None:
        library.smq_tls_close(self.handle)

    @property
    def options(self) -> dict[str, object]:
        """Of smq_options."""
        return {"tls_settings": self.handle, "tls": library.smq_tls_openssl()}

    def reload(self, **values: object) -> int:
        return library.smq_tls_reload(self.handle, ctypes.byref(_options(values)), None)

    @property
    def sessions(self) -> bytes:
        """smq_tls_sessions()."""
        room, size = ctypes.create_string_buffer(16384), ctypes.c_size_t(16384)
        status = library.smq_tls_sessions(self.handle, room, ctypes.byref(size))
        assert status == 0, smq.status_name(status)
        return room.raw[: size.value]


def _options(values: dict[str, object]) -> TlsOptions:
    return TlsOptions(**{name: str(v) if isinstance(v, Path) else v for name, v in values.items()})


def describe(client: smq.Client) -> Info:
    info = Info()
    status = smq.library.smq_tls_describe(client.handle, ctypes.byref(info))
    assert status == 0, smq.status_name(status)
    return info
