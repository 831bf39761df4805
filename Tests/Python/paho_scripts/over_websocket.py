"""WebSockets, with and without TLS, and a socket in the file system."""

import json
import sys
import threading

import paho.mqtt.client as mqtt
import paho.mqtt.publish as publish
import paho.mqtt.subscribe as subscribe

host, _, level, told = sys.argv[1:]
told = json.loads(told)
V2 = mqtt.CallbackAPIVersion.VERSION2


def echo(what, transport, where, port, configure=lambda client: None, times=1):
    """What is published comes back."""
    client, came = mqtt.Client(V2, transport=transport), threading.Semaphore(0)

    def on_connect(client, userdata, flags, code, properties):
        print(what, "on_connect", code, client.transport)
        client.subscribe(level, 1)

    def on_message(client, userdata, message):
        print(what, message.payload, message.qos)
        came.release()

    client.on_connect, client.on_message = on_connect, on_message
    client.on_subscribe = lambda client, *_: client.publish(level, what, 1)
    configure(client)
    for _ in range(times):
        client.connect(where, port)
        client.loop_start()
        print(what, came.acquire(timeout=20))
        client.disconnect()
        client.loop_stop()


def attempt(what, call):
    try:
        print(what, call())
    except Exception as error:
        named = mqtt.WebsocketConnectionError
        kind = named if isinstance(error, named) else next(k for k in (OSError, ValueError) if isinstance(error, k))
        print(what, "raises", kind.__name__, error if kind is ValueError else "")


def token(headers):
    named = ("Host", "Upgrade", "Connection", "Origin", "Sec-WebSocket-Key", "Sec-Websocket-Version")
    print(sorted(headers) == sorted((*named, "Sec-Websocket-Protocol")))
    print(headers["Host"] == f"{host}:{told['nginx']}", headers["Origin"] == f"http://{host}:{told['nginx']}")
    print(headers["Upgrade"], headers["Connection"], headers["Sec-Websocket-Version"], headers["Sec-Websocket-Protocol"])
    headers["X-Token"] = "secret"
    return headers


echo("ws", "websockets", host, told["ws"])
echo("wss", "websockets", host, told["wss"], lambda client: client.tls_set(told["ca"]))
echo("nginx", "websockets", host, told["nginx"], lambda client: client.ws_set_options("/mqtt"))
headers = {"X-Token": "secret"}
echo("dict", "websockets", host, told["nginx"], lambda client: client.ws_set_options("/token", headers))
echo("function", "websockets", host, told["nginx"], lambda client: client.ws_set_options("/token", token), times=2)
echo("unix", "unix", told["unix"], 1883)

for path in ("/token", "/404", "/502", "/302"):
    client = mqtt.Client(V2, transport="websockets")
    client.ws_set_options(path)
    attempt(path, lambda: client.connect(host, told["nginx"]))
client = mqtt.Client(V2, transport="WebSockets")
attempt("a port of MQTT", lambda: client.connect(host, told["plain"]))
attempt("headers", lambda: client.ws_set_options(headers=[("a", "b")]))
attempt("transport", lambda: mqtt.Client(V2, transport="udp"))
client = mqtt.Client(V2, transport="unix")
attempt("no socket", lambda: client.connect("/nowhere/at/all"))

publish.single(f"{level}/kept", "kept", 1, True, host, told["ws"], transport="websockets")
print(subscribe.simple(f"{level}/kept", hostname=host, port=told["ws"], transport="websockets").payload)
publish.single(f"{level}/kept", "", 1, True, told["unix"], transport="unix")
