"""How a function runs at another place: it is passed as itself, and its name travels, so that mypy checks it.

A place offers `call_named` or `inside_named`; the rest is built on these here. A function that travels is
module-level, its module is of this package or of one with entry points for it, and arguments and result are
builtins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from bmwg.drivers.api.protocols import JsonValue

P = ParamSpec("P")
R = TypeVar("R")

WITHIN_S = 10.0  # choice: of a function in a pod's network namespace, most of which end in milliseconds


def name_of(function: Callable[..., object]) -> str:
    """Return `package.module:function`, as an agent finds it."""
    return f"{function.__module__}:{function.__qualname__}"


def _told(function: Callable[..., object], by_position: tuple[object, ...]) -> str:
    if by_position:
        raise TypeError(f"{name_of(function)} is called elsewhere, where arguments are passed by name")
    return name_of(function)


class Calls(Protocol):
    """A place with our agent. A ToolkitError that the function raises there is raised here.

    `deadline_s` None is what such a place allows a call that says nothing.
    """

    def call_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, deadline_s: float | None = None
    ) -> JsonValue:
        """Run the function of this name, as a ledger has it."""

    def call(self, function: Callable[P, R], /, *args: P.args, **arguments: P.kwargs) -> R:
        """Run a function on the place."""
        found: R = self.call_named(_told(function, args), arguments)
        return found

    def call_within(
        self, deadline_s: float, function: Callable[P, R], /, *args: P.args, **arguments: P.kwargs
    ) -> R:
        """Run a function that may take longer, or must not take as long, as calls do."""
        found: R = self.call_named(_told(function, args), arguments, deadline_s=deadline_s)
        return found


class CallsInside(Protocol):
    """A place of which functions of the node can enter the network namespace."""

    def inside_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, within_s: float = WITHIN_S
    ) -> JsonValue:
        """Run the function of this name on the node, in the network namespace of the place."""

    def inside(self, function: Callable[P, R], /, *args: P.args, **arguments: P.kwargs) -> R:
        """Run a function on the node, in the network namespace of the place."""
        found: R = self.inside_named(_told(function, args), arguments)
        return found

    def inside_within(
        self, within_s: float, function: Callable[P, R], /, *args: P.args, **arguments: P.kwargs
    ) -> R:
        """Run a function there that may take longer."""
        found: R = self.inside_named(_told(function, args), arguments, within_s=within_s)
        return found
