"""An origin that can be told to fail: an Apache of its own on the servers' node, beside the plain one.

It serves the plain one's objects below `/fresh/`, `/stale/` and `/new/`, each under any name, and says of
each how long it may be kept. It fails as a program fails: it is ended, it answers each request with status
503, or all its processes are stopped, so that the kernel accepts connections and nothing is answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bmwg.drivers.api.instance import ADDRESS, FOLDER, PORT, Program, bracketed
from bmwg.drivers.places.instances import AgentsProgram
from bmwg.drivers.workload.apache import HEAD, MODULES, PACKAGES, object_name
from bmwg.methodology.kinds.requests.origin_failure import ERROR, REFUSES, STALE

if TYPE_CHECKING:
    from bmwg.drivers.workload.row import Row

PORT_NUMBER = 8081
KEPT_S = {STALE: 1}  # choice: the shortest that a header can say
KEPT_LONG_S = 86400  # choice: longer than any repetition
_FLAG = "failing"
_MODULES = ("mpm_event", "authz_core", "alias", "headers", "rewrite")
_CONFIG = (
    HEAD
    + """\
{modules}DocumentRoot {objects}
User www-data
Group www-data
DefaultRuntimeDir {folder}
KeepAliveTimeout 75
MaxKeepAliveRequests 0
ListenBacklog 4096
ThreadsPerChild 64
StartServers 4
ServerLimit 4
MaxRequestWorkers 256
MaxSpareThreads 256
AliasMatch "^/(?:fresh|stale|new)/[^/]+/([^/]+)$" "{objects}/$1"
Header set Cache-Control "max-age={long}"
<LocationMatch "^/stale/">
Header set Cache-Control "max-age={short}"
</LocationMatch>
RewriteEngine On
RewriteCond {folder}/{flag} -f
RewriteRule ^ - [R=503,L]
"""
)


def program(objects: str) -> Program:
    """Return it as it is started; `objects` is the folder of what it serves."""
    config = _CONFIG.format(
        folder=FOLDER,
        address=ADDRESS,
        port=PORT,
        modules="".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in _MODULES),
        objects=objects,
        long=KEPT_LONG_S,
        short=KEPT_S[STALE],
        flag=_FLAG,
    )
    return Program(
        name="apache2",
        command=("apache2", "-f", f"{FOLDER}/apache.conf", "-DFOREGROUND"),
        port=PORT_NUMBER,
        files={"apache.conf": config},
        packages=PACKAGES,
    )


class FailingOrigin:
    """It on the servers' node of a row."""

    def __init__(self, row: Row) -> None:
        self._node = row.server
        self._folder = f"/run/bmwg-origin-failing-{row.place.token}"
        made = program(f"{row.origin_folder}/objects")
        self._program = made.at(self._folder, row.addresses.servers.end, made.port)
        self.endpoint = row.addresses.servers.end, PORT_NUMBER
        self._fails = ""
        self._running = self._start()

    def _start(self) -> AgentsProgram:
        return AgentsProgram(self._node, self._program, self._folder)

    @property
    def told(self) -> dict[str, object]:
        """Evidence: how it is started."""
        return {"command": list(self._program.command), "files": self._program.told_files}

    def path(self, octets: int, of: str, name: str) -> str:
        """Return where it has an object of this size, class and name."""
        return f"/{of}/{name}/{object_name(octets)}"

    def url(self, path: str) -> str:
        """Return the whole of it, as a forward proxy is asked."""
        return f"http://{bracketed(self.endpoint[0])}:{self.endpoint[1]}{path}"

    def fail(self, how: str) -> None:
        """Have it fail until `restore`. Raises what the node raises; `restore` is due then as well."""
        self._fails = how
        if how == REFUSES:
            self._running.stop()
        elif how == ERROR:
            self._node.call(flag, folder=self._folder, there=True)
        else:
            self._running.hold(held=True)

    def restore(self) -> None:
        """Have it serve again. Idempotent."""
        how, self._fails = self._fails, ""
        if how == REFUSES:
            self._running = self._start()
        elif how == ERROR:
            self._node.call(flag, folder=self._folder, there=False)
        elif how:
            self._running.hold(held=False)

    def fault(self) -> str | None:
        """Say why it no longer runs; None of one that fails because it was told to."""
        return None if self._fails else self._running.fault()

    def stop(self) -> None:
        """End it, and remove its folder. Idempotent."""
        self._running.stop()


def flag(*, folder: str, there: bool) -> None:
    """Node function: have the file by which each request is answered with an error, or not."""
    file = Path(folder, _FLAG)
    if there:
        file.touch()
    else:
        file.unlink(missing_ok=True)


@contextmanager
def serving(row: Row) -> Iterator[FailingOrigin]:
    """Have it run on the servers' node of a row; end it on leaving."""
    running = FailingOrigin(row)
    try:
        yield running
    finally:
        running.stop()
