"""The records that pass between methodology, drivers and reports.

All are frozen and check themselves. Units stand in the names; `octets` of a frame include the FCS
(RFC 1242 section 3.5 counts the whole frame; at a Linux socket a 64 octet frame is 60 octets long).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from bmwg.methodology.trial import repeated_bursts, tagged, trial_limits
from bmwg.methodology.trial.cpu_watch import HostDisturbance
from bmwg.methodology.trial.frame_times import LatencyHistogram, LossTimes
from bmwg.methodology.trial.pattern import Pattern
from bmwg.methodology.trial.repeated_bursts import BurstTimes

FCS_OCTETS = 4
MIN_IPV6_OCTETS = 80  # headers and the signature of docs/adr/0011; 84 with a tag
LARGEST_COUNT = 2**64 - 1  # no counter of a tester holds more; a ratio of larger numbers may be no float
FRAMES = "frames"  # the kind of load that tests network devices; others stand in methodology.kinds
UNNAMED = (
    FRAMES  # the kind of what says none: profiles, cells, rules, and lines from before there were others
)
FRAMES_PER_S = "frames/s"  # of a load: per port and direction
WIRE = "wire"  # the path that has no device: by it the tester is qualified (design decision 4)
NOTHING = "none"  # of a cell: no hosting form, no function or no network takes part
BAREMETAL, POD, VM = "baremetal", "pod", "vm"
UNIKERNEL = "unikernel"  # a machine without an agent
ENGINES = ("docker", "podman", "lxc")  # forms of programs: the same pod by each of these
GUEST = "kvm"  # a QEMU guest
REDIRECTED = "kvm_redirected"  # the same behind user-mode network, reached by redirected ports
GUESTS = (GUEST, REDIRECTED)
POD_PREFIX = "pod_"  # a hosting form for each CNI option: `pod_<network option>`; no document ranks it
TRIAL_NUMBER = (
    "tester.trial"  # auxiliary count: which trial of its deployment it is, as the tester counts them
)
RESIDUAL_WAIT = "tester.residual_wait_ns"  # auxiliary count: from the last frame sent to reading the counts


class Direction(StrEnum):
    """Which way the test frames of a trial go between the two tester ports."""

    FORWARD = "forward"  # port 0 sends, port 1 receives
    REVERSE = "reverse"
    BOTH = "both"  # rfc2544-14, bidirectional


class FrameFormat(StrEnum):
    """What stands after the Ethernet header of a test frame."""

    ETHERNET = "ethernet"
    IPV4_UDP = "ipv4-udp"  # rfc2544 appendix C
    IPV6_UDP = "ipv6-udp"  # rfc5180


class OutcomeType(StrEnum):
    """What kind of answer a search or measurement gave; only MEASURED is a plain number."""

    MEASURED = "measured"
    AT_FLOOR = "at_floor"
    AT_CEILING = "at_ceiling"
    TESTER_LIMITED = "tester_limited"
    UNSTABLE = "unstable"
    INVALID = "invalid"
    NOT_ASSESSED = "not_assessed"


class Validity(StrEnum):
    """Whether a trial's procedure held; independent of loss, except SHORT (design decisions 3 and 13)."""

    VALID = "valid"
    TESTER_STALLED = "tester_stalled"  # the tester's own gap or lateness above the limit
    SENT_SHORT = "sent_short"  # sent below (1 - x) of intended
    HOST_STALLED = "host_stalled"  # the SUT's host lost its CPU (watchdog, steal)
    FAULT = "fault"  # tester, DUT or link failed during the trial
    INCONSISTENT = "inconsistent"  # counts contradict each other
    INCOMPLETE = "incomplete"  # not all that was asked for came about, and this kind of load needs all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """One trial as intended: a constant load of equal frames for a time.

    `load_fps` is per port and direction. `flows` is the number of distinct UDP flows (source address or
    port differ); `vlan_id` adds one 802.1Q tag, whose four octets count within `frame_octets`. `added_tags`
    is how many tags the DUT is to add to each frame (-1: to take its tag away): a frame then arrives four
    octets longer (shorter), and one that arrives as it was sent is corrupt.
    `destination_networks` is among how many networks behind the far port each sender spreads its frames, one
    drawn at random for each frame (RFC 2544 12); 1: all go to one address.

    `burst` says that the frames are a burst at the maximum rate `load_fps` (RFC 9004): each must leave.
    `then_load_fps` and `then_duration_s` are a second load that follows at once (RFC 2544 26.5).
    `loss_times` asks for the times of losses. `broadcast_every` adds one broadcast frame for each so many
    test frames, beside the load (RFC 2544 11.1). `modifier` names what else goes on (RFC 2544 11.2 to 11.4),
    `act` what is done to the DUT `act_at_s` after the trial's begin (RFC 6201). `tag_after_s` asks for the
    latency of single frames: of the first one due then and, with `tags` above 1, of as many in even steps
    until the end of its load (RFC 2544 26.2).
    `mix_octets` are the sizes that the frames have in turn (RFC 6985); `frame_octets` is then the largest.
    `burst_frames` has the frames leave in bursts of so many at `burst_fps`, evenly apart, so that `load_fps`
    is their mean load (RFC 2544 21); all bursts of a trial are whole.
    `pattern` says which of more tester ports send to which (RFC 2889); None: between the first two.
    """

    frame_octets: int
    load_fps: int
    duration_s: float
    direction: Direction = Direction.FORWARD
    frame_format: FrameFormat = FrameFormat.IPV4_UDP
    flows: int = 1
    vlan_id: int | None = None
    burst: bool = False
    then_load_fps: int | None = None
    then_duration_s: float | None = None
    loss_times: bool = False
    broadcast_every: int | None = None
    modifier: str | None = None
    act: str | None = None
    act_at_s: float | None = None
    tag_after_s: float | None = None
    tags: int | None = None
    mix_octets: tuple[int, ...] = ()
    destination_networks: int = 1
    burst_frames: int | None = None
    burst_fps: int | None = None
    pattern: Pattern | None = None
    added_tags: int = 0

    def __post_init__(self) -> None:
        """Refuse what no trial can be."""
        trial_limits.refuse(self)

    @property
    def bursts(self) -> int:
        """How many bursts each sending port is to send; 0 where the load is constant."""
        if self.burst_frames is None:
            return 0
        return repeated_bursts.bursts_in(self.burst_frames, self.load_fps, self.duration_s)

    @property
    def due_s(self) -> float:
        """When the last frame is due at the latest, seconds: the trial's time, or that of the last burst."""
        if self.burst_frames is None or self.burst_fps is None:
            return self.total_s
        return repeated_bursts.due_s(self.burst_frames, self.load_fps, self.burst_fps, self.bursts)

    @property
    def first_frames(self) -> int:
        """Frames that each sending port is to send at `load_fps`: all, unless a second load follows."""
        if self.burst_frames is not None:
            return self.bursts * self.burst_frames
        return max(1, round(self.load_fps * self.duration_s))

    @property
    def intended_frames(self) -> int:
        """Frames that each sending port is to send."""
        if self.then_load_fps is None or self.then_duration_s is None:
            return self.first_frames
        return self.first_frames + max(1, round(self.then_load_fps * self.then_duration_s))

    @property
    def load(self) -> int:
        """The load, as searches of any kind of load name it."""
        return self.load_fps

    @property
    def intended(self) -> int:
        """Frames that each sending port is to send, as searches of any kind of load name them."""
        return self.intended_frames

    @property
    def unit(self) -> str:
        """The unit of the load."""
        return FRAMES_PER_S

    @property
    def words(self) -> str:
        """The trial in words."""
        return (
            f"{self.frame_octets} octets, {self.load_fps} {FRAMES_PER_S} for {self.duration_s:g} s,"
            f" {self.direction}, {self.frame_format}, {self.flows} flows"
            f"{f', {self.destination_networks} networks' if self.destination_networks != 1 else ''}"
            f"{f', bursts of {self.burst_frames} at {self.burst_fps} frames/s' if self.burst_frames else ''}"
            f"{f', {self.pattern.words}' if self.pattern else ''}"
        )

    @property
    def tag_frames(self) -> tuple[int, ...]:
        """Sequence numbers of the tagged frames, from 0."""
        return tagged.frames(self)

    @property
    def total_s(self) -> float:
        """How long the trial sends, seconds: both loads."""
        return self.duration_s + (self.then_duration_s or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCounts:
    """What happened to the frames of one direction of one trial. Counts are frames.

    `received_frames` are unique test frames of this trial and stream; duplicates, reordered (RFC 4737
    type-P-reordered, already within received), corrupt (length or payload wrong) and foreign frames (no
    signature of this trial) are counted beside them. `tester_dropped_frames` were dropped by a queue of the
    tester's own, so that `lost_frames` is not the DUT's. `effective_duration_ns` is from the first to the
    last frame sent. `largest_gap_ns` is the longest time in which the sender, though due, did not run;
    `largest_lateness_ns` the longest that a frame left after its due time. `losses` is there when the trial
    asks for the times of losses; `tagged_ns` has the latency of each tagged frame, None for one that never
    came, and `tagged_at_ns` when each was sent, in nanoseconds since the stream's first frame was (empty
    where the tester does not tell). `sent_by_network` and `received_by_network` are the frames to each of the
    trial's destination networks, in their order (empty where all go to one address). `bursts` is there when
    the frames leave in repeated bursts.

    In a trial with a pattern it is one port that receives: what all senders meant for it, and what came there
    of that; how frames left is then the worst of its senders. `flooded_frames` came there and were
    meant for other ports: they are in no other count, for their own ports count these frames.
    """

    intended_frames: int
    sent_frames: int
    received_frames: int
    duplicate_frames: int = 0
    reordered_frames: int = 0
    corrupt_frames: int = 0
    foreign_frames: int = 0
    flooded_frames: int = 0
    tester_dropped_frames: int = 0
    largest_burst_frames: int = 0
    largest_gap_ns: int = 0
    largest_lateness_ns: int = 0
    effective_duration_ns: int = 0
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    losses: LossTimes | None = None
    tagged_ns: tuple[int | None, ...] = ()
    tagged_at_ns: tuple[int | None, ...] = ()
    sent_by_network: tuple[int, ...] = ()
    received_by_network: tuple[int, ...] = ()
    bursts: BurstTimes | None = None

    @property
    def lost_frames(self) -> int:
        """Sent and never received."""
        return self.sent_frames - self.received_frames

    @property
    def unsent_frames(self) -> int:
        """Intended and never sent."""
        return self.intended_frames - self.sent_frames

    @property
    def loss_ratio(self) -> float:
        """Share of the sent frames that were lost, 0..1; 0 when nothing was sent."""
        return self.lost_frames / self.sent_frames if self.sent_frames else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """One trial as it was. `streams` holds one entry a direction, forward first; with a pattern one a port.

    `fault` is a sentence when tester, link or DUT failed during the trial; the counts may then be partial.
    `auxiliary` holds counters that are no benchmark (interface drops by name and so on): frames, or the unit
    that the name ends in.
    """

    spec: TrialSpec
    streams: tuple[StreamCounts, ...]
    wall_time_ns: int
    disturbance: HostDisturbance | None = None
    fault: str | None = None
    auxiliary: tuple[tuple[str, int], ...] = ()

    @property
    def loaded(self) -> tuple[StreamCounts, ...]:
        """The streams that frames were meant for: all, but for ports of a pattern that nobody sends to."""
        pattern = self.spec.pattern
        return self.streams if pattern is None else tuple(self.streams[port] for port in pattern.receivers)

    @property
    def sent_frames(self) -> int:
        """Sent in all directions."""
        return sum(stream.sent_frames for stream in self.streams)

    @property
    def received_frames(self) -> int:
        """Received in all directions, each frame once."""
        return sum(stream.received_frames for stream in self.streams)

    @property
    def lost_frames(self) -> int:
        """Lost in all directions."""
        return sum(stream.lost_frames for stream in self.streams)

    @property
    def loss_ratio(self) -> float:
        """Share of sent frames lost, 0..1, all directions together."""
        return self.lost_frames / self.sent_frames if self.sent_frames else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One thing that is measured. Its `cell_id` is stable and is what journal and outcomes refer to.

    `path` is the name of a path driver, `hosting` and `function` are those of its hosting forms and functions
    that are measured (`none`: nothing forwards); `network` is the key in the testbed file, `none` where no
    option takes part. `imix` is a genome of RFC 6985 (empty: one size); `frame_octets` its largest frame.
    `destination_networks` is that of its trials.

    What else is varied stands in `axes`, by name (`methodology/cells/axes.py`). A cell of another `kind` of
    load has no frames (`frame_octets` 0), and `name` is the id that its kind gives it.
    """

    path: str
    hosting: str
    function: str
    network: str
    frame_octets: int = 0
    direction: Direction = Direction.FORWARD
    frame_format: FrameFormat = FrameFormat.IPV4_UDP
    flows: int = 1
    vlan_id: int | None = None
    imix: str = ""
    destination_networks: int = 1
    kind: str = FRAMES
    axes: tuple[tuple[str, int | str], ...] = ()
    name: str = ""

    @property
    def qualifies_tester(self) -> bool:
        """Whether the tester itself is measured here, and no device."""
        return self.path == WIRE

    @property
    def qualification(self) -> Cell:
        """The cell by which the tester is qualified for this cell's traffic."""
        return replace(self, path=WIRE, hosting=NOTHING, function=NOTHING, network=NOTHING, axes=())

    @property
    def cell_id(self) -> str:
        """`path/hosting/function/network/frame_octets/direction`, then what differs from the default.

        That of another kind of load is its `name`.
        """
        if self.name:
            return self.name
        parts = [self.path, self.hosting, self.function, self.network, str(self.frame_octets), self.direction]
        if self.frame_format is not FrameFormat.IPV4_UDP:
            parts.append(self.frame_format)
        if self.flows != 1:
            parts.append(f"{self.flows}flows")
        if self.destination_networks != 1:
            parts.append(f"{self.destination_networks}networks")
        if self.vlan_id is not None:
            parts.append(f"vlan{self.vlan_id}")
        if self.imix:
            parts.append(f"imix-{self.imix}")
        parts += [f"{name}={value}" for name, value in self.axes]
        return "/".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A load (frames/s, per port and direction) that recorded trials prove, by their sequence numbers."""

    load_fps: int
    trials: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number with its unit and the id of its definition; `number` is an int where it is a count."""

    metric: str
    number: float | int
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer for one metric on one cell. `value` is set only when `type` is MEASURED.

    `statement` says in one computed line what is known when there is no plain number (`no loss up to X`).
    `trials` are all sequence numbers that took part, in order; `reason` says why, for all other types.
    """

    outcome_id: str
    metric: str
    cell: Cell
    type: OutcomeType
    values: tuple[Quantity, ...] = ()
    lower: Bound | None = None
    upper: Bound | None = None
    trials: tuple[int, ...] = ()
    statement: str = ""
    reason: str = ""
    requirements: tuple[str, ...] = ()
    quality: tuple[str, ...] = ()
