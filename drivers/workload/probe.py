"""Single requests whose bodies are looked at: does the proxy serve, and does it serve the right octets?

Node functions for the clients' node. Ids: PROBE-01 it did not serve within the deadline.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import socket
import time

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.workload.tls_client import Trust
from bmwg.methodology.errors import DriverError

_PAUSE_S = 0.01


def fetch(
    *,
    address: str,
    port: int,
    url: str,
    within_s: float = 10.0,
    trust: dict[str, JsonValue] | None = None,
) -> dict[str, JsonValue]:
    """Node function: ask the proxy for `url` once, by TLS with `trust`. Never raises for what the proxy does.

    Returns `status` (0 without an answer), `sha256`, `octets`, `ttfb_ns`, `total_ns` and `fault` (a
    sentence or "").
    """
    began = time.monotonic_ns()
    found: dict[str, JsonValue] = {"status": 0, "sha256": "", "octets": 0, "ttfb_ns": 0, "fault": ""}
    connection = http.client.HTTPConnection(address, port, timeout=within_s)
    headers = {"Connection": "close"}
    try:
        if trust is not None:
            wanted = Trust(**trust)
            headers["Host"] = wanted.tunnel or wanted.name
            plain = wanted.connected(address, port, within_s)
            connection.sock = wanted.context().wrap_socket(plain, server_hostname=wanted.name)
        connection.request("GET", url, headers=headers)
        response = connection.getresponse()
        found["ttfb_ns"] = time.monotonic_ns() - began
        found["status"] = response.status
        digest = hashlib.sha256()
        octets = 0
        while block := response.read(65536):
            digest.update(block)
            octets += len(block)
            if time.monotonic_ns() - began > within_s * 1e9:
                raise TimeoutError(f"the body did not end within {within_s:g} s")
        declared = response.getheader("Content-Length")
        if declared is not None and declared.isdigit() and int(declared) != octets:
            found["fault"] = f"body of {octets} octets, {declared} were announced"
        found |= {"sha256": digest.hexdigest(), "octets": octets}
    except (OSError, http.client.HTTPException) as error:
        found["fault"] = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    finally:
        connection.close()
    found["total_ns"] = time.monotonic_ns() - began
    return found


def wait_serving(
    *,
    address: str,
    port: int,
    url: str,
    sha256: str,
    within_s: float,
    trust: dict[str, JsonValue] | None = None,
) -> dict[str, JsonValue]:
    """Node function: ask until the proxy serves the right body; returns the tries and the last answer.

    Raises DriverError PROBE-01 past the deadline, with the last answer.
    """
    end_s = time.monotonic() + within_s
    tries = 0
    while True:
        tries += 1
        left_s = max(0.2, min(2.0, end_s - time.monotonic()))
        answer = fetch(address=address, port=port, url=url, within_s=left_s, trust=trust)
        if answer["status"] == http.client.OK and answer["sha256"] == sha256:
            return {"tries": tries, **answer}
        if time.monotonic() > end_s:
            raise DriverError(
                "PROBE-01",
                f"proxy {address}:{port}",
                expected=f"status 200 and the right body within {within_s:g} s",
                found=f"status {answer['status']} {answer['fault']}".strip(),
            )
        time.sleep(_PAUSE_S)


def exchange(*, address: str, port: int, request: str, within_s: float = 10.0) -> dict[str, JsonValue]:
    """Node function: send one request as it is given and measure the answer. Never raises for the answer.

    Returns `status` (0 without an answer), `octets` (head and body), `head_octets` and `fault` (a sentence
    or ""). An answer without a Content-Length has no octets that could be counted on.
    """
    found: dict[str, JsonValue] = {"status": 0, "octets": 0, "head_octets": 0, "fault": ""}
    end_s = time.monotonic() + within_s
    received = b""
    wanted: int | None = None
    try:
        with socket.create_connection((address, port), timeout=within_s) as connection:
            connection.sendall(request.encode("latin-1"))
            while wanted is None or len(received) < wanted:
                connection.settimeout(max(0.001, end_s - time.monotonic()))
                block = connection.recv(65536)
                if not block:
                    raise ConnectionError(f"the answer ended after {len(received)} octets")
                received += block
                head, end, _ = received.partition(b"\r\n\r\n")
                if wanted is None and end:
                    length = re.search(rb"(?im)^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", head + b"\r\n")
                    if length is None:
                        raise ConnectionError("the answer has no Content-Length")
                    found["head_octets"] = len(head) + len(end)
                    wanted = len(head) + len(end) + int(length[1])
                    status = re.match(rb"HTTP/1\.[01] (\d{3})", head)
                    found["status"] = int(status[1]) if status else 0
        if wanted != len(received):
            raise ConnectionError(f"{len(received)} octets came, of {wanted} that were announced")
        found["octets"] = len(received)
    except OSError as error:
        found["fault"] = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return found


def direct(*, address: str, port: int, path: str, within_s: float) -> str:
    """Node function: the text of a page of the server itself; empty when it does not answer."""
    connection = http.client.HTTPConnection(address, port, timeout=within_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.read().decode(errors="replace") if response.status == http.client.OK else ""
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()
