from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.records import details


def items(shape: tuple[int, int, int], n: int = 3) -> dict[str, object]:
    size = int(np.prod(shape))
    return {
        "example": ["b", "b", "a"][:n],
        "shape": [list(shape)] * n,
        "original": list(np.linspace(0, 1, n)[:, None] * np.ones(size, np.float32)),
        "recovered": list(np.full((n, size), np.nan, np.float32)),
    }


@pytest.mark.parametrize("channels", [1, 3])
def test_a_strip_has_each_picture_once_originals_above(channels: int) -> None:
    found = details.strip(items((channels, 4, 4)))
    side = 4 * details.SCALE
    assert found.shape == (2 * side, 2 * side, 3)
    assert found[0, 0].tolist() == [0, 0, 0]
    assert found[0, -1].tolist() == [255, 255, 255]
    assert not found[side:].any()  # what is no number is black


def test_a_strip_lies_beside_the_record_and_text_has_none(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    details.save(tmp_path / "one.json", items((1, 4, 4)))
    assert image.open(tmp_path / "one.png").size == (8 * details.SCALE, 8 * details.SCALE)
    details.save(tmp_path / "two.json", {"example": ["a"], "answer": ["b"]})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.parquet", "one.png", "two.parquet"]
