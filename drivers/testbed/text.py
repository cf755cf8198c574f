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
            near = near_name(file.name, _siblings(file))
            raise ConfigError(
                "CFG-01",
                f"testbed file {file} cannot be read",
                expected="a readable YAML file",
                found=found,
                hint=f"did you mean {file.with_name(near)}?" if near else "check the path in BMWG_TESTBED",
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


def _siblings(file: Path) -> list[str]:
    try:
        return [entry.name for entry in file.parent.iterdir()]
    except OSError:
        return []
