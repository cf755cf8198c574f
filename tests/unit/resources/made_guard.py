"""A platform guard over a machine and a deployment that a test changes."""

from __future__ import annotations

import copy

from bmwg.drivers.api.protocols import Deployment, TesterPort
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.records import Cell, TrialResult
from bmwg.resources.kinds.frames import sampled
from bmwg.resources.run import platform
from bmwg.resources.run.machines import Machines

CELL = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64)
PORTS = (TesterPort(name="p0", io="af_xdp", device="p0"), TesterPort(name="p1", io="af_xdp", device="p1"))


def fact(value):
    return {"value": value, "how": {"kind": "file", "from": "here"}, "at": "2026-01-02T03:04:05Z"}


def record(**fields):
    return {"schema": "record/1.0", "scope": "network", "taken_at": "t", "took_ms": 1, "fields": fields}


class Place:
    """What the machine and a deployment are, to be changed by a test."""

    def __init__(self):
        self.machine = record(kernel={"settings": fact({"vm.swappiness": "60"})})
        self.node = record(
            nic={"veth0a1b": {"mac": fact("02:00:00:00:00:01"), "offloads": fact({"rx-gro": "off"})}},
            cni={"configurations": fact({"net0": {"plugins": [{"type": "bridge", "mtu": 1500}]}})},
        )

    def again(self, name, mac):
        """The same deployment with another drawn name."""
        self.node = copy.deepcopy(self.node)
        (interface,) = self.node["fields"]["nic"].values()
        interface["mac"] = fact(mac)
        self.node["fields"]["nic"] = {name: interface}


class Written:
    """Stands in for the platform file."""

    def __init__(self):
        self.data = {"drift": [], "records": {}, "doctor": []}

    def note_doctor(self, suite, findings):
        self.data["doctor"].append({"suite": suite, "findings": findings})

    def note_records(self, deployment_id, records):
        self.data["records"][deployment_id] = records

    def note_drift(self, deployment, outcomes, changes):
        self.data["drift"].append({"deployment": deployment, "outcomes": outcomes, "changes": changes})

    @property
    def drift(self):
        return {"drift": self.data["drift"]}


class Traffic:
    def describe(self):
        return {"driver": "made"}

    def run(self, spec):
        return TrialResult(spec=spec, streams=(), wall_time_ns=1, auxiliary=(("a", 1), ("z", 2)))


class Made:
    """A guard over a place that a test changes."""

    def __init__(self, monkeypatch):
        self.place, self.written, self.told = Place(), Written(), []
        self.name = "veth0a1b"
        monkeypatch.setattr(platform, "collect", lambda scope: copy.deepcopy(self.place.machine))
        monkeypatch.setattr(
            sampled.record_of, "take", lambda *given: {"dut1": copy.deepcopy(self.place.node)}
        )
        real = sampled.record_of.drawn_names
        monkeypatch.setattr(
            sampled.record_of,
            "drawn_names",
            lambda evidence, records: evidence.get("drawn") or real(evidence, records),
        )
        self.guard = platform.PlatformGuard(load_testbed(), self.written, self.told.append)

    def deployed(self, deployment_id, **told):
        deployment = Deployment(ports=PORTS, evidence={"drawn": {self.name: "(host end 0)"}, **told})
        return sampled.ready(self.guard, Machines(), None, CELL, deployment_id, deployment, Traffic())
