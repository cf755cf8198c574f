"""The matrix of RFC 8172 section 4.4: in which of its cells an answer stands. Pure.

Every measurement of frames and every kind of load names the places of what it answers; the report fills the
matrix from these names. Documents that use the matrix (RFC 8204 section 5, VSPERF's Level Test Design) name
tests of their own: `rows` are the catalogue's rows for those that a measurement carries out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """A stage in the life of a function: the rows of the matrix (rfc8172-4.4)."""

    ACTIVATION = "activation"
    OPERATION = "operation"
    DEACTIVATION = "de-activation"


class Criterion(StrEnum):
    """By what a stage is judged: the columns; scale is one only where no result is told (rfc8172-4.4)."""

    SPEED = "speed"
    ACCURACY = "accuracy"
    RELIABILITY = "reliability"
    SCALE = "scale"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A cell of the matrix, and what of an answer stands in it.

    `part` is the name of values behind the answer's metric (`removal` for `pod_start.removal.p50`); empty for
    those that no other place of the answer names. `rows` are rows of the catalogue.
    """

    stage: Stage
    criterion: Criterion
    part: str = ""
    rows: tuple[str, ...] = ()


SPEED = Place(stage=Stage.OPERATION, criterion=Criterion.SPEED)
ACCURACY = Place(stage=Stage.OPERATION, criterion=Criterion.ACCURACY)
RELIABILITY = Place(stage=Stage.OPERATION, criterion=Criterion.RELIABILITY)
STARTED = Place(stage=Stage.ACTIVATION, criterion=Criterion.SPEED)
REMOVED = Place(stage=Stage.DEACTIVATION, criterion=Criterion.SPEED, part="removal")
