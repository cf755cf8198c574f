"""Record what real services answer, for tests that need no cloud: `record_answers.py FILE` (root).

Starts the embedded OpenStack, asks it by the acts of `tests/unit/openstack/acts.py`, and writes each answer:
method, path, port, status, headers that matter, body. Tokens, passwords and keys are replaced before that.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import requests
from tests.unit.openstack.acts import ACTS

from bmwg.drivers.openstack import embedded
from bmwg.drivers.openstack.client import Client
from bmwg.drivers.openstack.servers import Workshop
from bmwg.drivers.openstack.sweeping import sweep
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import ToolkitError

_HEADERS = (
    "Content-Type",
    "Retry-After",
    "OpenStack-API-Version",
    "X-OpenStack-Nova-API-Version",
)
_SECRET_KEYS = ("password", "adminPass", "private_key", "secret")


def main(target: Path) -> None:
    """Record all acts, in their order."""
    acts: list[dict[str, Any]] = []
    send = requests.Session.send

    def recording(self: requests.Session, request: Any, **more: Any) -> Any:
        answer = send(self, request, **more)
        if ":5000/" not in request.url:  # tokens and catalogues of Keystone are made by the tests' own stub
            acts[-1]["answers"].append(_kept(request, answer))
        return answer

    with tempfile.TemporaryDirectory(prefix="bmwg-record-") as name:
        folder = Path(name)
        ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
        with (
            embedded.node_of(folder, "") as node,
            embedded.started(node, folder / "cloud", ledger, physical=[]) as cloud,
        ):
            requests.Session.send = recording  # type: ignore[method-assign]
            for act, do in ACTS.items():
                client = Client(auth=cloud.auth, netns=cloud.netns)
                workshop = Workshop(client, "recorded")
                acts.append({"act": act, "error": "", "answers": []})
                try:
                    do(workshop)
                except ToolkitError as error:
                    acts[-1]["error"] = error.error_id
                print(f"{act}: {acts[-1]['error'] or 'done'}, {len(acts[-1]['answers'])} answers", flush=True)
                acts.append({"act": "sweep", "error": "", "answers": []})
                sweep(workshop)
                acts.pop()
            requests.Session.send = send  # type: ignore[method-assign]
            secret = cloud.auth["password"]
    text = json.dumps({"release": "Zed, of Debian 12", "acts": acts}, indent=1, sort_keys=True)
    assert secret not in text
    assert "gAAAA" not in text  # as every token of Keystone's begins
    target.write_text(text + "\n")


def _kept(request: Any, answer: Any) -> dict[str, Any]:
    try:
        body = _without_secrets(answer.json()) if answer.content else None
    except ValueError:
        body = answer.text[:2000]
    return {
        "method": request.method,
        "path": re.sub(r"^https?://[^/]+", "", request.url),
        "port": int(re.match(r"https?://[^:/]+:(\d+)", request.url)[1]),  # type: ignore[index]
        "status": answer.status_code,
        "headers": {name: answer.headers[name] for name in _HEADERS if name in answer.headers},
        "body": body,
    }


def _without_secrets(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: "***" if key in _SECRET_KEYS else _without_secrets(value) for key, value in node.items()}
    return [_without_secrets(one) for one in node] if isinstance(node, list) else node


if __name__ == "__main__":
    main(Path(sys.argv[1]))
