"""What a check looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.drivers.platform_record.values import Source
from bmwg.drivers.testbed.file import Testbed
from bmwg.methodology.record.facts import below, is_fact


@dataclass(frozen=True, slots=True)
class Scene:
    """A machine's record, the testbed that is to run on it, and files that no record holds."""

    record: Mapping[str, Any]
    testbed: Testbed | None
    source: Source

    def value(self, path: str) -> Any:
        """The value of a fact, None when it is not known or does not apply."""
        node = below(self.record["fields"], *path.split("/"))
        return node.get("value") if is_fact(node) else None

    def interfaces(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each interface of the record with its known facts."""
        for name, node in self.record["fields"].get("nic", {}).items():
            if isinstance(node, Mapping) and not is_fact(node):
                yield (
                    name,
                    {key: fact["value"] for key, fact in node.items() if is_fact(fact) and "value" in fact},
                )
