"""What the embedded cloud's services are told about the CPUs that servers may use."""

import pytest

from bmwg.drivers.openstack import settings


def compute(cpus):
    given = {
        "password": "p",
        "physical": ["nic0"],
        "accelerator": "qemu",
        "token_s": 60,
        "layer2": "linuxbridge",
    }
    return settings.files(**given, cpus=cpus)["etc/nova/nova-compute.conf"]


@pytest.mark.parametrize(("cpus", "said"), [((1,), "1"), ((1, 3), "1,3")])
def test_servers_keep_to_the_cpus_of_the_dut(cpus, said):
    assert f"cpu_shared_set = {said}\n" in compute(cpus)


def test_without_cpus_a_server_may_use_any():
    assert "cpu_shared_set" not in compute(())
