"""Modifiers and resets on deployed paths, with packets: each shows itself at work and leaves nothing."""

import time

import pytest
from tests.contract.deploying import bed_in

from bmwg.drivers.actuators.acting import ActingTraffic
from bmwg.drivers.actuators.place import Place
from bmwg.drivers.paths import path_driver
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.workload import daemons, filters, modifiers
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Cell, Direction, TrialSpec
from bmwg.methodology.trial.appendix_c import differing

NODE = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
POD = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64)
EVIDENCE = {
    "filters-1": "modifier.matched_frames",
    "filters-25": "modifier.matched_frames",
    "management": "modifier.answered_frames",
    "route-updates": "modifier.learnt_routes",
}

pytestmark = [pytest.mark.quiet, pytest.mark.root]


def spec(**changes):
    return TrialSpec(**({"frame_octets": 64, "load_fps": 5_000, "duration_s": 0.3} | changes))


@pytest.fixture(scope="module", params=[NODE, POD], ids=["node", "pod"])
def deployed(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("modifiers")
    with (
        bed_in(folder) as bed,
        path_driver(request.param, bed).deploy() as deployment,
        EmbeddedTraffic.for_testbed(bed.testbed, folder, 0.1) as tester,
    ):
        place = Place(cell=request.param, bed=bed)
        with ActingTraffic(tester, place) as acting:
            tester.attach(deployment.ports)
            yield acting, place
            tester.detach()


def seen(acting, wanted, evidence, within_s=30.0):
    """The evidence in the first trial that shows some; a daemon needs a moment, on a busy machine more."""
    end_s = time.monotonic() + within_s
    while True:
        result = acting.run(wanted)
        counts = dict(result.auxiliary)
        if counts.get(evidence) or time.monotonic() > end_s:
            return result, counts


def whole(acting, wanted, evidence, within_s=30.0):
    """The same in the first trial of which no frame was lost: one lost in a device queue met no filter."""
    end_s = time.monotonic() + within_s
    while True:
        result, counts = seen(acting, wanted, evidence, within_s)
        if not result.lost_frames or time.monotonic() > end_s:
            return result, counts


@pytest.mark.parametrize("name", EVIDENCE)
def test_a_modifier_is_at_work_and_goes_again(deployed, name):
    acting, place = deployed
    if lack := modifiers.programs_missing(name=name):
        pytest.skip(f"lacks {lack['what']}: {lack['mend']}")
    found = whole if name in modifiers.FILTERS else seen
    result, counts = found(acting, spec(modifier=name), EVIDENCE[name])
    assert counts[EVIDENCE[name]] > 0
    if name in modifiers.FILTERS:
        assert counts[EVIDENCE[name]] == result.streams[0].sent_frames
        assert counts["modifier.filtered_frames"] == 0
    if name in (modifiers.MANAGEMENT, modifiers.ROUTES):
        assert counts["modifier.first_after_frames"] >= 0  # of a tester inside the kernel a few may lead
    if name == modifiers.MANAGEMENT:
        assert counts["modifier.verified_frames"] == counts["modifier.answered_frames"]
        assert counts["modifier.wrong_frames"] == 0
    acting.run(spec())
    assert place.router(filters.remove) is False
    assert place.router(daemons.learnt_routes) == 0


def test_broadcast_frames_go_beside_the_test_frames(deployed):
    acting, _ = deployed
    result, counts = seen(acting, spec(broadcast_every=99), "forward.broadcast_sent_frames")
    stream = result.streams[0]
    assert counts["forward.broadcast_sent_frames"] == stream.sent_frames // 99
    assert counts["forward.broadcast_received_frames"] == 0  # a router floods none
    assert counts["forward.broadcast_least_between_frames"] == 99
    assert counts["forward.broadcast_most_between_frames"] == 99
    assert stream.received_frames <= stream.sent_frames
    assert stream.foreign_frames == 0


def test_filters_are_those_of_the_trial_whichever_cell_was_deployed(deployed):
    acting, _ = deployed
    if lack := modifiers.programs_missing(name="filters-25"):
        pytest.skip(f"lacks {lack['what']}: {lack['mend']}")
    for direction in ("forward", "reverse", "both"):
        wanted = spec(modifier="filters-25", direction=Direction(direction))
        result, counts = whole(acting, wanted, EVIDENCE["filters-25"])
        assert counts["modifier.filtered_frames"] == 0
        assert counts["modifier.matched_frames"] == sum(stream.sent_frames for stream in result.streams)


def test_the_tester_tells_its_frame_and_how_it_differs_from_appendix_c(deployed):
    acting, _ = deployed
    told = acting._traffic.describe()["test_frame"]
    assert differing(told["octets"], tuple(told["signature"])) == [
        "time to live",
        "UDP checksum",
        "increasing data",
    ]


def test_a_reset_is_timed_by_its_act(deployed):
    acting, place = deployed
    kind = "link" if place.pod is None else "vswitch"
    result = acting.run(spec(act=kind, act_at_s=0.1, duration_s=0.9, loss_times=True))
    counts = dict(result.auxiliary)
    assert counts["act.ended_ns"] > counts["act.began_ns"]
    assert result.lost_frames > 0
    assert result.streams[0].losses.runs >= 1


def test_what_a_path_cannot_do_is_refused_by_name(deployed):
    acting, _ = deployed
    with pytest.raises(ConfigError, match="did you mean 'link'"):
        acting.run(spec(act="lnk", act_at_s=0.1))
    with pytest.raises(ConfigError, match="ACT-02"):
        acting.run(spec(modifier="jumbo"))


def test_a_missing_package_is_said_with_its_line(monkeypatch):
    monkeypatch.setattr(filters.shutil, "which", lambda *_, **__: None)
    assert filters.missing().mend == "apt-get install nftables"
    assert daemons.missing("snmpd", "snmpd").mend == "apt-get install snmpd"
