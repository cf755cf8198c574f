"""Opens a foreign file within bounds, tells which tool wrote it, and hands it to that tool's reader."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.importers import csit, nfvbench, trafficgen, trex_ndr
from bmwg.reports.importers.node import Node
from bmwg.reports.importers.records import ForeignFigure, ForeignResult, ForeignTrial
from bmwg.schemas.validation import near_hint

MAX_OCTETS = 64 * 1024 * 1024  # choice: the largest file seen is some MB
_Read = Callable[[Node], tuple[str | None, tuple[ForeignFigure, ...], tuple[ForeignTrial, ...]]]

TOOLS: Mapping[str, tuple[Callable[[Node], bool], _Read]] = {
    "nfvbench": (nfvbench.is_mine, nfvbench.read),
    "trex-ndr": (trex_ndr.is_mine, trex_ndr.read),
    "csit": (csit.is_mine, csit.read),
    "bench-trafficgen": (trafficgen.is_mine, trafficgen.read),
}


def read_foreign(path: Path, tool: str | None = None) -> ForeignResult:
    """Read a result file of another tool; without `tool` it is told from the file's keys.

    Raises ConfigError IMP-01 (cannot be read), IMP-02 (of no tool that is known), IMP-03 (a value that the
    tool's format does not have).
    """
    content = _octets(path)
    try:
        data = strict_json(content, str(path), MAX_OCTETS)
    except ConfigError as error:
        raise ConfigError(
            "IMP-01", f"{path}: cannot be read", expected=error.expected, found=error.found
        ) from error
    node = Node(data, path.name)
    found = tool or next((name for name, (is_mine, _) in TOOLS.items() if is_mine(node)), None)
    if found is None or found not in TOOLS:
        raise ConfigError(
            "IMP-02",
            f"{path}: written by no tool that is known",
            expected="a result file of " + ", ".join(TOOLS),
            found=repr(tool) if tool else "other keys",
            hint=near_hint(tool or "", TOOLS, "name the tool with --tool when its format is new"),
        )
    try:
        version, figures, trials = TOOLS[found][1](node)
    except OverflowError as error:
        raise ConfigError(
            "IMP-03", f"{path}", expected="numbers that can be counted with", found=str(error)
        ) from error
    return ForeignResult(
        tool=found,
        tool_version=version,
        source_name=path.name,
        source_sha256=hashlib.sha256(content).hexdigest(),
        figures=figures,
        trials=trials,
    )


def _octets(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ConfigError("IMP-01", f"{path}: cannot be read", expected="a file", found="none")
        with path.open("rb") as stream:
            content = stream.read(MAX_OCTETS + 1)
    except OSError as error:
        raise ConfigError("IMP-01", f"{path}: cannot be read", found=str(error.strerror)) from error
    if len(content) > MAX_OCTETS:
        raise ConfigError(
            "IMP-01", f"{path}: too large", expected=f"at most {MAX_OCTETS} octets", found="more"
        )
    return content
