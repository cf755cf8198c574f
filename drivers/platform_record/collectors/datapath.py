"""What frames really pass: bridges, routes, tc filters and BPF programs, CNI plugins, virtual switches."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from bmwg.drivers.function.tables import TABLE as FUNCTION_TABLE
from bmwg.drivers.platform_record.collectors.hosting import ends, of_a_run
from bmwg.drivers.platform_record.collectors.system import packages, without_secrets
from bmwg.drivers.platform_record.values import (
    Group,
    JsonValue,
    NotApplicable,
    Unread,
    entries,
    line,
    number_list,
    processes,
)

_PLUGIN_FOLDERS = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")
_PACKAGE = "containernetworking-plugins"  # whose plugins lie in /usr/lib/cni
_CONFIGURATIONS = "/etc/cni/net.d"
_OF_A_PORT = re.compile(r"(?:tap|brq)[0-9a-f]{8}-[0-9a-f]{2}|neutron-linuxbri-[a-z][0-9a-f]{8}-[0-9a-f]")
_LIMIT = (
    512  # choice: rows of a table that stand in a record; beyond it the record gives their number and hash
)


def datapath(group: Group) -> None:
    """Layer 2 and 3 forwarding state of the network namespace."""
    group.take("bridges", "netlink", "RTM_GETLINK", lambda: _bridges(group.source.netlink("links")))
    group.take("routes", "netlink", "RTM_GETROUTE", lambda: _bounded(group.source.netlink("routes")))
    group.take(
        "queueing", "netlink", "RTM_GETQDISC", lambda: _bounded(_set_by_hand(group.source.netlink("qdiscs")))
    )
    group.take("filters", "netlink", "RTM_GETTFILTER", lambda: _bounded(group.source.netlink("filters")))
    group.take("firewall", "command", "nft --json list ruleset", lambda: _firewall(group))


def _bounded(rows: Any) -> Any:
    if not isinstance(rows, list):
        raise ValueError(f"no table: {rows!r}"[:100])
    if len(rows) <= _LIMIT:
        return rows
    return {
        "rows": len(rows),
        "sha256": hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest(),
    }


def _bridges(links: Any) -> dict[str, list[str]]:
    names = {link["index"]: str(link["name"]) for link in links}
    found: dict[str, list[str]] = {
        str(link["name"]): [] for link in links if link["kind"] in ("bridge", "openvswitch")
    }
    for link in links:
        if (master := names.get(link["master"])) in found:
            found[str(master)].append(str(link["name"]))
    return {name: sorted(ports) for name, ports in found.items()}


def _set_by_hand(rows: Any) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] not in ("noqueue", "mq", "pfifo_fast", "fq_codel")]


def _firewall(group: Group) -> Any:
    try:
        rules = [
            rule for command in _listings(group) for rule in json.loads(group.source.run(command))["nftables"]
        ]
    except Unread as reason:
        if "not installed" in str(reason):
            raise Unread("nft is not installed: packet filter rules could not be listed") from None
        raise
    told = [_without_counters(rule) for rule in rules if "metainfo" not in rule]
    return _counted(_in_force(told))


def _listings(group: Group) -> list[list[str]]:
    """Return the commands that list all rules, but not those of a function that is measured.

    These may be 100,000; the deployment's evidence has their hash, and their counters that they are in force.
    """
    command = ["nft", "--json", "list"]
    tables = group.source.netlink("tables")
    if all(table["name"] != FUNCTION_TABLE for table in tables):
        return [[*command, "ruleset"]]
    return [
        [*command, "table", table["family"], table["name"]]
        for table in tables
        if table["name"] != FUNCTION_TABLE
    ]


def _in_force(told: list[Any]) -> list[Any]:
    """Leave out chains of no hook without a rule: they do nothing, and kube-proxy leaves those of a removed
    Service behind until it writes again.
    """
    with_rules = {_of_chain(entry["rule"], "chain") for entry in told if "rule" in entry}
    return [
        entry
        for entry in told
        if "chain" not in entry or "hook" in entry["chain"] or _of_chain(entry["chain"], "name") in with_rules
    ]


def _of_chain(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return str(entry.get("family")), str(entry.get("table")), str(entry.get(key))


def _counted(bare: list[Any]) -> dict[str, JsonValue]:
    """Rules that name a port of Neutron's are counted, not hashed: its names and addresses are drawn anew."""
    fixed = [rule for rule in bare if not _OF_A_PORT.search(json.dumps(rule))]
    of_ports: dict[str, JsonValue] = {"of_ports": len(bare) - len(fixed)} if len(fixed) < len(bare) else {}
    if not fixed:
        return {"rules": len(bare), **of_ports}
    digest = hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()
    return {"rules": len(bare), **of_ports, "sha256": digest}


def _without_counters(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _without_counters(value) for key, value in node.items() if key not in ("counter", "handle")
        }
    return [_without_counters(entry) for entry in node] if isinstance(node, list) else node


def cni(group: Group) -> None:
    """The node's CNI plugins (hash, version) and configurations. A run's own plugins come with its
    deployments.
    """
    found = cni_files(group)

    def version() -> dict[str, str]:
        folder = sorted(found)[0].rsplit("/", 1)[0] if found else ""
        for name in ("bridge", "loopback", "host-local"):
            path = f"{folder}/{name}"
            if path in found:
                # the plugins tell it on standard error
                said = group.source.run(
                    ["sh", "-c", 'exec "$0" --version 2>&1 </dev/null', path]
                ).splitlines()
                answer = {"plugin": said[0] if said else "nothing said"}
                package = packages(group.source).get(_PACKAGE) if folder == "/usr/lib/cni" else None
                if package:
                    answer["package"] = f"{_PACKAGE} {package}"
                return answer
        if not found:
            raise NotApplicable("no CNI plugin")
        raise Unread("none of the reference plugins that tell their version is there")

    group.take("version", "command", "bridge --version, dpkg-query", version)


def cni_files(group: Group) -> dict[str, Any]:
    """Hashes of the node's CNI plugins and configurations, without asking any plugin. Returns the plugins."""

    def plugins() -> dict[str, Any]:
        found = {}
        for folder in _PLUGIN_FOLDERS:
            for name in entries(group.source, folder):
                found[f"{folder}/{name}"] = {"sha256": group.source.digest(f"{folder}/{name}")}
        if not found:
            raise NotApplicable(f"no CNI plugin in {', '.join(_PLUGIN_FOLDERS)}")
        return found

    def configurations() -> dict[str, Any]:
        found = {}
        for name in entries(group.source, _CONFIGURATIONS):
            if name.endswith((".conf", ".conflist", ".json")):
                text = group.source.read_file(f"{_CONFIGURATIONS}/{name}")
                found[name] = {
                    "sha256": hashlib.sha256(text.encode()).hexdigest(),
                    "plugins": _types(json.loads(text)),
                }
        if not found:
            raise NotApplicable(f"no configuration in {_CONFIGURATIONS}")
        return found

    found = group.take("plugins", "file", ", ".join(_PLUGIN_FOLDERS), plugins)
    group.take("configurations", "file", _CONFIGURATIONS, configurations)
    return found if isinstance(found, dict) else {}


def cni_of_deployment(group: Group, told: Mapping[str, Any]) -> None:
    """What attached a deployment's workloads: the plugins that were executed, hashed now, and what they were
    asked for.
    """
    folder, types = str(told["plugin_dir"]), told["types"]

    def plugins() -> dict[str, Any]:
        return {f"{folder}/{name}": {"sha256": group.source.digest(f"{folder}/{name}")} for name in types}

    group.take("plugins", "file", folder, plugins)
    group.take("version", "declared", "the run's CNI runtime", lambda: {"specification": told["version"]})
    group.take(
        "configurations", "declared", "the run's CNI runtime, as rendered", lambda: told["configurations"]
    )


def _types(configuration: Any) -> list[str]:
    rows = configuration.get("plugins", [configuration])
    return [str(row["type"]) for row in rows]


def vswitch(group: Group) -> None:
    """Open vSwitch or VPP when one runs; not applicable, field by field, when none does."""
    fields = (
        "name", "version", "command_line", "datapath", "dpdk_version", "pmd_cores", "queue_affinity",
        "flow_timeout_ms",
        "memory", "numa_node", "bridges", "flows",
    )  # fmt: skip
    running = processes(group)
    named = (pid for pid, name in running.items() if _is_vswitch(name))
    pid = next((pid for pid in named if not (ends(group, pid) or of_a_run(group, pid))), None)
    if pid is None:
        for field in fields:
            group.not_applicable(
                field, "no virtual switch process (Open vSwitch, VPP) runs here", "/proc/*/comm"
            )
        return
    group.take("name", "file", f"/proc/{pid}/comm", lambda: running[pid])
    group.file("command_line", f"/proc/{pid}/cmdline", lambda text: without_secrets(line(text)))
    group.take("numa_node", "file", f"/proc/{pid}/status", lambda: _memory_nodes(group, pid))
    group.take("memory", "file", f"/proc/{pid}/status", lambda: _memory(group, pid))
    if running[pid].startswith("vpp"):
        group.command("version", ["vppctl", "show", "version"], line)
        group.command("pmd_cores", ["vppctl", "show", "threads"], lambda text: text.strip().splitlines())
        group.command(
            "queue_affinity",
            ["vppctl", "show", "interface", "rx-placement"],
            lambda text: text.strip().splitlines(),
        )
        group.command("bridges", ["vppctl", "show", "bridge-domain"], lambda text: text.strip().splitlines())
        group.command("dpdk_version", ["vppctl", "show", "dpdk", "version"], line)
        group.take("datapath", "computed", "VPP", lambda: "userspace")
        for field in ("flow_timeout_ms", "flows"):
            group.not_applicable(field, "VPP forwards by graph nodes, not by cached flows", "VPP")
        return
    _open_vswitch(group)


def _is_vswitch(name: str) -> bool:
    """Whether a process is a virtual switch; with DPDK, Open vSwitch is `ovs-vswitchd-dp` (15 octets)."""
    return name in ("vpp_main", "vpp") or name.startswith("ovs-vswitchd")


def _memory_nodes(group: Group, pid: str) -> list[int]:
    rows = group.source.read_file(f"/proc/{pid}/status").splitlines()
    return number_list(next(row.split(":")[1] for row in rows if row.startswith("Mems_allowed_list:")))


def _memory(group: Group, pid: str) -> dict[str, int]:
    rows = dict(
        row.split(":", 1) for row in group.source.read_file(f"/proc/{pid}/status").splitlines() if ":" in row
    )
    return {"hugetlb_kib": int(rows["HugetlbPages"].split()[0]), "locked_kib": int(rows["VmLck"].split()[0])}


def _open_vswitch(group: Group) -> None:
    def column(table: str, name: str) -> Any:
        answer = json.loads(
            group.source.run(
                ["ovs-vsctl", "--timeout=2", "--format=json", f"--columns={name}", "list", table]
            )
        )
        return [_plain(row[0]) for row in answer["data"]]

    def one(name: str) -> Any:
        (value,) = column("Open_vSwitch", name)
        return value

    source = "ovs-vsctl list Open_vSwitch"
    group.take("version", "command", source, lambda: one("ovs_version"))
    group.take(
        "dpdk_version",
        "command",
        source,
        lambda: one("dpdk_version") or _none("built without DPDK, or not initialized"),
    )
    group.take(
        "datapath",
        "command",
        "ovs-vsctl list Bridge",
        lambda: sorted({kind or "system" for kind in column("Bridge", "datapath_type")}),
    )
    group.take("pmd_cores", "command", source, lambda: one("other_config").get("pmd-cpu-mask", "not set"))
    group.take("flow_timeout_ms", "command", source, lambda: int(one("other_config").get("max-idle", 10000)))
    group.command("queue_affinity", ["ovs-appctl", "-T", "2", "dpif-netdev/pmd-rxq-show"], _rows_without_use)
    group.command(
        "bridges",
        ["ovs-vsctl", "--timeout=2", "show"],
        lambda text: [row.strip() for row in text.splitlines() if row.strip()],
    )

    def flows() -> dict[str, Any]:
        found = {}
        for bridge in column("Bridge", "name"):
            rows = group.source.run(
                ["ovs-ofctl", "--no-stats", "--timeout=2", "dump-flows", bridge]
            ).splitlines()
            found[bridge] = {
                "flows": len(rows),
                "sha256": hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest(),
            }
        return found

    group.take("flows", "command", "ovs-ofctl --no-stats dump-flows", flows)


def _rows_without_use(text: str) -> list[str]:
    """Which queue is polled by which core; shares of time spent are measurements, not settings."""
    rows = (row.split("pmd usage")[0].strip() for row in text.splitlines())
    return [row for row in rows if row and not row.startswith("overhead:")]


def _none(why: str) -> Any:
    raise NotApplicable(why)


def _plain(value: Any) -> Any:
    """OVSDB's notation as builtins: maps and sets are tagged lists there."""
    if isinstance(value, list) and len(value) == 2 and value[0] == "map":
        return dict(value[1])
    if isinstance(value, list) and len(value) == 2 and value[0] == "set":
        return value[1][0] if len(value[1]) == 1 else (value[1] or None)
    return value
