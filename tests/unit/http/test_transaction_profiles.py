"""Which transactions the profiles of RFC 9411 plan, and which profiles are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.tls import SETS
from bmwg.schemas.validation import problems


@pytest.mark.parametrize("name", ["rfc9411", "rfc9411-quick"])
def test_profiles_begin_at_a_tenth_of_the_target_and_tell_functions_and_tls_apart(name: str) -> None:
    plan = profile.load(name).plan()
    assert {one.test_id for one in plan} == set(profile.RFC9411.values())
    for one in plan:
        settings = one.spec.search or {}
        assert settings["min_rps"] * 10 == settings["max_rps"]  # rfc9411-7.2.3.2
        assert one.spec.tls in ("", *SETS)
        encrypted = any(turn.encrypted for turn in one.spec.turns)
        assert bool(one.spec.tls) == (one.spec.experiment.startswith("https_") or encrypted)
        assert REQUESTS.cell(_as_axes(one.cell)) == one.cell
    assert len({one.deployment for one in plan}) > len({one.spec.form for one in plan})


def test_clients_and_origin_alone_are_measured_once_for_what_they_stand_beside() -> None:
    plan = profile.load("rfc9411-quick").plan()
    assert {one.spec.form for one in plan if one.spec.function == profile.DIRECT} == {"native"}
    assert {one.spec.form for one in plan if one.spec.function == "nginx"} == {"native", "pod_bridge"}
    of_ipv6, of_forward_proxies, of_programs = 3, 2, 2
    assert len(plan) == 7 * (4 * 2 + 1) + of_ipv6 + of_forward_proxies + of_programs


def test_http2_makes_a_cell_and_a_deployment_of_its_own() -> None:
    plan = [one for one in profile.load("rfc9411").plan() if one.spec.experiment == "https_throughput"]
    one, other = (
        [each for each in plan if each.spec.http == http and each.spec.function == "nginx"]
        for http in ("", "h2")
    )
    assert len(one) == len(other) > 0
    assert not {each.deployment for each in one} & {each.deployment for each in other}
    assert {each.key for each in other} == {f"{each.key}/h2" for each in one}


def test_a_version_of_ip_makes_a_cell_and_a_deployment_of_its_own() -> None:
    data = profile.load("rfc9411-quick").data
    first = {**data["experiments"][1], "ip": ["v4", "v6", "v6-v4"]}
    plan = profile.PROFILES.of({**data, "experiments": [first]}).plan()
    nginx = [one for one in plan if (one.spec.function, one.spec.form) == ("nginx", "native")]
    assert [one.spec.ip for one in nginx] == ["", "v6", "v6-v4"]
    assert [one.key for one in nginx] == [f"{nginx[0].key}{end}" for end in ("", "/v6", "/v6-v4")]
    assert len({one.deployment for one in nginx}) == len({one.block for one in nginx}) == 3
    assert [dict(one.cell.axes).get("ip") for one in nginx] == [None, "v6", "v6-v4"]
    for one in nginx:
        assert profile.cell_of_axes(_as_axes(one.cell)) == one.cell


def _as_axes(cell: Any) -> dict[str, Any]:
    return {
        "axes": dict(cell.axes),
        "hosting": cell.hosting,
        "network": cell.network,
        "function": cell.function,
    }


def test_a_profile_of_the_document_has_its_lengths_and_sizes() -> None:
    sizes: dict[str, set[int]] = {}
    for one in profile.load("rfc9411").plan():
        assert (one.spec.search or {})["sustain_s"] >= 300  # rfc9411-4.3.4
        sizes.setdefault(one.spec.experiment, set()).add(one.spec.object_octets // 1024)
    assert sizes["connections_per_second"] == sizes["https_connections_per_second"] == {1, 2, 4, 16, 64}
    assert sizes["http_throughput"] == sizes["https_throughput"] == {1, 16, 64, 256, 52}


def test_tls_and_functions_are_of_transactions_alone() -> None:
    data = profile.load("quick").data
    for changes in ({"tls": ["tls13-aes128-p256"]}, {"functions": ["nginx"]}):
        first = {**data["experiments"][0], **changes}
        assert problems({**data, "experiments": [first]}, "http_profile")
        first = {**data["experiments"][0], "objects": [{"mix": "rfc9411-mixed", "requests": 1}]}
        assert problems({**data, "experiments": [first]}, "http_profile")
    data = profile.load("rfc9411-quick").data
    plain = next(one for one in data["experiments"] if "tls" not in one)
    for changes, wrong in (({"http": ["h1"], "tls": [*SETS]}, False), ({"http": ["h2"]}, True)):
        assert bool(problems({**data, "experiments": [{**plain, **changes}]}, "http_profile")) == wrong
    first = {**data["experiments"][0], "tls": ["tls10-rsa-512"]}
    assert problems({**data, "experiments": [first]}, "http_profile")
    assert not problems(dict(data), "http_profile")


def test_a_workload_that_there_is_none_of_is_refused_with_those_that_there_are() -> None:
    data = profile.load("quick").data
    first = {**data["experiments"][0], "workload": "siege"}
    assert "workload: expected ab, jmeter, " in profile.PROFILES.wrong({**data, "experiments": [first]})


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("connections_per_second", {"requests_per_connection": 10}, "requests_per_connection 1"),
        ("https_connections_per_second", {"holds": True}, "holds False"),
        ("concurrent_connections", {"holds": False}, "holds True"),
        ("http_throughput", {"holds": True}, "holds False"),
    ],
)
def test_a_load_whose_figure_had_the_name_of_another_is_refused(
    tmp_path: Path, name: str, changes: dict[str, Any], expected: str
) -> None:
    """Ten transactions a connection would be told as ten times the connections/s that there were."""
    data = profile.load("rfc9411-quick").data
    (first, *_) = [one for one in data["experiments"] if one["id"] == name]
    changed = {**first, "rate": {**first["rate"], **changes}}
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({**data, "experiments": [changed]}))
    with pytest.raises(ConfigError, match=r"^HPROF-02 ") as caught:
        profile.load(str(file))
    assert expected in str(caught.value)
