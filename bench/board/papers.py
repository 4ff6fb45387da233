"""The papers' own numbers, from leaderboards/published.toml, to stand beside those that were measured here."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from bench import IN_CHECKOUT, ROOT
from bench.board.model import PublishedNumber
from bench.errors import DataError, UsageError
from bench.experiment.cells import Chosen
from bench.plugins.options import split
from bench.plugins.registry import Registry
from bench.records.values import Part
from bench.system.validation import explain


def _mean_and_deviation(value: Any) -> Any:
    """A number alone is a mean without a deviation."""
    if isinstance(value, list) and len(value) != 2:
        raise ValueError("a number was expected, or [mean, deviation]")
    return tuple(value) if isinstance(value, list) else (value, None)


class PaperRow(Part):
    """A row (or column) of a printed table, with what the whole table says filled in."""

    row: str
    dataset: str
    encoder: str = ""
    defense: str
    attack: str = ""
    values: dict[str, Annotated[tuple[float, float | None], BeforeValidator(_mean_and_deviation)]]
    suite: str
    paper: str
    where: str
    percent: bool = False
    random: dict[str, float] = Field(default_factory=dict)
    on_boards: bool = True


class PaperTable(Part):
    """A printed table: its keys but `rows` hold for every row that has none of its own."""

    suite: str
    paper: str
    where: str
    percent: bool = False
    on_boards: bool = True
    """false: its values are no metrics of a board, and stand in the docs alone"""
    dataset: str | None = None
    encoder: str | None = None
    defense: str | None = None
    attack: str | None = None
    random: dict[str, float] | None = None
    rows: list[dict[str, Any]]


class PapersFile(Part):
    table: list[PaperTable]


def load(registry: Registry, path: Path | None = None) -> list[PublishedNumber]:
    """Every printed number; DataError says in one line which key of the file is wrong."""
    path = path or published_file()
    try:
        tables = PapersFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).table
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a TOML file ({error})") from error
    except ValidationError as error:
        raise DataError(f"{path}: {explain(error)}") from error
    return [
        number
        for i, table in enumerate(tables)
        for j, row in enumerate(table.rows)
        for number in _numbers(_row(path, f"table.{i}.rows.{j}", table, row), registry)
    ]


def published_file() -> Path:
    """Beside the boards in a checkout, inside the package elsewhere."""
    return (ROOT if IN_CHECKOUT else Path(__file__).parent.parent) / "leaderboards" / "published.toml"


def _row(path: Path, where: str, table: PaperTable, row: dict[str, Any]) -> PaperRow:
    common = table.model_dump(exclude={"rows"}, exclude_none=True)
    try:
        return PaperRow.model_validate({**common, **row})
    except ValidationError as error:
        raise DataError(f"{path}: {where}.{explain(error)}") from error


def _numbers(row: PaperRow, registry: Registry) -> list[PublishedNumber]:
    table = f"{row.paper} {row.where}"
    scale = 100 if row.percent else 1
    return [
        PublishedNumber(
            suite=row.suite,
            table=table,
            source=f"{table}, {row.row}",
            dataset=_label(registry, "dataset", row.dataset),
            encoder=_label(registry, "encoder", row.encoder) if row.encoder else "",
            defense=_label(registry, "defense", row.defense),
            attack=row.attack,
            metric=metric,
            value=round(mean / scale, 6),
            deviation=None if deviation is None else round(deviation / scale, 6),
            random=row.random.get(metric),
            on_boards=row.on_boards,
        )
        for metric, (mean, deviation) in row.values.items()
    ]


def _label(registry: Registry, kind: str, spec: str) -> str:
    """`texthide:m=256,k=4` → `texthide`: records leave out options that have their defaults."""
    try:
        return Chosen(registry.get(kind, split(spec)[0]), registry.make(kind, spec)).label
    except UsageError:
        return spec  # a plugin that is not installed: shown as printed, with nothing beside it
