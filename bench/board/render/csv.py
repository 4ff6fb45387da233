"""A board for programs: one line for each record, named by its id."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from bench.board.columns import Column
from bench.board.record_columns import RecordLine, attack_csv, utility_csv


def attacks(lines: Sequence[RecordLine]) -> str:
    return _written(attack_csv(lines), lines)


def utility(lines: Sequence[RecordLine]) -> str:
    return _written(utility_csv(lines), lines)


def _written(columns: Sequence[Column[RecordLine]], lines: Sequence[RecordLine]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")  # None is left empty
    writer.writerow([column.key for column in columns])
    writer.writerows([[column.value(line) for column in columns] for line in lines])
    return out.getvalue()
