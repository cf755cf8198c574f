"""One execution of acts on the embedded testbed, of which nothing may be left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.contract.deploying import bed_in
from tests.contract.paths_support import traces

from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.workload.of_acts import Ground, OfActs
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec


def executed(
    kind: type[OfActs],
    planned: Any,
    spec: ActsSpec,
    folder: Path,
    standing: Callable[[Bed], object] = lambda bed: None,
) -> ActsResult:
    """Run it on a testbed of its own; what `standing` sees of that is afterwards as it was before."""
    with bed_in(folder) as bed:
        ground = Ground(bed=bed, cell=profile.of_frames(planned))
        workload = kind(ground)
        assert workload.probe() is None
        before = standing(bed), traces(bed.run_dir, bed.token)
        workload.attach((ground,))
        found = workload.run(spec)
        workload.detach()
        assert (standing(bed), traces(bed.run_dir, bed.token)) == before
    assert bed.undo.pending == ()
    return found
