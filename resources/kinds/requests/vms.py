"""What starts the virtual machines of a run, and from which root: by the testbed file, kept in the header.

The header holds an image's name and hash, and not its folder: headers are published. A run that goes on finds
the image by the testbed file again. Ids: IMAGE-09 the run was begun with another image.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from bmwg.drivers.api.instance import QEMU_ITSELF, VmDriver
from bmwg.drivers.machines.guest_image import GuestImage, examine
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests.records import SLOW_FORMS
from bmwg.resources.run.settings import Settings

KEY = "vms"  # in the testbed file and in the header
_IMAGE = "image"


def vms_of_testbed(settings: Settings, forms: Collection[str]) -> VmDriver:
    """Return what the testbed file says of virtual machines; its image is read if one of `forms` is of them.

    Raises ConfigError as `load_testbed`, and what `guest_image.examine` raises.
    """
    written = dict(load_testbed(settings.testbed).data.get(KEY, {}))
    written.pop(_IMAGE, None)
    written.pop("hosts", None)  # of machines that forward
    return VmDriver(**written, image=_image_of(settings) if SLOW_FORMS & set(forms) else None)


def _image_of(settings: Settings) -> GuestImage | None:
    testbed = load_testbed(settings.testbed)
    named = testbed.data.get(KEY, {}).get(_IMAGE)
    return examine(str(Path(testbed.file).resolve().parent / named)) if named else None


def header_of(vms: VmDriver) -> dict[str, Any]:
    """Return what a run's header keeps of it; empty for what needs no word."""
    if vms == QEMU_ITSELF:
        return {}
    return {
        "driver": vms.driver,
        **({"uri": vms.uri} if vms.uri else {}),
        **({_IMAGE: vms.image.record()} if vms.image else {}),
    }


def vms_of_header(testbed: Mapping[str, Any], settings: Settings) -> VmDriver:
    """Return what a run was begun with; it goes on with no other driver and no other image.

    Raises ConfigError IMAGE-09, and what finding the image in today's testbed file raises.
    """
    kept = dict(testbed.get(KEY, {}))
    begun = kept.pop(_IMAGE, None)
    if begun is None:
        return VmDriver(**kept)
    image = _image_of(settings)
    if image is None or image.sha256 != begun["sha256"]:
        raise ConfigError(
            "IMAGE-09",
            "the run was begun with another disk image; nothing was started",
            expected=f"{begun['file']}, SHA-256 {begun['sha256']}",
            found=f"{image.file}, SHA-256 {image.sha256}" if image else "no vms.image in the testbed file",
            hint="name the testbed file with that image (--testbed, BMWG_TESTBED), or begin a new run",
        )
    return VmDriver(**kept, image=image)
