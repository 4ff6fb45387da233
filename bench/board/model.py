"""What a board is: everything that tables, page and figures show of the records.

`bench leaderboard` builds one, writes it to board.json, and every renderer reads it by attribute. Numbers have four
decimals. What occurs thousands of times is a named tuple, which JSON has as a short list.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pydantic import Field

from bench.records.model import Sample
from bench.records.origin import Kind
from bench.records.values import Part

SCHEMA: Final = 2
# A model that is not so much better than a constant answer has learnt nothing.
LEARNT: Final = 0.02

MarkName = Literal["random", "stronger", "failed", "unreproduced", "tiny", "sealed", "stale"]


class MetricSummary(NamedTuple):
    """A metric pooled over seeds, with its 95 % interval, beside what random guessing reaches."""

    value: float
    low: float
    high: float
    random: float | None = None


class UtilitySummary(NamedTuple):
    """A task's metric over seeds, beside what the same training reaches undefended and what a constant answer does."""

    mean: float | None
    deviation: float | None
    """None for a single seed"""
    undefended: float | None
    majority: float | None

    @property
    def idle(self) -> bool:
        """Whether the model is no better than a constant answer."""
        return self.mean is not None and self.majority is not None and self.mean < self.majority + LEARNT


class PlaceCount(NamedTuple):
    """How many cells a suite names for a data set and encoder, and how many of them no record answers."""

    dataset: str
    encoder: str
    missing: int
    named: int


class Epsilon(Part):
    """A privacy budget as the defense claims it, and as an accountant finds it after all that was released."""

    nominal: float
    accounted: float


class Failure(Part):
    """A run that did not come to an end."""

    id: str
    seed: int
    status: str
    error: str | None = None


class CellCost(Part):
    attack_s: float | None = None
    """mean over seeds"""
    peak_mib: float | None = None
    """maximum over seeds"""


class PrintedValue(Part):
    """A number that a paper prints, as it stands beside ours."""

    metric: str
    value: float
    deviation: float | None = None
    random: float | None = None
    """what the paper says that guessing reaches"""
    table: str = ""
    """where it is printed: TextHide table 3a"""
    source: str
    """the same, with the row"""


class PublishedNumber(PrintedValue):
    """A printed number and the experiment it is of. Names are spelled as records spell them; an attack's as it stands
    in the file, because attacks may be untrusted, and their code is not imported."""

    suite: str
    dataset: str
    encoder: str
    """empty: any"""
    defense: str
    attack: str
    """empty: the number is a utility"""
    on_boards: bool = Field(default=True, exclude=True)

    def fits(self, dataset: str, encoder: str, defense: str, attack: str) -> bool:
        same = (self.dataset, self.defense, self.attack) == (dataset, defense, attack)
        return same and self.encoder in ("", encoder)

    @property
    def printed(self) -> PrintedValue:
        return PrintedValue(**{name: getattr(self, name) for name in PrintedValue.model_fields})


class _OnData:
    """Rows that stand for a defense on data. The fields are those of each row: their order is that of board.json."""

    if TYPE_CHECKING:
        dataset: str
        encoder: str
        defense: str

    @property
    def place(self) -> tuple[str, str]:
        return self.dataset, self.encoder

    @property
    def target(self) -> tuple[str, str, str]:
        """What is attacked."""
        return self.dataset, self.encoder, self.defense


class BoardCell(_OnData, Part):
    """One attack on one defense under one protocol, pooled over seeds."""

    suites: list[str] = Field(default_factory=list)
    dataset: str
    modality: str = "text"
    encoder: str
    defense: str
    attack: str
    sees: list[str]
    protocol: str
    metric: str | None
    """the headline metric, whose value follows"""
    value: float | None
    low: float | None
    high: float | None
    random: float | None
    random_low: float | None
    random_high: float | None
    metrics: dict[str, MetricSummary]
    seeds: list[int]
    ids: list[str]
    failed: list[Failure]
    cost: CellCost
    epsilon: Epsilon | None
    marks: list[MarkName]
    samples: list[Sample]
    command: str
    published: list[PrintedValue] = Field(default_factory=list)
    stronger: str | None = None
    """another attack that finds significantly more"""
    stale: list[str] = Field(default_factory=list)
    """components whose code has changed since records of this cell were made"""
    origin: Kind = "self-reported"
    """whose word the value is: the weakest of its records"""

    @property
    def at_random(self) -> bool:
        return "random" in self.marks


class WorstCase(Part):
    """The strongest attack on a defense."""

    attack: str
    metric: str
    value: float
    low: float
    high: float
    protocol: str
    failed: int = 0
    runs: int = 1
    at_random: bool = False
    stale: list[str] = Field(default_factory=list)


class DefenseRow(_OnData, Part):
    """A defense on one suite's board: its worst case and its tier."""

    suite: str
    dataset: str
    encoder: str
    defense: str
    worst: WorstCase | None
    attacks: int = 1
    attacks_failed: int = 0
    """attacks of which no run came to an end"""
    tier: int | None
    basis: str | None = None
    """how it was compared with the tier's first member: paired, unpaired, through ATTACK"""
    epsilon: Epsilon | None
    utility: dict[str, UtilitySummary] | None = None
    audited: float | None = None
    """what an experiment shows ε to be at least"""


class AuditRow(_OnData, Part):
    """What one game shows of a defense's ε; numbers are means over seeds."""

    suites: list[str] = Field(default_factory=list)
    dataset: str
    encoder: str
    defense: str
    protocol: str
    claimed: float | None
    actual: float | None
    audited: float
    ceiling: float
    delta: float | None
    verdicts: dict[str, int]
    """how many seeds came to each"""
    seeds: list[int]
    ids: list[str]
    command: str
    stale: list[str] = Field(default_factory=list)


class UtilityRow(_OnData, Part):
    """What a defense leaves of a task, pooled over seeds."""

    suites: list[str] = Field(default_factory=list)
    dataset: str
    encoder: str
    defense: str
    epochs: int
    metrics: dict[str, UtilitySummary]
    seeds: list[int]
    ids: list[str]
    epsilon: Epsilon | None
    published: list[PrintedValue]
    command: str
    stale: list[str] = Field(default_factory=list)


class SuiteSummary(Part):
    """A suite, and how much of it the records answer."""

    version: int | None
    """the newest that any record has"""
    title: str
    missing: int
    failed: int
    stale: int = 0
    records: int = 0
    superseded: int = 0
    differs: str = ""
    """why our numbers may not be the paper's"""
    file_version: int | None = None
    problem: str = ""
    """why it is not known what is missing"""
    places: list[PlaceCount] = Field(default_factory=list)

    @property
    def named(self) -> int:
        return sum(place.named for place in self.places)


class Board(Part):
    schema_version: Literal[2] = Field(default=SCHEMA, alias="schema")
    records: int
    stale: int = 0
    """records whose code has changed since they were made"""
    suites: dict[str, SuiteSummary]
    cells: list[BoardCell]
    defenses: list[DefenseRow]
    utility: list[UtilityRow] = Field(default_factory=list)
    audits: list[AuditRow] = Field(default_factory=list)
    published: list[PublishedNumber] = Field(default_factory=list)

    def dump(self) -> str:
        """As board.json has it. A lone surrogate, which anybody's text may hold, stays until the text is encoded."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
