"""How one fact stands in a record: known with its origin, unknown with a reason, or not applicable with one.

A leaf is `{"value": ..., "how": {"kind", "from"}, "at"}`, `{"unknown": reason, ...}` or
`{"not_applicable": reason, ...}`. A collector fills a `Group`; whatever goes wrong with one field stays
with that field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from bmwg.methodology.trial.cpu_lists import cpu_list

JsonValue = Any  # builtins only
Kind = Literal["file", "command", "netlink", "declared", "computed"]
_REASON_CHARACTERS = 300  # choice: a reason is a line in a report, not a log


class NotApplicable(Exception):
    """The question has no meaning on this machine; the message says why."""


class Unread(Exception):
    """The answer could not be had; the message says why."""


class Source(Protocol):
    """The one door through which collectors see a machine; stored samples stand behind the same door."""

    def now(self) -> str:
        """UTC time, ISO 8601 with Z."""
        ...

    def read_file(self, path: str, /) -> str:
        """Text of a file; OSError as the system gives it, Unread when it is no regular file or too large."""
        ...

    def read_bytes(self, path: str, /) -> bytes:
        """Like `read_file`, without decoding."""
        ...

    def digest(self, path: str, /) -> str:
        """SHA-256 of a file in hexadecimal; raises as `read_bytes` does."""
        ...

    def list_dir(self, path: str, /) -> list[str]:
        """Sorted names in a folder; OSError as the system gives it."""
        ...

    def read_link(self, path: str, /) -> str:
        """The target of a symbolic link, as written; OSError when it is none."""
        ...

    def run(self, argv: list[str], /, *, timeout_s: float = 2.0) -> str:
        """Standard output of a command that ended with 0 in time; Unread otherwise."""
        ...

    def netlink(self, what: str, /, name: str = "") -> JsonValue:
        """A netlink dump in builtins (`links`, `routes`, `qdiscs`, `filters`, `tables`) or one
        interface's (`ethtool`).
        """
        ...


def leaf(state: str, content: JsonValue, kind: Kind, origin: str, at: str) -> dict[str, Any]:
    """One fact in its stored form."""
    if state != "value":
        content = " ".join(str(content).split())[:_REASON_CHARACTERS] or "no reason was given"
    return {state: content, "how": {"kind": kind, "from": origin}, "at": at}


class Group:
    """The facts that one collector gathers, in the order of their names."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.fields: dict[str, Any] = {}

    def take(self, name: str, kind: Kind, origin: str, answer: Callable[[], JsonValue]) -> JsonValue:
        """Ask for one fact and keep it, or the reason why not. Returns the value, None without one."""
        at = self.source.now()
        try:
            value = answer()
        except NotApplicable as reason:
            self.fields[name] = leaf("not_applicable", str(reason), kind, origin, at)
        except Unread as reason:
            self.fields[name] = leaf("unknown", str(reason), kind, origin, at)
        except OSError as error:
            self.fields[name] = leaf("unknown", f"{origin}: {error.strerror or error}", kind, origin, at)
        except (
            Exception
        ) as error:  # what a machine answers is outside our control: the field bears it, the rest stands
            said = f"{origin}: not understood ({type(error).__name__}: {error})"
            self.fields[name] = leaf("unknown", said, kind, origin, at)
        else:
            self.fields[name] = leaf("value", value, kind, origin, at)
            return value
        return None

    def file(
        self, name: str, path: str, parse: Callable[[str], JsonValue] | None = None, *, absent: str = ""
    ) -> JsonValue:
        """A fact from one file. `absent` is why the question has no meaning when the file does not exist."""

        def answer() -> JsonValue:
            try:
                text = self.source.read_file(path)
            except FileNotFoundError:
                if absent:
                    raise NotApplicable(f"{path} does not exist: {absent}") from None
                raise
            return (parse or line)(text)

        return self.take(name, "file", path, answer)

    def command(
        self, name: str, argv: list[str], parse: Callable[[str], JsonValue], *, timeout_s: float = 2.0
    ) -> JsonValue:
        """A fact from a command's output."""
        return self.take(
            name, "command", " ".join(argv), lambda: parse(self.source.run(argv, timeout_s=timeout_s))
        )

    def not_applicable(self, name: str, reason: str, origin: str = "this record") -> None:
        """Keep that a question has no meaning here."""
        self.fields[name] = leaf("not_applicable", reason, "computed", origin, self.source.now())

    def sub(self, name: str) -> Group:
        """A group within this one, such as one interface."""
        child = Group(self.source)
        self.fields[name] = child.fields
        return child


def line(text: str) -> str:
    """The text of a one-line file; refuses an empty one."""
    stripped = text.replace("\0", " ").strip()
    if not stripped:
        raise Unread("the file is empty")
    return stripped


def integer(text: str) -> int:
    """A whole number, decimal or 0x."""
    return int(text.strip(), 0)


def number_list(text: str) -> list[int]:
    """The kernel's list format, `0-3,8`, as numbers; empty text is an empty list."""
    return list(cpu_list(text)) if text.strip() else []


def key_values(text: str, separator: str = ":") -> dict[str, str]:
    """Lines of `key: value`; a line without the separator is left out."""
    pairs = (entry.split(separator, 1) for entry in text.splitlines() if separator in entry)
    return {key.strip(): value.strip() for key, value in pairs}


def entries(source: Source, path: str) -> list[str]:
    """Names in a folder; none when it is not there or may not be read."""
    try:
        return source.list_dir(path)
    except OSError:
        return []


def text_or_none(source: Source, path: str) -> str | None:
    """A file's stripped text, None when it cannot be read."""
    try:
        return source.read_file(path).strip()
    except (OSError, Unread, ValueError):
        return None


def processes(group: Group) -> dict[str, str]:
    """Process id to name, of the processes that this one may see."""
    names = {
        pid: text_or_none(group.source, f"/proc/{pid}/comm")
        for pid in entries(group.source, "/proc")
        if pid.isdigit()
    }
    return {pid: name for pid, name in names.items() if name}
