"""Blocks as Markdown and as LaTeX: what a paper can take, and nothing that breaks it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bench.board.render.markup import Aside, Block, Heading, Items, Table, Text, latex, markdown

WIDE = Table(
    ["tier", "defense", *(f"attack-{i}\n1000 × 1\nrecall" for i in range(8))],
    [["1", "a_b{c}", *["0.770 [0.690, 0.850] ≈ ↑\nrandom 0.001, 15 s"] * 8]],
)
BLOCKS: list[Block] = [
    Heading("100 % of `main` & more", 1),
    Text("Made by `bench leaderboard`; ε ≤ 8 ± 1 → 9."),
    Items(["✗ failed: C:\\tmp ~ ^", "[0.1, 0.2] first", "λ ≥ 0 … “naïve” 中 🙂 ½ −3 e\u0301 x\u0323"]),
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


def test_letters_that_fonts_lack_are_named_and_accents_go():
    assert "\\item{} $\\lambda$ $\\ge$ 0 ... ``naive'' [U+4E2D] [U+1F642] 1/2 -3 e x" in latex(BLOCKS)
    assert latex(BLOCKS).isascii()


def test_a_long_table_goes_on_below_its_head():
    long = latex([Table(["head", "value"], [[f"row {i}", "a\nb"] for i in range(50)])])
    assert long.count("head & value") == long.count("\\begin{tabular}{ll}") > 2
    rows = [part.count("row ") for part in long.split("\\toprule")[1:]]
    assert sum(rows) == 50
    assert max(rows) * 2 + 1 <= 32


def test_an_aside_is_for_the_screen():
    assert "All metrics" not in latex(BLOCKS)
    assert markdown(BLOCKS).endswith("### All metrics\n\n| defense | records |\n| --- | --- |\n| none | `abc` |\n")


def printed(folder: Path, blocks: list[Block], paper: str) -> str:
    """What LaTeX says when it prints them."""
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex here")
    (folder / "board.tex").write_text(latex(blocks), encoding="utf-8")
    head = f"\\documentclass{{{paper}}}\n\\usepackage{{booktabs,graphicx}}\n"
    whole = f"{head}\\begin{{document}}\n\\input{{board.tex}}\n\\end{{document}}\n"
    (folder / "doc.tex").write_text(whole, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "doc.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@pytest.mark.parametrize("paper", ["article", "report"])
def test_latex_compiles_and_fits_the_page(tmp_path: Path, paper: str):
    rows = [[f"defense-{i}", *["0.770 [0.690, 0.850]\nrandom 0.001, 15 s"] * 2] for i in range(60)]
    long = [Heading("Long"), Table(["defense", "a", "b"], rows)]
    assert "Overfull" not in printed(tmp_path, [*BLOCKS, *long], paper)
