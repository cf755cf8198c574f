"""Writes the tables of many runs as Parquet, one run after the other: memory does not grow with the runs.

Ids: EXP-03 pyarrow is not installed, EXP-04 a run that is left out, EXP-05 a run that is named twice.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError
from bmwg.reports.tables.columns import TABLES, Column, Holds
from bmwg.reports.tables.rows import add_rows

_BATCH_ROWS = 1 << 14  # choice: so many rows stand in lists of Python at most, beside those of one line
_GROUP_OCTETS = 1 << 22  # choice: so much of a table is written together


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written: the folder, how many runs and rows of each table, and why runs were left out."""

    folder: Path
    runs: int
    rows: Mapping[str, int]
    left_out: tuple[ToolkitError, ...]


def write_tables(folders: Sequence[Path], place: Path, why_not: Callable[[Path], str]) -> Written:
    """Write a file a table into a new folder, and return what was written.

    `why_not` says why the figures of a run cannot be believed; empty where they can. Such a run is left out
    whole, as is one that cannot be read or is named twice. The folder appears once all is written.
    Raises TestbedError EXP-03 without pyarrow.
    """
    tables = _Tables(_pyarrow(), place.with_name(f".{place.name}.{os.getpid()}.part"))
    left_out: list[ToolkitError] = []
    seen: set[str] = set()
    try:
        for folder in folders:
            try:
                if why := why_not(folder):
                    raise _left(folder, "a run that verifies", why)
                run = add_rows(folder, tables.add)
                if run.journal_hash in seen:
                    raise ConfigError(
                        "EXP-05", f"{folder}: left out", expected="each run once", found="the same journal"
                    )
                seen.add(run.journal_hash)
                tables.keep()
            except ToolkitError as error:
                left_out.append(error)
                tables.drop()
            except (ValueError, OverflowError) as error:  # of pyarrow as well
                left_out.append(_left(folder, "numbers of 64 bits and text of Unicode", str(error)))
                tables.drop()
        tables.close()
        tables.folder.rename(place)
    finally:
        tables.abandon()
    return Written(folder=place, runs=len(seen), rows=tables.written, left_out=tuple(left_out))


def _left(folder: Path, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "EXP-04", f"{folder}: left out", expected=expected, found=found, hint=f"see `bmwg verify {folder}`"
    )


def _pyarrow() -> Any:
    try:
        importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise TestbedError(
            "EXP-03",
            "tables of Parquet; nothing was written",
            expected="the Python module pyarrow",
            found="none",
            hint="pip install 'bmwg-toolkit[parquet]'",
        ) from error
    return importlib.import_module("pyarrow")


@dataclass(slots=True)
class _Table:
    """One file, and what waits for it: rows of the run at hand in lists and batches, those of whole runs."""

    schema: Any
    writer: Any
    lists: dict[str, list[Any]]
    batches: list[Any] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    kept_octets: int = 0


class _Tables:
    """The files of one export, in a folder that is not yet at its place."""

    def __init__(self, arrow: Any, folder: Path) -> None:
        self.folder = folder
        self.written: dict[str, int] = dict.fromkeys(TABLES, 0)
        self._arrow = arrow
        folder.mkdir(parents=True)
        self._tables = {name: self._table(name, columns) for name, columns in TABLES.items()}

    def _table(self, name: str, columns: Sequence[Column]) -> _Table:
        types = _types(self._arrow)
        schema = self._arrow.schema(
            [
                self._arrow.field(column.name, types[column.holds], metadata={"says": column.says})
                for column in columns
            ]
        )
        writer = self._arrow.parquet.ParquetWriter(
            self.folder / f"{name}.parquet", schema, compression="zstd"
        )
        return _Table(schema=schema, writer=writer, lists={one.name: [] for one in columns})

    def add(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add rows of the run at hand to a table."""
        table = self._tables[name]
        for column, values in columns.items():
            table.lists[column] += values
        if len(table.lists["run_id"]) >= _BATCH_ROWS:
            self._pack(table)

    def _pack(self, table: _Table) -> None:
        if not table.lists["run_id"]:
            return
        table.batches.append(self._arrow.RecordBatch.from_pydict(table.lists, schema=table.schema))
        for values in table.lists.values():
            values.clear()

    def keep(self) -> None:
        """Take the rows of the run at hand, which is whole. ValueError where pyarrow cannot hold one."""
        for table in self._tables.values():
            self._pack(table)
        for name, table in self._tables.items():
            self.written[name] += sum(batch.num_rows for batch in table.batches)
            table.kept_octets += sum(batch.nbytes for batch in table.batches)
            table.kept += table.batches
            table.batches = []
            if table.kept_octets >= _GROUP_OCTETS:
                self._write(table)

    def drop(self) -> None:
        """Forget the rows of the run at hand."""
        for table in self._tables.values():
            table.batches = []
            for values in table.lists.values():
                values.clear()

    def _write(self, table: _Table) -> None:
        made = self._arrow.Table.from_batches(table.kept, table.schema).unify_dictionaries()
        table.writer.write_table(made)
        table.kept, table.kept_octets = [], 0

    def close(self) -> None:
        """Write what waits, and the end of each file."""
        for table in self._tables.values():
            self._write(table)
            table.writer.close()

    def abandon(self) -> None:
        """Remove the folder where it did not get to its place."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _types(arrow: Any) -> dict[Holds, Any]:
    return {
        Holds.TEXT: arrow.string(),
        Holds.NAME: arrow.dictionary(arrow.int32(), arrow.string()),
        Holds.COUNT: arrow.int64(),
        Holds.NUMBER: arrow.float64(),
        Holds.FLAG: arrow.bool_(),
        Holds.TIME: arrow.timestamp("us"),
        Holds.COUNTS: arrow.list_(arrow.int32()),
    }
