"""A switch between the NICs of a node, for path `switch`; found by name among `bmwg.drivers.switch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from bmwg.drivers.api.protocols import JsonValue, Missing, Node, PlacedNode
    from bmwg.drivers.paths.bed import Bed


class SwitchDriver(Protocol):
    """Learns addresses and forwards between NICs, nothing else.

    `__init__` reads its settings, `functions.<name>` of the testbed file, and makes nothing. `joined` makes
    the switch of all these NICs and removes it on leaving; its evidence has `settings`, as asked for and as
    read back. `table` is how many addresses the standing switch knows now. `forwards_in` says where.
    """

    name: ClassVar[str]
    forwards_in: ClassVar[str]

    def __init__(self, bed: Bed) -> None: ...
    def probe(self, node: Node) -> Missing | None: ...
    def joined(
        self, node: PlacedNode, nics: Sequence[str]
    ) -> AbstractContextManager[Mapping[str, JsonValue]]: ...
    def table(self, node: Node) -> int: ...
