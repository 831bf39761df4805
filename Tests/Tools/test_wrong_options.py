"""Command lines that are wrong: one line on standard error that names the option or the thing, and exit status 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from .tool import smq

PUB = ["pub", "-t", "a", "-m", "x"]
NOT_UTF8 = "\udcff"  # the byte 0xff, as Python passes it on

# The arguments, and what the line says.
USAGE = [
    (["pub"], "smq pub: a topic is required: use -t, or -L with a topic"),
    (["pub", "-L", "a b/c", "-m", "x"], "smq pub: -L: malformed at byte 1: the form is mqtt://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/TOPIC]"),
    (["pub", "-t", "a"], "smq pub: a message is required: use -m, -f, -l, -n or -s"),
    (["sub"], "smq sub: a Topic Filter is required: use -t, or -L with one"),
    (["rr", "-t", "a", "-m", "x"], "smq rr: a topic for the response is required: use -e"),
    (["pub", "-t"], "smq pub: -t needs a value: TOPIC"),
    (["pub", "--topic"], "smq pub: -t needs a value: TOPIC"),
    ([*PUB, "-D", "publish", "content-type"], "smq pub: -D needs a packet, a name and a value"),
    ([*PUB, "-D", "publish", "user-property", "a"], "smq pub: -D needs a packet, a name and a value"),
    ([*PUB, "--wrong"], 'smq pub: unknown option "--wrong"'),
    ([*PUB, "word"], 'smq pub: unknown option "word"'),
    ([*PUB, "--wrong\n\x1b[31m"], 'smq pub: unknown option "--wrong\\x0a\\x1b[31m"'),
    ([*PUB, "-C", "1"], "smq pub: -C is not an option of smq pub"),
    (["check", "--retain"], "smq check: --retain is not an option of smq check"),
    (["sub", "-t", "$share/group"],
     'smq sub: -t: "$share/group" is not a Topic Filter: a Shared Subscription is $share/NAME/FILTER'),
    (["sub", "-t", "a", "-D", "connect", "maximum-packet-size", "63"],
     "smq sub: -D: maximum-packet-size has to be at least 64"),
    ([*PUB, "-D", "connect", "receive-maximum", "0"], "smq pub: -D: this number must not be 0"),
    ([*PUB, "-D", "publish", "response-topic", "a/#"], 'smq pub: -D: response-topic: "a/#" is not a topic'),
    ([*PUB, "-D", "will", "response-topic", ""], 'smq pub: -D: response-topic: "" is not a topic'),
    ([*PUB, "-D", "disconnect", "session-expiry-interval", "60"],
     "smq pub: -D: disconnect can only keep a session that connect keeps, too: -x"),
    ([*PUB, "-D", "publish", "content-type", "a", "-D", "publish", "Content-Type", "a"],
     "smq pub: -D: publish can carry content-type only once"),
    ([*PUB, "-h", ""], "smq pub: -h must not be empty: its value is HOST"),
    ([*PUB, "--unix", ""], "smq pub: --unix must not be empty: its value is PATH"),
    ([*PUB, "-A", ""], "smq pub: -A must not be empty: its value is ADDRESS"),
    (["bench", "--url", ""], "smq bench: -L must not be empty: its value is URL"),
    ([*PUB, "-c", "-I", "prefix"], "smq pub: -c needs a Client Identifier: -i"),
    (["pub", "-L", "mqtt://name:secret@a/b/#", "-m", "x"], 'smq pub: -L: "b/#" is not a topic:'),
    (["sub", "-L", "mqtt://name:secret@a/#/b"], 'smq sub: -L: "#/b" is not a Topic Filter:'),
    ([*PUB, "--retain=1"], "smq pub: -r takes no value"),
    ([*PUB, "--qos=3"], 'smq pub: -q: QoS is 0, 1 or 2, not "3"'),
    ([*PUB, "--qos="], 'smq pub: -q: QoS is 0, 1 or 2, not ""'),
    ([*PUB, "-q", "-1"], 'smq pub: -q: QoS is 0, 1 or 2, not "-1"'),
    ([*PUB, "-p", "0"], 'smq pub: -p needs a number from 1 to 65535, not "0"'),
    ([*PUB, "-p", "65536"], 'smq pub: -p needs a number from 1 to 65535, not "65536"'),
    ([*PUB, "-p", "1883x"], "smq pub: -p needs a number from 1 to 65535"),
    ([*PUB, "-p", "-1"], "smq pub: -p needs a number from 1 to 65535"),
    ([*PUB, "-k", "4"], 'smq pub: -k needs a number from 5 to 65535, not "4"'),
    ([*PUB, "-x", "4294967296"], 'smq pub: -x needs a number from 0 to 4294967295, not "4294967296"'),
    ([*PUB, "--repeat", "9" * 30], f'smq pub: --repeat needs a number from 1 to 2147483647, not "{"9" * 30}"'),
    ([*PUB, "--repeat", "2", "--repeat-delay", "1e3"], 'smq pub: --repeat-delay needs a number of seconds, not "1e3"'),
    ([*PUB, "--repeat", "2", "--repeat-delay", "nan"], 'smq pub: --repeat-delay needs a number of seconds, not "nan"'),
    ([*PUB, "-V", "4"], 'smq pub: -V needs mqttv5, mqttv311 or mqttv31, not "4"'),
    (["sub", "-t", "a", "-C", "0"], 'smq sub: -C needs a number from 1 to 2147483647, not "0"'),
    (["sub", "-t", "a", "--random-filter", "101"],
     'smq sub: --random-filter needs a percentage from 0.1 to 100, not "101"'),
    (["sub", "-t", "a", "-F", "%Z"], "smq sub: -F: unknown '%Z'"),
    (["sub", "-t", "a", "-F", "100%"], "smq sub: -F: the format ends in the middle of a '%'"),
    (["pub", "-t", "a/+", "-m", "x"], "smq pub: -t: \"a/+\" is not a topic: it is empty, too long, or has '+' or '#'"),
    (["pub", "-t", "", "-m", "x"], "smq pub: -t: \"\" is not a topic: it is empty, too long, or has '+' or '#'"),
    (["pub", "-t", "a" * 65536, "-m", "x"], "is not a topic: it is empty, too long, or has '+' or '#'"),
    (["sub", "-t", "a/#/b"], "smq sub: -t: \"a/#/b\" is not a Topic Filter: it is empty, too long, or has a misplaced '+' or '#'"),
    (["sub", "-t", "a", "-T", "b+"], "smq sub: -T: \"b+\" is not a Topic Filter: it is empty, too long, or has a misplaced '+' or '#'"),
    ([*PUB, "--will-topic", "#"], "smq pub: --will-topic: \"#\" is not a topic: it is empty, too long, or has '+' or '#'"),
    (["pub", "-t", NOT_UTF8, "-m", "x"], "is not UTF-8"),
    (["sub", "-t", NOT_UTF8], "is not UTF-8"),
    ([*PUB, "--will-topic", NOT_UTF8], "is not UTF-8"),
    ([*PUB, "-i", NOT_UTF8], "smq pub: -i: the text is not UTF-8"),
    ([*PUB, "-I", NOT_UTF8], "smq pub: -I: the text is not UTF-8"),
    ([*PUB, "-u", NOT_UTF8], "smq pub: -u: the text is not UTF-8"),
    ([*PUB, "-D", "publish", "content-type", NOT_UTF8], "smq pub: -D: content-type: the value is not UTF-8"),
    ([*PUB, "-D", "nothing", "content-type", "x"], 'smq pub: -D: "nothing" is not a packet'),
    ([*PUB, "-D", "publish", "nothing", "x"], 'smq pub: -D: there is no property "nothing"'),
    ([*PUB, "-D", "connect", "content-type", "x"], "smq pub: -D: connect cannot carry content-type"),
    ([*PUB, "-D", "publish", "topic-alias", "65536"],
     'smq pub: -D: topic-alias needs a number from 0 to 65535, not "65536"'),
    ([*PUB, "-L", "mqtt://"], "smq pub: -L: malformed at byte 7"),
    ([*PUB, "-L", "mqtt://a:0/b"], "smq pub: -L: malformed at byte 9"),
    ([*PUB, "-L", "http://a/b"], "smq pub: -L: it has to begin with mqtt://"),
    ([*PUB, "-h", "a" * 300], "smq pub: -h: the name is too long"),
    ([*PUB, "--unix", "/" + "a" * 200], "smq pub: --unix: a path has at most 107 bytes"),
    ([*PUB, "--unix", "/a", "-A", "127.0.0.1"], "smq pub: -A is not for a socket in the file system"),
    ([*PUB, "-L", "unix:/a", "--proxy", "socks5h://a"], "smq pub: --proxy is not for a socket in the file system"),
    ([*PUB, "--unix", "/a", "--cafile", "x"], "smq pub: TLS over a socket in the file system needs --tls-name"),
    ([*PUB, "-L", "ws://a", "--cafile", "x"], "smq pub: --cafile needs TLS, and ws:// is without it: use wss://"),
    ([*PUB, "-L", "wss://a/mqtt", "--ws-path", "/x"], "smq pub: -L and --ws-path cannot be used together"),
    ([*PUB, "--ws-header", "X: y"], "smq pub: --ws-header needs a WebSocket: ws:// or wss://, or --ws-path"),
    ([*PUB, "--ws-protocol", "mqtt"], "smq pub: --ws-protocol needs a WebSocket"),
    ([*PUB, "--ws-path", "mqtt"], "smq pub: --ws-path has to begin with a slash"),
    ([*PUB, "--ws-path", "/a b"], "smq pub: --ws-path: a path is ASCII without spaces, at most 4096 bytes"),
    ([*PUB, "--ws-path", "/", "--ws-header", "nothing"], "smq pub: --ws-header needs 'Name: value'"),
    ([*PUB, "--ws-path", "/", "--ws-header", "a: b\r\nc: d"], "smq pub: --ws-header needs 'Name: value'"),
    ([*PUB, "--ws-path", "/", "--ws-header", "Host: b"], "smq pub: --ws-header: the library writes Host itself"),
    ([*PUB, "--proxy", "ftp://a"], "smq pub: --proxy: the form is socks5h://"),
    ([*PUB, "--proxy", "a:b:c"], "smq pub: --proxy: the form is socks5h://"),
    ([*PUB, "--interface", "a" * 16], "smq pub: --interface: a name has at most 15 letters"),
    ([*PUB, "--dscp", "64"], 'smq pub: --dscp needs a number from 1 to 63, not "64"'),
    ([*PUB, "--tcp-keepalive", "0"], 'smq pub: --tcp-keepalive needs a number from 1 to 32767, not "0"'),
    ([*PUB, "--cafile", ""], "smq pub: --cafile must not be empty: its value is FILE"),
    ([*PUB, "--cert", "x"], "smq pub: --cert and --key need each other"),
    ([*PUB, "--keyform", "pem"], "smq pub: --keyform needs --key"),
    ([*PUB, "--cert", "x", "--key", "y", "--keyform", "der"], 'smq pub: --keyform is pem or engine, not "der"'),
    ([*PUB, "--tls-engine", "pkcs11"], "smq pub: --tls-engine needs --keyform engine"),
    ([*PUB, "--psk", "00"], "smq pub: --psk and --psk-identity need each other"),
    ([*PUB, "--psk-identity", "x"], "smq pub: --psk and --psk-identity need each other"),
    ([*PUB, "--psk", "0", "--psk-identity", "x"], "smq pub: --psk needs a key of 1 to 256 bytes in hexadecimal digits"),
    ([*PUB, "--psk", "00", "--psk-identity", "x", "--cafile", "y"], "smq pub: --psk and --cafile cannot be used together"),
    ([*PUB, "--tls-version", "tlsv1"], 'smq pub: --tls-version needs tlsv1.3 or tlsv1.2, not "tlsv1"'),
    ([*PUB, "--pin", "sha256//abcd"], "smq pub: --pin needs sha256// and 44 characters of base64"),
    ([*PUB, "--pin", "00"], "smq pub: --pin needs sha256// and 44 characters of base64"),
    ([*PUB, "-L", "mqtt://localhost/a", "-h", "localhost"], "smq pub: -L and -h cannot be used together"),
    ([*PUB, "-p", "1", "-L", "mqtt://localhost/a"], "smq pub: -L and -p cannot be used together"),
    ([*PUB, "--unix", "/a", "-h", "a"], "smq pub: --unix and -h cannot be used together"),
    (["check", "mqtt://a", "-p", "1"], "smq check: a URL and -p cannot be used together"),
    ([*PUB, "-L", "a?x"], "smq pub: -L: malformed at byte 2"),
    (["check", "unix:run"], "smq check: the URL: malformed at byte 5"),
    (["check", "a:0"], "smq check: the URL: malformed at byte 2"),
    (["check", "a/topic"], "smq check: the URL: it must not have a topic; use -t"),
    (["check", "mqtt://a/topic"], "smq check: the URL: it must not have a topic; use -t"),
    (["sub", *["-t", "a"] * 1025], "smq sub: -t can be given at most 1024 times"),
    (["sub", *["-U", "a"] * 256], "smq sub: -U can be given at most 255 times"),
    (["bench", "http://a"], "smq bench: the URL: it has to begin with mqtt://"),
    (["bench", "mqtt://a", "b"], 'smq bench: "b" is unexpected: there is a URL already'),
    (["bench", "mqtt://a/topic"], "smq bench: the URL: it must not have a topic; use -t"),
    (["bench", "--publishers", "0"], "smq bench: --publishers has to be at least 1"),
    (["bench", "--size", "15"], 'smq bench: --size needs a number from 16 to 1048576, not "15"'),
    (["bench", "--seconds", "0"], "smq bench: --seconds needs a number of seconds above 0"),
    (["bench", "--rate", "x"], 'smq bench: --rate needs a number from 1 to 2147483647, not "x"'),
    (["check", "mqtt://a:b"], "smq check: the URL: malformed at byte"),
]

# The same where --help would not help.
OTHER = [
    (["nothing"], 'smq: "nothing" is not a command: use pub, sub, rr, bench, check, journal, console, inspect, top, replay, stats or help'),
    (["help", "nothing"], 'smq help: "nothing" is not a command'),
    (["pub", "-t", "a", "-f", "/nonexistent"], "smq pub: -f: cannot open /nonexistent: No such file or directory"),
    (["pub", "-t", "a", "-f", "/"], "smq pub: -f: cannot read /: Is a directory"),
    (["pub", "-t", "a", "-f", "/dev/zero"], "smq pub: -f: /dev/zero is larger than a message can be: MQTT allows 268435455 bytes"),
    (["pub", "-t", "a", "-s"], "smq pub: -s: standard input is empty"),
    ([*PUB, "-o", "/nonexistent"], "smq pub: -o: cannot open /nonexistent: No such file or directory"),
    ([*PUB, "-o", "/"], "smq pub: -o: cannot read /: Is a directory"),
    ([*PUB, "--cafile", "/nonexistent"], "smq pub: TLS: --cafile: No such file or directory"),
    ([*PUB, "--cafile", "/etc/passwd"], "smq pub: TLS: --cafile: there is no certificate"),
    ([*PUB, "--capath", "/nonexistent"], "smq pub: TLS: --capath: No such file or directory"),
    ([*PUB, "--crl", "/nonexistent"], "smq pub: TLS: --crl: No such file or directory"),
    ([*PUB, "--cert", "/nonexistent", "--key", "x"], "smq pub: TLS: --cert: No such file or directory"),
    ([*PUB, "--ciphers", "NOTHING"], "smq pub: TLS: --ciphers: "),
    ([*PUB, "--tls-engine-kpass-sha1", "0" * 40], "smq pub: --tls-engine-kpass-sha1 cannot be used: "),
    (["sub", "-t", "a", "-S"], "smq sub: -S cannot be used: libswiftmqtt looks up no SRV records"),
]


def line_of(result) -> str:
    assert result.returncode == 1 and result.stdout == b"", result
    return result.stderr.decode(errors="replace")


@pytest.mark.parametrize("arguments, text", USAGE, ids=lambda value: ascii(" ".join(value))[:60])
def test_usage(arguments: list[str], text: str):
    line, hint, nothing = line_of(smq(*arguments)).split("\n")
    assert text in line and line.startswith(f"smq {arguments[0]}: ")
    assert (hint, nothing) == (f"smq {arguments[0]} --help lists the options.", "")


@pytest.mark.parametrize("arguments, text", OTHER, ids=lambda value: " ".join(value)[:60])
def test_other(arguments: list[str], text: str):
    line, nothing = line_of(smq(*arguments)).split("\n")
    assert line.startswith(text) and nothing == ""


@pytest.mark.parametrize("text, line", [
    ("-z 1", 'unknown option "-z"'),
    ("-q 7", '-q: QoS is 0, 1 or 2, not "7"'),
    ("-t", "-t needs a value: TOPIC"),
    ("-o another", "-o is not allowed there"),
    ("--help", "--help is not allowed there"),
    ("\0\1\2", "a word is neither an option nor the value of one"),
    ("-\0\1", 'unknown option "-\\x00..."'),
])
@pytest.mark.parametrize("where", ["-o", "--options-file=", "default"])
def test_file_of_options(tmp_path: Path, text: str, line: str, where: str):
    file = tmp_path / "mosquitto_pub"
    file.write_text(f"# a comment\n\n{text}\n")
    if where == "default":
        result = smq(*PUB, XDG_CONFIG_HOME=str(tmp_path))
    else:
        result = smq(*PUB, *([where, file] if where == "-o" else [f"{where}{file}"]))
    assert line_of(result).splitlines()[0] == f"smq pub: {file}:3: {line}"


# Where a password may stand by mistake. It is in no message.
SECRET = "s3cr\u00e9t"
LOGIN = f"gateway:{SECRET}@127.0.0.1:1"
MISPLACED = [
    ["pub", f"mqtt://{LOGIN}"], ["pub", "-t", "a", f"mqtt://{LOGIN}/b"], ["sub", LOGIN],
    ["rr", f"mqtt://gateway:{SECRET}"], [f"mqtt://{LOGIN}"], ["help", f"mqtt://{LOGIN}"],
    ["pub", "-t", f"mqtt://{LOGIN}/#", "-m", "x"], ["sub", "-t", f"mqtt://{LOGIN}/#/b"],
    ["sub", "-t", "a", "-T", f"mqtt://a:{SECRET}/x/y@h/#/b"], ["sub", "-U", f"mqtt://gateway:{SECRET}/#/b"],
    [*PUB, "--will-topic", f"mqtt://{LOGIN}/+"],
    *([*PUB, option, f"mqtt://{LOGIN}"] for option in (
        "-q", "-p", "-k", "-x", "-V", "-M", "--repeat", "-h", "-A", "-o", "--unix")),
    [*PUB, "-p", SECRET], [*PUB, "-p", "1" + SECRET], [*PUB, "-h", LOGIN],
    ["check", "-h", f"mqtt://{LOGIN}", "-W", "2"], ["check", "mqtt://127.0.0.1", f"mqtt://{LOGIN}"],
    ["bench", LOGIN], ["check", LOGIN], ["check", f"mqtt://gateway:{SECRET}"], ["bench", f"mqtt://{LOGIN}/a"],
    [*PUB, "-L", f"mqtt://{LOGIN}"], [*PUB, "-L", f"http://{LOGIN}"], [*PUB, "-L", LOGIN],
    [*PUB, "-u", "gateway", f"-P{SECRET}"], [*PUB, f"--pw{SECRET}"], [*PUB, f"-p{SECRET}"],
    [*PUB, f"-p={SECRET}"], [*PUB, f"--password={SECRET}"], [*PUB, f"-pw={SECRET}"],
    [*PUB, "-u", "gateway", "-P", "not", SECRET], [*PUB, f"password={SECRET}"], [*PUB, f"--url:{LOGIN}"],
    ["pub", "-t", "a", "-f", f"mqtt://{LOGIN}"], ["sub", "-t", "a", "-F", f"%mqtt://{LOGIN}"],
    [*PUB, "-D", f"mqtt://{LOGIN}", "a", "b"], [*PUB, "-D", "publish", f"mqtt://{LOGIN}", "b"],
    [*PUB, "-D", "connect", "receive-maximum", f"mqtt://{LOGIN}"],
    [*PUB, "-D", "publish", "response-topic", f"mqtt://{LOGIN}/#"],
]


@pytest.mark.parametrize("arguments", MISPLACED, ids=lambda value: " ".join(value)[:60])
def test_a_password_is_never_repeated(arguments: list[str]):
    result = smq(*arguments)
    assert result.returncode != 0 and result.stderr + result.stdout
    told = (result.stderr + result.stdout).decode()
    assert "s3cr" not in told and "\u00e9" not in told and "xc3" not in told


@pytest.mark.parametrize("text", [
    f"mqtt://{LOGIN}", SECRET, f"password={SECRET}", f"-P{SECRET}", f"-r {SECRET}", f"-p {SECRET}",
    f"-L mqtt://gateway:{SECRET}/a:b", f"--pw:{SECRET}", f"user gateway password {SECRET}"])
def test_a_password_in_a_file_of_options_is_never_repeated(tmp_path: Path, text: str):
    (tmp_path / "options").write_text(f"{text}\n")
    result = smq(*PUB, "-o", tmp_path / "options")
    assert result.returncode == 1 and b"s3cr" not in result.stderr


def test_the_rest_of_a_url_is_told():
    for topic, told in ((f"mqtt://{LOGIN}/#", "mqtt://...@127.0.0.1:1/#"), ("user@host/#", "user@host/#"),
                        *((url, url) for url in ("mqtt://host:1883/#", "mqtt://[::1]:1883/#"))):
        assert line_of(smq("pub", "-t", topic, "-m", "x")).startswith(f'smq pub: -t: "{told}" is not a topic')
    assert line_of(smq(*PUB, "-h", "gateway:secret@127.0.0.1:1")).startswith("smq pub: cannot connect to ...@127.0.0.1:1 port 1883: ")
    assert line_of(smq("sub", f"mqtt://{LOGIN}")).startswith('smq sub: unknown option "mqtt..."')


def test_without_words_there_is_help_on_standard_error():
    assert line_of(smq()).startswith("Usage: smq COMMAND")


def test_a_value_is_never_taken_for_an_option():
    assert line_of(smq("pub", "-t", "--help")).startswith("smq pub: a message is required")
    assert line_of(smq("pub", "-t", "a", "-f", "-o", "-q", "9")).startswith("smq pub: -q: QoS is")
    shown = smq("pub", "-t", "a", "--help", "--nonsense")
    assert shown.returncode == 0 and shown.stdout.startswith(b"smq pub: publish")
