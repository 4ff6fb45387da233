"""Printed numbers: what the file says, and what is wrong with one that says it wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.board import papers
from bench.errors import DataError
from bench.plugins.registry import Registry

TABLE = """
[[table]]
suite = "texthide-table3"
paper = "TextHide"
where = "table 3a"
dataset = "cola"
attack = "rss"
percent = true
random = {identity = 0.001}
rows = [{row = "ours", defense = "texthide:m=256,k=4", values = {identity = [50, 1.5], label = 12.5}}]
"""


def load(folder: Path, text: str) -> list[papers.PublishedNumber]:
    path = folder / "published.toml"
    path.write_text(text, encoding="utf-8")
    return papers.load(Registry(), path)


def test_a_row_takes_what_its_table_says(tmp_path: Path) -> None:
    identity, label = load(tmp_path, TABLE)
    assert (identity.dataset, identity.defense, identity.attack) == ("cola", "texthide", "rss")
    assert (identity.value, identity.deviation, identity.random) == (0.5, 0.015, 0.001)
    assert (label.value, label.deviation, label.random) == (0.125, None, None)
    assert (identity.table, identity.source) == ("TextHide table 3a", "TextHide table 3a, ours")
    assert identity.fits("cola", "anything", "texthide", "rss")
    assert not identity.fits("cola", "anything", "texthide", "unmix")


def test_a_row_goes_before_its_table(tmp_path: Path) -> None:
    text = TABLE.replace('row = "ours"', 'row = "ours", dataset = "sst2"')
    assert load(tmp_path, text)[0].dataset == "sst2"


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ('percent = "yes"', "percent = true", "table.0.percent = 'yes': true or false was expected"),
        ("colour = 3", "percent = true", "table.0.colour = 3: unknown key"),
        ("", 'paper = "TextHide"', "table.0.paper: is missing"),
        ("rows = 3", TABLE.strip().splitlines()[-1], "table.0.rows = 3: a list was expected"),
        ('label = "many"', "label = 12.5", "table.0.rows.0.values.label.0 = 'many': a number was expected"),
        ("label = [1, 2, 3]", "label = 12.5", "table.0.rows.0.values.label = [1, 2, 3]: a number was expected, or"),
        ('whose = "ours"', 'row = "ours"', "table.0.rows.0.row: is missing (and 1 more)"),
        ("[[table", "[[table]]", "not a TOML file"),
    ],
)
def test_a_mistake_is_one_line_with_file_key_and_what_was_expected(
    tmp_path: Path, wrong: str, right: str, said: str
) -> None:
    assert right in TABLE
    with pytest.raises(DataError) as error:
        load(tmp_path, TABLE.replace(right, wrong, 1))
    assert str(error.value).startswith(str(tmp_path / "published.toml"))
    assert said in str(error.value)
    assert len(str(error.value).splitlines()) == 1
