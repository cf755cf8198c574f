"""The native form: the program runs on the node itself; each further instance has a port of its own."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.drivers.api import JsonValue, Missing, Node
from bmwg.drivers.hosting import programs
from bmwg.drivers.hosting.instance import Limits, Place, Program, Sample, filled
from bmwg.drivers.ledger import Ledger


class NativeInstance:
    """One process (and what it starts) on the node."""

    def __init__(self, node: Node, name: str, endpoint: tuple[str, int], folder: str) -> None:
        self.name = name
        self.endpoint = endpoint
        self._node = node
        self._folder = folder
        self._process: dict[str, int] = {}

    def run(self, program: Program) -> None:
        """Write the program's files and start it."""
        address, port = self.endpoint
        given = {"folder": self._folder, "address": address, "port": port}
        files = {name: filled(text, **given) for name, text in program.files.items()}  # type: ignore[arg-type]
        command = [filled(word, **given) for word in program.command]  # type: ignore[arg-type]
        self._node.call(programs.require_free, address=address, port=port)
        self._node.call(programs.write_files, folder=self._folder, files=files)
        self._process = self._node.call(
            programs.start, command=command, folder=self._folder, packages=list(program.packages)
        )

    def sample(self) -> Sample:
        """What the process and its children use."""
        used = self._node.call(programs.sample, pid=self._process["pid"])
        return Sample(**used)

    def fault(self) -> str | None:
        """Say why the process no longer runs."""
        return self._node.call(programs.fault, folder=self._folder, **self._process)

    def stop(self) -> None:
        """End the process and remove its folder."""
        if self._process:
            self._node.call(programs.stop, folder=self._folder, **self._process)
            self._process = {}

    def describe(self) -> Mapping[str, JsonValue]:
        """Where it listens; the process is the node's own, without limits."""
        return {"name": self.name, "endpoint": list(self.endpoint), "limits": None}


class NativeHosting:
    """Programs on the node itself; nothing is shared between them."""

    def __init__(self, *, form: str, node: Node, place: Place, ledger: Ledger) -> None:
        self.form = form
        self._node = node
        self._place = place

    def __enter__(self) -> NativeHosting:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def probe(self) -> Missing | None:
        """Nothing can be missing but the program itself."""
        return None

    def prepare(self, program: Program) -> None:
        """Nothing comes before a process."""

    def start(self, program: Program, number: int, limits: Limits) -> NativeInstance:
        """Start the program on the next port of the node's address towards the clients."""
        name = f"native-{number}"
        endpoint = (self._place.client_address, program.port + number)
        # below the node's own /run: the run's folder is its owner's alone, and the program gives up root
        folder = f"/run/bmwg-instances/{name}-{self._place.token}"
        instance = NativeInstance(self._node, name, endpoint, folder)
        try:
            instance.run(program)
        except BaseException:
            instance.stop()
            raise
        return instance

    def describe(self) -> Mapping[str, JsonValue]:
        """What the form is."""
        return {"form": self.form, "runs": "a process on the node, one port for each instance"}
