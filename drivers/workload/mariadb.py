"""MariaDB under sysbench's transactions as a workload of jobs: a database server and its client in one place.

Each execution has a database of its own, made anew, so that none finds what an earlier one left. The server
listens on a socket in the job's folder alone. sysbench's transactions are held against the commits that the
server counted. Ids: MARI-01 another version, MARI-02 an answer that is not as that version gives it, MARI-03
the server runs by other settings than it was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.containers import pod_programs
from bmwg.drivers.nodes import job_files
from bmwg.drivers.workload import sysbench
from bmwg.drivers.workload.of_jobs import JobsWorkload, OfJobs, failed
from bmwg.drivers.workload.of_programs import MEND
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec

PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb", "sysbench")
POOL_OCTETS = 64 << 20  # choice: what a pod of the embedded testbed (256 MiB) has room for, and all rows fit
_DATA = "./data"
_SOCKET = "mariadb.sock"  # in the folder of the data; a relative name, since a socket's may have 107 octets
_DATABASE = "bmwg"
_VERSION = re.compile(r"^(10|11)\.\d+\.\d+-MariaDB")  # of Debian 12 and 13 and Ubuntu 24.04
_PAGES = (4096, 8192, 16384, 32768, 65536)
_MADE_WITHIN_S = 60.0
_ASKED_WITHIN_S = 10.0
_SETTINGS = {  # what a server tells of itself, by what it is called in the record
    "version": "@@version",
    "page_octets": "@@innodb_page_size",
    "redo_log_octets": "@@innodb_log_file_size",
    "buffer_pool_octets": "@@innodb_buffer_pool_size",
    "flush_method": "@@innodb_flush_method",
    "flushed_commits": "@@innodb_flush_log_at_trx_commit",
}
_COMMITS = "SHOW GLOBAL STATUS LIKE 'Com_commit'"


class MariaDb(OfJobs):
    """mariadbd and sysbench, one of each an execution."""

    program: ClassVar[str] = "mariadbd"
    jobs: ClassVar[frozenset[str]] = frozenset({"oltp"})

    def probe(self) -> Missing | None:
        """Tell whether all its programs are on the nodes."""
        for node in self._nodes:
            for name in PROGRAMS:
                if node.call(pod_programs.missing, program=name):
                    return Missing(what=name, reason=f"not on node {node.name}", mend=MEND)
        return None

    def run(self, spec: JobsSpec, /) -> JobsResult:
        """Make a database, fill its table, run transactions on it for so long, and end the server.

        Raises ConfigError LOAD-03, TestbedError MARI-01, SYSB-01, DriverError MARI-02, MARI-03, SYSB-02,
        PROG-02, FILE-01.
        """
        self.require(spec)
        if spec.block_octets not in _PAGES or not spec.problem or not spec.size_octets:
            raise ConfigError(
                "LOAD-03",
                "workload mariadb; nothing was run",
                expected=f"rows (problem), a redo log (size_octets), pages (block_octets) of {_PAGES} octets",
                found=f"{spec.problem}, {spec.size_octets}, {spec.block_octets}",
            )
        made = failed("mariadb-install-db", self.ran(installing(spec), _MADE_WITHIN_S))
        if made is not None:
            return made
        with self._serving(spec):
            settings = effective(self._said(f"SELECT {', '.join(_SETTINGS.values())}"), spec)
            self._said(f"CREATE DATABASE {_DATABASE}")
            filled = failed("sysbench prepare", self.ran(client(spec, "prepare"), spec.within_s))
            if filled is not None:
                return filled
            before = commits(self._said(_COMMITS))
            ran = self.ran(client(spec, "run"), spec.within_s)
            found = sysbench.read(ran, spec)
            if found.faults:
                return found
            counted = commits(self._said(_COMMITS)) - before
        wrong = () if counted == found.counts["transactions"] else (_contradicts(counted, found),)
        return replace(found, effective={**settings, **found.effective, "commits": counted}, faults=wrong)

    @contextmanager
    def _serving(self, spec: JobsSpec) -> Iterator[None]:
        """Have the server run in the place while this is entered. Raises DriverError PROG-02, FILE-01."""
        job = self.attached
        node = job.place.node
        folder = f"/run/bmwg-mariadb/{job.place.pod_id}"
        command = ["env", f"--chdir={job.folder}", "LC_ALL=C", *server(spec)]
        started = node.call(pod_programs.start, command=command, folder=folder, mend=MEND, **job.place.entry)
        try:
            node.call_within(
                _MADE_WITHIN_S + 20.0,
                job_files.wait_for,
                folder=f"{job.on_node}/{_DATA}",
                name=_SOCKET,
                within_s=_MADE_WITHIN_S,
                **started,
                said_in=folder,
            )
            yield
        finally:
            by = job.place.entry.get("entered_by")
            node.call(pod_programs.stop, folder=folder, **started, of=job.place.pid, entered_by=by)

    def _said(self, statement: str) -> list[str]:
        """Return the fields of the one line that the server answers. Raises DriverError MARI-02."""
        ran = self.ran(asking(statement), _ASKED_WITHIN_S)
        lines = str(ran["output"]).splitlines()
        if ran["fault"] or ran["status"] != 0 or len(lines) > 1:
            raise _unreadable(str(ran["fault"] or ran["errors"] or ran["output"]))
        return lines[0].split("\t") if lines else []


def installing(spec: JobsSpec) -> list[str]:
    """Return the command that makes an empty database."""
    words = ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={_DATA}", "--skip-test-db"]
    return [*words, "--auth-root-authentication-method=normal", "--skip-name-resolve", *_asked(spec)]


def server(spec: JobsSpec) -> list[str]:
    """Return the server's command: each commit is on the disk before it is told."""
    words = ["mariadbd", "--no-defaults", "--user=root", f"--datadir={_DATA}", f"--socket={_SOCKET}"]
    return [*words, "--skip-networking", "--performance-schema=OFF", "--pid-file=mariadb.pid", *_asked(spec)]


def client(spec: JobsSpec, step: str) -> list[str]:
    """Return sysbench's command of a step: `prepare` or `run`."""
    words = ["sysbench", "oltp_read_write", "--db-driver=mysql", f"--mysql-socket={_DATA}/{_SOCKET}"]
    words += ["--mysql-user=root", f"--mysql-db={_DATABASE}", "--tables=1", f"--table-size={spec.problem}"]
    words += [f"--threads={spec.threads}", f"--time={spec.duration_s:g}", "--events=0", "--rand-seed=1"]
    return [*words, step]


def asking(statement: str) -> list[str]:
    """Return the command of one statement, answered in fields without names."""
    words = ["mariadb", "--no-defaults", f"--socket={_DATA}/{_SOCKET}", "--user=root"]
    return [*words, "--batch", "--skip-column-names", f"--execute={statement}"]


def _asked(spec: JobsSpec) -> list[str]:
    return [
        f"--innodb-page-size={spec.block_octets}",
        f"--innodb-log-file-size={spec.size_octets}",
        f"--innodb-buffer-pool-size={POOL_OCTETS}",
        f"--innodb-flush-method={_flush_method(spec)}",
        "--innodb-flush-log-at-trx-commit=1",
    ]


def _flush_method(spec: JobsSpec) -> str:
    return "O_DIRECT" if spec.direct else "fsync"


def effective(fields: Sequence[str], spec: JobsSpec) -> dict[str, int | str]:
    """Return a server's settings as it tells them.

    Raises TestbedError MARI-01, DriverError MARI-02, MARI-03.
    """
    if len(fields) != len(_SETTINGS):
        raise _unreadable("\t".join(fields))
    told: dict[str, int | str] = {
        name: int(field) if field.isdigit() else field for name, field in zip(_SETTINGS, fields, strict=True)
    }
    version = str(told.pop("version"))
    if not _VERSION.match(version):
        raise TestbedError(
            "MARI-01", "mariadbd: its version", expected="10 or 11", found=version[:60], hint=MEND
        )
    wanted: dict[str, int | str] = {
        "page_octets": spec.block_octets,
        "redo_log_octets": spec.size_octets,
        "buffer_pool_octets": POOL_OCTETS,
        "flush_method": _flush_method(spec),
        "flushed_commits": 1,
    }
    if told != wanted:
        name = next(name for name in wanted if told[name] != wanted[name])
        raise DriverError(
            "MARI-03",
            f"mariadbd: its {name.replace('_', ' ')}; nothing was measured",
            expected=str(wanted[name]),
            found=str(told[name]),
            hint="a redo log is a multiple of 4096 octets and has 1 MiB at least",
        )
    return {"mariadb": version, **told}


def commits(fields: Sequence[str]) -> int:
    """Return how many commits a server has counted. Raises DriverError MARI-02."""
    if len(fields) != 2 or fields[0] != "Com_commit" or not fields[1].isdigit():
        raise _unreadable("\t".join(fields))
    return int(fields[1])


def _contradicts(counted: int, found: JobsResult) -> str:
    return f"sysbench tells {found.counts['transactions']} transactions, the server counted {counted} commits"


def _unreadable(found: str) -> DriverError:
    return DriverError(
        "MARI-02",
        "mariadbd: its answer",
        expected="one line of fields as MariaDB 10 and 11 answer",
        found=" ".join(found.split())[:200] or "nothing",
        hint="another server may have been installed; nothing was concluded",
    )


_: type[JobsWorkload] = MariaDb
