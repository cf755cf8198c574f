"""What a reverse proxy counts by itself, asked over HTTP on its port without TLS.

Ids: COUNT-01 a function does not tell what it counted.
"""

from __future__ import annotations

import http.client
from typing import ClassVar, Protocol, runtime_checkable

from bmwg.drivers.api.calls import Calls
from bmwg.methodology.errors import DriverError

PATH = "/bmwg-status"
REQUESTS = "requests"
_WITHIN_S = 30.0  # choice: after an overload a function may take connections seconds later
_MARGIN_S = 15.0


@runtime_checkable
class CountsRequests(Protocol):
    """A function that tells the requests that it answered.

    `counts_looks`: those for this are among them. `counts_http2`: those of HTTP/2 as well.
    """

    plain_port: ClassVar[int]
    status_path: ClassVar[str]
    counts_looks: ClassVar[bool]
    counts_http2: ClassVar[bool]

    def counted(self, text: str, *, tunnels: bool = False) -> dict[str, int]:
        """Read what it tells, where its clients ask it for `tunnels` or not.

        Raises LookupError or ValueError where that is something else.
        """


def fetch(*, address: str, port: int, path: str) -> str:
    """Node function: return what a function tells at a path. Raises DriverError COUNT-01."""
    connection = http.client.HTTPConnection(address, port, timeout=_WITHIN_S)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        if answer.status == http.client.OK:
            return text
        found = f"status {answer.status}"
    except (OSError, http.client.HTTPException) as error:
        found = f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    raise _silent(f"{address}:{port}", found)


def read(node: Calls, function: CountsRequests, address: str, *, tunnels: bool = False) -> dict[str, int]:
    """Return what a function has counted, asked from a node. Raises DriverError COUNT-01."""
    text = node.call_within(
        _WITHIN_S + _MARGIN_S, fetch, address=address, port=function.plain_port, path=function.status_path
    )
    try:
        return function.counted(text, tunnels=tunnels)
    except (LookupError, ValueError) as error:
        raise _silent(f"{address}:{function.plain_port}", f"{text[:200]!r}: {error}") from error


def _silent(where: str, found: str) -> DriverError:
    return DriverError(
        "COUNT-01", f"{where}: counters of the function", expected="requests that it answered", found=found
    )
