"""A client of any OpenStack: openstacksdk alone, each answer under a deadline, each refusal by name.

Requests that the cloud did not act on (413, 429, 503) are sent again when it says so, within a declared time.
Messages never hold a password or a token. Ids: CLOUD-10 no such cloud in clouds.yaml, CLOUD-11 not let in,
CLOUD-12 a service is not offered, CLOUD-13 a right is missing, CLOUD-14 quota, CLOUD-15 no such image, flavor
or network, CLOUD-19 the cloud does not answer as it should, CLOUD-21 openstacksdk is not installed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.nodes.netns import within
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError, ToolkitError
from bmwg.schemas.validation import near_hint

SDK_LINE = "pip install 'bmwg-toolkit[openstack]'"
_AGAIN = (413, 429, 503)  # not acted on: the same request may be sent again
_AGAIN_S = 60.0  # choice: so long in all an act is repeated
_WAIT_S, _LONGEST_WAIT_S = 1.0, 20.0  # where the cloud names no time, and the longest that is obeyed
_API_TIMEOUT_S = 60.0
_SERVICES = {"compute": "Nova", "network": "Neutron", "image": "Glance"}
_PLACES = "here, in ~/.config/openstack or in /etc/openstack"
_T = TypeVar("_T")


def probe() -> Missing | None:
    """Return what is missing where openstacksdk is not installed."""
    try:
        import openstack  # noqa: F401
    except ImportError as error:
        return Missing(what="openstacksdk", reason=str(error), mend=SDK_LINE)
    return None


class Client:
    """One project of one cloud.

    `cloud` names an entry of the user's clouds.yaml; `auth` is given instead for a cloud of ours, which is
    reached in the network namespace `netns`. `sdk` is openstacksdk's connection, used within `call`.
    """

    def __init__(
        self,
        *,
        cloud: str | None = None,
        auth: Mapping[str, str] | None = None,
        netns: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        lack = probe()
        if lack is not None:
            raise TestbedError("CLOUD-21", lack.what, found=lack.reason, hint=lack.mend)
        self.name = cloud or "embedded"
        self._netns = netns
        self._sleep = sleep
        self._secrets: tuple[str, ...] = tuple(filter(None, [(auth or {}).get("password")]))
        self.sdk: Any = self._connection(cloud, auth)

    def _connection(self, cloud: str | None, auth: Mapping[str, str] | None) -> Any:
        import openstack
        from openstack import exceptions

        if cloud is None:
            return openstack.connection.Connection(
                auth=dict(auth or {}), region_name="RegionOne",
                api_timeout=_API_TIMEOUT_S,
            )  # fmt: skip
        try:
            named = os.environ.get("OS_CLIENT_CONFIG_FILE")  # nothing else of OS_*: it would mix two clouds
            loader = openstack.config.OpenStackConfig(
                config_files=[named] if named else None, load_envvars=False
            )
            known = sorted(loader.cloud_config.get("clouds", {}))
            if cloud not in known:
                raise self._unknown(cloud, known, loader.config_filename)
            region = loader.get_one(cloud=cloud, api_timeout=_API_TIMEOUT_S)
        except exceptions.SDKException as error:
            raise ConfigError("CLOUD-10", f"clouds.yaml: cloud {cloud}", found=self._clean(error)) from error
        secrets = region.config.get("auth", {})
        self._secrets = tuple(
            str(secrets[key])
            for key in ("password", "token", "application_credential_secret", "passcode")
            if secrets.get(key)
        )
        return openstack.connection.Connection(config=region)

    @staticmethod
    def _unknown(cloud: str, known: Sequence[str], file: str | None) -> ConfigError:
        return ConfigError(
            "CLOUD-10",
            f"cloud {cloud!r} is not in {file or 'any clouds.yaml'}",
            expected=f"one of {', '.join(known)}" if known else f"it in a clouds.yaml ({_PLACES})",
            found=repr(cloud),
            hint=near_hint(cloud, known),
        )

    def call(self, what: str, act: Callable[[Any], _T]) -> _T:
        """Return `act(sdk)`; `what` says in messages what was asked. Raises CLOUD-11..CLOUD-14, CLOUD-19.

        openstacksdk asks for a new token by itself when one has expired.
        """
        from keystoneauth1 import exceptions as auth_exceptions
        from openstack import exceptions

        end_s = time.monotonic() + _AGAIN_S
        while True:
            try:
                return within(self._netns, lambda: act(self.sdk))
            except exceptions.HttpException as error:
                wait_s = _again_after(error)
                if wait_s is None or time.monotonic() + wait_s > end_s:
                    raise self._refused(what, error) from error
                self._sleep(wait_s)
            except (auth_exceptions.Unauthorized, auth_exceptions.MissingRequiredOptions) as error:
                raise TestbedError(
                    "CLOUD-11",
                    f"cloud {self.name} does not let us in",
                    expected="a token for what clouds.yaml names",
                    found=self._clean(error),
                    hint="is the password still right? try: openstack --os-cloud NAME token issue",
                ) from error
            except (
                auth_exceptions.CatalogException,
                auth_exceptions.EndpointNotFound,
                exceptions.ServiceDisabledException,
            ) as error:
                raise TestbedError(
                    "CLOUD-12", f"cloud {self.name}: {what}", expected="the service in its catalogue",
                    found=self._clean(error),
                ) from error  # fmt: skip
            except (exceptions.SDKException, auth_exceptions.ClientException) as error:
                raise DriverError(
                    "CLOUD-19", f"cloud {self.name}: {what}", expected="an answer", found=self._clean(error)
                ) from error

    def _refused(self, what: str, error: Any) -> ToolkitError:
        status, said = int(error.status_code or 0), self._clean(error)
        where = f"cloud {self.name}: {what}"
        if status == 401:
            return TestbedError("CLOUD-11", where, expected="to be let in", found=said)
        if status == 403 and "quota" in said.lower():
            return TestbedError("CLOUD-14", where, expected="room in the project's quota", found=said)
        if status == 403:
            hint = "ask the cloud's operator for it, or leave out of the testbed file what needs it"
            return TestbedError("CLOUD-13", where, expected="the right to do it", found=said, hint=hint)
        if status in (409, 413) and "quota" in said.lower():
            return TestbedError("CLOUD-14", where, expected="room in the project's quota", found=said)
        return DriverError("CLOUD-19", where, expected="to be done", found=f"status {status}: {said}")

    def _clean(self, error: object) -> str:
        """What the cloud said, in one line, without anything that lets somebody in."""
        text = " ".join(str(error).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text[:600]

    def require_services(self) -> dict[str, str]:
        """Return each service's highest microversion or version; raises CLOUD-11, CLOUD-12."""
        found = {}
        for kind, name in _SERVICES.items():
            endpoint = self.call(name, lambda sdk, kind=kind: _endpoint(sdk, kind))  # type: ignore[misc]
            if endpoint is None:
                raise TestbedError(
                    "CLOUD-12", f"cloud {self.name} offers no {name}", expected=kind, found="none"
                )
            found[kind] = endpoint
        return found

    def require_room(self, *, servers: int, cpus: int, memory_octets: int) -> dict[str, int]:
        """Return what the project may still use; TestbedError CLOUD-14 before anything is made."""
        limits = self.call("limits", lambda sdk: sdk.compute.get_limits().absolute)
        left = {
            "servers": _left(limits.instances, limits.instances_used),
            "cpus": _left(limits.total_cores, limits.total_cores_used),
            "memory_MiB": _left(limits.total_ram, limits.total_ram_used),
        }
        wanted = {"servers": servers, "cpus": cpus, "memory_MiB": memory_octets >> 20}
        short = [name for name in wanted if 0 <= left[name] < wanted[name]]
        if short:
            raise TestbedError(
                "CLOUD-14",
                f"cloud {self.name}: the project's quota; nothing was made",
                expected=", ".join(f"{wanted[name]} {name}" for name in short),
                found=", ".join(f"{left[name]} {name} left" for name in short),
                hint="end servers of the project, ask for a higher quota, or lower the profile's number",
            )
        return left

    def named(self, what: str, name: str, listed: Callable[[Any], Any]) -> Any:
        """Return the one of `listed` with that name or id; ConfigError CLOUD-15 with a near name."""
        found = self.call(f"list of {what}s", lambda sdk: list(listed(sdk)))
        for one in found:
            if name in (one.name, getattr(one, "id", None)):
                return one
        names = sorted(str(one.name) for one in found if one.name)
        raise ConfigError(
            "CLOUD-15",
            f"cloud {self.name} has no {what} {name!r}",
            expected=f"one of {', '.join(names[:12]) or 'none is there'}",
            found=repr(name),
            hint=near_hint(name, names),
        )


def _again_after(error: Any) -> float | None:
    """Seconds after which the request may be sent again; None when it may not."""
    if error.status_code not in _AGAIN:
        return None
    headers = getattr(error.response, "headers", None) or {}
    try:
        return min(max(float(headers.get("Retry-After", _WAIT_S)), 0.0), _LONGEST_WAIT_S)
    except ValueError:  # a date
        return _WAIT_S


def _endpoint(sdk: Any, kind: str) -> str | None:
    data = getattr(sdk, kind).get_endpoint_data()
    if data is None:
        return None
    version = data.max_microversion or data.api_version
    return ".".join(map(str, version)) if version else "unknown"


def _left(limit: int | None, used: int | None) -> int:
    """Return what is left; -1 for no limit."""
    return -1 if limit is None or limit < 0 else limit - (used or 0)
