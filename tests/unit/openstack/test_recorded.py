"""The client against answers recorded from real services; `tests/openstack/record_answers.py` records them.

Made by the tests' own stub, not recorded: Keystone's tokens and catalogue.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.openstack.acts import ACTS
from tests.unit.openstack.stub import Cloud, stub

from bmwg.drivers.openstack import client as client_module
from bmwg.drivers.openstack import servers
from bmwg.drivers.openstack.client import Client
from bmwg.drivers.openstack.servers import Workshop
from bmwg.methodology.errors import ToolkitError

FILE = Path(__file__).resolve().parents[2] / "data" / "cloud" / "zed.json"
RECORDED = json.loads(FILE.read_text())["acts"]
SERVICES = {8774: "/compute", 9696: "/network", 9292: "/image"}
pytestmark = pytest.mark.skipif(client_module.probe() is not None, reason="needs openstacksdk")


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with stub() as cloud:
        yield cloud


def _play(cloud: Cloud, *acts: str) -> None:
    told: dict[tuple[str, str], list[tuple[int, Any, dict[str, str]]]] = defaultdict(list)
    for one in RECORDED:
        if one["act"] not in acts:
            continue
        for answer in one["answers"]:
            text = json.dumps(answer["body"])
            for port, prefix in SERVICES.items():
                text = re.sub(rf"http://[0-9.]+:{port}", f"HERE{prefix}", text)
            path = SERVICES[answer["port"]] + answer["path"].partition("?")[0]
            told[answer["method"], path].append((answer["status"], json.loads(text), answer["headers"]))
    for (method, path), answers in told.items():
        cloud.say(method, path, *answers)
        cloud.say(method, path.rstrip("/"), *answers)  # the stub's services stand below a path of their own


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda one: one["act"])
def test_an_act_ends_as_it_ended_on_the_real_cloud(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, recorded: dict[str, Any]
) -> None:
    monkeypatch.setattr(servers, "_POLL_S", 0.0)
    _play(cloud, "services", recorded["act"])
    workshop = Workshop(Client(auth=cloud.auth), "recorded")
    found = ""
    try:
        ACTS[recorded["act"]](workshop)
    except ToolkitError as error:
        found = error.error_id
    assert found == recorded["error"]


def test_every_act_was_recorded_and_no_secret_with_it() -> None:
    assert [one["act"] for one in RECORDED] == list(ACTS)
    expected = {
        "quota": "CLOUD-14",
        "near flavor": "CLOUD-15",
        "twice": "CLOUD-19",
        "no server": "CLOUD-19",
        "bare network": "CLOUD-22",
        "zone": "CLOUD-15",
        "vast": "CLOUD-14",
    }
    assert {one["act"]: one["error"] for one in RECORDED if one["error"]} == expected
    text = FILE.read_text()
    assert "X-Subject-Token" not in text
    assert "gAAAA" not in text


def test_microversions_are_those_that_the_real_service_told(cloud: Cloud) -> None:
    _play(cloud, "services")
    told = Client(auth=cloud.auth).require_services()
    assert set(told) == {"compute", "network", "image"}
    assert "unknown" not in told.values()
