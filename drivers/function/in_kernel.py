"""A kernel's routing with a table of nftables, in the network namespace of a pod or of a node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from bmwg.drivers.api.protocols import (
    FunctionLink,
    JsonValue,
    Missing,
    Node,
    PlacedNode,
    Pod,
    UndoLog,
    undone,
)
from bmwg.drivers.function import tables
from bmwg.drivers.function.kernel_l3 import KernelL3
from bmwg.methodology.records import Cell, FrameFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What is loaded into the network namespace that forwards: a node function with its arguments.

    `told` is what the record says of it besides; `tracked` says that the kernel tracks connections for it.
    """

    install: Callable[..., dict[str, JsonValue]]
    arguments: Mapping[str, JsonValue]
    told: Mapping[str, JsonValue]
    tracked: bool = False


class InKernel(KernelL3, ABC):
    """Routes as `KernelL3` does, by a table of its own, whose counters say what it did."""

    name: ClassVar[str]
    _evidence: dict[str, JsonValue]  # once it is loaded

    @abstractmethod
    def loaded(self, links: Sequence[FunctionLink]) -> Loaded:
        """Return what is loaded, for these two interfaces: the forward direction enters by the first."""

    def probe(self, node: Node) -> Missing | None:
        """Return that nft is missing."""
        return Missing.told(node.call(tables.missing))

    def furnish(self, pod: Pod, links: Sequence[FunctionLink]) -> tuple[str, ...]:
        """Load the table into the pod's network namespace, with which it goes, and give it its routes."""
        wanted = self.loaded(links)
        made = pod.inside_within(tables.LOAD_S, wanted.install, **wanted.arguments)
        self._evidence = self._described(wanted, made, "the pod's network namespace, by the node's kernel")
        return super().furnish(pod, links)

    def started(self, pod: Pod) -> dict[str, JsonValue]:
        """Return evidence; it forwards as soon as it is furnished."""
        return self._evidence

    @contextmanager
    def on_node(self, node: PlacedNode, links: Sequence[FunctionLink], undo: UndoLog) -> Iterator[JsonValue]:
        """Have the table in the node's network namespace while this is open."""
        wanted = self.loaded(links)
        remove = partial(node.call_within, tables.LOAD_S, tables.remove)
        with undone(undo, "function_table", node.place, remove):
            made = node.call_within(tables.LOAD_S, wanted.install, **wanted.arguments)
            yield self._described(wanted, made, "the node's network namespace, by its kernel")

    def _described(self, wanted: Loaded, made: Mapping[str, JsonValue], runs_in: str) -> dict[str, JsonValue]:
        return {"name": self.name, "runs_in": runs_in, **wanted.told, "tracked": wanted.tracked, **made}

    def no_ipv4(self, cell: Cell) -> Missing | None:
        """Return that a cell's frames are none of IPv4, of which all rules here are."""
        if cell.frame_format is FrameFormat.IPV4_UDP:
            return None
        return Missing(
            what=f"{cell.frame_format} frames through function {self.name}",
            reason="its rules are of IPv4, and other frames would pass it without any",
            mend="frame format ipv4-udp, or function kernel-l3",
        )
