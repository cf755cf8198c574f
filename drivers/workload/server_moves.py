"""How long frames are lost while a cloud moves a server: live migration between two hosts, there and back.

All of it is as of a guest that QEMU alone moves; what moves it is another.
"""

from __future__ import annotations

from typing import ClassVar, cast

from bmwg.drivers.workload.migrations import Migrations
from bmwg.drivers.workload.of_acts import ActsWorkload
from bmwg.methodology.kinds.acts.experiments import SERVER_MOVING_PATH


class ServerMoves(Migrations):
    """Moves a server that stands, there and back, with frames on their way all the time."""

    paths: ClassVar[tuple[str, ...]] = (SERVER_MOVING_PATH,)


_: type[ActsWorkload] = cast("type[ActsWorkload]", ServerMoves)
