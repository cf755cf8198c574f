"""One HTTP load as it was: what was offered as asked, what failed, and what TRex itself could not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bmwg.drivers.traffic.trex.astf_counts import OWN_LIMITS, HttpReading, wrong_answers
from bmwg.drivers.traffic.trex.astf_load import HttpLoad
from bmwg.drivers.traffic.trex.counts import whole
from bmwg.drivers.traffic.watchdog.process import Sight

HELD = 1.03  # choice: connections that began within so many times the time asked for are the load asked for
STRAY_FRAMES = 10  # choice: what neighbours ask each other meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSent:
    """One load as it was. `reading` is None where TRex told nothing that can be believed: `fault` says why.

    `failed` are requests that began and got no right answer (wrong octets count one at least).
    """

    load: HttpLoad
    reading: HttpReading | None
    beginning_ns: tuple[int, int] = (0, 0)  # from the first connection to the last: at least, at most
    waited_ns: int = 0
    sight: Sight | None = None
    devices: tuple[str, ...] = ()
    fault: str = ""

    @property
    def begun(self) -> int:
        """Requests whose connections began."""
        return self.reading.clients.begun * self.load.requests_per_connection if self.reading else 0

    @property
    def unsent(self) -> int:
        """Requests that TRex did not offer as asked, by its own fault.

        Those whose connections never began; those that failed while TRex lost frames that had reached it or
        was at a limit of its own; and where all were answered, those that began after the time asked for,
        at the rate as it was.
        """
        if self.reading is None:
            return 0
        missing = self.load.requests - self.begun
        clients = self.reading.clients
        if self.failed or clients.late:
            own = self.own_limits or self.own_loss > STRAY_FRAMES
            return max(missing, self.failed + clients.late if own else 0)
        if missing or not clients.complete:
            return missing
        least_ns, asked_ns = self.beginning_ns[0], self.load.duration_s * 1e9
        if least_ns <= asked_ns * HELD:
            return 0
        return max(1, round(self.begun * (1 - asked_ns / least_ns)))

    @property
    def own_loss(self) -> int:
        """Frames that reached TRex's interfaces and not its TCP; 0 where nobody looked."""
        if self.reading is None or self.sight is None:
            return 0
        sides = zip(self.devices, (self.reading.clients, self.reading.servers), strict=False)
        lost = [
            self.sight.ports[device].rx_packets - side.received_segments - side.strangers
            for device, side in sides
            if device in self.sight.ports
        ]
        return sum(max(0, count) for count in lost)

    @property
    def failed(self) -> int:
        """Requests that began and were not answered rightly, late ones left out."""
        if self.reading is None:
            return 0
        return max(self.begun - self.reading.clients.complete, wrong_answers(self.load, self.reading.clients))

    @property
    def own_limits(self) -> dict[str, int]:
        """Counters by which TRex says that it could not itself."""
        sides = (self.reading.clients, self.reading.servers) if self.reading else ()
        return {
            name: sum(side.errors.get(name, 0) for side in sides)
            for name in OWN_LIMITS
            if any(name in side.errors for side in sides)
        }


def span(looks: Any) -> tuple[int, int]:
    """Least and most time from the first connection to the last (ns), from the looks that saw them begin."""
    first_after, first_before = whole(looks, "first_after_ns"), whole(looks, "first_before_ns")
    last_after, last_before = whole(looks, "last_after_ns"), whole(looks, "last_before_ns")
    return max(0, last_after - first_before), max(0, last_before - first_after)
