"""One trial on TRex, step by step, over the seam of channel.py: pure of processes and namespaces.

TRex is asked for a burst of exactly the intended frames, so that what it does not send is seen as unsent and
a stretched duration as what it was. Counters are read when both sides stand still, never while traffic flows.
"""

from __future__ import annotations

import base64
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from bmwg.drivers.traffic.renamed import renamed
from bmwg.drivers.traffic.trex import frames
from bmwg.drivers.traffic.trex.channel import Client, RefusedError
from bmwg.drivers.traffic.trex.counts import (
    ContradictionError,
    GroupCounters,
    Reading,
    backwards,
    merged,
    read,
)
from bmwg.drivers.traffic.trex.frames import Way
from bmwg.drivers.traffic.watchdog.process import PortSight, Sight
from bmwg.methodology.errors import DriverError
from bmwg.methodology.records import Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.medium import GAP_OCTETS, PREAMBLE_OCTETS

TRIAL_MARGIN_S = 2.0  # beyond twice the trial: a generator that is too slow stretches it, and is then stopped
# choice: TRex dates the start of a stream some 20 ms back and would catch up with a burst; this is later
FIRST_US = 50_000.0
# choice: a sender that is slower than by so many of its longest pauses is too slow for the load, not stalled
SLOW_BY_GAPS = 50
NEAR_LINE = (
    0.99  # choice: from here on TRex, which rounds otherwise, may hold a load to be above the line rate
)
LEARNING_FPS = 200.0
LEAST_LEARNING_FRAMES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Deadlines of a trial, seconds: `reply_s` of one call, the others as EmbeddedConfig has them.

    `server_pid` is the server's where it runs on this machine: its end is then noticed at once.
    """

    reply_s: float = 2.0
    quiet_s: float = 0.05
    limit_s: float = 2.0
    server_pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What TRex counted of a trial, before it is matched with what the interfaces carried."""

    reading: Reading | None
    sending_ns: int
    fault: str | None = None
    drained: bool = True
    sight: Sight | None = None


class Eyes(Protocol):
    """What looks at the CPUs and interfaces from just before the first frame to just after the last."""

    def arm(self) -> None:
        """Begin to look."""

    def read(self) -> Sight:
        """End looking and return what was seen."""


class TrialRunner:
    """Runs bursts between two ports of a TRex that is connected and owns them."""

    def __init__(
        self,
        client: Client,
        ports: tuple[int, int],
        ways: tuple[Way, Way],
        wait: Wait,
        sleep: Callable[[float], None] = time.sleep,
        *,
        line_bps: int | None = None,
    ) -> None:
        """`ways` are forward (port 0 sends) and reverse, of IPv4; `sleep` is time's unless a test replays.

        TRex refuses a load above `line_bps` (a line rate it reads from the port, and makes up for a virtual
        one); such a trial is started in spite of that, and what is not sent is counted as unsent.
        """
        self._client = client
        self._ports = ports
        self.ways = ways
        self._wait = wait
        self._sleep = sleep
        self._line_bps = line_bps

    def call(self, method: str, *, deadline_s: float | None = None, **arguments: Any) -> Any:
        """One call with the usual deadline (three replies: one call may be several requests)."""
        return self._client.call(method, deadline_s=deadline_s or 3 * self._wait.reply_s, **arguments)

    def learn(self, spec: TrialSpec) -> None:
        """Send learning frames from both ports (rfc2544-23), at least ten and one a flow, and forget them."""
        count = max(LEAST_LEARNING_FRAMES, spec.flows)
        load_fps = max(LEARNING_FPS, count / 2.0)
        self._load(replace(spec, direction=Direction.BOTH), count, load_fps)
        self._send(list(self._ports), count / load_fps)
        self.call("wait_on_traffic", ports=list(self._ports), timeout=1, rx_delay_ms=0)

    def send(self, spec: TrialSpec, eyes: Eyes | None = None) -> Sent:
        """Send one trial and return what TRex counted; a server that is lost gives a fault, never a count."""
        sending = self._sending(spec)
        sight = None
        try:
            self._load(spec, spec.intended_frames, float(spec.load_fps))
            self.call("clear_stats")
            if eyes:
                eyes.arm()
            beyond = self._line_bps is not None and line_load_bps(spec) > NEAR_LINE * self._line_bps
            waited_ns, still_sending = self._send(sending, spec.duration_s, force=beyond)
            reading, drained, wrong = self._settled(spec)
            sight = eyes.read() if eyes else None
            self.call("wait_on_traffic", ports=sending, timeout=1, rx_delay_ms=0)
        except ContradictionError as error:
            return Sent(reading=None, sending_ns=0, fault=str(error))
        except (RefusedError, DriverError) as error:
            if isinstance(error, DriverError) and error.error_id != "TREX-05":
                raise
            found = error.found if isinstance(error, DriverError) else str(error)
            return Sent(reading=None, sending_ns=0, fault=f"TRex was lost during the trial: {found}")
        if wrong:
            return Sent(reading=reading, sending_ns=waited_ns, fault=wrong, sight=sight)
        if still_sending and reading.groups and all(group.sent == 0 for group in reading.groups):
            wrong = "TRex sent no frame within the trial"
            return Sent(reading=reading, sending_ns=waited_ns, fault=wrong, sight=sight)
        return Sent(reading=reading, sending_ns=waited_ns, drained=drained, sight=sight)

    def _sending(self, spec: TrialSpec) -> list[int]:
        first, second = self._ports
        return {Direction.FORWARD: [first], Direction.REVERSE: [second]}.get(spec.direction, [first, second])

    def _groups(self, spec: TrialSpec) -> tuple[tuple[int, int, int], ...]:
        """Stream id, sending and receiving port of each direction and frame size, forward first."""
        return tuple(
            (way + 2 * place, *ends) for way, ends in self._ways(spec) for place in range(_kinds(spec))
        )

    def _ways(self, spec: TrialSpec) -> tuple[tuple[int, tuple[int, int]], ...]:
        first, second = self._ports
        both = ((1, (first, second)), (2, (second, first)))
        return {Direction.FORWARD: both[:1], Direction.REVERSE: both[1:]}.get(spec.direction, both)

    def _load(self, spec: TrialSpec, count: int, load_fps: float) -> None:
        self.call("remove_all_streams", ports=list(self._ports))
        tagged = spec.vlan_id is not None
        variables = []
        if spec.flows > 1:
            first = frames.FIRST_SOURCE_PORT
            offset = frames.source_port_offset(spec.frame_format, tagged=tagged)
            last = first + spec.flows - 1
            variables.append({"name": "flow", "first": first, "last": last, "octets": 2, "offset": offset})
        for way, (sender, _) in self._ways(spec):
            for place, (octets, share) in enumerate(sizes_of(spec, count)):
                frame = frames.build(
                    self.ways[self._ports.index(sender)], spec.frame_format, octets, spec.vlan_id
                )
                stream = {
                    "name": f"way{way}size{place}",
                    "group": way + 2 * place,
                    "frame": base64.b64encode(frame).decode("ascii"),
                    "variables": variables,
                    "frames": share,
                    "load_fps": load_fps * share / count,
                    "first_us": FIRST_US,
                    "latency": True,
                }
                self.call("add_streams", streams=[stream], ports=[sender])

    def _send(self, sending: list[int], duration_s: float, *, force: bool = False) -> tuple[int, list[int]]:
        """Start, wait for the end, stop what is beyond its time: the time (ns), and who was stopped."""
        self.call("start", ports=sending, force=force)
        longest_s = 2 * duration_s + TRIAL_MARGIN_S
        seen = self.call(
            "watch",
            deadline_s=longest_s + 3 * self._wait.reply_s,
            ports=sending,
            longest_s=longest_s,
            server_pid=self._wait.server_pid,
        )
        if seen["sending"]:
            self.call("stop", ports=seen["sending"], rx_delay_ms=0)
        return int(seen["waited_ns"]), list(seen["sending"])

    def _reading(self, spec: TrialSpec) -> Reading:
        return read(self.call("get_stats"), self._ports, self._groups(spec))

    def _settled(self, spec: TrialSpec) -> tuple[Reading, bool, str]:
        """Read until nothing moved for `quiet_s`, at most `limit_s`: reading, if still, what is wrong."""
        pause_s = min(self._wait.quiet_s, 0.02)
        before = self._reading(spec)
        quiet_s = waited_s = 0.0
        while waited_s < self._wait.limit_s:
            self._sleep(pause_s)
            waited_s += pause_s
            after = self._reading(spec)
            if wrong := backwards(before, after):
                return after, False, wrong
            quiet_s = quiet_s + pause_s if after.still == before.still else 0.0
            before = after
            if quiet_s >= self._wait.quiet_s:
                return after, True, ""
        return before, False, ""


def sizes_of(spec: TrialSpec, count: int) -> tuple[tuple[int, int], ...]:
    """Each frame size of a trial with how many of `count` frames have it, smallest first, none empty."""
    sequence = spec.mix_octets or (spec.frame_octets,)
    whole, rest = divmod(count, len(sequence))
    shares = Counter(dict.fromkeys(sequence, 0))
    for place, octets in enumerate(sequence):
        shares[octets] += whole + (place < rest)
    return tuple((octets, share) for octets, share in sorted(shares.items()) if share)


def line_load_bps(spec: TrialSpec) -> int:
    """What a trial asks of one direction of the medium, bit/s, preamble and gap between frames included."""
    sizes = sizes_of(spec, spec.intended_frames)
    octets = sum(share * (PREAMBLE_OCTETS + size + GAP_OCTETS) for size, share in sizes)
    return 8 * octets * spec.load_fps // spec.intended_frames


def _kinds(spec: TrialSpec) -> int:
    return len(sizes_of(spec, spec.intended_frames))


def streams_of(
    spec: TrialSpec, sent: Sent, devices: Sequence[str], sight: Sight, cpus: Sequence[int]
) -> TrialResult:
    """Match what TRex counted with what its interfaces carried: our record of the trial, without disturbance.

    Frames that reached the interface and TRex did not take are its own loss (`tester_dropped_frames`).
    """
    directions = {Direction.FORWARD: (0,), Direction.REVERSE: (1,)}.get(spec.direction, (0, 1))
    auxiliary: dict[str, int] = {}
    if sent.reading is None:
        empty = StreamCounts(intended_frames=spec.intended_frames, sent_frames=0, received_frames=0)
        return TrialResult(
            spec=spec, streams=(empty,) * len(directions), wall_time_ns=sent.sending_ns, fault=sent.fault
        )
    gap_ns = sight.largest_stall_ns(cpus)
    interval_ns = 1_000_000_000 // spec.load_fps
    streams = []
    kinds = _kinds(spec)
    for place, sender in enumerate(directions):
        group = merged(sent.reading.groups[place * kinds : (place + 1) * kinds])
        name = ("forward", "reverse")[sender]
        out, into = sight.ports.get(devices[sender]), sight.ports.get(devices[1 - sender])
        pause_ns = max(0, out.longest_pause_ns - interval_ns) if out else 0
        received = sent.reading.ports[1 - sender].received
        streams.append(_stream(spec, group, sent, (out, into, max(gap_ns, pause_ns)), received))
        auxiliary[f"{name}.sequence_too_high_events"] = group.sequence_too_high
        auxiliary[f"{name}.sequence_too_low_events"] = group.sequence_too_low
    auxiliary["queue_full_events"] = sent.reading.queue_full
    auxiliary["stray_frames"] = sent.reading.stray_frames
    auxiliary["not_drained"] = int(not sent.drained)
    for number, counters in enumerate(sent.reading.ports):
        for name in ("sent", "received", "send_errors", "receive_errors"):
            auxiliary[f"port{number}.{name}"] = getattr(counters, name)
    for device, port in sight.ports.items():
        for name in PortSight.__dataclass_fields__:
            auxiliary[f"{device}.{name}"] = getattr(port, name)
    return TrialResult(
        spec=spec,
        streams=tuple(streams),
        wall_time_ns=sent.sending_ns,
        fault=sent.fault or renamed(streams),
        auxiliary=tuple(sorted(auxiliary.items())),
    )


def _slow_by_ns(spec: TrialSpec, sent_frames: int, duration_ns: int) -> int:
    """How much longer than asked all frames of the trial would have taken at the rate that they left."""
    asked_ns = round(spec.duration_s * 1e9)
    return duration_ns * spec.intended_frames // sent_frames - asked_ns if sent_frames else 0


def _stream(
    spec: TrialSpec,
    group: GroupCounters,
    sent: Sent,
    seen: tuple[PortSight | None, PortSight | None, int],
    port_received: int,
) -> StreamCounts:
    out, into, gap_ns = seen
    taken_short = max(0, into.rx_packets - port_received) if into else 0
    # A frame that the device behind the interface had no room for (tx_dropped) was sent; one that never
    # reached the interface was not, whatever TRex counts.
    sent_frames = min(group.sent, out.tx_packets + out.tx_dropped) if out else group.sent
    asked_ns = round(spec.duration_s * 1e9)
    # We ask for the first frame to leave so late: that time was waited for, and nothing was sent in it.
    waited_ns = min(sent.sending_ns, max(asked_ns, sent.sending_ns - round(FIRST_US * 1000)))
    duration_ns = out.sending_ns if out else waited_ns
    late_ns = max(0, duration_ns - asked_ns) if out else 0
    if _slow_by_ns(spec, sent_frames, duration_ns) > SLOW_BY_GAPS * gap_ns:
        gap_ns = 0
    return StreamCounts(
        intended_frames=spec.intended_frames,
        sent_frames=sent_frames,
        received_frames=group.received - group.duplicates,
        duplicate_frames=group.duplicates,
        reordered_frames=group.out_of_order,
        foreign_frames=max(0, port_received - group.received),
        tester_dropped_frames=taken_short,
        largest_gap_ns=gap_ns,
        largest_lateness_ns=late_ns,
        effective_duration_ns=duration_ns,
        latency=group.latency
        if not group.duplicates
        else replace(group.latency, buckets=(), sum_ns=0, max_ns=None),
    )
