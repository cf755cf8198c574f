"""Leaving whole lists out changes what the schema says of no trial."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmwg.methodology.errors import ConfigError
from bmwg.reports.store.checks import check_document
from bmwg.reports.store.long_lists import emptied, shortened

LATENCY = {"buckets": [1, 2, 3], "sum_ns": 3, "min_ns": 1, "max_ns": 2}
COUNTS = (
    *("intended_frames", "sent_frames", "received_frames", "duplicate_frames", "reordered_frames"),
    *("corrupt_frames", "foreign_frames", "largest_burst_frames", "largest_gap_ns"),
    *("largest_lateness_ns", "effective_duration_ns"),
)
TRIAL = {
    "schema": "trial/2.0",
    "kind": "frames",
    "seq": 1,
    "prev": "0" * 64,
    "hash": "0" * 64,
    "cell": "wire/none/none/none/64/forward",
    "deployment": "wire-1",
    "metric": "throughput.rfc2544_26_1",
    "test": "CN-TPUT-1.1",
    "phase": "search",
    "spec": {
        "frame_octets": 64,
        "load_fps": 1000,
        "duration_s": 1.0,
        "direction": "forward",
        "frame_format": "ipv4-udp",
        "flows": 1,
        "vlan_id": None,
    },
    "result": {
        "streams": [{**dict.fromkeys(COUNTS, 3), "latency": LATENCY}],
        "wall_time_ns": 1,
        "disturbance": None,
        "auxiliary": {},
    },
    "faults": [],
    "host": {},
    "assessment": {"validity": "valid", "reason": ""},
    "at": "2026-01-01T00:00:00.000000Z",
}


def refused(data):
    try:
        check_document(data, "trial", "trial")
        check_document({"spec": data["spec"], "result": data["result"]}, "frames", "trial")
    except ConfigError:
        return True
    return False


def with_buckets(buckets):
    trial = copy.deepcopy(TRIAL)
    trial["result"]["streams"][0]["latency"]["buckets"] = buckets
    return trial


def test_a_whole_trial_is_whole_without_its_lists_and_is_not_changed():
    before = json.dumps(TRIAL)
    left = emptied(TRIAL)
    assert left["result"]["streams"][0]["latency"]["buckets"] == []
    assert json.dumps(TRIAL) == before
    assert not refused(TRIAL)
    assert not refused(left)


@pytest.mark.parametrize("odd", ["x", None, [], {}, True, 1.5])
def test_one_odd_entry_is_still_refused(odd):
    buckets = [1, 2, 3] * 500 + [odd]
    assert refused(with_buckets(buckets))
    assert refused(emptied(with_buckets(buckets)))


def with_networks(counts):
    trial = copy.deepcopy(TRIAL)
    trial["result"]["streams"][0] |= {"sent_by_network": counts, "received_by_network": [1] * 256}
    return trial


WHOLE = ([3] * 256, [0, 1], [1.0] * 256)  # a number without a fraction is an integer of JSON
BROKEN = ([1], [], [1] * 257, [*[1] * 255, -1], [*[1] * 255, True], "x" * 256, None)


@pytest.mark.parametrize(
    ("counts", "broken"), [*((one, False) for one in WHOLE), *((one, True) for one in BROKEN)]
)
def test_counts_by_network_are_refused_as_the_schema_refuses_them(counts, broken):
    trial = with_networks(counts)
    assert refused(trial) is broken
    assert refused(shortened(trial)) is refused(trial)


def test_counts_by_network_that_are_whole_are_short_for_the_schema_alone():
    trial = with_networks([3] * 256)
    assert shortened(trial)["result"]["streams"][0]["sent_by_network"] == [3, 3]
    assert emptied(trial)["result"]["streams"][0]["sent_by_network"] == [3] * 256


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(junk, st.sampled_from(["buckets", "networks", "latency", "streams", "result", "stream", "whole"]))
def test_the_schema_says_the_same_of_any_trial(odd, where):
    trial = copy.deepcopy(TRIAL)
    match where:
        case "buckets":
            trial = with_buckets(odd)
        case "networks":
            trial = with_networks(odd)
        case "latency":
            trial["result"]["streams"][0]["latency"] = odd
        case "stream":
            trial["result"]["streams"][0] = odd
        case "streams":
            trial["result"]["streams"] = odd
        case "result":
            trial["result"] = odd
        case _:
            trial = odd
    assert refused(emptied(trial)) is refused(trial)
    assert refused(shortened(trial)) is refused(trial)
