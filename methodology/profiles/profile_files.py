"""The profiles of a kind of load by name: those that come with the toolkit, and a file of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError, ToolkitBug, ToolkitError
from bmwg.methodology.profiles import extended
from bmwg.schemas.document import parse
from bmwg.schemas.validation import near_hint

_FILE = ".yaml"


@dataclass(frozen=True, slots=True)
class ProfileFiles:
    """The package `folder` has the toolkit's, `suites` is the word for what they are of.

    `absent_id` is the error of a name or a file that is not there, `wrong_id` that of a wrong content.
    """

    absent_id: str
    wrong_id: str
    folder: str
    suites: str

    def names(self) -> list[str]:
        """Return the names of the toolkit's profiles."""
        files = resources.files(self.folder).iterdir()
        return sorted(file.name.removesuffix(_FILE) for file in files if file.name.endswith(_FILE))

    def read(self, name: str) -> Mapping[str, Any]:
        """Return the content of a profile, or of a file whose name ends with `.yaml`, with what it extends.

        Raises ConfigError of this kind's ids, PRF-12 for a file that cannot be made whole.
        """
        source = name if name.endswith(_FILE) else f"{name}{_FILE}"
        return extended.whole(self._said(name), source, self._said)

    def _said(self, name: str) -> Mapping[str, Any]:
        ours = not name.endswith(_FILE)
        if ours and name not in self.names():
            raise ConfigError(
                self.absent_id,
                f"profile {name!r} of the {self.suites}; nothing was started",
                expected=" or ".join(self.names()),
                found=name,
                hint=near_hint(name, self.names(), "set BMWG_PROFILE to one of them"),
            )
        place: Traversable | Path = resources.files(self.folder) / f"{name}{_FILE}" if ours else Path(name)
        try:
            document = parse(place.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                self.absent_id, f"profile {name}", expected="a file of text", found=str(error)
            ) from None
        if document.problems:
            raise self.refusal(name, str(document.problems[0]))
        return dict(document.data) if isinstance(document.data, Mapping) else {}

    def refusal(self, name: str, found: str) -> ToolkitError:
        """Return the error for a wrong content; the toolkit's own file is a bug of the toolkit."""
        kind = ConfigError if name.endswith(_FILE) else ToolkitBug
        return kind(self.wrong_id, f"profile {name}; nothing was started", found=found)
