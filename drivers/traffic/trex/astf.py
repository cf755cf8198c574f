"""TRex's advanced stateful mode (ASTF) as a client for HTTP, and as its server where no real one answers.

With two ports TRex is both ends, and what is between may forward, never end TCP. With one it is the clients
alone and asks what stands at an address, a proxy before a real server for one. TRex has a TCP of its own;
its clients live at addresses that no kernel has, so their frames are nobody else's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, Any

from bmwg.drivers.api.protocols import JsonValue, TesterPort
from bmwg.drivers.traffic.embedded.ports import check_interface, check_port
from bmwg.drivers.traffic.trex.astf_counts import HttpReading, backwards, contradictions, read
from bmwg.drivers.traffic.trex.astf_load import HttpLoad, check, words
from bmwg.drivers.traffic.trex.astf_sent import HttpSent, span
from bmwg.drivers.traffic.trex.channel import ASTF_SESSION, Client, ClientProcess, RefusedError
from bmwg.drivers.traffic.trex.config import TrexConfig
from bmwg.drivers.traffic.trex.connection import Connection
from bmwg.drivers.traffic.trex.counts import ContradictionError
from bmwg.drivers.traffic.trex.server import Server, require_one_place
from bmwg.drivers.traffic.watchdog.process import Watch
from bmwg.methodology.errors import DriverError, TestbedError

QUIET_S = 1.2  # the server renews its counters every 0.5 s; they stand still when two renewals agree
LIMIT_S = 6.0
POLL_S = 0.3
STOP_BEGINNING = 1.1  # and TRex begins none beyond this
CLOSING_S = 1.0  # TRex keeps a connection that it closed for half a second
MARGIN_S = 5.0

ClientFactory = Callable[[TrexConfig, str | None, IO[bytes]], Client]


def start_client(config: TrexConfig, netns: str | None, log: IO[bytes]) -> Client:
    """The real client for this mode, in its own process."""
    return ClientProcess(config.client, netns=netns, log=log, script=ASTF_SESSION)


class _AstfConnection(Connection):
    """A client's standing with a server in this mode, whose ports come and go together."""

    mode = "ASTF"

    def __init__(self, config: TrexConfig, client: Client, ports: int) -> None:
        super().__init__(config, client)
        self._ports = ports

    def _wanted_ports(self) -> tuple[int, ...]:
        """All of them; a dummy counts as none."""
        return tuple(range(self._ports))

    def acquire(self) -> None:
        """Own all ports of the server; TREX-11 when somebody else does."""
        try:
            self._call("acquire", force=False)
        except RefusedError as error:
            raise TestbedError(
                "TREX-11",
                "ports of TRex's server; no traffic was sent",
                expected="ports that nobody owns",
                found=error.text,
                hint="another run or a console holds them; they are never taken by force",
            ) from error
        self._call("clear_profile", deadline_s=10.0)


class AstfTester:
    """TRex as HTTP clients. One instance, one server, used from one thread; left in order, nothing stays."""

    def __init__(
        self,
        config: TrexConfig,
        make_client: ClientFactory = start_client,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.config = config
        self._make_client = make_client
        self._sleep = sleep
        self._stack = ExitStack()
        self._client: Client | None = None
        self._server: Server | None = None
        self._watch: Watch | None = None
        self._ports: tuple[TesterPort, ...] = ()
        self._versions: dict[str, JsonValue] = {}
        self._loaded = False

    def __enter__(self) -> AstfTester:
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()

    @property
    def server_pid(self) -> int | None:
        """Process id of the server, or rather of what starts it; None when it was attached to."""
        return self._server.pid if self._server else None

    def attach(self, ports: Sequence[TesterPort]) -> None:
        """Start or reach a server on one port (clients) or two (clients, then servers) and own it."""
        self.detach()
        for port in ports:
            check_port(port, self.config.lab_ports)
            if port.io == "af_packet":
                check_interface(port, self.config.lab_ports)
        try:
            with ExitStack() as stack:
                self._open(tuple(ports), stack)
                self._stack = stack.pop_all()
        except BaseException:
            self.detach()
            raise

    def _open(self, ports: tuple[TesterPort, ...], stack: ExitStack) -> None:
        self.config.run_dir.mkdir(parents=True, exist_ok=True)
        log = stack.enter_context((self.config.run_dir / "trex-client.log").open("ab"))
        own = self.config.options.mode == "start"
        linux = all(port.io == "af_packet" for port in ports)
        if own:
            require_one_place(ports)
            self._server = Server(self.config, ports, stateful=True)
            stack.callback(self._server.stop)
        netns = ports[0].netns if own and linux else None
        client = self._make_client(self.config, netns, log)
        stack.callback(client.close)
        self.use(client, ports, stack, server=self._server)
        if linux:
            cpus = (*self.config.cpus, *self.config.watch_cpus) if own else ()
            devices = [port.device for port in ports]
            self._watch = Watch(cpus, netns=ports[0].netns, interfaces=devices, log=log)
            stack.callback(self._watch.close)

    def use(
        self, client: Client, ports: tuple[TesterPort, ...], stack: ExitStack, *, server: Server | None = None
    ) -> None:
        """Reach the server by a client that stands, and own its ports; they are given back with `stack`."""
        connection = _AstfConnection(self.config, client, len(ports))
        connection.open(server)
        stack.callback(connection.leave)
        connection.acquire()
        self._client, self._ports = client, ports
        self._versions = connection.versions

    def detach(self) -> None:
        """Let go of the server; one that we started ends."""
        self._stack.close()
        self._stack = ExitStack()
        self._client = self._server = self._watch = None
        self._ports = ()
        self._loaded = False

    def offer(self, load: HttpLoad) -> HttpSent:
        """Offer one load and count it; a TRex that dies, hangs or contradicts itself gives a `fault`."""
        if self._client is None:
            raise DriverError("TREX-05", "driver trex: no ports are attached", hint="attach() comes first")
        check(load)
        try:
            return self._offered(load)
        except ContradictionError as error:
            return HttpSent(load=load, reading=None, fault=str(error))
        except (RefusedError, DriverError) as error:
            if isinstance(error, DriverError) and error.error_id != "TREX-05":
                raise
            found = f"TRex was lost: {error.found}" if isinstance(error, DriverError) else f"TRex: {error}"
            if self._server is not None and (ended := self._server.ended):
                found = f"{found}; its server ended: {ended}"
            return HttpSent(load=load, reading=None, fault=found)

    def _offered(self, load: HttpLoad) -> HttpSent:
        if self._loaded:
            self._call("clear_profile", deadline_s=10.0)
        self._call("load_http", deadline_s=10.0, **words(load))
        self._loaded = True
        self._call("clear_stats", deadline_s=10.0)
        if any(self._reading().still):
            raise ContradictionError("counters of TRex that were just cleared are not zero")
        if self._watch:
            self._watch.arm()
        began_ns = time.monotonic_ns()
        grace_s = 2 * load.late_s + CLOSING_S
        begin_s = load.duration_s * STOP_BEGINNING
        self._call("start", deadline_s=15.0, mult=1, duration=begin_s, t_duration=grace_s)
        begun = self._call(
            "watch_begin",
            deadline_s=begin_s + MARGIN_S + 3 * self.config.options.reply_s,
            connections=load.connections,
            longest_s=begin_s + MARGIN_S,
            server_pid=self.server_pid,
        )
        longest_s = begin_s + grace_s + MARGIN_S
        seen = self._call(
            "watch",
            deadline_s=longest_s + 3 * self.config.options.reply_s,
            ports=[0, 1],
            longest_s=longest_s,
            server_pid=self.server_pid,
        )
        if seen["sending"]:
            self._call("stop", deadline_s=10.0)
        reading = self._settled()
        waited_ns = time.monotonic_ns() - began_ns
        sight = self._watch.read() if self._watch else None
        fault = ""
        if seen["sending"]:
            fault = f"TRex had not ended {longest_s:.1f} s after its start"
        elif self._server is not None and (ended := self._server.ended):
            fault = f"TRex's server ended: {ended}"
        else:
            fault = contradictions(load, reading, own_servers=len(self._ports) == 2)
        return HttpSent(
            load=load,
            reading=reading,
            beginning_ns=span(begun),
            waited_ns=waited_ns,
            sight=sight,
            devices=tuple(port.device for port in self._ports),
            fault=fault,
        )

    def _call(self, method: str, *, deadline_s: float, **arguments: Any) -> Any:
        assert self._client is not None
        return self._client.call(method, deadline_s=deadline_s, **arguments)

    def _reading(self) -> HttpReading:
        deadline_s = 3 * self.config.options.reply_s
        return read(self._call("get_traffic_stats", deadline_s=deadline_s, skip_zero=False))

    def _settled(self) -> HttpReading:
        """Read until nothing moved for `QUIET_S`; ContradictionError when that takes above `LIMIT_S`."""
        before = self._reading()
        quiet_s = waited_s = 0.0
        while quiet_s < QUIET_S:
            if waited_s > LIMIT_S:
                raise ContradictionError(f"counters of TRex still moved {LIMIT_S:.0f} s after its end")
            self._sleep(POLL_S)
            waited_s += POLL_S
            after = self._reading()
            if wrong := backwards(before, after):
                raise ContradictionError(wrong)
            quiet_s = quiet_s + POLL_S if after.still == before.still else 0.0
            before = after
        return before

    def describe(self) -> Mapping[str, JsonValue]:
        """Name, versions and settings, for the platform's record."""
        return {
            "driver": "trex",
            "mode": "ASTF",
            "started": self.config.options.mode,
            "versions": dict(self._versions),
            "cpus": list(self.config.cpus),
            "ring_frames": self.config.options.ring_frames,
            "nice": self.config.options.nice,
            "sides": "clients and servers" if len(self._ports) == 2 else "clients",
            "times": "sums in ticks of 10 ms, no percentiles",
            "ports": [{"name": port.name, "io": port.io, "device": port.device} for port in self._ports],
        }
