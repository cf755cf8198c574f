"""Replies that contradict themselves are refused; the channel keeps its deadlines."""

import json
import socket
import threading

import pytest

from bmwg.drivers.traffic.embedded.protocol import (
    Channel,
    RefusalError,
    TesterGoneError,
    TesterLateError,
    read_losses,
    read_stream,
)
from bmwg.methodology.errors import DriverError


def stream(**changes):
    return {
        "intended_frames": 10,
        "sent_frames": 10,
        "received_frames": 9,
        "duplicate_frames": 0,
        "reordered_frames": 0,
        "corrupt_frames": 0,
        "foreign_frames": 0,
        "largest_burst_frames": 1,
        "largest_lateness_ns": 5,
        "effective_duration_ns": 1000,
        "latency": {"buckets": [[100, 100, 4], [101, 101, 5]], "sum_ns": 905, "min_ns": 100, "max_ns": 101},
    } | changes


def test_good_stream():
    counts = read_stream(stream(), largest_gap_ns=7)
    assert (counts.lost_frames, counts.latency.frames, counts.largest_gap_ns) == (1, 9, 7)


@pytest.mark.parametrize(
    "changes",
    [
        {"received_frames": 11},
        {"sent_frames": 11},
        {"sent_frames": -1},
        {"sent_frames": 9.5},
        {"sent_frames": True},
        {"duplicate_frames": None},
        {"latency": {"buckets": [[100, 100, 8]], "sum_ns": 1, "min_ns": 1, "max_ns": 1}},
        {"latency": {"buckets": [[101, 101, 5], [100, 100, 4]], "sum_ns": 1, "min_ns": 1, "max_ns": 1}},
    ],
)
def test_contradiction_is_refused(changes):
    with pytest.raises(DriverError, match="TST-14"):
        read_stream(stream(**changes), largest_gap_ns=0)


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    theirs.close()
    ours.close()


def answer_with(theirs, *lines):
    def serve():
        theirs.recv(65536)
        for line in lines:
            theirs.sendall(line)

    threading.Thread(target=serve, daemon=True).start()


def test_reply_in_pieces(pair):
    channel, theirs = pair
    answer_with(theirs, b'{"id": 1, "res', b'ult": {"x": 1}}\n')
    assert channel.request("hello", {}, deadline_s=2) == {"x": 1}


def test_refusal_has_code_and_text(pair):
    channel, theirs = pair
    answer_with(theirs, json.dumps({"id": 1, "error": {"code": "frame", "text": "no"}}).encode() + b"\n")
    with pytest.raises(RefusalError) as raised:
        channel.request("trial", {}, deadline_s=2)
    assert (raised.value.code, raised.value.text) == ("frame", "no")


@pytest.mark.parametrize("line", [b"nonsense\n", b"[]\n", b'{"id": 1}\n', b'{"id": 2, "result": 1}\n'])
def test_nonsense(pair, line):
    channel, theirs = pair
    answer_with(theirs, line)
    with pytest.raises(DriverError, match="TST-14"):
        channel.request("hello", {}, deadline_s=2)


def test_silence_and_death(pair):
    channel, theirs = pair
    with pytest.raises(TesterLateError):
        channel.request("hello", {}, deadline_s=0.1)
    theirs.close()
    with pytest.raises(TesterGoneError):
        channel.request("hello", {}, deadline_s=1)


LOSSES = {
    "runs": 3,
    "first_received_frames": 10,
    "reduced_at_ns": None,
    "last_lost_ns": 900,
    "longest": [
        {"first_frame": 4, "frames": 2, "before_ns": 100, "after_ns": 200},
        {"first_frame": 9, "frames": 1, "before_ns": 300, "after_ns": None},
    ],
}


def test_runs_of_missing_frames_are_read():
    losses = read_losses(LOSSES)
    assert [(run.first_frame, run.frames, run.after_ns) for run in losses.longest] == [
        (4, 2, 200),
        (9, 1, None),
    ]
    assert (losses.runs, losses.last_lost_ns, losses.reduced_at_ns) == (3, 900, None)


@pytest.mark.parametrize(
    "run",
    [
        {"first_frame": 5, "frames": 1, "before_ns": 0, "after_ns": 0},  # within the run before it
        {"first_frame": 9, "frames": 0, "before_ns": 0, "after_ns": 0},
        {"first_frame": 9, "frames": 1, "before_ns": -1, "after_ns": 0},
    ],
)
def test_runs_that_cannot_be_are_refused(run):
    with pytest.raises(DriverError, match="TST-14"):
        read_losses({**LOSSES, "longest": [LOSSES["longest"][0], run]})
