"""Catalogue, profiles and plan."""

import dataclasses
from itertools import pairwise

import pytest
import yaml

from bmwg.drivers import registry
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology import suites
from bmwg.methodology.answers import latency, throughput
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.measurements.throughput import bisection_trials
from bmwg.methodology.plan.planning import Networks, cells, duration_s, traffic_s
from bmwg.methodology.profiles import builtin_names, load_profile, parse_profile
from bmwg.methodology.records import Direction, OutcomeType
from bmwg.methodology.requirements.rows import Basis, Level, catalogue, requirement
from bmwg.methodology.search.bisection import search
from bmwg.methodology.trial.judging import Learning

NETWORKS = {"bridge": None, "ptp": None, "macvlan": None, "host-device": None}


def text_of(name):
    from importlib import resources

    return (resources.files("bmwg.methodology.profiles") / f"{name}.yaml").read_text()


def test_the_catalogue_holds_each_row_once():
    rows = catalogue()
    assert len(rows) == 888
    assert {row.document for row in rows.values()} >= {"RFC2544", "RFC8172", "RFC8204", "RFC9971", "CINF08"}
    assert rows["RFC2544-26.2-06"].level is Level.MUST
    assert rows["RFC2544-24-01"].level is Level.SHOULD
    assert all(row.basis is not Basis.MEMORY for row in rows.values() if row.document == "RFC2544")


def test_an_unknown_requirement_gets_a_near_one():
    with pytest.raises(ConfigError, match=r"^CAT-03 ") as caught:
        requirement("RFC2544-26.1-1")
    assert "RFC2544-26.1-" in caught.value.hint


def test_ids_named_in_code_exist():
    assert {
        *throughput.REQUIREMENTS,
        *latency.REQUIREMENTS,
        "RFC8172-3.4-02",
        "RFC2544-B",
    } <= catalogue().keys()


@pytest.mark.parametrize("name", builtin_names())
def test_each_profile_loads_and_its_deviations_exist(name):
    profile = load_profile(name)
    assert profile.name == name
    assert {deviation.requirement for deviation in profile.deviations} <= catalogue().keys()
    assert len({deviation.requirement for deviation in profile.deviations}) == len(profile.deviations)


def test_no_profile_sets_stalls_aside_or_shortens_trials_undeclared():
    for name in builtin_names():
        profile = load_profile(name)
        declared = {deviation.requirement for deviation in profile.deviations}
        if profile.policy.set_aside_host_stalls:
            assert profile.indicative
            assert "RFC2544-4" in declared
        if profile.trial_duration_s < 60:
            assert {"RFC2544-24-01", "RFC2544-24-03"} <= declared
            assert profile.indicative
        if profile.policy.drain_s < 2:
            assert "RFC2544-23-04" in declared
        if profile.policy.restabilize_s < 5:
            assert "RFC2544-23-05" in declared
        if profile.latency.duration_s < 120:
            assert "RFC2544-26.2-02" in declared


def test_the_quick_plan_covers_what_it_promises_in_its_time():
    planned = cells(load_profile("quick"), NETWORKS)
    tput = [one.cell for one in planned if one.measurement == "throughput" and not one.part]
    assert len(tput) == 26
    assert [cell.frame_octets for cell in tput if cell.path in ("wire", "node")] == [64, 512, 1518] * 2
    assert sorted(c.network for c in tput if c.path == "pvp" and c.frame_octets == 64) == [
        "af-xdp",
        "bridge",
        "bridge",
        "ebpf-tc",
        "host-device",
        "macvlan",
        "ovs-dpdk",
        "ptp",
    ]
    on_two = {"p2p-underlay", "p2p-vxlan", "p2p-cluster"}
    assert {cell.path for cell in tput} == {"wire", "node", "pvp", "chain", "p2p", "p2p-service"} | on_two
    chains = [cell.axes for cell in tput if cell.path == "chain"]
    assert chains == [(("chain", "a>b"),), (("chain", "a>b>c"),)]
    at_64 = [one.cell for one in planned if one.metric == latency.METRIC]
    assert at_64 == [cell for cell in tput if cell.frame_octets == 64]
    assert 90 <= traffic_s(planned) <= 260
    assert duration_s(planned) <= 1.3 * traffic_s(planned)


def test_the_plan_counts_each_stream_of_latency():
    profile = load_profile("quick")
    each = [one for one in cells(profile, NETWORKS) if one.metric == latency.METRIC and one.traffic_s]
    repeated = 1 / (1 - profile.expected_invalid_ratio)
    one_s = repeated * profile.latency.streams * profile.latency.duration_s
    assert {one.cell.qualifies_tester for one in each} == {True, False}
    for one in each:  # the tester's own is taken at two loads more
        assert one.traffic_s == pytest.approx(one_s * (3 if one.cell.qualifies_tester else 1))


def test_what_may_be_lost_at_a_load_is_what_its_search_allows():
    assert load_profile("rfc2544").may_lose() == latency.MayLose(loss_ratio=0.0, share=0.0)
    assert load_profile("low-rate").may_lose().share in (0.25, 0.5)
    assert load_profile("tst009").may_lose().share == 0.5  # two trials at a load
    goal = load_profile("rfc9971").search.goals[0]
    found = load_profile("rfc9971").may_lose()
    assert (found.loss_ratio, found.share) == (goal.goal_loss_ratio, goal.goal_exceed_ratio)


def test_the_plan_is_ordered_unique_and_deploys_once():
    planned = cells(load_profile("quick"), NETWORKS)
    ids = [one.outcome_id for one in planned]
    assert len(set(ids)) == len(ids)
    assert planned[0].cell.path == "wire"
    groups = [one.deployment for one in planned]
    changes = [b for a, b in zip([None, *groups], groups, strict=False) if a != b]
    assert len(changes) == len(set(groups))
    assert planned == cells(load_profile("quick"), dict(NETWORKS))
    for before, after in pairwise(planned):
        if after.metric == latency.METRIC:
            assert before.measurement == "throughput"
            assert before.cell == after.cell


def test_networks_of_the_testbed_file_join_and_missing_ones_are_named():
    networks = {network.name: network.vlan_id for network in load_testbed().networks}
    planned = cells(load_profile("quick"), {**networks, "vendor": None})
    by_network = {one.cell.network: one.cell for one in planned if one.measurement == "throughput"}
    assert by_network["vendor"].path == "pvp"
    assert by_network["vlan"].vlan_id == 100
    without = cells(load_profile("quick"), {"ptp": None})
    missing = [one for one in without if one.missing]
    assert {one.cell.network for one in missing} == {
        "bridge",
        "ovs-dpdk",
        "ebpf-tc",
        "af-xdp",
        "flannel",
        "cilium",
    }
    assert {one.missing for one in missing} == {"this testbed has no network of that name"}
    assert all(one.traffic_s == 0 for one in missing)


def test_all_networks_are_those_that_a_kernel_drives():
    """An option of another model is measured where a profile names it, and nowhere else."""
    networks = Networks.of(
        {
            "own": {"model": "kernel"},
            "tagged": {"vlan_id": 7},
            "ovs-dpdk": {"model": "user-space"},
            "other": {"model": "ebpf"},
        }
    )
    assert networks == {"own": None, "tagged": 7, "ovs-dpdk": None, "other": None}
    planned = cells(load_profile("quick"), networks)
    measured = {(one.cell.network, one.cell.function) for one in planned if not one.missing}
    pods = {pair for pair in measured if pair[0] in networks}
    assert pods == {("own", "kernel-l3"), ("tagged", "kernel-l3"), ("ovs-dpdk", "testpmd")}


def test_sizes_can_be_narrowed():
    assert {one.cell.frame_octets for one in cells(load_profile("quick"), NETWORKS, [512])} == {512}


def test_the_estimate_is_what_a_search_takes():
    from fake_measurers import Device

    profile = load_profile("guest")
    cell = cells(profile, NETWORKS)[0].cell
    goal = profile.goal(cell, max_load_fps=1_500_000, closes=True)
    for truth in (5_000, 70_000, 123_456, 900_000):
        found = search(Device(truth_fps=truth), goal)
        trials = len(found.trials) + (2 if found.type is OutcomeType.AT_FLOOR else 0)  # nothing to try again
        assert abs(trials - bisection_trials(profile, 1_500_000)) <= profile.search.verification_trials


def test_the_long_profile_runs_both_ways_to_one_network_and_to_many():
    planned = cells(load_profile("rfc2544"), {"bridge": None})
    assert {one.cell.direction for one in planned} == {Direction.BOTH}
    assert {one.cell.flows for one in planned} == {1}
    assert {one.cell.destination_networks for one in planned} == {1, 256}
    assert {one.cell.frame_octets for one in planned} == {64, 128, 256, 512, 1024, 1280, 1518}


def test_every_planned_test_has_an_id_of_its_own():
    assert len({case.test_id for case in suites.cases()}) == len(suites.cases())


def test_a_goal_never_starts_above_its_ceiling():
    profile = load_profile("quick")
    cell = cells(profile, NETWORKS)[0].cell
    assert profile.goal(cell, max_load_fps=10, qualifies_tester=True).min_load_fps == 10
    assert profile.controller_input(cell, max_load_fps=15_000).min_load_fps == 7_500
    assert profile.latency_spec(cell, 7).load_fps == 7
    mixed = profile.latency_spec(dataclasses.replace(cell, frame_octets=1518, imix="aag"), 7)
    assert mixed.mix_octets == (64, 64, 1518)  # else the latency of a mix would be that of its largest frame


def test_profiles_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_profile("quick").name = "x"


@pytest.mark.parametrize(
    ("old", "new", "error_id", "fragments"),
    [
        ("relative_width: 0.03", "relative_with: 0.03", "PRF-03", ["did you mean 'relative_width'"]),
        ("duration_s: 0.2", "duration_s: 1s", "PRF-03", ["trial.duration_s: expected a number"]),
        ("duration_s: 0.2", "duration_s: .nan", "PRF-02", ["a finite number"]),
        ("[64, 512, 1518]", "[63]", "PRF-03", ["paths[0].frame_octets[0]: expected 64..9216"]),
        ("RFC2544-24-01", "RFC2544-24-1", "PRF-04", ["deviations[0].requirement", "did you mean"]),
        ("path: node, hosting: baremetal", "path: node, hosting: pod", "PRF-04", ["paths[1].hosting"]),
        ("networks: all", "networks: none", "PRF-04", ["paths[3].networks: expected all or a list"]),
        ("{path: pvp,", "{path: pvpp,", "PRF-04", ["paths[2].path: expected an installed", "mean 'pvp'"]),
        (
            "function: testpmd",
            "function: vpp",
            "PRF-04",
            ["paths[4].function: expected firewall or kernel-l3 or"],
        ),
        ("networks: all", "networks: al", "PRF-03", ["none, all, or a list of network names"]),
        ("max_repeats: 25", "max_repeats: 0", "PRF-04", ["search.short_limit: expected at most 1"]),
        ("streams: 11", "streams: 0", "PRF-03", ["latency.streams: expected"]),
        ("wire_percent: 10", "wire_percent: 101", "PRF-03", ["latency.wire_percent: expected"]),
        (
            "min_load_fps: 10000",
            "min_load_fps: 9",
            "PRF-04",
            ["latency.duration_s: expected at least one frame"],
        ),
        ("name: quick", "name: quick\nname: q", "PRF-02", ["twice (lines"]),
    ],
)
def test_bad_profiles_are_refused(old, new, error_id, fragments):
    text = text_of("quick")
    assert old in text
    with pytest.raises(ConfigError, match=f"^{error_id} ") as caught:
        parse_profile(text.replace(old, new, 1), source="mine.yaml", paths=registry.paths())
    for fragment in (*fragments, "mine.yaml:"):
        assert fragment in str(caught.value)


def test_cells_that_say_who_sends_to_whom_have_no_other_direction_beside():
    traffic = "\ntraffic: {directions: [both], frame_formats: [ipv4-udp], flows: [1]}\n"
    text = text_of("rfc2889-quick") + traffic
    with pytest.raises(ConfigError, match=r"traffic\.directions: expected") as caught:
        parse_profile(text, source="mine.yaml", paths=registry.paths())
    assert caught.value.error_id == "PRF-04"


def test_an_unknown_profile_gets_a_near_one():
    with pytest.raises(ConfigError, match=r"^PRF-01 ") as caught:
        load_profile("qick")
    assert "quick" in caught.value.hint


def test_every_profile_that_comes_with_us_says_what_keeps_cpus_awake():
    for name in builtin_names():
        profile = load_profile(name)
        assert profile.data["keep_awake"] == profile.keep_awake.value == "pm_qos"


def test_a_file_that_does_not_say_it_asks_for_the_request_and_an_old_run_held_nothing(tmp_path):
    data = {key: value for key, value in load_profile("quick").data.items() if key != "keep_awake"}
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    own = load_profile(str(file))
    assert own.data["keep_awake"] == own.keep_awake.value == "pm_qos"
    assert parse_profile(file.read_text(encoding="utf-8"), source="run.json").keep_awake.value == "none"


def test_another_way_to_keep_cpus_awake_is_refused_with_the_nearest(tmp_path):
    text = yaml.safe_dump(dict(load_profile("quick").data) | {"keep_awake": "pmqos"})
    with pytest.raises(ConfigError, match="PRF-03") as refused:
        parse_profile(text, source="own.yaml")
    assert "pm_qos" in str(refused.value)


def test_a_wider_interval_than_first_asked_for_is_refused_when_it_is_narrower():
    data = dict(load_profile("quick").data)
    data["search"] = data["search"] | {"most_relative_width": 0.01}
    with pytest.raises(ConfigError, match="PRF-04") as refused:
        parse_profile(yaml.safe_dump(data), source="own.yaml")
    assert "at least relative_width" in str(refused.value)


SHORTENED = {  # row: whether the numbers of a profile depart from its text
    "RFC2544-4": lambda profile: profile.policy.max_repeats > 0,
    "RFC2544-10-05": lambda profile: not profile.loss_times,
    "RFC2544-20-01": lambda profile: True,  # paths of virtual Ethernet have no rate to begin at
    "RFC2544-23-01": lambda profile: profile.policy.settle_s < 2,
    "RFC2544-23-02": lambda profile: (
        profile.policy.learning is not Learning.TRIAL or profile.policy.learning_wait_s < 2
    ),
    "RFC2544-23-03": lambda profile: profile.policy.min_sent_ratio < 1,
    "RFC2544-23-04": lambda profile: profile.policy.drain_s < 2,
    "RFC2544-23-05": lambda profile: profile.policy.restabilize_s < 5,
    "RFC2544-24-01": lambda profile: profile.trial_duration_s < 60,
}


@pytest.mark.parametrize("row", SHORTENED)
@pytest.mark.parametrize("name", ["quick", "guest", "low-rate", "rfc2544", "rfc8204", "rfc9971", "tst009"])
def test_each_departure_from_rfc_2544_is_declared_with_its_row(name, row):
    profile = load_profile(name)
    declared = row in {one.requirement for one in profile.deviations}
    assert declared is SHORTENED[row](profile)
