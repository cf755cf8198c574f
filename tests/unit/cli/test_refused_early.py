"""What a testbed file says of networks and pods is refused before a run has a folder, and by `bmwg plan`."""

import os
from pathlib import Path

import pytest
import yaml

from bmwg.cli import run as run_module
from bmwg.cli.main import main
from bmwg.drivers import registry
from bmwg.drivers.network.ovs_dpdk import OvsDpdkNetwork
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology import suites
from bmwg.methodology.errors import DriverError
from bmwg.methodology.profiles.reading import builtin_names
from bmwg.resources import rooms
from bmwg.resources.rooms import PlanAsked
from bmwg.resources.run.early import require_drivers

ROOT = Path(__file__).parents[3]
EMBEDDED = ROOT / "testbeds" / "embedded.yaml"
PROFILE = ROOT / "methodology" / "profiles" / "factors.yaml"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty working folder, and no Robot."""
    for name in [one for one in os.environ if one.startswith("BMWG_")]:
        monkeypatch.delenv(name)
    for name in ("TESTBED", "PROFILE", "RESULTS", "RUN_ID"):
        monkeypatch.setenv(f"BMWG_{name}", "")  # what the command sets is gone after the test
    monkeypatch.setattr(run_module, "run_cli", lambda *_, **__: pytest.fail("Robot was started"))
    monkeypatch.setattr(run_module, "run_in_guest", lambda *_, **__: pytest.fail("a guest was started"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def lab_file(place, key, value):
    """Write the embedded testbed with another value there, and return it with the line of that value."""
    data = yaml.safe_load(EMBEDDED.read_text(encoding="utf-8"))
    at = data
    *way, last = key.split(".")
    for name in way:
        at = at.setdefault(name, {})
    at[last] = value
    text = yaml.safe_dump(data, sort_keys=False)
    file = place.parent / "lab.yaml"
    file.write_text(text, encoding="utf-8")
    part = text.index(f"\n  {way[1]}:") if len(way) > 1 else text.index(f"\n{way[0]}:")
    return str(file), text[: text.index(f"{last}:", part)].count("\n") + 1


def refused(capsys, place, status, *arguments):
    assert main([*arguments]) == status
    out, error = capsys.readouterr()
    assert out == ""
    assert list(place.iterdir()) == []
    return error


SWITCH = "networks.ovs-dpdk.options"


@pytest.mark.parametrize(
    ("key", "value", "error_id", "said"),
    [
        (f"{SWITCH}.pmd_cpus", "0", "NET-04", "CPU 0, which is none of the DUT's"),
        (f"{SWITCH}.socket_dir", "/run/" + 120 * "x", "NET-04", "139 octets"),
        (f"{SWITCH}.rx_queues", 0, "NET-04", "a whole number of 1..64"),
        (f"{SWITCH}.hugepages_2mi", 3, "NET-04", "at least 256"),
        ("networks.ovs-dpdk.driver", "ovs-dpkd", "DRIVER-01", "did you mean 'ovs-dpdk'?"),
        ("pods.runtime", "nosuch", "DRIVER-01", "one of crun, docker"),
        ("pods.options", {"nodes": 2}, "CFG-04", "crun has no settings"),
    ],
)
@pytest.mark.parametrize("verb", [["run"], ["run", "--in-guest"], ["plan"]])
def test_a_wrong_option_or_runtime_is_refused_with_file_and_line(
    place, capsys, verb, key, value, error_id, said
):
    file, line = lab_file(place, key, value)
    error = refused(capsys, place, 2, *verb, "--testbed", file)
    assert f"{error_id}  {file}:{line}: " in error
    assert said in error


@pytest.mark.parametrize("suite", ["testcases/pod_to_pod", "testcases/lifecycle", "testcases/http_proxy"])
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_other_kinds_of_load_refuse_it_as_well(place, capsys, verb, suite):
    file, line = lab_file(place, f"{SWITCH}.rx_queues", 0)
    error = refused(capsys, place, 2, verb, str(ROOT / suite), "--testbed", file)
    assert f"NET-04  {file}:{line}: {SWITCH}.rx_queues" in error


@pytest.mark.parametrize("suite", ["testcases/pod_to_pod", "testcases/http_proxy"])
def test_a_virtual_function_count_that_no_nic_has_is_refused(place, capsys, suite):
    told = {"driver": "sriov", "uplink": "master", "model": "sr-iov", "options": {"virtual_functions": 0}}
    file, _ = lab_file(place, "networks.sr-iov", told)
    assert "virtual_functions" in refused(capsys, place, 2, "plan", str(ROOT / suite), "--testbed", file)


@pytest.mark.parametrize("verb", ["run", "plan"])
def test_an_unknown_tester_is_refused(place, capsys, verb):
    file, line = lab_file(place, "tester.driver", "embeded")
    error = refused(capsys, place, 2, verb, "--testbed", file)
    assert f"DRIVER-01  {file}:{line}: tester.driver" in error


@pytest.mark.parametrize(
    ("axis", "level", "error_id", "said"),
    [
        (f"{SWITCH}.pmd_cpus", "[0]", "NET-04", "CPU 0, which is none of the DUT's"),
        (f"{SWITCH}.rx_queues", 0, "NET-04", "a whole number of 1..64"),
        ("pods.memory", "1 GB", "CFG-03", "pods.memory"),
        ("networks.nosuch.options.rx_queues", 2, "CFG-05", "nosuch"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_a_level_that_no_deployment_could_have_is_refused_with_the_profiles_line(
    place, capsys, verb, axis, level, error_id, said
):
    data = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))
    (line,) = data["suites"]["factors"]["paths"]
    sound = {"pods.memory": "256MiB"}.get(axis, 1)
    line |= {"path": "pvp", "function": "testpmd", "networks": ["ovs-dpdk"], "axes": {axis: [sound, level]}}
    if axis.endswith("pmd_cpus"):
        line["axes"][axis] = ["[1]", level]
    file = place.parent / "mine.yaml"
    text = yaml.safe_dump(data, sort_keys=False, default_flow_style=False)
    file.write_text(text, encoding="utf-8")
    number = text[: text.index(f"{axis}:")].count("\n") + 1
    arguments = (str(ROOT / "testcases" / "factors"), "--testbed", str(EMBEDDED), "--profile", str(file))
    error = refused(capsys, place, 2, verb, *arguments)
    assert said in error
    # the line of the axis's first level, or of its name where YAML keeps both together
    assert any(f"{error_id}  {file}:{near}: " in error for near in (number, number + 1))
    assert "cell " in error


def test_a_level_of_an_option_that_the_file_lacks_is_not_assessed_as_before(place, capsys):
    data = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))
    (line,) = data["suites"]["factors"]["paths"]
    line |= {"path": "pvp", "networks": ["nosuch"], "axes": {"networks.nosuch.options.rx_queues": [1]}}
    file = place.parent / "mine.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    suite = str(ROOT / "testcases" / "factors")
    assert main(["plan", suite, "--testbed", str(EMBEDDED), "--profile", str(file)]) == 0
    assert "nosuch" in capsys.readouterr().out


@pytest.mark.parametrize("testbed", sorted((ROOT / "testbeds").glob("*.yaml")), ids=lambda one: one.stem)
def test_every_shipped_profile_can_be_planned_on_every_shipped_testbed(testbed):
    """Whatever this machine has: what it lacks is not assessed when a run comes to it."""
    frames = rooms.room("frames")
    tests = frozenset(case.test_id for case in suites.cases())
    for name in builtin_names():
        assert frames.schedule(PlanAsked(testbed=testbed, profile=name, seed=1), tests).cells


@pytest.mark.parametrize("testbed", sorted((ROOT / "testbeds").glob("*.yaml")), ids=lambda one: one.stem)
def test_drivers_make_nothing_when_they_are_made(testbed, monkeypatch):
    """No file, no process, no entry in a ledger: what `require_drivers` rests on."""
    told = load_testbed(testbed)
    require_drivers(told)  # imports
    refuse = lambda *_, **__: pytest.fail("something was made")  # noqa: E731
    for name in ("mkdir", "symlink", "rename", "posix_spawn", "fork", "execve", "socket"):
        if hasattr(os, name):
            monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr("subprocess.Popen", refuse)
    monkeypatch.setattr("socket.socket", refuse)
    require_drivers(told)


def test_a_driver_that_makes_something_at_once_is_named(monkeypatch):
    class Eager(OvsDpdkNetwork):
        def __init__(self, spec, *, run_dir, undo):
            undo.before("interface", interface="x")

    found = registry.load
    monkeypatch.setattr(
        registry,
        "load",
        lambda kind, name, **told: Eager if name == "ovs-dpdk" else found(kind, name, **told),
    )
    with pytest.raises(DriverError, match="DRIVER-05"):
        require_drivers(load_testbed(EMBEDDED))


def test_what_a_person_declares_reaches_a_guest(place, capsys, monkeypatch):
    overlay = place / "facts.yaml"
    overlay.write_text("schema: overlay/1.0\ndeclared_by: a person\nfacts: 3\n", encoding="ascii")
    assert main(["run", "--in-guest", "--overlay", "facts.yaml"]) == 2  # refused before a guest is started
    assert "facts.yaml" in capsys.readouterr().err
    overlay.write_text("schema: overlay/1.0\ndeclared_by: a person\nfacts: {}\n", encoding="ascii")
    given = []
    monkeypatch.setattr(run_module, "run_in_guest", lambda words, **_: given.extend(words) or 0)
    assert main(["run", "--in-guest", "--overlay", "facts.yaml"]) == 0
    assert given[given.index("--overlay") + 1] == str(overlay)
