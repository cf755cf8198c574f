"""What the sections share: a run sorted for telling. Computes, and writes no sentence."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bmwg.methodology.answers.believed import SetAside, lossless_over_all, set_aside
from bmwg.methodology.answers.data_plane import Use, use_of
from bmwg.methodology.answers.ladder import device_metric
from bmwg.methodology.cells import axes, patterns
from bmwg.methodology.records import (
    BAREMETAL,
    FRAMES,
    NOTHING,
    POD,
    Cell,
    Outcome,
    OutcomeType,
    Quantity,
    Validity,
)
from bmwg.methodology.trial import directions
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.medium import cell_fps, ethernet_fps
from bmwg.reports.checker.judge import Judgement
from bmwg.reports.render import searches
from bmwg.reports.render.sections.guest import accelerator_of, of_translated
from bmwg.reports.render.text import unit
from bmwg.reports.store import JournalTrial, PlannedCell, Run
from bmwg.reports.store.frame_codec import result_from_json
from bmwg.reports.store.long_lists import emptied
from bmwg.reports.store.upgrade import of_today

THROUGHPUT = "throughput.rfc2544_26_1"
ENVELOPE = "tester.envelope"  # the wire's rung, docs/adr/0002
LATENCY = "latency.all_frames"
_UNCOUNTED_PARTS = ("device_queues", "interrupts")  # by their names in a deployment's evidence
GLANCE_ROWS = 24  # choice: more is no glance
MODELS = ("", "kernel", "user-space", "ebpf", "sr-iov", "combination")  # draft section 5.1, in its order
LACKING = "not configured in this testbed"  # in place of the model of an option that the file does not have
_QUALIFIED = (OutcomeType.MEASURED, OutcomeType.AT_CEILING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A run with what several sections ask of it: answers of frames, in the order of the ladder.

    `never_reached` are planned cells of any kind of load. `judgement` is what documents say of the run, or
    why that failed; None where nobody asked yet. `counted` keeps each trial that was asked for once.
    """

    run: Run
    outcomes: tuple[Outcome, ...]
    never_reached: tuple[PlannedCell, ...]
    by_cell: Mapping[str, tuple[JournalTrial, ...]]
    validity: Mapping[Validity, int]
    judgement: Judgement | str | None = None
    counted: dict[int, JudgedTrial] = field(default_factory=dict, compare=False, repr=False)

    @property
    def indicative(self) -> bool:
        """Whether one of the run's profiles is."""
        return any(is_indicative(self.run.of_load(load).profile) for load in self.run.kinds)

    def of_metric(self, metric: str) -> tuple[Outcome, ...]:
        """Return the outcomes of a metric or of a family of metrics."""
        return tuple(o for o in self.outcomes if o.metric == metric or o.metric.startswith(metric + "."))

    def of_devices(self) -> tuple[Outcome, ...]:
        """Return the throughputs of devices without loss, all by the one document that this run follows."""
        return self.of_metric(device_metric(self.outcomes))

    def of_search(self) -> tuple[Outcome, ...]:
        """Return what searches found, one answer a cell: throughput, on the wire the tester's envelope.

        Of several the answer that `searches.order` puts first; `beside` has the others.
        """
        return tuple(answers[0] for answers in self._searched().values())

    def beside(self, outcome: Outcome) -> tuple[Outcome, ...]:
        """Return what other searches found on the cell of an answer, by metric in order."""
        return self._searched().get(outcome.cell.cell_id, (outcome,))[1:]

    def search_metrics(self, shown: Iterable[Outcome]) -> tuple[str, ...]:
        """Return by which metrics searches answered these cells, in order; the wire's shares one."""
        found = {outcome.metric for first in shown for outcome in (first, *self.beside(first))}
        ordered = sorted(found, key=lambda metric: searches.order(metric) or ())
        return tuple(ordered[1:] if len(ordered) > 1 and ordered[0] == ENVELOPE else ordered)

    def by_metric(self, first: Outcome, metrics: Sequence[str]) -> list[Outcome | None]:
        """Return the answers of a cell in the columns of these metrics."""
        found = {outcome.metric: outcome for outcome in (first, *self.beside(first))}
        if first.metric == ENVELOPE:
            return [first, *(None for _ in metrics[1:])]
        return [found.get(metric) for metric in metrics]

    def _searched(self) -> Mapping[str, tuple[Outcome, ...]]:
        found: dict[str, list[tuple[tuple[float, ...], Outcome]]] = {}
        for outcome in self.outcomes:
            if (place := searches.order(outcome.metric)) is not None:
                found.setdefault(outcome.cell.cell_id, []).append((place, outcome))
        return {
            cell_id: tuple(outcome for _, outcome in sorted(answers, key=lambda one: one[0]))
            for cell_id, answers in found.items()
        }

    def latency_of(self, cell: Cell) -> Outcome | None:
        """Return the answer that holds percentiles of the latency of a cell; None where it has none."""
        return next((outcome for outcome in self.of_metric(LATENCY) if outcome.cell == cell), None)

    def at_a_glance(self) -> tuple[Outcome, ...]:
        """Return what the first figure and its table show, by networking model: what searches found.

        Of many answers those of the smallest frame size.
        """
        found = tuple(sorted(self.of_search(), key=lambda outcome: _model_order(self.model(outcome.cell))))
        if len(found) <= GLANCE_ROWS:
            return found
        size = min(outcome.cell.frame_octets for outcome in found)
        return tuple(outcome for outcome in found if outcome.cell.frame_octets == size)

    def model(self, cell: Cell) -> str:
        """Return the networking model of a cell's option, as the testbed file names it.

        Empty where no network takes part, `LACKING` where the file has no such option, `not told` where the
        option says none.
        """
        if cell.network == NOTHING:
            return ""
        networks = self.run.testbed.get("networks")
        option = networks.get(cell.network) if isinstance(networks, Mapping) else None
        return str(option.get("model") or "not told") if isinstance(option, Mapping) else LACKING

    def envelope_fps(self, cell: Cell) -> int | None:
        """Return what the tester alone carries of a cell's traffic, frames/s; None where it is not known."""
        wire = (
            o
            for o in self.of_search()
            if o.metric == ENVELOPE and o.lower is not None and _traffic(o.cell) == _traffic(cell)
        )
        share = patterns.share_of_tester(cell.axes)
        return next((o.lower.load_fps // share for o in wire if o.lower and o.type in _QUALIFIED), None)

    def use(self, outcome: Outcome) -> Use | None:
        """Return what the data plane used at a search's lossless load; None where not all was counted."""
        if outcome.lower is None or self._parts_uncounted(outcome):
            return None
        return use_of(self.counts(seq).result for seq in outcome.lower.trials)

    def use_over_all(self, outcome: Outcome) -> Use | None:
        """Return what it used over all valid trials of a search; None where not all of it was counted."""
        if self._parts_uncounted(outcome):
            return None
        trials = self.judged(outcome)
        return use_of(trial.result for trial in trials if trial.validity is Validity.VALID)

    def _parts_uncounted(self, outcome: Outcome) -> bool:
        """Whether a deployment of an answer has parts that nobody could count: a sum would lack them."""
        told = (self.run.deployments.get(self.run.trial(seq).deployment_id, {}) for seq in outcome.trials)
        absent = ((one.get("data_plane") or {}).get("not_counted") or {} for one in told)
        return any(part in one for one in absent for part in _UNCOUNTED_PARTS)

    def by_translation(self) -> tuple[Facts, Facts]:
        """Return these facts with native answers alone, and with those through translated machines alone."""
        apart = [of_translated(self.run, outcome) for outcome in self.outcomes]
        native, machines = (
            tuple(one for one, is_apart in zip(self.outcomes, apart, strict=True) if is_apart is wanted)
            for wanted in (False, True)
        )
        return replace(self, outcomes=native), replace(self, outcomes=machines)

    def accelerators(self) -> str:
        """Name what ran the machines through which these answers came; empty without machines."""
        names = {self.run.trial(seq).deployment_id for outcome in self.outcomes for seq in outcome.trials}
        return "/".join(sorted({accelerator_of(self.run, name) for name in names} - {""}))

    def not_assessed(self) -> tuple[Outcome, ...]:
        """Return the outcomes of cells that could not be tried."""
        return tuple(o for o in self.outcomes if o.type is OutcomeType.NOT_ASSESSED)

    def theoretical_fps(self, frame_octets: int) -> int | None:
        """Return the medium's maximum, frames/s per direction, or None where it has none."""
        rate = self.run.line_rate_bps
        return None if rate is None else ethernet_fps(rate, frame_octets)

    def medium_fps(self, cell: Cell) -> int | None:
        """Return the medium's maximum for a cell's frames or mix of frames, frames/s per direction."""
        return cell_fps(self.run.line_rate_bps, cell)

    def over_all_trials(self, outcome: Outcome) -> int | None:
        """Return the highest lossless load when trials that were set aside count too, frames/s."""
        return lossless_over_all(self.judged(outcome))

    def set_aside(self, outcome: Outcome) -> SetAside:
        """Return how many trials of an outcome were set aside, and why."""
        return set_aside(self.judged(outcome))

    def judged(self, outcome: Outcome) -> list[JudgedTrial]:
        """Return the trials of an outcome as a search saw them, without their histograms."""
        return [self.counts(seq) for seq in outcome.trials]

    def counts(self, seq: int) -> JudgedTrial:
        """Return a trial as a search saw it, without its histogram: several sections ask for the same one."""
        if seq not in self.counted:
            trial = self.run.trial(seq)
            whole = of_today(emptied(json.loads(trial.line)))  # buckets are most of what decoding takes
            self.counted[seq] = JudgedTrial(
                seq=seq, result=result_from_json(whole), validity=trial.validity, reason=trial.reason
            )
        return self.counted[seq]


def is_indicative(profile: Mapping[str, Any]) -> bool:
    """Whether a profile says so; one that does not say is indicative when it deviates."""
    return bool(profile.get("indicative", bool(profile["deviations"])))


def facts(run: Run, judgement: Judgement | str | None = None) -> Facts:
    """Sort a run for telling, with what documents say of it where that is known."""
    by_cell: dict[str, list[JournalTrial]] = defaultdict(list)
    for trial in run.trials:
        by_cell[trial.cell_id].append(trial)
    answered = {(outcome.metric, outcome.cell.cell_id) for outcome in run.outcomes}
    counted = Counter(trial.validity for trial in run.trials)
    planned = dict.fromkeys(
        cell.path
        for cell in (*(p.cell for p in run.plan), *(o.cell for o in run.outcomes))
        if cell.kind == FRAMES
    )
    places = {path: number for number, path in enumerate(planned)}
    return Facts(
        run=run,
        outcomes=tuple(
            sorted(run.of_kind(FRAMES), key=lambda outcome: (_order(outcome.cell, places), outcome.metric))
        ),
        never_reached=tuple(
            planned for planned in run.plan if (planned.metric, planned.cell.cell_id) not in answered
        ),
        by_cell={cell_id: tuple(trials) for cell_id, trials in by_cell.items()},
        validity={validity: counted[validity] for validity in Validity},
        judgement=judgement,
    )


def _order(cell: Cell, places: Mapping[str, int]) -> tuple[bool, int, str, str, int, str]:
    """Order paths as the run planned them, bottom up, and the tester's own qualification before all."""
    below = not cell.qualifies_tester
    return (below, places[cell.path], cell.function, cell.network, cell.frame_octets, cell.cell_id)


def _model_order(model: str) -> tuple[int, str]:
    """Order networking models as the draft does: first what has none, last those that it does not name."""
    return (MODELS.index(model) if model in MODELS else len(MODELS), model)


def _traffic(cell: Cell) -> tuple[object, ...]:
    frames = (cell.frame_octets, cell.direction, cell.frame_format, cell.vlan_id, cell.imix)
    return (*frames, cell.flows, cell.destination_networks)


def cell_words(cell: Cell) -> str:
    """Return a cell as a reader would call it: path, option and frame size, or what its kind varies."""
    if cell.kind != FRAMES:
        return cell.cell_id
    return f"{option(cell)}, {frame_size(cell)}"


def frame_size(cell: Cell) -> str:
    """Return the size of a cell's frames; of a mix its largest one, and that it is."""
    return ("up to " if cell.imix else "") + unit(cell.frame_octets, "octets")


def other_loads(run: Run) -> str:
    """Name what a run found without frames, beside frames or alone."""
    frames = any(outcome.cell.kind == FRAMES for outcome in run.outcomes)
    return "What was found of other kinds of load" if frames else "What was found"


def short_words(cell: Cell) -> str:
    """Return a cell in the fewest words: path, option and octets, or what its kind varies."""
    return cell.cell_id if cell.kind != FRAMES else f"{option(cell)} {cell.frame_octets}"


def option(cell: Cell) -> str:
    """Return a cell without its frame size, as a reader would call it."""
    parts = [cell.path]
    if cell.network != NOTHING:
        parts.append(cell.network)
    if cell.hosting != _implied_hosting(cell):
        parts.append(cell.hosting)
    if cell.function not in ("none", "kernel-l3"):
        parts.append(cell.function)
    if cell.direction != "forward":
        parts.append(cell.direction.value)
    if cell.frame_format != "ipv4-udp":
        parts.append(cell.frame_format.value)
    if cell.flows != 1:
        parts.append(f"{cell.flows} flows")
    if cell.destination_networks != 1:
        parts.append(f"{cell.destination_networks} networks")
    if cell.vlan_id is not None:
        parts.append(f"VLAN {cell.vlan_id}")
    if cell.imix:
        parts.append(f"IMIX {cell.imix}")
    parts += axes.words(cell.axes)
    return " ".join(parts)


def _implied_hosting(cell: Cell) -> str:
    """Return the hosting form that goes without saying, beside the network option and the function."""
    if cell.network != NOTHING:
        return POD
    return NOTHING if cell.function == NOTHING else BAREMETAL


def percentile_name(metric: str) -> str:
    """Return `p99.9` of `latency.all_frames.p99.9`, of `latency.all_frames.p99_9`, and of one direction's."""
    return directions.without(metric)[0].removeprefix(LATENCY + ".").replace("_", ".")


def percentiles(outcome: Outcome, way: str) -> dict[str, Quantity]:
    """Return the values of latency of one direction by the name of the percentile; empty: the only one."""
    return {
        percentile_name(value.metric): value
        for value in outcome.values
        if directions.without(value.metric)[1] == way
    }


def told_ways(outcome: Outcome, family: str) -> tuple[str, ...]:
    """Return the directions that the values of an outcome name; one empty word where they name none."""
    return directions.told((value.metric for value in outcome.values), family)
