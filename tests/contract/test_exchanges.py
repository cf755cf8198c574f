"""Rules and flows that are exchanged while frames pass: by the real nftables and the real Open vSwitch."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from tests.contract.deploying import bed_in
from tests.contract.paths_support import traces
from tests.needs import needs_cni, needs_vswitch

from bmwg.drivers import registry
from bmwg.drivers.function import tables
from bmwg.drivers.ports import interfaces
from bmwg.drivers.workload.exchanges import Exchanges, FilterExchanges, FlowExchanges
from bmwg.drivers.workload.of_acts import Ground
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.kinds.acts.records import (
    AGAIN,
    ATOMIC,
    BEFORE_LOSS,
    FLUSH_FIRST,
    HALF_LOAD,
    STOPPED,
    TABLE_FLUSHED,
    TABLE_LOADED,
    TABLE_LOADING,
    ActsResult,
    ActsSpec,
)
from bmwg.methodology.records import Validity

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(tables.missing() is not None, reason="needs apt-get install nftables"),
]
NO_SWITCH = needs_vswitch
NO_PLUGINS = needs_cni
PLAN = profile.PROFILES.load("exchanges").plan()
ON = [
    pytest.param("node", id="rules-of-a-node"),
    pytest.param("pvp", id="rules-of-a-pod", marks=[NO_PLUGINS, pytest.mark.slow]),
    pytest.param("switch", id="flows-of-a-switch", marks=[NO_SWITCH, pytest.mark.slow]),
]
GAP_S = 0.3
LATE_S = 0.8


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    with bed_in(tmp_path_factory.mktemp("run")) as made:
        yield made


def names(bed) -> dict[str, set[str]]:
    return {node: {one["name"] for one in bed.node(node).call(interfaces.listing)} for node in bed.nodes}


@pytest.fixture
def exchanged(bed):
    """Run one execution; nothing of it may be left on any node."""

    def run(path: str, spec: ActsSpec, lies: bool = False) -> ActsResult:
        planned = next(one for one in PLAN if one.cell.path == path)
        ground = Ground(bed=bed, cell=profile.of_frames(replace(planned, spec=spec)))
        workload = registry.workload(spec.workload, kind=ACTS.name)(ground)
        assert workload.probe() is None
        before = names(bed), traces(bed.run_dir, bed.token)
        workload.attach((ground,))
        found = workload.run(spec)
        workload.detach()
        assert (names(bed), traces(bed.run_dir, bed.token)) == before
        print(path, spec.mode, spec.beside, found.faults)
        for life in found.lives:
            told = {name: round((at - life.asked_ns) / 1e6, 2) for name, at in life.steps.items()}
            print(life.start_ns, told, "lost", life.lost_frames, "outage", life.outage_ns, dict(life.told))
        assert lies or contradictions(spec, found) == ()
        return found

    return run


def asked(path: str, mode: str = ATOMIC, beside: str = "", **changes) -> ActsSpec:
    spec = next(o.spec for o in PLAN if (o.cell.path, o.spec.mode, o.spec.beside) == (path, mode, beside))
    return replace(spec, number=1, **changes)


def require_whole(found: ActsResult, spec: ActsSpec) -> None:
    assert found.faults == ()
    # on a machine that took the runner's CPU away frames were not offered all the time: said, no wrong time
    assert ACTS.assessed(spec, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    assert len(found.lives) == spec.cycles
    for life in found.lives:
        assert life.steps[TABLE_LOADING] < life.steps[TABLE_LOADED]
        assert life.bypassed_frames == 0
        # on each side the rules that stood counted what the tester saw, and no others did
        assert life.told["before_rule_frames"] == life.told["before_came_frames"] > 0
        assert life.told["after_rule_frames"] == life.told["after_came_frames"] > 0
        assert life.told["wrong_rule_frames"] == 0


@pytest.mark.parametrize("path", ON)
def test_an_exchange_as_one_drops_nothing_and_its_counts_are_those_of_the_tester(exchanged, path) -> None:
    spec = asked(path, cycles=1 if path == "node" else 2)
    found = exchanged(path, spec)
    require_whole(found, spec)
    for life in found.lives:
        assert life.told.get("stopped_frames", 0) == 0
        if not life.lost_frames:
            assert life.told["counted_frames"] == life.told["sent_frames"]


def test_rules_that_take_hold_long_after_they_are_confirmed_have_their_first_frame_then(
    exchanged, monkeypatch
) -> None:
    """Frames were steady by the old ones, and were counted until that: the first by the new ones was late."""
    real = FilterExchanges.exchange
    later: list[threading.Timer] = []

    def exchange(self, place, *, entries, mark, flush_first):
        def loaded():
            return real(self, place, entries=entries, mark=mark, flush_first=flush_first)

        if not later:  # the rules that stand at first
            later.append(threading.Timer(0.0, lambda: None))
            return loaded()
        now_ns = time.monotonic_ns()
        later.append(threading.Timer(LATE_S, loaded))
        later[-1].start()
        return {TABLE_LOADING: now_ns, TABLE_LOADED: now_ns + 1}

    monkeypatch.setattr(FilterExchanges, "exchange", exchange)
    (life,) = exchanged("node", asked("node", cycles=1), lies=True).lives
    later[-1].join()
    assert life.start_ns is not None
    assert life.start_ns > LATE_S * 1e9
    assert life.told["stale_frames"] > 0


@pytest.mark.parametrize("path", ON)
def test_a_known_gap_between_two_steps_is_the_outage_and_its_frames_are_those_that_were_dropped(
    exchanged, monkeypatch, path
) -> None:
    monkeypatch.setattr(Exchanges, "wait_s", GAP_S)
    spec = asked(path, FLUSH_FIRST, cycles=1 if path == "node" else 2)
    found = exchanged(path, spec)
    require_whole(found, spec)
    for life in found.lives:
        gap_ns = life.steps[TABLE_LOADING] - life.steps[TABLE_FLUSHED]
        assert gap_ns >= GAP_S * 1e9
        # it ends after the gap, and begins before it: by flows, whose switch confirms first, within it
        lag_ns = max(0, life.steps[BEFORE_LOSS] - life.steps[TABLE_FLUSHED])
        assert path == "switch" or lag_ns == 0
        assert life.steps[AGAIN] >= life.steps[TABLE_LOADING] > life.steps[BEFORE_LOSS]
        assert life.outage_ns + lag_ns >= gap_ns - (life.steps[STOPPED] - life.steps[BEFORE_LOSS])
        assert life.lost_frames > 0
        if path != "switch":  # Open vSwitch gives what it has not counted yet to the flow that drops
            assert 0 < life.told["stopped_frames"] <= life.lost_frames
            assert life.told["came_when_flushed_frames"] == 0


@pytest.fixture
def refused(monkeypatch):
    """All configurations but the first have a mark that no frame can have: the real function refuses it."""
    made = []
    for kind in (FilterExchanges, FlowExchanges):

        def exchange(self, place, *, entries, mark, flush_first, real=kind.exchange):
            made.append(mark)
            mark = mark if len(made) == 1 else 99
            return real(self, place, entries=entries, mark=mark, flush_first=flush_first)

        monkeypatch.setattr(kind, "exchange", exchange)


@pytest.mark.slow
@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("path", [ON[0], ON[2]])
def test_what_is_refused_leaves_the_old_configuration_and_is_named(exchanged, path) -> None:
    found = exchanged(path, asked(path))
    (fault,) = found.faults
    assert ("VSW-03" if path == "switch" else "FUNC-02") in fault
    assert "frames were lost meanwhile, all come again" in fault
    assert found.lives == ()


@pytest.mark.slow
@pytest.mark.usefixtures("refused")
def test_rules_that_are_flushed_and_not_loaded_again_are_said_to_stop_all(exchanged) -> None:
    (fault,) = exchanged("node", asked("node", FLUSH_FIRST, first_frame_s=3.0)).faults
    assert "FUNC-02" in fault
    assert "they do not come again" in fault


@pytest.mark.slow
def test_a_function_that_goes_on_by_the_old_rules_is_never_in_force(exchanged, monkeypatch) -> None:
    real, made = FilterExchanges.exchange, []

    def exchange(self, place, *, entries, mark, flush_first):
        made.append(mark)
        if len(made) > 1:  # it says that it did, and did not
            now = time.monotonic_ns()
            return {TABLE_LOADING: now, TABLE_LOADED: now}
        return real(self, place, entries=entries, mark=mark, flush_first=flush_first)

    monkeypatch.setattr(FilterExchanges, "exchange", exchange)
    spec = asked("node", cycles=1, first_frame_s=3.0)
    found = exchanged("node", spec, lies=True)
    judged = ACTS.assessed(spec, found)
    assert judged.validity is Validity.INCONSISTENT
    assert "frames were counted by another configuration than stood" in judged.reason


@pytest.mark.slow
def test_a_load_beside_passes_by_the_same_rules(exchanged) -> None:
    spec = asked("node", ATOMIC, HALF_LOAD)
    found = exchanged("node", spec)
    assert found.faults == ()
    for life in found.lives:
        assert life.told["beside_fps"] == life.told["carried_fps"] // 2
        assert life.told["sent_frames"] > life.offered_frames
        assert life.told["wrong_rule_frames"] == 0
