"""Names that are not there: an error that says which one was meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._checks import function

#: What other clients call it, and what it is called here.
ELSEWHERE = {
    "broker": "host",
    "hostname": "host",
    "server": "host",
    "keepalive": "keep_alive_s",
    "username": "user_name",
    "user": "user_name",
    "pass_word": "password",
    "clientid": "client_id",
    "clean_session": "new_session",
    "clean_start": "new_session",
    "will_set": "will",
    "version": "protocol",
}
#: What a client has no attribute for, and what is there instead.
INSTEAD = {
    "on_message": "messages come from receive(), messages(), or a loop: for message in client",
    "on_connect": "did you mean on_connected, which gets one argument?",
    "on_disconnect": "did you mean on_disconnected, which gets one argument?",
    "on_publish": "publish() returns a token, which has wait() and add_done_callback()",
    "on_subscribe": "subscribe() returns a token, which has wait() and add_done_callback()",
    "on_unsubscribe": "unsubscribe() returns a token, which has wait() and add_done_callback()",
    "on_log": "did you mean set_log()?",
    "loop_start": "a client has a thread of its own, from connect() on",
    "loop_stop": "disconnect() ends the connection, and close() ends the client's thread",
    "loop_forever": "did you mean run(), which returns when the client is disconnected?",
    "username_pw_set": "user_name and password are options: Client(url, user_name=…, password=…)",
    "will_set": "the Will is an option: Client(url, will=swiftmqtt.Will(…))",
}


def meant(name: str, known: Iterable[str], instead: Mapping[str, str] = INSTEAD) -> str:
    """What is to be said behind the name: what there is instead, which of the known names was meant, or nothing."""
    known = list(known)
    if name in instead:
        return f": {instead[name]}"
    if ELSEWHERE.get(name) in known:
        return f": did you mean {ELSEWHERE[name]}?"
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1, 0.7)
    return f": did you mean {close[0]}?" if close else ""


class Named:
    """What has only the attributes that it is known to have. A class derived from it may have more, but for what looks
    like a callback and is none."""

    _instead: Mapping[str, str] = INSTEAD
    _checked_function = staticmethod(function)

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if not _is_ours(cls):
            for name in vars(cls):
                if name in cls._instead and not hasattr(super(cls, cls), name):
                    raise TypeError(f"a method {name}() would never be called: {cls._instead[name]}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] == "_":
            object.__setattr__(self, name, value)
            return
        if name not in self.__dict__ and not hasattr(type(self), name):
            if _is_ours(type(self)) or name in self._instead or name.startswith("on_"):
                raise AttributeError(self._unknown(name))
        if name.startswith("on_"):
            self._checked_function(name, value)
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        said = f"a {type(self).__module__.partition('.')[0]} client has no attribute {name!r}"
        return said + meant(name, [known for known in dir(type(self)) if known[0] != "_"], self._instead)


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]
