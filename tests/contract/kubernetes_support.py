"""An API server's answers over HTTP, one list a path: what a real one says, but not at will."""

import contextlib
import datetime
import http.server
import json
import ssl
import threading

import yaml

from bmwg.drivers.kubernetes.certificates import Authority


def status(code, reason, message, **details):
    """A Status object as an API server sends it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": code,
        **({"details": details} if details else {}),
    }


class Answers:
    """What is answered, by method and path: `(code, body, headers)` in order, the last one for ever.

    A body that is a list is a watch: one line each, then the end of the stream. `asked` is what came.
    """

    def __init__(self):
        self.by_path = {}
        self.asked = []

    def on(self, method, path, *answers):
        self.by_path[(method, path)] = list(answers)

    def take(self, method, path, query):
        self.asked.append((method, path, query))
        listed = self.by_path.get((method, path + ("?watch" if "watch=true" in query else "")))
        if not listed:
            return 404, status(404, "NotFound", f"{path} not found"), {}
        return listed.pop(0) if len(listed) > 1 else listed[0]


@contextlib.contextmanager
def api_server(answers, *, certificate=None):
    """Serve the answers on loopback, with a certificate and key (files) by TLS; yields the server's URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self):
            path, _, query = self.path.partition("?")
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            code, body, headers = answers.take(self.command, path, query)
            lines = [json.dumps(one) + "\n" for one in body] if isinstance(body, list) else [json.dumps(body)]
            data = "".join(lines).encode()
            self.send_response(code)
            for key, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *words):
            pass

    for method in ("GET", "POST", "PATCH", "DELETE"):
        setattr(Handler, f"do_{method}", Handler._serve)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def kubeconfig(folder, url, *, context="lab", authority=""):
    """Write a kubeconfig for a server and return its path; `authority` is the file of its certificates'."""
    cluster = {"server": url, **({"certificate-authority": authority} if authority else {})}
    path = folder / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": context, "context": {"cluster": "c", "user": "u"}}],
                "current-context": context,
            }
        )
    )
    return str(path)


def pod(**changed):
    found = {
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u", "resourceVersion": "7"},
        "spec": {"nodeName": "w"},
        "status": {"phase": "Pending", "conditions": [], "containerStatuses": [{"state": {}}]},
    }
    found["status"] |= changed
    return found


def listed(*found, version="5"):
    return (200, {"kind": "PodList", "metadata": {"resourceVersion": version}, "items": list(found)}, {})


def certificate(folder, valid_h):
    """Write an authority and a server's certificate of it; another authority's without a validity (hours)."""
    authority = Authority()
    authority.pair.write(folder, "ca")
    signer = authority if valid_h else Authority()
    valid = datetime.timedelta(hours=valid_h or 1)
    signer.server("server", ["127.0.0.1", "localhost"], valid=valid).write(folder, "server")
    return folder / "server.crt", folder / "server.key"


RUNNING = {
    "phase": "Running",
    "containerStatuses": [{"state": {"running": {}}, "containerID": "containerd://a"}],
}
