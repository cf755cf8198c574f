"""The control channel to the embedded tester: JSON lines over a UNIX stream socket, replies checked."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from typing import Any

from bmwg.methodology.errors import DriverError
from bmwg.methodology.records import StreamCounts
from bmwg.methodology.trial.frame_times import LatencyHistogram, LossRun, LossTimes
from bmwg.methodology.trial.repeated_bursts import BurstTimes

REPLY_LIMIT_OCTETS = 4 * 1024 * 1024  # choice: a reply with every histogram bucket filled is below 500 kB


class TesterGoneError(Exception):
    """The tester closed the channel: it has died or been killed."""


class TesterLateError(Exception):
    """The tester did not answer within the deadline."""


class RefusalError(Exception):
    """The tester says no: `code` is its kind of reason, `text` the reason."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        self.text = text
        super().__init__(f"{code}: {text}")


def nonsense(what: str, found: object) -> DriverError:
    """TST-14: the tester answered what the protocol does not know."""
    return DriverError(
        "TST-14", f"embedded tester: {what}", expected="a reply of protocol 1", found=repr(found)[:200]
    )


class Channel:
    """One request, one reply, each under a deadline."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._buffer = b""
        self._next_id = 1

    def close(self) -> None:
        """Close our end; the tester then ends by itself."""
        self._socket.close()

    def request(self, command: str, arguments: Mapping[str, Any], *, deadline_s: float) -> Any:
        """Send one command and return its result.

        Raises RefusalError (the tester's reason), TesterGoneError, TesterLateError, or DriverError TST-14.
        """
        identity = self._next_id
        self._next_id += 1
        line = json.dumps({"id": identity, "command": command, "arguments": arguments}).encode() + b"\n"
        end_s = time.monotonic() + deadline_s
        try:
            self._socket.settimeout(deadline_s)
            self._socket.sendall(line)
        except TimeoutError as error:
            raise TesterLateError(command) from error
        except OSError as error:
            raise TesterGoneError(str(error)) from error
        return self._result(self._read_line(end_s, command), identity)

    def _read_line(self, end_s: float, command: str) -> bytes:
        while b"\n" not in self._buffer:
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                raise TesterLateError(command)
            self._socket.settimeout(left_s)
            try:
                received = self._socket.recv(65536)
            except TimeoutError as error:
                raise TesterLateError(command) from error
            except OSError as error:
                raise TesterGoneError(str(error)) from error
            if not received:
                raise TesterGoneError("the channel was closed")
            self._buffer += received
            if len(self._buffer) > REPLY_LIMIT_OCTETS:
                raise nonsense("reply too long", len(self._buffer))
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    @staticmethod
    def _result(line: bytes, identity: int) -> Any:
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise nonsense("no JSON", line) from error
        if not isinstance(reply, dict) or not ({"result", "error"} & set(reply)):
            raise nonsense("neither result nor error", reply)
        if "error" in reply:
            reason = reply["error"]
            if not isinstance(reason, dict):
                raise nonsense("an error without a reason", reply)
            raise RefusalError(str(reason.get("code")), str(reason.get("text")))
        if reply.get("id") != identity:
            raise nonsense(f"reply to request {reply.get('id')}, not {identity}", reply)
        return reply["result"]


def whole(reply: Mapping[str, Any], key: str) -> int:
    """The non-negative integer under `key`; TST-14 otherwise."""
    value = reply.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise nonsense(f"{key} is no count", value)
    return value


def read_histogram(reply: Mapping[str, Any], received_frames: int) -> LatencyHistogram:
    """The latency histogram of one stream; it must hold every received frame, in ascending buckets."""
    buckets: list[tuple[int, int, int]] = []
    for entry in reply["buckets"]:
        low, high, frames = entry
        if any(type(number) is not int for number in entry):
            raise nonsense("histogram bucket of no whole numbers", entry)
        if not 0 <= low <= high or frames < 1 or (buckets and low <= buckets[-1][1]):
            raise nonsense("histogram buckets out of order", entry)
        buckets.append((low, high, frames))
    ends = {key: None if reply[key] is None else whole(reply, key) for key in ("min_ns", "max_ns")}
    histogram = LatencyHistogram(buckets=tuple(buckets), sum_ns=whole(reply, "sum_ns"), **ends)
    if histogram.frames != received_frames:
        raise nonsense(f"histogram of {histogram.frames} frames", f"{received_frames} received")
    return histogram


def _time_or_none(reply: Mapping[str, Any], key: str) -> int | None:
    return None if reply[key] is None else whole(reply, key)


def read_losses(reply: Mapping[str, Any]) -> LossTimes:
    """When frames of one stream were lost; runs in order of their first frame, none of them empty."""
    longest = tuple(
        LossRun(
            first_frame=whole(run, "first_frame"),
            frames=whole(run, "frames"),
            before_ns=_time_or_none(run, "before_ns"),
            after_ns=_time_or_none(run, "after_ns"),
        )
        for run in reply["longest"]
    )
    past = 0
    for run in longest:
        if run.first_frame < past or run.frames < 1:
            raise nonsense("runs of missing frames out of order", run)
        past = run.first_frame + run.frames
    return LossTimes(
        runs=whole(reply, "runs"),
        first_received_frames=whole(reply, "first_received_frames"),
        longest=longest,
        reduced_at_ns=_time_or_none(reply, "reduced_at_ns"),
        last_lost_ns=_time_or_none(reply, "last_lost_ns"),
    )


def read_tagged(reply: Any, name: str = "tagged_ns") -> tuple[int | None, ...]:
    """Latency or time of sending of each tagged frame; None for one that never came."""
    if not isinstance(reply, list):
        raise nonsense(f"{name} is no list", reply)
    for value in reply:
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise nonsense(f"{name} holds no time", value)
    return tuple(reply)


def read_by_network(reply: Mapping[str, Any], name: str) -> tuple[int, ...]:
    """Frames to each destination network; none where the trial has one."""
    found = reply.get(name, [])
    if not isinstance(found, list):
        raise nonsense(f"{name} is no list", found)
    return tuple(whole({name: frames}, name) for frames in found)


def read_bursts(reply: Mapping[str, Any]) -> BurstTimes:
    """Repeated bursts as they left."""
    return BurstTimes(
        bursts=whole(reply, "bursts"),
        lengths_ns=whole(reply, "lengths_ns"),
        longest_ns=whole(reply, "longest_ns"),
        intervals_ns=whole(reply, "intervals_ns"),
        shortest_interval_ns=whole(reply, "shortest_interval_ns"),
    )


def read_stream(reply: Mapping[str, Any], *, largest_gap_ns: int) -> StreamCounts:
    """Counts of one direction, checked against each other as far as each trial must hold."""
    received_frames = whole(reply, "received_frames")
    counts = StreamCounts(
        intended_frames=whole(reply, "intended_frames"),
        sent_frames=whole(reply, "sent_frames"),
        received_frames=received_frames,
        duplicate_frames=whole(reply, "duplicate_frames"),
        reordered_frames=whole(reply, "reordered_frames"),
        corrupt_frames=whole(reply, "corrupt_frames"),
        foreign_frames=whole(reply, "foreign_frames"),
        largest_burst_frames=whole(reply, "largest_burst_frames"),
        largest_gap_ns=largest_gap_ns,
        largest_lateness_ns=whole(reply, "largest_lateness_ns"),
        effective_duration_ns=whole(reply, "effective_duration_ns"),
        latency=read_histogram(reply["latency"], received_frames),
        losses=read_losses(reply["losses"]) if "losses" in reply else None,
        tagged_ns=read_tagged(reply.get("tagged_ns", [])),
        tagged_at_ns=read_tagged(reply.get("tagged_at_ns", []), "tagged_at_ns"),
        sent_by_network=read_by_network(reply, "sent_by_network"),
        received_by_network=read_by_network(reply, "received_by_network"),
        bursts=read_bursts(reply["bursts"]) if "bursts" in reply else None,
    )
    if not counts.received_frames <= counts.sent_frames <= counts.intended_frames:
        raise nonsense("received <= sent <= intended does not hold", counts)
    return counts
