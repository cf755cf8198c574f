"""The testbed file: the embedded one loads; each bad one is one ConfigError that lists every problem."""

import copy
import dataclasses
import json
import textwrap
from pathlib import Path

import pytest
import yaml
from tests.unit.testbed_files import changed, refusal

from bmwg.drivers.paths.frames import link_mtu
from bmwg.drivers.testbed.file import NodeKind, embedded_file, load_testbed, with_settings
from bmwg.drivers.testbed.port_kind import port_kind
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.trial.cpu_lists import cpu_list
from bmwg.schemas import document, load
from bmwg.schemas.document import parse
from bmwg.schemas.validation import problems

BAD = sorted((Path(__file__).parents[1] / "data" / "bad" / "testbed").glob("*.yaml"))


def test_the_embedded_file_loads_as_written():
    testbed = load_testbed()
    assert [node.kind for node in testbed.nodes] == [NodeKind.NAMESPACE, NodeKind.NAMESPACE]
    assert testbed.tester.ports == ("tester/p0", "tester/p1")
    assert testbed.pods.memory_octets == 256 * 2**20
    assert testbed.pods.cpus == (1,)
    assert testbed.network("vlan").vlan_id == 100
    assert testbed.network("bridge").conflist["plugins"][0]["type"] == "bridge"
    assert testbed.node("dut2").name == "dut2"
    assert testbed.dut.device_queue == "threaded"


def test_records_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_testbed().name = "other"


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_each_bad_file_is_refused_as_its_first_lines_say(file):
    expected = [line[2:] for line in file.read_text().splitlines() if line.startswith("#!")]
    assert len(expected) >= 2, "a bad file states an error id and at least one fragment"
    error = refusal(file)
    assert error.error_id == expected[0].strip()
    for fragment in expected[1:]:
        assert fragment.strip() in str(error)
    assert str(file) in str(error)


def test_all_problems_come_at_once(tmp_path):
    def change(data):
        data["tester"]["cpu"] = data["tester"].pop("cpus")
        data["pods"]["memory"] = 256
        data["networks"]["vlan"]["vlan_id"] = 5000

    text = str(refusal(changed(tmp_path, change)))
    assert "tester.cpu: " in text
    assert "did you mean 'cpus'" in text
    assert "pods.memory: expected text: a size with its unit, such as 256MiB, found the number 256" in text
    assert "networks.vlan.vlan_id: expected 1..4094, found the number 5000" in text


def test_the_line_stands_beside_the_path(tmp_path):
    file = tmp_path / "t.yaml"
    file.write_text(embedded_file().read_text().replace("io: auto", "io: af_xpd"))
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "af_xpd" in text)
    error = refusal(file)
    assert f"{file}:{line}: tester.io" in str(error)
    assert "did you mean 'af_xdp'" in str(error)


def test_a_missing_file_names_the_one_beside_it(tmp_path):
    (tmp_path / "lab.yaml").write_text("x")
    error = refusal(tmp_path / "lab.yml")
    assert error.error_id == "CFG-01"
    assert "lab.yaml" in error.hint


def test_a_folder_a_device_and_binary_are_refused(tmp_path):
    (tmp_path / "lab.yaml").write_text("x")
    (tmp_path / "note.txt").write_text("x")
    folder = refusal(tmp_path)
    assert (folder.found, folder.hint) == ("a folder", "name one of its files: lab.yaml")
    assert refusal("/dev/zero").found == "no plain file"
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"name: \xff\xfe")
    assert refusal(binary).error_id == "CFG-01"
    huge = tmp_path / "h.yaml"
    huge.write_bytes(b"#" * (2 << 20))
    assert refusal(huge).found == "more"


def test_aliases_that_unfold_without_end_are_refused_quickly(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    file = tmp_path / "laughs.yaml"
    file.write_text("\n".join(lines))
    assert refusal(file).error_id == "CFG-02"
    file.write_text("a: &a [*a]\n")
    assert refusal(file).error_id == "CFG-02"


@pytest.mark.parametrize(
    "text",
    [
        "a: b\tc",
        "a:\t b",
        "a: {b: c? d}",
        "a: b\n\ufeff\nc: d",
        "rks:   !  \n",
        "a: !x b",
        "- " * 2_000 + "x",
    ],
)
def test_a_text_that_the_c_library_reads_otherwise_is_read_as_without_it(monkeypatch, text):
    found = document.parse(text)
    monkeypatch.setattr(document, "_FAST", yaml.SafeLoader)
    assert found == document.parse(text)


def test_deep_nesting_is_a_problem_not_a_crash():
    assert parse("[" * 5000).problems
    assert parse("[" * 300 + "]" * 300).problems


def test_each_port_may_have_a_kind_of_its_own(tmp_path):
    def io(*kinds, **tester):
        return changed(tmp_path, lambda data: data["tester"].update(io=list(kinds), **tester))

    testbed = load_testbed(io("af_packet", "af_xdp"))
    assert testbed.tester.ios == ("af_packet", "af_xdp")
    assert port_kind(testbed).each == ("af_packet", "af_xdp")
    assert port_kind(testbed).evidence()["each"] == ["af_packet", "af_xdp"]
    assert link_mtu(testbed, 9018) == 3498  # as the port that takes less
    assert "each" not in port_kind(load_testbed(io("af_xdp", "af_xdp"))).evidence()
    for wrong in (io("af_xdp", "xdp"), io("auto", "af_xdp"), io("af_xdp"), io("af_xdp", "memif")):
        assert "tester.io" in str(refusal(wrong))
    assert "one kind for both ports of driver trex" in str(refusal(io("af_xdp", "af_packet", driver="trex")))


def test_cpu_overlap_needs_a_declaration(tmp_path):
    error = refusal(changed(tmp_path, lambda data: data["dut"].update(cpus=[0])))
    assert error.error_id == "CFG-04"
    assert "RFC8172-3.4-02" in str(error)

    def declared(data):
        data["dut"].update(cpus=[0], shares_tester_cpus=True)
        data["pods"]["cpus"] = "0"

    assert load_testbed(changed(tmp_path, declared)).dut.shares_tester_cpus


def test_another_machines_cpus_are_its_own(tmp_path):
    def change(data):
        data["nodes"] = {name: {"kind": "ssh", "ssh": f"bench@{name}:22"} for name in ("dut1", "dut2")}
        data["links"] = [{**link, "kind": "cable"} for link in data["links"]]
        data["lab_ports"] = ["p0", "p1"]
        data["dut"]["cpus"] = [0]

    assert load_testbed(changed(tmp_path, change)).node("dut1").ssh == "bench@dut1:22"


def test_cpu_lists():
    assert cpu_list("2-3,6,2") == (2, 3, 6)
    with pytest.raises(ValueError, match="backwards"):
        cpu_list("3-2")


def test_unknown_names_get_a_near_one():
    with pytest.raises(ConfigError, match=r"^CFG-05 ") as caught:
        load_testbed().network("brigde")
    assert "bridge" in caught.value.hint


def test_any_vendors_conflist_passes_untouched(tmp_path):
    def change(data):
        data["networks"]["vendor"] = {
            "driver": "cni",
            "plugin_dir": "/opt/vendor/bin",
            "uplink": "none",
            "model": "kernel",
            "conflist": {
                "cniVersion": "1.1.0",
                "name": "v",
                "plugins": [{"type": "v-net", "deep": {"a": [1]}}],
            },
        }

    network = load_testbed(changed(tmp_path, change)).network("vendor")
    assert network.conflist["plugins"][0]["deep"] == {"a": [1]}


def test_an_unknown_schema_is_named():
    with pytest.raises(LookupError, match="testbed"):
        load("testbde")
    with pytest.raises(LookupError):
        load("../drivers/x")


def test_problems_of_other_shapes():
    assert problems([], "testbed")[0].path == "(document)"
    assert problems(None, "testbed")[0].expected == "a mapping"
    assert parse(textwrap.dedent("a: .inf")).problems[0].expected == "a finite number"
    assert parse("d: 2026-01-02").data == {"d": "2026-01-02"}


def attempt(file):
    try:
        load_testbed(file)
    except ConfigError as error:
        return error
    return None


def places(value, way=()):
    yield way
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        yield from places(inner, (*way, key))


WEIRD = [None, True, -1, 10**30, 1.5, "", "a/b", "tester/p0", "\u0000", [], {"": 1}]


def test_any_value_at_any_place_is_accepted_or_refused_by_name(tmp_path):
    """No mutation of the file ends in anything but a Testbed or a ConfigError that names the place."""
    original = yaml.safe_load(embedded_file().read_text())
    file = tmp_path / "m.yaml"
    refusals = []
    for way in [way for way in places(original) if way and "conflist" not in way[:-1]]:
        for weird in WEIRD:
            data = copy.deepcopy(original)
            inner = data
            for key in way[:-1]:
                inner = inner[key]
            inner[way[-1]] = weird
            file.write_text(json.dumps(data, indent=1))  # lines that are short: the C library reads them
            error = attempt(file)
            if error is not None:
                refusals.append((way, error))
    assert len(refusals) > 500
    assert {error.error_id for _, error in refusals} == {"CFG-03", "CFG-04"}
    unnamed = [(way, error) for way, error in refusals if f": {way[0]}" not in str(error)]
    # without links the tester's ports are what is wrong
    assert {way[0] for way, _ in unnamed} <= {"links"}
    assert all("tester.ports" in str(error) for _, error in unnamed)


def test_a_setting_of_an_axis_is_checked_as_the_whole_file_is() -> None:
    testbed = load_testbed()
    varied = with_settings(testbed, {("pods", "memory"): "64MiB"}, "a cell")
    assert (varied.pods.memory_octets, testbed.pods.memory_octets) == (64 << 20, 256 << 20)
    busy = with_settings(testbed, {("networks", "af-xdp", "options", "busy_poll"): True}, "a cell")
    assert busy.network("af-xdp").options == {"busy_poll": True}
    for wrong, error_id in (
        ({("pods", "memory"): "plenty"}, "CFG-03"),
        ({("pods", "cpus"): "0"}, "CFG-04"),
        ({("networks", "af-xpd", "options", "busy_poll"): True}, "CFG-05"),
    ):
        with pytest.raises(ConfigError, match=f"^{error_id} "):
            with_settings(testbed, wrong, "cell x")
