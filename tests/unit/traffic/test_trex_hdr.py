"""TRex's fine latency histogram: what it holds comes out, and what is none is refused by name."""

import base64
import struct
import zlib

import pytest

from bmwg.drivers.traffic.trex.counts import ContradictionError, histogram
from bmwg.drivers.traffic.trex.hdr import FormError, decode


def number(value):
    """One signed number as the form writes it."""
    left = (value << 1) ^ (value >> 63)
    octets = b""
    while left >= 0x80 and len(octets) < 8:
        octets += bytes([left & 0x7F | 0x80])
        left >>= 7
    return octets + bytes([left])


def written(counts, *, cookie=0x1C849313, digits=3, ratio=1.0, cut=0):
    """The text of a histogram of such counts (negative: as many values that never came)."""
    body = b"".join(number(count) for count in counts)
    inner = struct.pack(">IIIIqqd", cookie, len(body), 0, digits, 1, 10_000_000, ratio) + body
    packed = zlib.compress(inner)[: -cut or None]
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed).decode()


def test_values_below_the_first_step_are_told_one_by_one():
    assert decode(written([-5, 7, -2, 1, 300])) == [(5, 5, 7), (8, 8, 1), (9, 9, 300)]


def test_values_beyond_it_share_buckets_of_three_digits():
    found = decode(written([-2047, 1, 2, -1023, 3, -1023, 4]))
    assert found == [(2047, 2047, 1), (2048, 2049, 2), (4096, 4099, 3), (8192, 8199, 4)]


def test_great_counts_are_whole():
    assert decode(written([1 << 40, (1 << 62) - 1])) == [(0, 0, 1 << 40), (1, 1, (1 << 62) - 1)]


def test_none_is_none():
    assert decode(written([])) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense!",
        base64.b64encode(b"\0" * 40).decode(),
        written([1], cookie=0x1C849301),
        written([1], cut=3),
        written([1], digits=9),
        written([1], ratio=2.0),
        written([-(1 << 40), 1]),
    ],
)
def test_what_is_no_histogram_is_refused(text):
    with pytest.raises(FormError):
        decode(text)


def test_the_record_has_every_frame_in_whole_microseconds():
    found = histogram({"hdrh": written([-5, 7, -2, 1]), "histogram": {"0": 8}}, 8)
    assert found.buckets == ((5_000, 5_999, 7), (8_000, 8_999, 1))
    assert found.max_ns == 8_999
    assert found.sum_ns == 7 * 5_499 + 8_499


def test_a_fine_histogram_that_misses_frames_yields_to_the_coarse_one():
    assert histogram({"hdrh": written([-5, 7]), "histogram": {"0": 8}}, 8).buckets == ((0, 9_999, 8),)
    assert histogram({"hdrh": written([-5, 7]), "histogram": {"0": 9}}, 8).buckets == ()


def test_a_spoilt_fine_histogram_is_a_contradiction():
    with pytest.raises(ContradictionError, match="fine latency"):
        histogram({"hdrh": written([1], cut=3), "histogram": {"0": 1}}, 1)
