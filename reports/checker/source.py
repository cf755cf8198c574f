"""Where the files of a run come from: its folder, or the parts of a bundle. Both give bounded octets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from bmwg.methodology.errors import ConfigError
from bmwg.reports.store.files import opened

MAX_LINE_OCTETS = 1 << 20
_LIMITS = {
    "run.json": 16 << 20,
    "platform.json": 16 << 20,
    "deviations.yaml": 1 << 20,
}


def too_long(where: str, start: int) -> ConfigError:
    """Return the error for a line of a file, at octet `start`, that is too long to be read."""
    return ConfigError(
        "BND-03",
        f"{where}: octet {start}",
        expected=f"lines of at most {MAX_LINE_OCTETS} octets",
        found="a longer one",
    )


class RunFiles(Protocol):
    """The files of one run by name. All errors are ConfigError."""

    @property
    def where(self) -> str:
        """How messages name the place."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        ...

    def octets(self, name: str) -> bytes:
        """Return a whole file, refused when it is too large."""
        ...

    def lines(self, name: str) -> Iterator[tuple[int, bytes, bool]]:
        """Give each line: where it starts, its octets without newline, and whether it had one."""
        ...

    def piece(self, name: str, start: int, octets: int) -> bytes:
        """Return a piece of a file."""
        ...


class FolderFiles:
    """RunFiles of a run folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def where(self) -> str:
        """The folder."""
        return str(self._folder)

    def has(self, name: str) -> bool:
        """Whether the folder has it."""
        return (self._folder / name).exists()

    def octets(self, name: str) -> bytes:
        """Return a whole file. Raises ConfigError STORE-02, BND-07."""
        limit = _LIMITS[name]
        try:
            with opened(self._folder / name) as file:
                data = file.read(limit + 1)
        except OSError as error:
            raise self._unreadable(name, error) from error
        if len(data) > limit:
            raise ConfigError(
                "BND-07",
                f"{self._folder / name}: too large",
                expected=f"at most {limit} octets",
                found="more",
            )
        return data

    def lines(self, name: str) -> Iterator[tuple[int, bytes, bool]]:
        """Give the lines. Raises ConfigError STORE-02, BND-03 for one that is too long."""
        start = 0
        try:
            with opened(self._folder / name) as file:
                while line := file.readline(MAX_LINE_OCTETS + 2):
                    whole = line.endswith(b"\n")
                    if len(line) > MAX_LINE_OCTETS + 1:
                        raise too_long(str(self._folder / name), start)
                    yield start, line.removesuffix(b"\n"), whole
                    start += len(line)
        except OSError as error:
            raise self._unreadable(name, error) from error

    def piece(self, name: str, start: int, octets: int) -> bytes:
        """Return a piece. Raises ConfigError STORE-02."""
        try:
            with opened(self._folder / name) as file:
                file.seek(start)
                return file.read(octets)
        except OSError as error:
            raise self._unreadable(name, error) from error

    def _unreadable(self, name: str, error: OSError) -> ConfigError:
        return ConfigError(
            "STORE-02",
            f"{self._folder / name}: cannot be read",
            expected="a run folder with run.json, trials.jsonl and platform.json",
            found=error.strerror or str(error),
        )


_: type[RunFiles] = FolderFiles
