"""Every question of a cell with its answer, beside its record, for who asks for it (`--details`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.system.files import atomic_write

SUFFIX = ".parquet"


def path_beside(record: Path) -> Path:
    return record.with_suffix(SUFFIX)


def save(record: Path, items: dict[str, Any]) -> None:
    """Columns by name; beside the record in this file."""
    import pandas as pd

    with atomic_write(path_beside(record)) as part:
        pd.DataFrame(items).to_parquet(part, index=False)
