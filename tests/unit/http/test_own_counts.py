"""What a function and the origin count by themselves is held against what the clients counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.http import made as cells
from tests.unit.http.phases import phase

from bmwg.drivers.workload import apache
from bmwg.drivers.workload.apache_proxy import ApacheProxy
from bmwg.drivers.workload.haproxy import Haproxy
from bmwg.drivers.workload.nginx import Nginx
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.rate import assessed
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.records import Validity
from bmwg.schemas.validation import problems

RESULT = RequestsResult(
    asked_requests=10_000,
    requests=10_000,
    sustain=phase(),
    probes=cells.RIGHT,
    whole={"connections": 1_100, "requests": 11_000},
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),  # one that tells nothing
        ({"function_counts": {"connections": 1_100, "dropped": 0}, "origin_requests": 11_000}, ""),
        ({"function_counts": {"connections": 1_105, "requests": 11_003}}, ""),  # those that failed at clients
        ({"function_counts": {"connections": 1_099}}, "counted 1099 connections, its clients 1100"),
        ({"function_counts": {"requests": 0}}, "counted 0 requests, its clients 11000"),
        ({"origin_requests": 10_999}, "the origin answered 10999 requests, the clients got 11000"),
    ],
)
def test_requests_that_went_past_a_function_make_a_trial_inconsistent(
    changes: dict[str, Any], said: str
) -> None:
    found = assessed(replace(RESULT, **changes))
    assert found.validity is (Validity.INCONSISTENT if said else Validity.VALID)
    assert said in found.reason


def test_own_counts_are_read_from_the_journal_as_they_were_written() -> None:
    spec = RequestsSpec(
        workload=Workload.TRANSACTIONS,
        object_octets=1000,
        clients=1,
        rate_rps=1000,
        duration_s=10.0,
        number=1,
    )
    for more in ({}, {"function_counts": {"connections": 1_100}, "origin_requests": 11_000}):
        result = replace(RESULT, **more)
        body = REQUESTS.body_of(spec, result, {})
        assert problems({"spec": body.spec, "result": body.result}, "requests") == []
        assert REQUESTS.result_of(body) == result


_NGINX = "Active connections: 1 \nserver accepts handled requests\n 31 30 300 \nReading: 0 Writing: 1 \n"
_HAPROXY = "# pxname,svname,conn_tot,req_tot,\nclients,FRONTEND,31,300,\norigin,BACKEND,,299,\n"
_APACHE = "127.0.0.1\nServerVersion: Apache\nTotal Accesses: 300\nTotal kBytes: 12\n"


def test_each_function_is_read_as_it_tells() -> None:
    assert Nginx().counted(_NGINX) == {"requests": 300, "accepted": 31, "handled": 30}
    assert Haproxy().counted(_HAPROXY) == {"requests": 300, "accepted": 31}
    assert ApacheProxy().counted(_APACHE) == {"requests": 300}
    assert apache.answered(_APACHE) == 300
    for function in (Nginx(), Haproxy(), ApacheProxy()):
        with pytest.raises((LookupError, ValueError)):
            function.counted("<html>another page</html>")
