"""TLS: whom to trust, who one is, what is raised, and what the helpers do with it."""

import json
import ssl
import sys
import threading

import paho.mqtt.client as mqtt
import paho.mqtt.publish as publish
import paho.mqtt.subscribe as subscribe

host, _, level, told = sys.argv[1:]
told = json.loads(told)
V2 = mqtt.CallbackAPIVersion.VERSION2
PASSWORD = "secret of the key"


def attempt(what, call):
    try:
        print(what, call())
    except Exception as error:
        kinds = (ssl.SSLCertVerificationError, ssl.SSLError, FileNotFoundError, OSError, ValueError)
        kind = next((kind.__name__ for kind in kinds if isinstance(error, kind)), repr(error))
        print(what, "raises", kind, error if type(error) is ValueError else "")


def echo(what, listener, configure, protocol=mqtt.MQTTv311):
    """What is published comes back."""
    client, came = mqtt.Client(V2, protocol=protocol), threading.Event()

    def on_connect(client, userdata, flags, code, properties):
        print(what, "on_connect", code)
        client.subscribe(level, 1)

    def on_message(client, userdata, message):
        print(what, message.payload, message.qos)
        came.set()

    client.on_connect, client.on_message = on_connect, on_message
    client.on_subscribe = lambda client, *_: client.publish(level, what, 1)
    configure(client)
    client.connect(host, told[listener])
    client.loop_start()
    print(what, came.wait(20))
    client.disconnect()
    client.loop_stop()


def fail(what, listener, configure):
    client = mqtt.Client(V2)
    configure(client)
    attempt(what, lambda: client.connect(host, told[listener]))


def with_ca(client, **more):
    client.tls_set(told["ca"], **more)


def unverified(client):
    client.tls_set(cert_reqs=ssl.CERT_NONE)


def insecure(client):
    with_ca(client)
    client.tls_insecure_set(True)


echo("ca", "good", with_ca)
echo("ca, 5.0", "good", with_ca, mqtt.MQTTv5)
echo("ca, TLS 1.2", "rsa", lambda client: with_ca(client, tls_version=ssl.PROTOCOL_TLSv1_2))
echo("alpn", "below", lambda client: with_ca(client, alpn_protocols=["mqtt"]))
echo("no verification", "self-signed", unverified)
echo("no check of the name", "wrong-name", insecure)
own = dict(certfile=told["certificate"], keyfile=told["key"], keyfile_password=PASSWORD)
echo("certificate", "client", lambda client: with_ca(client, **own))

for listener in ("expired", "future", "wrong-name", "unknown", "self-signed"):
    fail(listener, listener, with_ca)
fail("the system's CAs", "good", lambda client: client.tls_set())
fail("the system's CAs by a context", "good", lambda client: client.tls_set_context())

client = mqtt.Client(V2)
attempt("insecure before", lambda: client.tls_insecure_set(True))
attempt("no file", lambda: client.tls_set("/nowhere/at/all.pem"))
attempt("no certificate", lambda: client.tls_set(told["ca"], certfile="/nowhere/at/all.pem"))
attempt("no CA in it", lambda: client.tls_set(__file__))
attempt("wrong password", lambda: client.tls_set(told["ca"], **{**own, "keyfile_password": "wrong"}))
attempt("ciphers", lambda: client.tls_set(told["ca"], ciphers="no such cipher"))
attempt("first", lambda: client.tls_set(told["ca"]))
attempt("second", lambda: client.tls_set(told["ca"]))
attempt("context", lambda: client.tls_set_context())

# The refusal comes behind the handshake of TLS 1.3.
ended = threading.Event()
client = mqtt.Client(V2)
client.on_connect = lambda *arguments: print("never", arguments)
client.on_disconnect = lambda client, userdata, flags, code, properties: (print("on_disconnect", code), ended.set())
with_ca(client)
client.connect(host, told["client"])
client.loop_start()
print("ended", ended.wait(20))
client.disconnect()
client.loop_stop()

port, tls = told["good"], {"ca_certs": told["ca"]}
publish.single(f"{level}/kept", "kept", 1, True, host, port, tls=tls)
print(subscribe.simple(f"{level}/kept", hostname=host, port=port, tls=tls).payload)
tls["insecure"] = True
publish.multiple([(f"{level}/kept", "", 1, True)], host, told["wrong-name"], tls=tls)
