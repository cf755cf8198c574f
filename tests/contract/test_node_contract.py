"""One suite over every kind of node: what `drivers.api.Node` promises, on real nodes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.awake_support import gone, requests_of, spinners_of
from tests.contract.ssh_support import daemon_configuration, make_keys, ssh_options

from bmwg.drivers.api.protocols import Node
from bmwg.drivers.nodes import cgroups, probe
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.ports import interfaces, routing, sysctl
from bmwg.drivers.watch import awake
from bmwg.methodology.errors import DriverError, TestbedError

pytestmark = pytest.mark.root


def wrapper(path: Path, line: str) -> str:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """An sshd with keys of its own inside a namespace node; it ends with the test."""
    if not Path("/usr/sbin/sshd").exists():
        pytest.skip("needs sshd: apt-get install openssh-server")
    folder = tmp_path_factory.mktemp("ssh")
    make_keys(folder)
    (folder / "sshd_config").write_text(daemon_configuration(folder))
    with NamespaceNode("far") as host:
        enter = ["nsenter", f"--target={host.pid}", "--net", "--mount", "--uts"]
        subprocess.run([*enter, "mkdir", "-p", "/run/sshd"], check=True, timeout=5)
        daemon = subprocess.Popen(
            [*enter, "/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd_config")],
            stderr=(folder / "log").open("w"),
        )
        try:
            end_s = time.monotonic() + 10
            while "listening" not in (folder / "log").read_text():
                assert time.monotonic() < end_s, (folder / "log").read_text()
                assert daemon.poll() is None, (folder / "log").read_text()
                time.sleep(0.02)
            yield {"options": ssh_options(folder, host.pid), "host": host, "folder": folder}
        finally:
            daemon.terminate()
            daemon.wait(5)


@pytest.fixture(scope="module", params=["namespace", "ssh"])
def node(request: pytest.FixtureRequest) -> Iterator[Node]:
    if request.param == "namespace":
        with NamespaceNode("near") as opened:
            yield opened
    else:
        far = request.getfixturevalue("far")
        with SshNode("far", "root@bmwg-far", python=sys.executable, options=far["options"]) as opened:
            yield opened


def test_it_is_a_node_that_describes_itself(node: Node) -> None:
    assert isinstance(node, Node)
    assert node.describe()["kind"] in ("namespace", "ssh")


def test_the_function_runs_on_the_node(node: Node) -> None:
    here = {item["name"] for item in node.call(interfaces.listing)}
    assert here == {"lo"}
    assert node.call(probe.identify)["hostname"] == node.name
    assert node.call(probe.identify)["pid"] != os.getpid()


def test_builtins_cross_unchanged(node: Node) -> None:
    value = {"text": "ü\n", "list": [1, 2**70, -(2**31), 0.5, None, True], "nested": {"a": {"b": [b"\x00"]}}}
    assert node.call(probe.echo, value=value) == value


def test_sixteen_megabytes_cross(node: Node) -> None:
    value = "x" * (16 << 20)
    assert node.call(probe.echo, value=value) == value


def test_what_is_no_builtin_is_refused_and_the_node_lives(node: Node) -> None:
    for value in (object(), -(2**31) - 1):
        with pytest.raises(DriverError) as refused:
            node.call(probe.echo, value=value)
        assert refused.value.error_id == "NODE-05"
    with pytest.raises(DriverError) as returned:
        node.call(cgroups.folders, cgroup="/")
    assert returned.value.error_id == "NODE-05"
    assert node.call(probe.echo, value=1) == 1


def test_an_error_keeps_class_and_fields(node: Node) -> None:
    with pytest.raises(TestbedError) as caught:
        node.call(interfaces.up, interface="l0")
    assert caught.value.error_id == "LINK-01"
    assert caught.value.what == "interface l0"
    assert "lo" in caught.value.found


def test_an_unexpected_exception_shows_the_remote_traceback(node: Node) -> None:
    with pytest.raises(DriverError) as caught:
        node.call(interfaces.up, interfaces="lo")
    assert caught.value.error_id == "NODE-04"
    assert "TypeError" in caught.value.found
    assert len(caught.value.found.splitlines()) <= 13


@pytest.mark.parametrize(
    "function", ["os:system", "bmwg.drivers.nodes.agent:_run", "bmwg.no:thing", "bmwg.x"]
)
def test_only_public_functions_of_the_package_are_callable(node: Node, function: str) -> None:
    with pytest.raises(DriverError) as caught:
        node.call_named(function, {})
    assert caught.value.error_id == "NODE-06"


def test_output_of_a_function_does_not_disturb_the_channel(node: Node) -> None:
    assert node.call(probe.chatter) == "done"


def test_interfaces_routes_and_settings(node: Node) -> None:
    node.call(routing.add_bridge, bridge="br0")
    try:
        node.call(interfaces.add_address, interface="br0", address="198.18.0.1/24")
        node.call(interfaces.add_address, interface="br0", address="2001:2::1/64")
        node.call(interfaces.set_mtu, interface="br0", mtu_octets=9198)
        node.call(routing.set_neighbour, interface="br0", address="198.18.0.2", mac="02:00:00:00:00:02")
        node.call(routing.add_route, destination="198.19.0.0/16", via="198.18.0.2")
        for _ in range(2):
            node.call(routing.add_rule, incoming="br0", table=77, priority=77)
        bridge = next(item for item in node.call(interfaces.listing) if item["name"] == "br0")
        assert bridge["kind"] == "bridge"
        assert bridge["mtu_octets"] == 9198
        assert bridge["addresses"] == ["198.18.0.1/24", "2001:2::1/64"]  # and no link-local one
        routes = node.call(routing.routes)
        assert {"destination": "198.19.0.0/16", "via": "198.18.0.2", "interface": "br0"} in routes
        for _ in range(2):
            node.call(routing.remove_rule, incoming="br0", table=77, priority=77)
            node.call(routing.remove_route, destination="198.19.0.0/16")
            node.call(interfaces.remove_address, interface="br0", address="2001:2::1/64")
        assert node.call(routing.routes) == [{"destination": "198.18.0.0/24", "via": "", "interface": "br0"}]
        previous = node.call(routing.set_forwarding, enabled=True)
        assert node.call(sysctl.read, key="net.ipv4.ip_forward") == "1"
        node.call(sysctl.write_many, settings=previous)
        assert node.call(sysctl.read, key="net.ipv4.ip_forward") == previous["net.ipv4.ip_forward"]
    finally:
        assert node.call(interfaces.delete, interface="br0") is True
    assert node.call(interfaces.delete, interface="br0") is False


def test_an_unknown_setting_names_the_near_one(node: Node) -> None:
    with pytest.raises(TestbedError) as caught:
        node.call(sysctl.write, key="net.ipv4.ip_forwart", value="1")
    assert caught.value.error_id == "SYSCTL-01"
    assert "ip_forward" in caught.value.found


def test_a_deadline_breaks_the_node_for_good(request: pytest.FixtureRequest, node: Node) -> None:
    fresh: NamespaceNode | SshNode
    if isinstance(node, NamespaceNode):
        fresh = NamespaceNode("late")
    else:
        far = request.getfixturevalue("far")
        fresh = SshNode("late", "root@bmwg-far", python=sys.executable, options=far["options"])
    with fresh:
        begun_s = time.monotonic()
        with pytest.raises(DriverError) as caught:
            fresh.call_within(0.3, probe.pause, pause_s=60)
        assert caught.value.error_id == "NODE-03"
        assert time.monotonic() - begun_s < 3
        with pytest.raises(DriverError) as again:
            fresh.call(probe.echo, value=1)
        assert "exceeded its deadline of 0.3 s" in again.value.found
    assert node.call(probe.echo, value=2) == 2


@pytest.mark.parametrize("ended_by", ["close", "kill"])
@pytest.mark.parametrize("asked", ["pm_qos", "spin"])
def test_what_an_agent_keeps_awake_ends_with_it(
    request: pytest.FixtureRequest, node: Node, asked: str, ended_by: str
) -> None:
    fresh: NamespaceNode | SshNode
    if isinstance(node, NamespaceNode):
        fresh = NamespaceNode("awake")
    else:
        far = request.getfixturevalue("far")
        fresh = SshNode("awake", "root@bmwg-far", python=sys.executable, options=far["options"])
    with fresh:
        pid = fresh.call(probe.identify)["pid"]
        answer = fresh.call(awake.hold, asked=asked)
        if answer["held"] == "none":
            pytest.skip(f"this machine holds nothing: {answer['reason']}")
        assert answer["asked"] == asked
        spinners = spinners_of(pid)
        assert (requests_of(pid), len(spinners)) == (
            (1, 0) if answer["held"] == "pm_qos" else (0, len(answer["cpus"]))
        )
        if answer["held"] == "pm_qos":
            assert awake.limit_us() == awake.REQUEST_US
        if ended_by == "kill":
            os.kill(pid, signal.SIGKILL)
    assert gone([pid, *spinners])
    assert requests_of(pid) == 0


def test_an_agent_that_releases_holds_nothing_and_lives(node: Node) -> None:
    pid = node.call(probe.identify)["pid"]
    node.call(awake.hold, asked="pm_qos")
    node.call(awake.release)
    assert (requests_of(pid), spinners_of(pid)) == (0, [])
    assert node.call(probe.echo, value=1) == 1


def test_an_agent_refuses_a_way_to_keep_awake_that_it_does_not_know(node: Node) -> None:
    with pytest.raises(DriverError) as caught:
        node.call(awake.hold, asked="pm_qoss")
    assert caught.value.error_id == "NODE-04"
    assert "pm_qoss" in caught.value.found


def test_a_node_that_dies_during_a_call_is_named() -> None:
    with NamespaceNode("mortal") as mortal:
        with pytest.raises(DriverError) as caught:
            mortal.call(probe.die)
        assert caught.value.error_id == "NODE-03"
        assert "mortal" in caught.value.what


def test_another_version_is_refused(far: dict[str, object], tmp_path: Path) -> None:
    package = tmp_path / "bmwg" / "drivers" / "nodes"
    package.mkdir(parents=True)
    (tmp_path / "bmwg" / "__init__.py").write_text('__version__ = "0.0.1"\n')
    (tmp_path / "bmwg" / "drivers" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "agent.py").write_text("def serve(channel): pass\n")
    python = wrapper(tmp_path / "python", f'PYTHONPATH="{tmp_path}" exec {sys.executable} "$@"')
    with (
        pytest.raises(TestbedError) as caught,
        SshNode("old", "root@bmwg-far", python=python, options=far["options"]),
    ):
        pass
    assert caught.value.error_id == "NODE-02"
    assert "0.0.1" in caught.value.found


def test_an_absent_package_is_one_error(far: dict[str, object], tmp_path: Path) -> None:
    python = wrapper(tmp_path / "python", 'exec /usr/bin/python3 -S "$@"')
    with (
        pytest.raises(TestbedError) as caught,
        SshNode("bare", "root@bmwg-far", python=python, options=far["options"]),
    ):
        pass
    assert caught.value.error_id == "NODE-02"
    assert "bmwg" in caught.value.found


def test_a_host_key_that_is_not_known_is_refused(far: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    options = {**far["options"], "UserKnownHostsFile": str(tmp_path / "empty")}  # type: ignore[dict-item]
    with pytest.raises(TestbedError) as caught, SshNode("far", "root@bmwg-far", options=options):
        pass
    assert caught.value.error_id == "NODE-20"


INTERRUPTED = """
import signal, sys, time
from bmwg.drivers.nodes import probe
from bmwg.drivers.nodes.namespace import NamespaceNode
with NamespaceNode("dut1") as node:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("ready", flush=True)
    try:
        node.call_within(60, probe.pause, pause_s=60)
    except KeyboardInterrupt:
        begun = time.monotonic()
        assert node.call(probe.echo, value="torn down") == "torn down"
        assert time.monotonic() - begun < 5
        print("torn down", flush=True)
"""


def test_ctrl_c_reaches_the_runner_and_leaves_it_a_node_to_tear_down_with() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "ready\n"
        time.sleep(0.3)
        os.killpg(runner.pid, signal.SIGINT)  # what a terminal does: the whole group
        assert runner.stdout.read() == "torn down\n"
        assert runner.wait(10) == 0


def test_without_root_one_line_with_the_mend() -> None:
    script = (
        "import os\n"
        "from bmwg.drivers.nodes.namespace import NamespaceNode\n"
        "os.seteuid(65534)\n"
        "try:\n    NamespaceNode('dut1').__enter__()\n"
        "except Exception as error: print(error.error_id, error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.stdout == "NODE-10 run the command with sudo\n", done.stderr


def test_a_name_no_host_can_have_is_refused_and_leaves_no_agent() -> None:
    with pytest.raises(DriverError) as caught:
        NamespaceNode("n" * 100).__enter__()
    assert caught.value.error_id == "NODE-11"


def test_a_host_that_answers_and_starts_nothing_is_given_up_at_the_deadline(
    far: dict[str, object], tmp_path: Path
) -> None:
    slow = wrapper(tmp_path / "slow", "while read line; do :; done")
    node = SshNode("far", "root@bmwg-far", python=slow, options=far["options"])
    node.start_deadline_s = 1.0
    with pytest.raises(DriverError, match="NODE-20") as caught, node:
        pass
    assert caught.value.found == "a connection that stands, and silence"


@pytest.mark.slow
def test_a_host_that_answers_no_more_is_not_waited_for_until_the_deadline(
    far: dict[str, object], tmp_path: Path
) -> None:
    session = tmp_path / "session"
    line = f"echo $PPID > {session}; kill -STOP $PPID; while read line; do :; done"
    node = SshNode("far", "root@bmwg-far", python=wrapper(tmp_path / "stop", line), options=far["options"])
    try:
        with pytest.raises(TestbedError, match="NODE-20"), node:  # the connection ended by itself
            pass
    finally:
        os.kill(int(session.read_text()), signal.SIGKILL)
