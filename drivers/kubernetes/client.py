"""Talks to a cluster's API by the official client: asks again what may be asked again, and names the rest.

Ids: KUBE-20 refused, KUBE-21 no answer within the deadline, KUBE-22 a right is missing (asked before anything
is made), KUBE-23 quota, KUBE-24 who we are is no longer believed (certificate or token), KUBE-25 what is not
installed in the cluster.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes.access import Access, open_api
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

MANAGER = "bmwg"  # the field manager of server-side apply
OWNER_LABEL = "bmwg.ietf.org/run"  # on everything that a run makes: what it removes by
_CALL_S = 30.0  # choice: one request; a longer wait is a new request
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_MOST_PAUSE_S = 5.0
_FIRST_PAUSE_S = 0.1


def resource(
    kind: str, name: str, namespace: str, owner: str, *, version: str = "v1", labels: Any = None, **parts: Any
) -> dict[str, Any]:
    """Return an object of a run in its namespace: what every one has, and the parts of its kind."""
    metadata = {"name": name, "namespace": namespace, "labels": {OWNER_LABEL: owner, **(labels or {})}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


class Cluster:
    """The API of one cluster. `within_s` is how long one act may be tried, past refusals and silence."""

    def __init__(self, access: Access, *, within_s: float = 90.0) -> None:
        self.access = access
        self._within_s = within_s
        self._api = open_api(access)
        self.repeats: list[str] = []  # what was asked again, and why: evidence

    def close(self) -> None:
        """Close its connections."""
        self._api.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def get(self, path: str, *, within_s: float = 0.0, **query: JsonValue) -> dict[str, Any] | None:
        """Return an object or list; None where there is none (404)."""
        return self._tried("GET", path, query=query, absent_ok=True, within_s=within_s)

    def text(self, path: str, **query: JsonValue) -> str:
        """Return what is no object: a container's output. Empty where there is none yet."""
        try:
            return str(self._request("GET", path, query, None, None, accept="*/*").data)
        except failures() as error:  # a container that waits has none, and says 400
            status = int(getattr(error, "status", None) or 0)
            if status in (400, 404) or status in _AGAIN or status == 0:
                return ""
            raise self._refusal("GET", path, status, _said(error)) from error

    def apply(self, path: str, body: Mapping[str, JsonValue]) -> dict[str, Any]:
        """Make or change an object by server-side apply; idempotent, so it may be repeated."""
        done = self._tried(
            "PATCH",
            path,
            body=body,
            query={"fieldManager": MANAGER, "force": "true"},
            kind="application/apply-patch+yaml",
        )
        return done or {}

    def create(self, path: str, body: Mapping[str, JsonValue], *, within_s: float = 0.0) -> dict[str, Any]:
        """Ask by POST, for reviews and evictions: asked twice, they do no more than once."""
        return self._tried("POST", path, body=body, within_s=within_s) or {}

    def make(
        self, path: str, body: Mapping[str, JsonValue], *, within_s: float = 0.0
    ) -> dict[str, Any] | None:
        """Make an object by POST; None where there is one (409), perhaps ours whose answer was lost."""
        return self._tried("POST", path, body=body, within_s=within_s, conflict_ok=True)

    def replace(
        self, path: str, body: Mapping[str, JsonValue], *, within_s: float = 0.0
    ) -> dict[str, Any] | None:
        """Put an object in place of the version that it names; None where that has changed (409)."""
        return self._tried("PUT", path, body=body, within_s=within_s, conflict_ok=True)

    def merge(self, path: str, body: Mapping[str, JsonValue]) -> dict[str, Any] | None:
        """Change an object by a merge patch; None where there is none."""
        kind = "application/merge-patch+json"
        return self._tried("PATCH", path, body=body, kind=kind, absent_ok=True)

    def delete(self, path: str, *, grace_s: int | None = None, **query: JsonValue) -> bool:
        """Delete an object, or a collection by `labelSelector`; False where there was none."""
        body: dict[str, JsonValue] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        body |= {"propagationPolicy": "Background"}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        return self._tried("DELETE", path, query=query, body=body, absent_ok=True) is not None

    def allowed(self, rights: Sequence[tuple[str, str, str]], *, namespace: str = "") -> None:
        """Ask for each `(verb, group, resource)` whether we may; TestbedError KUBE-22 names those we may not.

        A resource may name a subresource (`pods/log`). Nothing is made.
        """
        refused = []
        for verb, group, resource in rights:
            name, _, sub = resource.partition("/")
            asked = {"verb": verb, "group": group, "resource": name, "subresource": sub}
            if namespace:
                asked["namespace"] = namespace
            answer = self.create(
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                {
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectAccessReview",
                    "spec": {"resourceAttributes": {key: value for key, value in asked.items() if value}},
                },
            )
            if not (answer.get("status") or {}).get("allowed"):
                refused.append(f"{verb} {resource}{'.' + group if group else ''}")
        if refused:
            raise TestbedError(
                "KUBE-22",
                f"rights in the cluster (context {self.access.context or 'current'})",
                expected="all that a run needs",
                found=f"not allowed: {', '.join(refused)}",
                hint="docs/my-cluster.md has the role; nothing was made",
            )

    def watch(
        self, path: str, *, within_s: float, **query: JsonValue
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield `(type, object)`: what is there as ADDED, then each change. Ends at the deadline in silence.

        A watch that the server ends, or whose version has become too old (410), begins anew with a list.
        """
        end_s = time.monotonic() + within_s
        while time.monotonic() < end_s:
            listed = self.get(path, within_s=max(1.0, end_s - time.monotonic()), **query) or {}
            for item in listed.get("items", []):
                yield "ADDED", item
            version = (listed.get("metadata") or {}).get("resourceVersion", "")
            yield from self._watched(path, version, end_s, query)

    def until_absent(self, path: str, *, within_s: float, **query: JsonValue) -> Iterator[dict[str, Any]]:
        """Yield each change of what is there, DELETED ones too, until nothing is there, or past the deadline.

        Each is `{"type", "object"}`. What has gone before the first look is not told.
        """
        end_s = time.monotonic() + within_s
        while (left_s := end_s - time.monotonic()) > 0:
            listed = self.get(path, within_s=max(1.0, left_s), **query) or {}
            there = {item["metadata"]["uid"] for item in listed.get("items", [])}
            if not there:
                return
            version = (listed.get("metadata") or {}).get("resourceVersion", "")
            for kind, found in self._watched(path, version, end_s, query):
                yield {"type": kind, "object": found}
                if kind == "DELETED":
                    there.discard(found["metadata"]["uid"])
                if not there:
                    return

    def _watched(
        self, path: str, version: str, end_s: float, query: Mapping[str, JsonValue]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield changes from a version on until the server says it is gone; returns None."""
        while (left_s := end_s - time.monotonic()) > 0:
            asked = {
                **query,
                "watch": "true",
                "resourceVersion": version,
                "allowWatchBookmarks": "true",
                "timeoutSeconds": max(1, min(60, int(left_s) + 1)),
            }
            response = None
            try:
                response = self._request("GET", path, asked, None, None, stream=True)
                for line in _lines(response, end_s):
                    event = json.loads(line)
                    found = event.get("object") or {}
                    if event["type"] == "ERROR":
                        if found.get("code") == 410:
                            self.repeats.append(f"watch {path}: 410, listed anew")
                            return
                        raise self._refusal("WATCH", path, int(found.get("code") or 0), found)
                    version = (found.get("metadata") or {}).get("resourceVersion", version)
                    if event["type"] != "BOOKMARK":
                        yield event["type"], found
            except failures() as error:
                status = int(getattr(error, "status", None) or 0)
                if status == 410:
                    self.repeats.append(f"watch {path}: 410, listed anew")
                    return
                said = _said(error)
                if status not in _AGAIN and (status or _unbelieved(said)):
                    raise self._refusal("WATCH", path, status, said) from error
                self.repeats.append(f"watch {path}: {status or type(error).__name__}, watched anew")
                pause_s = _retry_after_s(error) or _FIRST_PAUSE_S
                time.sleep(min(pause_s, max(0.0, end_s - time.monotonic())))
            finally:
                if response is not None:
                    with contextlib.suppress(Exception):
                        response.close()

    def _tried(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, JsonValue] | None = None,
        body: Mapping[str, JsonValue] | None = None,
        kind: str | None = None,
        absent_ok: bool = False,
        conflict_ok: bool = False,
        within_s: float = 0.0,
    ) -> dict[str, Any] | None:
        """Ask until there is an answer. Raises what `_refusal` makes of it, DriverError KUBE-21."""
        end_s = time.monotonic() + (within_s or self._within_s)
        pause_s, last = _FIRST_PAUSE_S, "no answer"
        while True:
            try:
                response = self._request(method, path, query or {}, body, kind)
                answer: dict[str, Any] = json.loads(response.data or b"{}")
                return answer
            except failures() as error:
                status = int(getattr(error, "status", None) or 0)
                if (status == 404 and absent_ok) or (status == 409 and conflict_ok):
                    return None
                said = _said(error)
                # a conflict of server-side apply on an object that is just being made or ended passes
                message = str(said.get("message", ""))
                passes = (
                    status in _AGAIN
                    or (status == 0 and not _unbelieved(said))
                    or (status == 409 and _passing(message))
                )
                if not passes:
                    raise self._refusal(method, path, status, said) from error
                last = f"{status or type(error).__name__}: {message}"[:200]
                wait_s = _retry_after_s(error) or pause_s * random.uniform(0.75, 1.25)
                if time.monotonic() + wait_s > end_s:
                    raise DriverError(
                        "KUBE-21",
                        f"{method} {path}",
                        expected=f"an answer within {within_s or self._within_s:g} s",
                        found=last,
                    ) from error
                self.repeats.append(f"{method} {path}: {last}")
                time.sleep(wait_s)
                pause_s = min(pause_s * 2, _MOST_PAUSE_S)

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, JsonValue],
        body: Mapping[str, JsonValue] | None,
        kind: str | None,
        *,
        stream: bool = False,
        accept: str = "application/json",
    ) -> Any:
        headers = {"Accept": accept, "User-Agent": "bmwg"}
        if body is not None:
            headers["Content-Type"] = kind or "application/json"
        limit_s = float(query.get("timeoutSeconds", _CALL_S)) + 5.0 if stream else _CALL_S
        params = [(key, str(value)) for key, value in query.items()]
        self._api.update_params_for_auth(headers, params, ["BearerToken"])
        return self._api.rest_client.request(
            method,
            self._api.configuration.host + path,
            query_params=params,
            headers=headers,
            body=dict(body) if body is not None else None,
            _preload_content=not stream,
            _request_timeout=(10.0, limit_s),
        )

    def _refusal(self, method: str, path: str, status: int, said: Mapping[str, JsonValue]) -> ToolkitError:
        message = str(said.get("message") or said.get("reason") or "no word")[:400]
        found = f"{status} {said.get('reason') or ''}: {message}"
        if status == 401 or _unbelieved(said):
            return TestbedError(
                "KUBE-24",
                f"{method} {path}",
                expected="credentials that the cluster believes",
                found=found,
                hint="the kubeconfig's certificate or token has ended; get a new one",
            )
        if status == 403 and "exceeded quota" in message:
            return TestbedError(
                "KUBE-23",
                f"{method} {path}",
                expected="room in the namespace's quota",
                found=found,
                hint="raise the quota, or make `pods` of the testbed file smaller",
            )
        if status == 403:
            return TestbedError(
                "KUBE-22",
                f"{method} {path}",
                expected="a right to do so",
                found=found,
                hint="docs/my-cluster.md has the role",
            )
        if status == 404:
            return TestbedError(
                "KUBE-25", f"{method} {path}", expected="a kind and an object that are there", found=found
            )
        return DriverError("KUBE-20", f"{method} {path}", expected="an answer", found=found)


def failures() -> tuple[type[Exception], ...]:
    """Return what a question to the API fails by: refusals, connections, and answers cut short.

    Nothing else may be taken for one: Robot ends a run by an exception wherever it stands.
    """
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    return (ApiException, HTTPError, HTTPException, OSError, ValueError, KeyError)


def _unbelieved(said: Mapping[str, JsonValue]) -> bool:
    """Whether a certificate is not believed: the server's here, or ours there. It does not pass by itself."""
    message = str(said.get("message") or "")
    return "CERTIFICATE_VERIFY_FAILED" in message or "ALERT_CERTIFICATE_EXPIRED" in message


def _passing(message: str) -> bool:
    return "being deleted" not in message or "namespace" not in message


def _said(error: BaseException) -> dict[str, Any]:
    body = getattr(error, "body", None)
    if isinstance(body, bytes):
        body = body.decode(errors="replace")
    try:
        found = json.loads(body) if body else {}
    except ValueError:
        found = {"message": str(body)[:300]}
    if not isinstance(found, dict) or not found:
        found = {"message": str(getattr(error, "reason", None) or error)[:300]}
    return found


def _retry_after_s(error: BaseException) -> float:
    headers = getattr(error, "headers", None) or {}
    try:
        return min(60.0, max(0.0, float(headers.get("Retry-After", 0))))
    except (TypeError, ValueError):
        return 0.0


def _lines(response: Any, end_s: float) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(amt=None, decode_content=False):
        rest += chunk
        *whole, rest = rest.split(b"\n")
        yield from (line for line in whole if line.strip())
        if time.monotonic() > end_s:
            return
