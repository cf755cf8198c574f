"""Leaving whole lists out changes what the schema says of no trial."""

import copy
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bmwg.methodology.errors import ConfigError
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.checks import check_document
from bmwg.reports.store.long_lists import emptied, is_canonical, shortened

LATENCY = {"buckets": [1, 2, 3], "sum_ns": 3, "min_ns": 1, "max_ns": 2}
COUNTS = (
    *("intended_frames", "sent_frames", "received_frames", "duplicate_frames", "reordered_frames"),
    *("corrupt_frames", "foreign_frames", "largest_burst_frames", "largest_gap_ns"),
    *("largest_lateness_ns", "effective_duration_ns"),
)
TRIAL = {
    "schema": "trial/1.0",
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


TEXT = canonical(with_buckets([1, 2, 3, 40, 50, 6])).encode("ascii")
LIST = b'"buckets":[1,2,3,40,50,6]'


def told_canonical(text):
    """What is said of a text, and what comparing it with the whole canonical form says."""
    trial = json.loads(text)
    return is_canonical(trial, emptied(trial), text), canonical(trial).encode("ascii") == text


def test_a_text_is_canonical_whatever_its_lists_hold():
    assert LIST in TEXT
    for buckets in ([], [0], [1, 2, 3] * 500, [-1, 2, 3], [True], [1.5], [[1, 2]], ["1,2"], [10**30]):
        assert told_canonical(canonical(with_buckets(buckets)).encode("ascii")) == (True, True)


@pytest.mark.parametrize(
    "other",
    [
        b'"buckets":[1, 2,3,40,50,6]',
        b'"buckets":[1,2,3,40,50,6 ]',
        b'"buckets": [1,2,3,40,50,6]',
        b'"buckets":[1,2,3,4e1,50,6]',
        b'"buckets":[1,2,3,40.00,50,6]',
        b'"buckets":[1,2,3,40,50,-0]',
        b'"buckets":[1,2,3],"buckets":[1,2,3,40,50,6]',
        b'"bucket\\u0073":[1,2,3,40,50,6]',
        b'"buckets":[1,2,3,40,50,6],"a\\"buckets":[1,2]',
    ],
)
def test_another_text_of_the_same_trial_is_not_canonical(other):
    assert told_canonical(TEXT.replace(LIST, other)) == (False, False)


def test_lists_of_that_name_elsewhere_are_compared_as_well():
    trial = with_buckets([1, 2, 3])
    trial["host"] = {"buckets": [1, 2], 'a"buckets': [3, 4]}
    assert told_canonical(canonical(trial).encode("ascii")) == (True, True)
    assert told_canonical(canonical(trial).replace("[3,4]", "[3, 4]").encode("ascii")) == (False, False)
    told = canonical(trial).encode("ascii")
    assert not is_canonical(trial, emptied(trial), told.replace(b"[3,4]", b"[3,5]"))
    assert not is_canonical(trial, emptied(trial), told.replace(b"[1,2]", b"[1,3]"))


@given(
    st.integers(0, len(TEXT)),
    st.integers(0, 3),
    st.sampled_from([*b' ,:[]{}"-+.0123456789e\\', *b"buckets"]).map(lambda one: bytes([one])) | st.just(b""),
)
@example(TEXT.index(LIST) + len(LIST) - 1, 0, b" ")
@example(TEXT.index(LIST), 0, b" ")
def test_each_change_of_a_text_is_told_as_the_whole_form_tells_it(at, left_out, put):
    text = TEXT[:at] + put + TEXT[at + left_out :]
    try:
        trial = json.loads(text)
    except ValueError:
        return  # no JSON: no trial is read from it
    if not isinstance(trial, dict):
        return
    told, whole = told_canonical(text)
    assert told is whole
