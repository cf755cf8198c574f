"""Where cells are measured: three nodes and one hosting form on them, made anew for each form.

Daemons leave bridges and packet filters on the nodes they ran on. A form on nodes that another form was on
before would be measured with these in its path.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from bmwg.drivers import registry
from bmwg.drivers.api.instance import Hosting
from bmwg.drivers.places import forms
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.of_requests import RequestsWorkload
from bmwg.drivers.workload.row import Row
from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.kinds.requests.ip import V4
from bmwg.methodology.kinds.requests.records import KIND


class Stage:
    """The nodes of one form at a time. Each part is made when it is first asked for and kept until `close`.

    `open_row` makes the nodes that speak some versions of IP, `made` is told when it has. Ids: HBENCH-03 no
    form was set.
    """

    def __init__(
        self,
        open_row: Callable[[str], AbstractContextManager[Row]],
        ledger: Ledger,
        run_dir: Path,
        made: Callable[[], None],
    ) -> None:
        self._open_row = open_row
        self._ledger = ledger
        self._run_dir = run_dir
        self._made = made
        self._form, self._ip = "", V4
        self._stack = ExitStack()
        self._row: Row | None = None
        self._hosting: Hosting | None = None
        self._clients: dict[str, RequestsWorkload] = {}

    def set(self, form: str, ip: str = V4) -> None:
        """Have this form stand on nodes that no other was on: those of another form or of another version
        of IP are removed.
        """
        if (form, ip) != (self._form, self._ip):
            self.close()
            self._form, self._ip = form, ip

    def row(self) -> Row:
        """The nodes. Raises what making them raises; nothing stays then."""
        if self._row is None:
            self._row = self._stack.enter_context(self._open_row(self._ip))
            self._made()
        return self._row

    def probed(self) -> Hosting:
        """The form, nothing of it made. Raises ConfigError INST-01, ToolkitBug HBENCH-03."""
        if not self._form:
            raise ToolkitBug("HBENCH-03", "the nodes of a hosting form", expected="a form", found="none")
        row = self.row()
        return forms.hosting(self._form, node=row.proxy, place=row.place, ledger=self._ledger)

    def hosting(self) -> Hosting:
        """The form, entered."""
        if self._hosting is None:
            self._hosting = self._stack.enter_context(self.probed())
        return self._hosting

    def clients(self, workload: str) -> RequestsWorkload:
        """The driver of that name on the clients' node. Raises what `registry.workload` raises."""
        if workload not in self._clients:
            made: RequestsWorkload = registry.workload(workload, kind=KIND)(self.row(), self._run_dir)
            self._clients[workload] = self._stack.enter_context(made)
        return self._clients[workload]

    def close(self) -> None:
        """Remove all of it, clients and form before their nodes; whoever asks next gets new ones."""
        self._row, self._hosting, self._clients = None, None, {}
        self._stack.close()
