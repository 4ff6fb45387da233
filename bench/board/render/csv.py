"""A board for programs: one line for each record, named by its id."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from bench.board.columns import Column, Row
from bench.board.record_columns import AUDITS, RecordLine, attack_csv, utility_csv
from bench.records.model import AuditRecord

# What begins a formula in a spreadsheet, also behind a tab or a line's end.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def attacks(lines: Sequence[RecordLine]) -> str:
    return _written(attack_csv(lines), lines)


def utility(lines: Sequence[RecordLine]) -> str:
    return _written(utility_csv(lines), lines)


def audits(records: Sequence[AuditRecord]) -> str:
    return _written(AUDITS, records)


def _written(columns: Sequence[Column[Row]], lines: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")  # None is left empty
    writer.writerow([column.key for column in columns])
    writer.writerows([[_cell(column.value(line)) for column in columns] for line in lines])
    return out.getvalue()


def _cell(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula is quoted as one quotes it there; numbers are none."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value
