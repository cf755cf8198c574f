"""Who sends to whom in a trial between two to eight tester ports (RFC 2889); ports are numbers from 0.

A sender's frames go to its receivers in turn, frame n to receiver n modulo their number, or each one to all
of them (broadcast). From the sender and its own number a frame's port is known, so one that comes to another
port is told from one that is wanted there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LEAST_PORTS, MOST_PORTS = 2, 8  # choice: the tester's own limit (src/ports.h)
FIRST_SENT = ".first_sent_ns"  # auxiliary count of a sending port: since the first frame of the trial was due
KNOWN_BEFORE = "switch.known_addresses"  # auxiliary count: in the table of a switch, before the first frame
MOST_ADDRESSES = 1_048_576  # choice: more than the address table of any switch that is known to us
PHASE_SEED = (
    "tester.phase_seed"  # auxiliary count: by which senders' rhythms move (docs/adr/0563) and pairs are drawn
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """`to` has for each port the ports that its frames go to in turn; none: it sends nothing.

    `sources` is from how many MAC addresses each port sends, `destinations` to how many of each receiver,
    in turn; 1: the port's own. With several of both the pairs are drawn at random. `broadcast` sends each
    frame once, and every receiver is to have a copy.
    `unprepared`: no learning frames go before, for the trial itself teaches addresses, or asks for them.
    """

    to: tuple[tuple[int, ...], ...]
    sources: int = 1
    destinations: int = 1
    broadcast: bool = False
    unprepared: bool = False

    @property
    def draws_pairs(self) -> bool:
        """Whether source and destination address of a frame are drawn at random (RFC 2889 5.1.3)."""
        return self.sources > 1 and self.destinations > 1

    def __post_init__(self) -> None:
        """Refuse what no pattern can be."""
        if not LEAST_PORTS <= len(self.to) <= MOST_PORTS:
            raise ValueError(f"pattern: expected {LEAST_PORTS} to {MOST_PORTS} ports, found {len(self.to)}")
        for port, receivers in enumerate(self.to):
            others = set(range(len(self.to))) - {port}
            if len(set(receivers)) != len(receivers) or not set(receivers) <= others:
                raise ValueError(
                    f"pattern: expected other ports, each once, for port {port}, found {receivers}"
                )
        if not any(self.to):
            raise ValueError("pattern: expected a port that sends, found none")
        for name in ("sources", "destinations"):
            if not 1 <= getattr(self, name) <= MOST_ADDRESSES:
                raise ValueError(
                    f"pattern: {name}: expected 1..{MOST_ADDRESSES}, found {getattr(self, name)}"
                )
        if self.broadcast and self.destinations != 1:
            raise ValueError("pattern: expected no numbered destinations of broadcast frames")

    @property
    def ports(self) -> int:
        """How many ports take part."""
        return len(self.to)

    @property
    def senders(self) -> tuple[int, ...]:
        """The ports that send."""
        return tuple(port for port, receivers in enumerate(self.to) if receivers)

    @property
    def receivers(self) -> tuple[int, ...]:
        """The ports that frames are meant for."""
        return tuple(port for port in range(self.ports) if self.senders_to(port))

    def senders_to(self, port: int) -> tuple[int, ...]:
        """Return the ports that send to a port."""
        return tuple(sender for sender, receivers in enumerate(self.to) if port in receivers)

    def meant_for(self, port: int, sent_frames: Sequence[int]) -> int:
        """Return how many frames are for a port, of so many that each port sent; copies where broadcast."""
        total = 0
        for sender in self.senders_to(port):
            receivers, sent = self.to[sender], sent_frames[sender]
            turn = receivers.index(port)
            total += sent if self.broadcast else (sent + len(receivers) - 1 - turn) // len(receivers)
        return total

    @property
    def copies(self) -> int:
        """How many ports are to have each frame."""
        return max(len(receivers) for receivers in self.to) if self.broadcast else 1

    def loads_at(self, port: int) -> float:
        """Return what is meant for a port while each sender has one load, in such loads."""
        return sum(1 / (1 if self.broadcast else len(self.to[sender])) for sender in self.senders_to(port))

    @property
    def told_before(self) -> int:
        """How many addresses learning frames tell a switch: those of every port that takes part."""
        return 0 if self.unprepared else len({*self.senders, *self.receivers}) * self.destinations

    @property
    def words(self) -> str:
        """The pattern in words."""
        ways = [f"{port} to {'+'.join(map(str, receivers))}" for port, receivers in enumerate(self.to)]
        told = [", ".join(way for way, receivers in zip(ways, self.to, strict=True) if receivers)]
        if self.broadcast:
            told.append("broadcast")
        if self.sources != 1:
            told.append(f"from {self.sources} addresses")
        if self.destinations != 1:
            told.append(f"to {self.destinations} addresses")
        if self.unprepared:
            told.append("without learning frames")
        return f"ports {'; '.join(told)}"


def between(senders: Iterable[int], receivers: Iterable[int], *, ports: int) -> tuple[tuple[int, ...], ...]:
    """Return who sends to whom where each sender sends to every receiver but itself.

    Each begins with the receiver after itself, so that not all send to the same port at once (RFC 2889
    5.1.3 has this order for a full mesh).
    """
    wanted, sending = sorted(set(receivers)), set(senders)
    return tuple(
        (*(port for port in wanted if port > sender), *(port for port in wanted if port < sender))
        if sender in sending
        else ()
        for sender in range(ports)
    )


def full_mesh(ports: int) -> Pattern:
    """Return the pattern of a full mesh: each port sends to all others."""
    return Pattern(to=between(range(ports), range(ports), ports=ports))
