"""What `bmwg lab check` says of the medium where the cables are none of the tester's, as those of a row."""

from __future__ import annotations

from tests.unit.testbed_files import changed

from bmwg.drivers.testbed.file import load_testbed
from bmwg.resources.lab import check


def test_a_lab_of_a_row_has_the_medium_of_the_testers_links(tmp_path):
    def with_cable(data):
        for name in ("one", "two"):
            data["nodes"][name] = {"kind": "ssh", "ssh": f"root@lab-{name}", "python": "/opt/python"}
        data["links"].append({"a": "one/eth1", "b": "two/eth1", "kind": "cable"})

    told = check._rate(load_testbed(changed(tmp_path, with_cable)))
    assert told.sound
    assert told.told == "veth, without a rate"
