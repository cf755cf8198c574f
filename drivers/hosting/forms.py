"""Which class realizes which hosting form; loaded when the form is wanted, never before."""

from __future__ import annotations

import difflib
import importlib

from bmwg.drivers.api import Node
from bmwg.drivers.hosting.instance import Form, Hosting, Place
from bmwg.drivers.ledger import Ledger
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import POD_PREFIX

_CLASSES = {
    Form.NATIVE: "bmwg.drivers.hosting.native:NativeHosting",
    Form.DOCKER_ROUTED: "bmwg.drivers.hosting.docker:DockerHosting",
    Form.DOCKER_NAT: "bmwg.drivers.hosting.docker:DockerHosting",
    Form.VM_FULL: "bmwg.drivers.hosting.machine_hosting:VmHosting",
    Form.VM_PARA: "bmwg.drivers.hosting.machine_hosting:VmHosting",
    Form.KUBERNETES: "bmwg.drivers.kubernetes.hosting:KubernetesHosting",
    Form.KUBERNETES_SERVICE: "bmwg.drivers.kubernetes.hosting:ServiceHosting",
    Form.POD: "bmwg.drivers.paths.pod_hosting:PodHosting",
}


def hosting(form: str, *, node: Node, place: Place, ledger: Ledger) -> Hosting:
    """Make the hosting of a form on a node; nothing is touched yet. Raises ConfigError INST-01.

    The form is one of `Form`, or `pod_<network option>` for a pod.
    """
    option = form.removeprefix(POD_PREFIX) if form.startswith(POD_PREFIX) else ""
    name = Form.POD.value if option else form
    known = [kind.value for kind in Form if kind is not Form.POD]
    if name not in {*known, Form.POD.value} or (name == Form.POD and not option):
        near = difflib.get_close_matches(form, known, 1)
        raise ConfigError(
            "INST-01",
            f"hosting form {form!r}",
            expected=f"{', '.join(known)} or {POD_PREFIX}<network option>",
            found=form,
            hint=f"did you mean {near[0]}?" if near else "",
        )
    module, _, attribute = _CLASSES[Form(name)].partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ConfigError(
            "INST-01",
            f"hosting form {form}",
            expected="a form of this version",
            found=f"no module {module}",
        ) from error
    more = {"option": option} if option else {}
    made: Hosting = kind(form=Form(name), node=node, place=place, ledger=ledger, **more)
    return made
