"""What ethtool tells of a NIC's hash, rules and module, read from its words."""

import pytest

from bmwg.drivers.platform_record.collectors import nic_steering
from bmwg.drivers.platform_record.values import NotApplicable, Unread

HASH = """RX flow hash indirection table for ens1f0 with 4 RX ring(s):
    0:      0     1     2     3     0     1     2     3
    8:      0     1     2     3     0     1     2     0
RSS hash key:
6d:5a:56:da:25:5b:0e:c2:41:67:25:3d:43:a3:8f:b0
RSS hash function:
    toeplitz: on
    xor: off
    crc32: off
"""
FIELDS = """UDP over IPV4 flows use these fields for computing Hash flow key:
IP SA
IP DA
L4 bytes 0 & 1 [TCP/UDP src port]
"""
MODULE = """\tIdentifier                                : 0x03 (SFP)
\tTransceiver type                          : 10G Ethernet: 10G Base-SR
\tVendor name                               : EXAMPLE OPTICS
\tVendor PN                                 : EX-SR-10
\tVendor SN                                 : SECRET0001
"""


def test_the_hash_is_key_function_and_how_often_each_queue_is_named():
    assert nic_steering.rss(HASH) == {
        "key": "6d:5a:56:da:25:5b:0e:c2:41:67:25:3d:43:a3:8f:b0",
        "function": ["toeplitz"],
        "entries_by_queue": {"0": 5, "1": 4, "2": 4, "3": 3},
    }
    with pytest.raises(NotApplicable):
        nic_steering.rss("nothing of that")


def test_fields_and_rules():
    assert nic_steering.fields(FIELDS) == ["IP SA", "IP DA", "L4 bytes 0 & 1 [TCP/UDP src port]"]
    assert nic_steering.rules("4 RX rings available\nTotal 2 rules\n\nFilter: 1\n") == 2
    with pytest.raises(Unread):
        nic_steering.rules("something else")


def test_a_module_is_told_without_its_serial_number():
    found = nic_steering.module(MODULE)
    assert found == {
        "identifier": "0x03 (SFP)",
        "type": "10G Ethernet: 10G Base-SR",
        "vendor": "EXAMPLE OPTICS",
        "part": "EX-SR-10",
    }
    assert "SECRET" not in str(found)
