"""Why a cloud took a request for a server and then undid it, as Nova wrote it down."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from bmwg.drivers.openstack.servers import Workshop
from bmwg.methodology.errors import ToolkitError

_REASON_S = 5.0  # choice: Nova writes down why a while after it has undone a request
_LOOK_S = 0.2
MOST_SAID = 300  # choice: letters of it


def why(workshop: Workshop, server_id: str, action: str) -> str:
    """Return what Nova wrote down of the last `action` on the server that failed."""
    end_s = time.monotonic() + _REASON_S
    while time.monotonic() < end_s:
        with contextlib.suppress(ToolkitError):
            what = f"why a {action} was undone"
            said = workshop.client.call(what, lambda sdk: _said(sdk, server_id, action))
            if said:
                return said[:MOST_SAID]
        time.sleep(_LOOK_S)
    return "no reason was given"


def _said(sdk: Any, server_id: str, action: str) -> str:
    mine = [one for one in sdk.compute.server_actions(server_id) if one.action == action]
    if not mine:
        return ""
    last = max(mine, key=lambda one: str(one.start_time))
    whole = sdk.compute.get_server_action(last.request_id, server_id)
    events = [one if isinstance(one, Mapping) else one.to_dict() for one in whole.events or ()]
    said = [" ".join(str(one.get("details") or "").split()) for one in events if one.get("result") == "Error"]
    return next(filter(None, said), str(whole.message or "") if said else "")
