"""Two runners and a testbed's Lease between them, by the Kubernetes client and a server of leases alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from tests.unit.fleet import lease_runners, made
from tests.unit.fleet.lease_runners import Runners
from tests.unit.kubernetes.lease_server import Server

pytestmark = pytest.mark.slow

pytest.importorskip(
    "kubernetes", reason="needs the Kubernetes client: pip install 'bmwg-toolkit[kubernetes]'"
)


class _Answering(BaseHTTPRequestHandler):
    server: _Api
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
        with self.server.one_at_a_time:
            leases = self.server.leases
            if self.command == "GET":
                found, without = leases.get(self.path), 404
            elif self.command == "POST":
                found, without = leases.make(self.path, body), 409
            else:
                found, without = leases.replace(self.path, body), 409
        answer = json.dumps(found or {"kind": "Status", "message": "no"}).encode()
        self.send_response(without if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = _answer  # noqa: N815 - as the library calls them


class _Api(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.leases = Server()
        self.one_at_a_time = threading.Lock()


@pytest.fixture
def api() -> Iterator[_Api]:
    with _Api() as opened:
        serving = threading.Thread(target=opened.serve_forever, daemon=True)
        serving.start()
        yield opened
        opened.shutdown()
        serving.join()


def kubeconfig(folder: Path, port: int) -> str:
    told = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(told))
    return str(folder / "kubeconfig")


@pytest.mark.parametrize("check", lease_runners.CHECKS)
def test_a_lease_keeps_runners_apart(api: _Api, tmp_path: Path, check: Callable[[Runners], None]) -> None:
    bed = made.testbed(tmp_path, "first")

    check(
        Runners(
            kubeconfig=kubeconfig(tmp_path, api.server_address[1]),
            enter=(),
            api=api.leases,
            at=tmp_path,
            plan=made.plan(tmp_path, bed, shards=2),
        )
    )
