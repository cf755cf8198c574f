"""Fills the variables of a testbed file's network option; pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from bmwg.methodology.errors import ConfigError

VARIABLES = {
    "nic": "the node's NIC of this side",
    "side": "0 for the left side of a chain, 1 for the right",
    "bridge": "a bridge name, the same for all attachments that share a segment",
    "addresses": 'the attachment\'s addresses as a list of {"address", "gateway"} objects',
    "vlan_id": "the option's own vlan_id",
}
_VARIABLE = re.compile(r"\$\$|\$\{([^}]*)\}")


def render(document: Any, variables: Mapping[str, Any], *, where: str) -> Any:
    """Return `document` with every `${name}` in its strings replaced; `$$` stands for one dollar sign.

    A string that is exactly one variable becomes the variable's value with its type (a list stays a list);
    inside a longer string only text and numbers fit. `where` is the document's place in the user's file.
    Raises one ConfigError NET-01 that lists every unknown or unfit variable.
    """
    problems: list[str] = []
    rendered = _walk(document, variables, where, problems)
    if problems:
        raise ConfigError(
            "NET-01",
            f"network option {where}: {len(problems)} template variable(s) cannot be filled",
            expected="one of " + ", ".join(f"${{{name}}}" for name in VARIABLES),
            found="; ".join(problems),
            hint="write $$ for a dollar sign that is no variable",
        )
    return rendered


def _walk(value: Any, variables: Mapping[str, Any], where: str, problems: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _walk(item, variables, f"{where}.{key}", problems) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item, variables, f"{where}[{at}]", problems) for at, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    whole = _VARIABLE.fullmatch(value)
    if whole and whole.group(1) is not None:
        return _look_up(whole.group(1), variables, where, problems)

    def replace(match: re.Match[str]) -> str:
        if match.group(1) is None:
            return "$"
        filled = _look_up(match.group(1), variables, where, problems)
        if isinstance(filled, list | dict):
            problems.append(f"{where}: ${{{match.group(1)}}} is a list and must be the whole value")
            return ""
        return str(filled)

    return _VARIABLE.sub(replace, value)


def _look_up(name: str, variables: Mapping[str, Any], where: str, problems: list[str]) -> Any:
    if name not in VARIABLES:
        near = difflib.get_close_matches(name, VARIABLES, n=1)
        problems.append(f"{where}: ${{{name}}}" + (f" (near ${{{near[0]}}})" if near else ""))
        return ""
    value = variables.get(name)
    if value is None:
        problems.append(f"{where}: ${{{name}}} has no value here ({VARIABLES[name]})")
        return ""
    return value
