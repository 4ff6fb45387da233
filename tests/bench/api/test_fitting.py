"""Tables at every width: no number and no name is cut."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rich.console import Console

from bench.api.fitting import fitted
from bench.board.columns import Column

NAMES = ["dp-ie-laplace:epsilon=100.0,calibration=sound", "texthide-inter:m=inf,k=8", "none"]
WORDS = "corpus, defense, encodings"


def column(key: str, *, numeric: bool = False) -> Column[Any]:
    return Column(key, key, "", lambda row: row, numeric=numeric)


COLUMNS = [column("defense"), column("attack"), *(column(f"metric{i}", numeric=True) for i in range(4)), column("sees")]
ROWS = [[name, "xie-hong-blind:steps=400", *(f"{i}.{i}{i}{i} (0.{i})" for i in range(1, 5)), WORDS] for name in NAMES]


def printed(width: int) -> str:
    console = Console(width=width, highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(fitted(COLUMNS, ROWS, width, "a title", "a caption"))
    return captured.get()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_nothing_is_cut(width: int) -> None:
    text = printed(width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= max(width, len(max(NAMES, key=len)) + len(" × xie-hong-blind:steps=400"))
    for i in range(1, 5):
        assert text.count(f"{i}.{i}{i}{i} (0.{i})") == len(ROWS)
    for word in (
        *WORDS.split(),
        "xie-hong-blind:",
        "steps=400",
        "calibration=sound",
        "texthide-inter:",
        "epsilon=100.0,",
    ):
        assert re.search(rf"(^|[\s:,×]){re.escape(word)}", text), word


def test_wide_is_a_table_and_narrow_a_paragraph_for_each_row() -> None:
    assert "───" in printed(160)
    narrow = printed(80).splitlines()
    assert "───" not in printed(80)
    assert narrow[1].startswith("dp-ie-laplace:epsilon=100.0,calibration=sound × xie-hong-blind:steps=400")
    assert narrow[2].startswith("    metric0 1.111 (0.1); metric1 2.222 (0.2)")


def test_a_long_name_goes_on_at_its_options() -> None:
    found = fitted(COLUMNS[:1], [["texthide-inter:m=inf,k=8"]], 60, "")
    console = Console(width=60, color_system=None)
    with console.capture() as captured:
        console.print(found)
    assert [line.strip() for line in captured.get().splitlines() if line.strip()][2:] == [
        "texthide-inter:",
        "m=inf,k=8",
    ]
