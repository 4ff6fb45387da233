"""What a user may hand to attacks on pictures by mistake: each is answered with one line, or works."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")
Run = Callable[..., subprocess.CompletedProcess[str]]


def folder(root: Path, count: int, *, levels: bool = False, side: int = 8) -> Path:
    rng = np.random.default_rng(0)
    for i in range(count):
        pixels = rng.integers(0, 256, (side, side, 3), dtype=np.uint8)
        if levels:
            pixels = np.full((side, side, 3), 20 * i, dtype=np.uint8)
        path = root / "ab"[i % 2] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    return root


def call(bench: Run, private: Path, *words: str) -> subprocess.CompletedProcess[str]:
    sizes = ("--examples", "10", "--epochs", "4", "--candidates", "12")
    return bench("run", "--dataset", f"pictures:{private}", "--encoder", "pixels", *sizes, *words)


def test_a_public_folder_that_is_too_small_and_a_scheme_without_public_pictures_are_one_line_each(
    bench: Run, tmp_path: Path
) -> None:
    private, public = folder(tmp_path / "private", 12), folder(tmp_path / "public", 3, side=10)
    some = ("--public", f"pictures:{public},side=8", "--attack")
    small = call(bench, private, "--defense", "instahide-cross:k=6", *some, "unmix-part")
    assert "k=6 mixes 4 public pictures, and there are 3: lower k, or choose more (--public)" in small.stderr
    none = call(bench, private, "--defense", "instahide:k=2", *some, "unmix-part")
    assert "this scheme mixes in no public pictures: use unmix-blind" in none.stderr
    for done in (small, none):
        assert done.returncode == 1
        assert not [line for line in done.stderr.splitlines() if line.startswith(" ") or "Traceback" in line]


def test_one_picture_in_each_mix_and_pictures_of_one_level_are_no_trouble(bench: Run, tmp_path: Path) -> None:
    plain, flat = folder(tmp_path / "plain", 12), folder(tmp_path / "flat", 12, levels=True)
    for private, defense in ((plain, "instahide:k=1"), (flat, "instahide:k=2")):
        done = call(bench, private, "--defense", defense, "--attack", "unmix-blind:rounds=1", "--json")
        (record,) = json.loads(done.stdout)
        assert record["status"] == "ok", record["error"]


def test_one_private_picture_is_one_line(bench: Run, tmp_path: Path) -> None:
    done = call(bench, folder(tmp_path / "one", 1), "--defense", "instahide:k=1", "--attack", "unmix-blind")
    line = done.stderr.splitlines()[-1]
    assert "at least 2 are needed" in line
    assert "Pictures(" not in line
