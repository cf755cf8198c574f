"""What the record of a cluster says of what may not be asked: no name of a node, a user or an address."""

import pytest

from bmwg.drivers.kubernetes import record
from bmwg.methodology.errors import DriverError, TestbedError


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            TestbedError("KUBE-22", "GET /x", found='403 Forbidden: nodes "worker-3": User "me" cannot get'),
            "KUBE-22 403 Forbidden",
        ),
        (DriverError("KUBE-21", "GET /x", found="no answer of 192.0.2.7"), "KUBE-21"),
    ],
)
def test_a_refusal_is_told_without_names(error, reason):
    def asked():
        raise error

    assert record._asked(asked) == {"value": None, "reason": reason}
