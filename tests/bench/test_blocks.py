"""Blocks as Markdown and as LaTeX: what a paper can take, and nothing that breaks it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bench.blocks import Aside, Block, Heading, Items, Table, Text, latex, markdown

WIDE = Table(
    ["tier", "defense", *(f"attack-{i}\n1000 × 1\nrecall" for i in range(8))],
    [["1", "a_b{c}", *["0.770 [0.690, 0.850] ≈ ↑\nrandom 0.001, 15 s"] * 8]],
)
BLOCKS: list[Block] = [
    Heading("100 % of `main` & more", 1),
    Text("Made by `bench leaderboard`; ε ≤ 8 ± 1 → 9."),
    Items(["✗ failed: C:\\tmp ~ ^", "[0.1, 0.2] first"]),
    WIDE,
    Aside([Heading("All metrics", 3), Table(["defense", "records"], [["none", "`abc`"]])]),
]


def test_latex_breaks_cells_but_never_an_interval():
    made = latex(BLOCKS)
    row = next(line for line in made.splitlines() if line.startswith("1 & "))
    assert "\\benchcell{0.770\\\\{}[0.690, 0.850] $\\approx$ $\\uparrow$\\\\{}random 0.001, 15 s}" in row
    assert "a\\_b\\{c\\}" in row
    narrow = latex([Table(["a", "b"], [["0.770 [0.690, 0.850] ↑", ""]])])
    assert "0.770 [0.690, 0.850] $\\uparrow$ &  \\\\" in narrow


def test_an_aside_is_for_the_screen():
    assert "All metrics" not in latex(BLOCKS)
    assert markdown(BLOCKS).endswith("### All metrics\n\n| defense | records |\n| --- | --- |\n| none | `abc` |\n")


@pytest.mark.parametrize("paper", ["article", "report"])
def test_latex_compiles_and_fits_the_line(tmp_path: Path, paper: str):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex here")
    (tmp_path / "board.tex").write_text(latex(BLOCKS), encoding="utf-8")
    head = f"\\documentclass{{{paper}}}\n\\usepackage{{booktabs,graphicx}}\n"
    whole = f"{head}\\begin{{document}}\n\\input{{board.tex}}\n\\end{{document}}\n"
    (tmp_path / "doc.tex").write_text(whole, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "doc.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
