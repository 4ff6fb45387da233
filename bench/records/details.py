"""Every question of a cell with its answer, beside its record, for who asks for it (`--details`).

Where these are pictures, a strip of them as well: originals above, what was recovered of them below.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.system.files import atomic_write

SUFFIX, STRIP = ".parquet", ".png"
# Pictures in a strip, and how many pixels of it one of theirs takes, each way.
PICTURES, SCALE = 20, 3


def path_beside(record: Path) -> Path:
    return record.with_suffix(SUFFIX)


def save(record: Path, items: dict[str, Any]) -> None:
    """Columns by name; beside the record in this file."""
    import pandas as pd

    if "original" in items:
        _save_strip(record.with_suffix(STRIP), items)
    with atomic_write(path_beside(record)) as part:
        pd.DataFrame(items).to_parquet(part, index=False)


def strip(items: dict[str, Any]) -> npt.NDArray[np.uint8]:
    """Of the first pictures that differ: height × width × 3."""
    _, first = np.unique(np.asarray(items["example"]), return_index=True)
    rows = np.sort(first)[:PICTURES]
    shape = tuple(items["shape"][0])
    lines = []
    for name in ("original", "recovered"):
        pictures = np.stack([np.asarray(items[name][row], np.float64).reshape(shape) for row in rows])
        colour = np.broadcast_to(pictures, (len(rows), 3, *shape[1:]))
        lines.append(np.concatenate(list(colour.transpose(0, 2, 3, 1)), axis=1))
    whole = np.clip(np.nan_to_num(np.concatenate(lines)), 0, 1).repeat(SCALE, axis=0).repeat(SCALE, axis=1)
    found: npt.NDArray[np.uint8] = np.round(255 * whole).astype(np.uint8)
    return found


def _save_strip(path: Path, items: dict[str, Any]) -> None:
    from matplotlib import image

    with atomic_write(path) as part:
        image.imsave(part, strip(items), format="png")
