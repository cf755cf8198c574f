"""A time-stamping authority of our own, by OpenSSL: a root, a certificate, and replies to requests."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

_SETTINGS = """
[tsa]
default_tsa = mine
[mine]
serial = {place}/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
"""


def can_stamp() -> bool:
    """Whether stamps can be made and judged here."""
    return bool(shutil.which("openssl") and find_spec("rfc3161_client"))


def needed() -> pytest.MarkDecorator:
    """Return the mark that skips a test, by name, where stamps can neither be made nor judged."""
    lacking = [] if shutil.which("openssl") else ["openssl"]
    lacking += [] if find_spec("rfc3161_client") else ["the Python module rfc3161_client"]
    return pytest.mark.skipif(bool(lacking), reason=f"needs {' and '.join(lacking)}")


class Authority:
    """An authority in a folder; `purpose` and `root` are what its certificate and its root are for."""

    def __init__(self, place: Path, purpose: str = "critical,timeStamping", root: str = "") -> None:
        place.mkdir()
        self.place = place
        (place / "tsa.cnf").write_text(_SETTINGS.format(place=place), encoding="ascii")
        (place / "serial").write_text("01\n", encoding="ascii")
        (place / "ext.cnf").write_text(
            f"keyUsage=critical,digitalSignature\nextendedKeyUsage={purpose}\n", encoding="ascii"
        )
        new = ("req", "-newkey", "rsa:2048", "-nodes", "-sha256")
        only = ("-addext", f"extendedKeyUsage={root}") if root else ()
        self._openssl(
            *new,
            *only,
            "-x509",
            "-days",
            "3650",
            "-subj",
            "/CN=Root",
            "-keyout",
            "root.key",
            "-out",
            "root.pem",
        )
        self._openssl(*new, "-subj", "/CN=Stamps", "-keyout", "tsa.key", "-out", "tsa.csr")
        issue = ("x509", "-req", "-in", "tsa.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial")
        self._openssl(*issue, "-days", "3650", "-sha256", "-extfile", "ext.cnf", "-out", "tsa.pem")

    @property
    def root(self) -> Path:
        """The certificate that a reader pins."""
        return self.place / "root.pem"

    def reply(self, request: Path, to: Path) -> Path:
        """Answer a request."""
        signer = ("-signer", "tsa.pem", "-inkey", "tsa.key")
        asked = ("-queryfile", str(request.resolve()), "-out", str(to.resolve()))
        self._openssl("ts", "-reply", "-config", "tsa.cnf", *asked, *signer)
        return to

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.place, check=True, capture_output=True, timeout=60)
