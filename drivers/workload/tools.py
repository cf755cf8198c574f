"""Client programs that no Debian package supplies: where `setup/install.sh http` puts them on a node."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bmwg.drivers.api.protocols import Missing, Node

TOOLS = Path("/var/cache/bmwg/tools")
JMETER_VERSION, K6_VERSION = "5.6.3", "0.49.0"
_HEAP = ("-Xms256m", "-Xmx1g")
MEND = "sh setup/install.sh http"


def jmeter(*heap: str) -> list[str] | None:
    """Return the command of JMeter without its arguments; None when it or Java is not there.

    `heap` are Java's words for one of another size than many threads of one JMeter take.
    """
    jar = TOOLS / f"jmeter-{JMETER_VERSION}" / "bin" / "ApacheJMeter.jar"
    java = shutil.which("java")
    if java is None or not jar.is_file():
        return None
    return [java, *(heap or _HEAP), "-Djava.awt.headless=true", "-jar", str(jar)]


def k6() -> list[str] | None:
    """Return the command of k6 without its arguments; None when it is not there."""
    program = TOOLS / f"k6-{K6_VERSION}" / "k6"
    return [str(program)] if os.access(program, os.X_OK) else None


def missing(node: Node, tool: str) -> Missing | None:
    """Return that the clients' node lacks a tool, with the line that supplies it; None when it is there."""
    if not node.call(absent, tool=tool):
        return None
    return Missing(what=tool, reason="not on the clients' node", mend=MEND)


def absent(*, tool: str) -> bool:
    """Node function: whether a tool is absent."""
    return {"jmeter": jmeter, "k6": k6}[tool]() is None
