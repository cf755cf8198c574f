"""Latencies as a server with `--hdrh` gives them: a high dynamic range histogram, compressed, in base64.

Every frame is in it, in whole microseconds rounded down and with three significant digits; TRex's own table
has one digit, and its greatest value leaves out the first frames of a stream. The form is the second version
of HdrHistogram's encoding: a header of forty octets, then counts by value, where a negative number stands
for as many values that never came.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator

_OUTER = struct.Struct(">II")
_INNER = struct.Struct(">IIIIqqd")
_OUTER_COOKIE, _INNER_COOKIE = 0x1C849304, 0x1C849303
_COOKIE_MASK = 0xFFFFFF0F  # the digit between states the width of a word, which this form does not use
_MOST_OCTETS = 1 << 22  # choice: four million octets of counts are no histogram of TRex's
_MOST_BITS = 63


class FormError(ValueError):
    """The text is no such histogram; the message says what is wrong."""


def decode(text: str) -> list[tuple[int, int, int]]:
    """Buckets (lowest and highest value of whole microseconds, frames), lowest first, none empty."""
    packed = _unpacked(text)
    cookie, length, offset, digits, least, _, ratio = _INNER.unpack_from(packed)
    if cookie & _COOKIE_MASK != _INNER_COOKIE or length != len(packed) - _INNER.size:
        raise FormError(f"cookie {cookie:#x} with {length} of {len(packed) - _INNER.size} octets")
    if offset or ratio != 1.0 or not 1 <= digits <= 5 or least < 1:
        raise FormError(f"offset {offset}, ratio {ratio}, {digits} digits, from {least} on")
    half_bits = (2 * 10**digits - 1).bit_length() - 1
    unit_bits = least.bit_length() - 1
    buckets = []
    index = 0
    for number in _numbers(packed[_INNER.size :]):
        if number > 0:
            shift = max(0, (index >> half_bits) - 1)
            if shift + unit_bits + half_bits > _MOST_BITS:
                raise FormError("values beyond 64 bits")
            low = (index - (shift << half_bits)) << (shift + unit_bits)
            buckets.append((low, low + (1 << (shift + unit_bits)) - 1, number))
        index += -number if number < 0 else 1
    return buckets


def _unpacked(text: str) -> bytes:
    try:
        outer = base64.b64decode(text, validate=True)
        cookie, length = _OUTER.unpack_from(outer)
        if cookie & _COOKIE_MASK != _OUTER_COOKIE or length != len(outer) - _OUTER.size:
            raise FormError(f"cookie {cookie:#x} with {length} of {len(outer) - _OUTER.size} octets")
        unpacker = zlib.decompressobj()
        packed = unpacker.decompress(outer[_OUTER.size :], _MOST_OCTETS)
    except (binascii.Error, struct.error, zlib.error) as error:
        raise FormError(str(error)) from error
    if len(packed) < _INNER.size or not unpacker.eof:
        raise FormError(f"{len(packed)} octets, cut short")
    return packed


def _numbers(octets: bytes) -> Iterator[int]:
    """Signed numbers of one to nine octets each, seven bits an octet, the ninth whole."""
    value = shift = 0
    for octet in octets:
        if shift == 56:
            value, last = value | octet << shift, True
        else:
            value, last = value | (octet & 0x7F) << shift, octet < 0x80
        shift += 7
        if last:
            yield (value >> 1) ^ -(value & 1)
            value = shift = 0
    if shift:
        raise FormError("the last number is cut short")
