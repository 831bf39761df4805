#!/usr/bin/env python3
"""chains.py DIRECTORY: makes certificate chains, most of them wrong in one way, and DIRECTORY/cases.json.

For each case there are NUMBER.server.pem (what the server sends, and its key) and NUMBER.roots.pem. The conditions are those
that x509-limbo and badssl.com have. A case says which cause is expected; "" is a good chain. It is run by a Python that has
requirements.txt."""

import datetime
import ipaddress
import json
import pathlib
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID as Eku
from cryptography.x509.oid import ExtensionOID, NameOID, ObjectIdentifier

NOW = datetime.datetime(2026, 6, 1, 12, 0, 0)  # the time as of which all are checked
DAY = datetime.timedelta(days=1)
HOST = "mqtt.example.test"
USAGES = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
          "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")
NONE = object()  # without what there is by default


def usage(*names):
    return x509.KeyUsage(**{name: name in names for name in USAGES})


def name_of(common):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else [])


def general(name):
    """A general name of "kind:value"."""
    kind, value = name.split(":", 1)
    if kind == "IP":
        return x509.IPAddress(ipaddress.ip_network(value) if "/" in value else ipaddress.ip_address(value))
    if kind == "DIR":
        return x509.DirectoryName(name_of(value))
    return {"DNS": x509.DNSName, "EMAIL": x509.RFC822Name, "URI": x509.UniformResourceIdentifier}[kind](value)


def constraints(permitted=(), excluded=()):
    return x509.NameConstraints([general(name) for name in permitted] or None, [general(name) for name in excluded] or None)


class Made:
    """A certificate with its key. What is not said is as a good one has it."""

    def __init__(self, common, issuer=None, *, names=(), is_ca=False, path=None, basic=None, usages=None, purposes=None,
                 begins=NOW - 30 * DAY, ends=NOW + 30 * DAY, key=None, more=(), authority=None, subject_key=True,
                 issuer_name=None, critical_names=False):
        self.common, self.key = common, key or ec.generate_private_key(ec.SECP256R1())
        self.issuer = issuer or self
        public = self.key.public_key()
        builder = (x509.CertificateBuilder().subject_name(name_of(common))
                   .issuer_name(name_of(self.issuer.common if issuer_name is None else issuer_name)).public_key(public)
                   .serial_number(x509.random_serial_number()).not_valid_before(begins).not_valid_after(ends))
        if basic is not NONE:
            builder = builder.add_extension(basic or x509.BasicConstraints(is_ca, path), critical=True)
        if usages is not NONE:
            builder = builder.add_extension(
                usages or (usage("key_cert_sign", "crl_sign") if is_ca else usage("digital_signature")), critical=True)
        if purposes is None:
            purposes = () if is_ca else (Eku.SERVER_AUTH,)
        if purposes:
            builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        if isinstance(names, x509.ExtensionType):
            builder = builder.add_extension(names, critical=critical_names)
        elif names:
            builder = builder.add_extension(x509.SubjectAlternativeName([general(name) for name in names]), critical_names)
        if subject_key:
            builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        if authority is not NONE:
            builder = builder.add_extension(
                authority or x509.AuthorityKeyIdentifier.from_issuer_public_key(self.issuer.key.public_key()), critical=False)
        for extension, is_critical in more:
            builder = builder.add_extension(extension, critical=is_critical)
        is_edwards = isinstance(self.issuer.key, ed25519.Ed25519PrivateKey)
        self.der = builder.sign(self.issuer.key, None if is_edwards else hashes.SHA256()).public_bytes(serialization.Encoding.DER)

    def pem(self):
        import base64
        return "-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(self.der).decode() + "-----END CERTIFICATE-----\n"

    def key_pem(self):
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                      serialization.NoEncryption()).decode()

    def patched(self, old, new):
        """The same with some bytes replaced by as many others, signed anew."""
        body = self.body()
        assert len(old) == len(new) and old in body
        body = body.replace(old, new)
        return self.signed(body, "300a06082a8648ce3d040302", self.issuer.key.sign(body, ec.ECDSA(hashes.SHA256())))

    def with_sha1(self):
        """The same with the digest that `cryptography` does not give any more. Its issuer has an RSA key."""
        body = self.body().replace(bytes.fromhex("2a864886f70d01010b"), bytes.fromhex("2a864886f70d010105"))
        return self.signed(body, "300d06092a864886f70d0101050500", self.issuer.key.sign(body, padding.PKCS1v15(), hashes.SHA1()))

    def body(self):
        return x509.load_der_x509_certificate(self.der).tbs_certificate_bytes

    def signed(self, body, algorithm, signature):
        self.der = der(0x30, body + bytes.fromhex(algorithm) + der(0x03, b"\0" + signature))
        return self

    def spoiled(self):
        """The same with a signature that is wrong."""
        self.der = self.der[:-1] + bytes([self.der[-1] ^ 1])
        return self


def der(tag, content):
    size = len(content)
    length = bytes([size]) if size < 128 else (lambda raw: bytes([0x80 | len(raw)]) + raw)(
        size.to_bytes((size.bit_length() + 7) // 8, "big"))
    return bytes([tag]) + length + content


class Maker:
    def __init__(self, directory):
        self.directory, self.cases = directory, []
        self.root = Made("root", is_ca=True)
        self.other = Made("other root", is_ca=True)
        self.rsa = {bits: rsa.generate_private_key(65537, bits) for bits in (1024, 2048, 3072)}

    def case(self, name, cause, leaf, between=(), roots=None, host=HOST, time=NOW, stricter=False):
        """`stricter`: OpenSSL by itself accepts it, and the library does not."""
        base = self.directory / str(len(self.cases))
        base.with_suffix(".server.pem").write_text(leaf.key_pem() + "".join(each.pem() for each in (leaf, *between)))
        base.with_suffix(".leaf.pem").write_text(leaf.pem())
        base.with_suffix(".between.pem").write_text("".join(each.pem() for each in between) or leaf.pem())
        base.with_suffix(".roots.pem").write_text("".join(each.pem() for each in ([self.root] if roots is None else roots)))
        self.cases.append({"name": name, "cause": cause, "file": str(base), "host": host, "stricter": stricter,
                           "time": int(time.replace(tzinfo=datetime.timezone.utc).timestamp())})

    def leaf(self, **more):
        return Made("leaf", more.pop("issuer", self.root), **{"names": [f"DNS:{HOST}"], **more})

    def authority(self, common="intermediate", issuer=None, **more):
        return Made(common, issuer or self.root, is_ca=True, **more)

    def below(self, name, cause, authority, *more, **leaf):
        """A good server below an authority."""
        self.case(name, cause, self.leaf(issuer=authority, **leaf), (authority, *more))

    # ---- The cases

    def names(self):
        wild, deep = "DNS:*.example.test", "mqtt.deep.example.test"
        for cause, san, host in (
                ("", f"DNS:{HOST}", HOST), ("", "DNS:MQTT.Example.TEST", HOST), ("", f"DNS:{HOST}", "MQTT.EXAMPLE.test"),
                ("", wild, HOST), ("NAME", wild, deep), ("NAME", wild, "example.test"), ("", wild, "xn--bcher-kva.example.test"),
                ("", "DNS:*.xn--bcher-kva.test", "a.xn--bcher-kva.test"), ("NAME", "DNS:*.test", "example.test"),
                ("NAME", "DNS:*", "localhost"), ("NAME", "DNS:mqtt.*.test", HOST), ("NAME", "DNS:*.*.test", HOST),
                ("NAME", "DNS:xn--*.example.test", "xn--a.example.test"), ("NAME", "DNS:**.example.test", HOST),
                ("NAME", "DNS:other.example.test", HOST), ("NAME", f"DNS:{HOST}.", HOST), ("NAME", f"DNS: {HOST}", HOST),
                ("NAME", f"DNS:.{HOST}", HOST), ("NAME", "DNS:.example.test", HOST), ("NAME", "DNS:example.test", HOST),
                ("NAME", f"DNS:{HOST}\0.evil.test", HOST), ("NAME", f"EMAIL:a@{HOST}", HOST), ("NAME", f"URI:mqtts://{HOST}", HOST),
                ("NAME", f"DIR:{HOST}", HOST), ("", "DNS:under_score.example.test", "under_score.example.test"),
                ("", "IP:192.0.2.1", "192.0.2.1"), ("NAME", "IP:192.0.2.1", "192.0.2.2"), ("", "IP:2001:db8::1", "2001:db8::1"),
                ("NAME", "IP:2001:db8::1", "2001:db8::2"), ("NAME", "DNS:192.0.2.1", "192.0.2.1"),
                ("NAME", "IP:192.0.2.1", HOST), ("NAME", f"DNS:{HOST}", "192.0.2.1"), ("NAME", "IP:::ffff:192.0.2.1", "192.0.2.1"),
                ("NAME", "IP:192.0.2.0/24", "192.0.2.1"), ("NAME", "DNS:*.0.2.1", "192.0.2.1")):
            self.case(f"{san!r} for {host}", cause, self.leaf(names=[san]), host=host)
        for san, stricter in (("mq*.example.test", True), ("*tt.example.test", True), ("m*t.example.test", False)):
            self.case(f"partial wildcard {san}", "NAME", self.leaf(names=[f"DNS:{san}"]), stricter=stricter)
        common = dict(names=())
        self.case("Common Name alone", "NAME", Made(HOST, self.root, **common), stricter=True)
        self.case("Common Name, and another dNSName", "NAME", Made(HOST, self.root, names=["DNS:other.test"]))
        self.case("Common Name, and an address", "NAME", Made(HOST, self.root, names=["IP:192.0.2.1"]), stricter=True)
        self.case("an address as Common Name", "NAME", Made("192.0.2.1", self.root, **common), host="192.0.2.1")
        self.case("no name at all", "NAME", self.leaf(names=()))
        self.case("no subject, critical names", "", Made("", self.root, names=[f"DNS:{HOST}"], critical_names=True))
        self.case("empty names", "NAME", self.leaf(names=x509.UnrecognizedExtension(
            ExtensionOID.SUBJECT_ALTERNATIVE_NAME, b"\x30\x00")))
        self.case("names that cannot be read", "CHAIN", self.leaf(names=x509.UnrecognizedExtension(
            ExtensionOID.SUBJECT_ALTERNATIVE_NAME, b"\x30\x05nope")))
        many = [f"DNS:n{number}.example.test" for number in range(10000)]
        self.case("1,000 names", "", self.leaf(names=[*many[:999], f"DNS:{HOST}"]))
        # OpenSSL takes 100 KB of certificates in a handshake.
        self.case("10,000 names", "PEER", self.leaf(names=[*many, f"DNS:{HOST}"]), stricter=True)

    def times(self):
        past, future = dict(begins=NOW - 60 * DAY, ends=NOW - DAY), dict(begins=NOW + DAY, ends=NOW + 60 * DAY)
        second = datetime.timedelta(seconds=1)
        for word, cause, when in (("expired", "EXPIRED", past), ("not yet valid", "NOT_YET_VALID", future)):
            self.case(f"{word}", cause, self.leaf(**when))
            self.below(f"{word} intermediate", cause, self.authority(**when))
            root = Made("root", is_ca=True, **when)
            self.case(f"{word} root", cause, self.leaf(issuer=root), roots=[root])
        self.case("a second before its end", "", self.leaf(ends=NOW + second))
        self.case("its end", "EXPIRED", self.leaf(ends=NOW))
        self.case("its first second", "", self.leaf(begins=NOW))
        self.case("a second before", "NOT_YET_VALID", self.leaf(begins=NOW + second))
        self.case("until 9999", "", self.leaf(ends=datetime.datetime(9999, 12, 31, 23, 59, 59)))
        self.case("since 1950", "", self.leaf(begins=datetime.datetime(1950, 1, 1)))

    def chains(self):
        self.case("one above it", "", self.leaf())
        between = self.authority()
        self.below("one between", "", between)
        self.case("the root is sent", "", self.leaf(issuer=between), (between, self.root))
        self.case("incomplete", "UNKNOWN_CA", self.leaf(issuer=between))
        second = self.authority("second", between)
        self.case("in the wrong order", "", self.leaf(issuer=second), (between, second))
        self.case("an unrelated one is sent", "", self.leaf(), (self.other,))
        leaf = self.leaf()
        self.case("sent twice", "", leaf, (leaf,))
        self.case("untrusted root", "UNKNOWN_CA", self.leaf(issuer=self.other))
        self.case("untrusted root, sent", "UNKNOWN_CA", self.leaf(issuer=self.other), (self.other,))
        alone = Made(HOST, names=[f"DNS:{HOST}"])
        self.case("self-signed", "UNKNOWN_CA", alone)
        self.case("self-signed and trusted", "", alone, roots=[alone])
        self.case("only the intermediate is trusted", "UNKNOWN_CA", self.leaf(issuer=between), (between,), roots=[between])
        crossed = Made("intermediate", self.other, is_ca=True, key=between.key)
        self.case("cross-signed", "", self.leaf(issuer=between), (between, crossed))
        # OpenSSL takes the first issuer that fits, and tries no other.
        self.case("cross-signed, the other way first", "UNKNOWN_CA", self.leaf(issuer=between), (crossed, between))
        self.case("cross-signed by nobody who is trusted", "UNKNOWN_CA", self.leaf(issuer=between), (crossed,))
        old = self.authority(key=between.key, begins=NOW - 60 * DAY, ends=NOW - DAY)
        self.case("an expired twin of the intermediate", "", self.leaf(issuer=between), (old, between))
        self.case("a renewed root with the same key", "", self.leaf(), roots=[Made("root", is_ca=True, key=self.root.key)])
        first = Made("ring", is_ca=True)
        ring = Made("second in the ring", first, is_ca=True)
        back = Made("ring", ring, is_ca=True, key=first.key)
        self.case("a ring", "UNKNOWN_CA", self.leaf(issuer=first), (back, ring))
        self.case("another with the same name", "UNKNOWN_CA", self.leaf(issuer=between), (self.authority(),))
        impostor = Made("root", is_ca=True)
        self.case("another root with the same name", "UNKNOWN_CA", self.leaf(issuer=impostor))
        self.case("the same without identifiers", "SIGNATURE",
                  Made("leaf", impostor, names=[f"DNS:{HOST}"], authority=NONE, subject_key=False),
                  roots=[Made("root", is_ca=True, subject_key=False, authority=NONE)])
        chain = [self.root]
        for number in range(105):
            chain.append(Made(f"{number}", chain[-1], is_ca=True))
        for depth, cause in ((8, ""), (105, "CHAIN")):
            self.case(f"{depth} between", cause, self.leaf(issuer=chain[depth]), chain[depth:0:-1])

    def authorities(self):
        basic = x509.BasicConstraints
        self.below("an intermediate without basicConstraints", "PURPOSE", self.authority(basic=NONE))
        self.below("an intermediate that is no CA", "PURPOSE", self.authority(basic=basic(False, None)))
        self.below("an intermediate that may not sign", "PURPOSE", self.authority(usages=usage("digital_signature")))
        self.below("an intermediate without keyUsage", "", self.authority(usages=NONE))
        server = self.leaf()
        self.case("below a server", "PURPOSE", self.leaf(issuer=server), (server,))
        self.case("a server that is a CA", "", Made("leaf", self.root, names=[f"DNS:{HOST}"], is_ca=True,
                                                    usages=usage("digital_signature", "key_cert_sign"),
                                                    purposes=[Eku.SERVER_AUTH]))
        self.case("a server without basicConstraints", "", self.leaf(basic=NONE))
        none, one = self.authority(path=0), self.authority(path=1)
        self.below("a path of 0", "", none)
        under = self.authority("under", none)
        self.case("a path of 0 that is longer", "CHAIN", self.leaf(issuer=under), (under, none))
        under = self.authority("under", one)
        self.case("a path of 1", "", self.leaf(issuer=under), (under, one))
        deeper = self.authority("deeper", under)
        self.case("a path of 1 that is longer", "CHAIN", self.leaf(issuer=deeper), (deeper, under, one))
        root = Made("root", is_ca=True, path=0)
        self.case("a root with a path of 0", "", self.leaf(issuer=root), roots=[root])
        under = self.authority("under", root)
        self.case("a root with a path of 0 that is longer", "CHAIN", self.leaf(issuer=under), (under,), roots=[root])

    def purposes(self):
        for word, cause, purposes in (
                ("none", "", ()), ("servers and clients", "", (Eku.SERVER_AUTH, Eku.CLIENT_AUTH)),
                ("clients", "PURPOSE", (Eku.CLIENT_AUTH,)), ("mail", "PURPOSE", (Eku.EMAIL_PROTECTION,)),
                ("any", "PURPOSE", (Eku.ANY_EXTENDED_KEY_USAGE,)), ("code", "PURPOSE", (Eku.CODE_SIGNING,)),
                ("OCSP", "PURPOSE", (Eku.OCSP_SIGNING,))):
            self.case(f"purpose: {word}", cause, self.leaf(purposes=purposes))
            self.below(f"purpose of the intermediate: {word}", cause, self.authority(purposes=purposes))
        for cause, names in (("", ("digital_signature", "key_encipherment")), ("PURPOSE", ("key_cert_sign",)),
                             ("PURPOSE", ("crl_sign",)), ("PURPOSE", ("content_commitment",))):
            self.case(f"usage: {', '.join(names)}", cause, self.leaf(usages=usage(*names)))
        self.case("no usage", "", self.leaf(usages=NONE))

    def constraints(self):
        inside, address = [f"DNS:{HOST}"], ["IP:192.0.2.1"]
        for word, cause, names, limits, host in (
                ("permitted", "", inside, dict(permitted=["DNS:example.test"]), HOST),
                ("permitted itself", "", inside, dict(permitted=[f"DNS:{HOST}"]), HOST),
                ("not permitted", "CHAIN", inside, dict(permitted=["DNS:example.org"]), HOST),
                ("not permitted, but one name", "CHAIN", [*inside, "DNS:a.org"], dict(permitted=["DNS:example.test"]), HOST),
                ("not permitted, only alike", "CHAIN", ["DNS:badexample.test"], dict(permitted=["DNS:example.test"]),
                 "badexample.test"),
                ("excluded", "CHAIN", inside, dict(excluded=["DNS:example.test"]), HOST),
                ("not excluded", "", inside, dict(excluded=["DNS:example.org"]), HOST),
                ("permitted and excluded", "CHAIN", inside, dict(permitted=["DNS:test"], excluded=["DNS:example.test"]), HOST),
                ("a wildcard that is excluded", "CHAIN", ["DNS:*.example.test"], dict(excluded=["DNS:example.test"]), HOST),
                ("a wildcard that is permitted", "", ["DNS:*.example.test"], dict(permitted=["DNS:example.test"]), HOST),
                ("address permitted", "", address, dict(permitted=["IP:192.0.2.0/24"]), "192.0.2.1"),
                ("address not permitted", "CHAIN", address, dict(permitted=["IP:198.51.100.0/24"]), "192.0.2.1"),
                ("address excluded", "CHAIN", address, dict(excluded=["IP:192.0.2.0/24"]), "192.0.2.1"),
                ("address not excluded", "", address, dict(excluded=["IP:198.51.100.0/24"]), "192.0.2.1"),
                ("IPv6 not permitted", "CHAIN", ["IP:2001:db8::1"], dict(permitted=["IP:2001:db9::/32"]), "2001:db8::1"),
                ("IPv6 permitted", "", ["IP:2001:db8::1"], dict(permitted=["IP:2001:db8::/32"]), "2001:db8::1"),
                ("names permitted, an address", "", address, dict(permitted=["DNS:example.test"]), "192.0.2.1"),
                ("subject not permitted", "CHAIN", inside, dict(permitted=["DIR:someone"]), HOST),
                ("subject permitted", "", inside, dict(permitted=["DIR:leaf"]), HOST),
                ("subject excluded", "CHAIN", inside, dict(excluded=["DIR:leaf"]), HOST)):
            authority = self.authority(more=[(constraints(**limits), True)])
            self.case(f"names: {word}", cause, self.leaf(issuer=authority, names=names), (authority,), host=host)
        root = Made("root", is_ca=True, more=[(constraints(permitted=["DNS:example.org"]), True)])
        self.case("names: not permitted by the root", "CHAIN", self.leaf(issuer=root), roots=[root])
        outer = self.authority("outer", more=[(constraints(excluded=["DNS:example.test"]), True)])
        inner = self.authority("inner", outer)
        self.case("names: excluded two above", "CHAIN", self.leaf(issuer=inner), (inner, outer))
        self.below("names: constraints that cannot be read", "CHAIN", self.authority(more=[
            (x509.UnrecognizedExtension(ExtensionOID.NAME_CONSTRAINTS, b"\x30\x03nop"), True)]))

    def keys(self):
        root = Made("root", is_ca=True, key=self.rsa[2048])
        self.case("SHA-1", "WEAK", self.leaf(issuer=root).with_sha1(), roots=[root])
        between = self.authority(issuer=root).with_sha1()
        self.case("SHA-1 between", "WEAK", self.leaf(issuer=between), (between,), roots=[root])
        self.case("SHA-1 at the root", "", self.leaf(issuer=root),
                  roots=[Made("root", is_ca=True, key=self.rsa[2048]).with_sha1()])
        weak = dict(key=self.rsa[1024])
        self.case("RSA of 1,024 bits", "WEAK", self.leaf(**weak))
        self.below("RSA of 1,024 bits between", "WEAK", self.authority(**weak))
        root = Made("root", is_ca=True, **weak)
        self.case("RSA of 1,024 bits at the root", "WEAK", self.leaf(issuer=root), roots=[root])
        self.case("RSA of 2,048 bits", "", self.leaf(key=self.rsa[2048]))
        self.case("P-384", "", self.leaf(key=ec.generate_private_key(ec.SECP384R1())))
        self.case("Ed25519", "", self.leaf(key=ed25519.Ed25519PrivateKey.generate()))

    def broken(self):
        self.case("a wrong signature", "SIGNATURE", self.leaf().spoiled())
        between = self.authority()
        leaf = self.leaf(issuer=between)
        self.case("a wrong signature between", "SIGNATURE", leaf, (between.spoiled(),))
        unknown = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\x05\x00")
        self.case("an extension that nobody knows", "", self.leaf(more=[(unknown, False)]))
        self.case("the same, critical", "CHAIN", self.leaf(more=[(unknown, True)]))
        self.below("the same, critical, between", "CHAIN", self.authority(more=[(unknown, True)]))
        for word, real in (("names", b"\x55\x1d\x11"), ("basicConstraints", b"\x55\x1d\x13"), ("keyUsage", b"\x55\x1d\x0f")):
            values = {b"\x55\x1d\x11": der(0x30, der(0x82, b"second.test")), b"\x55\x1d\x13": b"\x30\x00",
                      b"\x55\x1d\x0f": b"\x03\x02\x07\x80"}
            twice = x509.UnrecognizedExtension(ObjectIdentifier("2.5.29.99"), values[real])
            self.case(f"{word} twice", "CHAIN", self.leaf(more=[(twice, False)]).patched(b"\x55\x1d\x63", real))
        self.case("an issuer's identifier that is another's", "UNKNOWN_CA", self.leaf(
            authority=x509.AuthorityKeyIdentifier(b"another key identifier", None, None)))
        self.case("without identifiers", "", self.leaf(authority=NONE, subject_key=False))
        self.case("an issuer's name that is another's", "UNKNOWN_CA", self.leaf(issuer_name="someone"))


def main():
    maker = Maker(pathlib.Path(sys.argv[1]))
    for part in (maker.names, maker.times, maker.chains, maker.authorities, maker.purposes, maker.constraints, maker.keys,
                 maker.broken):
        part()
    (maker.directory / "cases.json").write_text(json.dumps(maker.cases))


main()
