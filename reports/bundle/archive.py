"""The archive: an uncompressed tar whose every octet follows from its parts, and no other tar.

There is one way to write given parts: known names in a fixed order, one header form, zero padding, two zero
blocks. The reader accepts exactly that, so a link, a device, a path, a second member of a name, a foreign
header or an octet of padding that is not zero is refused, and nothing is ever unpacked. Nothing is
compressed, so nothing can unfold (docs/adr/0054).
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.source import MAX_LINE_OCTETS, RunFiles
from bmwg.reports.store.files import not_written, sync_folder

SUFFIX = ".bmwg.tar"  # of a bundle that is named by its run
MANIFEST_PART = "manifest.json"
ENVELOPE_PART = "envelope.json"
STAMPS_PART = "stamps.json"
COUNTERS_PART = "counters.json"
SIGSTORE_PART = "sigstore.json"
CHALLENGE_PART = "challenge.json"
# pages beside the report; all of them are rendered from the run, or compared with nothing
BESIDE_REPORT = tuple(
    f"report-{name}.html"
    for name in ("clauses", "matrices", "searches", "validity", "platform", "definitions")
)
RENDERED_PARTS = ("report.rst", "report.html", *BESIDE_REPORT)
# parts that no manifest can name
BESIDE_MANIFEST = (MANIFEST_PART, ENVELOPE_PART, STAMPS_PART, COUNTERS_PART, SIGSTORE_PART)
_MIB = 1 << 20
LIMITS: Mapping[str, int] = {  # octets of each part, in the order of the archive; choice
    MANIFEST_PART: 4 * _MIB,
    ENVELOPE_PART: _MIB,
    STAMPS_PART: _MIB,
    COUNTERS_PART: _MIB,
    SIGSTORE_PART: 2 * _MIB,
    CHALLENGE_PART: 1 << 16,
    "run.json": 16 * _MIB,
    "platform.json": 16 * _MIB,
    "deviations.yaml": _MIB,
    "submission.yaml": _MIB,
    "report.rst": 32 * _MIB,
    "report.html": 32 * _MIB,
    **dict.fromkeys(BESIDE_REPORT, 32 * _MIB),
    "output.xml": 256 * _MIB,
    "trials.jsonl": 1024 * _MIB,
}
REQUIRED = (MANIFEST_PART, "run.json", "platform.json", "trials.jsonl")
_BLOCK = 512
_MAGIC = slice(257, 263)  # of a header: what says that it is a tar
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"5": "a folder",
    b"6": "a FIFO",
    b"L": "a long name",
    b"K": "a long link",
    b"x": "a pax header",
    b"g": "a global pax header",
}
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK": "zip",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part: where its octets begin in the archive, and how many they are."""

    name: str
    start: int
    octets: int


def write_archive(path: Path, parts: Mapping[str, bytes | Path]) -> None:
    """Write a new archive; a part is its octets or the file that holds them. Refuses to overwrite.

    It has its name once it is whole and on the disk: half of one reads as a bundle that was changed.
    Raises ConfigError BND-01 (the file exists, a part that an archive cannot hold), TestbedError STORE-08.
    """
    for name, part in parts.items():
        octets = part.stat().st_size if isinstance(part, Path) else len(part)
        if name not in LIMITS or octets > LIMITS[name]:
            limit = f"at most {LIMITS[name]} octets" if name in LIMITS else "a known part"
            raise ConfigError("BND-01", f"part {name}: no bundle holds it", expected=limit, found=str(octets))
    if path.exists():
        raise ConfigError(
            "BND-01",
            f"{path}: exists already; no bundle is overwritten",
            hint="name another file by --output",
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as file:
            for name in LIMITS:
                if name not in parts:
                    continue
                part = parts[name]
                data = part.read_bytes() if isinstance(part, Path) else part
                file.write(_header(name, len(data)))
                file.write(data)
                file.write(bytes(-len(data) % _BLOCK))
            file.write(bytes(2 * _BLOCK))
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _header(name: str, octets: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = octets
    info.mode = 0o644
    return info.tobuf(tarfile.USTAR_FORMAT)


class Archive:
    """An archive open for reading. `parts` by name; the octets stay in the file until somebody asks."""

    def __init__(self, path: Path) -> None:
        """Open and hold the form against the rules. Raises ConfigError BND-02, BND-03, BND-04."""
        self.path = path
        if path.exists() and not path.is_file():
            raise ConfigError(
                "BND-02", f"{path}: cannot be read", expected="a bundle", found="something that is no file"
            )
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise ConfigError(
                "BND-02", f"{path}: cannot be read", expected="a bundle", found=error.strerror or str(error)
            ) from error
        try:
            self._size = self._file.seek(0, 2)
            self.parts = self._scan()
        except OSError as error:
            self._file.close()
            raise ConfigError(
                "BND-02", f"{path}: cannot be read", expected="a bundle", found=error.strerror or str(error)
            ) from error
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        self._file.close()

    @property
    def where(self) -> str:
        """The archive's path."""
        return str(self.path)

    def has(self, name: str) -> bool:
        """Whether there is such a part."""
        return name in self.parts

    def octets(self, name: str) -> bytes:
        """Return a whole part. Raises ConfigError BND-04 for one that is not there."""
        return self.piece(name, 0, self._part(name).octets)

    def piece(self, name: str, start: int, octets: int) -> bytes:
        """Return octets of a part."""
        part = self._part(name)
        return os.pread(self._file.fileno(), min(octets, part.octets - start), part.start + start)

    def lines(self, name: str) -> Iterator[tuple[int, bytes, bool]]:
        """Give each line: its place in the part, its octets without newline, and whether it had one.

        Raises ConfigError BND-03 for a line longer than MAX_LINE_OCTETS.
        """
        start, held = 0, b""
        for chunk in self.chunks(name):
            *whole, held = (held + chunk).split(b"\n")
            for line in whole:
                yield start, line, True
                start += len(line) + 1
            if len(held) > MAX_LINE_OCTETS:
                raise self._refused(
                    f"lines of at most {MAX_LINE_OCTETS} octets in {name}", "a longer one", start
                )
        if held:
            yield start, held, False

    def chunks(self, name: str) -> Iterator[bytes]:
        """Give the octets of a part piece by piece."""
        for start in range(0, self._part(name).octets, _MIB):
            yield self.piece(name, start, _MIB)

    def _part(self, name: str) -> Part:
        if name not in self.parts:
            raise ConfigError("BND-04", f"{self.path}: a part is missing", expected=name, found="none")
        return self.parts[name]

    def _scan(self) -> dict[str, Part]:
        """Walk the headers, reading nothing else but padding."""
        parts: dict[str, Part] = {}
        order = list(LIMITS)
        place, last = 0, -1
        while True:
            header = self._at(place, _BLOCK)
            if place == 0:
                self._refuse_others(header)
            if header == bytes(_BLOCK) and parts:
                break
            name, octets = self._member(header, place)
            if order.index(name) <= last:
                found = f"{name} {'twice' if name in parts else 'out of order'}"
                raise self._refused("each part once, in the order of the format", found, place)
            last = order.index(name)
            if octets > LIMITS[name]:
                raise self._refused(f"{name} of at most {LIMITS[name]} octets", f"{octets} octets", place)
            start = place + _BLOCK
            padding = -octets % _BLOCK
            if self._at(start + octets, padding) != bytes(padding):
                raise self._refused("zeros as padding", "other octets", start + octets)
            parts[name] = Part(name=name, start=start, octets=octets)
            place = start + octets + padding
        if self._at(place, 2 * _BLOCK) != bytes(2 * _BLOCK) or self._size != place + 2 * _BLOCK:
            raise self._refused("two zero blocks at the end and nothing after them", "other octets", place)
        missing = [name for name in REQUIRED if name not in parts]
        if missing:
            raise ConfigError(
                "BND-04", f"{self.path}: a part is missing", expected=", ".join(missing), found="none"
            )
        return parts

    def _member(self, header: bytes, place: int) -> tuple[str, int]:
        kind = header[156:157]
        if kind not in (b"0", b"\0"):
            raise self._refused("plain files only", _KINDS.get(kind, f"type {kind!r}"), place)
        name = header[:100].rstrip(b"\0").decode("ascii", "backslashreplace")
        if name not in LIMITS:
            raise self._refused("parts of known names only", repr(name), place)
        digits = header[124:135]
        if not digits.isdigit() or any(digit not in b"01234567" for digit in digits):
            raise self._refused("a size in octal digits", repr(digits), place)
        octets = int(digits, 8)
        if header != _header(name, octets):
            raise self._refused(f"the one header that {name} has", "another", place)
        return name, octets

    def _refuse_others(self, header: bytes) -> None:
        for magic, kind in _PACKED.items():
            if header.startswith(magic):
                raise ConfigError(
                    "BND-03",
                    f"{self.path}: a bundle is not compressed",
                    expected="an uncompressed archive as `bmwg bundle` writes it",
                    found=kind,
                    hint="if it was packed for its way, unpack it first",
                )
        if header[_MAGIC] != b"ustar\0":
            raise ConfigError(
                "BND-03",
                f"{self.path}: no bundle",
                expected="a bundle as `bmwg bundle` writes it, or the folder or id of a run",
                found="a file of another kind",
            )

    def _at(self, place: int, octets: int) -> bytes:
        if place + octets > self._size:
            raise self._refused("a whole archive", f"its end after {self._size} octets", place)
        self._file.seek(place)
        return self._file.read(octets)

    def _refused(self, expected: str, found: str, place: int) -> ConfigError:
        return ConfigError(
            "BND-03",
            f"{self.path}: octet {place}: no archive as `bmwg bundle` writes it, or changed since",
            expected=expected,
            found=found,
            hint="the archive was changed, or was not made by `bmwg bundle`",
        )


_: type[RunFiles] = Archive
