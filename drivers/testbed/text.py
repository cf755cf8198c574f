"""The text of a testbed file, with a near name where there is no such file. Ids: CFG-01 it cannot be read."""

from __future__ import annotations

from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.schemas.validation import near_name

MAX_FILE_OCTETS = 1 << 20  # choice: a testbed file is read whole


def text_of(file: Path) -> str:
    """Return it; ConfigError CFG-01."""
    try:
        if not file.is_file():
            found = "a folder" if file.is_dir() else "no such file" if not file.exists() else "no plain file"
            raise ConfigError(
                "CFG-01",
                f"testbed file {file} cannot be read",
                expected="a readable YAML file",
                found=found,
                hint=_mend(file),
            )
        with file.open("rb") as stream:
            content = stream.read(MAX_FILE_OCTETS + 1)
        if len(content) > MAX_FILE_OCTETS:
            raise ConfigError(
                "CFG-01",
                f"testbed file {file} cannot be read",
                expected=f"at most {MAX_FILE_OCTETS} octets",
                found="more",
            )
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            "CFG-01",
            f"testbed file {file} cannot be read",
            expected="UTF-8 text",
            found=f"octet 0x{content[error.start]:02x} at position {error.start}",
        ) from error
    except OSError as error:
        raise ConfigError(
            "CFG-01",
            f"testbed file {file} cannot be read",
            expected="a readable YAML file",
            found=error.strerror or str(error),
        ) from error


def _mend(file: Path) -> str:
    """Name the file that was meant, the files of a folder, or where the path was given."""
    if file.is_dir() and (within := _files(file)):
        return f"name one of its files: {', '.join(within)}"
    near = near_name(file.name, _files(file.parent))
    return f"did you mean {file.with_name(near)}?" if near else "check the path of --testbed or BMWG_TESTBED"


def _files(folder: Path) -> list[str]:
    """Return the names of a folder's testbed files; none of one that cannot be read."""
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.suffix in (".yaml", ".yml"))
    except OSError:
        return []
