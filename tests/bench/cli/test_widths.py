"""What every command prints at 80, 120 and 200 columns: no number and no name is cut, whatever the records hold."""

from __future__ import annotations

import argparse
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bench.api.results import Results
from bench.cli import output
from bench.cli.main import main
from bench.records import store
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord
from tests.helpers.cli import PLUGINS, ROOT

RECORDS = ROOT / "leaderboards" / "records"
WIDTHS = (80, 120, 200)
# So wide that nothing has a reason to be cut or folded.
ENDLESS = 2000
NUMBER = re.compile(r"\d[\d.,]*\d|\d")


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the published records of two attacks in one cell, and the longest names of all."""
    folder = tmp_path_factory.mktemp("records")
    for kind in ("unmix", "magnitude-search"):
        for path in sorted(RECORDS.glob(f"cola.minilm.texthide.{kind}.s0.*.json")):
            shutil.copy(path, folder)
    return folder


def published(kind: type[Record], most: int) -> list[Record]:
    """Records of each kind with the longest labels there are."""
    found = [r for folder in store.FOLDERS for r in _read(RECORDS / folder, kind)]
    return sorted(found, key=lambda r: -len(r.defense.label) - len(r.model) - len(r.dataset.label))[:most]


def _read(folder: Path, kind: type[Record]) -> list[Record]:
    # A stride of the many: reading all would take longer than what is tested.
    return [r for path in sorted(folder.glob("*.json"))[::7] if isinstance(r := store.read(path), kind)]


def at(
    width: int, call: Callable[[], object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    call()
    return capsys.readouterr().out


def whole(narrow: str, wide: str) -> None:
    """Every number and every name of the endless line is in the narrow print; headings may have gone."""
    assert "…" not in narrow
    missing = Counter(NUMBER.findall(wide)) - Counter(NUMBER.findall(narrow))
    assert not missing
    # A name goes on in the next line at its options.
    squeezed = re.sub(r"\s+", "", narrow)
    assert not [word for word in set(re.findall(r"[A-Za-z_]+[-=][\w.-]+", wide)) if word not in squeezed]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("kind", "metrics"),
    [(AttackRecord, "leak"), (AttackRecord, "all"), (UtilityRecord, "leak"), (AuditRecord, "leak")],
)
def test_tables_after_a_run(
    kind: type[Record],
    metrics: str,
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = published(kind, 30)
    assert found
    args = argparse.Namespace(json=False, metrics=metrics)
    narrow, wide = (
        at(columns, lambda: output.show(args, Results(found)), monkeypatch, capsys) for columns in (width, ENDLESS)
    )
    whole(narrow, wide)


COMMANDS: Sequence[tuple[str, ...]] = [
    ("compare", "unmix", "magnitude-search", "--results", "HERE"),
    ("show", "FIRST"),
    ("list",),
    ("list", "xie-hong"),
    ("list", "finetuned"),
    ("leaderboard", "--results", "HERE", "--out", "BOARD"),
    (
        *("run", "--defense", "texthide-inter:m=16,k=2", "--defense", "dp-ie-laplace:epsilon=100,calibration=sound"),
        *("--attack", "rss", "--encoder", "toy", "--plugin", str(PLUGINS / "toy.py"), "--dry-run", "--out", "HERE"),
    ),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: "-".join(words[:2]))
def test_commands(
    command: Sequence[str],
    width: int,
    some: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {"HERE": str(some), "BOARD": str(tmp_path / "board"), "FIRST": str(min(some.glob("*.unmix.*.json")))}
    words = [places.get(word, word) for word in command]
    narrow, wide = (at(columns, lambda: main(words), monkeypatch, capsys) for columns in (width, ENDLESS))
    assert wide.strip()
    whole(narrow, wide)


def test_a_width_that_nobody_has_is_no_reason_to_fail(
    some: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for columns in ("0", "-3", "many", "7"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["show", str(min(some.glob("*.unmix.*.json")))]) == 0
        assert "recall" in capsys.readouterr().out
