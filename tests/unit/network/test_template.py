import pytest

from bmwg.drivers.network.template import render
from bmwg.methodology.errors import ConfigError

VALUES = {
    "nic": "nic0",
    "side": 0,
    "bridge": "br0",
    "addresses": [{"address": "198.18.0.1/24"}],
    "vlan_id": None,
}


def test_a_string_that_is_one_variable_takes_its_type():
    document = {"a": "${addresses}", "b": ["${side}", "x-${side}"], "c": 7, "d": "$${nic} ${nic}"}
    assert render(document, VALUES, where="n") == {
        "a": [{"address": "198.18.0.1/24"}],
        "b": [0, "x-0"],
        "c": 7,
        "d": "${nic} nic0",
    }


def test_all_unknown_variables_are_named_with_place_and_near_name():
    with pytest.raises(ConfigError, match=r"^NET-01 ") as caught:
        render({"m": "${nick}", "l": [{"k": "${zzz}"}]}, VALUES, where="networks.x.conflist")
    assert "networks.x.conflist.m: ${nick} (near ${nic})" in caught.value.found
    assert "networks.x.conflist.l[0].k: ${zzz}" in caught.value.found


@pytest.mark.parametrize("text", ["v${addresses}", "${vlan_id}"])
def test_a_list_inside_text_and_a_variable_without_value_are_refused(text):
    with pytest.raises(ConfigError, match="NET-01"):
        render({"k": text}, VALUES, where="n")


def test_the_document_is_not_changed():
    document = {"k": ["${nic}"]}
    render(document, VALUES, where="n")
    assert document == {"k": ["${nic}"]}
