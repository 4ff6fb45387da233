"""What a suite file may hold, typed: a mistake in it is one line that names file, key and what was expected."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bench.errors import UsageError, unknown
from bench.system.files import read_text
from bench.system.validation import explain

# Bytes; a suite names cells, and holds none.
MOST = 1 << 20


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _not_empty(values: list[Any]) -> list[Any]:
    if not values:
        raise ValueError("at least one was expected")
    return values


def _positive(value: int) -> int:
    if value < 1:
        raise ValueError("a whole number from 1 on was expected")
    return value


def _not_negative(value: int) -> int:
    if value < 0:
        raise ValueError("a whole number from 0 on was expected")
    return value


Names = Annotated[list[str], BeforeValidator(_listed), AfterValidator(_not_empty)]
Seeds = Annotated[list[int], BeforeValidator(_listed), AfterValidator(_not_empty)]
Games = Annotated[list[Literal["pair", "canaries", "updates"]], BeforeValidator(_listed), AfterValidator(_not_empty)]
Positive = Annotated[int, AfterValidator(_positive)]
NotNegative = Annotated[int, AfterValidator(_not_negative)]


class SuiteTable(BaseModel):
    """Axes of the product that a suite runs: of attacks and of training alike."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    dataset: Names | None = None
    encoder: Names | None = None
    training: Names | None = None
    """frozen, or finetuned:option=value,..."""
    defense: Names | None = None
    seed: Seeds | None = None

    def given(self) -> dict[str, Any]:
        """What the file says; the rest is left to defaults."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class AttackTable(SuiteTable):
    attack: Names | None = None
    examples: int | None = None
    epochs: int | None = None
    candidates: int | None = None
    coverage: float | None = None
    split: Literal["train", "dev"] | None = None
    batch: int | None = None
    update: str | None = None
    public: str | None = None
    attacker: Literal["current", "stale", "initial"] | None = None
    samples: NotNegative = 0
    """questions whose answers are kept in records of the first seed"""
    answers: bool = False
    """wrong answers are kept as text, too"""
    sealed: bool = False
    """as with `bench run --sealed`, whoever runs the suite"""


class TrainingTable(SuiteTable):
    train_epochs: Positive | None = None


class AuditTable(SuiteTable):
    """Sizes as those of `bench audit`."""

    game: Games = Field(default=["pair", "canaries"])
    examples: Positive | None = None
    canaries: Positive | None = None
    epochs: Positive | None = None
    trials: Positive | None = None
    public: str | None = None


class About(BaseModel):
    """What a suite says of itself."""

    model_config = ConfigDict(frozen=True, strict=True)

    title: str = ""
    version: Positive = 1
    differs: str = ""
    """how its protocol differs from the paper's"""


COMMANDS: dict[type[SuiteTable], str] = {
    AttackTable: "bench run",
    TrainingTable: "bench utility",
    AuditTable: "bench audit",
}

T = TypeVar("T", bound=SuiteTable)
M = TypeVar("M", bound=BaseModel)


class Suite(Generic[T]):
    """A suite file: keys at its top are defaults of every [[cells]] table."""

    def __init__(self, path: Path, about: About, tables: list[T]):
        self.path, self.about, self.tables = path, about, tables

    @property
    def tag(self) -> tuple[str, int]:
        """What the suite is called in records."""
        return self.path.stem, self.about.version


def read_about(path: Path) -> About:
    content = _content(path)
    return _checked(path, About, {key: content[key] for key in About.model_fields if key in content})


def read_attacks(path: Path) -> Suite[AttackTable]:
    return _read(path, AttackTable)


def read_training(path: Path) -> Suite[TrainingTable]:
    return _read(path, TrainingTable)


def read_audits(path: Path) -> Suite[AuditTable]:
    return _read(path, AuditTable)


def _read(path: Path, kind: type[T]) -> Suite[T]:
    content = _content(path)
    about = read_about(path)
    cells = content.get("cells", [{}])
    common = {key: value for key, value in content.items() if key != "cells" and key not in About.model_fields}
    if not isinstance(cells, list) or not all(isinstance(table, dict) for table in cells):
        raise UsageError(f"{path}: cells = {cells!r}: [[cells]] tables were expected")
    _check_keys(path, kind, [*common, *(key for table in cells for key in table)])
    defaults = _checked(path, kind, common).given()
    tables = [_checked(path, kind, table, f"cells[{at}].").given() for at, table in enumerate(cells)]
    return Suite(path, about, [kind.model_validate({**defaults, **table}) for table in tables])


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path, MOST))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not a TOML file ({error})") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _check_keys(path: Path, kind: type[SuiteTable], keys: list[str]) -> None:
    """A suite is for one of three commands; the keys tell which."""
    for key in keys:
        if key in kind.model_fields:
            continue
        for other, command in COMMANDS.items():
            if key in other.model_fields:
                said = f"{key} is a key of suites for `{command} --suite`, which is how to run this one"
                raise UsageError(f"{path}: {said}")
        raise unknown(f"key in suite {path.name}", key, [*kind.model_fields, *About.model_fields, "cells"])


def _checked(path: Path, kind: type[M], values: dict[str, Any], prefix: str = "") -> M:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise UsageError(f"{path}: {prefix}{explain(error)}") from error
