"""Certificate authorities and the certificates that they issue, good and bad ones, made with openssl.

`Certificates` has those that most tests need. A test with a case of its own asks an `Authority`:

    below = certificates.root.authority("below", extensions={"basicConstraints": "critical,CA:TRUE,pathlen:0"})
    server = below.issue("server", names="DNS:localhost", key="RSA-3072", ends=YEAR_AGO)
    server.file, server.key, server.chain, below.crl()
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from .waiting import PATIENCE

NOW = datetime.now(timezone.utc)
YESTERDAY = NOW - timedelta(days=1)
YEAR_AGO = NOW - timedelta(days=365)
IN_A_YEAR = NOW + timedelta(days=365)
IN_TEN_YEARS = NOW + timedelta(days=3650)

LOCAL = "DNS:localhost,IP:127.0.0.1,IP:::1"  # subjectAltName of a server on loopback

# What openssl calls the kinds of keys.
KEYS = {
    "EC": ("ec", "ec_paramgen_curve:P-256"),
    "EC-384": ("ec", "ec_paramgen_curve:P-384"),
    "Ed25519": ("ed25519", None),
    "RSA": ("rsa", "rsa_keygen_bits:2048"),
    "RSA-1024": ("rsa", "rsa_keygen_bits:1024"),
    "RSA-3072": ("rsa", "rsa_keygen_bits:3072"),
}

# Names and values are those of x509v3_config(5).
ROOT_EXTENSIONS = {
    "basicConstraints": "critical,CA:TRUE",
    "keyUsage": "critical,keyCertSign,cRLSign",
    "subjectKeyIdentifier": "hash",
}
AUTHORITY_EXTENSIONS = ROOT_EXTENSIONS | {"authorityKeyIdentifier": "keyid"}
END_EXTENSIONS = {
    "basicConstraints": "critical,CA:FALSE",
    "keyUsage": "critical,digitalSignature",
    "extendedKeyUsage": "serverAuth",
    "subjectKeyIdentifier": "hash",
    "authorityKeyIdentifier": "keyid",
}
CLIENT = {"extendedKeyUsage": "clientAuth"}

Extensions = dict[str, str | None]  # None: without the one that there is by default


def openssl(*arguments: object, text: str = "") -> str:
    """What it prints. A failure shows why."""
    done = subprocess.run(["openssl", *map(str, arguments)], input=text, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"openssl {' '.join(map(str, arguments))}: {done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Certificate:
    file: Path
    key: Path
    chain: Path  # the certificate, then those of the authorities between it and the root
    issuer: Authority | None = None  # None: it is self-signed

    def encrypted_key(self, password: str) -> Path:
        path = self.key.with_suffix(f".{password.encode().hex()}.key")
        if not path.exists():
            openssl("pkey", "-in", self.key, "-aes256", "-passout", f"pass:{password}", "-out", path)
        return path


class Authority:
    """A certificate authority: a root, or one below another (see `authority`)."""

    def __init__(
        self,
        directory: Path,
        name: str,
        issuer: Authority | None = None,
        *,
        begins: datetime = YEAR_AGO,
        ends: datetime = IN_TEN_YEARS,
        key: str | Certificate = "EC",
        extensions: Extensions = {},
        digest: str = "sha256",
    ):
        self.directory, self.name, self.issuer = directory / name, name, issuer
        self.directory.mkdir(parents=True)
        self.index = self.directory / "index.txt"  # openssl's list of what was issued; `openssl ocsp` reads it
        self.index.touch()
        (self.directory / "serial").write_text("1000\n")
        (self.directory / "crlnumber").write_text("01\n")
        file, key_file = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        self.config = self.directory / "openssl.cnf"
        self.config.write_text(f"""\
[ca]
default_ca = this
[this]
database = {self.index}
serial = {self.directory}/serial
crlnumber = {self.directory}/crlnumber
new_certs_dir = {self.directory}
certificate = {file}
private_key = {key_file}
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = optional
organizationName = optional
""")
        if issuer:
            made = issuer.issue(name, names=None, begins=begins, ends=ends, key=key, digest=digest,
                                extensions={"extendedKeyUsage": None} | AUTHORITY_EXTENSIONS | extensions)
            shutil.copy(made.file, file)
            shutil.copy(made.key, key_file)
        else:
            request = self._request(name, f"/CN={name}", key)
            self._sign(name, request, begins, ends, ROOT_EXTENSIONS | extensions, digest, "-selfsign")
        self.certificate, self.key = file, key_file

    def authority(self, name: str, **more: object) -> Authority:
        """One below this."""
        return Authority(self.directory, name, self, **more)

    def issue(
        self,
        name: str,
        *,
        names: str | None = LOCAL,
        subject: str | None = None,
        begins: datetime = YESTERDAY,
        ends: datetime = IN_A_YEAR,
        key: str | Certificate = "EC",
        extensions: Extensions = {},
        digest: str = "sha256",
    ) -> Certificate:
        """`name` is that of the files and, without `subject`, the Common Name. `names` is the subjectAltName. `key` is a kind of
        KEYS, or the certificate whose key is used again."""
        request = self._request(name, subject or f"/CN={name}", key)
        own = {"subjectAltName": names} if names else {}
        self._sign(name, request, begins, ends, END_EXTENSIONS | own | extensions, digest)
        file, chain = self.directory / f"{name}.pem", self.directory / f"{name}.chain.pem"
        chain.write_text(file.read_text() + self._between())
        return Certificate(file, self.directory / f"{name}.key", chain, self)

    def revoke(self, certificate: Certificate, reason: str = "keyCompromise") -> None:
        """From the next `crl()` on."""
        openssl("ca", "-config", self.config, "-revoke", certificate.file, "-crl_reason", reason)

    def crl(self, name: str = "crl", ends: datetime = IN_TEN_YEARS) -> Path:
        """A list of what has been revoked so far."""
        path = self.directory / f"{name}.pem"
        openssl("ca", "-config", self.config, "-gencrl", "-crl_lastupdate", _date(YEAR_AGO),
                "-crl_nextupdate", _date(ends), "-out", path)
        return path

    def _between(self) -> str:
        """The certificates from this authority up to the root, without the root's."""
        return self.certificate.read_text() + self.issuer._between() if self.issuer else ""

    def _request(self, name: str, subject: str, key: str | Certificate) -> Path:
        file, request = self.directory / f"{name}.key", self.directory / f"{name}.csr"
        if isinstance(key, Certificate):
            shutil.copy(key.key, file)
            how = ["-key", file]
        else:
            kind, option = KEYS[key]
            how = ["-newkey", kind, "-nodes", "-keyout", file]
            how += ["-pkeyopt", option] if option else []
        # A configuration of its own: the system's may add to the subject or to the extensions.
        openssl("req", "-new", "-config", "/dev/stdin", *how, "-subj", subject, "-out", request,
                text="[req]\ndistinguished_name = name\n[name]\n")
        return request

    def _sign(
        self,
        name: str,
        request: Path,
        begins: datetime,
        ends: datetime,
        extensions: Extensions,
        digest: str,
        *more: str,
    ) -> None:
        file = self.directory / f"{name}.ext"
        file.write_text("".join(f"{key} = {value}\n" for key, value in extensions.items() if value is not None))
        # Ed25519 hashes by itself and takes no other digest; openssl finds that out from the key.
        openssl("ca", "-batch", "-notext", "-config", self.config, "-in", request, "-extfile", file, "-md", digest,
                "-preserveDN", "-startdate", _date(begins), "-enddate", _date(ends),
                "-out", self.directory / f"{name}.pem", *(more and (*more, "-keyfile", self.directory / f"{name}.key")))


def self_signed(directory: Path, name: str = "self-signed", names: str = LOCAL) -> Certificate:
    """A server's certificate that nobody else has signed."""
    alone = Authority(directory, name, begins=YESTERDAY, ends=IN_A_YEAR,
                      extensions=END_EXTENSIONS | {"subjectAltName": names, "authorityKeyIdentifier": None})
    return Certificate(alone.certificate, alone.key, alone.certificate)


def hashed_directory(directory: Path, *files: Path) -> Path:
    """A directory of certificates and CRLs as /etc/ssl/certs is one: found by the hash of their subject or issuer."""
    directory.mkdir()
    for number, file in enumerate(files):
        shutil.copy(file, directory / f"{number}-{file.name}")
    openssl("rehash", directory)
    return directory


def bundle(path: Path, *files: Path) -> Path:
    path.write_text("".join(file.read_text() for file in files))
    return path


class Certificates:
    """Those that most tests need. Clients trust `root`, and nobody trusts `other`."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.root = Authority(directory, "root")
        self.other = Authority(directory, "other")
        self.intermediate = self.root.authority("intermediate")

        issue = self.root.issue
        self.good = issue("good")
        self.rsa = issue("rsa", key="RSA", extensions={"keyUsage": "critical,digitalSignature,keyEncipherment"})
        self.below = self.intermediate.issue("below")
        self.wrong_name = issue("wrong-name", names="DNS:other.example")
        self.expired = issue("expired", begins=YEAR_AGO, ends=YESTERDAY)
        self.future = issue("future", begins=IN_A_YEAR, ends=IN_TEN_YEARS)
        self.revoked = issue("revoked")
        self.unknown = self.other.issue("unknown")
        self.self_signed = self_signed(directory)
        self.client = issue("client", names="DNS:client", extensions=CLIENT)
        self.revoked_client = issue("revoked-client", names="DNS:client", extensions=CLIENT)
        self.unknown_client = self.other.issue("unknown-client", names="DNS:client", extensions=CLIENT)

        self.root.revoke(self.revoked)
        self.root.revoke(self.revoked_client)
        self.crl = self.root.crl()
        self.ca_file = self.root.certificate
        self.ca_and_crl = bundle(directory / "ca-and-crl.pem", self.ca_file, self.crl)


def _date(time: datetime) -> str:
    return time.strftime("%Y%m%d%H%M%SZ")
