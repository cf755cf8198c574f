"""Leases as an API server keeps them: each change has a version, and an older one is refused."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from bmwg.methodology.errors import DriverError


class Server:
    """Leases as an API server keeps them. `away` refuses every question; `mute` acts and does not answer."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self.version = 0
        self.away = False
        self.mute = False

    def get(self, path: str, *, within_s: float = 0.0) -> dict[str, Any] | None:
        self._answer()
        return copy.deepcopy(self.found.get(path))

    def make(self, path: str, body: Mapping[str, Any], *, within_s: float = 0.0) -> dict[str, Any] | None:
        self._answer()
        place = f"{path}/{body['metadata']['name']}"
        return None if place in self.found else self.put(place, body)

    def replace(self, path: str, body: Mapping[str, Any], *, within_s: float = 0.0) -> dict[str, Any] | None:
        self._answer()
        if self.found[path]["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            return None
        done = self.put(path, body)
        if self.mute:  # the client asks again, and the version has changed by then
            self.mute = False
            return None
        return done

    def put(self, place: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.version += 1
        kept = copy.deepcopy(dict(body))
        kept["metadata"]["resourceVersion"] = str(self.version)
        self.found[place] = kept
        return copy.deepcopy(kept)

    def _answer(self) -> None:
        if self.away:
            raise DriverError("KUBE-21", "the API", expected="an answer", found="none")
