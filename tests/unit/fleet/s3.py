"""An S3 server of its own for the tests, and a door before it that can fail in the ways that stores fail."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BUCKET = "lab"
_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
_FULL = (
    b"<Error><Code>XMinioStorageFull</Code><Message>Storage backend has reached its limit</Message></Error>"
)


@contextmanager
def server() -> Iterator[int]:
    """Yield the port of a server with an empty bucket; it ends with its standard input."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"},
    ) as program:
        assert program.stdout is not None
        try:
            port = int(program.stdout.readline())
            made = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            made.request("PUT", f"/{BUCKET}")
            assert made.getresponse().status == 200
            made.close()
            yield port
        finally:
            program.kill()


class Door(ThreadingHTTPServer):
    """Passes requests on. `fault` is what it does to those that put an object, the first `times` times.

    `full` says that nothing more has room, `silent` never answers, `cut` ends the connection before the
    object is passed on, `unsaid` passes it on and ends the connection without the answer.
    """

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.behind = port
        self.fault = ""
        self.times = 0
        self.ended = threading.Event()

    def met(self) -> str:
        """Return what is to be done to a request that puts an object."""
        if self.times <= 0:
            return ""
        self.times -= 1
        return self.fault


class _Passing(BaseHTTPRequestHandler):
    server: Door
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def _pass(self) -> None:
        octets = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.server.met() if self.command == "PUT" else ""
        if fault == "silent":
            self.server.ended.wait(60)
        if fault in ("silent", "cut"):
            self.close_connection = True
            return
        status, headers, answer = (507, [], _FULL) if fault == "full" else self._behind(octets)
        if fault == "unsaid":
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        length = {name.lower(): value for name, value in headers}.get("content-length", len(answer))
        self.send_header("Content-Length", str(length if self.command == "HEAD" else len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _behind(self, octets: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        passed = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=30)
        kept = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        passed.request(self.command, self.path, octets or None, kept)
        answer = passed.getresponse()
        said = answer.status, answer.getheaders(), answer.read()
        passed.close()
        return said

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _pass  # noqa: N815 - as the library calls them


@contextmanager
def door(port: int) -> Iterator[Door]:
    """Yield a door before a server."""
    with Door(port) as opened:
        serving = threading.Thread(target=opened.serve_forever, daemon=True)
        serving.start()
        try:
            yield opened
        finally:
            opened.ended.set()
            opened.shutdown()
            serving.join()
