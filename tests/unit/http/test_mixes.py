"""Mixes of object sizes: asked for by turns, counted by size, and cells of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.http import made as cells
from tests.unit.http.offering import offered
from tests.unit.http.origin import origin
from tests.unit.http.phases import phase

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.requests import mixes, profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.mixes import APPLICATIONS, BMWG_WEB, RFC9411_MIXED
from bmwg.methodology.kinds.requests.records import RequestsResult
from bmwg.methodology.records import Validity
from bmwg.schemas.validation import problems

SIZES = (300, 70_000, 1, 5_000)


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({"rate": 200, "per_connection": 4}, [50] * 4),
        ({"rate": 200, "per_connection": 10, "threads": 3}, [50] * 4),
        ({"rate": 202}, [51, 51, 50, 50]),
    ],
)
def test_objects_of_a_mix_are_asked_for_by_turns(changes: dict[str, Any], counts: list[int]) -> None:
    with origin() as port:
        found = offered(port, objects=[(size, f"/{size}") for size in SIZES], ramp_s=0.0, **changes)
    assert (found.tried, found.failures) == (sum(counts), {})
    assert found.objects == tuple(zip(SIZES, counts, strict=True))
    assert found.body_octets == sum(size * count for size, count in found.objects)


def test_an_object_of_a_mix_that_is_another_one_is_named() -> None:
    objects = [(300, "/300"), (400, "/300"), (500, "/500")]
    with origin() as port:
        found = offered(port, objects=objects, rate=30, ramp_s=0.0)
    assert found.failures == {"an object of another size": 10}
    assert found.objects == ((300, 10), (400, 0), (500, 10))


def test_the_mix_of_the_document_is_a_cell_of_its_own_with_a_target_of_its_own() -> None:
    used = profile.load("rfc9411")
    plan = used.plan()
    mixed = [one for one in plan if one.spec.mix == RFC9411_MIXED]
    assert {one.spec.experiment for one in mixed} == {"http_throughput", "https_throughput"}
    assert {one.spec.requests_per_connection for one in mixed} == {10}  # each connection asks for each once
    for one in mixed:
        kb = [size / 1024 for size in one.spec.sizes_octets]
        assert [round(size, 1) for size in kb] == [0.2, 6, 8, 9, 10, 25, 26, 35, 59, 347]  # rfc9411-7.3.3.2
        assert one.spec.object_octets == 53_780
        plain = next(
            other for other in plan if not other.spec.mix and other.spec.experiment == one.spec.experiment
        )
        assert (one.spec.search or {})["max_rps"] < (plain.spec.search or {})["max_rps"]
    assert profile.sizes_octets(used)[0] == 205


def test_a_trial_of_a_mix_is_read_as_it_was_written_and_of_no_other_cell() -> None:
    of = next(one for one in profile.load("rfc9411-quick").plan() if one.spec.mix)
    spec = replace(of.spec, rate_rps=100, duration_s=10.0, number=1)
    result = RequestsResult(asked_requests=10_000, requests=10_000, sustain=phase(), probes=cells.RIGHT)
    body = REQUESTS.body_of(spec, result, {})
    assert problems({"spec": body.spec, "result": body.result}, "requests") == []
    assert (REQUESTS.spec_of(body).mix, REQUESTS.result_of(body)) == (of.spec.mix, result)
    used = dict(profile.load("rfc9411-quick").data)
    execution = Execution(
        seq=1,
        cell_id=of.key,
        deployment_id="d-1",
        metric=of.metric,
        test_id=of.test_id,
        phase="measured",
        validity=Validity.VALID,
        reason="",
        at="",
        body=body,
    )
    assert REQUESTS.not_as_planned(used, execution) is None
    other = replace(execution, body=replace(body, spec={**body.spec, "mix": ""}))
    assert REQUESTS.not_as_planned(used, other) is not None


def test_connections_of_a_mix_of_applications_take_turns() -> None:
    objects = [(size, f"/{size}") for size in SIZES]
    with origin() as port:
        found = offered(
            port,
            objects=objects,
            turns=[(0, 2, 0), (3, 1, 0), (2, 1, 0)],
            rate=120,
            per_connection=4,
            ramp_s=0.0,
        )
    assert (found.tried, found.failures) == (120, {})
    assert dict(found.objects) == {300: 20, 70_000: 20, 5_000: 40, 1: 40}


def test_a_mix_of_applications_is_counted_by_its_sizes_and_whole_in_ten_requests() -> None:
    for name, mix in APPLICATIONS.items():
        sizes = mixes.sizes_octets(name)
        assert len(set(sizes)) == len(sizes)  # so right answers by size are right answers by application
        assert {one.name for one in mix.applications} == set(mix.order)
        assert 10 % mix.whole_requests == 0
        assert sum(turn.encrypted for turn in mix.turns) == mix.encrypted_turns
    assert mixes.mean_octets(BMWG_WEB) == 26_132
    assert APPLICATIONS[BMWG_WEB].encrypted_turns == 8


@pytest.mark.parametrize("changes", [{"tls": None}, {"requests_per_connection": 7}, {"holds": True}])
def test_a_mix_of_applications_that_makes_no_cell_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    data = dict(profile.load("rfc9411-quick").data)
    first = dict(data["experiments"][0])
    if "tls" in changes:
        del first["tls"]
    else:
        first["rate"] = {**first["rate"], **changes}
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({**data, "experiments": [first]}))
    with pytest.raises(ConfigError, match=r"^HPROF-02 ") as caught:
        profile.load(str(file))
    assert "bmwg-web" in str(caught.value)
