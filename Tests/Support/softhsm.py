"""A key that stays in its hardware, in SoftHSM's place of hardware.

    environment = token(tmp_path, certificates.client)
    subprocess.run([program, "--key", URI, ...], env=os.environ | environment)
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .certificates import Certificate, openssl
from .servers import need

MODULE = "/usr/lib/softhsm/libsofthsm2.so"
PIN = "9753"
URI = "pkcs11:token=smq;object=client"  # RFC 7512
URI_WITH_PIN = f"{URI};pin-value={PIN}"


def token(directory: Path, owner: Certificate) -> dict[str, str]:
    """Makes a token with the key of this certificate. Returns what the environment of who uses it needs: OpenSSL's engine reads it
    once, and stays in the process."""
    need("softhsm2-util", "tls"), need("pkcs11-tool", "tls")
    (directory / "tokens").mkdir()
    config = directory / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {directory}/tokens\n")
    environment = {"SOFTHSM2_CONF": str(config), "PKCS11_MODULE_PATH": MODULE}
    pkcs8 = directory / "client.pkcs8"
    openssl("pkcs8", "-topk8", "-nocrypt", "-in", owner.key, "-out", pkcs8)
    for arguments in (
        ["--init-token", "--free", "--label", "smq", "--pin", PIN, "--so-pin", "1234"],
        ["--import", str(pkcs8), "--token", "smq", "--label", "client", "--id", "01", "--pin", PIN],
    ):
        subprocess.run(["softhsm2-util", *arguments], env=os.environ | environment, check=True, capture_output=True, timeout=60)
    return environment
