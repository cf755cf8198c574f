"""The guard's judgement: stretches, deployments of one kind, and what is stored of each."""

from __future__ import annotations

import copy

import pytest
from tests.unit.resources.made_guard import CELL, Made, Written, fact, record

from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.errors import ConfigError, DriverError
from bmwg.methodology.record.drift import drift, named_drift, reason
from bmwg.methodology.records import Outcome, OutcomeType, TrialSpec
from bmwg.resources.kinds.frames import sampled
from bmwg.resources.run import platform


@pytest.fixture
def made(monkeypatch):
    return Made(monkeypatch)


def outcome(name="o"):
    return Outcome(
        outcome_id=name, metric="m", cell=CELL, type=OutcomeType.AT_FLOOR, trials=(1, 2), statement="below 9"
    )


def test_an_unchanged_stretch_stands_and_one_that_changed_is_invalid_by_name(made):
    with made.deployed("d-1"):
        assert made.guard.judged([outcome("a")]) == [outcome("a")]
        made.place.node["fields"]["nic"]["veth0a1b"]["offloads"] = fact({"rx-gro": "on"})
        (moved,) = made.guard.judged([outcome("b")])
        assert made.guard.judged([outcome("c")]) == [outcome("c")]  # on the new platform, which is recorded
    assert moved.type is OutcomeType.INVALID
    assert "dut1: nic/veth0a1b/offloads/rx-gro: off -> on" in moved.reason
    assert (moved.trials, moved.statement, moved.lower) == ((1, 2), "", None)
    assert [entry["outcomes"] for entry in made.written.data["drift"]] == [["b"]]
    assert moved.reason == reason(named_drift(made.written.data, "b"))


def test_all_outcomes_of_one_stretch_fall_together(made):
    with made.deployed("d-1"):
        made.place.machine["fields"]["kernel"]["settings"] = fact({"vm.swappiness": "1"})
        found = made.guard.judged([outcome("a"), outcome("b")])
    assert {one.type for one in found} == {OutcomeType.INVALID}
    assert "machine: kernel/settings/vm.swappiness: 60 -> 1" in found[1].reason


def test_what_changes_between_deployments_is_named_and_touches_no_answer(made):
    with made.deployed("d-1"):
        made.guard.judged([outcome("a")])
    made.place.machine["fields"]["kernel"]["settings"] = fact({"vm.swappiness": "1"})
    with made.deployed("d-2"):
        assert made.guard.judged([outcome("b")]) == [outcome("b")]
    (entry,) = made.written.data["drift"]
    assert (entry["deployment"], list(entry["outcomes"])) == (None, [])


def test_a_form_is_held_against_one_beside_which_the_same_forms_stood(made):
    """A guest that could not be made took its tap off the node: the native form is no other one for it."""
    tap = {"vm0": {"mac": fact("02:00:00:00:00:09"), "offloads": fact({"rx-gro": "off"})}}
    made.place.node["fields"]["nic"] |= tap
    with made.deployed("d-1", beside=["pod", "guest"]):
        assert made.guard.judged([outcome("a")]) == [outcome("a")]
    del made.place.node["fields"]["nic"]["vm0"]
    with made.deployed("d-2", beside=["pod"]):
        assert made.guard.judged([outcome("b")]) == [outcome("b")]
    with made.deployed("d-3", beside=["pod", "guest"]):
        (found,) = made.guard.judged([outcome("c")])
    assert "dut1: nic/vm0" in found.reason


def test_a_deployment_made_again_is_equal_whatever_names_were_drawn(made):
    with made.deployed("d-1"):
        pass
    made.place.again("veth9f9f", "02:00:00:00:00:09")
    made.name = "veth9f9f"
    with made.deployed("d-2"):
        assert made.guard.judged([outcome()]) == [outcome()]
    assert made.written.data["records"]["d-2"] == {"dut1": {"equal_to": "d-1"}}


def test_a_deployment_with_another_cni_option_invalidates_its_cells_by_that_name(made):
    with made.deployed("d-1"):
        pass
    made.place.node["fields"]["cni"]["configurations"] = fact(
        {"net0": {"plugins": [{"type": "bridge", "mtu": 1400}]}}
    )
    with made.deployed("d-2"):
        for name in ("a", "b"):  # every cell of it, not the first alone
            (moved,) = made.guard.judged([outcome(name)])
            assert "dut1: cni/configurations/net0/plugins/0/mtu: 1500 -> 1400" in moved.reason
    assert "fields" in made.written.data["records"]["d-2"]["dut1"]
    assert "is not what d-1 was" in made.told[-1]


def test_another_kind_is_not_held_against_the_first(made):
    with made.deployed("bridge-1"):
        pass
    made.place.node["fields"]["cni"]["configurations"] = fact({"net0": {"plugins": [{"type": "ptp"}]}})
    with made.deployed("ptp-2"):
        assert made.guard.judged([outcome()]) == [outcome()]


def test_a_continued_run_holds_its_deployments_against_those_before(made):
    with made.deployed("d-1"):
        pass
    evidence = {"drawn": {"veth0a1b": "(host end 0)"}}
    earlier = {**made.written.data, "deployments": {"d-1": evidence}}
    made.guard = platform.PlatformGuard(load_testbed(), Written(), made.told.append, None, earlier)
    made.place.again("veth9f9f", "02:00:00:00:00:09")
    made.name = "veth9f9f"
    made.place.node["fields"]["nic"]["veth9f9f"]["offloads"] = fact({"rx-gro": "on"})
    with made.deployed("d-2"):
        (moved,) = made.guard.judged([outcome()])
    assert "dut1: nic/(host end 0)/offloads/rx-gro: off -> on" in moved.reason


def test_a_place_that_is_gone_is_a_change(made, monkeypatch):
    with made.deployed("d-1"):
        monkeypatch.setattr(sampled.record_of, "take", lambda *given: {})
        (moved,) = made.guard.judged([outcome()])
    assert "dut1: record: there -> (absent)" in moved.reason


def test_trials_carry_what_the_host_did_beside_the_testers_counts(made):
    spec = TrialSpec(frame_octets=64, load_fps=1, duration_s=1)
    with made.deployed("d-1") as traffic:
        counts = dict(traffic.run(spec).auxiliary)
        assert [dict(traffic.run(spec).auxiliary)["tester.trial"] for _ in range(2)] == [2, 3]
    assert {"a", "z", "host.steal_ns", "host.softirq_ns", "host.foreign_frames"} <= counts.keys()
    assert list(counts) == sorted(counts)
    with made.deployed("d-2") as traffic:
        assert dict(traffic.run(spec).auxiliary)["tester.trial"] == 1


def test_the_doctor_looks_once_a_suite(made):
    for suite in ("one", "two", "one"):
        made.guard.begin_suite(suite)
    assert [look["suite"] for look in made.written.data["doctor"]] == ["one", "two"]


def test_outside_a_deployment_nothing_is_judged(made):
    assert made.guard.judged([outcome()]) == [outcome()]


def test_what_a_person_declares_completes_each_record_of_a_run(monkeypatch, tmp_path):
    measured = {"host": {"hostname": fact("h")}, "bios": {"version": fact("2")}}
    bare = {**record(**measured), "scope": "machine"}
    monkeypatch.setattr(platform, "collect", lambda: copy.deepcopy(bare))
    overlay = tmp_path / "o.yaml"
    overlay.write_text("schema: overlay/1.0\ndeclared_by: A. Tester\nfacts:\n  bios/changes: [SNC off]\n")
    before = platform.machine_record(overlay)
    assert before["fields"]["bios"]["changes"]["value"] == ["SNC off"]
    after = platform.machine_record(None, before)
    assert drift(before, after) == ()
    bare["fields"]["bios"]["changes"] = fact([])  # now measured, and not what was declared
    changed = drift(before, platform.machine_record(None, before))
    assert [change.path for change in changed] == ["bios/changes"]
    overlay.write_text(overlay.read_text() + "  bios/version: '3'\n")
    with pytest.raises(ConfigError, match="REC-06"):
        platform.machine_record(overlay)
    with pytest.raises(ConfigError, match="REC-08"):
        platform.machine_record(tmp_path / "none.yaml")


def nodes(made):
    """What records the nodes of a deployment in a test."""
    return lambda: {"dut1": copy.deepcopy(made.place.node)}


def swappiness(text):
    return fact({"vm.swappiness": text})


def test_a_cell_that_goes_on_on_another_deployment_answers_for_the_machine_between(made):
    evidence = {"drawn": {made.name: "(host end 0)"}}
    with made.guard.watched("d-1", evidence, nodes(made)):
        made.place.machine["fields"]["kernel"]["settings"] = swappiness("1")
    with made.guard.watched("d-2", evidence, nodes(made), goes_on=True):
        assert [str(change) for change in made.guard.changed(["a"])] == [
            "machine: kernel/settings/vm.swappiness: 60 -> 1"
        ]
        assert made.guard.changed(["b"]) == ()  # it began after that
    assert [entry["outcomes"] for entry in made.written.data["drift"]] == [["a"]]


class BrokenError(Exception):
    """A deployment broke."""


def broken(guard, deployment_id, evidence, take, act):
    def watched():
        with guard.watched(deployment_id, evidence, take):
            act()
            raise BrokenError

    with pytest.raises(BrokenError):
        watched()


def test_of_a_deployment_that_broke_machine_and_nodes_are_looked_at(made):
    guard = platform.PlatformGuard(None, made.written, made.told.append, staying=["nic0"])
    evidence = {"drawn": {made.name: "(host end 0)"}}

    def act():
        made.place.machine["fields"]["kernel"]["settings"] = swappiness("1")
        made.place.node["fields"]["kernel"] = {"settings": swappiness("2")}

    made.place.node["fields"]["kernel"] = {"settings": swappiness("60")}
    broken(guard, "d-1", evidence, nodes(made), act)
    assert [str(change) for change in guard.changed_after_break(["a"])] == [
        "dut1: kernel/settings/vm.swappiness: 60 -> 2",
        "machine: kernel/settings/vm.swappiness: 60 -> 1",
    ]
    assert guard.changed_after_break(["b"]) == ()
    assert [entry["outcomes"] for entry in made.written.data["drift"]] == [["a"]]


@pytest.mark.parametrize("goes_on", [True, False])
def test_what_a_deployment_was_not_stays_with_the_cell_that_it_broke_under(made, goes_on):
    evidence = {"drawn": {made.name: "(host end 0)"}}
    with made.guard.watched("d-1", evidence, nodes(made)):
        assert made.guard.changed(["a"]) == ()
    made.place.node["fields"]["nic"][made.name]["offloads"] = fact({"rx-gro": "on"})

    def put_back():
        made.place.node["fields"]["nic"][made.name]["offloads"] = fact({"rx-gro": "off"})

    broken(made.guard, "d-2", evidence, nodes(made), put_back)
    with made.guard.watched("d-3", evidence, nodes(made), goes_on=goes_on):
        found = made.guard.changed(["b"])
    assert any("rx-gro: off -> on" in str(change) for change in found) is goes_on


def test_on_nodes_that_stay_what_changes_between_deployments_is_told(made):
    guard = platform.PlatformGuard(None, made.written, made.told.append, staying=["nic0"])
    made.place.node["fields"]["kernel"] = {"settings": swappiness("60")}
    made.place.node["fields"]["datapath"] = {"routes": fact([])}
    made.place.node["fields"]["nic"] |= {
        "nic0": {"mtu_octets": fact(1500), "master": fact(None)},
        "br0": {"offloads": fact({"tx-gso-robust": "off"})},
    }
    evidence = {"drawn": {made.name: "(host end 0)"}}
    with guard.watched("a-1", evidence, nodes(made)):
        guard.changed(["a"])
    made.place.node["fields"]["kernel"] = {"settings": swappiness("1")}
    made.place.node["fields"]["datapath"] = {"routes": fact(["of the second"])}
    made.place.node["fields"]["nic"] |= {
        "nic0": {"mtu_octets": fact(1400), "master": fact("br0")},
        "br0": {"offloads": fact({"tx-gso-robust": "on"})},
    }
    with guard.watched("b-2", evidence, nodes(made)):
        assert guard.changed(["b"]) == ()
    ((entry),) = made.written.data["drift"]
    assert entry["outcomes"] == ()
    assert [change["path"] for change in entry["changes"]] == [
        "dut1: kernel/settings/vm.swappiness",
        "dut1: nic/nic0/mtu_octets",
    ]
    assert any("between two deployments" in text for text in made.told)
    del made.place.node["fields"]["nic"]["nic0"]  # a plugin took it into the pod
    with guard.watched("c-3", evidence, nodes(made)):
        pass
    assert len(made.written.data["drift"]) == 1


def docker(version="20.10", **image):
    images = {"squid": {"image": "sha256:1", "packages": {"squid": "5.7"}} | image}
    hosting = {"form": "docker_nat", "daemon": {"docker": version}, "images": images}
    return {"hosting": hosting}


def test_names_that_a_container_daemon_draws_are_parts_too(made):
    def took(name):
        node = record(nic={"interfaces": fact(["nic0", name]), name: {"up": fact(True)}})
        return {"proxy": node}

    with made.guard.watched("f-1", docker(), lambda: took("veth12ab34f")):
        pass
    with made.guard.watched("f-2", docker(image="sha256:2"), lambda: took("veth98cd76e")):
        assert made.guard.changed(["a"]) == ()


def test_another_version_of_a_forms_daemon_is_drift_in_all_kinds_of_it(made):
    with made.guard.watched("docker_nat-1-plain-1", docker(), nodes(made)):
        assert made.guard.changed(["a"]) == ()
    with made.guard.watched("docker_nat-1-cache-2", docker("27.1"), nodes(made)):
        assert [str(change) for change in made.guard.changed(["b"])] == [
            "hosting: daemon/docker: 20.10 -> 27.1"
        ]
    asked_nothing = {"hosting": {"form": "docker_nat", "daemon": None, "images": {}}}
    with made.guard.watched("docker_nat-start-3", asked_nothing, nodes(made)):
        assert made.guard.changed(["c"]) == ()


def test_what_other_nodes_were_is_nothing_to_hold_new_ones_against(made):
    guard = platform.PlatformGuard(None, made.written, made.told.append, staying=["nic0"])
    made.place.node["fields"]["kernel"] = {"settings": swappiness("60")}
    with guard.watched("docker_nat-1-plain-1", docker(), nodes(made)):
        pass
    made.place.node["fields"]["kernel"] = {"settings": swappiness("1")}  # the daemon's doing, on its nodes
    guard.forget_nodes()
    with guard.watched("native-1-plain-2", {"hosting": {"form": "native"}}, nodes(made)):
        assert guard.changed(["a"]) == ()
    assert made.written.data["drift"] == []


def test_nodes_that_are_lost_with_their_deployment_are_a_change_of_the_cell_that_goes_on(made):
    guard = platform.PlatformGuard(None, made.written, made.told.append, staying=["nic0"])
    lost = []

    def take():
        if lost:
            raise DriverError("NODE-03", "node proxy is broken")
        return nodes(made)()

    broken(guard, "d-1", {}, take, lambda: lost.append(True))
    lost.clear()
    guard.forget_nodes()
    with guard.watched("d-2", {}, take, goes_on=True):
        assert [str(change) for change in guard.changed(["a"])] == ["nodes: record: there -> (lost)"]


def test_a_run_that_goes_on_holds_its_forms_against_those_of_its_first_part(made):
    with made.guard.watched("docker_nat-1-plain-1", docker(), nodes(made)):
        pass
    earlier = {"deployments": {"docker_nat-1-plain-1": docker()}, "records": made.written.data["records"]}
    guard = platform.PlatformGuard(None, Written(), made.told.append, earlier=earlier, staying=["nic0"])
    with guard.watched("docker_nat-1-plain-2", docker("27.1"), nodes(made), goes_on=True):
        assert [change.path for change in guard.changed(["a"])] == ["hosting: daemon/docker"]


def test_interfaces_of_a_users_cluster_are_told_of_once_and_recorded_each_time(made):
    """They come and go with the pods that the cluster makes for the run, on the machine that is watched."""
    pods = {"pod": {"own_network": {"interfaces": ["eth0"], "state": "down while it is measured"}}}
    machine = made.place.machine["fields"]

    def cluster_has(name, **others):
        bridge = {"mac": fact(f"02:00:00:00:00:{name[-2:]}")}
        machine["nic"] = {"interfaces": fact(["cni0", name]), "cni0": bridge, name: {"up": fact(True)}}
        machine["datapath"] = {"bridges": fact({"cni0": [name]}), "routes": fact([{"interface": name}])}
        machine["kernel"]["settings"] = fact({"vm.swappiness": "60", **others})

    def deployed(name, evidence, *, goes_on=False):
        with made.guard.watched(name, evidence, nodes(made), goes_on=goes_on):
            return made.guard.changed([name])

    cluster_has("veth000001")
    deployed("d-1", pods)
    for number in (2, 3):
        cluster_has(f"veth00000{number}")
        assert deployed(f"d-{number}", pods, goes_on=number == 3) == ()  # a cell that goes on stands, too
    told = [text for text in made.told if "between two deployments" in text]
    assert len(told) == 1
    assert "(cni0, veth000001, veth000002)" in told[0]
    assert [entry["outcomes"] for entry in made.written.data["drift"]] == [(), ()]
    cluster_has("veth000004", **{"vm.swappiness": "1"})
    deployed("e-4", {})  # its pod went with the deployment before
    assert made.told[-1] == "between two deployments: machine: kernel/settings/vm.swappiness: 60 -> 1"
    cluster_has("veth000005", **{"vm.swappiness": "1"})
    deployed("e-5", {})
    assert "veth000005" in made.told[-1]  # no pod of the cluster's was there: it is somebody else's
