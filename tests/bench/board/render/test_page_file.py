"""The page as a file: what is in it, what cannot get out of it, and that it is the same every time."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest

from bench.board.columns import CELLS, DEFENSES
from bench.board.marks import MARKS
from bench.board.model import Board
from bench.board.render.page import TEMPLATES, page
from bench.board.render.page_data import FORMATS, column, embedded, packed, short
from tests.helpers.cli import ROOT
from tests.helpers.synthetic_board import HOSTILE_TEXT, hostile_board, synthetic_board


class Page(HTMLParser):
    """Elements by name, and the text inside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.name = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.name = (dict(attrs).get("type") or tag) if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self.name = ""

    def handle_data(self, data: str) -> None:
        if self.name:
            self.inside[self.name] = self.inside.get(self.name, "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def values(made: Any, count: int) -> list[Any]:
    if isinstance(made, list):
        return made
    return [made["all"]] * count if "all" in made else [made["of"][i] for i in made["at"]]


def test_the_page_holds_the_board_and_asks_for_nothing_else() -> None:
    made = synthetic_board()
    text = page(made, ["pictures/heatmap.png", "pictures/heatmap.svg"])
    found = Page(text)
    assert not [a for tag in ("img", "iframe", "link", "script", "source") for a in found.all(tag) if "src" in a]
    assert [link["href"] for link in found.all("link")] == ["data:,"]
    assert not re.findall(r"(?:https?:)?//[a-z]", text.replace(found.inside["module"], ""))
    data = json.loads(found.inside["application/json"])
    assert data["count"] == len(made.cells)
    assert data["pictures"] == ["pictures/heatmap.svg"]
    for name in ("defense", "attack", "sees", "ids", "marks", "protocol", "stale"):
        assert values(data["columns"][name], data["count"]) == [getattr(cell, name) for cell in made.cells], name
    leaks = values(data["columns"]["value"], data["count"])
    assert [f"{a:.3f}" if a is not None else None for a in leaks] == [
        None if cell.value is None else f"{cell.value:.3f}" for cell in made.cells
    ]
    shown = [" ".join(data["words"][i] for i in line) for line in data["commands"]]
    assert shown == [cell.command for cell in made.cells]


def test_only_the_pages_own_code_and_style_may_run() -> None:
    found = Page(page(synthetic_board(datasets=("cola",))))
    (policy,) = (m["content"] for m in found.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for name in ("module", "style"):
        digest = base64.b64encode(hashlib.sha256(found.inside[name].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy, name
    assert not [attrs for _, attrs in found.tags if any(key.startswith("on") or key == "style" for key in attrs)]
    code = found.inside["module"]
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch("):
        assert word not in code, word


def test_text_from_strangers_stays_text() -> None:
    text = page(hostile_board())
    text.encode()  # half a surrogate pair is no reason to fail
    plain = page(synthetic_board(datasets=("cola",)))
    assert text.count("</script>") == plain.count("</script>") == 2
    assert [tag for tag, _ in Page(text).tags] == [tag for tag, _ in Page(plain).tags]
    data = Page(text).inside["application/json"]
    assert "<" not in data
    assert HOSTILE_TEXT in values(json.loads(data)["columns"]["protocol"], json.loads(data)["count"])


@pytest.mark.parametrize("text", ["</script>", "<!--", "{{script}}", "\u2028", "\ud800", "\\", '"', "&lt;", "é→≈"])
def test_anything_can_be_embedded(text: str) -> None:
    made = embedded([text])
    assert "<" not in made
    made.encode()
    assert json.loads(made) == [text]


def test_five_thousand_rows_weigh_less_than_two_megabytes() -> None:
    made = synthetic_board(rows=5000)
    assert len(made.cells) == 5000
    # Three sentences to every cell, as in a suite that keeps samples.
    samples = [cell.samples for cell in synthetic_board().cells if cell.samples]
    made = made.replace(cells=[c.replace(samples=samples[i % len(samples)]) for i, c in enumerate(made.cells)])
    weight = len(page(made).encode())
    print(f"\n5,000 rows: {weight / 1e6:.2f} MB")
    assert weight < 2_000_000


def test_numbers_are_rounded_as_the_tables_print_them() -> None:
    assert short([0.28146, 0.9996, 1.0, 0.000117, 27.1234, float("nan"), float("inf")]) == [
        *(0.281, 1, 1, 0.000117, 27.12, None, "inf"),
    ]
    assert column(["same"] * 3) == {"all": "same"}
    assert column(["a long name", "another name"] * 9)["of"] == ["a long name", "another name"]
    assert column([1, 2, 3]) == [1, 2, 3]


def test_the_same_board_gives_the_same_bytes_in_another_process() -> None:
    code = (
        "import hashlib; from bench.board.render import page\n"
        "from tests.helpers.synthetic_board import synthetic_board\n"
        "for name, content in sorted(page.files(synthetic_board(datasets=('cola',))).items()):\n"
        "    print(name, hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest())"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        for seed in ("1", "2")
    )
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert "site/index.html" in first.stdout
    assert "pictures/heatmap.svg" in first.stdout


def test_a_board_without_cells_is_a_page_too() -> None:
    empty = Board(records=0, suites={}, cells=[], defenses=[])
    assert packed(empty)["count"] == 0
    assert "hideseek" in page(empty)


def test_the_page_has_every_column_mark_and_metric_with_its_explanation() -> None:
    made = packed(synthetic_board(datasets=("cola",)))
    assert [c["key"] for c in made["titles"]["defenses"]] == [c.key for c in DEFENSES]
    flat = [c for c in CELLS if "flat" in c.tables]
    assert [(c["key"], c["explanation"]) for c in made["titles"]["flat"]] == [(c.key, c.explanation) for c in flat]
    assert all(c["explanation"] for c in made["titles"]["flat"])
    assert made["marks"]["stale"] == next([m.sign, m.title, m.explanation] for m in MARKS if m.key == "stale")
    assert set(made["explanations"]) == set(synthetic_board(datasets=("cola",)).cells[0].metrics)


def test_the_page_has_every_format_that_columns_use() -> None:
    code = (TEMPLATES / "dom.js").read_text()
    (there,) = re.findall(r"const FORMATS = \{(.*)\};", code)
    assert all(re.search(rf"\b{name}\b", there) for name in FORMATS.values())


def test_every_part_of_the_page_opens_with_what_it_is_for() -> None:
    for path in sorted(TEMPLATES.iterdir()):
        text = path.read_text()
        assert text.startswith(("// ", "/* ", "<!doctype")), path
        assert len(text.splitlines()) < 300, path
