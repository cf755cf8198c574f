"""Pods in guests: what the cells, the clock, the isolation and the report make of them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from bmwg.drivers.api.protocols import BetweenPods, PodEnd
from bmwg.drivers.machines import guest_views
from bmwg.drivers.machines.guest_clock import Reading, wrong
from bmwg.drivers.paths.bed_guests import Guests
from bmwg.drivers.places.guest_hosts import GuestHost
from bmwg.drivers.platform_record.nested import nested
from bmwg.drivers.watch import isolation
from bmwg.methodology.cells.vnics import AXIS, KINDS
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Crossing, StreamsResult
from bmwg.methodology.records import NOTHING, POD
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.kinds.streams import section
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.sections.guest import OF_PODS, guest_sentence, guest_words
from bmwg.resources.kinds.streams.bench import _place, between_looks

PROFILE = profile.PROFILES.load("vm-pods")
TCP = [one for one in PROFILE.plan() if one.test_id in ("PP-TCP-1", "PP-TCP-7") and one.spec.way == "forward"]


def test_the_kind_of_vnic_is_an_axis_of_cells_in_guests_and_of_no_other():
    told = {one.cell.path: dict(one.cell.axes).get(AXIS) for one in PROFILE.plan()}
    in_guests = ("bmp2vmp", "vmp2vmp", "bmp2vmp-remote", "vmp2vmp-remote", "bmp2vmp-vxlan", "vmp2vmp-vxlan")
    assert told == {"p2p": None} | dict.fromkeys(in_guests, "virtio")
    assert {dict(one.cell.axes)[AXIS] for one in TCP if one.cell.path == "bmp2vmp"} == set(KINDS)
    for one in PROFILE.plan():
        cell = one.cell
        axes = {"path": cell.path, "hosting": POD, "function": NOTHING, "network": cell.network}
        assert STREAMS.cell({**axes, "axes": dict(cell.axes)}) == cell
    with pytest.raises(ValueError, match="axes"):
        STREAMS.cell({**axes, "axes": {name: value for name, value in cell.axes if name != AXIS}})


def test_guests_with_another_vnic_are_another_deployment():
    places = [_place(one) for one in PROFILE.plan()]
    assert places == sorted(places, key=places.index)
    assert len({place for place in places if place[0] == "bmp2vmp"}) == len(KINDS) + 1


def reading(inside_s: float, outside_s: float) -> Reading:
    return Reading(source="tsc", inside_ns=int(inside_s * 1e9), before_s=outside_s, after_s=outside_s + 0.01)


def test_an_execution_by_a_clock_that_was_wrong_is_a_fault():
    """The guest's clock counts half of the seconds between two looks."""
    assert wrong(reading(0, 0), reading(3, 3)) is None
    assert wrong(reading(0, 0), reading(2.9, 3)) is not None
    counts = iter((0, 0))
    agent = {"pid": 1, "start_ticks": 1}

    def called(function, *_, **__):
        return agent if "process" in function else {"source": "tsc", "monotonic_ns": next(counts)}

    nic = SimpleNamespace(interface="eth0")
    host = SimpleNamespace(place={}, machine=None)
    machine = SimpleNamespace(name="vm0", endpoints=(nic,), call_named=called, describe=dict)
    guest = GuestHost(machine, host, pod_cpus="0")
    pod = SimpleNamespace(node=guest)
    end = PodEnd(pod=pod, interface="net0", address="198.18.0.2")
    native = replace(end, pod=SimpleNamespace(node=SimpleNamespace(name="dut1")))

    def run(spec):
        import time

        time.sleep(0.05)
        return StreamsResult(process_ns=1)

    between = BetweenPods(ends=(native, end), crossed=(), evidence={})
    found = between_looks(between, SimpleNamespace(run=run))(TCP[0].spec)
    assert found.faults
    assert "clock of vm0" in found.faults[0]
    alone = BetweenPods(ends=(native, native), crossed=(), evidence={})
    assert between_looks(alone, SimpleNamespace(run=run))(TCP[0].spec).faults == ()


class _Place(SimpleNamespace):
    """A node or guest with one interface that a machine has."""

    def call(self, function, *, pids):
        self.asked = pids
        told = {"device": True, "bus_address": "virtio1", "nic_address": "", "kind": "", "elsewhere": False}
        return [{"name": self.nic, **told}] if self.nic else []


def bed_of(nic: str):
    guests = Guests()
    node = _Place(name="dut1", pid=7, nic="", machine="this one")
    guest = _Place(name="vm0", pid=1, nic="eth0")
    bed = SimpleNamespace(
        guests=guests,
        nodes=("dut1", "vm0"),
        host={"dut1": node, "vm0": guest}.get,
        node={"dut1": node}.get,
        hosts={},
        pods={},
        testbed=SimpleNamespace(lab_ports=(), links=()),
    )
    return bed, guests.known(guest, nic=nic, host="dut1"), node, guest


def test_a_guests_own_nic_does_not_lead_out_and_any_other_device_does():
    bed, known, node, guest = bed_of("eth0")
    with known:
        isolation.require_closed(bed)
        assert (node.asked, guest.asked) == ([7], [1])  # each by the processes of its own kernel
    assert bed.guests.names == ()
    bed, known, *_ = bed_of("eth1")
    with known, pytest.raises(Exception, match="ISO-02"):
        isolation.require_closed(bed)


def test_a_checkout_below_tmp_is_shown_to_the_guest(monkeypatch):
    monkeypatch.setattr(guest_views, "__file__", "/tmp/here/drivers/machines/guest_views.py")
    assert guest_views.hidden() == {"/tmp/here": guest_views.TAG}
    monkeypatch.setattr(guest_views, "__file__", "/work/drivers/machines/guest_views.py")
    assert guest_views.hidden() == {}


MACHINE = {
    "hypervisor": "QEMU 7.2.22, TCG",
    "accelerator": "tcg",
    "cpus": 2,
    "memory_octets": 1 << 30,
    "guest_root": "the host's",
    "host": "dut1",
    "vnic": {"kind": "virtio", "interface": "eth0", "driver": "virtio_net", "other_end": "dut1/vm0"},
}


def test_the_record_of_the_host_names_each_machine_as_a_workload():
    told = nested("dut1", {"vm0": MACHINE})
    assert told["vm0"]["virtual_interfaces"]["eth0"]["type"] == "virtio"
    assert nested("dut2", {"vm0": MACHINE}) == {}


def answered(planned, rate: float) -> Answered:
    tried, results = [], []
    for number in range(1, planned.asked.wanted + 1):
        octets = int(rate * (1 + number / 1000))
        result = StreamsResult(
            sent_octets=octets,
            received_octets=octets,
            elapsed_ns=2_000_000_000,
            process_ns=3_100_000_000,
            wall_ns=3_200_000_000,
            crossings=(Crossing(at="vm0/eth0", octets=2 * octets, frames=octets // 1000),),
        )
        tried.append(STREAMS.tried(number, replace(planned.spec, number=number), result))
        results.append(result)
    return Answered(
        outcome=STREAMS.answered(planned, tried),
        planned=planned,
        results=tuple(results),
        deployment=planned.cell.path + str(dict(planned.cell.axes).get(AXIS, "")),
        by_number=dict(enumerate(results, 1)),
    )


@pytest.mark.parametrize(("accelerator", "compared"), [("tcg", 1), ("kvm", 2)])
def test_a_translated_machine_stands_beside_no_native_figure(accelerator, compared):
    answers = [answered(one, 1e8 / number) for number, one in enumerate(TCP[:3], 1)]
    assert [one.outcome.cell.path for one in answers] == ["p2p", "bmp2vmp", "bmp2vmp"]
    machines = {"vm0": {**MACHINE, "accelerator": accelerator}}
    run = SimpleNamespace(
        platform={
            "deployments": {
                "p2p": {},
                "bmp2vmpvirtio": {"machines": machines},
                "bmp2vmpe1000": {"machines": machines},
            },
            "records": {},
        }
    )
    text = restructured(section._compared(run, answers))
    assert text.count("* - bmp2vmp") == compared
    assert f"vNIC e1000, {accelerator.upper()}" in text
    layers = restructured(section.nested.lines(run, answers))
    assert "virtio (driver virtio_net)" in layers.replace("\\", "")


def test_a_report_says_first_that_pods_stood_in_translated_machines():
    run = SimpleNamespace(drivers=[{"name": OF_PODS, "provider": "qemu", "accelerator": "tcg"}])
    assert "never a rate" in guest_sentence(run)
    assert "under TCG" in guest_sentence(run)
    assert guest_words(run) == ""  # the run was made on the host: its native figures are no guest's
