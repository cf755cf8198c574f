"""Everything that reads data from outside, as functions of octets: each takes it or refuses it by name.

An exception of another kind is a finding. `ToolkitBug` is one too: it says that we are wrong, not the input.
"""

import contextlib
import functools
import hashlib
import io
import json
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.seeds import (
    CNI_RESULTS,
    CONFLIST,
    PORTS,
    QCOW2,
    QMP,
    SIGHT,
    SPEC,
    TREX_HTTP,
    TREX_STATS,
    TRIAL,
)

from bmwg.drivers.machines.guest_image import layout
from bmwg.drivers.machines.qemu_monitor import Monitor
from bmwg.drivers.network import cni, plugins
from bmwg.drivers.network.conflist import parse as parse_network
from bmwg.drivers.network.exec import PluginRun
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded import protocol
from bmwg.drivers.traffic.embedded.result import read_result
from bmwg.drivers.traffic.trex import astf_counts
from bmwg.drivers.traffic.trex import channel as trex
from bmwg.drivers.traffic.trex import counts as trex_counts
from bmwg.drivers.traffic.watchdog.process import read_sight
from bmwg.drivers.undo import ledger
from bmwg.methodology.errors import ToolkitBug, ToolkitError
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.record.overlay import read_overlay
from bmwg.methodology.records import Validity
from bmwg.reports.bundle.archive import Archive, write_archive
from bmwg.reports.bundle.signing import read_envelope
from bmwg.reports.importers.read import read_foreign
from bmwg.reports.store import read_run
from bmwg.reports.store.canonical import canonical, sha256_of
from bmwg.reports.store.interruptions import describe
from bmwg.reports.store.journal import genesis, read_journal
from bmwg.reports.store.read import HEADER_KEYS
from bmwg.reports.verify.verify import verify_bundle

ROOT = Path(__file__).resolve().parents[2]
OLD_RUN = ROOT / "tests" / "data" / "runs" / "run-1.0"


@dataclass(frozen=True, kw_only=True)
class Target:
    """One reader: its name, the form of its inputs (see `mutate`), good ones, and how it is called."""

    name: str
    form: str
    seeds: tuple[bytes, ...]
    read: Callable[[bytes], object]


@functools.cache
def _place():
    """A folder in memory for the readers of files; it goes with the process."""
    folder = tempfile.TemporaryDirectory(
        prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    )
    return folder, Path(folder.name)


def _file(octets, name="input"):
    path = _place()[1] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(octets)
    return path


def _run_with(name, octets):
    """A folder of the old run with one file changed."""
    for file in OLD_RUN.iterdir():
        _file(octets if file.name == name else file.read_bytes(), f"run/{file.name}")
    return _place()[1] / "run"


def _text(octets):
    return octets.decode("utf-8", "replace")


def _rehashed_line(octets):
    """A journal line whose hash and place are right, whatever else it says."""
    try:
        body = json.loads(octets)
        body.pop("hash", None)
        body |= {"prev": sha256_of("fuzz"), "seq": 1}
        text = canonical(body)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return octets
    return f'{text[:-1]},"hash":"{hashlib.sha256(text.encode()).hexdigest()}"}}'.encode() + b"\n"


def _read_line(octets):
    content = read_journal(_file(_rehashed_line(octets)), sha256_of("fuzz"))
    for trial in content.trials:
        assert trial.result.streams is not None
        assert trial.validity is not Validity.VALID or trial.loss_ratio <= 1


def _read_run(octets):
    """A run whose header hash and journal are right, whatever else it says."""
    lines = b""
    try:
        run = json.loads(octets)
        digest = sha256_of({key: run[key] for key in HEADER_KEYS})
        prev = genesis(run["run_id"], digest)
        for line in (OLD_RUN / "trials.jsonl").read_bytes().splitlines():
            text = canonical({**{k: v for k, v in json.loads(line).items() if k != "hash"}, "prev": prev})
            prev = hashlib.sha256(text.encode()).hexdigest()
            lines += f'{text[:-1]},"hash":"{prev}"}}'.encode() + b"\n"
        run |= {"header_sha256": digest, "journal": {"trials": lines.count(b"\n"), "hash": prev}}
        octets = json.dumps(run).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    folder = _run_with("run.json", octets)
    (folder / "trials.jsonl").write_bytes(lines)
    read_run(folder)


def _read_ledger(octets):
    opened = ledger.Ledger(_file(octets, "ledger/ledger.jsonl"), index_dir=_place()[1] / "index")
    assert all(entry.kind in ledger.KINDS for entry in opened.pending)


def _read_index(octets):
    """Whatever stands in the index, no ledger is found by it: a file of that name would be cleaned up."""
    index = _place()[1] / "index"
    _file(octets.replace(b"ledger.jsonl", b"nothing"), "index/0123456789abcdef.json")
    assert list(ledger.at_work(index)) == []
    for failures in ledger.cleanup_all(index_dir=index).values():
        assert failures


def _read_note(octets):
    _file(octets, "noted/under_way.json")
    run = {"status": "running", "interruption": None, "ended_at": None}
    described = describe(
        _place()[1] / "noted",
        run,
        trials=1,
        last_sign_at="2026-01-31T08:00:00.000000Z",
        noticed_at="2026-01-31T08:00:01.000000Z",
        repairs=[],
    )
    json.dumps(described).encode()


def _plugin_run(octets, status):
    return PluginRun(exit_status=status, stdout=octets, stderr="", wall_time_s=0.0)


_CALL = cni._Call(
    plugin_dir="/usr/lib/cni", container_id="fuzz", netns="", interface="eth0", cni_args={}, deadline_s=1.0
)


def _read_cni_result(octets):
    network = parse_network(CONFLIST)
    for version in ("1.0.0", "0.4.0", "0.2.0"):
        with contextlib.suppress(ToolkitError):
            cni._result(_plugin_run(octets, 0), _CALL, network, "bridge", version)


def _read_cni_error(octets):
    cni._result(_plugin_run(octets, 7), _CALL, parse_network(CONFLIST), "bridge", "1.0.0")


def _exchange(octets):
    """One request to a tester that answers with these octets and goes away."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(1.0)
        with contextlib.suppress(TimeoutError):
            theirs.sendall(octets[:60_000] + b"\n")
        theirs.shutdown(socket.SHUT_WR)
        try:
            return protocol.Channel(ours).request("trial", {}, deadline_s=1.0)
        except (protocol.RefusalError, protocol.TesterGoneError, protocol.TesterLateError):
            return None


def _read_trial_reply(octets):
    reply = _exchange(octets)
    if reply is not None:
        result = read_result(SPEC, PORTS, reply, {})
        assert all(stream.received_frames <= stream.sent_frames for stream in result.streams)


def _read_trex_reply(octets):
    with contextlib.suppress(trex.RefusedError):
        trex.read_reply(octets)


def _read_trex_stats(octets):
    with contextlib.suppress(trex_counts.ContradictionError):
        reading = trex_counts.read(json_or_none(octets), (0, 1), ((7, 0, 1),))
        assert all(isinstance(number, int) for number in reading.still)


def _read_trex_http(octets):
    with contextlib.suppress(trex_counts.ContradictionError):
        reading = astf_counts.read(json_or_none(octets))
        assert all(isinstance(number, int) and number >= 0 for number in reading.still)


def _talk_qmp(octets):
    """A monitor whose QEMU says these octets and then nothing more."""
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.settimeout(1.0)
        with contextlib.suppress(TimeoutError):
            theirs.sendall(octets[:60_000])
        theirs.shutdown(socket.SHUT_WR)
        monitor = Monitor("fuzz", ours, deadline_s=1.0)
        try:
            monitor.execute("query-status", deadline_s=1.0)
        finally:
            monitor.close()


def _seed(document):
    return json.dumps(document, sort_keys=True).encode()


@functools.cache
def _bundle():
    from bmwg.reports.bundle.make import folder_evidence, make_bundle

    made = make_bundle(OLD_RUN, _place()[1] / "seed.bmwg.tar", evidence=folder_evidence(OLD_RUN), findings=[])
    return made.read_bytes()


def _read_bundle(octets):
    with contextlib.redirect_stdout(io.StringIO()):
        verify_bundle(_file(octets, "fuzz.bmwg.tar"), None)


@functools.cache
def _parts():
    with Archive(_file(_bundle(), "parts.bmwg.tar")) as archive:
        return {name: archive.octets(name) for name in archive.parts}


def _part_seeds():
    """Each part of a bundle behind a line with its name."""
    found = []
    for name, octets in _parts().items():
        one_line = _seed(json.loads(octets)) if name.endswith(".json") else octets  # to be changed as data
        found.append(_seed(name) + b"\n" + one_line)
    return tuple(found)


def _read_part(octets):
    """A bundle of right form with one part changed; its hashes are then wrong, which stops no reader."""
    line, _, content = octets.partition(b"\n")
    name = json_or_none(line)
    if isinstance(name, str) and name in _parts():
        path = _place()[1] / "part.bmwg.tar"
        path.unlink(missing_ok=True)
        write_archive(path, _parts() | {name: content})
        verify_bundle(path, None)


def _files(folder, pattern):
    return tuple(path.read_bytes() for path in sorted((ROOT / folder).glob(pattern)))


def targets():
    """All of them, by name."""
    trials = (OLD_RUN / "trials.jsonl").read_bytes()
    overlay = b"schema: overlay/1.0\ndeclared_by: a person\nfacts:\n  bios/changes: [SNC off]\n"
    entry = {"number": 1, "kind": "file", "place": {"kind": "local"}, "arguments": {"path": "/nowhere"}}
    note = {"after_trial": 1, "cell": "wire", "phase": "search", "load_fps": 5, "boot": ""}
    note["at"] = "2026-01-31T08:00:00.000000Z"
    error = {"cniVersion": "1.0.0", "code": 11, "msg": "not now", "details": "later"}
    listed = (
        Target(
            name="testbed",
            form="yaml",
            seeds=_files("testbeds", "*.yaml"),
            read=lambda o: load_testbed(_file(o)),
        ),
        Target(
            name="profile",
            form="yaml",
            seeds=_files("methodology/profiles", "*.yaml"),
            read=lambda o: parse_profile(_text(o), source="fuzz"),
        ),
        Target(name="overlay", form="yaml", seeds=(overlay,), read=lambda o: read_overlay(_text(o), "fuzz")),
        Target(
            name="journal",
            form="lines",
            seeds=(trials,),
            read=lambda o: read_run(_run_with("trials.jsonl", o)),
        ),
        Target(name="journal-line", form="json", seeds=tuple(trials.splitlines()[:3]), read=_read_line),
        Target(name="run", form="json", seeds=((OLD_RUN / "run.json").read_bytes(),), read=_read_run),
        Target(
            name="platform",
            form="json",
            seeds=((OLD_RUN / "platform.json").read_bytes(),),
            read=lambda o: read_run(_run_with("platform.json", o)),
        ),
        Target(name="ledger", form="lines", seeds=(_seed(entry) + b'\n{"done": 1}\n',), read=_read_ledger),
        Target(
            name="ledger-index",
            form="json",
            seeds=(_seed({"ledger": "/nowhere/x", "pid": 1, "start_ticks": 1}),),
            read=_read_index,
        ),
        Target(name="under-way", form="json", seeds=(_seed(note),), read=_read_note),
        Target(name="cni-result", form="json", seeds=tuple(map(_seed, CNI_RESULTS)), read=_read_cni_result),
        Target(name="cni-error", form="json", seeds=(_seed(error),), read=_read_cni_error),
        Target(
            name="cni-versions",
            form="json",
            seeds=(_seed({"cniVersion": "1.0.0", "supportedVersions": ["0.4.0", "1.0.0"]}),),
            read=lambda o: plugins.versions_of(Path("/fuzz"), _plugin_run(o, 0)),
        ),
        Target(
            name="conflist",
            form="json",
            seeds=(_seed(CONFLIST),),
            read=lambda o: parse_network(json_or_none(o)),
        ),
        Target(
            name="tester-trial",
            form="json",
            seeds=(_seed({"id": 1, "result": TRIAL}), _seed({"id": 1, "error": {"code": "a", "text": "b"}})),
            read=_read_trial_reply,
        ),
        Target(
            name="trex-reply",
            form="json",
            seeds=(_seed({"result": {"a": [1]}}), _seed({"error": {"type": "STLError", "text": "no"}})),
            read=_read_trex_reply,
        ),
        Target(name="trex-stats", form="json", seeds=(_seed(TREX_STATS),), read=_read_trex_stats),
        Target(name="trex-http", form="json", seeds=(_seed(TREX_HTTP),), read=_read_trex_http),
        Target(name="watch", form="json", seeds=(_seed(SIGHT),), read=read_sight),
        Target(name="qmp", form="lines", seeds=(b"\n".join(map(_seed, QMP)) + b"\n",), read=_talk_qmp),
        Target(name="disk-image", form="octets", seeds=(QCOW2,), read=lambda o: layout(o, len(o), "fuzz")),
        Target(name="bundle", form="octets", seeds=(_bundle(),), read=_read_bundle),
        Target(name="bundle-part", form="lines", seeds=_part_seeds(), read=_read_part),
        Target(
            name="signature",
            form="json",
            seeds=(
                _seed({"payload": "e30=", "payloadType": "x", "signatures": [{"keyid": "a", "sig": "AA=="}]}),
            ),
            read=read_envelope,
        ),
        Target(
            name="foreign",
            form="json",
            seeds=_files("tests/data/foreign", "*.json"),
            read=lambda o: read_foreign(_file(o)),
        ),
    )
    return {target.name: target for target in listed}


def json_or_none(octets):
    """Data for a reader that takes data."""
    try:
        return json.loads(octets)
    except (ValueError, RecursionError):
        return None


def refused(target, octets):
    """Have a target read an input; True when it refused it by name. What else it raises is a finding."""
    try:
        target.read(octets)
    except ToolkitBug:
        raise
    except ToolkitError:
        return True
    return False
