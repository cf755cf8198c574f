"""Neighbours by LLDP, read from the words of lldpcli; real daemons: `tests/contract/test_lldp.py`."""

import json

import pytest

from bmwg.drivers.platform_record.collectors.nic_neighbours import neighbours
from bmwg.drivers.platform_record.values import NotApplicable, Unread


def entry(name, port, **more):
    chassis = {"id": [{"type": "mac", "value": "02:00:00:00:00:01"}], **more.pop("chassis", {})}
    return {
        "name": name,
        "via": "LLDP",
        "chassis": [chassis],
        "port": [{"id": [{"type": "ifname", "value": port}], **more}],
    }


def words(*entries):
    return json.dumps({"lldp": [{"interface": list(entries)}]})


def test_every_neighbour_of_the_interface_is_told_in_one_order():
    switch = entry(
        "ens1f0", "Eth1/7", chassis={"name": [{"value": "sw1"}]}, descr=[{"value": "to the tester"}]
    )
    other = entry("ens1f0", "Eth1/6")
    text, turned = words(switch, other, entry("ens1f1", "Eth1/8")), words(other, switch)
    assert (
        neighbours(text, "ens1f0")
        == neighbours(turned, "ens1f0")
        == [
            {"protocol": "LLDP", "chassis": "mac 02:00:00:00:00:01", "port": "ifname Eth1/6"},
            {
                "protocol": "LLDP",
                "chassis": "mac 02:00:00:00:00:01",
                "port": "ifname Eth1/7",
                "system": "sw1",
                "description": "to the tester",
            },
        ]
    )


@pytest.mark.parametrize(
    "text", [words(), words(entry("ens1f1", "Eth1/8")), '{"lldp": []}', '{"lldp": [{}]}']
)
def test_no_neighbour_is_no_answer_of_another_form(text):
    with pytest.raises(NotApplicable):
        neighbours(text, "ens1f0")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '{"lldp": {"interface": {}}}',
        '{"lldp": [{"interface": [{"name": "ens1f0"}]}]}',
        '{"lldp": 7}',
    ],
)
def test_another_form_is_said_to_be_one(text):
    with pytest.raises(Unread, match="another form"):
        neighbours(text, "ens1f0")
