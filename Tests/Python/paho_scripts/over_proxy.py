"""A SOCKS5 proxy with a password, and one of HTTP, as PySocks has them; where a connection comes from."""

import json
import sys
import threading

import paho.mqtt.client as mqtt
import paho.mqtt.publish as publish

host, port, level, told = sys.argv[1:]
port, told = int(port), json.loads(told)
V2 = mqtt.CallbackAPIVersion.VERSION2
SOCKS5, HTTP = 2, 3  # socks.SOCKS5, socks.HTTP


def attempt(what, call):
    try:
        print(what, call())
    except Exception as error:
        kind = next(k for k in (OSError, ValueError) if isinstance(error, k))
        print(what, "raises", kind.__name__, error if kind is ValueError else "")


def through(what, proxy, name=host, to=port, tls=False, **more):
    client, connected = mqtt.Client(V2), threading.Event()
    client.on_connect = lambda *arguments: (print(what, arguments[3]), connected.set())
    if proxy:
        client.proxy_set(**proxy)
    if tls:
        client.tls_set(told["ca"])
    client.connect(name, to, **more)
    client.loop_start()
    print(what, connected.wait(20))
    client.disconnect()
    client.loop_stop()


login = dict(proxy_username="user", proxy_password="pass")
socks = dict(proxy_type=SOCKS5, proxy_addr=host, proxy_port=told["socks"], **login)
http = dict(proxy_type=HTTP, proxy_addr=host, proxy_port=told["http"])
through("socks", socks)
through("socks, a name", socks, "localhost")
through("socks, tls", socks, "localhost", told["good"], True)
through("http", http)
through("http, tls", http, "localhost", told["good"], True)
through("from elsewhere", None, bind_address="127.0.0.5")

wrong = {**socks, "proxy_password": "other"}
attempt("password", lambda: through("wrong", wrong))
attempt("nothing there", lambda: through("wrong", http, to=1))
attempt("type", lambda: mqtt.Client(V2).proxy_set(proxy_type=7, proxy_addr=host))
attempt("address", lambda: mqtt.Client(V2).proxy_set(proxy_type=HTTP))
publish.single(level, "x", 1, False, host, port, proxy_args=socks)
print("published")
