"""What the embedded cloud's services are told about the CPUs that servers may use."""

import configparser

import pytest

from bmwg.drivers.machines.guest_moves import DOWNTIME_LIMIT_MS
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


def of_moving(accelerator: str) -> dict[str, str]:
    given = {"password": "p", "physical": [], "token_s": 60, "layer2": "linuxbridge", "cpus": ()}
    return settings.files(**given, accelerator=accelerator, host="cloud2", address="198.18.31.2", moves=True)


def test_hosts_between_which_translated_servers_move_name_one_cpu_model():
    """A guest of QEMU's plain model panicked once it had moved, and booted anew."""
    told = of_moving("qemu")["etc/nova/nova-compute.conf"]
    assert "cpu_mode = custom\n" in told
    assert f"cpu_models = {settings.MOVING_MODEL}\n" in told
    assert settings.MOVING_MODEL not in ("", "qemu64", "max", "host")


def test_hosts_that_run_servers_by_their_cpu_give_them_that_one():
    told = of_moving("kvm")["etc/nova/nova-compute.conf"]
    assert "cpu_mode = host-passthrough\n" in told
    assert "cpu_models" not in told


def test_libvirt_listens_to_other_hosts_only_where_servers_move():
    assert 'listen_addr = "198.18.31.2"\n' in of_moving("qemu")["etc/libvirt/libvirtd.conf"]
    alone = settings.files(
        password="p", physical=[], accelerator="qemu", token_s=60, layer2="linuxbridge", cpus=()
    )
    assert "listen" not in alone["etc/libvirt/libvirtd.conf"]


def test_a_server_may_be_still_for_as_long_as_a_guest_from_the_first_on():
    """Nova begins with a step; where QEMU 7.2 had to go on until less was left, guests came broken."""
    told = configparser.ConfigParser()
    told.read_string(of_moving("qemu")["etc/nova/nova-compute.conf"])
    most, steps = (int(told["libvirt"][f"live_migration_downtime{name}"]) for name in ("", "_steps"))
    assert most // steps == DOWNTIME_LIMIT_MS


def test_neutron_answers_one_request_at_a_time_where_servers_move():
    told = of_moving("qemu")["etc/neutron/neutron.conf"]
    assert "wsgi_default_pool_size = 1\n" in told
    assert "wsgi_keep_alive = false\n" in told
