"""Long lists of whole numbers, checked all at once: a trial may hold thousands.

The compiled schema looks at each number by itself, which takes longer than all the rest of recording a trial.
Writing them anew, only to compare texts, takes longer than all else of the canonical form.
"""

from __future__ import annotations

from typing import Any

from bmwg.reports.store.canonical import canonical

_BUCKETS = b'"buckets":['
_WHOLE_NUMBERS = b"0123456789,"
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


def is_canonical(trial: dict[str, Any], light: dict[str, Any], text: bytes) -> bool:
    """Whether `text`, from which `trial` was read, is its canonical form. `light` is the trial `emptied`.

    Raises ValueError and RecursionError as `canonical` does. JSON has one way to write a list of whole
    numbers with digits and commas alone. So it is enough to compare what stands around such lists: where
    trial and text are equal without them, the same lists were left out of both. Anything else is compared
    as a whole.
    """
    if canonical(light).encode("ascii") == _without_buckets(text):
        return True
    return canonical(trial).encode("ascii") == text


def _without_buckets(text: bytes) -> bytes:
    """Return a text of JSON without what is in lists of buckets that are digits and commas alone."""
    pieces = []
    start = 0
    while (found := text.find(_BUCKETS, start)) >= 0:
        inside = found + len(_BUCKETS)
        end = text.index(b"]", inside)
        whole = not text[inside:end].translate(None, _WHOLE_NUMBERS)
        pieces.append(text[start : inside if whole else end])
        start = end
    pieces.append(text[start:])
    return b"".join(pieces)
