"""What Python's own sockets would have raised."""

from __future__ import annotations

import os
import socket as _socket

from ..constants import Stage, Status, TLSCause
from ..errors import Error
from .errors import WebsocketConnectionError

# Those that Python tells as ssl.SSLCertVerificationError.
_OF_CERTIFICATE = range(TLSCause.UNKNOWN_CA, TLSCause.PIN + 1)


def os_error(failed: Error) -> OSError:
    """For an attempt that failed before CONNECT."""
    if failed.status == Status.RESOLVE:
        return _socket.gaierror(failed.os_error, str(failed))
    if failed.status == Status.TIMEOUT:
        return _socket.timeout("timed out")
    if failed.status == Status.TLS:
        return _ssl_error(failed)
    if failed.status == Status.WEBSOCKET or failed.stage == Stage.WEBSOCKET:
        return WebsocketConnectionError(str(failed))
    if failed.os_error:
        return OSError(failed.os_error, os.strerror(failed.os_error))
    return ConnectionError(str(failed))


def _ssl_error(failed: Error) -> OSError:
    try:
        import ssl
    except ImportError:  # Python was built without it
        return ConnectionError(str(failed))
    failure = failed.failure
    if failure is None or failure.tls_cause not in _OF_CERTIFICATE:
        return ssl.SSLError(1, str(failed))
    error = ssl.SSLCertVerificationError(1, str(failed))
    error.verify_code, error.verify_message = failure.tls_native, failure.text or failure.cause_name
    return error
