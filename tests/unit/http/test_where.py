"""A report says on how many machines clients, proxies and server were, by the testbed file of its run."""

from types import SimpleNamespace

import pytest

from bmwg.reports.kinds.requests.words import where_words

ROLES = {"client": "one", "dut": "two", "origin": "three"}


@pytest.mark.parametrize(
    ("testbed", "said"),
    [
        ({"name": "embedded"}, "on one machine"),
        ({"name": "lab", "roles": ROLES}, "on three hosts"),
    ],
)
def test_where_the_parts_were_is_read_from_the_testbed(testbed, said) -> None:
    assert said in where_words(SimpleNamespace(testbed=testbed))
