"""The kept runs and bundles of earlier commits: what each is, and its files, unpacked once a session."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

EVIDENCE = Path(__file__).parents[2] / "data" / "evidence"
COMMIT = "3ac94e6c001a528dff8e1529fc0d678fa8e55c18"
LATER = "77e44c9b324855cf4ee43bff6fa091a357b99c8e"
OF_2_0 = "a34196f4a445301e86072bd393ef0882921411ff"
JOINT = "65a546c2cecc1f80b870b0d98772ea8a5fcdec69"
OF_LOADS = "f5a6afe2b85c2806b503c53d21eb0adbc6b23ce5"
OF_STREAMS = "4520ddf63a384b62d35c93f1a666c7047737cd16"
FOLDER = EVIDENCE / COMMIT[:12]
SIGNER = FOLDER / "signer.pub"
_LATENCY = "latency.all_frames 3"
_RESTED = [f"throughput.rfc2544_26_1 {version}" for version in (4, 5, 6)]
LACKS_OF_REAL = [
    "kept-awake",
    "drivers-bound",
    "clause_rules 2",
    "clause_rules 3",
    "clause_rules 4",
    "clause_rules 5",
    "clause_rules 6",
    "clause_rules 7",
    "standing 2",
    "standing 3",
    "standing 4",
    "standing 5",
    "tester.envelope 3",
    _LATENCY,
    *_RESTED,
]
_MAXIMUM = ["frame_loss_ratio.rfc2544_26_3 3", "back_to_back.rfc9004 3"]
_CLOSED = [
    f"{name} {version}"
    for name in ("throughput.tst009_12_3", "conditional_throughput.rfc9971")
    for version in (3, 4, 5, 6)
]
LACKS_OF_PACKETS = [
    *LACKS_OF_REAL[: -1 - len(_RESTED)],
    *_RESTED,
    *_CLOSED,
    _LATENCY,
    "latency.rfc2544_26_2 3",
    "pdv.rfc8219_7_3_1 3",
    *_MAXIMUM,
]
LACKS_OF_SIMULATED = [
    "drivers-bound",
    "clause_rules 2",
    "clause_rules 3",
    "clause_rules 4",
    "clause_rules 5",
    "clause_rules 6",
    "clause_rules 7",
    "standing 2",
    "standing 3",
    "standing 4",
    "standing 5",
    "tester.envelope 3",
    *_RESTED,
    _LATENCY,
]
_DELAYS = [
    _LATENCY,
    "latency.rfc2544_26_2 3",
    "latency.rfc8219_7_2.typical 3",
    "pdv.rfc8219_7_3_1 3",
    "ipdv.rfc5481_4_1.sample 2",
]
_OF_BOTH_WAYS = ["system_recovery.rfc2544_26_5 3", "throughput_modified.rfc2544_11.broadcast 3"]
LACKS_OF_BOTH_WAYS = [
    "clause_rules 3",
    "clause_rules 4",
    "clause_rules 5",
    "clause_rules 6",
    "clause_rules 7",
    "standing 2",
    "standing 3",
    "standing 4",
    "standing 5",
    *_RESTED,
    *_DELAYS,
    *_OF_BOTH_WAYS,
]
LACKS_OF_2_0 = [
    "clause_rules 4",
    "clause_rules 5",
    "clause_rules 6",
    "clause_rules 7",
    "standing 3",
    "standing 4",
    "standing 5",
    *_RESTED,
]
LACKS_OF_SUITE = [
    *LACKS_OF_SIMULATED[:-1],
    *_CLOSED,
    *_DELAYS,
    *_MAXIMUM,
    *_OF_BOTH_WAYS,
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One archive. `findings` are the rules that its folder breaks, by the rules of its own time as well."""

    name: str
    sha256: str
    answers: int
    executions: int  # trials, or repetitions of requests
    bundles: tuple[str, ...] = ()
    lacks: tuple[str, ...] = tuple(LACKS_OF_REAL)
    findings: frozenset[str] = frozenset()
    commit: str = COMMIT

    @property
    def signer(self) -> Path:
        """The public key of whoever signed its bundles."""
        return EVIDENCE / self.commit[:12] / "signer.pub"


@cache
def unpacked(folder: Path, name: str) -> Path:
    """Unpack an archive below a folder, and return where its files are."""
    (archive,) = EVIDENCE.glob(f"*/{name}.tar.xz")
    shutil.unpack_archive(archive, folder)
    return folder


KEPT = (
    Kept(
        name="packets",
        sha256="4c2b6a4a973b3b0e8a432134b2527c762c89c7fee1e42b786327336894533b74",
        answers=12,
        executions=167,
        bundles=("unsigned", "signed", "redacted"),
        lacks=tuple(LACKS_OF_PACKETS),
    ),
    Kept(
        name="ladder",
        sha256="e722d63ddb456b29173dc9ddcb71a0a5d31714187bd6527dc04bd448321543e2",
        answers=5,
        executions=72,
        bundles=("signed",),
    ),
    Kept(
        name="step-down",
        sha256="79b05cb6eca15c75312775386f0231093df2b264b55e863d1f8cdbbb39762974",
        answers=5,
        executions=32,
    ),
    Kept(
        name="unstable",
        sha256="43cf45fac4fdbb80a872af993cdd2b3b1d146235de9722d68a9836a8066c63f6",
        answers=12,
        executions=168,
        lacks=tuple(LACKS_OF_PACKETS),
    ),
    Kept(
        name="resumed",
        sha256="8824ec1595d02854d5cf388a356cc9839c00fc217465c976413b2aac8e27d97a",
        answers=5,
        executions=33,
        bundles=("signed",),
    ),
    Kept(
        name="cut-off",
        sha256="852153788689e6131aeaef5e335c2925cdc0dc367a3b6839433124b7f88db482",
        answers=0,
        executions=20,
        lacks=(
            "kept-awake",
            "drivers-bound",
            "clause_rules 2",
            "clause_rules 3",
            "clause_rules 4",
            "clause_rules 5",
            "clause_rules 6",
            "clause_rules 7",
            "standing 2",
            "standing 3",
            "standing 4",
            "standing 5",
        ),
        findings=frozenset({"VER-02"}),
    ),
    Kept(
        name="simulated",
        sha256="8bdb2d6f8b8d41cd462df368316098b84eccf61e3eb380159da9235b6286a750",
        answers=34,
        executions=326,
        bundles=("unsigned",),
        lacks=tuple(LACKS_OF_SUITE),
    ),
    Kept(
        name="disturbed",
        sha256="b78f83a7cb3945c459fa6a49648f9258bd217f7b9421cb33c0bfb9ef13344f7c",
        answers=3,
        executions=356,
        lacks=tuple(LACKS_OF_SIMULATED),
    ),
    Kept(
        name="unqualified",
        sha256="eacfaa7a9f8ebb2c7854ee53cca54f8a5cea51c4611ea66235d03910037710c5",
        answers=3,
        executions=208,
        lacks=tuple(LACKS_OF_SIMULATED),
    ),
    Kept(
        name="http",
        sha256="1eb900ef99ccb0c01400cbac68bf02d9c99590f36f62864e0bfac72306fddd37",
        answers=12,
        executions=59,
        bundles=("unsigned", "signed", "redacted"),
        lacks=(
            "kept-awake",
            "drivers-bound",
            "one-journal",
            "clause_rules 2",
            "clause_rules 3",
            "clause_rules 4",
            "clause_rules 5",
            "clause_rules 6",
            "clause_rules 7",
            "standing 2",
            "standing 3",
            "standing 4",
            "standing 5",
        ),
    ),
    Kept(
        name="both-ways",
        sha256="c4e0fcbaf205893a52bafc08df37a32b7e45f2307579891673c66d831915685a",
        answers=9,
        executions=49,
        lacks=tuple(LACKS_OF_BOTH_WAYS),
        commit=LATER,
    ),
    Kept(  # the last of trial/1.0
        name="packets-former",
        sha256="a32a927d51599b65c2da7065d9e3c53aff4790d870a981fe2ab0e674f65df924",
        answers=12,
        executions=200,
        bundles=("unsigned", "signed", "redacted"),
        lacks=(
            "clause_rules 3",
            "clause_rules 4",
            "clause_rules 5",
            "clause_rules 6",
            "clause_rules 7",
            "standing 2",
            "standing 3",
            "standing 4",
            "standing 5",
            *_RESTED,
            *_CLOSED,
            _LATENCY,
            "latency.rfc2544_26_2 3",
            "pdv.rfc8219_7_3_1 3",
            "frame_loss_ratio.rfc2544_26_3 3",
            "back_to_back.rfc9004 3",
        ),
        commit=LATER,
    ),
    Kept(  # the last with a journal of its own
        name="http-former",
        sha256="2b2729c26e8294244d16370dcc54d280561a2915aff1b806de03f1edb2c8d51f",
        answers=12,
        executions=68,
        bundles=("unsigned", "signed", "redacted"),
        lacks=(
            "one-journal",
            "clause_rules 2",
            "clause_rules 3",
            "clause_rules 4",
            "clause_rules 5",
            "clause_rules 6",
            "clause_rules 7",
            "standing 2",
            "standing 3",
            "standing 4",
            "standing 5",
        ),
        commit=LATER,
    ),
    Kept(  # trial/2.0: every CPU watched, searches closed, one direction and both
        name="packets-2",
        sha256="9ad60453ce84f8536e4193d111613e3ab07c3329466c76b7768eb374b6179f13",
        answers=6,
        executions=61,
        lacks=(*LACKS_OF_2_0, *(f"throughput.tst009_12_3 {one}" for one in (4, 5, 6))),
        commit=OF_2_0,
    ),
    Kept(
        name="resumed-2",
        sha256="883d9b003b68fad8f016a260f9079a3bb5c8e56b460f610fd26cea13dbd54199",
        answers=3,
        executions=39,
        lacks=tuple(LACKS_OF_2_0),
        commit=OF_2_0,
    ),
    Kept(  # run/2.1, redacted: frames, requests and streams in one run
        name="joint-public",
        sha256="05213d0609035acb494202244559ab7d87a040031e75117377d0001a23469304",
        answers=14,
        executions=115,
        lacks=("clause_rules 6", "clause_rules 7", "standing 4", "standing 5"),
        commit=JOINT,
    ),
    Kept(  # streams of trial/2.0, redacted, with a break
        name="streams-public",
        sha256="c6cd21c82e49b42dfecb22513fa53a4d247be43c10fc0a1c6548aac6d991aee7",
        answers=6,
        executions=28,
        lacks=("clause_rules 6", "clause_rules 7", "standing 4", "standing 5"),
        commit=OF_STREAMS,
    ),
    Kept(  # run/2.1, redacted: frames over chains, the life of pods, and sizes of sockets
        name="loads-public",
        sha256="dbf63207aa6518fd737e9099ddedaa2febd878e388efcc9551aacd4dcb83d5d9",
        answers=41,
        executions=147,
        lacks=("clause_rules 6", "clause_rules 7", "standing 5", "throughput.rfc2544_26_1 6"),
        commit=OF_LOADS,
    ),
)
