"""The kernel's list of NAPI instances by generic netlink family `netdev` (Linux 6.8 and newer)."""

from __future__ import annotations

from typing import ClassVar

from pyroute2.netlink import NLM_F_DUMP, NLM_F_REQUEST, genlmsg
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.generic import GenericNetlinkSocket

# Documentation/netlink/specs/netdev.yaml of the Linux kernel
_NETDEV_CMD_NAPI_GET = 11


class _NapiMessage(genlmsg):  # type: ignore[misc]
    prefix = "NETDEV_A_NAPI_"
    nla_map: ClassVar[tuple[tuple[str, str], ...]] = (
        ("NETDEV_A_NAPI_UNSPEC", "none"),
        ("NETDEV_A_NAPI_IFINDEX", "uint32"),
        ("NETDEV_A_NAPI_ID", "uint32"),
        ("NETDEV_A_NAPI_IRQ", "uint32"),
        ("NETDEV_A_NAPI_PID", "uint32"),
    )


def napi_threads(interface_index: int) -> list[int] | None:
    """List the threads (pid in the initial PID namespace) that serve the interface's queues.

    `None` when the kernel has no such list. Empty when the queues have no thread.
    """
    try:
        with GenericNetlinkSocket() as kernel:
            kernel.bind("netdev", _NapiMessage)
            request = _NapiMessage()
            request["cmd"] = _NETDEV_CMD_NAPI_GET
            request["version"] = 1
            request["attrs"] = [("NETDEV_A_NAPI_IFINDEX", interface_index)]
            replies = kernel.nlm_request(request, msg_type=kernel.prid, msg_flags=NLM_F_REQUEST | NLM_F_DUMP)
            return [
                int(reply.get_attr("NETDEV_A_NAPI_PID"))
                for reply in replies
                if reply.get_attr("NETDEV_A_NAPI_PID")
                and reply.get_attr("NETDEV_A_NAPI_IFINDEX") == interface_index
            ]
    except NetlinkError:
        return None
