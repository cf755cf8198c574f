"""The experiments of acts by id, as installed distributions offer them; ours come by the same door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from bmwg.methodology import offers
from bmwg.methodology.matrix import REMOVED, STARTED, Criterion, Place, Stage
from bmwg.methodology.records import BAREMETAL, POD, VM, Cell

GROUP = "bmwg.acts"
PATH = "pvp"  # with kernel-l3, of which it is known how many routers a frame passes
POLICY_PATH = "p2p"  # between two pods: what policies are for
DRAIN_PATH = "pvp-service"  # frames follow a pod that is placed anew
SERVER_PATH = "pvp-vm"  # the same of servers
MOVING_PATH = "pvp-moving"  # a guest that is at either of two nodes
SERVER_MOVING_PATH = "pvp-vm-moving"  # the same of a server
NODE_PATH = "node"  # a function in the node's own kernel
SWITCH_PATH = "switch"  # a switch alone


class Answer(StrEnum):
    """What the lives of an execution are counted as."""

    STARTS = "starts"  # the time of each from its request to its first frame
    RATE = "rate"  # lives in a second
    BATCHES = "batches"  # the time from the first request until all forward
    OUTAGES = "outages"  # the time of each without frames, there and back
    ATTEMPTS = "attempts"  # the share of starts that came to forward, and why others did not
    EXCHANGES = "exchanges"  # the time of each until frames come by the new configuration, and what it lost
    RESIZES = "resizes"  # the same of a size, there and back
    FIT = "fit"  # how many forward beside each other before one fails


THERE_AND_BACK = (Answer.OUTAGES, Answer.RESIZES)  # of acts by turns, whose ways have a figure each


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One experiment: the id of its test, the metric of its answers, and the hosting form of its path.

    `places` are where its answers stand in the matrix of RFC 8172. Runs are compared by it where it is a
    `headline`. A workload that lives on the path makes its lives.
    """

    test_id: str
    metric: str
    places: tuple[Place, ...]
    path: str = PATH
    hosting: str = POD
    answer: Answer = Answer.STARTS
    headline: bool = True

    @property
    def counts_failures(self) -> bool:
        """Whether a start that fails is part of the answer."""
        return self.answer in (Answer.ATTEMPTS, Answer.FIT)


_ROUND_IT = Place(stage=Stage.ACTIVATION, criterion=Criterion.ACCURACY, part="bypassed_frames")
_MANY = (
    Place(stage=Stage.ACTIVATION, criterion=Criterion.SCALE),
    Place(stage=Stage.DEACTIVATION, criterion=Criterion.SCALE, part="removal"),
)
_LIFE = (STARTED, REMOVED, _ROUND_IT)
_KEPT_UP = Place(stage=Stage.DEACTIVATION, criterion=Criterion.RELIABILITY)

START = Experiment(test_id="LC-START-1", metric="pod_start", places=_LIFE)
SCALE = Experiment(test_id="LC-SCALE-1", metric="pod_scale", places=(*_LIFE, *_MANY), answer=Answer.BATCHES)
CHURN = Experiment(test_id="LC-CHURN-1", metric="pod_churn", places=_LIFE, answer=Answer.RATE)
POLICY = Experiment(
    test_id="LC-POLICY-1",
    metric="policy_programming",
    places=(STARTED, REMOVED),
    path=POLICY_PATH,
    headline=False,
)
DRAIN = Experiment(
    test_id="LC-DRAIN-1",
    metric="node_drain",
    places=(_KEPT_UP, replace(_KEPT_UP, part="back")),
    path=DRAIN_PATH,
    answer=Answer.OUTAGES,
)
SERVER_START = Experiment(
    test_id="LC-START-2", metric="server_start", places=_LIFE, path=SERVER_PATH, hosting=VM
)
SERVER_BATCH = Experiment(
    test_id="LC-BATCH-1",
    metric="server_batch",
    places=(*_LIFE, *_MANY),
    path=SERVER_PATH,
    hosting=VM,
    answer=Answer.BATCHES,
)

_MOVED = Place(stage=Stage.OPERATION, criterion=Criterion.RELIABILITY, rows=("RFC8172-4.3-02",))
MIGRATE = Experiment(
    test_id="LC-MIGRATE-1",
    metric="guest_move",
    places=(_MOVED, replace(_MOVED, part="back")),
    path=MOVING_PATH,
    hosting=VM,
    answer=Answer.OUTAGES,
)
MIGRATE_SERVER = replace(MIGRATE, test_id="LC-MIGRATE-2", metric="server_move", path=SERVER_MOVING_PATH)

GUEST_START = Experiment(
    test_id="LC-START-3", metric="guest_start", places=_LIFE, path=MOVING_PATH, hosting=VM
)

POD_BESIDE = Experiment(test_id="LC-START-4", metric="pod_start_beside", places=_LIFE, headline=False)

STAND_UPS = Experiment(
    test_id="LC-FAIL-1",
    metric="pod_stand_up",
    places=(
        Place(stage=Stage.ACTIVATION, criterion=Criterion.RELIABILITY),
        replace(STARTED, part="start"),
        REMOVED,
    ),
    answer=Answer.ATTEMPTS,
    headline=False,
)
FIT = Experiment(
    test_id="LC-FIT-1",
    metric="pod_capacity",
    places=(Place(stage=Stage.ACTIVATION, criterion=Criterion.SCALE), replace(STARTED, part="start")),
    answer=Answer.FIT,
    headline=False,
)
_EXCHANGED = (
    STARTED,
    Place(stage=Stage.ACTIVATION, criterion=Criterion.ACCURACY, part="stale_frames"),
    Place(stage=Stage.OPERATION, criterion=Criterion.RELIABILITY, part="lost_frames"),
)
EXCHANGE_FILTERS = Experiment(
    test_id="LC-EXCHANGE-1",
    metric="filter_exchange",
    places=_EXCHANGED,
    path=NODE_PATH,
    hosting=BAREMETAL,
    answer=Answer.EXCHANGES,
)
EXCHANGE_FLOWS = Experiment(
    test_id="LC-EXCHANGE-2",
    metric="flow_exchange",
    places=_EXCHANGED,
    path=SWITCH_PATH,
    hosting=BAREMETAL,
    answer=Answer.EXCHANGES,
)
RESIZE = Experiment(
    test_id="LC-RESIZE-1",
    metric="guest_resize",
    places=(
        Place(stage=Stage.OPERATION, criterion=Criterion.SPEED),
        Place(stage=Stage.OPERATION, criterion=Criterion.SPEED, part="back"),
        Place(stage=Stage.OPERATION, criterion=Criterion.RELIABILITY, part="lost_frames"),
        Place(stage=Stage.OPERATION, criterion=Criterion.RELIABILITY, part="back.lost_frames"),
    ),
    path=MOVING_PATH,
    hosting=VM,
    answer=Answer.RESIZES,
)
RESIZE_SERVER = replace(RESIZE, test_id="LC-RESIZE-3", metric="server_resize", path=SERVER_PATH)
RESIZE_POD = replace(RESIZE, test_id="LC-RESIZE-2", metric="pod_resize", path=PATH, hosting=POD)
REPLICATE = replace(
    RESIZE_POD,
    test_id="LC-REPLICA-1",
    metric="replica_change",
    places=(
        *RESIZE.places,
        Place(stage=Stage.OPERATION, criterion=Criterion.SCALE, part="actual_replicas"),
    ),
)


@cache
def experiments() -> Mapping[str, Experiment]:
    """Return all installed experiments by id. Raises what `offers.load` raises."""
    return {name: offers.load(GROUP, name, f"experiment {name!r} of acts") for name in offers.names(GROUP)}


def experiment(name: str) -> Experiment:
    """Return an experiment. Raises ConfigError DRIVER-01."""
    found: Experiment = offers.load(GROUP, name, f"experiment {name!r} of acts")
    return found


def of_cell(cell: Cell) -> Experiment:
    """Return the experiment of a cell. Raises ConfigError DRIVER-01."""
    return experiment(str(dict(cell.axes)["experiment"]))


def hostings() -> Mapping[str, str]:
    """Return the paths on which any experiment is done, with their hosting forms."""
    return {one.path: one.hosting for one in experiments().values()}
