"""What stays the same in all trials of a search over frames: sizes, direction, format, flows and tag."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.benchmarks import imix
from bmwg.methodology.cells import patterns
from bmwg.methodology.records import FRAMES_PER_S, Cell, Direction, FrameFormat, TrialSpec
from bmwg.methodology.trial.pattern import Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Frames to offer at some load; the fields are those of `TrialSpec`.

    With `burst_frames` a load is the mean over repeated bursts of so many frames at `burst_fps`.
    """

    frame_octets: int
    direction: Direction = Direction.FORWARD
    frame_format: FrameFormat = FrameFormat.IPV4_UDP
    flows: int = 1
    destination_networks: int = 1
    vlan_id: int | None = None
    mix_octets: tuple[int, ...] = ()
    loss_times: bool = False
    burst_frames: int | None = None
    burst_fps: int | None = None
    pattern: Pattern | None = None

    @classmethod
    def of(cls, cell: Cell, *, loss_times: bool = False) -> Traffic:
        """Return the traffic of a cell; with `loss_times` trials tell the number and times of their gaps.

        Between more ports than two no trial tells them.
        """
        pattern = patterns.of(cell.axes)
        return cls(
            frame_octets=cell.frame_octets,
            direction=cell.direction,
            frame_format=cell.frame_format,
            flows=cell.flows,
            destination_networks=cell.destination_networks,
            vlan_id=cell.vlan_id,
            mix_octets=imix.parse(cell.imix).sequence if cell.imix else (),
            loss_times=loss_times and pattern is None,
            pattern=pattern,
        )

    @property
    def unit(self) -> str:
        """Frames per second, per port and direction."""
        return FRAMES_PER_S

    @property
    def thing(self) -> str:
        """What the load counts."""
        return "frame"

    def spec(self, load: int, duration_s: float) -> TrialSpec:
        """Return the trial at a load (frames/s) for a time."""
        return TrialSpec(
            frame_octets=self.frame_octets,
            load_fps=load,
            duration_s=duration_s,
            direction=self.direction,
            frame_format=self.frame_format,
            flows=self.flows,
            destination_networks=self.destination_networks,
            vlan_id=self.vlan_id,
            mix_octets=self.mix_octets,
            loss_times=self.loss_times,
            burst_frames=self.burst_frames,
            burst_fps=self.burst_fps,
            pattern=self.pattern,
        )
