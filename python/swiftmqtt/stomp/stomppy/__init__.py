"""For programs for stomp.py: its connections, listeners and exceptions, on libswiftstomp.

    import swiftmqtt.stomp.stomppy as stomp

    class Printer(stomp.ConnectionListener):
        def on_message(self, frame):
            print(frame.headers["destination"], frame.body)

    connection = stomp.Connection([("127.0.0.1", 61613)])
    connection.set_listener("printer", Printer())
    connection.connect("guest", "guest", wait=True)
    connection.subscribe("/queue/greetings", id=1, ack="auto")
    connection.send("/queue/greetings", "hello")
    connection.disconnect()

That of stomp.py 8.2. A connection has a thread, which receives, keeps it alive, and calls the listeners. Any thread may
call the other functions, listeners too. :func:`replace_stomp` makes ``import stomp`` find this package.

What differs from stomp.py:

- An id of a subscription is the program's; what goes over the wire is the library's number. In headers of a message
  "subscription" is the program's.
- ack() and nack() are for messages of the present connection that came in one of the two other ack modes; anything else is
  a ValueError. ack() takes more headers, as nack() does.
- An ack with a receipt is sent in a transaction of its own, whose COMMIT has the receipt.
- Heart-beats are not told to on_heartbeat(). A server is dead after two and a half of them: heart_beat_receive_scale is
  accepted, and has no effect.
- An exception of a listener is printed, and the connection goes on.
- set_ssl() without ca_certs checks the server's certificate against the CAs of the system: stomp.py checks nothing then.
  It takes neither cert_validator nor ssl_version. The argument `tls` of a connection is that of
  :class:`swiftmqtt.stomp.Client`.
- bind_host_port takes a host, and no port but 0.
- There is no `transport`, no send_frame() and no multicast.
"""

from . import connect, exception, listener, utils
from ._replace import replace_stomp
from .connect import Connection, Connection10, Connection11, Connection12, WSConnection
from .listener import ConnectionListener, PrintingListener, StatsListener, WaitingListener
from .utils import Frame

#: Which stomp.py this has the interface of.
__version__ = "8.2.0"

StompConnection10, StompConnection11, StompConnection12 = Connection10, Connection11, Connection12
WSStompConnection = WSConnection

__all__ = [
    "Connection",
    "Connection10",
    "Connection11",
    "Connection12",
    "ConnectionListener",
    "Frame",
    "PrintingListener",
    "StatsListener",
    "StompConnection10",
    "StompConnection11",
    "StompConnection12",
    "WSConnection",
    "WSStompConnection",
    "WaitingListener",
    "connect",
    "exception",
    "listener",
    "replace_stomp",
    "utils",
]
