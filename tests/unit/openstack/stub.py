"""A cloud that answers as told, by hand or as recorded (`test_recorded.py`); tokens are its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PASSWORD = "correct-horse-battery"
DISCOVERY = {
    "versions": [
        {
            "id": "v2.1",
            "status": "CURRENT",
            "version": "2.93",
            "min_version": "2.1",
            "links": [{"rel": "self", "href": "HERE/compute/v2.1/"}],
        }
    ]
}


@dataclass
class Cloud:
    """What is answered, by method and path; the last answer of a list is given for ever."""

    url: str = ""
    answers: dict[tuple[str, str], list[tuple[int, Any, Mapping[str, str]]]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    catalog: tuple[str, ...] = ("compute", "network", "image")
    refuse_password: bool = False
    tokens: int = 0
    valid: set[str] = field(default_factory=set)

    def say(
        self, method: str, path: str, *answers: tuple[int, Any] | tuple[int, Any, Mapping[str, str]]
    ) -> None:
        """Answer so from now on."""
        self.answers[method, path] = [(one[0], one[1], one[2] if len(one) > 2 else {}) for one in answers]

    def expire(self) -> None:
        """Have every token that was given be refused from now on."""
        self.valid.clear()

    @property
    def auth(self) -> dict[str, str]:
        """What a client is told."""
        return {
            "auth_url": f"{self.url}/v3",
            "username": "admin",
            "password": PASSWORD,
            "project_name": "admin",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        }

    def times(self, method: str, path: str) -> int:
        """How often it was asked."""
        return self.asked.count((method, path))


def _token(cloud: Cloud) -> dict[str, Any]:
    catalog = [
        {
            "type": kind,
            "name": kind,
            "id": kind,
            "endpoints": [
                {"interface": "public", "region": "RegionOne", "region_id": "RegionOne", "id": kind,
                 "url": f"{cloud.url}/{kind}{'/v2.1' if kind == 'compute' else ''}"}
            ],
        }
        for kind in cloud.catalog
    ]  # fmt: skip
    return {
        "token": {
            "methods": ["password"],
            "expires_at": "2099-01-01T00:00:00.000000Z",
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "user": {"id": "u", "name": "admin", "domain": {"id": "default", "name": "Default"}},
            "project": {"id": "p", "name": "admin", "domain": {"id": "default", "name": "Default"}},
            "roles": [{"id": "r", "name": "admin"}],
            "catalog": catalog,
        }
    }


@contextmanager
def stub() -> Iterator[Cloud]:
    """Serve on the loopback while the block runs."""
    cloud = Cloud()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            """Say nothing."""

        def _give(self, status: int, body: Any, headers: Mapping[str, str] = {}) -> None:
            data = b"" if body is None else json.dumps(body).replace("HERE", cloud.url).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            path = self.path.partition("?")[0]
            cloud.asked.append((self.command, path))
            if path.rstrip("/") in ("", "/v3") and self.command == "GET":
                version = {"id": "v3.14", "status": "stable", "links": [{"rel": "self", "href": "HERE/v3/"}]}
                self._give(200, {"version": version, "versions": {"values": [version]}})
            elif path == "/v3/auth/tokens":
                if cloud.refuse_password:
                    said = "The request you have made requires authentication."
                    self._give(401, {"error": {"code": 401, "message": said, "title": "Unauthorized"}})
                    return
                cloud.tokens += 1
                cloud.valid.add(f"token-{cloud.tokens}")
                self._give(201, _token(cloud), {"X-Subject-Token": f"token-{cloud.tokens}"})
            elif self.headers.get("X-Auth-Token") not in cloud.valid and "X-Auth-Token" in self.headers:
                self._give(401, {"error": {"code": 401, "message": "expired", "title": "Unauthorized"}})
            elif path.rstrip("/") in ("/compute/v2.1", "/compute"):
                self._give(200, {"version": DISCOVERY["versions"][0], **DISCOVERY})
            else:
                told = cloud.answers.get((self.command, path))
                if told is None:
                    self._give(
                        404, {"itemNotFound": {"code": 404, "message": f"stub: {self.command} {path}"}}
                    )
                else:
                    self._give(*(told.pop(0) if len(told) > 1 else told[0]))

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _any  # noqa: N815 - as the library calls them

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    cloud.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
