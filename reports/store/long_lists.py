"""Long lists of whole numbers, checked all at once: a trial may hold thousands.

The compiled schema looks at each number by itself, which takes longer than all the rest of recording a trial.
"""

from __future__ import annotations

from typing import Any

_BY_NETWORK = ("sent_by_network", "received_by_network")
_MOST_NETWORKS = 256  # of the schema


def shortened(trial: Any) -> Any:
    """Return a trial as `emptied` does, with the first two counts of each whole list by network."""
    light = emptied(trial)
    if light is trial:
        return trial
    streams = [_shortened(stream) for stream in light["result"]["streams"]]
    return {**light, "result": {**light["result"], "streams": streams}}


def _shortened(stream: Any) -> Any:
    short = {name: stream[name][:2] for name in _BY_NETWORK if name in stream and _of_counts(stream[name])}
    return {**stream, **short} if short else stream


def _of_counts(numbers: Any) -> bool:
    if type(numbers) is not list or not 2 <= len(numbers) <= _MOST_NETWORKS:
        return False
    return set(map(type, numbers)) == {int} and min(numbers) >= 0


def emptied(trial: Any) -> Any:
    """Return a trial as data, for its schema, without what is in lists of latency buckets of whole numbers.

    Any other list, and a trial of any other form, stays as it is: the schema then says what is wrong with it.
    """
    try:
        result = trial["result"]
        if type(result["streams"]) is not list:
            return trial
        streams = [_emptied(stream) for stream in result["streams"]]
        return {**trial, "result": {**result, "streams": streams}}
    except (TypeError, KeyError):
        return trial


def _emptied(stream: Any) -> Any:
    latency = stream["latency"]
    buckets = latency["buckets"]
    if type(buckets) is not list or not set(map(type, buckets)) <= {int}:
        return stream
    return {**stream, "latency": {**latency, "buckets": []}}
