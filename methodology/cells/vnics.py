"""Kinds of a virtual machine's NIC (vNIC) that pods inside it are reached by. Pure.

`virtio` and `e1000` are carried by the machine's own process, `vhost-net` is virtio carried by the host's
kernel, `igb-vf` a virtual function that the machine has of an emulated igb.
"""

from __future__ import annotations

VIRTIO, E1000, VHOST_NET, IGB_VF = "virtio", "e1000", "vhost-net", "igb-vf"
KINDS = (VIRTIO, E1000, VHOST_NET, IGB_VF)
AXIS = "vnic"
