"""What TRex's server is told, and what is refused of a server that is not as it must be."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.trex.channel import RefusedError
from bmwg.drivers.traffic.trex.config import TrexConfig, TrexOptions
from bmwg.drivers.traffic.trex.connection import Connection, plain
from bmwg.drivers.traffic.trex.server import precede, server_configuration
from bmwg.methodology.errors import ConfigError, TestbedError


def config(*cpus, **options):
    return TrexConfig(
        folder=Path("/opt/trex"),
        options=TrexOptions(mode="attach", **options),
        cpus=cpus or (0,),
        watch_cpus=(1,),
        run_dir=Path("/run/bmwg"),
    )


def ports(io="af_packet", **changes):
    names = ("p0", "p1") if io == "af_packet" else ("0000:05:00.0", "0000:05:00.1")
    return tuple(
        TesterPort(
            name=f"tester/p{side}",
            io=io,
            device=name,
            mac=f"02:00:00:00:00:0{side + 1}",
            ipv4=f"198.18.{side}.2/24",
            **changes,
        )
        for side, name in enumerate(names)
    )


class Server:
    """A client that stands before a server of these properties."""

    def __init__(self, *, version="v3.08", count=2, refuses=None, arp=("unresolved",)):
        self.version, self.count, self.refuses, self.arp = version, count, refuses or {}, list(arp)
        self.calls = []

    def call(self, method, /, *, deadline_s, **arguments):
        self.calls.append((method, arguments))
        if method in self.refuses:
            raise RefusedError("TRexError", self.refuses[method])
        if method == "open":
            return {"python": "3.11.7"}
        if method == "get_server_version":
            return {"version": self.version, "mode": "STL", "build_date": "Nov  5 2025", "build_time": "1:00"}
        if method == "get_server_system_info":
            return {
                "port_count": self.count,
                "ports": [{"driver": "net_af_packet"}],
                "dp_core_count_per_port": 1,
            }
        if method == "get_port_attr":
            found = self.arp.pop(0) if len(self.arp) > 1 else self.arp[0]
            return {"src_mac": f"02:00:00:00:00:0{arguments['port'] + 1}", "arp": found}
        return None

    def close(self):
        pass


def connected(server, **options):
    connection = Connection(config(**options), server)
    connection.open(None)
    return connection


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="needs a kernel with autogroups")
def test_a_server_s_session_precedes_others_as_the_server_does_in_it():
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as one:
        try:
            precede(one.pid, 7)
            assert Path(f"/proc/{one.pid}/autogroup").read_text().split()[-1] == "7"
        finally:
            one.kill()
    precede(one.pid, 7)  # it has ended: whoever waits for it says so


def test_linux_interfaces_are_served_in_low_end_mode_on_the_testers_cpu():
    (entry,) = yaml.safe_load(server_configuration(config(0), ports(), "bmwg1"))
    assert entry["low_end"] is True
    assert entry["low_end_core"] == 0
    assert [text.split(",")[1] for text in entry["interfaces"]] == ["iface=p0", "iface=p1"]
    assert entry["port_info"][0] == {"dest_mac": "02:00:00:00:00:02", "src_mac": "02:00:00:00:00:01"}
    assert entry["prefix"] == "bmwg1"


def test_nics_get_the_testers_cpus():
    (entry,) = yaml.safe_load(server_configuration(config(2, 3, 4, 5), ports("pci"), "x"))
    assert entry["interfaces"] == ["0000:05:00.0", "0000:05:00.1"]
    assert entry["platform"]["dual_if"][0]["threads"] == [4, 5]
    with pytest.raises(ConfigError, match="at least three CPUs"):
        server_configuration(config(2, 3), ports("pci"), "x")


def test_a_wrong_number_or_kind_of_interfaces_is_refused():
    two = ports()
    for wrong in (two[:1], (*two, two[0]), (), (two[0], replace(two[1], io="pci")), ports("af_xdp")):
        with pytest.raises(ConfigError, match="TREX-09"):
            server_configuration(config(), wrong, "x")


def test_versions_are_recorded():
    assert connected(Server()).versions["server"] == "3.08"


@pytest.mark.parametrize(
    ("server", "error_id"),
    [
        (Server(version="v2.99"), "TREX-13"),
        (Server(version=""), "TREX-13"),
        (Server(refuses={"connect": "API major version mismatch: client 5, server 7"}), "TREX-13"),
        (Server(count=1), "TREX-14"),
        (Server(refuses={"connect": "Failed to get server response"}), "TREX-12"),
    ],
)
def test_a_server_that_is_not_as_it_must_be_is_refused_by_name(server, error_id):
    with pytest.raises(TestbedError, match=error_id):
        connected(server)


def test_ports_of_somebody_else_are_never_taken():
    server = Server(refuses={"acquire": "port is already owned by 'anna'"})
    connection = connected(server)
    with pytest.raises(TestbedError, match="TREX-11") as raised:
        connection.acquire()
    assert "anna" in str(raised.value)
    assert server.calls[-1] == ("acquire", {"ports": [0, 1], "force": False})


def test_next_hops_are_asked_for_and_a_silent_one_is_named():
    server = Server(arp=("02:aa:bb:cc:dd:ee",))
    first, second = connected(server).ways(ports(gateway_ipv4="198.18.0.1"))
    assert first.destination_mac == second.destination_mac == "02:aa:bb:cc:dd:ee"
    assert (first.source_ip, first.destination_ip) == ("198.18.0.2", "198.18.1.2")
    with pytest.raises(TestbedError, match="TREX-15") as raised:
        connected(Server(refuses={"set_l3_mode": "ARP not resolved"})).ways(ports(gateway_ipv4="198.18.0.1"))
    assert "198.18.0.1" in str(raised.value)


def test_without_a_next_hop_frames_go_to_the_other_port_or_a_fixed_address():
    first, _ = connected(Server()).ways(ports())
    assert first.destination_mac == "02:00:00:00:00:02"
    first, _ = connected(Server()).ways(ports(peer_mac="02:11:11:11:11:11"))
    assert first.destination_mac == "02:11:11:11:11:11"
    assert plain("198.18.0.2/24") == "198.18.0.2"
