"""The command lines that test_programs.py runs on both libraries."""

from __future__ import annotations

import signal

from .programs import Row

USER_PROPERTIES = "-D publish user-property one 1 -D publish user-property two 2"


def pub(name: str, options: str, arrives: int = 1, **more: object) -> Row:
    return Row(name, "pub", options, arrives, **more)


def sub(name: str, options: str, *live: str, **more: object) -> Row:
    return Row(name, "sub", options, live=live, **more)


def rr(name: str, options: str, *live: str, arrives: int = 1, **more: object) -> Row:
    return Row(name, "rr", options, arrives, live=live, **more)


PUB = (
    *(pub(f"pub {version} q{qos}", f"-V {version} -q {qos} -t {{t}} -m hello -d")
      for version in ("mqttv31", "mqttv311", "mqttv5") for qos in (0, 1, 2)),
    pub("pub retained", "-t {t} -m kept -r -q 1 -d"),
    pub("pub nothing", "-t {t} -n -d"),
    pub("pub an empty text", "-t {t} -m '' -q 2"),
    pub("pub a file", "-t {t} -f {file} -q 1"),
    pub("pub an empty file", "-t {t} -f /dev/null", 1),
    pub("pub a file that is not there", "-t {t} -f /nowhere/at/all", 0, code=1),
    *(pub(f"pub lines q{qos}", f"-t {{t}} -l -q {qos}", 3, stdin=b"one\ntwo\nthree\n") for qos in (0, 1, 2)),
    pub("pub lines debugged", "-t {t} -l -q 1 -d", 2, stdin=b"one\n\n"),
    pub("pub no lines", "-t {t} -l", 0),
    pub("pub many lines", "-t {t} -l -q 1", 500, stdin=b"".join(b"line %d\n" % i for i in range(500))),
    pub("pub many lines, two in flight", "-t {t} -l -q 2 -M 2", 60, stdin=b"a line\n" * 60),
    pub("pub all of stdin", "-t {t} -s -q 1", stdin=b"one\ntwo\0three\n"),
    pub("pub an empty stdin", "-t {t} -s", 0, code=1),
    pub("pub repeated", "-t {t} -m again --repeat 3 -q 1 -d", 3),
    pub("pub repeated slowly", "-t {t} -m again --repeat 3 --repeat-delay 0.2 -q 2", 3, lasts=0.38),
    pub("pub with a name", "-t {t} -m hello -i {id} -d -q 1"),
    pub("pub with a prefix", "-t {t} -m hello -I publisher- -d -q 1"),
    pub("pub with a session", "-t {t} -m hello -i {id} -c -d -q 1"),
    pub("pub with a session that expires", "-V mqttv5 -t {t} -m hello -i {id} -c -x 30 -d -q 1"),
    pub("pub a session without a name", "-t {t} -m hello -c -d", 0, code=1),
    pub("pub keep alive", "-t {t} -m hello -k 17 -d"),
    pub("pub keep alive too short", "-t {t} -m hello -k 2", 0, code=1),
    pub("pub as somebody", "-t {t} -m hello -u {name} -P {password} -d"),
    *(pub(f"pub as somebody with a wrong password {version}",
          f"-V {version} -t {{t}} -m hello -u {{name}} -P wrong -d", 0, code=code)
      for version, code in (("mqttv31", 5), ("mqttv311", 5), ("mqttv5", 135))),
    pub("pub as nobody known, quietly", "-t {t} -m hello -u nobody -P wrong --quiet", 0, code=5),
    pub("pub a password alone", "-V mqttv5 -t {t} -m hello -P wrong -d", 1),
    pub("pub a will that stays unsaid", "-t {t} -m hello --will-topic {t}/will --will-payload gone -q 1 -d"),
    pub("pub a will", "-t {t} -l --will-topic {t}/will --will-payload gone --will-qos 1", 1,
        signal=signal.SIGKILL, code=-9),
    pub("pub an empty will, retained", "-t {t} -l --will-topic {t}/will --will-retain", 1,
        signal=signal.SIGKILL, code=-9),
    pub("pub a will with properties",
        "-V mqttv5 -t {t} -l --will-topic {t}/will --will-payload gone -D will content-type text/plain "
        "-D will user-property a b -D will message-expiry-interval 60", 1, signal=signal.SIGKILL, code=-9),
    pub("pub user properties", "-V mqttv5 -t {t} -m hello -q 1 -d " + USER_PROPERTIES),
    pub("pub properties",
        "-V mqttv5 -t {t} -m hello -q 2 -D publish content-type text/plain -D publish response-topic an/answer "
        "-D publish correlation-data number-7 -D publish message-expiry-interval 100 "
        "-D publish payload-format-indicator 1"),
    pub("pub a topic alias", "-V mqttv5 -t {t} -m hello --repeat 3 -D publish topic-alias 1 -q 1", 3),
    pub("pub properties of connect",
        "-V mqttv5 -t {t} -m hello -q 1 -D connect receive-maximum 3 -D connect maximum-packet-size 1000 "
        "-D connect topic-alias-maximum 5 -D connect user-property a b -D connect session-expiry-interval 10"),
    pub("pub request-problem-information", "-V mqttv5 -t {t} -m hello -q 1 -D connect request-problem-information 0"),
    pub("pub properties of disconnect", "-V mqttv5 -t {t} -m hello -D disconnect user-property a b -d"),
    pub("pub a property of another command", "-V mqttv5 -t {t} -m hello -D publish receive-maximum 3", 0, code=1),
    pub("pub a property without 5.0", "-V mqttv311 -t {t} -m hello -D publish content-type text"),
    pub("pub debugged and quiet", "-t {t} -m hello -d --quiet -q 2"),
    pub("pub to a topic with +", "-t {t}/+ -m hello", 0, code=1),
    pub("pub without a topic", "-m hello", 0, code=1),
    pub("pub without a message", "-t {t}", 0, code=1),
    pub("pub twice a message", "-t {t} -m one -f {file}", 0, code=1),
    pub("pub of QoS 3", "-t {t} -m hello -q 3", 0, code=1),
    pub("pub with an unknown option", "-t {t} -m hello --unknown", 0, code=1),
    pub("pub where nobody listens", "-t {t} -m hello", 0, address="-h {host} -p {closed}", code=1),
    pub("pub where nobody listens, quietly", "-t {t} -m hello --quiet -d", 0, address="-h {host} -p {closed}", code=1),
    pub("pub to a name that does not resolve", "-t {t} -m hello -d", 0, address="-h no-such-name.invalid", code=1),
    pub("pub by URL", "-L mqtt://{host}:{port}/{t} -m hello -d", address=""),
    pub("pub by a host's name", "-t {t} -m hello -q 1", address="-h localhost -p {port}"),
    pub("pub without delay", "-t {t} -m hello --nodelay -q 1"),
    pub("pub from an address", "-t {t} -m hello -A 127.0.0.1 -q 1"),
    pub("pub through a socket in the file system", "-t {t} -m hello -q 1", address="--unix {socket}"),
    pub("pub with a certificate that is not there", "-t {t} -m hello --cafile /nowhere/ca.crt", 0, code=1),
    pub("pub through a proxy that is not there", "-t {t} -m hello --proxy socks5h://127.0.0.1:{closed}", 0, code=1),
    pub("pub by a service record", "-t {t} -m hello -S", 0, code=1),
    pub("pub version", "--version", 0, address="", code=1),
    pub("pub help", "--help", 0, address="", code=1),
)

SUB = (
    *(sub(f"sub {version} q{qos}", f"-V {version} -q {qos} -t {{t}} -C 2 -d",
          "-t {t} -m one -q 2", "-t {t} -m two -q 1")
      for version in ("mqttv31", "mqttv311", "mqttv5") for qos in (0, 1, 2)),
    sub("sub verbose", "-t {t}/# -v -C 2", "-t {t}/a -m one", "-t {t}/b/c -n"),
    sub("sub several", "-t {t}/a -t {t}/b -t {t}/c/# -v -C 3 -d -q 1",
        "-t {t}/a -m one", "-t {t}/b -m two -q 1", "-t {t}/c/d -m three -q 2"),
    sub("sub without these", "-t {t}/# -T {t}/b -T {t}/c/+ -v -C 2",
        "-t {t}/b -m no", "-t {t}/a -m one", "-t {t}/c/d -m no", "-t {t}/c -m two"),
    sub("sub unsubscribed", "-t {t}/# -U {t}/# -W 1 -d -i {id}", code=27),
    sub("sub retained", "-t {t}/# -v -C 2 -q 1", retained=("-t {t}/a -m one", "-t {t}/b -m two")),
    sub("sub what is not retained", "-t {t}/# -v -R -C 1 -q 1", "-t {t}/c -m new", retained=("-t {t}/a -m old",)),
    sub("sub only what is retained", "-t {t}/# -v --retained-only", "-t {t}/b -m new", retained=("-t {t}/a -m old",)),
    sub("sub and remove", "-t {t}/# -v --remove-retained -W 1", arrives=2, code=27,
        retained=("-t {t}/a -m one", "-t {t}/b -m two")),
    sub("sub and remove some", "-t {t}/# -v --remove-retained -W 1 -T {t}/b", arrives=1, code=27,
        retained=("-t {t}/a -m one", "-t {t}/b -m two")),
    sub("sub for a second", "-t {t} -W 1 -d", "-t {t} -m one", code=27, lasts=1),
    sub("sub for a second of silence", "-t {t} -W 1", code=27, lasts=1),
    sub("sub until it stands", "-t {t} -E -d -q 2"),
    sub("sub until several stand", "-t {t}/a -t {t}/b -E -d -V mqttv5"),
    sub("sub without line ends", "-t {t} -N -C 2", "-t {t} -m one", "-t {t} -m two"),
    sub("sub format", "-t {t}/# -C 2 -F '%t %q %r %l %p %x %% \\n\\t'", "-t {t}/a -m 'one 1'", "-t {t} -n -q 1"),
    sub("sub JSON", "-t {t} -C 2 -F %j -q 1", "-t {t} -m one -q 1", "-t {t} -n"),
    sub("sub JSON of JSON", "-t {t} -C 1 -F %J --pretty", """-t {t} -m '{{"a": [1, 2.5, null]}}'"""),
    sub("sub JSON of 5.0", "-V mqttv5 -t {t} -C 1 -F %j", "-V mqttv5 -t {t} -m one " + USER_PROPERTIES),
    sub("sub format of mids", "-t {t} -C 2 -q 1 -F '%m %q'", "-t {t} -m one -q 1", "-t {t} -m two -q 1"),
    sub("sub format of properties", "-V mqttv5 -t {t} -q 2 -C 2 -F '%A|%C|%D|%E|%F|%P|%R|%S|%p'",
        "-V mqttv5 -t {t} -m hello -q 1 -D publish content-type text/plain -D publish response-topic an/answer "
        "-D publish correlation-data number-7 -D publish message-expiry-interval 100 "
        "-D publish payload-format-indicator 1 " + USER_PROPERTIES, "-t {t} -m plain"),
    sub("sub with an identifier", "-V mqttv5 -t {t} -C 1 -F '%S %p' -D subscribe subscription-identifier 12345 -d",
        "-t {t} -m one"),
    sub("sub aliases", "-V mqttv5 -t {t} -C 3 -F '%A %t %p' -D connect topic-alias-maximum 4", *["-t {t} -m one"] * 3),
    sub("sub properties", "-V mqttv5 -t {t} -C 1 -D subscribe user-property a b -D connect receive-maximum 2 -q 2",
        "-t {t} -m one -q 2"),
    sub("sub a session", "-t {t} -c -i {id} -q 1 -C 1 -d", "-t {t} -m one -q 1"),
    sub("sub a session that expires", "-V mqttv5 -t {t} -c -x 20 -i {id} -q 1 -C 1 -d", "-t {t} -m one -q 1"),
    sub("sub as somebody", "-t {t} -u {name} -P {password} -C 1 -d", "-t {t} -m one"),
    sub("sub with a wrong password", "-t {t} -u {name} -P wrong -C 1 -d", code=5),
    sub("sub with a wrong password in 5.0", "-V mqttv5 -t {t} -u {name} -P wrong -C 1 -d", code=135),
    sub("sub a will", "-t {t} --will-topic {t}/will --will-payload gone --will-qos 2", arrives=1,
        signal=signal.SIGKILL, code=-9),
    sub("sub interrupted", "-t {t} -d --will-topic {t}/will", signal=signal.SIGINT),
    sub("sub terminated", "-t {t} -d -V mqttv5", "-t {t} -m one", signal=signal.SIGTERM),
    sub("sub shared", "-V mqttv5 -t $share/group/{t} -v -C 1", "-t {t} -m one"),
    sub("sub many", "-t {t} -C 300 -q 1", "-t {t} -m line --repeat 300 -q 1", arrives=299),
    sub("sub a wrong filter", "-t {t}/#/a -C 1", code=1),
    sub("sub nothing", "-C 1", code=1),
    sub("sub where nobody listens", "-t {t}", address="-h {host} -p {closed}", code=1),
    sub("sub from a name that does not resolve", "-t {t} -d", address="-h no-such-name.invalid", code=1),
    sub("sub a wrong format", "-t {t} -F %z", code=1),
)

RR = (
    *(rr(f"rr q{qos}", f"-t {{t}}/ask -e {{t}}/answer -m question -q {qos} -d", f"-t {{t}}/answer -m yes -q {qos}")
      for qos in (0, 1, 2)),
    rr("rr 3.1.1", "-V mqttv311 -t {t}/ask -e {t}/answer -m question -v", "-t {t}/answer -m yes"),
    rr("rr format", "-t {t}/ask -e {t}/answer -n -F '%t %p %q'", "-t {t}/answer -m yes"),
    rr("rr correlation data", "-t {t}/ask -e {t}/answer -m question -D publish correlation-data 77 -F '%D %p'",
       "-V mqttv5 -t {t}/answer -m yes -D publish correlation-data 77"),
    rr("rr a file", "-t {t}/ask -e {t}/answer -f {file} -q 1", "-t {t}/answer -m yes"),
    rr("rr stdin", "-t {t}/ask -e {t}/answer -s", "-t {t}/answer -m yes", stdin=b"a question"),
    rr("rr without an answer", "-t {t}/ask -e {t}/answer -m question -W 1 -d", code=27, lasts=1),
    rr("rr with a wrong password", "-t {t}/ask -e {t}/answer -m question -u {name} -P wrong", arrives=0, code=135),
    rr("rr where nobody listens", "-t {t}/ask -e {t}/answer -m question", address="-h {host} -p {closed}",
       arrives=0, code=1),
    rr("rr without a topic for the answer", "-t {t}/ask -m question", arrives=0, code=1),
)

TLS, HERE = "-h localhost -p {tls}", "-h localhost -p {tls} --cafile {ca}"
CLIENT = "-h localhost -p {tls_client} --cafile {ca}"
SOCKS = "--proxy socks5h://127.0.0.1:{socks}"

SECURE = (
    *(pub(f"pub TLS q{qos}", f"-t {{t}} -m hello -d -q {qos}", address=HERE) for qos in (0, 1, 2)),
    pub("pub TLS 5.0", "-V mqttv5 -t {t} -m hello -d -q 1", address=HERE),
    pub("pub TLS lines", "-t {t} -l -q 1", 300, stdin=b"".join(b"line %d\n" % i for i in range(300)), address=HERE),
    pub("pub TLS a large file", "-t {t} -s -q 2", stdin=b"x" * 300_000, address=HERE),
    pub("pub TLS repeated", "-t {t} -m again --repeat 3 -q 1 -d", 3, address=HERE),
    pub("pub TLS as somebody", "-t {t} -m hello -u {name} -P {password} -d", address=HERE),
    pub("pub TLS with a wrong password", "-t {t} -m hello -u {name} -P wrong -d", 0, code=5, address=HERE),
    pub("pub TLS to an address", "-t {t} -m hello -q 1", address="-h 127.0.0.1 -p {tls} --cafile {ca}"),
    pub("pub TLS capath", "-t {t} -m hello --capath {capath} -q 1", address=TLS),
    pub("pub TLS another CA", "-t {t} -m hello --cafile {other} -d", 0, handshake=True, address=TLS),
    pub("pub TLS a CA that is none", "-t {t} -m hello --cafile {file} -d", 0, code=1, address=TLS),
    pub("pub TLS insecure, another CA", "-t {t} -m hello --cafile {other} --insecure", 0, handshake=True, address=TLS),
    pub("pub TLS the system's CAs", "-t {t} -m hello --tls-use-os-certs -q 1", address=TLS),
    pub("pub TLS by URL", "-L mqtts://localhost:{tls}/{t} -m hello --cafile {ca} -q 1", address=""),
    pub("pub TLS by URL, the system's CAs", "-L mqtts://localhost:{tls}/{t} -m hello -q 1", address=""),
    pub("pub TLS wrong name", "-t {t} -m hello -d", 0, handshake=True, address="-h localhost -p {tls_name} --cafile {ca}"),
    pub("pub TLS insecure", "-t {t} -m hello -q 1", address="-h localhost -p {tls_name} --cafile {ca} --insecure"),
    *(pub(f"pub TLS version {version}", f"-t {{t}} -m hello -q 1 --tls-version {version}", address=HERE)
      for version in ("tlsv1.2", "tlsv1.3", "tlsv1.1")),
    pub("pub TLS version tlsv1", "-t {t} -m hello --tls-version tlsv1", 0, code=1, address=HERE),
    pub("pub TLS ciphers", "-t {t} -m hello -q 1 --ciphers ECDHE-ECDSA-AES128-GCM-SHA256", address=HERE),
    pub("pub TLS ciphers that are none", "-t {t} -m hello -d --ciphers NONE-SUCH", 0, code=1, address=HERE),
    pub("pub TLS ALPN", "-t {t} -m hello -q 1 --tls-alpn mqtt", address=HERE),
    pub("pub TLS certificate", "-t {t} -m hello -q 1 --cert {cert} --key {key}", address=CLIENT),
    pub("pub TLS certificate and no key", "-t {t} -m hello --cert {cert}", 0, code=1, address=CLIENT),
    pub("pub TLS the wrong key", "-t {t} -m hello --cert {cert} --key {ca} -d", 0, code=1, address=CLIENT),
    pub("pub TLS engine of no such name", "-t {t} -m hello --tls-engine none-such", 0, code=1, address=HERE),
    pub("pub TLS keyform of no such name", "-t {t} -m hello --keyform none-such --cert {cert} --key {key}", 0, code=1,
        address=HERE),
    pub("pub TLS where nobody listens", "-t {t} -m hello --cafile {ca}", 0, code=1, address="-h {host} -p {closed}"),
    pub("pub TLS where no TLS is", "-t {t} -m hello --cafile {ca}", 0, handshake=True),
    pub("pub PSK", "-t {t} -m hello -q 1 --psk {psk_key} --psk-identity {psk_identity}",
        address="-h {host} -p {psk}"),
    pub("pub PSK with another key", "-t {t} -m hello --psk aabb --psk-identity {psk_identity}", 0, handshake=True,
        address="-h {host} -p {psk}"),
    pub("pub PSK without an identity", "-t {t} -m hello --psk aabb", 0, code=1, address="-h {host} -p {psk}"),
    pub("pub PSK and a CA", "-t {t} -m hello --psk aabb --psk-identity a --cafile {ca}", 0, code=1,
        address="-h {host} -p {psk}"),
    pub("pub SOCKS", f"-t {{t}} -m hello -q 2 -d {SOCKS}"),
    pub("pub SOCKS to a name", f"-t {{t}} -m hello -q 1 {SOCKS}", address="-h localhost -p {port}"),
    pub("pub SOCKS and TLS", f"-t {{t}} -m hello -q 1 -d {SOCKS}", address=HERE),
    pub("pub SOCKS where nobody listens", f"-t {{t}} -m hello -d {SOCKS}", 0, code=4,
        address="-h {host} -p {closed}"),
    pub("pub SOCKS with a password", "-t {t} -m hello -q 1 --proxy socks5h://{name}:secret@127.0.0.1:{login}"),
    pub("pub SOCKS with a wrong password", "-t {t} -m hello --proxy socks5h://{name}:wrong@127.0.0.1:{login}", 0,
        code=11),
    pub("pub SOCKS without a password", "-t {t} -m hello --proxy socks5h://127.0.0.1:{login}", 0, code=11),
    *(sub(f"sub TLS q{qos}", f"-t {{t}} -C 2 -d -q {qos}", "-t {t} -m one -q 2", "-t {t} -m two -q 1", address=HERE)
      for qos in (0, 1, 2)),
    sub("sub TLS many", "-t {t} -C 300 -q 1", "-t {t} -m line --repeat 300 -q 1", arrives=299, address=HERE),
    sub("sub TLS interrupted", "-t {t} -d --will-topic {t}/will", signal=signal.SIGINT, address=HERE),
    sub("sub TLS certificate", "-V mqttv5 -t {t} -C 1 -q 1 --cert {cert} --key {key}", "-t {t} -m one -q 1",
        address=CLIENT),
    sub("sub TLS another CA", "-t {t} --cafile {other} -d", handshake=True, address=TLS),
    sub("sub PSK", "-t {t} -C 1 --psk {psk_key} --psk-identity {psk_identity}", "-t {t} -m one",
        address="-h {host} -p {psk}"),
    sub("sub SOCKS and TLS", f"-t {{t}} -C 1 {SOCKS}", "-t {t} -m one", address=HERE),
    sub("sub through a socket in the file system", "-t {t} -C 1 -q 2 -d", "-t {t} -m one -q 2",
        address="--unix {socket}"),
    rr("rr TLS", "-t {t}/ask -e {t}/answer -m question -q 1 -d", "-t {t}/answer -m yes -q 1", address=HERE),
    rr("rr PSK", "-t {t}/ask -e {t}/answer -m question", "-t {t}/answer -m yes",
       address="-h {host} -p {psk} --psk {psk_key} --psk-identity {psk_identity}"),
    rr("rr SOCKS", f"-t {{t}}/ask -e {{t}}/answer -m question {SOCKS}", "-t {t}/answer -m yes"),
    rr("rr TLS another CA", "-t {t}/ask -e {t}/answer -m question --cafile {other}", arrives=0, handshake=True, address=TLS),
)

ROWS = PUB + SUB + RR + SECURE
