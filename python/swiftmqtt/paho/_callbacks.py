"""The callbacks of a client: attributes, or methods of a class derived from it, with the arguments of either API
version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import Error
from ._names import (
    MQTT_LOG_ERR,
    ConnectFlags,
    DisconnectFlags,
    MQTTv5,
    convert_connack_rc_to_reason_code,
    convert_disconnect_error_code_to_reason_code,
    end_code,
    reason,
)
from .enums import CallbackAPIVersion, LogLevel, MQTTErrorCode, MQTTProtocolVersion
from .matcher import MQTTMatcher
from .message import MQTTMessage
from .packettypes import PacketTypes
from .properties import Properties

Callback = Callable[..., Any]


class _Slot:
    """An attribute that holds a callback; a method with its name in a derived class takes its place."""

    def __init__(self, meaning: str):
        self.__doc__ = meaning

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = "_" + name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else instance.__dict__.get(self.key)

    def __set__(self, instance: Any, function: Callback | None) -> None:
        instance.__dict__[self.key] = function


def _decorator(name: str) -> Callable[[Any], Callable[[Callback], Callback]]:
    def decorating(self: Any) -> Callable[[Callback], Callback]:
        def decorate(function: Callback) -> Callback:
            setattr(self, name, function)
            return function

        return decorate

    decorating.__doc__ = f"Decorator for {name}."
    return decorating


class Callbacks:
    """What a client calls. Each gets the client and its user data first; then

    VERSION2                                                      VERSION1
    on_connect        flags, reason_code, properties              flags (a dict), rc[, properties with 5.0]
    on_disconnect     flags, reason_code, properties              rc[, properties with 5.0]
    on_publish        mid, reason_code, properties                mid
    on_subscribe      mid, reason_codes, properties               mid, granted_qos, or with 5.0 as VERSION2
    on_unsubscribe    mid, reason_codes, properties               mid[, properties, reason_codes with 5.0]
    on_message        message                                     the same; so are those that follow
    on_log            level, text
    on_connect_fail, on_pre_connect
    on_socket_open, on_socket_close, on_socket_register_write, on_socket_unregister_write    socket
    """

    on_connect = _Slot("The server answered CONNECT.")
    on_connect_fail = _Slot("A network connection that the loop began could not be opened.")
    on_disconnect = _Slot("The connection ended.")
    on_log = _Slot("The client has something to log.")
    on_message = _Slot("A message came that no callback of message_callback_add() is for.")
    on_pre_connect = _Slot("A connection is about to be opened.")
    on_publish = _Slot("A message was published as its QoS promises.")
    on_socket_close = _Slot("The network connection is about to be closed.")
    on_socket_open = _Slot("The network connection is open.")
    on_socket_register_write = _Slot("Never called: what there is to be sent is sent at once, or by loop_read().")
    on_socket_unregister_write = _Slot("Never called.")
    on_subscribe = _Slot("SUBACK came.")
    on_unsubscribe = _Slot("UNSUBACK came.")

    connect_callback = _decorator("on_connect")
    connect_fail_callback = _decorator("on_connect_fail")
    disconnect_callback = _decorator("on_disconnect")
    log_callback = _decorator("on_log")
    message_callback = _decorator("on_message")
    pre_connect_callback = _decorator("on_pre_connect")
    publish_callback = _decorator("on_publish")
    socket_close_callback = _decorator("on_socket_close")
    socket_open_callback = _decorator("on_socket_open")
    socket_register_write_callback = _decorator("on_socket_register_write")
    socket_unregister_write_callback = _decorator("on_socket_unregister_write")
    subscribe_callback = _decorator("on_subscribe")
    unsubscribe_callback = _decorator("on_unsubscribe")

    #: Whether exceptions in callbacks are only logged.
    suppress_exceptions = False

    _callback_api_version: CallbackAPIVersion
    _protocol: MQTTProtocolVersion
    _userdata: Any

    def __init__(self) -> None:
        self._filtered = MQTTMatcher()

    def message_callback_add(self, sub: str, callback: Callback) -> None:
        """Has callback(client, userdata, message) called, instead of on_message, for messages that match a Topic
        Filter."""
        if callback is None or sub is None:
            raise ValueError("sub and callback must both be defined.")
        self._filtered[sub] = callback

    def message_callback_remove(self, sub: str) -> None:
        """Ends what message_callback_add() began."""
        if sub is None:
            raise ValueError("sub must defined.")
        try:
            del self._filtered[sub]
        except KeyError:
            pass

    def topic_callback(self, sub: str) -> Callable[[Callback], Callback]:
        """Decorator: message_callback_add()."""

        def decorate(function: Callback) -> Callback:
            self.message_callback_add(sub, function)
            return function

        return decorate

    # ---- Calling them

    def _log(self, level: LogLevel, text: str) -> None:
        raise NotImplementedError

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self, name)
        if function:
            self._run_callback(name, function, *arguments)

    def _run_callback(self, name: str, function: Callback, *arguments: Any) -> None:
        try:
            function(self, self._userdata, *arguments)
        except Exception as error:
            self._log(MQTT_LOG_ERR, f"Caught exception in {name}: {error}")
            if not self.suppress_exceptions:
                raise

    @property
    def _version_1(self) -> bool:
        return self._callback_api_version is CallbackAPIVersion.VERSION1

    def _call_on_connect(self, session_present: bool, number: int, properties: Properties | None) -> None:
        is_5 = self._protocol == MQTTv5
        code = reason(PacketTypes.CONNACK, number) if is_5 else convert_connack_rc_to_reason_code(number)
        if not self._version_1:
            flags = ConnectFlags(session_present=session_present)
            self._call("on_connect", flags, code, properties or Properties(PacketTypes.CONNACK))
        elif is_5:
            self._call("on_connect", {"session present": int(session_present)}, code, properties)
        else:
            self._call("on_connect", {"session present": int(session_present)}, number)

    def _call_on_disconnect(self, rc: MQTTErrorCode, by_server: Error | None, properties: Properties | None) -> None:
        code = reason(PacketTypes.DISCONNECT, by_server.reason_code) if by_server else None
        if not self._version_1:
            self._call(
                "on_disconnect",
                DisconnectFlags(is_disconnect_packet_from_server=by_server is not None),
                code or convert_disconnect_error_code_to_reason_code(rc),
                properties or Properties(PacketTypes.DISCONNECT),
            )
        elif self._protocol == MQTTv5:
            self._call("on_disconnect", code if by_server else rc, properties if by_server else None)
        else:
            self._call("on_disconnect", rc)

    def _call_on_publish(self, mid: int, packet: int, number: int, properties: Properties | None) -> None:
        if self._version_1:
            self._call("on_publish", mid)
        else:
            self._call("on_publish", mid, reason(packet, number), properties or Properties(packet))

    def _call_on_subscribe(self, mid: int, numbers: tuple[int, ...], properties: Properties) -> None:
        if self._version_1 and self._protocol != MQTTv5:
            self._call("on_subscribe", mid, numbers)
        else:
            codes = [reason(PacketTypes.SUBACK, number) for number in numbers]
            self._call("on_subscribe", mid, codes, properties)

    def _call_on_unsubscribe(self, mid: int, numbers: tuple[int, ...], properties: Properties) -> None:
        codes = [reason(PacketTypes.UNSUBACK, number) for number in numbers] if self._protocol == MQTTv5 else []
        if not self._version_1:
            self._call("on_unsubscribe", mid, codes, properties)
        elif self._protocol == MQTTv5:
            self._call("on_unsubscribe", mid, properties, codes[0] if len(codes) == 1 else codes)
        else:
            self._call("on_unsubscribe", mid)

    def _call_on_message(self, message: MQTTMessage) -> None:
        filtered = list(self._filtered.iter_match(message.topic)) if self._filtered else []
        for function in filtered:
            self._run_callback(getattr(function, "__name__", "a message callback"), function, message)
        if not filtered:
            self._call("on_message", message)


__all__ = ["Callbacks", "end_code"]
