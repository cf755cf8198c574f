"""The guard over HTTP runs: what changes while requests flow makes its cell invalid by name, and no other.

Real nodes, Squid and ab; what changes is changed on the node from outside, between two repetitions of a cell.
"""

import json
import subprocess

import pytest
from tests.contract.http_support import needs_docker, needs_guest, needs_http
from tests.unit.http import made

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests import profile as profiles
from bmwg.methodology.kinds.requests.profile import load as load_profile
from bmwg.methodology.kinds.requests.profile import test_id as name_of_test
from bmwg.methodology.records import OutcomeType
from bmwg.reports.kinds.requests.answers import answers_of
from bmwg.reports.store import RunStore, read_run
from bmwg.resources.run.settings import Settings
from bmwg.schemas.validation import problems

pytestmark = needs_http
ACTS = {
    1000: (
        "echo 2 > /proc/sys/net/ipv4/conf/all/rp_filter",
        "proxy: kernel/settings/net.ipv4.conf.all.rp_filter: ",
    ),
    10000: ("ethtool -K nic0 gro on", "proxy: nic/nic0/offloads/rx-gro: off -> on"),
}
OBJECTS = [{"octets": octets, "requests": 20, "slow_requests": 5} for octets in (1000, 10000, 100000)]


def plan(form, experiment):
    """Few requests for each object on one form."""
    data = json.loads(json.dumps(load_profile("quick").data))
    entry = next(one for one in data["experiments"] if one["id"] == experiment)
    entry |= {"forms": [form]}
    if experiment == "one_client":
        entry |= {"objects": OBJECTS, "warm_up_requests": 0}
    data |= {"experiments": [entry], "repetitions": 2, "slow_repetitions": 2, "least_repetitions": 2}
    return profiles.PROFILES.of(data)


def measured(folder, monkeypatch, form, acts, experiment="one_client"):
    """Run the plan; each act is done on the proxies' machine after the first repetition of its object."""
    left, benches = dict(acts), []
    append = RunStore.append

    def acting(self, **line):
        seq = append(self, **line)
        octets = next((one for one in left if f"/{one}o/" in line["cell_id"]), None)
        if octets is not None:
            proxy = benches[0]._stage.row().proxy
            command = ["nsenter", f"--target={proxy.pid}", "--net", "--mount", "sh", "-c"]
            subprocess.run([*command, left.pop(octets)[0]], check=True, timeout=10)
        return seq

    monkeypatch.setattr(RunStore, "append", acting)
    monkeypatch.setattr(profiles, "load", lambda name, forms: plan(form, experiment))
    tag = name_of_test(experiment, form)
    bench = made.opened(Settings(results=folder, run_id="r"), {tag})
    benches.append(bench)
    try:
        bench.begin_suite("the run")
        found = bench.outcomes(tag)
    finally:
        bench.run.close()
    assert left == {}
    return found


def test_each_change_makes_its_own_cell_invalid_by_name(tmp_path, monkeypatch):
    found = {
        dict(one.cell.axes)["object_octets"]: one for one in measured(tmp_path, monkeypatch, "native", ACTS)
    }
    for octets, (_, path) in ACTS.items():
        assert found[octets].type is OutcomeType.INVALID, found[octets]
        assert path in found[octets].reason
        assert found[octets].trials
        assert found[octets].values == ()
    assert found[100000].type is OutcomeType.MEASURED, found[100000]

    run = read_run(tmp_path / "r")
    read = answers_of(run)
    assert [(one.outcome.type, one.outcome.reason) for one in read] == [
        (one.type, one.reason) for one in found.values()
    ]
    assert problems(dict(run.platform), "platform") == []
    assert [look["suite"] for look in run.platform["doctor"]] == ["the run"]
    (places,) = run.platform["records"].values()
    assert set(places) == {"client", "proxy", "server"}
    for line in (run.folder / "trials.jsonl").read_text().splitlines():
        assert {"host.steal_ns", "host.softirq_ns"} <= json.loads(line)["host"].keys()
    text = (run.folder / "report.rst").read_text().replace("\\_", "_")
    assert "State of the platform" in text
    assert "rp_filter" in text

    platform = json.loads((run.folder / "platform.json").read_text())
    platform["drift"] = []  # somebody takes the changes out, so that the answers may stand
    (run.folder / "platform.json").write_text(json.dumps(platform))
    with pytest.raises(ConfigError, match="STORE-07"):
        answers_of(read_run(run.folder))


@needs_docker
@pytest.mark.slow
def test_what_other_forms_leave_on_the_node_is_no_drift(tmp_path, monkeypatch):
    """A form is deployed twice in the same way, with the daemons of others started between."""
    data = json.loads(json.dumps(load_profile("quick").data))
    chosen = [one for one in data["experiments"] if one["id"] in ("one_client", "resources")]
    forms = ("native", "docker_routed", "docker_nat")
    for stress, entry in enumerate(chosen):  # in the second with load: another deployment of the same name
        entry |= {"forms": list(forms), "objects": OBJECTS[:1], "warm_up_requests": 0, "stress_cpus": stress}
    data |= {"experiments": chosen, "repetitions": 2, "least_repetitions": 2}
    monkeypatch.setattr(profiles, "load", lambda name, forms: profiles.PROFILES.of(data))
    tags = {(entry["id"], form): name_of_test(entry["id"], form) for entry in chosen for form in forms}
    bench = made.opened(Settings(results=tmp_path, run_id="r"), set(tags.values()))
    try:
        found = [one for tag in tags.values() for one in bench.outcomes(tag)]
    finally:
        bench.run.close()
    assert [one.reason for one in found if one.type is not OutcomeType.MEASURED] == []
    platform = read_run(tmp_path / "r").platform
    assert platform["drift"] == []
    first, again = (platform["records"][f"native-1-plain-{number}"] for number in (1, 4))
    assert set(first) == set(again) == {"client", "proxy", "server"}
    assert [one.get("equal_to") for one in again.values()] == ["native-1-plain-1"] * 3


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["one_client", "start"])
@pytest.mark.parametrize(
    "form",
    [
        "native",
        pytest.param("docker_routed", marks=needs_docker),
        pytest.param("docker_nat", marks=needs_docker),
        pytest.param("vm_para", marks=needs_guest),
    ],
)
def test_no_form_moves_the_platform_by_itself(tmp_path, monkeypatch, form, experiment):
    found = measured(tmp_path, monkeypatch, form, {}, experiment)
    assert [one.reason for one in found if one.type is not OutcomeType.MEASURED] == []
    assert read_run(tmp_path / "r").platform["drift"] == []
