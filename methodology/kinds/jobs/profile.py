"""A profile of the host suites: hosting forms, experiments with their numbers, and the plan. Pure.

Ids: JPROF-01 no such profile, JPROF-02 its file is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.kinds.jobs.records import KIND, JobsSpec
from bmwg.methodology.kinds.repeated.profile import Planned, Profiles, repetitions_of
from bmwg.methodology.records import GUEST, NOTHING, Cell
from bmwg.schemas.validation import near_hint

FORMAT = "jobs_profile/1.0"
SCHEMA = "jobs_profile"
TEST_IDS = ("HB-",)  # how the ids of all tests of these suites begin
PATH = "host"
ARCHITECTURE = "architecture"  # axis of cells in a guest of another architecture than its host's, by its name
PER_S, OCTETS_PER_S, FLOP_PER_S = "1/s", "octets/s", "flop/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What an experiment's program does, and the figures that it must tell, each with its unit.

    More is better of each figure. The first stands for the experiment where one number does. `on_disk`: it
    works on a file below the run's folder.
    """

    test_id: str
    workload: str
    job: str
    figures: Mapping[str, str]
    on_disk: bool = False


_FILES = {"written": OCTETS_PER_S, "rewritten": OCTETS_PER_S, "read": OCTETS_PER_S}
_WHOLE = {
    **dict.fromkeys(("characters_written", "characters_read"), OCTETS_PER_S),
    **dict.fromkeys(("seeks", "created", "deleted", "created_at_random", "deleted_at_random"), PER_S),
}
_MIXED = {"operations": PER_S, "read": OCTETS_PER_S, "written": OCTETS_PER_S}
_BANDWIDTH = dict.fromkeys(("copy", "scale", "add", "triad"), OCTETS_PER_S)
EXPERIMENTS = {  # by id, which is the metric's name too
    "sysbench_cpu": Experiment(test_id="HB-CPU-1", workload="sysbench", job="cpu", figures={"events": PER_S}),
    "sysbench_threads": Experiment(
        test_id="HB-THREADS-1", workload="sysbench", job="threads", figures={"events": PER_S}
    ),
    "linpack": Experiment(
        test_id="HB-LINPACK-1", workload="hpcc", job="hpl", figures={"operations": FLOP_PER_S}
    ),
    "nbench": Experiment(
        test_id="HB-NBENCH-1",
        workload="nbench",
        job="indexes",
        figures=dict.fromkeys(("memory_index", "integer_index", "floating_point_index"), "index"),
    ),
    "sysbench_memory": Experiment(
        test_id="HB-MEM-1", workload="sysbench", job="memory", figures={"written": OCTETS_PER_S}
    ),
    "stream": Experiment(test_id="HB-STREAM-1", workload="hpcc", job="stream", figures=_BANDWIDTH),
    "sysbench_fileio": Experiment(
        test_id="HB-FILEIO-1", workload="sysbench", job="fileio", figures=_MIXED, on_disk=True
    ),
    "bonnie": Experiment(test_id="HB-BONNIE-1", workload="bonnie", job="files", figures=_FILES, on_disk=True),
    "bonnie_whole": Experiment(
        test_id="HB-BONNIE-2", workload="bonnie", job="whole", figures=_WHOLE, on_disk=True
    ),
    "dd_write": Experiment(
        test_id="HB-DDW-1", workload="dd", job="write", figures={"written": OCTETS_PER_S}, on_disk=True
    ),
    "dd_read": Experiment(
        test_id="HB-DDR-1", workload="dd", job="read", figures={"read": OCTETS_PER_S}, on_disk=True
    ),
    "mariadb": Experiment(
        test_id="HB-OLTP-1",
        workload="mariadb",
        job="oltp",
        figures={"transactions": PER_S, "queries": PER_S},
        on_disk=True,
    ),
    "fio_write": Experiment(
        test_id="HB-FIO-1", workload="fio", job="write", figures={"written": OCTETS_PER_S}, on_disk=True
    ),
    "fio_read": Experiment(
        test_id="HB-FIO-2", workload="fio", job="randread", figures={"read": OCTETS_PER_S}, on_disk=True
    ),
}
_ASKED = ("threads", "duration_s", "size_octets", "block_octets", "problem", "direct", "within_s")
_AXES = ("workload", "job", "threads", "size_octets", "block_octets", "problem", "direct")
_SHORT = {"threads": "t", "size_octets": "o", "block_octets": "b", "problem": "n"}


def part_of(experiment: str, figure: str) -> str:
    """Return what names a figure behind its experiment's metric, a dot after it; empty of a single figure."""
    return f"{figure}." if len(EXPERIMENTS[experiment].figures) > 1 else ""


def first_part(experiment: str) -> str:
    """Return the same of the figure that stands for the experiment."""
    return part_of(experiment, next(iter(EXPERIMENTS[experiment].figures)))


def _plan(profile: Mapping[str, Any]) -> Iterator[Planned[JobsSpec]]:
    """Yield every cell, experiment by experiment, the forms of each in the profile's order."""
    for entry in profile["experiments"]:
        if (experiment := EXPERIMENTS.get(entry["id"])) is None:
            known = near_hint(entry["id"], EXPERIMENTS, f"there are {', '.join(EXPERIMENTS)}")
            raise ValueError(f"experiments: no {entry['id']!r}; {known}")
        spec = JobsSpec(
            workload=experiment.workload, job=experiment.job, **{name: entry[name] for name in _ASKED}
        )
        if experiment.on_disk and not (spec.size_octets and spec.block_octets):
            raise ValueError(f"{entry['id']}: it works on a file: size_octets and block_octets are wanted")
        for hosting in profile["hostings"]:
            architecture = profile.get("guest_architecture", "") if hosting == GUEST else ""
            yield Planned(
                test_id=experiment.test_id,
                metric=entry["id"],
                cell=cell_of(hosting, entry["id"], spec, architecture),
                spec=spec,
                asked=repetitions_of(profile),
            )


def cell_of(hosting: str, experiment: str, spec: JobsSpec, architecture: str = "") -> Cell:
    """Return the cell of an experiment in a form; a guest's `architecture` where a profile asks for one."""
    told: dict[str, int | str] = {"experiment": experiment}
    told |= {name: _axis(getattr(spec, name)) for name in _AXES}
    told |= {ARCHITECTURE: architecture} if architecture else {}
    sizes = [f"{getattr(spec, name)}{short}" for name, short in _SHORT.items() if getattr(spec, name)]
    words = [*(["direct"] if spec.direct else []), *([architecture] if architecture else [])]
    return Cell(
        kind=KIND,
        path=PATH,
        hosting=hosting,
        function=NOTHING,
        network=NOTHING,
        axes=tuple(told.items()),
        name="/".join((PATH, hosting, experiment, *sizes, *words)),
    )


def architecture_of(cell: Cell) -> str:
    """Return the architecture that a cell asks of its guest; empty: its host's."""
    return str(dict(cell.axes).get(ARCHITECTURE, ""))


def _axis(value: int | str | bool) -> int | str:
    return int(value) if isinstance(value, bool) else value


def cell_of_axes(axes: Mapping[str, Any]) -> Cell:
    """Return the cell of what a run's files say of it. Raises ValueError."""
    told = dict(axes["axes"])
    architecture = str(told.pop(ARCHITECTURE, ""))
    if architecture and axes["hosting"] != GUEST:
        raise ValueError(f"{ARCHITECTURE}: expected in form {GUEST} alone, found in {axes['hosting']}")
    if sorted(told) != sorted(("experiment", *_AXES)):
        raise ValueError(f"axes: expected {', '.join(('experiment', *_AXES))}, found {', '.join(told)}")
    if (axes["path"], axes["function"], axes["network"]) != (PATH, NOTHING, NOTHING):
        raise ValueError(f"path, function, network: expected {PATH}, {NOTHING}, {NOTHING}")
    known = {name: told[name] for name in _AXES}
    spec = JobsSpec(**{**known, "direct": bool(told["direct"]), "duration_s": 0.0, "within_s": 1.0})
    return cell_of(str(axes["hosting"]), str(told["experiment"]), spec, architecture)


PROFILES = Profiles(
    "JPROF-01",
    "JPROF-02",
    suites="host suites",
    schema=SCHEMA,
    folder="bmwg.methodology.kinds.jobs.profiles",
    cells=_plan,
    once=EXPERIMENTS,
)
