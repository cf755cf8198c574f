"""Which class realizes which hosting form; loaded when the form is wanted, never before."""

from __future__ import annotations

import importlib

from bmwg.drivers.api import Node
from bmwg.drivers.hosting.instance import LIBVIRT, Form, Hosting, Place
from bmwg.drivers.ledger import Ledger
from bmwg.methodology.errors import ConfigError

_CLASSES = {
    Form.NATIVE: "bmwg.drivers.hosting.native:NativeHosting",
    Form.DOCKER_ROUTED: "bmwg.drivers.hosting.docker:DockerHosting",
    Form.DOCKER_NAT: "bmwg.drivers.hosting.docker:DockerHosting",
    Form.VM_FULL: "bmwg.drivers.hosting.qemu_instance:VmHosting",
    Form.VM_PARA: "bmwg.drivers.hosting.qemu_instance:VmHosting",
}
_BY_LIBVIRT = {
    Form.VM_FULL: "bmwg.drivers.hosting.libvirt_instance:LibvirtHosting",
    Form.VM_PARA: "bmwg.drivers.hosting.libvirt_instance:LibvirtHosting",
}


def hosting(form: Form, *, node: Node, place: Place, ledger: Ledger) -> Hosting:
    """Make the hosting of a form on a node; nothing is touched yet. Raises ConfigError INST-01."""
    classes = _CLASSES | _BY_LIBVIRT if place.vms.driver == LIBVIRT else _CLASSES
    module, _, name = classes[form].partition(":")
    try:
        kind = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ConfigError(
            "INST-01",
            f"hosting form {form}",
            expected="a form of this version",
            found=f"no module {module}",
        ) from error
    made: Hosting = kind(form=form, node=node, place=place, ledger=ledger)
    return made
