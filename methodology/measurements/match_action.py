"""Throughput beside flows that match frames and act on them, each of several (LTD 3.2.2.1.15)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import match_action
from bmwg.methodology.benchmarks.match_action import MatchAction
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, settings, wanted_size
from bmwg.methodology.measurements.modifiers import SearchBeside, answered, mean_latency, search_beside
from bmwg.methodology.measurements.recovery import has_flows
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, FrameFormat, TrialSpec
from bmwg.methodology.trial.judging import JudgedTrial

NAME = "match_action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched(SearchBeside):
    """A search beside one match and its actions."""

    one: MatchAction
    places: tuple[Place, ...] = (replace(SPEED, rows=("LTD-3.2.2.1.15",)),)

    @property
    def name(self) -> str:
        """`match_action_` and its code."""
        return f"{NAME}_{self.one.code}"

    @property
    def metric(self) -> str:
        """The match's."""
        return self.one.metric

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Switches with a table of flows between two ports, for UDP; an even number of flows for a half."""
        able = has_flows(cell) and cell.frame_format is FrameFormat.IPV4_UDP
        able = able and (self.one.share * cell.flows).denominator == 1
        able = able and self.one.code in settings(profile, NAME).get("actions", match_action.KNOWN)
        return able and wanted_size(profile, NAME, cell)

    def measure(self, asked: Asked) -> Answered:
        """Search with the flows standing; no number where their own count is not of the frames that match."""
        found = search_beside(asked, self.changed, self.metric)
        other = [trial.seq for trial in found.trials if trial.valid and not self.matched(trial)]
        return answered(
            found,
            requirements=match_action.REQUIREMENTS,
            seen=(f"flows: {self.one.words}",),
            values=mean_latency(found),
            wrong=f"the flows did not match the frames of trials {other}, by their own counts"
            if other
            else "",
        )

    def changed(self, spec: TrialSpec) -> TrialSpec:
        """Return a trial beside the flows: with the tag that they match, and the tags that they leave."""
        vlan_id = spec.vlan_id if self.one.vlan_id is None else self.one.vlan_id
        return replace(spec, modifier=self.one.modifier, vlan_id=vlan_id, added_tags=self.one.added_tags)

    def matched(self, trial: JudgedTrial) -> bool:
        """Whether the flows counted the frames that match: all of a trial without loss, exactly.

        What is lost may be lost before the switch counts it or after. Of frames of which a share matches, the
        last turn through the flows may be cut off.
        """
        counted = dict(trial.result.auxiliary).get(match_action.FRAMES, 0)
        matching = trial.result.sent_frames * self.one.share
        rest = 0 if self.one.share == 1 else len(trial.result.streams)
        return matching - trial.result.lost_frames - rest <= counted <= matching + rest


MEASUREMENTS = tuple(Matched(one=one) for one in match_action.KNOWN.values())
