"""What a run has made and how it is undone, written before it is made, so that a killed run can be undone.

A ledger is `ledger.jsonl` in the run's folder; an index below /var/lib/bmwg/ledgers (without root: below
~/.local/state/bmwg) lets `bmwg cleanup --all` find ledgers of any folder. An undo is a node function with
arguments as data, and idempotent: it is right whether the act happened, happened half or did not.

Ids: LEDGER-01 unreadable, LEDGER-02 unknown kind, LEDGER-04 the run is still going, LEDGER-05 the undo cannot
be written (the act must not happen), LEDGER-06 a file in the index that is no entry of it, LEDGER-07 no index
can be made.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.containers import oci
from bmwg.drivers.nodes import cgroups, process
from bmwg.drivers.nodes.here import LOCAL
from bmwg.drivers.nodes.host_namespace import ON_HOST
from bmwg.drivers.undo.ledger_format import Entry, read_entries, read_index
from bmwg.drivers.undo.undoing import KINDS, Undoing
from bmwg.methodology.errors import TestbedError, ToolkitBug, ToolkitError

FILE_NAME = "ledger.jsonl"


def _index_dir() -> Path:
    """Return where ledgers are listed: the machine's own place, or one of a user who is not root."""
    if os.geteuid() == 0:
        return Path("/var/lib/bmwg/ledgers")
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(state) / "bmwg" / "ledgers"


INDEX_DIR = _index_dir()
_NAMESPACES = {"namespace", ON_HOST}  # places that end with the process that holds them


class Ledger:
    """The ledger of one run; opening an existing file continues it."""

    def __init__(self, path: str | Path, *, index_dir: Path = INDEX_DIR) -> None:
        self.path = Path(path).absolute()
        self._index = index_dir / f"{hashlib.sha256(str(self.path).encode()).hexdigest()[:16]}.json"
        self._indexed = False
        self._pending, self._next = read_entries(self.path, KINDS)

    def before(self, kind: str, place: Mapping[str, JsonValue] = LOCAL, /, **arguments: JsonValue) -> int:
        """Write the undo of the act that follows, on disk when this returns; gives its number for `done`."""
        if kind not in KINDS:
            near = difflib.get_close_matches(kind, KINDS, 3)
            raise ToolkitBug(
                "LEDGER-02",
                f"ledger entry of kind {kind!r}",
                expected=", ".join(sorted(KINDS)),
                found=str(near),
            )
        entry = Entry(number=self._next, kind=kind, place=dict(place), arguments=arguments)
        self._write_index()
        self._append(
            {"number": entry.number, "kind": kind, "place": entry.place, "arguments": entry.arguments}
        )
        self._next += 1
        self._pending[entry.number] = entry
        return entry.number

    def done(self, number: int, note: str = "") -> None:
        """Note that the act was undone (or never happened)."""
        if number in self._pending:
            self._append({"done": number, "note": note} if note else {"done": number})
            del self._pending[number]
        if not self._pending:
            with contextlib.suppress(FileNotFoundError):
                self._index.unlink()
            self._indexed = False

    def require_ended(self) -> None:
        """TestbedError LEDGER-04 when the run that wrote this ledger is still going (another process)."""
        runner = read_index(self._index)
        if runner is None or runner["pid"] == os.getpid():
            return
        if process.same(runner["pid"], runner["start_ticks"]):
            raise TestbedError(
                "LEDGER-04",
                f"run folder {self.path.parent}",
                expected="a run that has ended",
                found=f"process {runner['pid']} still runs it",
                hint="nothing of it was touched; end that process first",
            )

    @property
    def pending(self) -> tuple[Entry, ...]:
        """What is not undone yet, oldest first."""
        return tuple(self._pending[number] for number in sorted(self._pending))

    def undo(self, number: int, nodes: Mapping[str, Node] | None = None) -> None:
        """Undo one act now and note it; raises what the undo raises, and then keeps the entry."""
        if number in self._pending:
            with contextlib.ExitStack() as stack:
                Undoing(nodes or {}, stack).run(self._pending[number])
            self.done(number)

    def undo_all(self, nodes: Mapping[str, Node] | None = None) -> list[str]:
        """Undo everything, newest first, past failures; returns one text a failure.

        `nodes` are the open nodes by name. With `None` the agents of namespace nodes are ended first: what
        was in their namespaces is then gone; the rest is undone from a namespace node of the clean-up's own.
        """
        failures = []
        with contextlib.ExitStack() as stack:
            undo = Undoing(nodes or {}, stack)
            entries = list(reversed(self.pending))
            if nodes is None:
                undo.end_agents(self.pending)
                # First what still acts; then pods: one that lost its node holds halves of interfaces, on
                # which a plugin's DEL fails, and succeeds once the pod's namespace is gone too.
                entries.sort(key=_order_without_nodes)
            for entry in entries:
                try:
                    self._undone_by(undo, entry, tolerant=nodes is None)
                except Exception as error:  # whatever it is, the others must not stay for it
                    said = (
                        str(error) if isinstance(error, ToolkitError) else f"{type(error).__name__}: {error}"
                    )
                    failures.append(f"{entry.kind} {json.dumps(entry.arguments, sort_keys=True)}: {said}")
        return failures

    def _undone_by(self, undo: Undoing, entry: Entry, *, tolerant: bool) -> None:
        """Undo one act and note it; `tolerant` of what a node that is gone has taken with it."""
        note = ""
        try:
            undo.run(entry)
        except (ToolkitError, OSError) as error:
            if not (tolerant and KINDS[entry.kind].tolerant and entry.place["kind"] in _NAMESPACES):
                raise
            note = f"its node was gone: {error}"
        self.done(entry.number, note)

    def _append(self, line: Mapping[str, JsonValue]) -> None:
        data = json.dumps(line, sort_keys=True).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new = not self.path.exists()
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                before = os.fstat(descriptor).st_size
                try:
                    if os.write(descriptor, data) != len(data):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.fsync(descriptor)
                except OSError:
                    os.ftruncate(descriptor, before)  # half a line would make the next one unreadable
                    raise
            finally:
                os.close(descriptor)
            if new:
                _sync_folder(self.path.parent)
        except OSError as error:
            raise TestbedError(
                "LEDGER-05",
                f"{self.path}: could not be written; what was to follow was not done",
                found=error.strerror or str(error),
                hint="free space on the results disk, then continue the run: finished trials are kept",
            ) from error

    def _write_index(self) -> None:
        if not self._indexed:
            try:
                self._index.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise TestbedError(
                    "LEDGER-07",
                    f"{self._index.parent}: the list of ledgers could not be made; nothing was started",
                    expected="a folder that can be written",
                    found=error.strerror or str(error),
                    hint="without root, name a folder of yours in XDG_STATE_HOME",
                ) from error
            temporary = self._index.with_suffix(f".{os.getpid()}")
            temporary.touch(mode=0o600)
            temporary.write_text(
                json.dumps(
                    {
                        "ledger": str(self.path),
                        "pid": os.getpid(),
                        "start_ticks": process.start_ticks(os.getpid()),
                    }
                )
            )
            temporary.rename(self._index)
            self._indexed = True
            _sync_folder(self._index.parent)


def _order_without_nodes(entry: Entry) -> int:
    if entry.kind == "owner":
        return 0
    return 1 if entry.kind == "pod" and entry.place["kind"] in _NAMESPACES else 2


def cleanup(run_dir: str | Path, *, index_dir: Path = INDEX_DIR) -> list[str]:
    """Undo what a run that ended somehow has left, from its ledger; returns one text a failure.

    Refuses a run that is still going.
    """
    path = Path(run_dir) / FILE_NAME
    if not path.exists():
        raise TestbedError("LEDGER-01", f"run folder {run_dir}", expected=f"a file {FILE_NAME}", found="none")
    ledger = Ledger(path, index_dir=index_dir)
    ledger.require_ended()
    failures = ledger.undo_all()
    ledger.done(-1)  # drops it from the index when nothing is pending
    return failures


def cleanup_all(*, index_dir: Path = INDEX_DIR) -> dict[str, list[str]]:
    """`cleanup` for every ledger in the index; failures by run folder. A ledger that is gone is dropped."""
    found: dict[str, list[str]] = {}
    for index in sorted(index_dir.glob("*.json")):
        runner = read_index(index)
        if runner is None:
            found[str(index)] = [
                f"LEDGER-06  {index} is no entry of the index: nothing was undone by it; remove it by hand"
            ]
            continue
        path = Path(runner["ledger"])
        if path.exists():
            try:
                found[str(path.parent)] = cleanup(path.parent, index_dir=index_dir)
            except (ToolkitError, OSError) as error:
                found[str(path.parent)] = [str(error)]
        else:
            index.unlink()
            found[str(path.parent)] = [
                f"LEDGER-01  {path} is gone: what that run made cannot be undone from it"
            ]
    return found


def at_work(index_dir: Path = INDEX_DIR) -> Iterator[Path]:
    """Folders of runs that have ended while pods or processes of theirs still run on this machine."""
    for index in sorted(index_dir.glob("*.json")):
        runner = read_index(index)
        if runner is None or process.same(runner["pid"], runner["start_ticks"]):
            continue
        path = Path(runner["ledger"])
        try:
            if not path.exists():
                continue
            pending = Ledger(path, index_dir=index_dir).pending
        except (OSError, TestbedError):
            continue  # `bmwg cleanup` says what is wrong with it
        if any(_works(entry) for entry in pending):
            yield path.parent


def _works(entry: Entry) -> bool:
    match entry.kind:
        case "owner":
            return bool(process.owned_pids(str(entry.arguments["owner"])))
        case "process":
            return process.same(entry.arguments["pid"], entry.arguments["start_ticks"])
        case "pod" | "lxc":
            return bool(cgroups.folders(oci.cgroup_of(str(entry.arguments["pod_id"]))))
        case _:
            return False


def remove_file(*, path: str) -> bool:
    """Node function: remove one file; `False` when there was none. Idempotent; never a folder."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
