"""What each field of a run is: configuration, a name of its own, or something it measured; and where it lies.

Rules are declared here, one a kind of field, each with its reason. A field that no rule knows is
configuration on the compared path: it confounds. In a rule's path `*` stands for one part and `**` for any
number of parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from bmwg.methodology.record.facts import EACH, declared


class Role(StrEnum):
    """What a field tells. Only configuration is held against another run."""

    CONFIGURATION = "configuration"
    NAMED = "named by the run"
    MEASURED = "measured by the run"


class Place(StrEnum):
    """Where a field lies. Confounders on the path are told first, and only they forbid a verdict."""

    ON_PATH = "on the compared path"
    OFF_PATH = "on no path of these runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRule:
    """Fields that are no configuration, and why."""

    path: str
    role: Role
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPathRule:
    """Fields of a part that lies on no path of the runs unless one of `words` stands in what they set up.

    `{0}` in a word stands for the part of the path that the first `*` met.
    """

    path: str
    words: tuple[str, ...]
    reason: str


ROLE_RULES = (
    RoleRule(
        path="deployment/**/executions/*/wall_time_ms",
        role=Role.MEASURED,
        reason="how long a call of a plugin took",
    ),
    RoleRule(path="deployment/**/start_ns", role=Role.MEASURED, reason="how long an instance took to serve"),
    RoleRule(path="deployment/**/boot_s", role=Role.MEASURED, reason="how long a guest took to boot"),
    RoleRule(path="deployment/**/start_s", role=Role.MEASURED, reason="how long a pod took to run"),
    RoleRule(
        path="**/allocated_octets",
        role=Role.NAMED,
        reason="how a host's file system holds a file; the file's length is compared",
    ),
    RoleRule(
        path="deployment/**/activation_s", role=Role.MEASURED, reason="how long a chain took to come up"
    ),
    RoleRule(
        path="deployment/**/vswitch_start_s", role=Role.MEASURED, reason="how long a vSwitch took to start"
    ),
    RoleRule(path="deployment/**/add_s", role=Role.MEASURED, reason="how long a vSwitch took to add a port"),
    RoleRule(
        path="deployment/**/octets_by_node/*", role=Role.MEASURED, reason="what a vSwitch held at that moment"
    ),
    RoleRule(
        path="testbed/name",
        role=Role.NAMED,
        reason="what somebody calls a testbed file; each field that it holds is compared",
    ),
    RoleRule(path="**/pid", role=Role.NAMED, reason="the kernel numbers processes anew"),
)
_DOCKER = ("docker", "containerd", "runc", "kubernetes", "kubelet")
OFF_PATH_RULES = (
    *(
        OffPathRule(
            path=f"platform/{place}/{name}",
            words=words,
            reason=f"nothing that these runs set up names {' or '.join(words)}",
        )
        for names, words in (
            (("docker", "docker.io", "containerd", "containerd.io", "runc"), _DOCKER),
            (("podman",), ("podman",)),
            (("lxc", "lxc-start"), ("lxc",)),
            (("openvswitch-switch", "openvswitch-switch-dpdk"), ("ovs", "openvswitch")),
            (("vpp",), ("vpp",)),
            (("qemu-system-x86",), ("qemu", "vm", "kvm", "libvirt", "guest")),
        )
        for name in names
        for place in ("system/packages", "container/runtimes")
    ),
    OffPathRule(
        path="platform/nic/*/**", words=("{0}",), reason="nothing that these runs set up names the interface"
    ),
)


def role_of(path: str) -> tuple[Role, str]:
    """Return what a field is, and why; configuration when no rule knows it."""
    for rule in ROLE_RULES:
        if _pattern(rule.path).fullmatch(path):
            return rule.role, rule.reason
    for pattern, key in _volatile():
        if pattern.fullmatch(path):
            return Role.MEASURED, f"the record's schema declares {key} to change by itself"
    return Role.CONFIGURATION, ""


def place_of(path: str, set_up: str) -> tuple[Place, str]:
    """Return where a field lies, and why when it is off the path.

    `set_up` holds all words of testbeds and deployments of the runs (`words_of`).
    """
    for rule in OFF_PATH_RULES:
        if met := _pattern(rule.path).fullmatch(path):
            words = [word.replace("{0}", met[1]) if "{0}" in word else word for word in rule.words]
            if not any(_named(word, set_up) for word in words):
                return Place.OFF_PATH, rule.reason
    return Place.ON_PATH, ""


def words_of(runs: Iterable[Mapping[str, str]]) -> str:
    """Return all that runs set up, names of fields and values, as one text to look words up in."""
    kept = ("testbed/", "deployment/", "driver/", "profile/paths", "profile/forms")
    return "\n".join(
        f"{path} {value}" for run in runs for path, value in run.items() if path.startswith(kept)
    ).lower()


def _named(word: str, text: str) -> bool:
    """Whether a word stands in a text, also with digits or marks beside it: docker_nat, ovs-br0, eth01."""
    return bool(re.search(rf"(?<![a-z]){re.escape(word.lower())}(?![a-z])", text))


@cache
def _pattern(path: str) -> re.Pattern[str]:
    text = ""
    parts = path.split("/")
    for number, part in enumerate(parts, start=1):
        end = "" if number == len(parts) else "/"
        if part == "**":
            text += "(?:[^/]+/)*" if end else ".+"
        else:
            text += ("([^/]+)" if part == "*" else re.escape(part)) + end
    return re.compile(text)


@cache
def _volatile() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the facts, and keys of facts, that the record's schema declares to change by themselves."""
    found = []
    for path, known in declared().items():
        place = "platform/" + path.replace(f"/{EACH}/", "/*/")
        if known.volatile:
            found += [(_pattern(place), path), (_pattern(f"{place}/**"), path)]
        found += [(_pattern(f"{place}/**/{key}"), f"{path} {key}") for key in known.passing]
    return tuple(found)
