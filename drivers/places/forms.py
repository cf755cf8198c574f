"""Makes the hosting of a form, which is found by its name among `bmwg.drivers.hosting`."""

from __future__ import annotations

from bmwg.drivers import registry
from bmwg.drivers.api.instance import Hosting, Place
from bmwg.drivers.api.protocols import Node
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import POD, POD_PREFIX


def hosting(form: str, *, node: Node, place: Place, ledger: Ledger) -> Hosting:
    """Make the hosting of a form on a node; nothing is touched yet.

    The form is an installed one, or `pod_<network option>` for a pod. Raises what `registry.load` raises,
    ConfigError INST-01 for a pod of no option.
    """
    if form in (POD, POD_PREFIX):
        raise ConfigError(
            "INST-01", f"hosting form {form}", expected=f"{POD_PREFIX}<network option>", found=form
        )
    option = form.removeprefix(POD_PREFIX) if form.startswith(POD_PREFIX) else ""
    name, more = (POD, {"option": option}) if option else (form, {})
    kind = registry.load(registry.HOSTING, name)
    made: Hosting = kind(form=name, node=node, place=place, ledger=ledger, **more)
    return made
