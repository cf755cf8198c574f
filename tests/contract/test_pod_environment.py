"""What programs in pods find of the environment of whoever started the run: no folders, no language."""

from __future__ import annotations

import pytest
from tests.contract.deploying import bed_in, embedded
from tests.contract.streams_support import needs, offered, spec

from bmwg.drivers import registry
from bmwg.drivers.workload.iperf3 import Iperf3
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.records import POD, Validity

pytestmark = needs("iperf3")
PATH = "client-server"


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    """A testbed whose agents have what such a user has set: a folder that no pod has."""
    with pytest.MonkeyPatch.context() as changed:
        for name in ("TMPDIR", "TEMP", "TMP"):
            changed.setenv(name, str(tmp_path_factory.mktemp("temporary")))
        changed.setenv("LC_ALL", "de_DE.UTF-8")
        with bed_in(tmp_path_factory.mktemp("run"), embedded(io="af_xdp")) as made:
            yield made


@pytest.mark.parametrize("hosting", [POD, "lxc"])
def test_a_server_in_a_pod_makes_its_files_where_the_pod_has_room_for_them(bed, hosting):
    cell = profile.cell_of(PATH, "bridge", "socket_sizes_twin", spec(), hosting)
    path = registry.load(registry.PATH, PATH)(cell, bed)
    if missing := path.probe_pods():
        pytest.skip(f"{missing.what}: {missing.reason}; {missing.mend}")
    with path.between_pods() as between:
        made = Iperf3([bed.node("dut1"), bed.node("dut2")])
        made.attach(between.ends)
        for end in between.ends:
            said = made.asked(end, ["sh", "-c", "echo ${TMPDIR-no} ${TEMP-no} ${TMP-no} $LC_ALL"], 5.0)
            assert said["output"].split() == ["no", "no", "no", "C"]
        found = offered(made, between, spec())
        assert found.faults == ()
        assert STREAMS.assessed(spec(), found).validity is Validity.VALID, found
