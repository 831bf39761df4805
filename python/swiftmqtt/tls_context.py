"""Settings of TLS with the interface of Python's ssl.SSLContext."""

from __future__ import annotations

import binascii
from collections.abc import Iterable
from typing import Any, Union

from ._checks import flag, listed
from ._tls_options import Password, PathLike
from .constants import Status, TLSVersion
from .errors import ArgumentError
from .tls import TLS

__all__ = ["TLSContext", "create_default_context"]

# ssl.CERT_NONE, CERT_OPTIONAL and CERT_REQUIRED, of which the last two are one for a client.
_CERT_NONE, _CERT_REQUIRED = 0, 2
# ssl.TLSVersion.MINIMUM_SUPPORTED and MAXIMUM_SUPPORTED
_MINIMUM_SUPPORTED, _MAXIMUM_SUPPORTED = -2, -1
# ssl.VerifyFlags: VERIFY_CRL_CHECK_LEAF, VERIFY_CRL_CHECK_CHAIN, VERIFY_X509_STRICT, VERIFY_X509_TRUSTED_FIRST and
# VERIFY_X509_PARTIAL_CHAIN, of which OpenSSL has the fourth on by default, and the fifth changes which CAs are trusted.
_CRL_LEAF, _CRL_CHAIN, _STRICT, _TRUSTED_FIRST = 4, 12, 0x20, 0x8000


class TLSContext:
    """What :class:`ssl.SSLContext` has, as far as a client of MQTT needs it: for programs that have code for one.

        context = swiftmqtt.create_default_context(cafile="ca.pem")
        context.load_cert_chain("client.pem", "client.key")
        client = swiftmqtt.Client("mqtts://broker.example", tls=context)

    An ssl.SSLContext itself cannot be used: what it has loaded cannot be read out of it. What is set later counts for clients
    that are made later.
    """

    def __init__(self) -> None:
        self._given: dict[str, Any] = {}
        self._password: Password | None = None
        self._verify_mode, self._check_hostname, self._verify_flags = _CERT_REQUIRED, True, _TRUSTED_FIRST
        self._alpn = ""
        self._made: TLS | None = None

    # ---- What a client asks for

    def settings(self) -> TLS:
        """Returns the TLS that this is. Raises what that raises."""
        if self._made is None:
            given = dict(self._given)
            if given.get("key_file"):
                given["password"] = self._password
            self._made = TLS(
                no_verify=self._verify_mode == _CERT_NONE,
                no_name_check=not self._check_hostname,
                crl_check=self._verify_flags & _CRL_CHAIN == _CRL_LEAF,
                crl_all=self._verify_flags & _CRL_CHAIN == _CRL_CHAIN,
                strict=bool(self._verify_flags & _STRICT),
                **given,
            )
        return self._made

    @property
    def alpn(self) -> str:
        """The application protocol to ask for; empty: none."""
        return self._alpn

    # ---- What ssl.SSLContext has

    def load_verify_locations(
        self, cafile: PathLike | None = None, capath: PathLike | None = None, cadata: str | bytes | None = None
    ) -> None:
        """Sets the CAs to be trusted: a file, a directory with names by hash, or what a file would have: a text (PEM) or bytes
        (DER). A second call with the same of them replaces the first's."""
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")
        if cafile is not None:
            _must_be_there(cafile)
        pem = _pem_of_der(cadata) if isinstance(cadata, (bytes, bytearray)) else cadata
        self._set(ca_file=cafile, ca_directory=capath, ca_pem=pem)

    def load_default_certs(self, purpose: Any = None) -> None:
        """Trusts the CAs of the system, too. Without CAs of the program's own it is so anyway."""
        self._set(system_ca=True)

    set_default_verify_paths = load_default_certs

    def load_cert_chain(
        self, certfile: PathLike, keyfile: PathLike | None = None, password: Password | None = None
    ) -> None:
        """Sets the client's certificate with those of the CAs between it and the root, and its key; without keyfile, certfile
        has the key, too. `password` is a text, bytes, or a function that returns one of them."""
        for file in (certfile, keyfile):
            if file is not None:
                _must_be_there(file)
        self._password = password
        self._set(certificate_file=certfile, key_file=certfile if keyfile is None else keyfile)

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """Sets the application protocol to ask for; libswiftmqtt asks for one."""
        names = listed("alpn_protocols", alpn_protocols)
        if isinstance(alpn_protocols, str) or len(names) > 1 or not all(isinstance(name, str) for name in names):
            raise ArgumentError(Status.OPTION, f'alpn_protocols is a list of one text, such as ["mqtt"], not {alpn_protocols!r}')
        self._alpn = names[0] if names else ""

    def set_ciphers(self, ciphers: str) -> None:
        """Sets the ciphers of TLS 1.2, in OpenSSL's notation."""
        self._set(ciphers=ciphers)

    @property
    def check_hostname(self) -> bool:
        """Whether the certificate must be for the name of the host."""
        return self._check_hostname

    @check_hostname.setter
    def check_hostname(self, value: bool) -> None:
        self._check_hostname = flag("check_hostname", value)
        if self._check_hostname:
            self._verify_mode = _CERT_REQUIRED
        self._made = None

    @property
    def verify_mode(self) -> int:
        """ssl.CERT_REQUIRED, or ssl.CERT_NONE: any certificate will do."""
        return self._verify_mode

    @verify_mode.setter
    def verify_mode(self, value: int) -> None:
        if value not in (0, 1, 2):
            raise ValueError("invalid value for verify_mode")
        if value == _CERT_NONE and self._check_hostname:
            raise ValueError("Cannot set verify_mode to CERT_NONE when check_hostname is enabled.")
        self._verify_mode, self._made = int(value), None

    @property
    def verify_flags(self) -> int:
        """ssl.VERIFY_CRL_CHECK_LEAF and so on, added up."""
        return self._verify_flags

    @verify_flags.setter
    def verify_flags(self, value: int) -> None:
        known = _CRL_CHAIN | _STRICT | _TRUSTED_FIRST
        if not isinstance(value, int) or value & ~known:
            raise ValueError(f"verify_flags may have VERIFY_CRL_CHECK_LEAF, _CHAIN and VERIFY_X509_STRICT, not {value!r}")
        self._verify_flags, self._made = int(value), None

    @property
    def minimum_version(self) -> int:
        """The oldest version of TLS: TLS 1.2, or what was set. An older one means TLS 1.2."""
        return int(self._given.get("minimum", TLSVersion.TLSv1_2))

    @minimum_version.setter
    def minimum_version(self, value: int) -> None:
        if value == _MAXIMUM_SUPPORTED:
            value = TLSVersion.TLSv1_3
        # TLS 1.0 as the minimum allows 1.2.
        self._set(minimum=max(_version(value, _MINIMUM_SUPPORTED), TLSVersion.TLSv1_2))

    @property
    def maximum_version(self) -> int:
        """The newest version of TLS: what was set, or ssl.TLSVersion.MAXIMUM_SUPPORTED."""
        return int(self._given.get("maximum", _MAXIMUM_SUPPORTED))

    @maximum_version.setter
    def maximum_version(self, value: int) -> None:
        if value == _MAXIMUM_SUPPORTED:
            self._given.pop("maximum", None)
            self._made = None
            return
        if value == _MINIMUM_SUPPORTED:
            value = TLSVersion.TLSv1_2
        version = _version(value, _MAXIMUM_SUPPORTED)
        if version < TLSVersion.TLSv1_2:
            raise ValueError("libswiftmqtt speaks TLS 1.2 and 1.3: maximum_version cannot be older")
        self._set(maximum=version)

    @property
    def keylog_filename(self) -> PathLike | None:
        """The file that gets the secrets of each connection, for Wireshark. For tests only."""
        return self._given.get("key_log_file")

    @keylog_filename.setter
    def keylog_filename(self, value: PathLike | None) -> None:
        self._given.pop("key_log_file", None)
        self._set(key_log_file=value)

    def _set(self, **options: Any) -> None:
        self._given.update({name: value for name, value in options.items() if value is not None})
        self._made = None


def create_default_context(
    purpose: Any = None,
    *,
    cafile: PathLike | None = None,
    capath: PathLike | None = None,
    cadata: str | bytes | None = None,
) -> TLSContext:
    """A context as :func:`ssl.create_default_context` makes one: the server is verified, against the CAs that are given, or else
    those of the system.

    purpose   nothing, or ssl.Purpose.SERVER_AUTH
    """
    context = TLSContext()
    if cafile is not None or capath is not None or cadata is not None:
        context.load_verify_locations(cafile, capath, cadata)
    return context


#: What a client takes as `tls`.
AnyTLS = Union[bool, None, TLS, TLSContext]


def chosen(tls: Any) -> tuple[TLS | None, str]:
    """The settings for an argument `tls`, and the application protocol to ask for."""
    if tls is None or tls is False:
        return None, ""
    if tls is True:
        return TLS(), ""
    if isinstance(tls, TLS):
        return tls, ""
    if isinstance(tls, TLSContext):
        return tls.settings(), tls.alpn
    if is_of_python(tls):
        raise ArgumentError(
            Status.OPTION,
            "tls cannot be an ssl.SSLContext: the certificates and keys it has loaded cannot be read out of it. Make the context "
            "with swiftmqtt.create_default_context(), which has the same parameters and methods, or give "
            "swiftmqtt.TLS(ca_file=…, certificate_file=…, key_file=…)",
        )
    raise ArgumentError(Status.OPTION, f"tls is True, a swiftmqtt.TLS or a swiftmqtt.TLSContext, not {type(tls).__name__}")


def is_of_python(context: Any) -> bool:
    """Whether it is an ssl.SSLContext. Python may have been built without ssl."""
    return any(kind.__name__ == "SSLContext" for kind in type(context).__mro__)


def _must_be_there(file: PathLike) -> None:
    """OSError, as of ssl.SSLContext, if it cannot be read."""
    with open(file, "rb"):
        pass


def _version(value: Any, least: int) -> int:
    number = value.__index__() if hasattr(value, "__index__") else None
    if number is None or number != least and not 0x0300 <= number <= TLSVersion.TLSv1_3:
        raise ValueError(f"a version is one of ssl.TLSVersion, not {value!r}")
    return int(number)


def _pem_of_der(data: bytes) -> str:
    """Certificates one behind the other, each a SEQUENCE (X.690, section 8.1)."""
    texts, rest = [], memoryview(data)
    while rest:
        size = _size_of_der(bytes(rest[:6]))
        if size is None or size > len(rest):
            raise ValueError("cadata is no text, and no certificates in DER")
        lines = [binascii.b2a_base64(rest[at : min(at + 48, size)]).decode() for at in range(0, size, 48)]
        texts.append(f"-----BEGIN CERTIFICATE-----\n{''.join(lines)}-----END CERTIFICATE-----\n")
        rest = rest[size:]
    return "".join(texts)


def _size_of_der(head: bytes) -> int | None:
    """How many bytes a SEQUENCE has, with its head."""
    if len(head) < 2 or head[0] != 0x30:
        return None
    if head[1] < 0x80:
        return 2 + head[1]
    count = head[1] & 0x7F
    if not 1 <= count <= 4 or len(head) < 2 + count:
        return None
    return 2 + count + int.from_bytes(head[2 : 2 + count], "big")

