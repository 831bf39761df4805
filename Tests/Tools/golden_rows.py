"""Command lines that are run with smq and with mosquitto_pub, mosquitto_sub or mosquitto_rr: those that the drop-in is
tried with, and more."""

from __future__ import annotations

import re

from Compat.program_rows import ROWS as COMPAT_ROWS
from Compat.program_rows import pub, rr, sub
from Compat.programs import Row

JSON = (
    '{{"a": [1, 2.5, null, true], "b": {{}}, "c": "x\\u00e9\\n"}}', "[]", "7", '"text"', "{{", "[1e400, 1e5, -0, 0.1]")
PROPERTIES = (
    "-V mqttv5 -D publish content-type text/plain -D publish response-topic an/answer -D publish correlation-data num "
    "-D publish payload-format-indicator 1 -D publish user-property one 1 -D publish user-property two 2")


def formats(name: str, *formats: str, live: str = "-t {t}/a -m 'one 1'") -> tuple[Row, ...]:
    """A row for each format."""
    return tuple(
        sub(f"sub format {name} {number}", f"-V mqttv5 -t {{t}}/# -C 2 -F '{text}'", live, "-t {t}/b -n")
        for number, text in enumerate(formats))


FORMATS = (
    *formats("width", "[%10t|%-10t|%30t|%-30t]", "[%.2t|%30.2t|%-30.1t|%.0t]", "[%10p|%-10p|%2p|%010p|%.2p]",
             "[%x|%X|%5x|%-20x|%020x]", "[%l|%05l|%-5l|%5l|%.2l]", "[%5q|%5r|%%|%5%]"),
    *formats("properties", "[%C|%20C|%-20C|%.4C|%020C]", "[%D|%20D|%.1D]", "[%E|%010E|%-10E|%F|%3F|%03F]", "[%P|%20P]",
             "[%R|%10R|%.1R]", "[%S|%5S|%05S|%-05S|%A|%5A|%05A|%-05A]", "[%.C|%10.C|%-05E]", live="-t {t}/a -m x " + PROPERTIES),
    *formats("text", "\\a\\e\\n\\r\\t\\v\\\\", "@@ @% %%", "é\\0|", "@Y-@m-@d"),
    *(sub(f"sub wrong format {number}", f"-t {{t}} -F '{text}'", code=1)
      for number, text in enumerate(("%", "@", "\\", "%5", "\\q", "%--5t", "%0-5t"))),
    *(sub(f"sub {letter} {number} {pretty}", f"-t {{t}} -C 1 -F {letter} {pretty}", f"-t {{t}} -m '{payload}'")
      for number, payload in enumerate(JSON) for letter in ("%j", "%J") for pretty in ("--pretty", "")),
    sub("sub JSON of properties", "-V mqttv5 -t {t} -C 1 -F %j --pretty", "-t {t} -m x " + PROPERTIES),
    sub("sub JSON without line ends", "-t {t} -C 2 -N -F '%j;'", "-t {t} -m one", "-t {t} -m two"),
    sub("sub format beats verbose", "-t {t} -C 1 -v -F '%p'", "-t {t} -m one"),
    sub("sub verbose without line ends", "-t {t} -C 2 -v -N", "-t {t} -m one", "-t {t} -n"),
)

MORE = (
    sub("sub nothing in a message", "-t {t} -C 2", "-t {t} -n", "-t {t} -m one"),
    sub("sub nothing in a message, without line ends", "-t {t} -C 2 -N", "-t {t} -n", "-t {t} -m one"),
    sub("sub by URL", "-L mqtt://{host}:{port}/{t} -C 1", "-t {t} -m one", address=""),
    sub("sub by URL and more", "-L mqtt://{host}:{port}/{t} -t {t}/b -C 2 -v", "-t {t} -m one", "-t {t}/b -m two",
        address=""),
    sub("sub by URL with a name", "-L mqtt://{name}:wrong@{host}:{port}/{t}", address="", code=5),
    sub("sub as published", "-V mqttv5 -t {t} --retain-as-published -C 1 -F '%r %p'", "-t {t} -m one -r"),
    sub("sub in another order", "-C 1 -v -q 2 -t {t} -V 5", "-t {t} -m one -q 1"),
    sub("sub quietly where nobody listens", "-t {t} --quiet", address="-h {host} -p {closed}", code=1),
    sub("sub with both kinds of retained", "-t {t} -R --retained-only", code=1),
    sub("sub a count of 0", "-t {t} -C 0", code=1),
    sub("sub a timeout of 0", "-t {t} -W 0", code=1),
    sub("sub keep alive of 0", "-t {t} -k 0", code=1),
    sub("sub two names", "-t {t} -i one -I two", code=1),
    sub("sub a wrong filter to leave out", "-t {t} -T a/#/b", code=1),
    sub("sub a wrong port", "-t {t} -p 70000", code=1),
    sub("sub a wrong version", "-t {t} -V 4", code=1),
    sub("sub with an option of pub", "-t {t} -m text", code=1),
    sub("sub with a topic missing", "-t", code=1),
    sub("sub a shared wrong filter", "-t '$share/a/b/#/c'", code=1),
    sub("sub with long options", "--topic {t} --qos 1 --verbose --id {id} --keepalive 30 --protocol-version 5 -C 1",
        "-t {t} -m one -q 1"),
    sub("sub what is not retained in 5.0", "-V 5 -t {t}/# -v -R -C 1 -q 1", "-t {t}/c -m new",
        retained=("-t {t}/a -m old",)),
    sub("sub what is not retained, and remove", "-t {t}/# -v -R --remove-retained -C 1 -q 1", "-t {t}/c -m new",
        retained=("-t {t}/a -m old",)),
    sub("sub an empty name", "-t {t} -i ''", code=1),
    sub("sub a session of a prefix", "-t {t} -c -I prefix", code=1),
    sub("sub by an empty URL", "-L '' -t {t}", address="", code=1),
    sub("sub large", "-t {t} -C 1 -F '%l'", "-t {t} -f /etc/ld.so.cache"),
    pub("pub with long options",
        "--topic {t} --qos 1 --message text --retain --id {id} --keepalive 30 --protocol-version mqttv31"),
    pub("pub retained nothing", "-t {t} -n -r -q 1"),
    pub("pub by URL with a name", "-L mqtt://{name}:wrong@{host}:{port}/{t} -m one", address="", code=5),
    pub("pub by URL without a topic", "-L mqtt://{host}:{port} -m one", address="", code=1),
    pub("pub by URL with an option's topic", "-L mqtt://{host}:{port}/none -t {t} -m one", address=""),
    pub("pub by an option's topic and then a URL", "-t none -L mqtt://{host}:{port}/{t} -m one", address=""),
    pub("pub by two URLs", "-L mqtt://{host}:1/none -L mqtt://{host}:{port}/{t} -m one", address=""),
    pub("pub by a URL with a wrong topic", "-L mqtt://{host}:{port}/+ -t {t} -m one", address="", code=1),
    pub("pub by a URL in capitals", "-L MQTT://{host}:{port}/{t} -m one", address=""),
    pub("pub by URL with a name, and a password", "-L mqtt://{name}@{host}:{port}/{t} -P {password} -m one", address=""),
    pub("pub by URL with a password, and another",
        "-L mqtt://{name}:wrong@{host}:{port}/{t} -P {password} -m one", address=""),
    pub("pub by URL with a login, and a name", "-L mqtt://nobody:wrong@{host}:{port}/{t} -u {name} -m one", address="",
        code=5),
    pub("pub to a host without a name", "-h '' -t {t} -m one", address="", code=1),
    pub("pub a session of a prefix", "-t {t} -m one -c -I prefix", code=1),
    pub("pub a session of a prefix for ever", "-V 5 -t {t} -m one -x -1 -I prefix", code=1),
    pub("pub a session that ends with its connection", "-V 5 -t {t} -m one -i {id} -c -x 0"),
    pub("pub with an empty name", "-t {t} -m one -u ''"),
    pub("pub with an empty name and password in 5.0", "-V 5 -t {t} -m one -u '' -P ''"),
    pub("pub a property twice", "-t {t} -m one -D publish content-type a -D publish content-type b", code=1),
    pub("pub expiry of a session twice", "-t {t} -m one -x 30 -D connect session-expiry-interval 30", code=1),
    pub("pub a session that lasts longer than it began", "-t {t} -m one -x 30 -D disconnect session-expiry-interval 60"),
    pub("pub by a URL of HTTP", "-L http://{host}:{port}/{t} -m one", address="", code=1),
    pub("pub lines without an end", "-t {t} -l -q 1", stdin=b"one\ntwo"),
    pub("pub lines with CR", "-t {t} -l", stdin=b"one\r\ntwo\r\n"),
    pub("pub empty lines", "-t {t} -l -q 1", stdin=b"\n\n"),
    pub("pub a long line", "-t {t} -l -q 1", stdin=b"x" * 30_000 + b"\n"),
    pub("pub a large message", "-t {t} -s -q 1", stdin=b"0123456789" * 100_000),
    pub("pub repeat and lines", "-t {t} -l --repeat 2", 0),
    pub("pub repeat of 0", "-t {t} -m x --repeat 0", code=1),
    pub("pub a negative delay", "-t {t} -m x --repeat 2 --repeat-delay -1", code=1),
    pub("pub two messages", "-t {t} -m one -n", code=1),
    pub("pub an infinite session without a name", "-V 5 -t {t} -m one -x -1", code=1),
    pub("pub a session that ends", "-V 5 -t {t} -m one -x 30"),
    pub("pub an infinite session", "-V 5 -t {t} -m one -x -1 -i {id} -c"),
    pub("pub expiry of a session without 5.0", "-t {t} -m one -x 30"),
    pub("pub will qos without a topic", "-t {t} -m one --will-qos 1"),
    pub("pub will with a wrong topic", "-t {t} -m one --will-topic a/#", code=1),
    pub("pub a will with retain and QoS",
        "-t {t} -m one --will-topic {t}/w --will-retain --will-qos 2 --will-payload p"),
    pub("pub a password without a name", "-t {t} -m one -P word", code=1),
    pub("pub a property of no packet", "-t {t} -m one -D nothing user-property a b", code=1),
    pub("pub no such property", "-t {t} -m one -D publish nothing 1", code=1),
    pub("pub a property in capitals", "-t {t} -m one -D PUBLISH content-type text -q 1"),
    pub("pub a property half given", "-t {t} -m one -D publish", code=1),
    pub("pub a property and then a version", "-t {t} -m one -D publish content-type text -V 311"),
    pub("pub max inflight of 0", "-t {t} -m one -M 0", code=1),
    pub("pub a will with a delay", "-V 5 -t {t} -m one --will-topic {t}/w -D will will-delay-interval 5 -q 1"),
    pub("pub authentication",
        "-V 5 -t {t} -m one -D connect authentication-method none -D connect authentication-data x", code=140),
    rr("rr JSON", "-t {t}/ask -e {t}/answer -m question -F %J", "-t {t}/answer -m '{{}}'"),
    rr("rr verbose without line ends", "-t {t}/ask -e {t}/answer -m question -v -N -q 1", "-t {t}/answer -m yes"),
    rr("rr with a wrong topic", "-t {t}/+ -e {t}/answer -m question", code=1),
    rr("rr with a wrong response topic", "-t {t} -e {t}/# -m question", code=1),
    rr("rr properties", "-t {t}/ask -e {t}/answer -m question -D publish content-type x -D subscribe user-property a b",
       "-t {t}/answer -m yes"),
    rr("rr to a topic that the broker does not take", "-t '$share/{t}' -e {t}/answer -m question", code=7),
    rr("rr an infinite session without a name", "-t {t} -e {t}/answer -m question -x -1", code=1),
    rr("rr with an identifier",
        "-t {t}/ask -e {t}/answer -m question -F '%S %p' -D subscribe subscription-identifier 12345",
        "-t {t}/answer -m yes"),
    rr("rr with another response topic", "-t {t} -e {t}/answer -m question -D publish response-topic {t}", code=1),
    rr("rr by URL", "-L mqtt://{host}:{port}/{t}/ask -e {t}/answer -m question", "-t {t}/answer -m yes", address=""),
)

# How a connection gets to the broker is compared in test_golden_transports.py: it has servers of its own.
TRANSPORTS = re.compile(r"(pub|sub|rr) (TLS|PSK|SOCKS)|sub through a socket")
ROWS = (*(row for row in COMPAT_ROWS if not TRANSPORTS.match(row.name)), *FORMATS, *MORE)
